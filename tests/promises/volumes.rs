//! Volumes: decompression keeps the bound and every critical point, by the independent checker of volumes
//! (tests/exact_verify3d.py, Python with numpy).

use crate::support::decoder::independently_decoded_volumes;
use crate::support::fields::Random;
use crate::support::{bless_if_missing, fresh_folder, output, python, root};
use factz::stream::checksum::seal;
use factz::{
    compress_volume, decompress_volume, inspect, max_volume_stream_bytes, BoundKind, Coder, Config, Dtype,
    Execution, Layout, Preserve, Real, Report, Status, Ties, View, ViewMut, VolumeRequest, PERIODIC_X,
    PERIODIC_Y, PERIODIC_Z, SIDES_ALL_OF_VOLUME, SIDE_Z_MAX, SIDE_Z_MIN,
};
use std::collections::BTreeMap;
use std::path::Path;

/// u, v and w, x fastest.
#[derive(Clone, PartialEq, Debug)]
pub struct Volume<T> {
    pub sizes: [u64; 3],
    pub components: [Vec<T>; 3],
}

impl<T: Real> Volume<T> {
    pub fn of(sizes: [u64; 3], mut value: impl FnMut([u64; 3]) -> [f64; 3]) -> Self {
        let [nx, ny, nz] = sizes;
        let mut components = [Vec::new(), Vec::new(), Vec::new()];
        for k in 0..nx * ny * nz {
            let vertex = value([k % nx, k / nx % ny, k / nx / ny]);
            components.iter_mut().zip(vertex).for_each(|(c, x)| c.push(T::from_f64(x)));
        }
        Volume { sizes, components }
    }

    /// Waves of several lengths, which are smooth where `shortest` is long.
    pub fn waves(sizes: [u64; 3], shortest: f64, seed: u64) -> Self {
        let mut random = Random(seed);
        let waves: Vec<([f64; 3], f64, [f64; 3])> = (0..16)
            .map(|_| {
                let k = [0; 3].map(|_| random.signed() * std::f64::consts::TAU / shortest);
                (k, random.signed() * 3.0, [0; 3].map(|_| random.signed()))
            })
            .collect();
        Volume::of(sizes, |at| {
            let mut sum = [0.0; 3];
            for (k, phase, amplitude) in &waves {
                let angle = (0..3).map(|i| k[i] * at[i] as f64).sum::<f64>() + phase;
                sum.iter_mut().zip(amplitude).for_each(|(sum, a)| *sum += a * angle.sin());
            }
            sum
        })
    }

    pub fn views(&self) -> [View<'_, T>; 3] {
        self.components.each_ref().map(|c| View::stack(c, self.sizes[0], self.sizes[1]))
    }

    fn dtype() -> Dtype {
        if T::BYTES == 4 {
            Dtype::F32
        } else {
            Dtype::F64
        }
    }

    pub fn config(&self, bound: f64) -> Config {
        Config { dtype: Self::dtype(), ..Config::volume(self.sizes, BoundKind::Relative, bound) }
    }

    pub fn at(&self, [x, y, z]: [u64; 3]) -> [T; 3] {
        let k = ((z * self.sizes[1] + y) * self.sizes[0] + x) as usize;
        self.components.each_ref().map(|c| c[k])
    }

    /// A part of the volume, which may reach over its ends and then begins again.
    pub fn part(&self, first: [u64; 3], sizes: [u64; 3]) -> Self {
        let mut components = [Vec::new(), Vec::new(), Vec::new()];
        for k in 0..sizes.iter().product() {
            let local = [k % sizes[0], k / sizes[0] % sizes[1], k / sizes[0] / sizes[1]];
            let at = [0, 1, 2].map(|i| (first[i] + local[i]) % self.sizes[i]);
            components.iter_mut().zip(self.at(at)).for_each(|(c, x)| c.push(x));
        }
        Volume { sizes, components }
    }
}

const ONE_THREAD: Execution<'static> = Execution { threads: 1, progress: None };

pub fn compressed<T: Real>(volume: &Volume<T>, config: Config, threads: usize) -> (Vec<u8>, Report) {
    let request = VolumeRequest::new(config).expect("valid");
    let mut stream = vec![0; max_volume_stream_bytes(&request) as usize];
    let execution = Execution { threads, progress: None };
    let report = compress_volume(&request, volume.views(), &mut stream, execution).expect("valid");
    stream.truncate(report.stream_bytes as usize);
    (stream, report)
}

