//! A region of a volume is bit for bit the crop of the whole volume, and takes the groups and chunks of its tiles
//! alone.

use crate::support::capi::{expect, ok, read_file, File};
use crate::support::fields::{compressed_volume, volume, Random, CODERS};
use crate::volumes::{decompressed, Volume};
use factz::capi::config::*;
use factz::capi::report::factz_report;
use factz::capi::status::*;
use factz::capi::volume_region::*;
use factz::stream::checksum::seal;
use factz::stream::header::{Content, Header};
use factz::{
    decompress_region, decompress_volume_region, inspect, BoundKind, Config, Dtype, Error, Execution,
    Preserve, Real, Report, Source, Status, ViewMut,
};
use std::ops::Range;

/// The configuration of a caller who wants a region of this size.
fn config_of(stream: &[u8], size: [u64; 3]) -> Config {
    let dtype = inspect(stream).expect("a header").dtype;
    Config { dtype, ..Config::volume(size, BoundKind::Absolute, 0.0) }
}

type Answer<T> = (Result<Report, Error>, [Vec<T>; 3]);

fn region<T: Real>(config: &Config, source: Source<'_>, first: [u64; 3], threads: usize) -> Answer<T> {
    let n = (config.nx * config.ny * config.nz) as usize;
    let mut values = [0; 3].map(|_| vec![T::from_f64(7.0); n]);
    let components = values.each_mut().map(|values| ViewMut::stack(values, config.nx, config.ny));
    let execution = Execution { threads, progress: None };
    let report = decompress_volume_region(config, source, first, components, execution);
    (report, values)
}

/// Reads a region piece by piece; the answer, and what was read.
fn read<T: Real>(
    stream: &[u8],
    config: &Config,
    first: [u64; 3],
    threads: usize,
) -> (Answer<T>, Vec<Range<u64>>) {
    let mut ranges = Vec::new();
    let mut at = |offset: u64, to: &mut [u8]| {
        let range = offset..offset + to.len() as u64;
        assert!(!to.is_empty());
        to.copy_from_slice(&stream[range.start as usize..range.end as usize]);
        ranges.push(range);
        Ok(())
    };
    let answer = region(config, Source::Read(stream.len() as u64, &mut at), first, threads);
    (answer, ranges)
}

fn bits<T: Real>(values: &[Vec<T>; 3]) -> [Vec<u64>; 3] {
    values.each_ref().map(|values| values.iter().map(|x| x.to_bits64()).collect())
}

/// A stream, and its volume as the whole decode gives it.
struct Whole<T> {
    stream: Vec<u8>,
    volume: Volume<T>,
}

impl<T: Real> Whole<T> {
    fn of(stream: Vec<u8>) -> Self {
        let info = inspect(&stream).expect("a header");
        let config = config_of(&stream, [info.nx, info.ny, info.nz]);
        let volume = decompressed(&stream, &config, 2).expect("intact");
        Whole { stream, volume }
    }

    /// Asserts that a region is the crop, from memory and from a reader; the report.
    fn check(&self, first: [u64; 3], size: [u64; 3], threads: usize) -> Report {
        let what = || format!("{size:?} vertices of {:?} from {first:?} on", self.volume.sizes);
        let expected = bits(&self.volume.part(first, size).components);
        let config = config_of(&self.stream, size);
        let (report, values) = region::<T>(&config, (&self.stream[..]).into(), first, threads);
        assert!(bits(&values) == expected, "{}", what());
        let report = report.unwrap_or_else(|e| panic!("{}: {e}", what()));
        let ((from_reader, values), ranges) = read::<T>(&self.stream, &config, first, threads);
        assert!(bits(&values) == expected, "{}, read", what());
        assert_eq!(from_reader.unwrap(), report, "{}", what());
        assert_eq!(report.required_bytes, self.stream.len() as u64);
        assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start), "{ranges:?}");
        let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        assert_eq!(report.stream_bytes, bytes, "{}", what());
        report
    }
}

