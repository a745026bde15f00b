//! The table of launches is complete, in order and within the limits of a grid.

use super::*;
use crate::error::Status;
use crate::request::{BoundKind, Config, Request};
use std::collections::BTreeSet;

fn config(nx: u64, ny: u64) -> Config {
    Config::new(nx, ny, BoundKind::Relative, 1e-2)
}

fn shape(nx: u64, ny: u64) -> Shape {
    Shape::new(&Request::new(config(nx, ny)).unwrap(), 0)
}

/// Everything that the launches depend on, in every combination.
fn all_needs() -> Vec<Needs> {
    let mut all = Vec::new();
    for coder in [Coder::Ans, Coder::Huffman] {
        for predictor in [Predictor::Hierarchical, Predictor::Lorenzo] {
            for bits in 0..256 {
                let [signatures, few_strips, has_fill, has_seam, relative, is_stack, keeps_points, has_halo] =
                    [0, 1, 2, 3, 4, 5, 6, 7].map(|k| bits >> k & 1 == 1);
                all.push(Needs {
                    coder,
                    predictor,
                    signatures,
                    few_strips,
                    has_fill,
                    has_seam,
                    relative,
                    is_stack,
                    keeps_points,
                    has_halo,
                });
            }
        }
    }
    all
}

fn launches(call: Call, needs: &Needs) -> Vec<&'static Launch> {
    call.launches_for(*needs).map(|(_, launch)| launch).collect()
}

#[test]
fn every_grid_has_a_block_and_fits() {
    for call in [Call::Compress, Call::Decompress, Call::Range, Call::Compare, Call::CriticalPoints] {
        for (nx, ny) in [(1, 1), (1, 1 << 30), (1 << 30, 1), (1 << 18, 1 << 18)] {
            let shape = shape(nx, ny);
            call.check(&shape).unwrap();
            for (_, launch) in call.launches() {
                assert!(launch.blocks(&shape, false, 0).unwrap() >= 1, "{}", launch.name);
                assert!(launch.blocks(&shape, true, 1).unwrap() >= 1, "{}", launch.name);
            }
        }
    }
    for call in [Call::Compress, Call::Decompress] {
        let error = call.check(&shape(1 << 24, 1 << 24)).unwrap_err();
        assert_eq!(error.status, Status::Unsupported);
    }
}

/// Grids that a large field fills depend on the device, others on the field alone.
#[test]
fn grids_grow_with_the_device() {
    let usual = shape(1 << 18, 1 << 18);
    let mut growing = 0;
    for launch in &LAUNCHES {
        for (small, dtype) in [(false, 0), (false, 1), (true, 0)] {
            let blocks = |shape: Shape| launch.blocks(&shape, small, dtype).unwrap();
            let (of_132, of_264) = (blocks(usual.on(132)), blocks(usual.on(264)));
            assert_eq!(blocks(usual), of_132, "{}", launch.name);
            let by_device = of_132 % 132 == 0 && of_264 == 2 * of_132;
            growing += by_device as u32;
            assert!(by_device || of_264 == of_132, "{}: {of_132}, {of_264}", launch.name);
            assert!(blocks(usual.on(1)) >= 1, "{}", launch.name);
        }
    }
    assert!(growing > 60, "{growing} grids depend on the device");
}

/// Blocks that wait for each other are as many as run at the same time, and no more.
#[test]
fn blocks_that_run_together_are_all_resident() {
    let together: Vec<_> = LAUNCHES.iter().filter(|launch| launch.together).collect();
    assert!(!together.is_empty());
    for launch in together {
        for dtype in [0, 1] {
            let blocks = launch.blocks(&shape(1 << 18, 1 << 18).on(132), false, dtype).unwrap();
            assert_eq!(blocks, 132 * launch.resident[dtype], "{}", launch.name);
        }
    }
}

type Condition = fn(&Needs) -> bool;

/// Contents that kernels of compression declare to read although no kernel of some configurations writes
/// them, and these configurations: the kernels serve other configurations too, in which they read them.
const ABSENT: [(&str, Condition); 4] = [
    ("column_lines", BOUNDS),
    ("constrained_rows", BOUNDS),
    ("vertex_bounds", SIGNATURES),
    ("list_sizes", LORENZO),
];

/// Whatever a kernel reads, the caller or an earlier kernel of the call has written.
#[test]
fn nothing_is_read_before_it_is_written() {
    for needs in all_needs() {
        for (call, mut written) in [
            (Call::Compress, vec!["field"]),
            (Call::Decompress, vec!["stream"]),
            (Call::CompressVolume, vec!["field"]),
            (Call::DecompressVolume, vec!["stream"]),
            (Call::Protect, vec!["field", "other_field"]),
            (Call::ProtectVolume, vec!["field", "other_field"]),
            (Call::Apply, vec!["field", "stream"]),
            (Call::ApplyVolume, vec!["field", "stream"]),
            (Call::Range, vec!["field", "counts"]),
            (Call::Compare, vec!["field", "other_field", "counts"]),
            (Call::CriticalPoints, vec!["field", "point_parts"]),
            (Call::Inspect, vec!["stream"]),
        ] {
            let mut absent = BTreeSet::new();
            for launch in launches(call, &needs) {
                let reads = launch.reads.split(' ').filter(|name| !name.is_empty());
                absent.extend(reads.filter(|name| !written.contains(name)));
                written.extend(launch.writes.split(' '));
            }
            let applies = |(_, of): &(_, Condition)| call == Call::Compress && of(&needs);
            let expected = ABSENT.into_iter().filter(applies).map(|(name, _)| name).collect();
            assert_eq!(absent, expected, "{call:?}, {:?}", needs.predictor);
            let result = match call {
                Call::Compress | Call::CompressVolume => "report",
                Call::Protect | Call::ProtectVolume | Call::Apply | Call::ApplyVolume => "report",
                Call::Decompress | Call::DecompressVolume => "field",
                Call::Range => "range",
                Call::Compare => "comparison",
                Call::CriticalPoints => "points",
                Call::Inspect => "info",
            };
            assert!(written.contains(&result), "{call:?}");
        }
    }
}

#[test]
fn each_phase_has_one_kernel_of_the_request() {
    for needs in all_needs() {
        let compress = launches(Call::Compress, &needs);
        for phase in ["statistics", "count", "tables", "encode", "assemble"] {
            let kernels = compress.iter().filter(|launch| launch.phase == phase);
            assert_eq!(kernels.count(), 1, "{phase}");
        }
        let names = |call| launches(call, &needs).iter().map(|launch| launch.name).collect::<Vec<_>>();
        let tiles =
            ["unconstrained_tiles", "constrained_tiles", "lorenzo_unconstrained", "lorenzo_constrained"];
        let interior = names(Call::Compress).iter().filter(|name| tiles.contains(name)).count();
        assert_eq!(interior, 2);
        // Both predictors are restored whichever is expected.
        let decompress = names(Call::Decompress);
        for name in ["anchor_values", "reconstruct_border"] {
            assert_eq!(decompress.iter().filter(|n| **n == name).count(), 1, "{name}");
        }
        let hierarchical = needs.predictor == Predictor::Hierarchical;
        assert_eq!(decompress.contains(&"reconstruct"), hierarchical);
        assert_eq!(decompress.contains(&"reconstruct_other_lorenzo"), hierarchical);
        assert_eq!(decompress.contains(&"reconstruct_lorenzo"), !hierarchical);
    }
}
