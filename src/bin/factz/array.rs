//! Arrays in files: raw little-endian values and NumPy's `.npy`, read whole and written so that an
//! error never destroys what was there.

use crate::failure::{failure, Failure};
use factz::real::Real;
use factz::Dtype;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Columns and rows of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dims {
    pub nx: u64,
    pub ny: u64,
}

impl std::fmt::Display for Dims {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.nx, self.ny)
    }
}

impl std::str::FromStr for Dims {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(['x', 'X']).collect();
        let number = |s: &str| s.parse::<u64>().ok().filter(|&n| n > 0);
        match parts.as_slice() {
            [x, y] => match (number(x), number(y)) {
                (Some(nx), Some(ny)) if nx.checked_mul(ny).is_some() => Ok(Dims { nx, ny }),
                _ => Err("NX and NY are positive whole numbers, for example 360x181".into()),
            },
            _ => Err("give NXxNY (columns x rows, x fastest), for example 360x181".into()),
        }
    }
}

/// The values of one component.
#[derive(Clone, Debug)]
pub enum Values {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// A vector field: two components of one shape and type.
pub struct Field {
    pub dims: Dims,
    pub u: Values,
    pub v: Values,
}

impl Field {
    pub fn dtype(&self) -> Dtype {
        match self.u {
            Values::F32(_) => Dtype::F32,
            Values::F64(_) => Dtype::F64,
        }
    }
    /// Bytes of u and v together.
    pub fn bytes(&self) -> u64 {
        2 * self.dims.nx * self.dims.ny * self.dtype().bytes()
    }
}

/// f32 or f64 as it stands in files.
pub trait Element: Real {
    fn wrap(values: Vec<Self>) -> Values;
}
impl Element for f32 {
    fn wrap(values: Vec<Self>) -> Values {
        Values::F32(values)
    }
}
impl Element for f64 {
    fn wrap(values: Vec<Self>) -> Values {
        Values::F64(values)
    }
}

pub fn dtype_name(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 => "f32",
        Dtype::F64 => "f64",
    }
}

/// Whether a file is read and written as `.npy`.
fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy"))
}

/// What the options or a file's header say about an array; the rest is not known yet.
#[derive(Clone, Copy, Default)]
pub struct Shape {
    pub dims: Option<Dims>,
    pub dtype: Option<Dtype>,
}

/// Reads the files of one shape (u and v, or the four files of a comparison). Shape and type come
/// from `.npy` headers where there are any, otherwise from the options.
pub fn read_arrays(paths: &[&Path], options: Shape) -> Result<(Dims, Vec<Values>), Failure> {
    let mut known = options;
    let mut open = Vec::new();
    for path in paths {
        let file = File::open(path).map_err(|e| failure!("{}: cannot be opened: {e}", path.display()))?;
        if file.metadata().is_ok_and(|m| m.is_dir()) {
            return Err(failure!("{}: is a directory, not an array", path.display()));
        }
        let mut reader = BufReader::with_capacity(1 << 20, file);
        if is_npy(path) {
            let (dims, dtype) = read_npy_header(path, &mut reader)?;
            if let Some(d) = known.dims.filter(|&d| d != dims) {
                return Err(failure!(
                    "{}: holds {dims} values (columns x rows), expected {d}: all files and --dims must agree \
                     (a NumPy shape is (rows, columns))",
                    path.display()
                ));
            }
            if let Some(t) = known.dtype.filter(|&t| t != dtype) {
                return Err(failure!(
                    "{}: holds {} values, expected {}: all files and --dtype must agree",
                    path.display(),
                    dtype_name(dtype),
                    dtype_name(t)
                ));
            }
            known = Shape { dims: Some(dims), dtype: Some(dtype) };
        }
        open.push((*path, reader));
    }
    let dims = known.dims.ok_or_else(|| {
        failure!(
            "--dims NXxNY is missing: {} is a raw array and does not tell its shape (columns x rows, x fastest)",
            paths[0].display()
        )
    })?;
    let dtype = known.dtype.unwrap_or(Dtype::F32);
    let arrays = open
        .into_iter()
        .map(|(path, reader)| match dtype {
            Dtype::F32 => read_values::<f32>(path, reader, dims).map(Values::F32),
            Dtype::F64 => read_values::<f64>(path, reader, dims).map(Values::F64),
        })
        .collect::<Result<_, _>>()?;
    Ok((dims, arrays))
}

