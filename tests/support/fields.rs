//! Fields, and what the library makes of them.

// Each test uses its part of it.
#![allow(dead_code)]

use factz::{
    compare, compress, compress_volume, decompress, max_stream_bytes, max_volume_stream_bytes, Comparison,
    Execution, Real, VolumeRequest,
};
use factz::{
    BoundKind, Coder, Config, Dtype, Error, Mode, Predictor, Preserve, Report, Request, Status, Ties,
};
use factz::{Layout, View, ViewMut, SIDE_X_MAX, SIDE_X_MIN, SIDE_Y_MAX, SIDE_Y_MIN};
use serde_json::Value;
use std::path::{Path, PathBuf};

#[path = "random.rs"]
mod random;
pub use random::Random;

/// All ways to choose codes.
pub const FRONTS: [(Mode, Predictor); 3] = [
    (Mode::BlockWise, Predictor::Hierarchical),
    (Mode::Speculative, Predictor::Hierarchical),
    (Mode::BlockWise, Predictor::Lorenzo),
];
pub const CODERS: [Coder; 2] = [Coder::Ans, Coder::Huffman];
pub const PRESERVED: [Preserve; 3] = [Preserve::None, Preserve::Points, Preserve::Types];
pub const TIES: [Ties; 3] = [Ties::All, Ties::Zeros, Ties::Sos];

/// How often a test tries something: a variable, or else a number.
pub fn times(variable: &str, otherwise: u32) -> u32 {
    std::env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

pub fn dtype<T: Real>() -> Dtype {
    if T::BYTES == 4 {
        Dtype::F32
    } else {
        Dtype::F64
    }
}

pub fn dtype_name<T: Real>() -> &'static str {
    ["f32", "f64"][dtype::<T>() as usize]
}

pub fn bytes_of<T: Real>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_bits64().to_le_bytes().into_iter().take(T::BYTES)).collect()
}

/// The values of little-endian bytes.
pub fn values_of<T: Real>(bytes: &[u8]) -> Vec<T> {
    let value = |chunk: &[u8]| {
        let mut bits = [0; 8];
        bits[..T::BYTES].copy_from_slice(chunk);
        T::from_bits64(u64::from_le_bytes(bits))
    };
    bytes.chunks_exact(T::BYTES).map(value).collect()
}

/// Components of a volume.
pub type Volume<T> = [Vec<T>; 3];

/// A volume of a kind: 0 waves, 1 whole numbers, 2 noise of many magnitudes, 3 waves with solids and missing
/// values, 4 waves that become calm, 5 noise.
pub fn volume<T: Real>([nx, ny, nz]: [u64; 3], kind: usize) -> Volume<T> {
    let mut random = Random(kind as u64 + nx);
    let mut components = [Vec::new(), Vec::new(), Vec::new()];
    for k in 0..nx * ny * nz {
        let [x, y, z] = [k % nx, k / nx % ny, k / nx / ny].map(|i| i as f64);
        let wave =
            [(0.3 * x + 0.2 * z).sin() + 0.4, (0.25 * y - 0.1 * x).cos(), (0.2 * z + 0.15 * y).sin() - 0.1];
        let vertex = match kind {
            0 => wave,
            1 => [0; 3].map(|_| random.below(5) as f64 - 2.0),
            2 => [0; 3].map(|_| random.signed() * 10f64.powi(random.below(8) as i32)),
            3 if (x - 9.0).powi(2) + (y - 7.0).powi(2) + (z - 5.0).powi(2) < 30.0 => [0.0; 3],
            3 if (x + 3.0 * y + z) as u64 % 41 == 0 => [f64::NAN; 3],
            3 if (x + 3.0 * y + z) as u64 % 43 == 0 => [1e-4, f64::NAN, 1e-4],
            3 => wave,
            4 => wave.map(|c| c * 10f64.powf(-4.0 * x / nx as f64)),
            _ => [0; 3].map(|_| random.signed()),
        };
        components.iter_mut().zip(vertex).for_each(|(c, x)| c.push(T::from_f64(x)));
    }
    components
}