/// A number of vertices that a region has along an axis of `n`, and its first; often on and beside the faces of
/// tiles and at the ends.
fn span(random: &mut Random, n: u64) -> (u64, u64) {
    let mut place = || match random.below(4) {
        0 => random.below(n),
        1 => (16 * random.below(n / 16 + 1)).min(n - 1),
        2 => (16 * random.below(n / 16 + 1) + random.below(3)).saturating_sub(1).min(n - 1),
        _ => random.one_of(&[0, n - 1]),
    };
    let (a, b) = (place(), place());
    (a.min(b), a.max(b) - a.min(b) + 1)
}

/// All kinds of volumes, exact, refined, zero and filled vertices among them, and stored ones.
#[test]
fn regions_are_crops() {
    fn of<T: Real>(dtype: Dtype, random: &mut Random) {
        let mut contents = [0; 2];
        for kind in 0..6 {
            for (k, sizes) in [[50, 37, 41], [33, 16, 48], [2, 70, 3]].into_iter().enumerate() {
                let bound = [1e-1, 1e-3, 0.0][(kind + k) % 3];
                let coder = CODERS[(kind + k) % 2];
                let config = Config { dtype, coder, ..Config::volume(sizes, BoundKind::Relative, bound) };
                let (stream, report) = compressed_volume(&volume::<T>(sizes, kind), &config, 0).unwrap();
                contents[Header::read(&stream).unwrap().content as usize] += 1;
                let whole = Whole::<T>::of(stream);
                let all = whole.check([0; 3], sizes, 3);
                assert_eq!(all.stream_bytes, all.required_bytes);
                assert_eq!(all.exact_vertices, report.exact_vertices);
                for j in 0..12 {
                    let [x, y, z] = sizes.map(|n| span(random, n));
                    // Every fourth is a single vertex.
                    let size = if j % 4 == 0 { [1; 3] } else { [x.1, y.1, z.1] };
                    whole.check([x.0, y.0, z.0], size, 1 + j % 3);
                }
            }
        }
        assert!(contents.iter().all(|&count| count > 3), "{contents:?}");
    }
    let mut random = Random(40);
    of::<f32>(Dtype::F32, &mut random);
    of::<f64>(Dtype::F64, &mut random);
}

/// A volume whose groups and chunks a small region takes few of.
fn large() -> Whole<f32> {
    let volume = Volume::<f32>::waves([120, 110, 100], 9.0, 3);
    let config = Config { preserve: Preserve::Types, ..volume.config(1e-2) };
    Whole::of(crate::volumes::compressed(&volume, config, 2).0)
}

#[test]
fn regions_read_a_small_share() {
    let whole = large();
    for (size, most) in [([32, 32, 32], 0.35), ([120, 110, 1], 0.35), ([1, 1, 1], 0.15)] {
        let mut random = Random(5);
        let mut shares = Vec::new();
        for _ in 0..8 {
            let first = [0, 1, 2].map(|k| random.below(whole.volume.sizes[k] - size[k] + 1));
            let report = whole.check(first, size, 1);
            shares.push(report.stream_bytes as f64 / report.required_bytes as f64);
        }
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        println!("{size:?}: {mean:.3} of {} bytes", whole.stream.len());
        assert!(mean < most, "{size:?}: {shares:?}");
    }
}