/// Reads u and v.
pub fn read_field(u: &Path, v: &Path, options: Shape) -> Result<Field, Failure> {
    let (dims, mut arrays) = read_arrays(&[u, v], options)?;
    let v = arrays.pop().expect("two arrays were read");
    let u = arrays.pop().expect("two arrays were read");
    Ok(Field { dims, u, v })
}

fn read_values<T: Element>(path: &Path, mut reader: impl Read, dims: Dims) -> Result<Vec<T>, Failure> {
    let count = dims.nx * dims.ny;
    let expected = count as u128 * T::BYTES as u128;
    let mut values: Vec<T> = Vec::new();
    // The file may be shorter than the shape says: memory is asked for as the values arrive.
    let mut chunk = vec![0u8; 1 << 20];
    let (mut bytes, mut held) = (0u128, 0);
    loop {
        let n = match reader.read(&mut chunk[held..]) {
            Ok(n) => n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(failure!("{}: cannot be read: {e}", path.display())),
        };
        if n == 0 {
            break;
        }
        bytes += n as u128;
        held += n;
        if bytes > expected {
            continue_counting(&mut reader, &mut bytes);
            break;
        }
        let whole = held - held % T::BYTES;
        if values.try_reserve(whole / T::BYTES).is_err() {
            return Err(failure!("{}: not enough memory for {dims} values", path.display()));
        }
        values.extend(chunk[..whole].chunks_exact(T::BYTES).map(from_le::<T>));
        chunk.copy_within(whole..held, 0);
        held -= whole;
    }
    if bytes != expected {
        let type_name = dtype_name(if T::BYTES == 4 { Dtype::F32 } else { Dtype::F64 });
        let other = if T::BYTES == 4 { ("f64", expected * 2) } else { ("f32", expected / 2) };
        let hint = if bytes == other.1 {
            format!("the size is that of {}: give --dtype {}", other.0, other.0)
        } else {
            "check --dims (columns x rows) and --dtype".into()
        };
        return Err(failure!(
            "{}: has {bytes} bytes of values, but {dims} values of {type_name} take {expected}: {hint}",
            path.display()
        ));
    }
    Ok(values)
}

/// Counts the bytes that are left, for the error message.
fn continue_counting(reader: &mut impl Read, bytes: &mut u128) {
    if let Ok(rest) = std::io::copy(reader, &mut std::io::sink()) {
        *bytes += rest as u128;
    }
}

fn from_le<T: Real>(bytes: &[u8]) -> T {
    let mut word = [0u8; 8];
    word[..T::BYTES].copy_from_slice(bytes);
    T::from_bits64(u64::from_le_bytes(word))
}

