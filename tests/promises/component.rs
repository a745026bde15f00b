//! The stream of a field is split into those of its components without another error, each decodes alone, and
//! both together are the stream of the field again.

use crate::support::checker::Checker;
use crate::support::decoder::independently_decoded;
use crate::support::fields::{bytes_of, Field, Random, CODERS, FRONTS};
use crate::support::golden::folder;
use factz::capi::component::*;
use factz::capi::config::*;
use factz::capi::decompress::*;
use factz::capi::inspect::*;
use factz::capi::report::factz_report;
use factz::capi::status::*;
use factz::stream::checksum::seal;
use factz::{
    decompress, decompress_planes, decompress_region, inspect, join, split, BoundKind, Component, Config,
    Dtype, Error, Execution, Real, Report, Source, Status, ViewMut,
};
use std::ffi::c_void;
use std::fs;
use std::ptr::{null, null_mut};

/// The streams of u and v, the same with any number of threads.
fn halves(stream: &[u8]) -> [Vec<u8>; 2] {
    let split_with = |threads| {
        let execution = Execution { threads, progress: None };
        let mut none = [&mut [0u8; 0][..], &mut [][..]];
        let reports =
            split(stream, none.each_mut().map(|dst| &mut **dst), execution).expect("a stream of both");
        let mut streams = reports.map(|report| {
            assert_eq!((report.status, report.stream_bytes), (Status::BufferTooSmall, 0));
            vec![0u8; report.required_bytes as usize]
        });
        let again =
            split(stream, streams.each_mut().map(|half| &mut half[..]), execution).expect("a stream of both");
        for (report, stream) in again.iter().zip(&streams) {
            assert_eq!((report.status, report.stream_bytes), (Status::Ok, stream.len() as u64));
        }
        streams
    };
    let [one, two] = [1, 2].map(split_with);
    assert!(one == two, "two threads write other streams");
    one
}

/// The stream of both components.
fn joined(u: &[u8], v: &[u8]) -> Result<Vec<u8>, Error> {
    let report = join(u, v, &mut [], Execution::default())?;
    let mut stream = vec![0; report.required_bytes as usize];
    let report = join(u, v, &mut stream, Execution::default())?;
    assert_eq!((report.status, report.stream_bytes), (Status::Ok, stream.len() as u64));
    Ok(stream)
}

fn config_of(stream: &[u8]) -> Config {
    let info = inspect(stream).expect("a header");
    Config { dtype: info.dtype, nz: info.nz, ..Config::new(info.nx, info.ny, BoundKind::Absolute, 0.0) }
}