/// Whatever the bytes are, a region is an error or values, and nothing outside the stream is read. The reader
/// refuses places outside it.
#[test]
fn damaged_streams_are_errors_or_values() {
    let whole = large();
    let header = Header::read(&whole.stream).unwrap();
    assert!(header.content == Content::Coded && header.groups > 3 && header.volume.unwrap().chunks > 3);
    let mut random = Random(11);
    let list = header.end_of_groups();
    let (mut refused, mut found) = (0, 0);
    for k in 0..300 {
        let mut stream = whole.stream.clone();
        let places = [0..176, 176..header.end_of_groups(), list..list + 16 * 20, list..stream.len() as u64];
        let place = &places[k % 4];
        for _ in 0..1 + random.below(4) {
            let at = place.start + random.below(place.end - place.start);
            stream[at as usize] ^= random.below(256) as u8;
        }
        // Behind the checks of the whole stream, too.
        seal(&mut stream);
        let Ok(info) = inspect(&stream) else {
            refused += 1;
            continue;
        };
        let size = [info.nx.min(20), info.ny.min(20), info.nz.min(20)];
        let config = config_of(&stream, size);
        let first = [info.nx, info.ny, info.nz].map(|n| random.below(n - n.min(20) + 1));
        let answer = match info.dtype {
            Dtype::F32 => read::<f32>(&stream, &config, first, 2).0 .0,
            Dtype::F64 => read::<f64>(&stream, &config, first, 2).0 .0,
        };
        match answer {
            Ok(_) => found += 1,
            Err(e) => {
                refused += 1;
                assert!([Status::CorruptStream, Status::InvalidArgument].contains(&e.status), "{e}");
            }
        }
    }
    println!("{refused} of {} refused", refused + found);
    assert!(refused > 50 && found > 50, "{refused} refused, {found} not");
}

/// The checksum is compared where all groups are read, and the configuration asks for it.
#[test]
fn the_checksum_is_compared_where_all_is_read() {
    let whole = large();
    let mut damaged = whole.stream.clone();
    // The bound as the user gave it: no decoder looks at it.
    damaged[56] ^= 1;
    for (size, verify_checksum, refused) in
        [(whole.volume.sizes, true, true), (whole.volume.sizes, false, false), ([1; 3], true, false)]
    {
        let config = Config { verify_checksum, ..config_of(&damaged, size) };
        for answer in [
            region::<f32>(&config, (&damaged[..]).into(), [0; 3], 1).0,
            read::<f32>(&damaged, &config, [0; 3], 1).0 .0,
        ] {
            let message = answer.as_ref().err().map_or("", |e| &e.message);
            assert_eq!(message.contains("checksum"), refused, "{size:?}: {answer:?}");
        }
    }
}

#[test]
fn regions_outside_the_volume_are_refused() {
    let whole = large();
    let [nx, ny, nz] = whole.volume.sizes;
    for (first, size, part) in [
        ([nx, 0, 0], [1, 1, 1], format!("x0 = {nx} and nx = 1: the region is not inside")),
        ([0, 1, 0], [1, ny, 1], format!("y0 = 1 and ny = {ny}")),
        ([0, 0, nz - 1], [1, 1, 2], format!("{nx} x {ny} x {nz} vertices")),
        ([0, 0, u64::MAX], [1, 1, 2], format!("z0 = {}", u64::MAX)),
    ] {
        let config = config_of(&whole.stream, size);
        let error = region::<f32>(&config, (&whole.stream[..]).into(), first, 1).0.unwrap_err();
        assert!(error.status == Status::InvalidArgument && error.message.contains(&part), "{error}");
    }
    let config = Config { dtype: Dtype::F64, ..config_of(&whole.stream, [1; 3]) };
    let error = region::<f64>(&config, (&whole.stream[..]).into(), [0; 3], 1).0.unwrap_err();
    assert!(error.message.contains("dtype = F64 but the stream holds F32"), "{error}");
    // The stream of a plane.
    let plane = std::fs::read(crate::support::golden::folder().join("groups_f32.fctz")).unwrap();
    let error = region::<f32>(&config_of(&plane, [1; 3]), (&plane[..]).into(), [0; 3], 1).0.unwrap_err();
    assert!(error.message.contains("call the function for planes"), "{error}");
    // And that of a volume where planes are wanted.
    let mut values = [[0f32; 1], [0f32; 1]];
    let [u, v] = values.each_mut().map(|values| ViewMut::dense(values, 1));
    let config = Config::new(1, 1, BoundKind::Absolute, 0.0);
    let execution = Execution::default();
    let answer = decompress_region(&config, (&whole.stream[..]).into(), [0; 3], u, v, execution);
    let error = answer.unwrap_err();
    assert!(error.message.contains("call the function for volumes"), "{error}");
}

