//! Files of the kernels that are generated from this crate: a test says when one is stale.

use super::analysis::{COMPARISON_BYTES, INFO_BYTES, POINT_BYTES, RANGE_BYTES};
use super::constants::SHARED;
use super::kernel_args::{Analysis, Inspection, Job};
use super::launch::{Call, Launch, Waits};
use super::method_constants::{Constant, Value, METHOD};
use super::schedule::LAUNCHES;
use super::shared_memory::SIZES;
use std::fmt::Write;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Compares a file with what it should be; FACTZ_BLESS=1 writes it.
fn check(path: &str, text: &str) {
    let full = root().join(path);
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
// Shared by kernels and library: constants, arguments of kernels, results. Generated from
// src/cuda/method_constants.rs, src/cuda/constants.rs, src/cuda/kernel_args.rs and src/capi
// (see src/cuda/generated.rs); do not edit.
// clang-format off";

const TYPES: &str = "
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
";

/// A constant as C++ declares it, with its comment.
fn constant(Constant { doc, ty, name, value }: &Constant) -> String {
    let mut text = String::new();
    for (k, line) in doc.iter().enumerate() {
        writeln!(text, "{}//{line}", if k == 0 { "\n" } else { "" }).unwrap();
    }
    let (ty, value) = match *value {
        Value::Real(value) => ("double", format!("{value:?}")),
        Value::Whole(value) if value > u32::MAX as i128 => (*ty, format!("{value:#x}")),
        Value::Whole(value) => (*ty, value.to_string()),
    };
    text + &format!("constexpr {ty} {name} = {value};\n")
}

fn constants() -> String {
    METHOD.iter().chain(SHARED).map(constant).collect()
}

fn sizes() -> String {
    let sizes = [
        ("Job", size_of::<Job>()),
        ("Analysis", size_of::<Analysis>()),
        ("Inspection", size_of::<Inspection>()),
        ("ValueRange", RANGE_BYTES as usize),
        ("CriticalPoint", POINT_BYTES as usize),
        ("Comparison", COMPARISON_BYTES as usize),
        ("Info", INFO_BYTES as usize),
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
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in
        ["capi/status", "capi/report", "capi/inspect", "capi/analysis", "capi/range", "cuda/kernel_args"]
    {
        builder = builder.with_src(root().join(format!("src/{file}.rs")));
    }
    let mut text = Vec::new();
    builder.generate().expect("structs that C has too").write(&mut text);
    String::from_utf8(text).unwrap()
}

#[test]
fn the_shared_header_is_up_to_date() {
    check("kernels/device/shared.cuh", &shared_header());
}

/// Words in comment lines of at most 110 columns.
fn comment(text: &str) -> String {
    let mut lines = vec!["//".to_owned()];
    for word in text.split_whitespace() {
        if lines.last().unwrap().len() + 1 + word.len() > 110 {
            lines.push("//    ".to_owned());
        }
        write!(lines.last_mut().unwrap(), " {word}").unwrap();
    }
    lines.join("\n") + "\n"
}

/// The comment of an entry, and the entry.
fn entry(launch: &Launch) -> (String, String) {
    let argument = match launch.call {
        Call::Compress | Call::Decompress => "Job",
        Call::Range | Call::Compare | Call::CriticalPoints => "Analysis",
        Call::Inspect => "Inspection",
    };
    let waits = match launch.waits {
        Waits::Inside => "waits_inside",
        Waits::Overlaps => "overlaps_previous",
        Waits::After => "after_previous",
        Waits::InOrder => "in_order",
    };
    let by_device = |large: u32, small: Option<u32>| match small {
        Some(small) if small != large => format!("BY_DEVICE({large}, {small})"),
        _ => large.to_string(),
    };
    let threads = launch.block.map(|large| by_device(large, launch.small.map(|s| s.block)));
    let blocks = launch.resident.map(|large| by_device(large, launch.small.map(|s| s.resident)));
    let bounds = [0, 1].map(|dtype| match launch.resident[dtype] {
        0 => format!("({})", threads[dtype]),
        _ => format!("({}, {})", threads[dtype], blocks[dtype]),
    });
    let shared = match launch.shared_bytes {
        0 => String::new(),
        bytes => format!("; {bytes} shared bytes"),
    };
    let Launch { phase, name, reads, writes, work, .. } = launch;
    let function = launch.template();
    let comment = comment(&format!("{phase}: reads {reads}; writes {writes}{shared}; work: {work}"));
    let (begin, end) = match function.contains("<T") {
        true => (
            format!("KERNEL(factz_{name}, {argument}, {},", bounds[0]),
            format!("{}, {waits}, {function})", bounds[1]),
        ),
        false => {
            (format!("ENTRY(factz_{name}, void, {argument}, {},", bounds[0]), format!("{waits}, {function})"))
        }
    };
    let separator = if begin.len() + 1 + end.len() > 110 { "\n    " } else { " " };
    let line = format!("{begin}{separator}{end}\n");
    match launch.call {
        // The emulator has no need of it.
        Call::Inspect => (comment, format!("#ifndef FACTZ_EMULATED\n{line}#endif\n")),
        _ => (comment, line),
    }
}

/// The entries of kernels/factz.cu.
fn entries() -> String {
    let (mut names, mut last, mut text) = (Vec::new(), String::new(), String::new());
    for launch in LAUNCHES.iter() {
        if !names.contains(&launch.name) {
            names.push(launch.name);
            let (comment, line) = entry(launch);
            if comment != last {
                text += &format!("\n{comment}");
            }
            text += &line;
            last = comment;
        }
    }
    text
}

/// Checks that structs of the kernels have the sizes that the library takes them to have.
fn struct_sizes() -> String {
    let mut text =
        "\n// Sizes of structs of the kernels, as src/cuda/shared_memory.rs has them.\n".to_owned();
    for (name, large, small) in SIZES {
        let bytes = small.map_or(large.to_string(), |small| format!("BY_DEVICE({large}, {small})"));
        writeln!(text, "static_assert(sizeof({name}) == {bytes}, \"as in Rust\");").unwrap();
    }
    text
}

#[test]
fn the_entries_are_up_to_date() {
    const MARK: &str = "// Generated from here on: do not edit.\n";
    let text = std::fs::read_to_string(root().join("kernels/factz.cu")).unwrap();
    let (head, _) = text.split_once(MARK).expect("the mark before the entries");
    check("kernels/factz.cu", &format!("{head}{MARK}{}{}", entries(), struct_sizes()));
}