/// The values of a component, and the report.
fn alone<T: Real>(stream: &[u8], threads: usize) -> Result<(Vec<T>, Report), Error> {
    let (config, execution) = (config_of(stream), Execution { threads, progress: None });
    let mut values = vec![T::from_f64(7.25); (config.nx * config.ny * config.nz) as usize];
    let view = ViewMut::stack(&mut values, config.nx, config.ny);
    let report = match inspect(stream).expect("a header").component {
        Some(Component::U) => decompress(&config, stream, view, None::<ViewMut<'_, T>>, execution),
        Some(Component::V) => decompress(&config, stream, None::<ViewMut<'_, T>>, view, execution),
        None => panic!("a stream of both components"),
    }?;
    Ok((values, report))
}

/// The values of a region of a component, from memory and from a reader.
fn region<T: Real>(stream: &[u8], first: [u64; 3], size: [u64; 3]) -> [Vec<T>; 2] {
    let [nx, ny, nz] = size;
    let config = Config { nz, ..Config { nx, ny, ..config_of(stream) } };
    let component = inspect(stream).expect("a header").component;
    let from = |source: Source<'_>| {
        let mut values = vec![T::from_f64(7.25); (nx * ny * nz) as usize];
        let view = ViewMut::stack(&mut values, nx, ny);
        let (u, v) = if component == Some(Component::U) { (Some(view), None) } else { (None, Some(view)) };
        decompress_region(&config, source, first, u, v, Execution::default()).expect("intact");
        values
    };
    let mut read = |offset: u64, to: &mut [u8]| {
        to.copy_from_slice(&stream[offset as usize..][..to.len()]);
        Ok(())
    };
    [from(stream.into()), from(Source::Read(stream.len() as u64, &mut read))]
}

/// Splits, decodes both halves, as a whole and in part, and joins them.
fn check<T: Real>(stream: &[u8], random: &mut Random, what: &str) -> [Vec<u8>; 2] {
    let config = config_of(stream);
    let both = Field::<T>::restored(&config, stream, 1);
    let streams = halves(stream);
    let infos = streams.each_ref().map(|half| inspect(half).expect("a header"));
    assert_eq!(infos.map(|info| info.component), [Some(Component::U), Some(Component::V)], "{what}");
    for (half, expected) in streams.iter().zip(&both.components) {
        for threads in [1, 2] {
            let values = alone::<T>(half, threads).expect("intact").0;
            assert!(bytes_of(&values) == bytes_of(expected), "{what} with {threads} threads");
        }
        let mut span = |n: u64| {
            let first = random.below(n);
            (first, 1 + random.below(n - first))
        };
        let [(x0, nx), (y0, ny), (z0, nz)] = [config.nx, config.ny, config.nz].map(&mut span);
        let crop = |k: u64| {
            let [x, y, z] = [x0 + k % nx, y0 + k / nx % ny, z0 + k / (nx * ny)];
            expected[((z * config.ny + y) * config.nx + x) as usize]
        };
        let cropped: Vec<T> = (0..nx * ny * nz).map(crop).collect();
        for values in region::<T>(half, [x0, y0, z0], [nx, ny, nz]) {
            assert!(
                bytes_of(&values) == bytes_of(&cropped),
                "{what}: {nx} x {ny} x {nz} from {x0}, {y0}, {z0}"
            );
        }
    }
    let again = joined(&streams[0], &streams[1]).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(again == stream, "{what}: {} bytes instead of {}", again.len(), stream.len());
    streams
}

fn golden_streams() -> Vec<(String, Vec<u8>)> {
    let paths =
        fs::read_dir(folder()).expect("the folder is there").map(|entry| entry.expect("an entry").path());
    let mut streams: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|kind| kind == "fctz"))
        .map(|path| (path.display().to_string(), fs::read(&path).expect("a stream")))
        .filter(|(_, stream)| inspect(stream).is_ok_and(|info| info.component.is_none()))
        .collect();
    streams.sort();
    streams
}

#[test]
fn golden_streams_are_split_and_joined() {
    let (mut random, mut all, mut expected) = (Random(1), Vec::new(), Vec::new());
    let streams = golden_streams();
    assert!(streams.len() > 100);
    for (name, stream) in &streams {
        let info = inspect(stream).expect("a header");
        let halves = match info.dtype {
            Dtype::F32 => check::<f32>(stream, &mut random, name),
            Dtype::F64 => check::<f64>(stream, &mut random, name),
        };
        // Every third one is enough for the independent decoder.
        if all.len() / 2 * 3 < 2 * streams.len() / 2 && random.below(3) == 0 {
            let config = config_of(stream);
            let bytes = match info.dtype {
                Dtype::F32 => Field::<f32>::restored(&config, stream, 1).bytes(),
                Dtype::F64 => Field::<f64>::restored(&config, stream, 1).bytes(),
            };
            all.extend(halves);
            expected.extend(bytes);
        }
    }
    let theirs = independently_decoded("component", all.iter().map(|half| &half[..]));
    for (k, (theirs, expected)) in theirs.iter().zip(&expected).enumerate() {
        assert!(theirs == expected, "half {k} decodes differently");
    }
}

/// Golden streams whose halves are golden, too: hidden values, stacks, both predictors, stored values.
const GOLDEN: [&str; 6] = [
    "filled_block_f32",
    "missing_speculative_f64",
    "stack_filled_f64",
    "lorenzo_wind_block_types_f32",
    "sparse_f64",
    "stored_f32",
];

/// The files of tests/golden/component never change; FACTZ_BLESS=1 makes those that are missing.
#[test]
fn golden_halves_stay_the_same() {
    for name in GOLDEN {
        let stream = fs::read(folder().join(format!("{name}.fctz"))).expect("a golden stream");
        let halves = halves(&stream);
        for (half, component) in halves.iter().zip("uv".chars()) {
            let path = folder().join(format!("component/{name}.{component}.fctz"));
            if !path.exists() && std::env::var_os("FACTZ_BLESS").is_some_and(|v| v == "1") {
                fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is writable");
                fs::write(&path, half).expect("the folder is writable");
            }
            let golden = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            assert!(*half == golden, "{} is not what split makes of {name}", path.display());
        }
    }
}