/// The stream of a volume whose arrays begin with vertex (0, 0, 0) at element `first`, and the report.
pub fn compressed_volume<T: Real>(
    components: &Volume<T>,
    config: &Config,
    first: usize,
) -> Result<(Vec<u8>, Report), Error> {
    let request = VolumeRequest::new(*config)?;
    let mut stream = vec![0; max_volume_stream_bytes(&request) as usize];
    let views = components.each_ref().map(|c| View::strided(c, first, request.config().u));
    let report = compress_volume(&request, views, &mut stream, Execution::default())?;
    stream.truncate(report.stream_bytes as usize);
    Ok((stream, report))
}

#[derive(Clone)]
pub struct Field<T> {
    pub nx: u64,
    pub ny: u64,
    pub components: [Vec<T>; 2],
}

impl<T: Real> Field<T> {
    /// A field from a function of the vertex.
    pub fn new(nx: u64, ny: u64, mut vertex: impl FnMut(u64, u64) -> [f64; 2]) -> Self {
        let mut components = [Vec::new(), Vec::new()];
        for k in 0..nx * ny {
            let values = vertex(k % nx, k / nx);
            components.iter_mut().zip(values).for_each(|(c, x)| c.push(T::from_f64(x)));
        }
        Field { nx, ny, components }
    }

    /// The components in two files.
    pub fn read(nx: u64, ny: u64, paths: [PathBuf; 2]) -> Self {
        let components = paths.map(|path| {
            let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            assert_eq!(bytes.len() as u64, nx * ny * T::BYTES as u64, "{}", path.display());
            values_of(&bytes)
        });
        Field { nx, ny, components }
    }

    pub fn widened(&self) -> Field<f64> {
        let components = self.components.each_ref().map(|c| c.iter().map(|x| x.to_f64()).collect());
        Field { nx: self.nx, ny: self.ny, components }
    }

    pub fn config(&self, kind: BoundKind, bound: f64) -> Config {
        Config { dtype: dtype::<T>(), ..Config::new(self.nx, self.ny, kind, bound) }
    }

    pub fn len(&self) -> usize {
        self.components[0].len()
    }

    pub fn vertex(&self, k: usize) -> [T; 2] {
        [self.components[0][k], self.components[1][k]]
    }