pub fn decompressed<T: Real>(stream: &[u8], config: &Config, threads: usize) -> factz::Result<Volume<T>> {
    let sizes = [config.nx, config.ny, config.nz];
    let mut volume = Volume::of(sizes, |_| [7.0; 3]);
    let [u, v, w] = volume.components.each_mut().map(|c| ViewMut::stack(c, sizes[0], sizes[1]));
    let execution = Execution { threads, progress: None };
    decompress_volume(config, stream, [u, v, w], execution)?;
    Ok(volume)
}

/// The counts of the independent checker.
pub fn counts<T: Real>(
    folder: &Path,
    volumes: [&Volume<T>; 2],
    config: &Config,
    bound: f64,
) -> BTreeMap<String, u64> {
    let mut command = python();
    command.arg("-B").arg(root().join("tests/exact_verify3d.py"));
    command.args(volumes[0].sizes.map(|n| n.to_string()));
    for (k, volume) in volumes.iter().enumerate() {
        for (name, values) in ["u", "v", "w"].iter().zip(&volume.components) {
            let bytes: Vec<u8> =
                values.iter().flat_map(|x| x.to_bits64().to_le_bytes()[..T::BYTES].to_vec()).collect();
            let path = folder.join(format!("{name}{k}"));
            std::fs::write(&path, bytes).expect("the folder is writable");
            command.arg(path);
        }
    }
    command.args(["--dtype", config.dtype.name(), "--abs-bound", &format!("{bound:e}")]);
    command.arg(format!("--spacing={},{},{}", config.dx, config.dy, config.dz));
    let out = output(&mut command);
    let text = String::from_utf8_lossy(&out.stdout);
    let counts = text.lines().filter_map(|line| {
        let (name, count) = line.split_once(' ')?;
        Some((name.to_owned(), count.trim().parse().ok()?))
    });
    let counts: BTreeMap<String, u64> = counts.collect();
    assert!(counts.contains_key("violations"), "{out:?}");
    counts
}

/// Compresses and decompresses a volume, and checks the result. Returns the critical points and the ratio.
fn keeps<T: Real>(name: &str, volume: &Volume<T>, config: Config) -> (u64, f64) {
    let (stream, report) = compressed(volume, config, 2);
    assert_eq!(stream, compressed(volume, config, 1).0, "{name}: the number of threads does not matter");
    let found: Volume<T> = decompressed(&stream, &config, 2).expect("intact");
    let counts = assert_kept(name, [volume, &found], &config, report.bound);
    if config.preserve != Preserve::None {
        assert_eq!(report.points_in_triangles, counts["points"], "{name}");
    }
    let bytes = 3 * T::BYTES * volume.components[0].len();
    (counts["points"], bytes as f64 / stream.len() as f64)
}

/// Refuses a volume that does not keep of another one what a configuration promises. Returns the counts of the
/// independent checker.
pub fn assert_kept<T: Real>(
    name: &str,
    [volume, found]: [&Volume<T>; 2],
    config: &Config,
    bound: f64,
) -> BTreeMap<String, u64> {
    let folder = fresh_folder(&format!("volumes-{name}"));
    let counts = counts(&folder, [volume, found], config, bound);
    let zero = |what: &str| assert_eq!(counts[what], 0, "{name}: {what} of {counts:?} {config:?}");
    ["bound_exceeded", "nonfinite_changed"].iter().for_each(|what| zero(what));
    if config.preserve != Preserve::None {
        ["lost", "spurious", "tie_created"].iter().for_each(|what| zero(what));
        if config.ties == Ties::All {
            zero("tie_changed");
        }
        if config.preserve == Preserve::Types {
            zero("type_changed");
        }
    }
    // Zero vertices stay zero, whatever else is kept.
    for k in 0..volume.components[0].len() {
        let [was_zero, is_zero] = [volume, found].map(|v| v.components.iter().all(|c| c[k] == T::ZERO));
        assert!(!was_zero || is_zero, "{name}");
    }
    counts
}

