//! A region of a field is bit for bit the crop of the whole field, and takes the groups of its tiles alone.

use crate::support::fields::{Field, Random, CODERS, FRONTS};
use crate::support::golden::folder;
use crate::support::guarded::region_as;
use factz::capi::config::*;
use factz::capi::region::*;
use factz::capi::report::factz_report;
use factz::capi::status::*;
use factz::stream::header::{Content, Header};
use factz::stream::sections::{bytes_before_groups, split};
use factz::{decompress, inspect, BoundKind, Coder, Config, Dtype, Error, Execution};
use factz::{Real, Report, Source, Status, ViewMut};
use std::fs;
use std::ops::Range;

/// The configuration of a caller who wants a region of this size.
fn config_of(stream: &[u8], [nx, ny]: [u64; 2]) -> Config {
    let dtype = inspect(stream).expect("a header").dtype;
    Config { dtype, ..Config::new(nx, ny, BoundKind::Absolute, 0.0) }
}

/// A field as the whole decode gives it: bits, row by row.
struct Whole<'a> {
    stream: &'a [u8],
    nx: u64,
    ny: u64,
    bits: [Vec<u64>; 2],
    exact_vertices: u64,
}

impl<'a> Whole<'a> {
    fn of<T: Real>(stream: &'a [u8]) -> Self {
        let info = inspect(stream).expect("a header");
        let config = config_of(stream, [info.nx, info.ny]);
        let vertices = (info.nx * info.ny) as usize;
        let mut values = [vec![T::ZERO; vertices], vec![T::ZERO; vertices]];
        let [u, v] = values.each_mut().map(|values| ViewMut::dense(values, info.nx));
        let report = decompress(&config, stream, u, v, Execution::default()).expect("intact");
        let bits = values.map(|values| values.iter().map(|x| x.to_bits64()).collect());
        Whole { stream, nx: info.nx, ny: info.ny, bits, exact_vertices: report.exact_vertices }
    }

    fn crop(&self, [x0, y0]: [u64; 2], [nx, ny]: [u64; 2]) -> [Vec<u64>; 2] {
        let at = |k: u64| ((y0 + k / nx) * self.nx + x0 + k % nx) as usize;
        self.bits.each_ref().map(|bits| (0..nx * ny).map(|k| bits[at(k)]).collect())
    }

    /// Asserts that a region is the crop, from memory and from a reader; the report.
    fn check<T: Real>(&self, first: [u64; 2], size: [u64; 2], threads: usize, name: &str) -> Report {
        let what = || format!("{name}: {size:?} vertices from {first:?} on");
        let expected = self.crop(first, size);
        let config = config_of(self.stream, size);
        let (report, bits) = region_as::<T>(&config, self.stream.into(), first, threads);
        assert!(bits == expected, "{}", what());
        let report = report.unwrap_or_else(|e| panic!("{}: {e}", what()));
        let (read, bits, ranges) = read::<T>(self.stream, first, size);
        assert!(bits == expected, "{}, read", what());
        assert_eq!(read.unwrap(), report, "{}", what());
        assert_eq!(report.required_bytes, self.stream.len() as u64);
        // The header, then the tables and group words, and then one range for what lies together.
        assert_eq!(ranges[0], 0..128);
        let in_order = |pair: &[Range<u64>]| pair[0].end <= pair[1].start;
        let apart = |pair: &[Range<u64>]| pair[0].end < pair[1].start;
        assert!(
            ranges.windows(2).all(in_order) && ranges.get(2..).unwrap_or(&[]).windows(2).all(apart),
            "{ranges:?}"
        );
        let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        assert_eq!(report.stream_bytes, bytes, "{}", what());
        if size == [self.nx, self.ny] {
            assert_eq!(report.exact_vertices, self.exact_vertices, "{}", what());
            assert_eq!(bytes, self.stream.len() as u64, "{}", what());
        }
        report
    }
}

type Read = (Result<Report, Error>, [Vec<u64>; 2], Vec<Range<u64>>);

