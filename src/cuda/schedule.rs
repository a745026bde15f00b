//! The fixed sequences of kernels. What runs depends on the request alone.

use super::constants::*;
use super::driver::{Function, Module};
use super::kernel_args::Job;
use super::{Direction, Stream};
use crate::error::{Error, Result, Status};
use crate::request::{Coder, Config, Mode, Predictor, Preserve, Request};

/// What the number of blocks depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    vertices: u64,
    tiles: u64,
    tiles_x: u64,
    tiles_y: u64,
    stream_bytes: u64,
}

/// A kernel: `factz_NAME_T`.
pub(super) struct Stage {
    pub(super) name: &'static str,
    /// Number of blocks for an element type (0 f32, 1 f64).
    blocks: fn(&Shape, usize) -> u64,
    /// Threads of a block, by element type.
    threads: [u32; 2],
    /// Dynamic shared memory of a block.
    pub(super) shared_bytes: u32,
    /// Whether it may begin once all blocks of the stage before have: its kernel waits for that before it reads
    /// what that writes, at its start or at its end (kernels/device/control.cuh).
    early: bool,
    /// What it is where a block has less shared memory.
    small: Option<&'static Stage>,
    /// Whether a configuration needs it. Decompression learns on the device which kernels have work; it is ready for
    /// any stream.
    pub(super) needed: fn(&Needs) -> bool,
}

/// What the kernels of a configuration depend on.
#[derive(Clone, Copy)]
pub(super) struct Needs {
    pub(super) coder: Coder,
    pub(super) predictor: Predictor,
    /// Whether signatures are looked at in place of limits.
    pub(super) signatures: bool,
    /// Whether the statistics have little to do.
    pub(super) few_strips: bool,
    /// Whether there is a fill value.
    pub(super) has_fill: bool,
}

impl Needs {
    pub(super) fn of(config: &Config, shape: &Shape) -> Self {
        Needs {
            coder: config.coder,
            predictor: config.predictor,
            signatures: config.mode == Mode::Speculative && config.preserve != Preserve::None,
            few_strips: shape.strips() <= MOST_FEW_STRIPS as u64,
            has_fill: config.fill_value.is_some(),
        }
    }
}

const fn stage(name: &'static str, blocks: fn(&Shape, usize) -> u64, threads: u32) -> Stage {
    Stage { name, blocks, threads: [threads; 2], shared_bytes: 0, early: true, small: None, needed: |_| true }
}

/// A kernel with a warp for two tiles: as many warps in a block as its shared memory lets.
const fn tile_stage(name: &'static str, blocks: fn(&Shape, usize) -> u64, warps: [u32; 2]) -> Stage {
    Stage { threads: [32 * warps[0], 32 * warps[1]], ..stage(name, blocks, 0) }
}

/// A kernel of some configurations only.
const fn only(needed: fn(&Needs) -> bool, stage: Stage) -> Stage {
    Stage { needed, ..stage }
}

const HIERARCHICAL: fn(&Needs) -> bool = |n| matches!(n.predictor, Predictor::Hierarchical);
const LIMITS: fn(&Needs) -> bool = |n| HIERARCHICAL(n) && !n.signatures;
const SIGNATURES: fn(&Needs) -> bool = |n| HIERARCHICAL(n) && n.signatures;
const LORENZO: fn(&Needs) -> bool = |n| matches!(n.predictor, Predictor::Lorenzo);
const HUFFMAN: fn(&Needs) -> bool = |n| matches!(n.coder, Coder::Huffman);
const ANS: fn(&Needs) -> bool = |n| matches!(n.coder, Coder::Ans);
const FEW_STRIPS: fn(&Needs) -> bool = |n| n.few_strips && !n.has_fill;
const MANY_STRIPS: fn(&Needs) -> bool = |n| !n.few_strips && !n.has_fill;
const FEW_FILLED_STRIPS: fn(&Needs) -> bool = |n| n.few_strips && n.has_fill;
const MANY_FILLED_STRIPS: fn(&Needs) -> bool = |n| !n.few_strips && n.has_fill;
const ANS_LORENZO: fn(&Needs) -> bool = |n| ANS(n) && LORENZO(n);
const HUFFMAN_LORENZO: fn(&Needs) -> bool = |n| HUFFMAN(n) && LORENZO(n);
const ANS_HIERARCHICAL: fn(&Needs) -> bool = |n| ANS(n) && HIERARCHICAL(n);
const HUFFMAN_HIERARCHICAL: fn(&Needs) -> bool = |n| HUFFMAN(n) && HIERARCHICAL(n);