/// Waves with a solid ball and a solid wall, where all components are zero.
pub fn with_solids<T: Real>(sizes: [u64; 3], seed: u64) -> Volume<T> {
    let mut volume = Volume::waves(sizes, 9.0, seed);
    let [nx, ny, _] = sizes;
    for k in 0..volume.components[0].len() as u64 {
        let [x, y, z] = [k % nx, k / nx % ny, k / nx / ny].map(|k| k as f64);
        let ball = (x - 8.0).powi(2) + (y - 9.0).powi(2) + (z - 7.0).powi(2) < 20.0;
        if ball || y > ny as f64 - 3.5 {
            volume.components.iter_mut().for_each(|c| c[k as usize] = T::ZERO);
        }
    }
    volume
}

#[test]
fn smooth_volumes_are_kept_and_small() {
    let volume = Volume::<f32>::waves([35, 33, 40], 14.0, 1);
    for (bound, least) in [(1e-1, 60.0), (1e-2, 20.0), (1e-4, 4.0)] {
        let (points, ratio) = keeps("smooth", &volume, volume.config(bound));
        assert!(points > 10 && ratio > least, "{points} points, ratio {ratio} at {bound}");
    }
    let huffman = Config { coder: Coder::Huffman, ..volume.config(1e-2) };
    assert!(keeps("huffman", &volume, huffman).1 > 15.0);
    keeps("points", &volume, Config { preserve: Preserve::Points, ..volume.config(3e-2) });
    keeps("none", &volume, Config { preserve: Preserve::None, ..volume.config(3e-2) });
}

#[test]
fn rough_volumes_are_kept() {
    let noise = Volume::<f64>::waves([18, 19, 17], 2.0, 2);
    for bound in [1e-1, 1e-2, 1e-5] {
        assert!(keeps("noise", &noise, noise.config(bound)).0 > 300);
    }
    let spacing = Config { dx: -2.0, dy: 0.25, dz: -1.0, ..noise.config(5e-2) };
    keeps("spacing", &noise, spacing);
}

#[test]
fn integers_and_solids_are_kept() {
    let mut random = Random(3);
    let integers = Volume::<f32>::of([12, 13, 11], |_| [0; 3].map(|_| random.below(5) as f64 - 2.0));
    let solids = with_solids::<f32>([22, 21, 20], 4);
    for ties in [Ties::All, Ties::Zeros] {
        for bound in [1e-1, 1e-2] {
            keeps("integers", &integers, Config { ties, ..integers.config(bound) });
            keeps("solids", &solids, Config { ties, ..solids.config(bound) });
        }
    }
}

#[test]
fn missing_values_are_kept_bit_for_bit() {
    let mut random = Random(5);
    let mut volume = Volume::<f32>::waves([20, 17, 18], 8.0, 6);
    for k in 0..volume.components[0].len() {
        match random.below(12) {
            0 => volume.components.iter_mut().for_each(|c| c[k] = -999.0),
            1 => volume.components[random.below(3) as usize][k] = f32::NAN,
            _ => {}
        }
    }
    volume.components[1][100] = f32::INFINITY;
    let config =
        Config { fill_value: Some(-999.0), ..Config::volume(volume.sizes, BoundKind::Absolute, 0.05) };
    let (stream, report) = compressed(&volume, config, 2);
    assert!(report.filled_vertices > 300 && report.nonfinite_vertices > 300);
    let found: Volume<f32> = decompressed(&stream, &config, 1).expect("intact");
    for k in 0..volume.components[0].len() {
        let [a, b] = [&volume, &found].map(|v| v.components.each_ref().map(|c| c[k]));
        let is_missing = !a.iter().all(|x| x.is_finite()) || a.contains(&-999.0);
        assert!(!is_missing || a.map(f32::to_bits) == b.map(f32::to_bits), "{a:?} {b:?}");
    }
    keeps("missing", &Volume::<f32>::waves([20, 17, 18], 8.0, 6), config);
}