/// A field with smooth parts, noise, land, vertices of which one component is missing, and zeros of a
/// component.
fn arbitrary<T: Real>(random: &mut Random, nx: u64, ny: u64) -> Field<T> {
    let (missing, scale) = (random.one_of(&[0, 1, 40]), random.one_of(&[1.0, 1e-3, 1e30]));
    let [a, b] = [0; 2].map(|_| 0.05 + 0.3 * random.signed().abs());
    let noise = random.one_of(&[0.0, 0.0, 0.01, 1.0]);
    Field::new(nx, ny, |x, y| {
        let (x, y) = (x as f64, y as f64);
        let mut vertex = [(a * x).sin() * (b * y).cos(), (b * x).cos() + (a * y).sin()];
        vertex = vertex.map(|value| scale * (value + noise * random.signed()));
        let value = random.one_of(&[f64::NAN, f64::INFINITY, -999.0]);
        let place = random.below(2) as usize;
        match random.below(1000) {
            k if k < missing => vertex[place] = value,
            k if k < 2 * missing => vertex = [value; 2],
            k if k < 2 * missing + 20 => vertex[place] = 0.0,
            k if k < 2 * missing + 40 => vertex = [0.0; 2],
            _ => {}
        }
        vertex
    })
}

fn check_fields<T: Real>(seed: u64) {
    let mut random = Random(seed);
    let [nx, ny] = [0; 2].map(|_| random.one_of(&[1, 5, 33, 70, 130]));
    let (mode, predictor) = random.one_of(&FRONTS);
    let nz = random.one_of(&[1, 1, 3]);
    let field = arbitrary::<T>(&mut random, nx, ny * nz);
    let kind = random.one_of(&[BoundKind::Relative, BoundKind::Absolute]);
    let bound = random.one_of(&[0.0, 1e-6, 1e-3, 0.05, 0.5]);
    let config = Config {
        mode,
        predictor,
        coder: random.one_of(&CODERS),
        fill_value: random.one_of(&[None, Some(-999.0), Some(0.0)]),
        ny,
        nz,
        ..field.config(kind, bound)
    };
    let (stream, _) = field.compressed(&config);
    check::<T>(&stream, &mut random, &format!("seed {seed}, {config:?}"));
}

#[test]
fn streams_of_arbitrary_fields_are_split_and_joined() {
    for seed in 0..120 {
        check_fields::<f32>(seed);
        check_fields::<f64>(seed);
    }
}

/// Widths that overflow binary32: a code of 0 is no prediction there unless its refinement is kept.
#[test]
fn refinements_stay_where_widths_overflow() {
    for (mode, predictor) in FRONTS {
        let mut random = Random(5);
        let field = Field::<f32>::new(70, 40, |x, y| {
            let wave = (x as f64 * 0.21).sin() * (y as f64 * 0.13).cos();
            [3.4e38 * wave, 1e36 * random.signed()]
        });
        let config = Config { mode, predictor, ..field.config(BoundKind::Absolute, 3e38) };
        check::<f32>(&field.compressed(&config).0, &mut random, "large values");
    }
}

/// The bound, the critical points and their types are those of two halves as well.
#[test]
fn two_halves_keep_what_the_field_keeps() {
    let mut checker = Checker::new("component");
    for (mode, predictor) in FRONTS {
        let field = arbitrary::<f32>(&mut Random(7), 70, 50);
        let config =
            Config { mode, predictor, fill_value: Some(-999.0), ..field.config(BoundKind::Relative, 0.02) };
        let (stream, report) = field.compressed(&config);
        let components = halves(&stream).map(|half| alone::<f32>(&half, 1).expect("intact").0);
        let after = Field { nx: field.nx, ny: field.ny, components };
        let found = field.compared(&after, &config, report.bound);
        assert_eq!(found.violations() + found.bound_exceeded, 0, "{config:?}");
        assert!(found.critical_points > 10);
        let before = checker.write(&field);
        checker.add(&before, &after, &config, &[("violations", 0)]);
    }
    checker.check();
}