/// Reads a region piece by piece; the answer, the bits, and what was read.
fn read<T: Real>(stream: &[u8], first: [u64; 2], size: [u64; 2]) -> Read {
    let mut ranges = Vec::new();
    let mut at = |offset: u64, to: &mut [u8]| {
        let range = offset..offset + to.len() as u64;
        assert!(!to.is_empty());
        to.copy_from_slice(&stream[range.start as usize..range.end as usize]);
        ranges.push(range);
        Ok(())
    };
    let source = Source::Read(stream.len() as u64, &mut at);
    let (report, bits) = region_as::<T>(&config_of(stream, size), source, first, 1);
    (report, bits, ranges)
}

/// The golden streams of one plane: `stacks` has regions of several.
fn golden_streams() -> Vec<(String, Vec<u8>)> {
    let mut streams = Vec::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "fctz") {
            streams
                .push((path.file_stem().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()));
        }
    }
    streams.retain(|(_, stream)| inspect(stream).is_ok_and(|info| info.nz == 1));
    streams.sort();
    streams
}

/// A number of columns or rows that a region of a line of `n` has, and its first; often on and beside lattice
/// lines and at the ends.
fn span(random: &mut Random, n: u64) -> (u64, u64) {
    let mut place = || match random.below(4) {
        0 => random.below(n),
        1 => (32 * random.below(n / 32 + 1)).min(n - 1),
        2 => (32 * random.below(n / 32 + 1) + random.below(3)).saturating_sub(1).min(n - 1),
        _ => random.one_of(&[0, n - 1]),
    };
    let (a, b) = (place(), place());
    (a.min(b), a.max(b) - a.min(b) + 1)
}

fn check_regions<T: Real>(name: &str, stream: &[u8], regions: usize, random: &mut Random) {
    let whole = Whole::of::<T>(stream);
    whole.check::<T>([0, 0], [whole.nx, whole.ny], 3, name);
    for k in 0..regions {
        let ((x0, nx), (y0, ny)) = (span(random, whole.nx), span(random, whole.ny));
        // Every fourth is a single vertex.
        let size = if k % 4 == 0 { [1, 1] } else { [nx, ny] };
        whole.check::<T>([x0, y0], size, 1 + k % 3, name);
    }
}

#[test]
fn regions_of_golden_streams_are_crops() {
    let mut random = Random(39);
    let mut stored = 0;
    for (name, stream) in golden_streams() {
        let header = Header::read(&stream).unwrap();
        stored += (header.content == Content::Stored) as usize;
        match header.dtype {
            Dtype::F32 => check_regions::<f32>(&name, &stream, 24, &mut random),
            Dtype::F64 => check_regions::<f64>(&name, &stream, 24, &mut random),
        }
    }
    assert!(stored > 2);
}

/// An ocean: eddies of many sizes, noise, and land.
fn ocean<T: Real>(nx: u64, ny: u64) -> Field<T> {
    let mut random = Random(7);
    Field::new(nx, ny, |x, y| {
        let (a, b) = (x as f64 / 40.0, y as f64 / 40.0);
        let coast = (a * 0.23).sin() + (b * 0.31).cos() + 0.2 * (a * 1.7 + b).sin();
        if coast > 1.2 {
            return [0.0, 0.0];
        }
        let wave = |f: f64, p: f64| (f * a + p).sin() * (f * b - p).cos() / f;
        let eddies = |p: f64| [0.3, 0.7, 1.9, 4.1, 7.3].iter().map(|&f| wave(f, p * f)).sum::<f64>();
        [eddies(0.4) + 0.012 * random.signed(), eddies(2.1) + 0.012 * random.signed()]
    })
}

