//! The folders of the library: imports go downward, a phase that both backends run has a file of the same
//! name in `src` and in `kernels`, and a device function fits a screen.

use crate::support::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms of `src`, from the top; each imports only those below it. Rooms in one line do not import each
/// other.
const ROOMS: [&[&str]; 16] = [
    &["capi"],
    &["cuda"],
    &["volume"],
    &["repair"],
    &["cpu"],
    &["analysis"],
    &["tile"],
    &["predict"],
    &["topology"],
    &["entropy"],
    &["stream"],
    &["report", "config_text"],
    &["request"],
    &["grid"],
    &["runtime"],
    &["error"],
];

/// The rooms of `kernels`, from the bottom: a file includes files of its own room and of those before it. A
/// file belongs to the room with the longest name that its path begins with: files directly in
/// `compress/tiles` serve the rooms inside that folder and include none of them.
const KERNEL_ROOMS: [&str; 26] = [
    "device",
    "grid",
    "stream",
    "entropy",
    "topology",
    "predict",
    "tile",
    "compress/statistics",
    "compress/bounds",
    "compress/tiles",
    "compress/tiles/interior",
    "compress/tiles/border",
    "compress/tiles/lines",
    "compress/tiles/speculative",
    "compress/tiles/lorenzo",
    "compress/seam",
    "compress/count",
    "compress/tables",
    "compress/encode",
    "compress/assemble",
    "decompress",
    "repair",
    "volume",
    "repair/fix",
    "analysis",
    "capacities",
];

/// Folders with a CPU and a GPU side.
const TWINS: [&str; 7] = ["analysis", "entropy", "grid", "predict", "stream", "tile", "topology"];

/// Files without a twin, and why.
const ALONE: &[(&str, &str)] = &[
    (
        "kernels/analysis/bands.cuh",
        "a warp walks down a band; src/analysis/mod.rs divides rows among threads",
    ),
    (
        "kernels/analysis/inspect.cuh",
        "the header of a stream in device memory; the host's is src/stream/header.rs",
    ),
    (
        "kernels/analysis/open_triangles.cuh",
        "what signs leave open, a triangle a lane; src/analysis/compare.rs decides it at once",
    ),
    (
        "kernels/analysis/patches.cuh",
        "settles the cells of a lane by signs; src/analysis/critical_points.rs does it by triangle",
    ),
    (
        "kernels/analysis/planes.cuh",
        "numbers bands and rows over all planes; src/analysis/mod.rs takes the view of a plane",
    ),
    ("kernels/analysis/rows_ahead.cuh", "rows on their way to shared memory"),
    (
        "kernels/analysis/sides.cuh",
        "settles the cells of a lane by signs; src/analysis/compare.rs does it by triangle",
    ),
    ("kernels/entropy/groups/masked_tiles.cuh", "TileCoding::active in src/entropy/quantized_tile.rs"),
    ("kernels/entropy/groups/volume_lists.cuh", "src/entropy/groups/lists.rs has both kinds"),
    ("kernels/grid/volume_field.cuh", "src/grid/field.rs and src/grid/sides.rs have planes and volumes"),
    ("kernels/grid/pair.cuh", "u and v of a vertex are interleaved only in kernels"),
    ("kernels/entropy/payload.cuh", "raw bits between kernels; a quantized tile holds them on the host"),
    ("kernels/predict/cleared.cuh", "counts and sums of a call on the host begin as zeros"),
    ("kernels/tile/finest_level.cuh", "the last level of src/tile/traversal.rs, in registers"),
    ("kernels/tile/volume_finest.cuh", "the last level of src/tile/volume.rs, by a block"),
    (
        "kernels/tile/volume_window.cuh",
        "values of a tile in shared memory; src/volume/layer.rs has the whole field",
    ),
    ("kernels/topology/strict_signs.cuh", "src/analysis/strict_signs.rs"),
    ("src/entropy/groups.rs", "declares the files of its folder; tests"),
    ("src/entropy/groups/count.rs", "kernels/compress/count/count.cuh"),
    ("src/entropy/groups/encode.rs", "kernels/compress/encode/encode.cuh"),
    ("src/entropy/groups/step.rs", "the lanes of a warp hold a step in kernels/compress/encode/encode.cuh"),
    ("src/entropy/groups/weights.rs", "constants that the header shared by Rust and CUDA has"),
    ("src/entropy/rans.rs", "kernels/compress/tables/rans_tables.cuh and kernels/entropy/lanes.cuh"),
    ("src/grid/masks.rs", "kernels/entropy/groups/masked_tiles.cuh"),
    ("src/grid/sides.rs", "constants that the header shared by Rust and CUDA has"),
    ("src/stream/region.rs", "regions are decompressed on the host"),
    ("src/topology/properties.rs", "tests"),
    ("src/tile/bounds.rs", "kernels/compress/bounds/vertex_bounds.cuh"),
    ("src/tile/builder.rs", "kernels write symbols where they belong"),
    ("src/tile/component.rs", "streams of one component are made and read on the host"),
    ("src/tile/constraints.rs", "kernels/tile/window.cuh"),
    ("src/tile/decode.rs", "kernels/decompress/reconstruct.cuh"),
    ("src/tile/lorenzo_decode.rs", "kernels/decompress/reconstruct_lorenzo.cuh"),
    ("src/tile/lorenzo_encode.rs", "kernels/compress/tiles/lorenzo/rows.cuh"),
    ("src/tile/on_demand.rs", "kernels/compress/bounds/determinant_bounds.cuh"),
    ("src/tile/signs.rs", "kernels/compress/tiles/speculative/half_planes.cuh"),
    ("src/tile/spans.rs", "kernels/compress/statistics/block_ranges.cuh"),
    ("src/tile/symbols_by_position.rs", "symbols lie by position in the workspace"),
    ("src/tile/vertex.rs", "kernels/tile/encode.cuh"),
    ("src/tile/volume_builder.rs", "kernels write symbols where they belong"),
    ("src/tile/volume_decode.rs", "symbols of volumes lie by position in the workspace"),
    ("src/analysis/differences.rs", "kernels/analysis/compare.cuh"),
    ("src/analysis/strict_signs.rs", "kernels/analysis/sides.cuh"),
    ("src/analysis/volume/compare.rs", "volumes are analysed on the host"),
    ("src/analysis/volume/fields.rs", "volumes are analysed on the host"),
    ("src/analysis/volume/kind.rs", "volumes are analysed on the host"),
    ("src/analysis/volume/layer.rs", "volumes are analysed on the host"),
    ("src/analysis/volume/points.rs", "volumes are analysed on the host"),
    ("src/grid/volume_simplex.rs", "volumes are analysed on the host"),
    ("src/topology/exact_integer.rs", "volumes are analysed on the host"),
    ("src/topology/exact_volume_type.rs", "volumes are analysed on the host"),
    ("src/topology/volume_properties.rs", "tests"),
    ("src/topology/zero_set.rs", "volumes are analysed on the host"),
];