fn message<R>(result: Result<R, Error>, status: Status) -> String {
    let error = result.err().expect("an error");
    assert_eq!(error.status, status, "{error}");
    error.to_string()
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let stream_of = |seed| {
        let field = arbitrary::<f32>(&mut Random(seed), 70, 50);
        field.compressed(&field.config(BoundKind::Relative, 0.02)).0
    };
    let streams = [stream_of(1), stream_of(2)];
    let [[u, v], [other, _]] = streams.each_ref().map(|stream| halves(stream));
    let refused = |u: &[u8], v: &[u8]| message(joined(u, v), Status::InvalidArgument);
    assert!(refused(&v, &u).contains("the stream of u holds component v"));
    assert!(refused(&u, &u).contains("the stream of v holds component u"));
    assert!(refused(&streams[0], &v).contains("the stream of u holds both components"));
    assert!(refused(&other, &v).contains("pair number"));
    let again = split(&u, [&mut [], &mut []], Execution::default());
    assert!(message(again, Status::InvalidArgument).contains("holds component u alone"));
    // Arrays that are not those of the stream.
    let config = config_of(&u);
    let (mut a, mut b) = (vec![0f32; 3500], vec![0f32; 3500]);
    let [none_u, none_v] = [None::<ViewMut<'_, f32>>, None];
    let both =
        decompress(&config, &u, ViewMut::dense(&mut a, 70), ViewMut::dense(&mut b, 70), Execution::default());
    assert!(message(both, Status::InvalidArgument)
        .contains("v is an array, but the stream holds component u alone"));
    let wrong = decompress(&config, &v, ViewMut::dense(&mut a, 70), none_v, Execution::default());
    assert!(message(wrong, Status::InvalidArgument)
        .contains("u is an array, but the stream holds component v alone"));
    let missing = decompress(&config, &streams[0], none_u, ViewMut::dense(&mut b, 70), Execution::default());
    assert!(message(missing, Status::InvalidArgument).contains("u is null: the stream holds both components"));
    let none = None::<ViewMut<'_, f32>>;
    let none =
        decompress_planes(&config, v[..].into(), 0, none, None::<ViewMut<'_, f32>>, Execution::default());
    assert!(message(none, Status::InvalidArgument).contains("v is null, but it is the component"));
}

/// Halves of damaged bytes are refused, or joined to a stream that decodes without harm.
#[test]
fn damage_is_found_or_does_no_harm() {
    let mut random = Random(3);
    let mut outcomes = [0; 2];
    for round in 0..400 {
        let (mode, predictor) = random.one_of(&FRONTS);
        let field = arbitrary::<f32>(&mut random, 40, 40);
        let coder = random.one_of(&CODERS);
        let config = Config { mode, predictor, coder, ..field.config(BoundKind::Relative, 0.02) };
        let streams = halves(&field.compressed(&config).0);
        let mut damaged = streams.clone();
        let half = &mut damaged[random.below(2) as usize];
        let at = random.below(half.len() as u64) as usize;
        half[at] ^= 1 << random.below(8);
        assert!(message(joined(&damaged[0], &damaged[1]), corrupt(at)).contains("stream"), "round {round}");
        damaged.iter_mut().for_each(|half| seal(half));
        for half in &damaged {
            if inspect(half)
                .is_ok_and(|info| (info.nx, info.ny, info.nz) == (40, 40, 1) && info.component.is_some())
            {
                let _ = alone::<f32>(half, 1);
            }
        }
        match joined(&damaged[0], &damaged[1]) {
            Ok(stream) => {
                let config = Config { verify_checksum: true, ..config_of(&stream) };
                if (config.nx, config.ny, config.dtype) == (40, 40, Dtype::F32) {
                    Field::<f32>::try_restored(&config, &stream, 1).expect("what join writes decodes");
                }
                outcomes[0] += 1;
            }
            Err(error) => {
                assert!(!error.message.is_empty());
                outcomes[1] += 1;
            }
        }
    }
    assert!(outcomes.iter().all(|&count| count > 10), "{outcomes:?}");
}

/// The status of a stream with a damaged byte.
fn corrupt(at: usize) -> Status {
    match at {
        4 | 5 => Status::UnsupportedVersion,
        _ => Status::CorruptStream,
    }
}

/// The C interface: sizes that are asked for first, arrays of one component, and what is refused.
#[test]
fn the_c_interface_splits_joins_and_decompresses() {
    let field = arbitrary::<f32>(&mut Random(9), 70, 50);
    let (stream, _) = field.compressed(&field.config(BoundKind::Relative, 0.02));
    let expected = halves(&stream);
    let mut reports = [unsafe { std::mem::zeroed::<factz_report>() }; 2];
    let call = |dst: [&mut [u8]; 2], reports: &mut [factz_report; 2]| unsafe {
        let [u, v] = dst;
        let [to_u, to_v] =
            [&mut *u, &mut *v].map(|dst| if dst.is_empty() { null_mut() } else { dst.as_mut_ptr() });
        let (src, to) = (stream.as_ptr().cast(), reports.as_mut_ptr());
        factz_split_host(src, stream.len(), to_u.cast(), u.len(), to_v.cast(), v.len(), to, 1)
    };
    assert_eq!(call([&mut [], &mut []], &mut reports), FACTZ_ERROR_BUFFER_TOO_SMALL);
    let mut found = reports.map(|report| {
        assert_eq!(report.status, FACTZ_ERROR_BUFFER_TOO_SMALL);
        vec![0; report.required_bytes as usize]
    });
    let [u, v] = &mut found;
    assert_eq!(call([u, v], &mut reports), FACTZ_OK);
    assert_eq!(reports.map(|report| report.status), [FACTZ_OK; 2]);
    assert!(found == expected);
    let [u, v] = &found;
    let (mut joined, mut report) = (vec![0u8; stream.len() + 9], reports[0]);
    let mut join = |u: &[u8], v: &[u8], length| unsafe {
        let (from_u, from_v, to) = (u.as_ptr().cast(), v.as_ptr().cast(), joined.as_mut_ptr().cast());
        factz_join_host(from_u, u.len(), from_v, v.len(), to, length, &mut report, 1)
    };
    assert_eq!(join(u, v, stream.len() - 1), FACTZ_ERROR_BUFFER_TOO_SMALL);
    assert_eq!(join(v, u, stream.len()), FACTZ_ERROR_INVALID_ARGUMENT);
    assert_eq!(join(u, v, stream.len() + 9), FACTZ_OK);
    let nothing = unsafe {
        let from_v = v.as_ptr().cast();
        factz_join_host(null(), 128, from_v, v.len(), null_mut(), 0, &mut reports[1], 1)
    };
    assert_eq!(nothing, FACTZ_ERROR_INVALID_ARGUMENT);
    assert_eq!(report.stream_bytes, stream.len() as u64);
    assert!(joined[..stream.len()] == stream);

    let mut config = unsafe { std::mem::zeroed() };
    assert_eq!(unsafe { factz_config_init(&mut config, 70, 50, 0, 0.0) }, FACTZ_OK);
    let mut info = unsafe { std::mem::zeroed::<factz_info>() };
    for (component, half) in found.iter().enumerate() {
        assert_eq!(unsafe { factz_inspect_host(half.as_ptr().cast(), half.len(), &mut info) }, FACTZ_OK);
        assert_eq!(info.component, [FACTZ_COMPONENT_U, FACTZ_COMPONENT_V][component]);
        let mut values = vec![0f32; 3500];
        let array: *mut c_void = values.as_mut_ptr().cast();
        let mut decode = |u, v| unsafe {
            factz_decompress_host(half.as_ptr().cast(), half.len(), &config, u, v, 3500, &mut report, 1)
        };
        let arrays = [(array, null_mut()), (null_mut(), array)];
        assert_eq!(decode(arrays[1 - component].0, arrays[1 - component].1), FACTZ_ERROR_INVALID_ARGUMENT);
        assert_eq!(decode(null_mut(), null_mut()), FACTZ_ERROR_INVALID_ARGUMENT);
        assert_eq!(decode(arrays[component].0, arrays[component].1), FACTZ_OK);
        assert!(bytes_of(&values) == bytes_of(&alone::<f32>(half, 1).expect("intact").0));
    }
}