/// All ways to code a field of many groups, whose rows of tiles the groups cut at any place.
#[test]
fn regions_of_many_groups_are_crops() {
    let mut random = Random(40);
    fn of<T: Real>(random: &mut Random) {
        let field = ocean::<T>(700, 430);
        for (k, (mode, predictor)) in FRONTS.into_iter().enumerate() {
            for coder in CODERS {
                for bound in [1e-2, 1e-4] {
                    let config =
                        Config { mode, predictor, coder, ..field.config(BoundKind::Relative, bound) };
                    let stream = field.compressed(&config).0;
                    let header = Header::read(&stream).unwrap();
                    assert!(header.groups > 3, "{}", header.groups);
                    check_regions::<T>(&format!("{k} {coder:?} {bound}"), &stream, 12, random);
                }
            }
        }
    }
    of::<f32>(&mut random);
    of::<f64>(&mut random);
}

/// The share of its stream that windows of a large field take.
#[test]
fn windows_read_a_small_share() {
    let field = ocean::<f32>(1800, 1200);
    for (mode, predictor, most) in
        [(FRONTS[0].0, FRONTS[0].1, [0.14, 0.30]), (FRONTS[2].0, FRONTS[2].1, [0.14, 0.30])]
    {
        let config = Config { mode, predictor, ..field.config(BoundKind::Relative, 1e-3) };
        let stream = field.compressed(&config).0;
        let whole = Whole::of::<f32>(&stream);
        for (window, most) in [256, 512].into_iter().zip(most) {
            let mut random = Random(5);
            let mut shares = Vec::new();
            for _ in 0..20 {
                let first = [random.below(1800 - window + 1), random.below(1200 - window + 1)];
                let report = whole.check::<f32>(first, [window, window], 1, "ocean");
                shares.push(report.stream_bytes as f64 / report.required_bytes as f64);
            }
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            let values = (window * window) as f64 / (1800.0 * 1200.0);
            println!(
                "{predictor:?}, {window}: {mean:.3} of {} bytes for {values:.3} of the values",
                stream.len()
            );
            assert!(mean < most, "{predictor:?}, {window}: {shares:?}");
        }
    }
}

/// The groups of a coded stream whose bytes a region reads, and those that it does not.
fn groups_read(stream: &[u8], ranges: &[Range<u64>]) -> (Vec<Range<u64>>, Vec<Range<u64>>) {
    let header = Header::read(stream).unwrap();
    let groups = split(&header, stream).unwrap().groups;
    let is_read = |bytes: &Range<u64>| ranges.iter().any(|r| r.start <= bytes.start && bytes.end <= r.end);
    groups.into_iter().map(|group| group.bytes).partition(is_read)
}

/// Damage in a group that is not read is not noticed. Of damage in a group that is read, final states find what
/// changes them: not a bit that is taken raw, and with Huffman not every symbol.
#[test]
fn damage_is_found_in_the_groups_that_are_read() {
    let field = ocean::<f32>(700, 430);
    let (first, size) = ([40, 70], [90, 50]);
    for (mode, predictor) in FRONTS {
        for coder in CODERS {
            let config = Config { mode, predictor, coder, ..field.config(BoundKind::Relative, 1e-3) };
            let stream = field.compressed(&config).0;
            let (_, intact, ranges) = read::<f32>(&stream, first, size);
            let (taken, others) = groups_read(&stream, &ranges);
            assert!(!taken.is_empty() && !others.is_empty());
            let mut damaged = stream.clone();
            others.iter().for_each(|group| damaged[group.start as usize..group.end as usize].fill(0xa5));
            let (report, bits, _) = read::<f32>(&damaged, first, size);
            assert!(report.is_ok() && bits == intact, "{predictor:?}, {coder:?}");
            // A byte of each group.
            let (mut found, mut tried) = (0, 0);
            let mut random = Random(3);
            for group in &taken {
                for _ in 0..40 {
                    let at = (group.start + random.below(group.end - group.start)) as usize;
                    let mut damaged = stream.clone();
                    damaged[at] ^= 1 << random.below(8);
                    let (report, _, _) = read::<f32>(&damaged, first, size);
                    tried += 1;
                    found += report.is_err_and(|e| e.status == Status::CorruptStream) as u32;
                }
                // 64 bytes of it, and all of it.
                for length in [64, group.end - group.start] {
                    let at = group.start + random.below(group.end - group.start - length + 1);
                    let mut damaged = stream.clone();
                    damaged[at as usize..(at + length) as usize]
                        .iter_mut()
                        .for_each(|b| *b = random.next() as u8);
                    let (report, _, _) = read::<f32>(&damaged, first, size);
                    assert_eq!(report.unwrap_err().status, Status::CorruptStream);
                }
            }
            println!("{mode:?}, {predictor:?}, {coder:?}: {found} of {tried} flipped bits are found");
            let least = if coder == Coder::Ans { 6 } else { 2 };
            assert!(10 * found > least * tried, "{mode:?}, {predictor:?}, {coder:?}: {found} of {tried}");
        }
    }
}