/// Rooms and files of `src` that may hold unsafe code.
const UNSAFE: &[&str] = &[
    "capi/",
    "cuda/",
    "grid/field.rs",
    "runtime/",
    // Scratch of a tile begins as zeros on the heap: it is too large for the stack of a thread.
    "tile/builder.rs",
    "tile/symbols_by_position.rs",
    "tile/volume_builder.rs",
    "tile/volume_decode.rs",
    // Threads write vertices of their own tiles.
    "tile/volume.rs",
    "volume/",
    "tile/window.rs",
    // Threads write disjoint parts of one field.
    "cpu/reconstruct.rs",
    "cpu/stored.rs",
    "repair/apply.rs",
    // The command line calls CUDA and the operating system.
    "bin/factz/device/",
    "bin/factz/litter.rs",
    "bin/factz/memory.rs",
    "bin/factz/output.rs",
    "bin/factz/source.rs",
    "bin/factz/standard.rs",
];

/// Most lines of a device function, from its declaration to its closing brace.
const SCREEN: usize = 60;

/// Device functions with more lines, as `file: name`, and why.
const LONG_FUNCTIONS: &[(&str, &str)] = &[];

/// All files below a folder with an extension, as paths relative to it.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path.strip_prefix(folder).expect("below").to_owned());
            }
        }
    }
    found.sort();
    found
}

/// The room of a file of `src`: its folder, or its own name.
fn room(file: &Path) -> String {
    let first = file.components().next().expect("a name").as_os_str();
    Path::new(first).with_extension("").to_string_lossy().into_owned()
}