/// Blocks that fill any device several times over; more only wait.
pub(super) const MANY: u64 = 1056;

/// Words of a stream before those of its groups, at most: `open` has blocks for parts of both. There are no more than a device has
/// multiprocessors: the last one sums all that is before its part.
const MOST_FIRST_WORDS: u64 = (128 + 52 + 50 * 1020) / 4;

const FEW_BLOCKS: fn(&Shape, usize) -> u64 = |s, _| s.strips().min(MOST_FEW_STRIPS as u64);
const MANY_BLOCKS: fn(&Shape, usize) -> u64 =
    |s, _| s.strips().div_ceil(4).min(MOST_STATISTICS_BLOCKS as u64);
/// What `tune` asks for and does not use: with it a multiprocessor's memory is divided as for `limits`, whose blocks can
/// then begin beside it.
const TUNE_BYTES: u32 = 18000;

/// Entropy coding with so many groups in a block.
const ENCODE: Stage = with_shared(ENCODE_SHARED_BYTES, stage("encode", |s, _| s.tiles.min(264), 640));
const SMALL_ENCODE: Stage =
    with_shared(ENCODE_SMALL_SHARED_BYTES, stage("encode", |s, _| s.tiles.min(528), 320));

const fn with_shared(shared_bytes: u32, stage: Stage) -> Stage {
    Stage { shared_bytes, ..stage }
}

/// A kernel that begins only when the one before has ended, with all that came before it: the first of all; one beside
/// which the next works, so that what both need has to be complete when it begins; and some that are measured to be
/// faster like this where there is much to do.
const fn on_time(stage: Stage) -> Stage {
    Stage { early: false, ..stage }
}

const PLAIN: Stage = tile_stage("plain", |s, dtype| s.tiles.div_ceil([8, 2][dtype]), [4, 1]);
const TIGHT: Stage =
    tile_stage("tight", |s, dtype| s.tiles.div_ceil([4, 2][dtype]).min([6 * MANY, 4 * MANY][dtype]), [2, 1]);

