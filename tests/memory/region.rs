//! Regions of damaged and hostile streams end in an error or in values inside the output, in memory that is in
//! proportion to the region and to the bytes that there are.

use crate::support::counting::{alone, peak_of};
use crate::support::fields::{times, Field, Random};
use crate::support::guarded::region_as;
use crate::support::hostile::{assert_refused, config_of, sample, CONSTANT_BYTES};
use factz::stream::checksum::seal;
use factz::stream::header::HEADER_BYTES;
use factz::{BoundKind, Config, Dtype, Error, Predictor, Source};

const SAMPLES: [&str; 12] = [
    "example_f32",
    "one_vertex_f64",
    "stored_f64",
    "row_f32",
    "grid_33x31_f32",
    "missing_block_f32",
    "groups_f32",
    "batches_f64",
    "huffman_groups_f64",
    "lorenzo_groups_f32",
    "lorenzo_missing_block_f64",
    "lorenzo_huffman_batches_f32",
];

fn region(config: &Config, source: Source<'_>, first: [u64; 2]) -> Result<(), Error> {
    match config.dtype {
        Dtype::F32 => region_as::<f32>(config, source, first, 1).0.map(|_| ()),
        Dtype::F64 => region_as::<f64>(config, source, first, 1).0.map(|_| ()),
    }
}

/// Decodes a region from memory and through a reader, whose answers must agree; the answer.
fn decode(config: &Config, stream: &[u8], first: [u64; 2]) -> Result<(), Error> {
    let mut read = |offset: u64, to: &mut [u8]| {
        let end = offset.checked_add(to.len() as u64).expect("an offset in the stream");
        to.copy_from_slice(stream.get(offset as usize..end as usize).expect("bytes of the stream"));
        Ok(())
    };
    let by_reads = region(config, Source::Read(stream.len() as u64, &mut read), first);
    let answer = region(config, stream.into(), first);
    assert_eq!(answer, by_reads);
    answer
}

/// A part of the field of a stream, as a caller who believes the undamaged header asks for it.
fn part(random: &mut Random, stream: &[u8]) -> (Config, [u64; 2]) {
    let whole = config_of(stream);
    let mut span = |n: u64| {
        let first = random.below(n);
        (first, 1 + random.below(n - first))
    };
    let ((x0, nx), (y0, ny)) = (span(whole.nx), span(whole.ny));
    (Config { nx, ny, verify_checksum: false, ..whole }, [x0, y0])
}

#[test]
fn random_damage_does_no_harm() {
    let _alone = alone();
    let mut random = Random(11);
    let streams = SAMPLES.map(sample);
    for case in 0..times("FACTZ_HOSTILE_CASES", 4000) {
        let original = &streams[random.below(streams.len() as u64) as usize];
        let (config, first) = part(&mut random, original);
        let mut stream = original.clone();
        let from = if random.below(3) == 0 { 0 } else { HEADER_BYTES as u64 };
        for _ in 0..1 + random.below(4) {
            let at = from + random.below(stream.len() as u64 - from);
            match random.below(4) {
                0 => stream[at as usize] ^= 1 << random.below(8),
                1 => stream[at as usize] = random.one_of(&[0, 1, 0x7f, 0x80, 0xff]),
                2 => stream[at as usize..].iter_mut().take(4).for_each(|b| *b = random.next() as u8),
                _ => {
                    stream.truncate((at as usize).max(HEADER_BYTES));
                    if random.below(2) == 0 {
                        // The header knows of it.
                        stream.truncate(stream.len() & !3);
                        let length = stream.len() as u64;
                        stream[112..120].copy_from_slice(&length.to_le_bytes());
                    }
                }
            }
            if stream.len() as u64 <= from {
                break;
            }
        }
        let field = (2 * config_of(original).nx * config_of(original).ny * 8) as usize;
        let (answer, peak) = peak_of(|| decode(&config, &stream, first));
        assert!(peak <= 32 * field + 2 * CONSTANT_BYTES, "{case}: {peak} bytes for a field of {field}");
        if answer.is_err() {
            assert_refused(answer, &format!("case {case}"));
        }
    }
}

#[test]
fn truncated_streams_are_refused() {
    let _alone = alone();
    let mut random = Random(12);
    for stream in SAMPLES.map(sample) {
        let step = if stream.len() > 4000 { 61 } else { 1 };
        for length in (0..stream.len()).step_by(step) {
            let (config, first) = part(&mut random, &stream);
            assert_refused(decode(&config, &stream[..length], first), &format!("cut at {length}"));
        }
    }
}

/// Sizes in a header are compared with the bytes that there are before anything is reserved.
#[test]
fn sizes_are_not_believed() {
    let _alone = alone();
    for name in ["groups_f32", "lorenzo_groups_f32", "stored_f64"] {
        let original = sample(name);
        for at in [28, 32, 40, 112, 120] {
            for value in [0, 1, 1 << 20, 1 << 31, u32::MAX as u64, 1 << 40, 1 << 62, u64::MAX - 3, u64::MAX] {
                let mut stream = original.clone();
                let width = if at == 28 { 4 } else { 8 };
                stream[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
                if stream == original {
                    continue;
                }
                seal(&mut stream);
                let config = Config { nx: 3, ny: 2, ..config_of(&original) };
                let (answer, peak) = peak_of(|| decode(&config, &stream, [1, 1]));
                assert!(peak <= CONSTANT_BYTES, "{name}, {value} at {at}: {peak} bytes");
                // Stored content has no tables, and nobody looks at their size.
                assert!(answer.is_err() || (name, at) == ("stored_f64", 28), "{name}, {value} at {at}");
            }
        }
    }
}

/// A window of a large field takes little memory, and no more of a field that is larger.
#[test]
fn memory_is_that_of_the_region() {
    let _alone = alone();
    for predictor in [Predictor::Hierarchical, Predictor::Lorenzo] {
        let peaks = [1024, 4096].map(|ny| {
            let wave = |x: u64, y: u64| [(x as f64 / 9.0).sin() + y as f64 / 300.0, (y as f64 / 7.0).cos()];
            let field = Field::<f32>::new(1024, ny, wave);
            let config = Config { predictor, ..field.config(BoundKind::Relative, 1e-3) };
            let stream = field.compressed(&config).0;
            let window = Config { nx: 64, ny: 64, ..config };
            let ((), peak) = peak_of(|| region(&window, (&stream[..]).into(), [500, 700]).expect("intact"));
            peak
        });
        println!("{predictor:?}: {peaks:?} bytes");
        assert!(
            peaks[1] < 2 * CONSTANT_BYTES && peaks[1] < peaks[0] + peaks[0] / 4,
            "{predictor:?}: {peaks:?}"
        );
    }
}