/// The checksum is compared where all groups are read, and the configuration asks for it.
#[test]
fn the_checksum_is_compared_where_all_is_read() {
    for name in ["groups_f32", "lorenzo_groups_f32", "stored_f32"] {
        let stream = fs::read(folder().join(format!("{name}.fctz"))).unwrap();
        let header = Header::read(&stream).unwrap();
        let mut damaged = stream.clone();
        // The bound as the user gave it: no decoder looks at it.
        damaged[56] ^= 1;
        let (whole, part) = ([header.nx, header.ny], [1, 1]);
        for (size, verify_checksum, refused) in
            [(whole, true, true), (whole, false, false), (part, true, header.groups == 1)]
        {
            let config = Config { verify_checksum, ..config_of(&stream, size) };
            let memory = region_as::<f32>(&config, (&damaged[..]).into(), [0, 0], 1).0;
            let mut at = |offset: u64, to: &mut [u8]| {
                to.copy_from_slice(&damaged[offset as usize..][..to.len()]);
                Ok(())
            };
            let read = region_as::<f32>(&config, Source::Read(damaged.len() as u64, &mut at), [0, 0], 1).0;
            for answer in [memory, read] {
                let message = answer.as_ref().err().map_or("", |e| &e.message);
                assert_eq!(message.contains("checksum"), refused, "{name}, {size:?}: {answer:?}");
            }
        }
    }
}

#[test]
fn regions_outside_the_field_are_refused() {
    let stream = fs::read(folder().join("groups_f32.fctz")).unwrap();
    let header = Header::read(&stream).unwrap();
    let (nx, ny) = (header.nx, header.ny);
    for (first, size, part) in [
        ([nx, 0], [1, 1], format!("x0 = {nx} and nx = 1: the region is not inside")),
        ([0, ny], [1, 1], format!("y0 = {ny} and ny = 1")),
        ([1, 0], [nx, 1], format!("{nx} x {ny} vertices")),
        ([0, 1], [1, ny], format!("ny = {ny}")),
        ([u64::MAX, 0], [1, 1], format!("x0 = {}", u64::MAX)),
        ([0, u64::MAX], [2, 2], format!("y0 = {}", u64::MAX)),
    ] {
        let (answer, _) = region_as::<f32>(&config_of(&stream, size), (&stream[..]).into(), first, 1);
        let error = answer.unwrap_err();
        assert!(error.status == Status::InvalidArgument && error.message.contains(&part), "{error}");
    }
    let config = Config { dtype: Dtype::F64, ..config_of(&stream, [1, 1]) };
    let error = region_as::<f64>(&config, (&stream[..]).into(), [0, 0], 1).0.unwrap_err();
    assert!(error.message.contains("dtype = F64 but the stream holds F32"), "{error}");
    // Arrays that are too small, and none at all.
    let mut one = [0f32; 1];
    let mut other = [0f32; 4];
    let config = config_of(&stream, [2, 2]);
    let (u, v) = (ViewMut::dense(&mut other, 2), ViewMut::dense(&mut one, 2));
    let answer = factz::decompress_region(&config, (&stream[..]).into(), [0; 3], u, v, Execution::default());
    assert!(answer.unwrap_err().message.contains("v holds 1 elements"));
    let empty = config_of(&stream, [0, 1]);
    let (u, v) = (ViewMut::dense(&mut other, 2), ViewMut::dense(&mut one, 2));
    let answer = factz::decompress_region(&empty, (&stream[..]).into(), [0; 3], u, v, Execution::default());
    assert!(answer.unwrap_err().message.contains("nx = 0"));
}