/// Where limits are looked at, tiles depend on anchors alone, and their kernels work beside each other. Where signatures
/// are, tiles that are not plain depend on the lines around them. Tiles of the Lorenzo predictor depend on nothing.
pub(super) const COMPRESS: [Stage; 29] = [
    only(FEW_STRIPS, on_time(stage("few_statistics", FEW_BLOCKS, 128))),
    only(MANY_STRIPS, on_time(stage("statistics", MANY_BLOCKS, 128))),
    only(FEW_FILLED_STRIPS, on_time(stage("few_filled_statistics", FEW_BLOCKS, 128))),
    only(MANY_FILLED_STRIPS, on_time(stage("filled_statistics", MANY_BLOCKS, 128))),
    stage("sort", |s, _| 1 + s.tiles.div_ceil(512), 512),
    only(HIERARCHICAL, on_time(with_shared(TUNE_BYTES, stage("tune", |s, _| s.tiles.min(24) * 12, 128)))),
    stage("limits", |s, _| s.tiles.min(16 * MANY), 64),
    stage("bounds", |s, _| s.tiles.div_ceil(4).min(MANY * 5 / 8), 128),
    only(HIERARCHICAL, stage("anchors", |s, _| s.tiles.div_ceil(128), 128)),
    only(LIMITS, on_time(PLAIN)),
    only(LIMITS, TIGHT),
    only(LIMITS, stage("others", |s, _| s.tiles.min(8 * MANY), 64)),
    only(SIGNATURES, on_time(stage("across", |s, _| s.tiles.div_ceil(4).min(2 * MANY), 128))),
    only(SIGNATURES, PLAIN),
    only(SIGNATURES, stage("down", |s, _| s.tiles.div_ceil(4).min(2 * MANY), 128)),
    only(SIGNATURES, on_time(stage("speculative", |s, _| s.tiles.min(8 * MANY), 64))),
    only(SIGNATURES, TIGHT),
    only(LORENZO, on_time(stage("lorenzo_tight", |s, _| s.tiles.div_ceil(16), 128))),
    only(LORENZO, stage("lorenzo_others", |s, _| s.tiles.div_ceil(4).min(2 * MANY), 128)),
    only(LORENZO, stage("lorenzo_plain", |s, _| s.tiles.div_ceil(16), 128)),
    only(
        HIERARCHICAL,
        with_shared(COUNT_SHARED_BYTES, stage("collect", |s, _| s.tiles.div_ceil(16).min(396), 512)),
    ),
    only(
        LORENZO,
        with_shared(
            COUNT_LORENZO_SHARED_BYTES,
            stage("lorenzo_count", |s, _| s.tiles.div_ceil(16).min(132), 512),
        ),
    ),
    only(ANS, stage("tables", |s, _| 50 + s.tiles.div_ceil(1024), 256)),
    only(HUFFMAN, stage("make_codes", |s, _| 50 + s.tiles.div_ceil(1024), 256)),
    only(ANS_HIERARCHICAL, Stage { small: Some(&SMALL_ENCODE), ..ENCODE }),
    only(HUFFMAN_HIERARCHICAL, Stage { name: "encode_huffman", small: Some(&SMALL_ENCODE), ..ENCODE }),
    only(
        ANS_LORENZO,
        with_shared(ENCODE_LORENZO_SHARED_BYTES, stage("encode_lorenzo", |s, _| s.tiles.min(264), 640)),
    ),
    only(
        HUFFMAN_LORENZO,
        with_shared(
            ENCODE_LORENZO_SHARED_BYTES,
            stage("encode_lorenzo_huffman", |s, _| s.tiles.min(264), 640),
        ),
    ),
    stage("gather", |s, _| s.tiles.min(384), 512),
];

const LORENZO_RESTORE: Stage = stage("lorenzo_restore", |s, _| s.tiles.div_ceil(32), 256);

/// What a stream needs is in its header, which the host does not know. The predictor of the configuration says what to
/// expect: the kernel of the other one comes last, or a slower one does its work.
pub(super) const DECOMPRESS: [Stage; 11] = [
    on_time(stage("begin", |_, _| 3, 256)),
    stage("open", |s, _| 51 + (s.tiles + MOST_FIRST_WORDS).div_ceil(2048).min(81), 1024),
    stage("check", |s, _| s.stream_bytes.div_ceil(8192).clamp(1, 528), 256),
    with_shared(DECODE_RANS_SHARED_BYTES, stage("decode", |s, _| s.tiles.min(528), 256)),
    with_shared(DECODE_HUFFMAN_SHARED_BYTES, stage("decode_huffman", |s, _| s.tiles.min(528), 256)),
    only(LORENZO, LORENZO_RESTORE),
    stage("anchor_values", |s, _| s.tiles.div_ceil(ANCHOR_CHUNK as u64) + 1, 256),
    only(HIERARCHICAL, stage("restore_others", |s, _| s.tiles.div_ceil(2).min(4 * MANY), 64)),
    // Mostly without work.
    only(LORENZO, stage("restore_others", |s, _| s.tiles.div_ceil(2).min(MANY), 64)),
    only(HIERARCHICAL, stage("restore", |s, _| s.tiles.div_ceil(4), 64)),
    only(HIERARCHICAL, LORENZO_RESTORE),
];