const NPY_MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Reads the header of a `.npy` file and leaves the reader at the first value.
fn read_npy_header(path: &Path, reader: &mut impl Read) -> Result<(Dims, Dtype), Failure> {
    let name = path.display();
    let damaged = |_| failure!("{name}: is not a NumPy .npy file (the header is incomplete)");
    let mut start = [0u8; 8];
    reader.read_exact(&mut start).map_err(damaged)?;
    if &start[..6] != NPY_MAGIC {
        return Err(failure!(
            "{name}: is not a NumPy .npy file (no \\x93NUMPY at its start); rename it if it is raw"
        ));
    }
    let length = match start[6] {
        1 => {
            let mut n = [0u8; 2];
            reader.read_exact(&mut n).map_err(damaged)?;
            u16::from_le_bytes(n) as usize
        }
        2 | 3 => {
            let mut n = [0u8; 4];
            reader.read_exact(&mut n).map_err(damaged)?;
            u32::from_le_bytes(n) as usize
        }
        version => {
            return Err(failure!(
                "{name}: version {version} of the .npy format is not known here (1 to 3 are)"
            ))
        }
    };
    if length > 1 << 20 {
        return Err(failure!("{name}: the .npy header claims {length} bytes: the file is damaged"));
    }
    let mut header = vec![0u8; length];
    reader.read_exact(&mut header).map_err(damaged)?;
    let header = String::from_utf8_lossy(&header);
    let entry = |key: &str| {
        [format!("'{key}':"), format!("\"{key}\":")]
            .iter()
            .find_map(|k| header.split_once(k.as_str()))
            .map(|(_, rest)| rest.trim_start())
            .ok_or_else(|| failure!("{name}: the .npy header has no '{key}'"))
    };
    let descr = entry("descr")?;
    let descr = match descr.chars().next() {
        Some(quote @ ('\'' | '"')) => descr[1..].split(quote).next().unwrap_or(""),
        _ => return Err(failure!("{name}: holds records, not plain numbers: save u and v as two arrays")),
    };
    let dtype = match descr {
        "<f4" | "=f4" => Dtype::F32,
        "<f8" | "=f8" => Dtype::F64,
        ">f4" | ">f8" => {
            return Err(failure!(
                "{name}: is big-endian ('{descr}'): save it as little-endian, a.astype('<{}') in NumPy",
                &descr[1..]
            ))
        }
        _ => {
            return Err(failure!(
                "{name}: has the type '{descr}'; factz takes 32- and 64-bit floats: save a.astype('<f4') or \
                 a.astype('<f8')"
            ))
        }
    };
    let shape = entry("shape")?;
    let inside = shape.strip_prefix('(').and_then(|s| s.split_once(')')).map(|(s, _)| s);
    let sizes: Option<Vec<u64>> = inside
        .map(|s| s.split(',').map(str::trim).filter(|s| !s.is_empty()).map(|s| s.parse().ok()).collect())
        .unwrap_or(None);
    let sizes = sizes.ok_or_else(|| failure!("{name}: the .npy header has no readable shape"))?;
    let &[ny, nx] = sizes.as_slice() else {
        return Err(failure!(
            "{name}: has {} dimensions {sizes:?}; factz takes one component as a 2D array (rows, columns)",
            sizes.len()
        ));
    };
    if nx.checked_mul(ny).is_none_or(|n| n == 0) {
        return Err(failure!("{name}: has the shape ({ny}, {nx}); both must be positive"));
    }
    // An array with a single row or column is stored alike in both orders.
    if entry("fortran_order")?.starts_with("True") && nx > 1 && ny > 1 {
        return Err(failure!(
            "{name}: is in Fortran order: save np.ascontiguousarray(a), or a.T if x is its first index"
        ));
    }
    Ok((Dims { nx, ny }, dtype))
}

fn npy_header(dims: Dims, dtype: Dtype) -> Vec<u8> {
    let mut text = format!(
        "{{'descr': '<f{}', 'fortran_order': False, 'shape': ({}, {}), }}",
        dtype.bytes(),
        dims.ny,
        dims.nx
    );
    // The values begin at a multiple of 64 bytes, after magic, version, length and this text.
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut header = NPY_MAGIC.to_vec();
    header.extend([1, 0]);
    header.extend((text.len() as u16).to_le_bytes());
    header.extend(text.as_bytes());
    header
}

/// A file that appears under its name only when it is complete.
///
/// The content goes to a temporary file in the same directory, which [`Output::commit`] renames.
/// Targets that are no regular files (a pipe, `/dev/null`) are written directly.
pub struct Output {
    target: PathBuf,
    temporary: Option<PathBuf>,
    writer: BufWriter<File>,
}