    pub fn vertices(&self) -> impl Iterator<Item = [T; 2]> + '_ {
        (0..self.len()).map(|k| self.vertex(k))
    }

    pub fn set(&mut self, k: usize, vertex: [f64; 2]) {
        self.components.iter_mut().zip(vertex).for_each(|(c, x)| c[k] = T::from_f64(x));
    }

    /// Element of the vertex (x, y).
    pub fn at(&self, x: u64, y: u64) -> usize {
        (y * self.nx + x) as usize
    }

    /// Columns x0.., rows y0.. of the field.
    pub fn block(&self, x0: u64, y0: u64, nx: u64, ny: u64) -> Self {
        let at = |k: u64| self.at(x0 + k % nx, y0 + k / nx);
        let components = self.components.each_ref().map(|c| (0..nx * ny).map(|k| c[at(k)]).collect());
        Field { nx, ny, components }
    }

    /// Bits of u, then those of v.
    pub fn bits(&self) -> Vec<u64> {
        self.components.iter().flatten().map(|x| x.to_bits64()).collect()
    }

    pub fn bytes(&self) -> [Vec<u8>; 2] {
        self.components.each_ref().map(|c| bytes_of(c))
    }

    /// Views of a block whose vertex (0, 0) is element `first`.
    pub fn views(&self, first: usize) -> [View<'_, T>; 2] {
        self.stack_views(first, 0)
    }

    /// Views of a stack whose first vertex is element `first`, with so many rows from a plane to the next.
    fn stack_views(&self, first: usize, plane_rows: u64) -> [View<'_, T>; 2] {
        let layout = Layout { pitch: self.nx, stride: 1, plane: plane_rows * self.nx };
        self.components.each_ref().map(|c| View::strided(c, first, layout))
    }

    /// The stream and the report of a block whose vertex (0, 0) is element `first`.
    pub fn compressed_block(&self, config: &Config, first: usize, threads: usize) -> (Vec<u8>, Report) {
        let layout = Layout { pitch: self.nx, stride: 1, plane: 0 };
        let request =
            Request::new(Config { u: layout, v: layout, ..*config }).expect("a valid configuration");
        let mut stream = vec![0; max_stream_bytes(&request) as usize];
        let [u, v] = self.stack_views(first, request.config().plane_rows);
        let execution = Execution { threads, progress: None };
        let report = compress(&request, u, v, &mut stream, execution).expect("a valid field");
        assert_eq!(report.status, Status::Ok, "{config:?}");
        stream.truncate(report.stream_bytes as usize);
        (stream, report)
    }

    /// The stream, which is the same with any number of threads, and the report.
    pub fn compressed(&self, config: &Config) -> (Vec<u8>, Report) {
        let [one, two] = [1, 2].map(|threads| self.compressed_block(config, 0, threads));
        assert!(one == two, "{config:?}: two threads write another stream");
        one
    }

    /// The field of a stream, if it is intact; the planes of a stack lie one below the other.
    pub fn try_restored(config: &Config, stream: &[u8], threads: usize) -> Result<Self, Error> {
        let mut field = Field::new(config.nx, config.ny * config.nz, |_, _| [7.25; 2]);
        let [u, v] = field.components.each_mut().map(|c| ViewMut::stack(c, config.nx, config.ny));
        let report = decompress(config, stream, u, v, Execution { threads, progress: None })?;
        assert_eq!(report.status, Status::Ok);
        Ok(field)
    }

    pub fn restored(config: &Config, stream: &[u8], threads: usize) -> Self {
        Field::try_restored(config, stream, threads).expect("an intact stream")
    }

    /// The library's comparison with another field, for the spacing, the fill value and the ties of `config`.
    pub fn compared(&self, after: &Self, config: &Config, bound: f64) -> Comparison {
        let Config { dx, dy, fill_value, ties, .. } = *config;
        let config = Config { dx, dy, fill_value, ties, ..self.config(BoundKind::Absolute, bound) };
        let request = Request::new(config).expect("a valid configuration");
        compare(&request, self.views(0), after.views(0), true, 1).expect("views that cover the grid")
    }
}

/// The sides x_min, x_max, y_min and y_max, as far as they are named.
pub fn sides(named: [bool; 4]) -> u32 {
    let all = [SIDE_X_MIN, SIDE_X_MAX, SIDE_Y_MIN, SIDE_Y_MAX];
    all.into_iter().zip(named).map(|(side, is_named)| side * is_named as u32).sum()
}

/// The counts that must be 0 for a level of preservation.
pub fn violations(preserve: Preserve, c: &Comparison) -> u64 {
    match preserve {
        Preserve::None => c.changed_missing + c.bound_exceeded,
        Preserve::Points => c.violations() - (c.changed_types - c.changed_indices),
        Preserve::Types => c.violations(),
    }
}

/// Where the fields are; `FACTZ_DATA` names their folder on machines without the crate.
pub fn data() -> PathBuf {
    std::env::var_os("FACTZ_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("data"), PathBuf::from)
}

/// The file meta.json of a field of data/.
pub fn meta(name: &str) -> Value {
    let path = data().join(name).join("meta.json");
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_slice(&bytes).expect("JSON")
}

/// A field of data/.
pub fn stored(name: &str) -> Field<f32> {
    let (meta, folder) = (meta(name), data().join(name));
    let [nx, ny] = ["nx", "ny"].map(|key| meta[key].as_u64().expect("a size"));
    Field::read(nx, ny, ["u.f32", "v.f32"].map(|file| folder.join(file)))
}

/// The names of all fields of data/.
pub fn stored_names() -> Vec<String> {
    let entries = std::fs::read_dir(data()).expect("the fields are there");
    let folders = entries.map(|e| e.expect("an entry")).filter(|e| e.file_type().expect("a type").is_dir());
    let mut names: Vec<_> = folders.map(|e| e.file_name().into_string().expect("text")).collect();
    names.sort();
    names
}