impl Stage {
    /// Its shape on some device, where a block has less shared memory or not.
    pub(super) fn on(&self, small: bool) -> &Stage {
        self.small.filter(|_| small).unwrap_or(self)
    }

    /// The name of the kernel for an element type.
    pub(super) fn function(&self, dtype: usize) -> String {
        format!("factz_{}_{}", self.name, ["f32", "f64"][dtype])
    }

    fn grid(&self, shape: &Shape, dtype: usize) -> Result<u32> {
        let blocks = (self.blocks)(shape, dtype);
        if blocks > i32::MAX as u64 {
            return Err(Error::new(
                Status::Unsupported,
                format!(
                    "a field of {} vertices takes {blocks} blocks of factz_{}, more than a CUDA grid has",
                    shape.vertices, self.name
                ),
            ));
        }
        Ok(blocks as u32)
    }
}

impl Direction {
    pub(super) fn stages(self) -> &'static [Stage] {
        match self {
            Direction::Compress => &COMPRESS,
            Direction::Decompress => &DECOMPRESS,
        }
    }
}

impl Shape {
    pub(super) fn new(request: &Request, stream_bytes: u64) -> Self {
        let grid = request.grid();
        Shape {
            vertices: grid.vertices(),
            tiles: grid.tiles(),
            tiles_x: grid.tiles_x(),
            tiles_y: grid.tiles_y(),
            stream_bytes,
        }
    }

    /// Strips of 128 columns of the rows of tiles.
    fn strips(&self) -> u64 {
        self.tiles_x.div_ceil(4) * self.tiles_y
    }

    /// Refuses a shape that some kernel of the sequence cannot be launched with.
    pub(super) fn check(&self, direction: Direction) -> Result<()> {
        direction.stages().iter().try_for_each(|stage| {
            stage.grid(self, 0)?;
            stage.grid(self, 1).map(|_| ())
        })
    }
}

/// A kernel with its grid.
pub(super) struct Kernel {
    pub(super) function: Function,
    pub(super) blocks: u32,
    pub(super) threads: u32,
    pub(super) shared_bytes: u32,
    /// Whether it may begin before the kernel before has ended.
    pub(super) early: bool,
}

/// One call, ready to be enqueued.
pub(super) struct Launcher<'a> {
    pub(super) module: &'a Module,
    pub(super) direction: Direction,
    pub(super) dtype: usize,
    pub(super) shape: Shape,
    pub(super) job: Job,
    pub(super) needs: Needs,
}