#[test]
fn the_c_functions_decompress_regions() {
    use crate::support::capi::{config_of, expect, ok, read_file, File};
    let stream = fs::read(folder().join("groups_f32.fctz")).unwrap();
    let whole = Whole::of::<f32>(&stream);
    let ([x0, y0], [nx, ny]) = ([33, 30], [20, 7]);
    let n = (nx * ny) as usize;
    let config = config_of(nx as usize, ny as usize, FACTZ_BOUND_ABSOLUTE, 0.0);
    let (mut u, mut v) = (vec![0f32; n], vec![0f32; n]);
    let mut report = std::mem::MaybeUninit::<factz_report>::uninit();
    let report = report.as_mut_ptr();
    let mut file = File { stream: stream.clone(), reads: 0, fails_at: 0 };
    let bits =
        |u: &[f32], v: &[f32]| [u, v].map(|x| x.iter().map(|x| x.to_bits() as u64).collect::<Vec<_>>());
    let memory = |config: &factz_config, x0: u64, n: usize, u: &mut [f32], v: &mut [f32], report| unsafe {
        let (src, u, v) = (stream.as_ptr().cast(), u.as_mut_ptr().cast(), v.as_mut_ptr().cast());
        factz_decompress_region_host(src, stream.len(), config, x0, y0, 0, u, v, n, report, 2)
    };
    let mut read = |read, src_bytes: usize, fails_at, u: &mut [f32], v: &mut [f32]| unsafe {
        (file.reads, file.fails_at) = (0, fails_at);
        let user = (&raw mut file).cast();
        let (u, v) = (u.as_mut_ptr().cast(), v.as_mut_ptr().cast());
        factz_read_region_host(read, user, src_bytes as u64, &config, x0, y0, 0, u, v, n, report, 2)
    };
    ok(memory(&config, x0, n, &mut u, &mut v, report));
    assert!(bits(&u, &v) == whole.crop([x0, y0], [nx, ny]));
    u.fill(0.0);
    ok(read(Some(read_file), stream.len(), 0, &mut u, &mut v));
    assert!(bits(&u, &v) == whole.crop([x0, y0], [nx, ny]));
    // SAFETY: every call writes the report.
    let found = unsafe { report.read() };
    assert!(found.stream_bytes <= found.required_bytes && found.required_bytes == stream.len() as u64);

    let argument = FACTZ_ERROR_INVALID_ARGUMENT;
    expect(memory(&config, whole.nx, n, &mut u, &mut v, report), argument, "the region is not inside");
    expect(memory(&config, x0, n + 1, &mut u, &mut v, report), argument, "n = 141 is not nx * ny = 20 * 7");
    expect(memory(&config, x0, n, &mut u, &mut v, std::ptr::null_mut()), argument, "report is null");
    let empty = factz_config { nx: 0, ..config };
    expect(memory(&empty, x0, n, &mut u, &mut v, report), FACTZ_ERROR_INVALID_CONFIG, "nx is 0");
    let corrupt = FACTZ_ERROR_CORRUPT_STREAM;
    expect(read(None, stream.len(), 0, &mut u, &mut v), argument, "read is null");
    expect(read(Some(read_file), stream.len() - 1, 0, &mut u, &mut v), corrupt, "its header says");
    expect(read(Some(read_file), 127, 0, &mut u, &mut v), corrupt, "the stream has 127 bytes");
    expect(read(Some(read_file), 0, 0, &mut u, &mut v), corrupt, "the stream has 0 bytes");
    for k in 1..=3 {
        let answer = read(Some(read_file), stream.len(), k, &mut u, &mut v);
        expect(answer, FACTZ_ERROR_READ, "read returned 5 for");
        assert_eq!(unsafe { report.read() }.status, FACTZ_ERROR_READ);
    }
    let before = bytes_before_groups(&Header::read(&stream).unwrap()).unwrap();
    assert!(before < stream.len() as u64);
}