impl Output {
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let cannot = |e| failure!("{}: cannot be written: {e}", path.display());
        // The file behind a link is replaced, not the link.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        if let Ok(metadata) = target.metadata() {
            if metadata.is_dir() {
                return Err(failure!("{}: is a directory: give the name of a file", path.display()));
            }
            if !metadata.is_file() {
                let file = OpenOptions::new().write(true).open(&target).map_err(cannot)?;
                return Ok(Output { target, temporary: None, writer: BufWriter::new(file) });
            }
            if metadata.permissions().readonly() {
                return Err(failure!("{}: exists and is read-only", path.display()));
            }
        }
        let name =
            target.file_name().ok_or_else(|| failure!("{}: is not the name of a file", path.display()))?;
        let temporary = (0..100).find_map(|k| {
            let mut hidden = std::ffi::OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}.{k}.tmp", std::process::id()));
            let candidate = target.with_file_name(hidden);
            match OpenOptions::new().write(true).create_new(true).open(&candidate) {
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => None,
                other => Some(other.map(|file| (candidate, file))),
            }
        });
        let (temporary, file) = temporary
            .ok_or_else(|| failure!("{}: no free temporary name beside it", path.display()))?
            .map_err(cannot)?;
        Ok(Output { target, temporary: Some(temporary), writer: BufWriter::with_capacity(1 << 20, file) })
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.writer
            .write_all(bytes)
            .map_err(|e| failure!("{}: cannot be written: {e}", self.target.display()))
    }

    /// Flushes everything to the disk; the target is still untouched.
    fn finish(&mut self) -> Result<(), Failure> {
        let done = self.writer.flush().and_then(|()| match self.temporary {
            // What is about to be replaced must not be lost when the machine stops now.
            Some(_) if self.target.exists() => self.writer.get_ref().sync_all(),
            _ => Ok(()),
        });
        done.map_err(|e| failure!("{}: cannot be written: {e}", self.target.display()))
    }

    /// Puts complete files in their places. All are complete before the first is renamed.
    pub fn commit(mut outputs: Vec<Output>) -> Result<(), Failure> {
        for output in &mut outputs {
            output.finish()?;
        }
        for output in &mut outputs {
            let Some(temporary) = output.temporary.as_ref() else { continue };
            if let Ok(metadata) = output.target.metadata() {
                // Keep the permissions of what is replaced; where that is not possible the new file's do.
                let _ = std::fs::set_permissions(temporary, metadata.permissions());
            }
            std::fs::rename(temporary, &output.target)
                .map_err(|e| failure!("{}: cannot be replaced: {e}", output.target.display()))?;
            output.temporary = None;
        }
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Nothing can be done about a temporary file that cannot be removed.
            let _ = std::fs::remove_file(temporary);
        }
    }
}

/// Writes a whole file.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut output = Output::create(path)?;
    output.write(bytes)?;
    Output::commit(vec![output])
}

/// Writes one component, as `.npy` if the name ends so, otherwise raw. The caller commits.
pub fn write_values<T: Real>(path: &Path, values: &[T], dims: Dims) -> Result<Output, Failure> {
    let mut output = Output::create(path)?;
    if is_npy(path) {
        output.write(&npy_header(dims, if T::BYTES == 4 { Dtype::F32 } else { Dtype::F64 }))?;
    }
    let mut bytes = Vec::with_capacity(1 << 16);
    for chunk in values.chunks((1 << 16) / T::BYTES) {
        bytes.clear();
        for x in chunk {
            bytes.extend_from_slice(&x.to_bits64().to_le_bytes()[..T::BYTES]);
        }
        output.write(&bytes)?;
    }
    Ok(output)
}

/// Whether two paths name the same existing file, or are equal.
pub fn same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(x), Ok(y)) => x == y && x.is_file(),
        _ => a == b,
    }
}
