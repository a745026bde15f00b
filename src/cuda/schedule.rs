//! The table of all kernel launches of all calls, in the order of execution. The library launches from it,
//! and kernels/factz.cu is generated from it (generated.rs). The request alone decides which of them run.

use super::launch::{kernel, Call, Launch, Needs, Phase, Shape, Small, Waits};
use crate::error::Result;
use crate::request::{Coder, Predictor};

mod analysis;
mod compress;
mod decompress;
mod fixes;
mod volumes;

pub(super) const COUNT: usize = compress::LAUNCHES.len()
    + decompress::LAUNCHES.len()
    + volumes::LAUNCHES.len()
    + fixes::LAUNCHES.len()
    + analysis::LAUNCHES.len();

pub(super) static LAUNCHES: [Launch; COUNT] = {
    const TABLES: [&[Launch]; 5] = [
        &compress::LAUNCHES,
        &decompress::LAUNCHES,
        &volumes::LAUNCHES,
        &fixes::LAUNCHES,
        &analysis::LAUNCHES,
    ];
    let mut all = [compress::LAUNCHES[0]; COUNT];
    let (mut count, mut table) = (0, 0);
    while table < TABLES.len() {
        let mut k = 0;
        while k < TABLES[table].len() {
            all[count] = TABLES[table][k];
            (count, k) = (count + 1, k + 1);
        }
        table += 1;
    }
    all
};

/// Dependences between tiles decide which kernels may overlap. With vertex bounds (`BOUNDS`) a tile depends
/// on anchors alone. With signatures (`SIGNATURES`) a bounded tile also depends on the lattice lines around
/// it. A tile of the Lorenzo predictor depends on no other tile.
const HIERARCHICAL: fn(&Needs) -> bool = |n| matches!(n.predictor, Predictor::Hierarchical);
const BOUNDS: fn(&Needs) -> bool = |n| HIERARCHICAL(n) && !n.signatures;
const SIGNATURES: fn(&Needs) -> bool = |n| HIERARCHICAL(n) && n.signatures;
const LORENZO: fn(&Needs) -> bool = |n| matches!(n.predictor, Predictor::Lorenzo);
const HUFFMAN: fn(&Needs) -> bool = |n| matches!(n.coder, Coder::Huffman);
const RANS: fn(&Needs) -> bool = |n| matches!(n.coder, Coder::Ans);

const fn warps(n: i32) -> [u32; 2] {
    [32 * n as u32; 2]
}

/// Regions of the workspace that hold different contents in different phases: pairs of a content and its
/// region (kernels/device/workspace.cuh). A region is used again when no later kernel needs its content. A
/// name in the table of launches that is not listed here is that of a region with a single content.
#[cfg(test)]
pub(super) const CONTENTS: [(&str, &str); 32] = [
    // Compression.
    ("nearness", "origin_distances"),
    ("list_sizes", "origin_distances"),
    ("seen", "slots"),
    ("vertex_bounds", "slots"),
    ("constrained_rows", "slots"),
    ("hard_triangles", "slots"),
    ("payload", "slots"),
    ("list_entries", "slots"),
    ("group_words", "slots"),
    ("hard_tiles", "masks"),
    ("masks", "masks"),
    ("near_cells", "symbols"),
    ("symbols", "symbols"),
    ("bounded_tiles", "group_offsets"),
    ("chunk_weights", "group_offsets"),
    ("tile_lists", "group_sizes"),
    ("code_entries", "coding_tables"),
    // Decompression.
    ("decoding_tables", "coding_tables"),
    ("group_tiles", "group_sizes"),
    ("outer_anchors", "outer_anchors"),
    // Compression of volumes.
    ("coarse_singles", "slots"),
    ("codes", "slots"),
    ("finest_positions", "slots"),
    ("coarse_values", "values"),
    // Violated simplices, changed vertices, and the lists of rounds.
    ("repair_state", "slots"),
    ("exact_tiles", "group_offsets"),
    ("open_cubes", "listed"),
    ("open_tiles", "list_ranks"),
    ("marked_blocks", "list_ranks"),
    ("list_ranks", "list_ranks"),
    ("entries", "chunks"),
    ("levels", "levels"),
];

impl Call {
    /// Refuses a shape that needs a larger grid than CUDA has, for any kernel of the call.
    pub(super) fn check(self, shape: &Shape) -> Result<()> {
        self.launches().try_for_each(|(_, launch)| {
            launch.blocks(shape, false, 0)?;
            launch.blocks(shape, false, 1).map(|_| ())
        })
    }

    /// Launches of the call, with their numbers in the table.
    pub(super) fn launches(self) -> impl Iterator<Item = (usize, &'static Launch)> {
        LAUNCHES.iter().enumerate().filter(move |(_, launch)| launch.call == self)
    }

    /// Launches of the call that a request needs.
    pub(super) fn launches_for(self, needs: Needs) -> impl Iterator<Item = (usize, &'static Launch)> {
        self.launches().filter(move |(_, launch)| (launch.runs)(&needs))
    }
}

/// A launch for an element type, a shape and a device.
pub(super) struct Kernel {
    /// Number of the launch, and of the element type (0 f32, 1 f64).
    pub(super) launch: usize,
    pub(super) dtype: usize,
    pub(super) blocks: u32,
    pub(super) threads: u32,
    pub(super) shared_bytes: u32,
    /// Whether the kernel may begin before the previous one has ended.
    pub(super) early: bool,
    /// Whether its blocks wait for each other.
    pub(super) together: bool,
}

impl Kernel {
    /// `small`: on a device with less shared memory.
    pub(super) fn new(number: usize, dtype: usize, shape: &Shape, small: bool) -> Result<Kernel> {
        let launch = &LAUNCHES[number];
        Ok(Kernel {
            launch: number,
            dtype,
            blocks: launch.blocks(shape, small, dtype)?,
            threads: launch.block_on(small, dtype),
            shared_bytes: launch.shared_bytes_on(small),
            early: launch.early,
            together: launch.together,
        })
    }

    pub(super) fn symbol(&self) -> String {
        LAUNCHES[self.launch].symbol(self.dtype)
    }
}

#[cfg(test)]
mod tests;
