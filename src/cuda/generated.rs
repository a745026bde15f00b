//! Files of the kernels that are generated from this crate: a test says when one is stale.

use super::analysis::{COMPARISON_BYTES, INFO_BYTES, POINT_BYTES, RANGE_BYTES};
use super::constants::SHARED;
use super::kernel_args::{Analysis, Inspection, Job};
use super::launch::{Call, Launch, Needs, Waits};
use super::method_constants::{Constant, Value, METHOD};
use super::schedule::{CONTENTS, LAUNCHES};
use super::shared_memory::SIZES;
use crate::grid::mesh::{Incident, Simplex, Triangle, A, AROUND, AXES, B, C, CORNERS, D, NEIGHBOURS, STAR};
use crate::grid::tetrahedra::{STAR as STAR_OF_VOLUME, STEPS, TETRAHEDRA, VERTICES};
use crate::request::{Coder, Predictor};
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
const RESULTS: [(&str, &str, &str); 6] = [
    ("report", "factz_report", "Report"),
    ("protect", "factz_fix_report", "FixReport"),
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

/// Numbers below 2^`bits` in one word, the first one lowest.
fn packed(bits: usize, numbers: impl IntoIterator<Item = usize>) -> u32 {
    let word = |word, (k, number): (usize, usize)| {
        assert!(number < 1 << bits && bits * (k + 1) <= 32);
        word | (number as u32) << (bits * k)
    };
    numbers.into_iter().enumerate().fold(0, word)
}

/// The tables of `src/grid/mesh.rs`.
fn mesh() -> String {
    // Offsets from -1 to 1 are numbers from 0 to 2.
    let offsets = |offsets: &[[i64; AXES]], axes: &[usize]| {
        packed(2, offsets.iter().flat_map(|offset| axes.iter().map(|&axis| (offset[axis] + 1) as usize)))
    };
    let of_star = |number: fn(&Incident) -> usize| packed(1, STAR.iter().map(number));
    let ring = |simplex: Simplex| offsets(simplex.ring(), &[0, 1]);
    let [lower, upper] = Triangle::ALL;
    let corners = |triangle: Triangle| packed(2, triangle.corners());
    let edges = |triangle: Triangle| packed(2, (0..AXES).flat_map(|axis| triangle.edge_along(axis)));
    let words = [
        (corners(lower), "LOWER_CORNERS", "Corners of triangles in the order of the format, two bits each."),
        (corners(upper), "UPPER_CORNERS", ""),
        (
            edges(lower),
            "LOWER_EDGES",
            "Edges along x and y: positions of their first and last vertex among the corners, two bits each.",
        ),
        (edges(upper), "UPPER_EDGES", ""),
        (
            lower.owned_faces(),
            "LOWER_FACES",
            "Faces (edges and vertex) that a triangle owns: a bit for each Simplex.",
        ),
        (upper.owned_faces(), "UPPER_FACES", ""),
        (
            packed(2, Simplex::ALL.map(Simplex::end)),
            "SIMPLEX_ENDS",
            "Corner where each Simplex ends, two bits each.",
        ),
        (
            offsets(&NEIGHBOURS, &[0]),
            "NEIGHBOURS_X",
            "Offsets of the neighbours, counter-clockwise, plus 1: two bits each.",
        ),
        (offsets(&NEIGHBOURS, &[1]), "NEIGHBOURS_Y", ""),
        (
            of_star(|t| -t.cell[0] as usize),
            "STAR_BEFORE_X",
            "The six triangles around a vertex, a bit each: cell at x - 1, cell at y - 1, UPPER triangle.",
        ),
        (of_star(|t| -t.cell[1] as usize), "STAR_BEFORE_Y", ""),
        (of_star(|t| t.triangle as usize), "STAR_TRIANGLES", ""),
        (
            ring(Simplex::Vertex),
            "VERTEX_RING",
            "Rings of vertex and edges: offsets x and y of their vertices plus 1, two bits each.",
        ),
        (ring(Simplex::EdgeX), "EDGE_X_RING", ""),
        (ring(Simplex::EdgeY), "EDGE_Y_RING", ""),
        (ring(Simplex::Diagonal), "DIAGONAL_RING", ""),
    ];
    let steps = |k: usize| packed(2, STEPS.map(|steps| steps[k]));
    let mut text = format!(
        "\n// The mesh (src/grid/mesh.rs). Numbers of triangles and corners of a cell; numbers of corners\n\
         // of a cell and of triangles around a vertex; corner of each triangle that is not on the diagonal.\n\
         enum : i32 {{ LOWER = {}, UPPER = {} }};\n\
         enum : i32 {{ CORNER_A = {A}, CORNER_B = {B}, CORNER_C = {C}, CORNER_D = {D} }};\n\
         enum : i32 {{ CORNERS = {CORNERS}, AROUND = {AROUND} }};\n\
         enum : i32 {{ LOWER_APEX = {}, UPPER_APEX = {} }};\n",
        lower as usize,
        upper as usize,
        lower.apex(),
        upper.apex()
    );
    for (word, name, doc) in words {
        if !doc.is_empty() {
            writeln!(text, "// {doc}").unwrap();
        }
        writeln!(text, "constexpr u32 {name} = {word:#x};").unwrap();
    }
    write!(
        text,
        "\n// The tetrahedra of a cube (src/grid/tetrahedra.rs), their corners, and tetrahedra around a vertex;\n\
         // the axes of their first and of their second steps, two bits each.\n\
         enum : i32 {{ TETRAHEDRA = {TETRAHEDRA}, TETRAHEDRON_CORNERS = {VERTICES}, TETRAHEDRA_AROUND = {} }};\n\
         constexpr u32 FIRST_STEPS = {:#x};\nconstexpr u32 SECOND_STEPS = {:#x};\n",
        STAR_OF_VOLUME.len(),
        steps(0),
        steps(1)
    )
    .unwrap();
    text
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
        after_includes: Some(format!("{TYPES}{}{}", constants(), mesh())),
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
    let sizes = "    __device__ __forceinline__ u64 tiles() const { return tiles_x * tiles_y; }\n    \
                 __device__ __forceinline__ u64 vertices() const { return nx * ny * (nz - first_plane); }\n    \
                 __device__ __forceinline__ u64 first_tile() const { return tiles_x * plane_tile_rows * first_plane; }";
    config.export.body.insert("Job".into(), sizes.into());
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in [
        "capi/status",
        "capi/report",
        "capi/protect",
        "capi/inspect",
        "capi/analysis",
        "capi/range",
        "cuda/kernel_args",
    ] {
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
        Call::Range | Call::Compare | Call::CriticalPoints => "Analysis",
        Call::Inspect => "Inspection",
        _ => "Job",
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

/// Declared reads and writes of each kernel, with which the emulator compares the real ones.
fn launch_data() -> String {
    let mut names = Vec::new();
    let mut text = "\
// Declared reads and writes of each kernel. Generated from src/cuda/schedule.rs; do not edit.
// clang-format off
struct LaunchData { const char *kernel, *reads, *writes; };
const LaunchData LAUNCH_DATA[] = {
"
    .to_owned();
    for Launch { name, reads, writes, .. } in LAUNCHES.iter() {
        if !names.contains(name) {
            names.push(name);
            writeln!(text, "    {{\"{name}\",\n        \"{reads}\",\n        \"{writes}\"}},").unwrap();
        }
    }
    text += "};\n// Contents of a region that holds several one after the other, and the region.\n\
             struct Contents { const char *name, *region; };\nconst Contents CONTENTS[] = {\n";
    for (name, region) in CONTENTS {
        writeln!(text, "    {{\"{name}\", \"{region}\"}},").unwrap();
    }
    text + "};\n"
}

#[test]
fn the_data_of_launches_is_up_to_date() {
    check("tests/emulator/launches.hpp", &launch_data());
}

/// Configurations whose order of kernels CONTRIBUTING.md shows: name, call, predictor, and whether signatures
/// are compared.
const ORDERS: [(&str, Call, Predictor, bool); 13] = [
    ("compression, block-wise", Call::Compress, Predictor::Hierarchical, false),
    ("compression, speculative", Call::Compress, Predictor::Hierarchical, true),
    ("compression, Lorenzo predictor", Call::Compress, Predictor::Lorenzo, false),
    ("decompression", Call::Decompress, Predictor::Hierarchical, false),
    ("decompression, Lorenzo predictor", Call::Decompress, Predictor::Lorenzo, false),
    ("compression of volumes", Call::CompressVolume, Predictor::Hierarchical, false),
    ("decompression of volumes", Call::DecompressVolume, Predictor::Hierarchical, false),
    ("a fix of planes", Call::Protect, Predictor::Hierarchical, false),
    ("a fix of planes applied", Call::Apply, Predictor::Hierarchical, false),
    ("a fix of a volume", Call::ProtectVolume, Predictor::Hierarchical, false),
    ("a fix of a volume applied", Call::ApplyVolume, Predictor::Hierarchical, false),
    ("comparison", Call::Compare, Predictor::Hierarchical, false),
    ("critical points", Call::CriticalPoints, Predictor::Hierarchical, false),
];

/// The kernels of each configuration in their order, as a list in Markdown.
fn orders() -> String {
    let mut text = String::new();
    for (name, call, predictor, signatures) in ORDERS {
        let needs = Needs {
            coder: Coder::Ans,
            predictor,
            signatures,
            few_strips: false,
            has_fill: false,
            has_seam: false,
            relative: false,
            is_stack: false,
            keeps_points: true,
            has_halo: false,
        };
        let names: Vec<_> =
            call.launches_for(needs).map(|(_, launch)| format!("`{}`", launch.name)).collect();
        let mut lines = vec![format!("- {name}:")];
        for word in names.join(", ").split(' ') {
            if lines.last().unwrap().len() + 1 + word.len() > 110 {
                lines.push(" ".to_owned());
            }
            write!(lines.last_mut().unwrap(), " {word}").unwrap();
        }
        writeln!(text, "{}", lines.join("\n")).unwrap();
    }
    text
}

#[test]
fn the_orders_of_kernels_are_up_to_date() {
    const MARKS: [&str; 2] = ["<!-- orders of kernels: generated -->\n", "<!-- end -->\n"];
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let (head, rest) = text.split_once(MARKS[0]).expect("the mark before the orders");
    let (_, tail) = rest.split_once(MARKS[1]).expect("the mark behind the orders");
    check("CONTRIBUTING.md", &format!("{head}{}{}{}{tail}", MARKS[0], orders(), MARKS[1]));
}
