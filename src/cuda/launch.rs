//! The description of a kernel launch, and what it depends on: the call, the shape of the field, the
//! configuration and the device.

use super::constants::*;
use super::workspace::AnalysisWorkspace;
use crate::analysis::BAND;
use crate::error::{Error, Result, Status};
use crate::grid::volume_tiles::VolumeGrid;
use crate::request::{Coder, Config, Dtype, Mode, Predictor, Preserve, Request, VolumeRequest};
use crate::stream::header::{LIST_CHUNK, LIST_KINDS};
use crate::volume::tune;

/// A function of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Compress,
    Decompress,
    CompressVolume,
    DecompressVolume,
    Protect,
    ProtectVolume,
    Apply,
    ApplyVolume,
    Range,
    Compare,
    CriticalPoints,
    Inspect,
}

/// Quantities that the number of blocks depends on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    nx: u64,
    ny: u64,
    nz: u64,
    pub(super) tiles: u64,
    tiles_x: u64,
    /// Rows of tiles of all planes.
    tiles_y: u64,
    pub(super) stream_bytes: u64,
    /// Of the device.
    multiprocessors: u64,
}

/// Where a kernel waits for the kernel before it (kernels/device/overlap.cuh). Without effect unless the
/// launch is [`early`](Launch::early).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// At a place in the kernel function, after work that needs no result of the previous kernel.
    Inside,
    /// At its end: it needs no result of the previous kernel.
    Overlaps,
    /// At its start.
    After,
    /// Nowhere: the launch is in stream order.
    InOrder,
}

