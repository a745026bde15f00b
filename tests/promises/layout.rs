//! The folders of the library: imports go downward, and a phase that both backends run has a file of the same
//! name in `src` and in `kernels`.

use crate::support::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms of `src`, from the top; each imports only those below it. Rooms in one line do not import each
/// other.
const ROOMS: [&[&str]; 13] = [
    &["capi"],
    &["cuda", "cpu"],
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

/// The rooms of `kernels`, from the bottom: a file includes files of its own room and of those before it. The
/// phases of compression are rooms of their own.
const KERNEL_ROOMS: [&str; 17] = [
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
    "compress/count",
    "compress/tables",
    "compress/encode",
    "compress/assemble",
    "decompress",
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
    ("kernels/analysis/rows_ahead.cuh", "rows on their way to shared memory"),
    (
        "kernels/analysis/sides.cuh",
        "settles the cells of a lane by signs; src/analysis/compare.rs does it by triangle",
    ),
    ("kernels/entropy/groups/masked_tiles.cuh", "TileCoding::active in src/entropy/quantized_tile.rs"),
    ("kernels/grid/pair.cuh", "u and v of a vertex are interleaved only in kernels"),
    ("kernels/entropy/payload.cuh", "raw bits between kernels; a quantized tile holds them on the host"),
    ("kernels/predict/anchor_scan.cuh", "along_rows in src/predict/anchors.rs, by parallel sums"),
    (
        "kernels/predict/anchor_tree.cuh",
        "finds the anchor before an anchor, which a walk along the row knows",
    ),
    ("kernels/predict/cleared.cuh", "counts and sums of a call on the host begin as zeros"),
    ("kernels/tile/finest_level.cuh", "the last level of src/tile/traversal.rs, in registers"),
    ("src/entropy/groups.rs", "declares the files of its folder; tests"),
    ("src/entropy/groups/count.rs", "kernels/compress/count/count.cuh"),
    ("src/entropy/groups/encode.rs", "kernels/compress/encode/encode.cuh"),
    ("src/entropy/groups/weights.rs", "constants that the header shared by Rust and CUDA has"),
    ("src/entropy/rans.rs", "kernels/compress/tables/rans_tables.cuh and kernels/entropy/lanes.cuh"),
    ("src/grid/masks.rs", "kernels/entropy/groups/masked_tiles.cuh"),
    ("src/grid/sides.rs", "constants that the header shared by Rust and CUDA has"),
    ("src/topology/properties.rs", "tests"),
    ("src/tile/bounds.rs", "kernels/compress/bounds/vertex_bounds.cuh"),
    ("src/tile/builder.rs", "kernels write symbols where they belong"),
    ("src/tile/constraints.rs", "kernels/tile/window.cuh"),
    ("src/tile/decode.rs", "kernels/decompress/reconstruct.cuh"),
    ("src/tile/lorenzo_decode.rs", "kernels/decompress/reconstruct_lorenzo.cuh"),
    ("src/tile/lorenzo_encode.rs", "kernels/compress/tiles/lorenzo_rows.cuh"),
    ("src/tile/on_demand.rs", "kernels/compress/bounds/determinant_bounds.cuh"),
    ("src/tile/signs.rs", "kernels/compress/tiles/half_planes.cuh"),
    ("src/tile/spans.rs", "kernels/compress/statistics/block_ranges.cuh"),
    ("src/tile/symbols_by_position.rs", "symbols lie by position in the workspace"),
    ("src/tile/vertex.rs", "kernels/tile/encode.cuh"),
];

/// Rooms of calls and arguments, whose files name each other.
const TOGETHER: [&str; 2] = ["capi", "cuda"];

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

/// The rooms that a source text names after `crate::`.
fn imports(text: &str) -> BTreeSet<String> {
    let names = text.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| {
        let after = line.split("crate::").skip(1);
        after.map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default())
    });
    names.map(str::to_owned).collect()
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
        for to in imports(&source_text(&file)) {
            if to != from && level(&to).is_some_and(|other| other <= own) {
                wrong.push(format!("{} imports {to}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_of_a_room_do_not_import_each_other_in_circles() {
    let source = root().join("src");
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let modules: BTreeSet<String> = files(&source, "rs").iter().map(|file| module(file)).collect();
    let looked_at = |file: &PathBuf| !["lib", "bin"].iter().chain(&TOGETHER).any(|&name| room(file) == name);
    for file in files(&source, "rs").into_iter().filter(looked_at) {
        let own = module(&file);
        let above = format!("crate::{}::", own.rsplit_once("::").unwrap_or_default().0);
        let text = source_text(&file).replace("super::", &above);
        let named = |other: &String| {
            *other != own && other.contains("::") && text.contains(&format!("crate::{other}::"))
        };
        edges.insert(own.clone(), modules.iter().filter(|other| named(other)).cloned().collect());
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
        let stem = file.strip_suffix(".cuh").expect("a header");
        let of_room = |room: &&str| {
            stem.strip_prefix(*room).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        KERNEL_ROOMS.iter().position(of_room).unwrap_or_else(|| panic!("{file} is in no room of the list"))
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

/// The module of a file, without `crate`.
fn module(file: &Path) -> String {
    let names: Vec<_> = file.with_extension("").iter().map(|n| n.to_string_lossy().into_owned()).collect();
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