impl Launcher<'_> {
    /// The numbers of the stages that the configuration needs.
    pub(super) fn stages(&self) -> impl Iterator<Item = usize> + '_ {
        let stages = self.direction.stages().iter().enumerate();
        stages.filter(|(_, stage)| (stage.needed)(&self.needs)).map(|(k, _)| k)
    }

    /// # Safety
    /// The context of the stream is current and everything the job points to is device-accessible.
    pub(super) unsafe fn launch(&self, stage: usize, stream: Stream) -> Result<()> {
        let function = self.module.stage(self.direction, stage, self.dtype);
        let stage = &self.direction.stages()[stage];
        let shape = stage.on(self.module.is_small());
        let blocks = shape.grid(&self.shape, self.dtype)?;
        let kernel = Kernel {
            function,
            blocks,
            threads: shape.threads[self.dtype],
            shared_bytes: shape.shared_bytes,
            early: stage.early && self.module.overlaps(),
        };
        // SAFETY: the kernel takes one Job; the rest is the caller's promise.
        unsafe { self.module.launch(&kernel, &self.job, stream, || stage.function(self.dtype)) }
    }

    /// # Safety
    /// As for [`Launcher::launch`].
    pub(super) unsafe fn enqueue(&self, stream: Stream) -> Result<()> {
        // SAFETY: the caller's promise.
        self.stages().try_for_each(|stage| unsafe { self.launch(stage, stream) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::BoundKind;

    fn shape(nx: u64, ny: u64) -> Shape {
        Shape::new(&Request::new(Config::new(nx, ny, BoundKind::Relative, 1e-2)).unwrap(), 0)
    }

    #[test]
    fn every_grid_has_a_block_and_fits() {
        for direction in [Direction::Compress, Direction::Decompress] {
            for (nx, ny) in [(1, 1), (1, 1 << 30), (1 << 30, 1), (1 << 18, 1 << 18)] {
                let shape = shape(nx, ny);
                shape.check(direction).unwrap();
                for stage in direction.stages() {
                    assert!(stage.grid(&shape, 0).unwrap() >= 1, "{}", stage.name);
                }
            }
            let error = shape(1 << 24, 1 << 24).check(direction).unwrap_err();
            assert_eq!(error.status, Status::Unsupported);
        }
    }

    #[test]
    fn names() {
        assert_eq!(COMPRESS[0].function(0), "factz_few_statistics_f32");
        assert_eq!(COMPRESS[9].function(1), "factz_plain_f64");
        assert_eq!(DECOMPRESS[10].function(0), "factz_lorenzo_restore_f32");
    }

    #[test]
    fn every_configuration_counts_makes_tables_and_encodes_once() {
        for coder in [Coder::Ans, Coder::Huffman] {
            for predictor in [Predictor::Hierarchical, Predictor::Lorenzo] {
                for signatures in [false, true] {
                    let has_fill = coder == Coder::Huffman;
                    let needs = Needs { coder, predictor, signatures, few_strips: signatures, has_fill };
                    let stages = COMPRESS.iter().filter(|stage| (stage.needed)(&needs));
                    let names: Vec<&str> = stages.map(|stage| stage.name).collect();
                    let times = |begin: &[&str]| {
                        names.iter().filter(|n| begin.iter().any(|b| n.starts_with(b))).count()
                    };
                    let statistics = names.iter().filter(|n| n.ends_with("statistics"));
                    assert_eq!(statistics.count(), 1, "{names:?}");
                    assert_eq!(times(&["collect", "lorenzo_count"]), 1, "{names:?}");
                    assert_eq!(times(&["tables", "make_codes"]), 1, "{names:?}");
                    assert_eq!(times(&["encode"]), 1, "{names:?}");
                    assert_eq!(times(&["tune"]) + times(&["lorenzo_plain"]), 1, "{names:?}");
                    for kernel in ["plain", "tight"] {
                        assert_eq!(times(&[kernel]), times(&["tune"]), "{names:?}");
                    }
                    assert_eq!(times(&["others", "speculative"]), times(&["tune"]), "{names:?}");
                }
            }
        }
    }

    #[test]
    fn both_predictors_are_restored_whichever_is_expected() {
        for predictor in [Predictor::Hierarchical, Predictor::Lorenzo] {
            let needs =
                Needs { coder: Coder::Ans, predictor, signatures: false, few_strips: false, has_fill: false };
            let names: Vec<&str> =
                DECOMPRESS.iter().filter(|stage| (stage.needed)(&needs)).map(|stage| stage.name).collect();
            let place = |name: &str| {
                names.iter().position(|n| *n == name).unwrap_or_else(|| panic!("{name}: {names:?}"))
            };
            assert_eq!(names.iter().filter(|n| **n == "lorenzo_restore").count(), 1, "{names:?}");
            assert!(
                place("decode_huffman") < place("anchor_values")
                    && place("anchor_values") < place("restore_others")
            );
            // The report comes with the last kernel of the hierarchical predictor.
            assert_eq!(names.contains(&"restore"), predictor == Predictor::Hierarchical, "{names:?}");
        }
    }

    #[test]
    fn every_stage_is_a_kernel() {
        let source = include_str!("../../kernels/factz.cu");
        for stage in COMPRESS.iter().chain(&DECOMPRESS) {
            let name = format!("factz_{}", stage.name);
            let is_there = source.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|w| w == name);
            assert!(is_there, "{name}");
        }
    }
}