/// A flow at rest, a block of land: a relative bound is 0 there. With a bound of 0 all bits are kept.
#[test]
fn volumes_without_a_flow_are_small() {
    fn check<T: Real>(value: impl Fn([u64; 3]) -> f64, most: usize) {
        let volume = Volume::<T>::of([64, 48, 40], |at| [value(at); 3]);
        for (kind, bound) in [(BoundKind::Relative, 1e-3), (BoundKind::Absolute, 0.0)] {
            let config = Config { bound_kind: kind, bound, ..volume.config(bound) };
            let (stream, report) = compressed(&volume, config, 2);
            assert!(stream.len() <= most, "{} bytes: {config:?}", stream.len());
            assert_eq!((report.bound, report.max_error, report.points_in_triangles), (0.0, 0.0, 0));
            let found = decompressed::<T>(&stream, &config, 1).expect("intact");
            let bits =
                |v: &Volume<T>| v.components.each_ref().map(|c| c.iter().map(|x| x.to_bits64()).collect());
            let [before, after]: [[Vec<u64>; 3]; 2] = [bits(&volume), bits(&found)];
            assert!(before == after, "{config:?}");
        }
    }
    check::<f32>(|_| 0.0, 700);
    check::<f64>(|_| f64::NAN, 700);
    check::<f32>(|[x, y, z]| if (x + 3 * y + z) % 7 < 2 { f64::NAN } else { 0.0 }, 40_000);
    check::<f64>(|[x, y, z]| if x + 64 * y + z == 99 { -0.0 } else { 0.0 }, 1700);
}

#[test]
fn seams_of_periodic_axes_are_kept() {
    let sizes = [18, 17, 20];
    // Not periodic by itself: the seam has steep tetrahedra.
    let volume = Volume::<f32>::waves(sizes, 7.0, 7);
    let periodic = PERIODIC_X | PERIODIC_Y | PERIODIC_Z;
    for bound in [1e-1, 1e-2] {
        let config = Config { periodic, ..volume.config(bound) };
        let (stream, report) = compressed(&volume, config, 2);
        let found: Volume<f32> = decompressed(&stream, &config, 2).expect("intact");
        let [wide, other] = [&volume, &found].map(|v| v.part([0; 3], sizes.map(|n| n + 1)));
        let folder = fresh_folder("volumes-periodic");
        let counts = counts(&folder, [&wide, &other], &config, report.bound);
        assert_eq!((counts["violations"], counts["points"]), (0, report.points_in_triangles), "{counts:?}");
        let inside = compressed(&volume, Config { periodic: 0, ..config }, 1).1.points_in_triangles;
        assert!(inside < report.points_in_triangles);
    }
}

#[test]
fn blocks_with_pinned_sides_fit_together() {
    let whole = with_solids::<f64>([20, 18, 24], 8);
    let blocks = [(0, 13, SIDE_Z_MAX), (12, 12, SIDE_Z_MIN)];
    let mut found = whole.clone();
    for (first, planes, pin) in blocks {
        let block = whole.part([0, 0, first], [20, 18, planes]);
        let config = Config { pin, bound_kind: BoundKind::Absolute, bound: 0.3, ..block.config(0.1) };
        let decoded: Volume<f64> =
            decompressed(&compressed(&block, config, 2).0, &config, 2).expect("intact");
        let plane = 20 * 18;
        for (to, from) in found.components.iter_mut().zip(&decoded.components) {
            to[first as usize * plane..][..from.len()].copy_from_slice(from);
        }
    }
    let config = whole.config(0.1);
    let folder = fresh_folder("volumes-blocks");
    assert_eq!(counts(&folder, [&whole, &found], &config, 0.3)["violations"], 0);
    let pinned = Config { pin: SIDES_ALL_OF_VOLUME, ..config };
    let decoded: Volume<f64> = decompressed(&compressed(&whole, pinned, 1).0, &pinned, 1).expect("intact");
    for at in [[0, 5, 5], [19, 5, 5], [5, 0, 5], [5, 17, 5], [5, 5, 0], [5, 5, 23]] {
        assert_eq!(whole.at(at), decoded.at(at));
    }
}

