//! Streams that are not to be trusted, decoded into guarded memory.

use super::counting::peak_of;
pub use super::guarded::*;
use factz::{decompress, inspect, BoundKind, Config, Dtype, Error, Execution, Real, Status};
use std::fs;
use std::path::PathBuf;

pub const ONE_THREAD: Execution = Execution { threads: 1, progress: None };
/// Memory that a call may take whatever the size of the field: tables, buffers of a thread.
pub const CONSTANT_BYTES: usize = 1 << 20;

pub fn sample(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.fctz"));
    fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The configuration of a caller who expects the field of this stream.
pub fn config_of(stream: &[u8]) -> Config {
    let info = inspect(stream).expect("a header");
    Config { dtype: info.dtype, ..Config::new(info.nx, info.ny, BoundKind::Absolute, 0.0) }
}

/// Decompresses into guarded arrays; the answer, and the bits of u and v.
pub fn decode_as<T: Real>(config: &Config, stream: &[u8]) -> (Result<(), Error>, [Vec<u64>; 2]) {
    let mut u = Output::<T>::new(config.nx, config.ny, 2);
    let mut v = Output::<T>::new(config.nx, config.ny, 1);
    let result = decompress(config, stream, u.view(), v.view(), ONE_THREAD).map(|_| ());
    let bits = [u.bits().expect("gaps of u are unchanged"), v.bits().expect("gaps of v are unchanged")];
    (result, bits)
}

pub fn decode(config: &Config, stream: &[u8]) -> (Result<(), Error>, [Vec<u64>; 2]) {
    match config.dtype {
        Dtype::F32 => decode_as::<f32>(config, stream),
        Dtype::F64 => decode_as::<f64>(config, stream),
    }
}

pub fn assert_refused(result: Result<(), Error>, what: &str) {
    let Err(error) = result else { panic!("{what} was taken for a stream") };
    let known = [Status::CorruptStream, Status::UnsupportedVersion, Status::InvalidArgument];
    assert!(known.contains(&error.status), "{what}: {:?}: {error}", error.status);
    assert!(!error.message.is_empty());
}

/// Bytes of the tables of a stream, as its header says.
pub fn table_bytes(stream: &[u8]) -> usize {
    u32::from_le_bytes(stream[28..32].try_into().expect("four bytes")) as usize
}

/// Decodes in memory that is in proportion to the field: the guarded arrays and the bits that are read from
/// them count.
pub fn decode_cheaply(config: &Config, stream: &[u8], what: &str) -> Result<(), Error> {
    let field = (2 * config.nx * config.ny * config.dtype.bytes()) as usize;
    let ((result, _), peak) = peak_of(|| decode(config, stream));
    assert!(peak <= 16 * field + CONSTANT_BYTES, "{what}: {peak} bytes for a field of {field}");
    result
}