/// A source text without its unit tests.
fn source_text(file: &Path) -> String {
    let text = fs::read_to_string(root().join("src").join(file)).expect("a source");
    text.split("#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned()
}

/// The rooms that the text of a module names: the first names of its paths from the root of the crate.
fn imports(text: &str, own: &str) -> BTreeSet<String> {
    let first = |path: &String| path.split("::").next().unwrap_or_default().to_owned();
    paths(text, own).iter().map(first).collect()
}

#[test]
fn rooms_are_found_in_groups_of_imports() {
    let text = "use crate::{cuda::driver, error::{self, Error},\n    grid::tiles as t};\n// crate::no\n\
                use super::request::Config;\nfn f() { crate::stream::g::<crate::tile::X>() }";
    let expected = ["cuda", "error", "grid", "request", "stream", "tile"];
    assert!(imports(text, "report").iter().eq(expected.iter()), "{:?}", imports(text, "report"));
    assert!(imports("use super::driver;", "cuda::launch").iter().eq(["cuda"].iter()));
}

#[test]
fn imports_go_downward() {
    let level = |name: &str| ROOMS.iter().position(|rooms| rooms.contains(&name));
    let mut wrong = Vec::new();
    let source = root().join("src");
    for file in files(&source, "rs") {
        let from = room(&file);
        if ["lib", "bin"].contains(&&*from) {
            continue;
        }
        let own = level(&from).unwrap_or_else(|| panic!("{} is in no room of the list", file.display()));
        for to in imports(&source_text(&file), &module(&file)) {
            if to != from && level(&to).is_some_and(|other| other <= own) {
                wrong.push(format!("{} imports {to}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The root of the modules of the command line, a crate of its own, among those of the library.
const COMMAND_LINE: &str = "bin::factz";

#[test]
fn files_of_a_room_do_not_import_each_other_in_circles() {
    let source = root().join("src");
    let files = files(&source, "rs");
    let modules: BTreeSet<String> = files.iter().map(|file| module(file)).collect();
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| room(file) != "lib") {
        let own = module(file);
        let named = paths(&source_text(file), &own);
        let imports = |other: &String| {
            let inside = |path: &String| path == other || path.starts_with(&format!("{other}::"));
            *other != own && other.contains("::") && named.iter().any(inside)
        };
        let imported = modules.iter().filter(|other| imports(other)).cloned();
        edges.entry(own.clone()).or_default().extend(imported);
    }
    for (from, to) in [("capi::config", "capi::inspect"), ("bin::factz::say", "bin::factz::options")] {
        assert!(edges[from].contains(to), "{from} imports {to}");
    }
    assert_no_circles(&edges);
}

fn assert_no_circles(edges: &BTreeMap<String, BTreeSet<String>>) {
    for start in edges.keys() {
        let (mut seen, mut next) = (BTreeSet::new(), vec![start]);
        while let Some(at) = next.pop() {
            for to in edges.get(at).into_iter().flatten() {
                assert!(to != start, "{start} imports itself by way of {at}");
                if seen.insert(to) {
                    next.push(to);
                }
            }
        }
    }
}

/// The paths from the root of the crate that the text of a module names.
fn paths(text: &str, own: &str) -> BTreeSet<String> {
    let code: Vec<_> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let mut text = code.join("\n");
    if own.starts_with(COMMAND_LINE) {
        text = text.replace("crate::", &format!("crate::{COMMAND_LINE}::"));
    }
    let above = own.rsplit_once("::").map_or(String::new(), |(above, _)| format!("{above}::"));
    let text = text.replace("super::", &format!("crate::{above}"));
    let mut found = BTreeSet::new();
    for (at, start) in text.match_indices("crate::") {
        collect_paths(&text[at + start.len()..], "", &mut found);
    }
    found
}

/// Collects the paths that a text begins with, each behind `above`, and returns the text behind them.
fn collect_paths<'t>(text: &'t str, above: &str, found: &mut BTreeSet<String>) -> &'t str {
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = rest.trim_start_matches([' ', '\n', ',', '*']);
            match rest.strip_prefix('}') {
                Some(behind) => return behind,
                None => rest = collect_paths(rest, above, found),
            }
            if let Some(alias) = rest.strip_prefix(" as ") {
                rest = alias.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
            }
        }
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let path = if above.is_empty() { name.to_owned() } else { format!("{above}::{name}") };
    match rest.strip_prefix("::") {
        Some(below) => collect_paths(below, &path, found),
        None => {
            found.insert(path);
            rest
        }
    }
}

#[test]
fn paths_in_braces_are_taken_apart() {
    let text =
        "use crate::a::{b::{self, C}, d as e, f::*};\n// crate::no\nuse super::{g, h::I};\n x(crate::k::l())";
    let own = "cuda::driver";
    let expected = ["a::b::C", "a::b::self", "a::d", "a::f::", "cuda::g", "cuda::h::I", "k::l"];
    assert!(paths(text, own).iter().eq(expected.iter()), "{:?}", paths(text, own));
    let of_command_line = paths("use super::{x, Y};", "bin::factz::picture::scale");
    assert!(of_command_line.iter().eq(["bin::factz::picture::Y", "bin::factz::picture::x"].iter()));
}

#[test]
fn unsafe_code_stays_in_its_rooms() {
    let mut used = BTreeSet::new();
    for file in files(&root().join("src"), "rs") {
        let text = source_text(&file);
        let mut code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        if code.any(|line| line.contains("unsafe ")) {
            let name = file.to_string_lossy();
            let room = UNSAFE.iter().find(|&&room| name.starts_with(room));
            used.insert(*room.unwrap_or_else(|| panic!("{name} holds unsafe code")));
        }
    }
    assert_eq!(used, UNSAFE.iter().copied().collect(), "rooms of the list without unsafe code");
}

/// The files that each file of `kernels` includes, by their paths there. Headers of the system are left out.
fn includes_of_kernels() -> BTreeMap<String, BTreeSet<String>> {
    let kernels = root().join("kernels");
    let included = |file: &PathBuf| {
        let text = fs::read_to_string(kernels.join(file)).expect("a header");
        let names = text.lines().filter_map(|line| line.trim_start().strip_prefix("#include \""));
        names.map(|rest| rest.trim_end().trim_end_matches('"').to_owned()).collect()
    };
    let headers = files(&kernels, "cuh").into_iter();
    headers.map(|file| (file.to_string_lossy().into_owned(), included(&file))).collect()
}

#[test]
fn includes_of_kernels_go_downward() {
    let level = |file: &str| {
        let stem = Path::new(file.strip_suffix(".cuh").expect("a header"));
        let of_room = (0..KERNEL_ROOMS.len()).filter(|&at| stem.starts_with(KERNEL_ROOMS[at]));
        let longest = of_room.max_by_key(|&at| KERNEL_ROOMS[at].len());
        longest.unwrap_or_else(|| panic!("{file} is in no room of the list"))
    };
    let includes = includes_of_kernels();
    let mut wrong = Vec::new();
    for (file, included) in &includes {
        for other in included {
            assert!(includes.contains_key(other), "{file} includes {other}, which is no file");
            if level(other) > level(file) {
                wrong.push(format!("{file} includes {other}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn kernels_do_not_include_each_other_in_circles() {
    assert_no_circles(&includes_of_kernels());
}

/// An event of `tracing` alone would not reach the callback of the C interface.
#[test]
fn all_events_go_through_the_log_module() {
    let source = root().join("src");
    let of_library = |file: &PathBuf| !file.starts_with("bin") && !file.ends_with("runtime/log.rs");
    for file in files(&source, "rs").into_iter().filter(of_library) {
        let text = fs::read_to_string(source.join(&file)).expect("a source");
        for level in ["event", "error", "warn", "info", "debug", "trace"] {
            assert!(!text.contains(&format!("tracing::{level}!")), "{}: {level}", file.display());
        }
    }
}

/// The module of a file, without `crate`. A file `no_x.rs` is the module `x` of a build without its feature.
fn module(file: &Path) -> String {
    let mut names: Vec<_> =
        file.with_extension("").iter().map(|n| n.to_string_lossy().into_owned()).collect();
    if let Some(name) = names.last_mut() {
        *name = name.trim_start_matches("no_").to_owned();
    }
    names.join("::").trim_end_matches("::mod").to_owned()
}

#[test]
fn both_backends_have_the_same_files() {
    let stems = |side: &str, folder: &str, extension: &str| -> BTreeSet<String> {
        let found = files(&root().join(side).join(folder), extension).into_iter();
        let stems = found.map(|file| format!("{folder}/{}", file.with_extension("").display()));
        stems.filter(|stem| !stem.ends_with("/mod")).collect()
    };
    let mut alone = BTreeSet::new();
    for folder in TWINS {
        let (rust, cuda) = (stems("src", folder, "rs"), stems("kernels", folder, "cuh"));
        alone.extend(rust.difference(&cuda).map(|stem| format!("src/{stem}.rs")));
        alone.extend(cuda.difference(&rust).map(|stem| format!("kernels/{stem}.cuh")));
    }
    let listed: BTreeSet<String> = ALONE.iter().map(|&(file, _)| file.to_owned()).collect();
    let new: Vec<_> = alone.difference(&listed).collect();
    assert!(new.is_empty(), "without a twin and not listed: {new:#?}");
    let gone: Vec<_> = listed.difference(&alone).collect();
    assert!(gone.is_empty(), "listed and not alone: {gone:#?}");
}

/// A function of a source text: its name, the number of its first line, and how many it has.
struct Function {
    name: String,
    first: usize,
    lines: usize,
}

/// The functions that a CUDA source declares `__device__` or `__global__`. The search relies on clang-format:
/// the first line after a declaration with no more indentation than it is the closing brace. A template head
/// counts if it has one line. The search does not see functions that macros make, nor lambda expressions.
fn device_functions(text: &str) -> Vec<Function> {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> =
        text.lines().map(|line| line.split("//").next().unwrap_or_default().trim_end()).collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let declares = line.contains("__device__ ") || line.contains("__global__ ");
        if !declares || line.starts_with('#') || line.ends_with('\\') {
            continue;
        }
        let ends = |line: &&str| [";", "{", "}"].iter().any(|end| line.ends_with(end));
        let head = lines[at..].iter().position(ends).map_or(lines.len(), |end| at + end);
        let declaration = lines[at..lines.len().min(head + 1)].concat();
        let Some((before, _)) = declaration.split_once('(') else { continue };
        // A variable has an equals sign or no parentheses.
        if before.contains('=') || declaration.ends_with(';') {
            continue;
        }
        let closes = |line: &&str| {
            !line.is_empty() && !line.starts_with('#') && indentation(line) <= indentation(lines[at])
        };
        let end = if declaration.ends_with('}') {
            head
        } else {
            let body = lines[head + 1..].iter();
            head + 1 + body.take_while(|line| !closes(line)).count()
        };
        let first = if at > 0 && lines[at - 1].trim_start().starts_with("template") { at - 1 } else { at };
        let name = before.split([' ', '*', '&']).next_back().unwrap_or_default().to_owned();
        found.push(Function { name, first: first + 1, lines: end + 1 - first });
    }
    found
}

#[test]
fn lines_of_a_device_function_are_counted() {
    let text = "\
template <typename T>
__device__ __forceinline__ T* place(
    const T* from, u32 at) {  // {
    if (at) {
#pragma unroll
        for (u32 k = 0; k < at; k++) from++;

    }
    return from;
}
struct Pair {
    __device__ Pair() : a(0) {}
    __device__ u32 sum() const {
        return a;
    }
    u32 a;
};
__device__ const u32 NUMBERS[] = {
    1, 2,
};
__device__ u32 elsewhere(u32);
";
    let found: Vec<_> = device_functions(text).into_iter().map(|f| (f.name, f.first, f.lines)).collect();
    let expected = [("place", 1, 10), ("Pair", 12, 1), ("sum", 13, 3)];
    assert_eq!(found, expected.map(|(name, first, lines)| (name.to_owned(), first, lines)));
}

#[test]
fn device_functions_fit_a_screen() {
    let kernels = root().join("kernels");
    let (mut long, mut number, mut exceptions) = (Vec::new(), 0, BTreeSet::new());
    for file in files(&kernels, "cuh") {
        let text = fs::read_to_string(kernels.join(&file)).expect("a source");
        for function in device_functions(&text) {
            number += 1;
            if function.lines <= SCREEN {
                continue;
            }
            let name = format!("{}: {}", file.display(), function.name);
            if LONG_FUNCTIONS.iter().any(|&(known, _)| known == name) {
                exceptions.insert(name);
            } else {
                long.push(format!("{name} has {} lines (line {})", function.lines, function.first));
            }
        }
    }
    assert!(long.is_empty(), "more than {SCREEN} lines:\n{}", long.join("\n"));
    assert_eq!(exceptions.len(), LONG_FUNCTIONS.len(), "some of the exceptions are short or gone");
    assert!(number > 1000, "{number} functions were found, fewer than there are");
}
