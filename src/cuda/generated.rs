//! Files of the kernels that are generated from this crate: a test says when one is stale.

use super::constants::SHARED;
use super::kernel_args::{Analysis, Inspection, Job};
use std::fmt::Write;
use std::path::Path;

/// Compares a file with what it should be; FACTZ_BLESS=1 writes it.
fn check(path: &str, text: &str) {
    let full = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("FACTZ_BLESS").is_some() {
        std::fs::write(&full, text).unwrap();
    }
    let found = std::fs::read_to_string(&full).unwrap_or_default();
    assert!(found == text, "{path} is stale: run FACTZ_BLESS=1 cargo test --lib cuda::generated");
}

/// Structs of the interface that kernels write, with their names in the kernels.
const RESULTS: [(&str, &str, &str); 5] = [
    ("report", "factz_report", "Report"),
    ("inspect", "factz_info", "Info"),
    ("analysis", "factz_comparison", "Comparison"),
    ("range", "factz_range", "ValueRange"),
    ("analysis", "factz_critical_point", "CriticalPoint"),
];

const HEADER: &str = "\
// What the kernels share with the library: constants, arguments of kernels, results. Generated from
// src/cuda/constants.rs, src/cuda/kernel_args.rs and src/capi (see src/cuda/generated.rs); do not edit.
// clang-format off";

const TYPES: &str = "
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
";

fn constants() -> String {
    let mut text = String::new();
    for (doc, ty, name, value) in SHARED {
        let lines: String = doc.iter().map(|line| format!("//{line}\n")).collect();
        write!(text, "{}{lines}constexpr {ty} {name} = {value};\n", if lines.is_empty() { "" } else { "\n" })
            .unwrap();
    }
    text
}

fn sizes() -> String {
    let sizes = [
        ("Job", size_of::<Job>()),
        ("Analysis", size_of::<Analysis>()),
        ("Inspection", size_of::<Inspection>()),
    ];
    let line = |(name, bytes)| format!("static_assert(sizeof({name}) == {bytes}, \"as in Rust\");\n");
    sizes.map(line).concat()
}

fn shared_header() -> String {
    let mut config = cbindgen::Config {
        language: cbindgen::Language::Cxx,
        header: Some(HEADER.into()),
        pragma_once: true,
        no_includes: true,
        sys_includes: vec!["stdint.h".into()],
        after_includes: Some(format!("{TYPES}{}", constants())),
        trailer: Some(sizes()),
        documentation: false,
        tab_width: 4,
        ..Default::default()
    };
    config.export.item_types = vec![cbindgen::ItemType::Structs, cbindgen::ItemType::Typedefs];
    config.export.include = ["Job", "Analysis", "Inspection"].map(Into::into).to_vec();
    for (_, name, renamed) in RESULTS {
        config.export.include.push(name.into());
        config.export.rename.insert(name.into(), renamed.into());
    }
    let tiles = "    __device__ __forceinline__ u64 tiles() const { return tiles_x * tiles_y; }";
    config.export.body.insert("Job".into(), tiles.into());
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in
        ["capi/status", "capi/report", "capi/inspect", "capi/analysis", "capi/range", "cuda/kernel_args"]
    {
        builder = builder.with_src(root.join(format!("src/{file}.rs")));
    }
    let mut text = Vec::new();
    builder.generate().expect("structs that C has too").write(&mut text);
    String::from_utf8(text).unwrap()
}

#[test]
fn the_shared_header_is_up_to_date() {
    check("kernels/device/shared.cuh", &shared_header());
}