#[test]
fn extremes_are_kept() {
    let sizes = [9, 8, 19];
    for scale in [1e38, 1e-40, 1e-44] {
        let mut volume = Volume::<f32>::waves(sizes, 6.0, 9);
        let most = volume.components.iter().flatten().fold(0f32, |most, x| most.max(x.abs())) as f64;
        volume.components.iter_mut().flatten().for_each(|x| *x = (*x as f64 / most * scale) as f32);
        keeps("scaled", &volume, volume.config(1e-2));
    }
    let tiny = Volume::<f32>::waves([2, 2, 2], 3.0, 10);
    keeps("tiny", &tiny, tiny.config(1e-1));
    let constant = Volume::<f64>::of([40, 20, 3], |_| [1.0, -2.0, 0.0]);
    keeps(
        "constant",
        &constant,
        Config { bound_kind: BoundKind::Absolute, bound: 0.1, ..constant.config(0.1) },
    );
    let zero = Volume::<f32>::of([17, 16, 5], |_| [0.0; 3]);
    keeps("zero", &zero, Config { bound_kind: BoundKind::Absolute, bound: 0.1, ..zero.config(0.1) });
    // Without an error all bits stay, those of zeros with a sign among them.
    let mut signed = Volume::<f32>::waves([5, 6, 7], 3.0, 11);
    signed.components[2][10] = -0.0;
    let config = signed.config(0.0);
    let found: Volume<f32> = decompressed(&compressed(&signed, config, 1).0, &config, 1).expect("intact");
    let bits =
        |v: &Volume<f32>| v.components.each_ref().map(|c| c.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
    assert_eq!(bits(&found), bits(&signed));
}

/// Strided and padded arrays give the stream of dense ones.
#[test]
fn layouts_do_not_matter() {
    let volume = Volume::<f32>::waves([17, 9, 6], 5.0, 12);
    let (nx, ny, nz) = (17, 9, 6);
    let config = volume.config(1e-2);
    let (dense, _) = compressed(&volume, config, 1);
    let layout = Layout { pitch: 3 * nx + 4, stride: 3, plane: (3 * nx + 4) * (ny + 2) };
    let mut values = vec![0.0; (layout.plane * nz) as usize];
    let place = |x: u64, y: u64, z: u64| (z * layout.plane + y * layout.pitch + x * layout.stride) as usize;
    for k in 0..nx * ny * nz {
        let (x, y, z) = (k % nx, k / nx % ny, k / nx / ny);
        let vertex = volume.at([x, y, z]);
        (0..3).for_each(|c| values[place(x, y, z) + c] = vertex[c]);
    }
    let padded = Config { u: layout, v: layout, w: layout, plane_rows: ny + 2, ..config };
    let request = VolumeRequest::new(padded).expect("valid");
    let views = [0, 1, 2].map(|c| View::strided(&values, c, layout));
    let mut stream = vec![0; max_volume_stream_bytes(&request) as usize];
    let report = compress_volume(&request, views, &mut stream, ONE_THREAD).expect("valid");
    assert_eq!(stream[..report.stream_bytes as usize], dense);
}

#[test]
fn streams_say_what_they_are() {
    let volume = Volume::<f32>::waves([12, 11, 10], 5.0, 13);
    let config = Config { dz: -2.0, periodic: PERIODIC_Z, ..volume.config(1e-2) };
    let (stream, _) = compressed(&volume, config, 1);
    let info = inspect(&stream).expect("intact");
    assert_eq!((info.nx, info.ny, info.nz, info.components), (12, 11, 10, 3));
    assert_eq!((info.dz, info.periodic, info.stream_bytes), (-2.0, PERIODIC_Z, stream.len() as u64));
    // Functions for planes say what to call, and those for volumes as well.
    let planes = Config { nz: 10, ..Config::new(12, 11, BoundKind::Relative, 1e-2) };
    let mut out = vec![0f32; 1320];
    let mut other = out.clone();
    let (u, v) = (ViewMut::stack(&mut out, 12, 11), ViewMut::stack(&mut other, 12, 11));
    let error = factz::decompress(&planes, &stream, u, v, ONE_THREAD).unwrap_err();
    assert!(error.status == Status::InvalidArgument && error.message.contains("volume"), "{error}");
    let request = factz::Request::new(planes).expect("valid");
    let mut flat = vec![0; factz::max_stream_bytes(&request) as usize];
    let [u, v, _] = volume.views();
    factz::compress(&request, u, v, &mut flat, ONE_THREAD).expect("valid");
    let error = decompressed::<f32>(&flat, &config, 1).unwrap_err();
    assert!(error.status == Status::InvalidArgument && error.message.contains("planes"), "{error}");
}

/// A buffer that is too short gets the length, and nothing else happens.
#[test]
fn short_buffers_are_refused() {
    let volume = Volume::<f32>::waves([20, 20, 20], 7.0, 14);
    let config = volume.config(1e-2);
    let (stream, _) = compressed(&volume, config, 1);
    let request = VolumeRequest::new(config).expect("valid");
    for bytes in [0, 1, stream.len() - 1] {
        let report =
            compress_volume(&request, volume.views(), &mut vec![0; bytes], ONE_THREAD).expect("valid");
        assert_eq!((report.status, report.required_bytes), (Status::BufferTooSmall, stream.len() as u64));
    }
}

/// Whatever the bytes, decompression ends with an error or with some volume.
#[test]
fn damaged_streams_are_refused() {
    let volume = with_solids::<f32>([20, 19, 18], 15);
    let config = Config { verify_checksum: false, ..volume.config(5e-2) };
    let (stream, _) = compressed(&volume, config, 1);
    let checked = Config { verify_checksum: true, ..config };
    let mut random = Random(16);
    let (mut refused, mut decoded) = (0, 0);
    for round in 0..3000 {
        let mut damaged = stream.clone();
        for _ in 0..1 + random.below(3) {
            // Headers, tables and the list more often than groups.
            let at = match round % 3 {
                0 => random.below(176),
                1 => damaged.len() as u64 - 1 - random.below(damaged.len() as u64 / 4),
                _ => random.below(damaged.len() as u64),
            };
            damaged[at as usize] = random.next() as u8;
        }
        if round % 5 == 0 {
            damaged.truncate(random.below(stream.len() as u64) as usize);
        }
        if damaged != stream {
            assert!(decompressed::<f32>(&damaged, &checked, 1).is_err());
        }
        if damaged.len() >= 176 {
            seal(&mut damaged);
        }
        match decompressed::<f32>(&damaged, &config, 2) {
            Err(error) => {
                assert!(error.status != Status::Internal && error.status != Status::OutOfMemory, "{error}");
                refused += 1;
            }
            Ok(_) => decoded += 1,
        }
    }
    assert!(refused > 500 && decoded > 100, "{refused} {decoded}");
}

/// A volume of sums and products alone, which every machine computes alike: smooth, with a solid, missing values and
/// some noise.
fn golden_example<T: Real>() -> Volume<T> {
    let mut random = Random(17);
    Volume::of([37, 18, 21], |at| {
        let [x, y, z] = at.map(|k| k as f64 * 0.0625 - 1.0);
        let noise = [0; 3].map(|_| random.signed() * 0.0078125);
        match at {
            [x, y, z] if x < 5 && y > 9 && z > 3 => [0.0; 3],
            [30, y, 7] if y > 3 => [-9.0; 3],
            [7, 7, z] if z > 5 => [f64::NAN, 1.0, 2.0],
            _ => [x * y - 0.5 * z + noise[0], y * y - x * z - 0.25 + noise[1], x - z * z * y + noise[2]],
        }
    })
}

/// The golden streams have the same bytes, and the decoder that was written from FORMAT.md alone makes the values of
/// the library.
#[test]
fn golden_streams_and_the_independent_decoder() {
    fn check<T: Real>(names: [&str; 3]) {
        let volume = golden_example::<T>();
        let base = Config {
            fill_value: Some(-9.0),
            bound_kind: BoundKind::Absolute,
            bound: 0.02,
            ..volume.config(0.0)
        };
        let configs = [
            base,
            Config { coder: Coder::Huffman, ties: Ties::Zeros, bound: 0.3, ..base },
            Config { preserve: Preserve::None, bound: 1e-4, periodic: PERIODIC_X, ..base },
        ];
        let (mut streams, mut expected) = (Vec::new(), Vec::new());
        for (name, config) in names.iter().zip(configs) {
            let stream = compressed(&volume, config, 2).0;
            let path = root().join(format!("tests/golden/volume/{name}.fctz"));
            bless_if_missing(&path, || std::fs::write(&path, &stream).unwrap());
            assert!(std::fs::read(&path).unwrap() == stream, "{name} has other bytes than the golden stream");
            let found: Volume<T> = decompressed(&stream, &config, 1).expect("intact");
            let bytes = |x: &T| x.to_bits64().to_le_bytes()[..T::BYTES].to_vec();
            expected.push(found.components.iter().flatten().flat_map(bytes).collect::<Vec<u8>>());
            streams.push(stream);
        }
        let name = format!("volumes-{}", T::BYTES);
        let decoded = independently_decoded_volumes(&name, streams.iter().map(Vec::as_slice));
        assert!(decoded == expected);
    }
    check::<f32>(["types_f32", "huffman_zeros_f32", "none_f32"]);
    check::<f64>(["types_f64", "huffman_zeros_f64", "none_f64"]);
}