/// Components that lie between each other, of a plane and of a box.
#[test]
fn the_c_functions_decompress_regions() {
    let whole = large();
    let mut report = std::mem::MaybeUninit::<factz_report>::uninit();
    let report = report.as_mut_ptr();
    for size in [[20, 1, 7], [9, 8, 33]] {
        let [x0, y0, z0] = [33, 30, 15];
        let n = size.iter().product::<u64>() as usize;
        let expected = whole.volume.part([x0, y0, z0], size).components;
        let mut config = unsafe { std::mem::zeroed::<factz_config>() };
        ok(unsafe {
            factz_config_init_volume(&raw mut config, size[0], size[1], size[2], FACTZ_BOUND_ABSOLUTE, 0.0)
        });
        (config.u_stride, config.v_stride, config.w_stride) = (3, 3, 3);
        // The field of a stream may be periodic where its parts are not.
        (config.periodic, config.halo, config.pin) = (FACTZ_PERIODIC_X, FACTZ_SIDE_Y_MIN, FACTZ_SIDE_Z_MAX);
        let mut values = vec![0f32; 3 * n];
        let is_expected =
            |values: &[f32]| (0..3 * n).all(|k| values[k].to_bits() == expected[k % 3][k / 3].to_bits());
        let memory = |config: &factz_config, x0: u64, n: usize, values: &mut [f32], report| unsafe {
            let [u, v, w] = [0, 1, 2].map(|k| values.as_mut_ptr().add(k).cast());
            let (src, src_bytes) = (whole.stream.as_ptr().cast(), whole.stream.len());
            factz_decompress_volume_region_host(src, src_bytes, config, x0, y0, z0, u, v, w, n, report, 2)
        };
        ok(memory(&config, x0, n, &mut values, report));
        assert!(is_expected(&values));
        let mut file = File { stream: whole.stream.clone(), reads: 0, fails_at: 0 };
        let mut read = |read, src_bytes: usize, fails_at, values: &mut [f32]| unsafe {
            (file.reads, file.fails_at) = (0, fails_at);
            let user = (&raw mut file).cast();
            let [u, v, w] = [0, 1, 2].map(|k| values.as_mut_ptr().add(k).cast());
            let bytes = src_bytes as u64;
            factz_read_volume_region_host(read, user, bytes, &config, x0, y0, z0, u, v, w, n, report, 2)
        };
        values.fill(0.0);
        ok(read(Some(read_file), whole.stream.len(), 0, &mut values));
        assert!(is_expected(&values));

        let argument = FACTZ_ERROR_INVALID_ARGUMENT;
        expect(memory(&config, 120, n, &mut values, report), argument, "the region is not inside");
        expect(memory(&config, x0, n + 1, &mut values, report), argument, "is not nx * ny");
        expect(memory(&config, x0, n, &mut values, std::ptr::null_mut()), argument, "report is null");
        let empty = factz_config { nx: 0, ..config };
        expect(memory(&empty, x0, n, &mut values, report), FACTZ_ERROR_INVALID_CONFIG, "nx is 0");
        let planes = factz_config { components: 2, mode: 0, ..config };
        expect(memory(&planes, x0, n, &mut values, report), FACTZ_ERROR_INVALID_CONFIG, "components = 2");
        let apart = factz_config { u_stride: 2, u_pitch: 0, ..config };
        expect(memory(&apart, x0, n, &mut values, report), argument, "share values");
        let corrupt = FACTZ_ERROR_CORRUPT_STREAM;
        let length = whole.stream.len();
        expect(read(None, length, 0, &mut values), argument, "read is null");
        expect(read(Some(read_file), length - 1, 0, &mut values), corrupt, "its header says");
        expect(read(Some(read_file), 127, 0, &mut values), corrupt, "the stream has 127 bytes");
        for k in 1..=4 {
            let answer = read(Some(read_file), length, k, &mut values);
            expect(answer, FACTZ_ERROR_READ, "read returned 5 for");
        }
    }
}