/// A phase with the call that it belongs to.
pub(super) type Phase = (Call, &'static str);

/// A launch of a kernel: `factz_NAME_f32` or `factz_NAME_f64`.
#[derive(Clone, Copy)]
#[cfg_attr(not(test), allow(dead_code))] // generated.rs reads what the launches do not
pub(super) struct Launch {
    pub(super) call: Call,
    pub(super) phase: &'static str,
    pub(super) name: &'static str,
    /// The CUDA function where it is not `NAME<T>`; T is the element type. Without T there is one kernel,
    /// `factz_NAME`.
    pub(super) function: Option<&'static str>,
    /// Number of blocks for an element type (0 f32, 1 f64).
    pub(super) grid: fn(&Shape, usize) -> u64,
    /// Threads of a block, by element type.
    pub(super) block: [u32; 2],
    /// Least number of blocks on a multiprocessor, from which the compiler derives its limit of registers
    /// (__launch_bounds__). 0: no limit.
    pub(super) resident: [u32; 2],
    /// Dynamic shared memory of a block.
    pub(super) shared_bytes: u32,
    pub(super) small: Option<Small>,
    /// Regions of the workspace and buffers of the caller that the kernel reads. A target of atomic additions
    /// counts as written only.
    pub(super) reads: &'static str,
    /// Regions and buffers that the kernel writes.
    pub(super) writes: &'static str,
    /// Work of all blocks; most work of one block or warp. N: tiles of the field, S: bytes of the stream
    /// buffer. No work depends on what a header claims.
    pub(super) work: &'static str,
    pub(super) waits: Waits,
    /// Whether the kernel may begin before the previous kernel has ended: when all of its blocks have begun
    /// (programmatic dependent launch).
    pub(super) early: bool,
    /// Whether all blocks of the kernel run at the same time, and wait for each other (cooperative launch).
    pub(super) together: bool,
    /// Whether a request needs the kernel. Decompression launches the kernels for every kind of stream, since
    /// only the device reads the header; a kernel without work ends at once.
    pub(super) runs: fn(&Needs) -> bool,
}

/// Differences on devices with less shared memory (below compute capability 8.0).
#[derive(Clone, Copy)]
#[cfg_attr(not(test), allow(dead_code))]
pub(super) struct Small {
    pub(super) grid: fn(&Shape, usize) -> u64,
    pub(super) block: u32,
    pub(super) resident: u32,
    pub(super) shared_bytes: u32,
}

/// A launch with default values: one block, after the previous kernel. The functions below change them.
pub(super) const fn kernel(
    (call, phase): Phase,
    name: &'static str,
    block: [u32; 2],
    resident: [u32; 2],
) -> Launch {
    Launch {
        call,
        phase,
        name,
        function: None,
        grid: |_, _| 1,
        block,
        resident,
        shared_bytes: 0,
        small: None,
        reads: "",
        writes: "",
        work: "",
        waits: Waits::After,
        early: true,
        together: false,
        runs: |_| true,
    }
}

impl Launch {
    pub(super) const fn function(self, function: &'static str) -> Launch {
        Launch { function: Some(function), ..self }
    }
    pub(super) const fn grid(self, grid: fn(&Shape, usize) -> u64) -> Launch {
        Launch { grid, ..self }
    }
    pub(super) const fn data(self, reads: &'static str, writes: &'static str) -> Launch {
        Launch { reads, writes, ..self }
    }
    pub(super) const fn work(self, work: &'static str) -> Launch {
        Launch { work, ..self }
    }
    pub(super) const fn waits(self, waits: Waits) -> Launch {
        Launch { waits, ..self }
    }
    pub(super) const fn shared(self, shared_bytes: u32) -> Launch {
        Launch { shared_bytes, ..self }
    }
    /// Fewer blocks on a multiprocessor of a device with less shared memory.
    pub(super) const fn small(self, resident: u32) -> Launch {
        let Launch { grid, block, shared_bytes, .. } = self;
        Launch { small: Some(Small { grid, block: block[0], resident, shared_bytes }), ..self }
    }
    /// Other shared memory on a device with less of it.
    pub(super) const fn small_shared(self, shared_bytes: u32) -> Launch {
        let Launch { grid, block, resident, .. } = self;
        Launch { small: Some(Small { grid, block: block[0], resident: resident[0], shared_bytes }), ..self }
    }
    /// The launch in another call.
    pub(super) const fn of(self, call: Call) -> Launch {
        Launch { call, ..self }
    }
    pub(super) const fn only(self, runs: fn(&Needs) -> bool) -> Launch {
        Launch { runs, ..self }
    }
    /// Launches the kernel in stream order: it begins when all kernels before it have ended. Three sorts of
    /// kernels need this: the first one of a call; a kernel whose successor runs beside it without waiting,
    /// since results of earlier kernels that the successor reads must be complete when both begin; and
    /// kernels that were measured to be faster on large fields like this.
    pub(super) const fn in_order(self) -> Launch {
        Launch { early: false, ..self }
    }
    /// Launches blocks that wait for each other: no more than run at the same time.
    pub(super) const fn together(self) -> Launch {
        Launch { together: true, ..self.waits(Waits::InOrder).in_order() }
    }
}

impl Launch {
    /// The CUDA function, by its name in the kernels.
    pub(super) fn template(&self) -> String {
        self.function.map_or(format!("{}<T>", self.name), str::to_owned)
    }

    /// The name of the kernel for an element type.
    pub(super) fn symbol(&self, dtype: usize) -> String {
        match self.template().contains("<T") {
            true => format!("factz_{}_{}", self.name, ["f32", "f64"][dtype]),
            false => format!("factz_{}", self.name),
        }
    }

    /// Whether a multiprocessor should have as much shared memory, and as little L1 cache, as it can. Kernels
    /// that divide its memory alike run on it side by side: the next one begins before the last blocks of the
    /// one before have ended. Decompression is faster like this; kernels of compression need their cache.
    pub(super) fn prefers_shared_memory(&self) -> bool {
        matches!(self.call, Call::Decompress | Call::DecompressVolume)
    }

    /// Dynamic shared memory of a block.
    pub(super) fn shared_bytes_on(&self, small: bool) -> u32 {
        self.small.filter(|_| small).map_or(self.shared_bytes, |s| s.shared_bytes)
    }

    pub(super) fn block_on(&self, small: bool, dtype: usize) -> u32 {
        self.small.filter(|_| small).map_or(self.block[dtype], |s| s.block)
    }

    pub(super) fn blocks(&self, shape: &Shape, small: bool, dtype: usize) -> Result<u32> {
        let grid = self.small.filter(|_| small).map_or(self.grid, |s| s.grid);
        let blocks = grid(shape, dtype);
        if blocks > i32::MAX as u64 {
            return Err(Error::new(
                Status::Unsupported,
                format!(
                    "a field of {} x {} x {} vertices takes {blocks} blocks of factz_{}, more than a grid has",
                    shape.nx, shape.ny, shape.nz, self.name
                ),
            ));
        }
        Ok(blocks as u32)
    }
}

/// Properties of a request that its kernels depend on.
#[derive(Clone, Copy)]
pub(super) struct Needs {
    pub(super) coder: Coder,
    pub(super) predictor: Predictor,
    /// Whether signatures are compared instead of vertex bounds: the speculative mode with critical points.
    pub(super) signatures: bool,
    /// Whether the field is small enough for the statistics kernel of few strips.
    pub(super) few_strips: bool,
    pub(super) has_fill: bool,
    /// Whether there are critical points to keep across periodic sides.
    pub(super) has_seam: bool,
    /// Whether the bound of a comparison or of a fix is relative to the range of the first field.
    pub(super) relative: bool,
    /// Whether there are several planes.
    pub(super) is_stack: bool,
    /// Whether there are critical points to keep, and sides with ghosts.
    pub(super) keeps_points: bool,
    pub(super) has_halo: bool,
}

impl Needs {
    /// For a call without a request.
    pub(super) const NONE: Needs = Needs {
        coder: Coder::Ans,
        predictor: Predictor::Hierarchical,
        signatures: false,
        few_strips: false,
        has_fill: false,
        has_seam: false,
        relative: false,
        is_stack: false,
        keeps_points: false,
        has_halo: false,
    };

    pub(super) fn of(config: &Config, shape: &Shape) -> Self {
        Needs {
            coder: config.coder,
            predictor: config.predictor,
            signatures: config.mode == Mode::Speculative && config.preserve != Preserve::None,
            few_strips: shape.strips() <= MOST_FEW_STRIPS as u64,
            has_fill: config.fill_value.is_some(),
            has_seam: config.periodic != 0 && config.preserve != Preserve::None,
            relative: false,
            is_stack: config.nz > 1,
            keeps_points: config.preserve != Preserve::None,
            has_halo: config.halo != 0,
        }
    }

    pub(super) fn relative(self, relative: bool) -> Self {
        Needs { relative, ..self }
    }
}

/// Multiprocessors of an H100, for which the numbers of blocks were chosen. Used until the device is known.
const USUAL_MULTIPROCESSORS: u64 = 132;

const DTYPES: [Dtype; 2] = [Dtype::F32, Dtype::F64];

impl Shape {
    pub(super) fn new(request: &Request, stream_bytes: u64) -> Self {
        let grid = request.grid();
        Shape {
            nx: grid.nx,
            ny: grid.ny,
            nz: grid.nz,
            tiles: grid.tiles(),
            tiles_x: grid.tiles_x(),
            tiles_y: grid.tile_rows(),
            stream_bytes,
            multiprocessors: USUAL_MULTIPROCESSORS,
        }
    }

    pub(super) fn of_volume(request: &VolumeRequest, stream_bytes: u64) -> Self {
        let [x, y, z] = VolumeGrid::of(request.grid()).tiles_along();
        Shape { tiles: x * y * z, tiles_x: x, tiles_y: y * z, ..Shape::new(request.common(), stream_bytes) }
    }

    /// The shape with the number of multiprocessors of a device.
    pub(super) fn on(self, multiprocessors: u64) -> Self {
        Shape { multiprocessors, ..self }
    }

    /// Tiles in the last row or column of their plane.
    pub(super) fn ends_of_planes(&self) -> u64 {
        self.nz * (self.tiles_x + self.tiles_y / self.nz - 1)
    }

    /// A thread takes a cell between the last and the first vertices of an axis.
    pub(super) fn seam_blocks(&self) -> u64 {
        ((self.nx + self.ny) * self.nz).div_ceil(SEAM_THREADS as u64).min(self.blocks_each(8))
    }

    /// A number of blocks for each multiprocessor of the device. Callers pass the number that runs at once,
    /// or a multiple of it where blocks take different times.
    pub(super) fn blocks_each(&self, blocks: u64) -> u64 {
        blocks * self.multiprocessors
    }

    /// Strips of 128 columns of the rows of tiles.
    pub(super) fn strips(&self) -> u64 {
        self.tiles_x.div_ceil(4) * self.tiles_y
    }

    /// Blocks with a warp for each chunk of a list that is read, at most.
    pub(super) fn list_blocks(&self) -> u64 {
        let chunks = 2 * self.nx * self.ny * self.nz / LIST_CHUNK + LIST_KINDS;
        chunks.div_ceil(LIST_WARPS as u64).min(self.blocks_each(8))
    }

    /// Blocks that write a list: one for each of its chunks, at most.
    pub(super) fn written_list_blocks(&self) -> u64 {
        (self.nx * self.ny * self.nz / LIST_CHUNK + LIST_KINDS).min(self.blocks_each(3))
    }

    /// Tiles of the sample that tunes a volume.
    pub(super) fn volume_samples(&self) -> u64 {
        tune::samples(self.tiles)
    }

    /// Segments of a row.
    fn segments(&self, dtype: usize) -> u64 {
        self.nx.div_ceil(AnalysisWorkspace::segment_columns(DTYPES[dtype]))
    }

    /// Bands of rows of all planes.
    fn bands(&self) -> u64 {
        self.ny.div_ceil(BAND) * self.nz
    }

    /// One block for each chunk of columns in a band of rows, at most eight for each multiprocessor.
    pub(super) fn chunk_blocks(&self, dtype: usize) -> u64 {
        let columns = AnalysisWorkspace::chunk_columns(DTYPES[dtype]);
        (self.nx.div_ceil(columns) * self.bands()).clamp(1, self.blocks_each(8))
    }

    /// A warp takes a segment of a band of rows; the warps of a block take consecutive ones.
    pub(super) fn strip_blocks(&self, dtype: usize) -> u64 {
        (self.segments(dtype) * self.bands()).div_ceil(ANALYSIS_WARPS as u64).clamp(1, self.blocks_each(8))
    }

    /// A warp takes 16 rows of a segment; a block has four.
    pub(super) fn open_blocks(&self, dtype: usize) -> u64 {
        (self.segments(dtype) * self.bands() * 2).div_ceil(4).clamp(1, self.blocks_each(16))
    }

    /// A warp takes a segment of a band of rows.
    pub(super) fn point_blocks(&self, dtype: usize) -> u64 {
        (self.segments(dtype).div_ceil(ANALYSIS_WARPS as u64) * self.bands()).clamp(1, self.blocks_each(8))
    }

    /// A warp takes a part of the segments.
    pub(super) fn point_part_blocks(&self, dtype: usize) -> u64 {
        (self.segments(dtype) * self.ny * self.nz)
            .div_ceil(POINT_PART)
            .div_ceil(ANALYSIS_WARPS as u64)
            .clamp(1, self.blocks_each(8))
    }
}
