//! Fields from files and from standard input: raw values, `.npy` and `.npz`, one component or both in each.

use crate::array::{Dims, Element, Field, Values};
use crate::failure::{failure, input_name, is_dash, Failure};
use crate::memory;
use crate::npy::{self, Arrangement};
use crate::store::Format;
use factz::stream::header::MAGIC;
use factz::{Dtype, Real};
use std::cell::RefCell;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, IsTerminal, Read, Seek};
use std::path::Path;
use std::rc::Rc;
use zip::ZipArchive;

/// The options that describe the arrays of a command.
#[derive(Clone, Default)]
pub struct Expected {
    pub dims: Option<Dims>,
    pub dtype: Option<Dtype>,
    /// The names of u and v in a `.npz`, or of one array with both.
    pub keys: Vec<String>,
    pub fill_value: Option<f64>,
}

trait Source: Read + Seek {}
impl<T: Read + Seek> Source for T {}
type Archive = ZipArchive<Box<dyn Source>>;

enum Content {
    /// At the first value; how many bytes there are is known of regular files.
    Stream(Box<dyn Read>, Option<u64>),
    Entry(Rc<RefCell<Archive>>, usize),
}

/// An array whose header is read.
struct Piece {
    name: String,
    content: Content,
    /// Not known of raw values.
    dims: Option<Dims>,
    dtype: Option<Dtype>,
    big_endian: bool,
    arrangement: Arrangement,
}

/// Reads one field, given by a file with both components or by a file for each.
pub fn read_field(files: &[&Path], expected: &Expected) -> Result<Field, Failure> {
    let mut fields = read_fields(&[files], expected)?;
    Ok(fields.pop().expect("one field was asked for"))
}

/// Reads fields of one shape. Shape and type come from the headers of `.npy` and `.npz` where there are any,
/// otherwise from the options.
pub fn read_fields(fields: &[&[&Path]], expected: &Expected) -> Result<Vec<Field>, Failure> {
    // Two dashes are one stream with both components.
    let single = |files: &[&Path]| files.len() == 2 && files.iter().all(|f| is_dash(f));
    let fields: Vec<&[&Path]> = fields.iter().map(|f| if single(f) { &f[..1] } else { *f }).collect();
    if fields.iter().flat_map(|f| f.iter()).filter(|f| is_dash(f)).count() > 1 {
        return Err(failure!(
            "- is given more than once, but standard input can be read once: name a file instead"
        ));
    }
    let mut known = expected.clone();
    let mut opened = Vec::new();
    for files in &fields {
        let mut pieces = Vec::new();
        for file in *files {
            pieces.extend(open(file, files.len() == 1, expected)?);
        }
        for piece in &pieces {
            agree(piece, &mut known)?;
        }
        opened.push(pieces);
    }
    let dims = known.dims.ok_or_else(|| {
        let raw = opened.iter().flatten().next().map_or(String::new(), |piece| piece.name.clone());
        failure!(
            "--dims NXxNY is missing: {raw} is a raw array and does not tell its shape (columns x rows, x fastest)"
        )
    })?;
    let dtype = known.dtype.unwrap_or(Dtype::F32);
    opened
        .into_iter()
        .map(|pieces| match dtype {
            Dtype::F32 => read_pieces::<f32>(pieces, dims, expected),
            Dtype::F64 => read_pieces::<f64>(pieces, dims, expected),
        })
        .collect()
}

/// All headers and options must say the same.
fn agree(piece: &Piece, known: &mut Expected) -> Result<(), Failure> {
    let name = &piece.name;
    if let (Some(dims), Some(d)) = (piece.dims, known.dims) {
        if d != dims {
            return Err(failure!(
                "{name}: holds {dims} values (columns x rows), expected {d}: all files and --dims must agree \
                 (a NumPy shape is (rows, columns))"
            ));
        }
    }
    if let (Some(dtype), Some(t)) = (piece.dtype, known.dtype) {
        if t != dtype {
            return Err(failure!(
                "{name}: holds {} values, expected {}: all files and --dtype must agree",
                dtype.name(),
                t.name()
            ));
        }
    }
    known.dims = known.dims.or(piece.dims);
    known.dtype = known.dtype.or(piece.dtype);
    Ok(())
}

/// Opens a file or standard input. The kind of a file is told by its name, that of standard input by its
/// first bytes.
fn open(path: &Path, both: bool, expected: &Expected) -> Result<Vec<Piece>, Failure> {
    let name = input_name(path);
    if is_dash(path) {
        return open_standard(name, both, expected);
    }
    let file = File::open(path).map_err(|e| failure!("{name}: cannot be opened: {e}"))?;
    let metadata = file.metadata().map_err(|e| failure!("{name}: cannot be read: {e}"))?;
    if metadata.is_dir() {
        return Err(failure!("{name}: is a directory, not an array"));
    }
    let length = metadata.is_file().then_some(metadata.len());
    let mut reader = BufReader::with_capacity(1 << 16, file);
    match Format::of(path) {
        Format::Npz => open_archive(name, Box::new(reader), both, expected),
        Format::Npy => {
            let header = npy::read_header(&name, &mut reader)?;
            let length = length.zip(reader.stream_position().ok()).map(|(all, at)| all.saturating_sub(at));
            Ok(vec![Piece::npy(name, Content::Stream(Box::new(reader), length), &header, both, expected)?])
        }
        Format::Raw if is_stream(&mut reader) => Err(failure!(
            "{name}: is a stream, not an array: give the arrays that `factz decompress` makes of it (of two fields, only \
             the second can be a stream)"
        )),
        Format::Raw => Ok(vec![Piece::raw(name, Content::Stream(Box::new(reader), length), both)]),
    }
}

/// Whether the next bytes are the header of a stream: more than its mark, which values may begin with by
/// chance.
fn is_stream(reader: &mut impl BufRead) -> bool {
    reader.fill_buf().is_ok_and(|bytes| factz::inspect(bytes).is_ok())
}

fn open_standard(name: String, both: bool, expected: &Expected) -> Result<Vec<Piece>, Failure> {
    let mut input = std::io::stdin();
    refuse_terminal(&name)?;
    let mut start = Vec::new();
    let cannot = |e| failure!("standard input: cannot be read: {e}");
    input.by_ref().take(npy::MAGIC.len() as u64).read_to_end(&mut start).map_err(cannot)?;
    let (is_npy, is_npz) = (start == npy::MAGIC, start.starts_with(b"PK\x03\x04"));
    let mut reader = Cursor::new(start).chain(input);
    if is_npz {
        // An archive has its table at its end.
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map_err(cannot)?;
        return open_archive(name, Box::new(Cursor::new(bytes)), both, expected);
    }
    if is_npy {
        let header = npy::read_header(&name, &mut reader)?;
        return Ok(vec![Piece::npy(name, Content::Stream(Box::new(reader), None), &header, both, expected)?]);
    }
    Ok(vec![Piece::raw(name, Content::Stream(Box::new(reader), None), both)])
}

/// Nobody types binary values.
pub fn refuse_terminal(name: &str) -> Result<(), Failure> {
    match std::io::stdin().is_terminal() {
        true => Err(failure!("{name}: is a terminal: redirect it (< FILE, or PROGRAM |), or name a file")),
        false => Ok(()),
    }
}

fn open_archive(
    name: String,
    source: Box<dyn Source>,
    both: bool,
    expected: &Expected,
) -> Result<Vec<Piece>, Failure> {
    if !both {
        return Err(failure!("{name}: is an archive of arrays: give it alone, in place of U and V"));
    }
    let archive = ZipArchive::new(source).map_err(|e| failure!("{name}: is not a NumPy .npz file: {e}"))?;
    let archive = Rc::new(RefCell::new(archive));
    let both = expected.keys.len() == 1;
    let find = |key: &String| {
        let found = archive.borrow().index_for_name(&format!("{key}.npy"));
        let index = found.ok_or_else(|| {
            let held = archive.borrow();
            let held: Vec<&str> = held.file_names().map(|n| n.strip_suffix(".npy").unwrap_or(n)).collect();
            failure!("{name}: has no array {key}, but {}: name u and v with --keys U,V", held.join(", "))
        })?;
        let name = format!("{name}, array {key}");
        let header = {
            let mut archive = archive.borrow_mut();
            npy::read_header(&name, &mut entry(&name, &mut archive, index)?)?
        };
        Piece::npy(name, Content::Entry(archive.clone(), index), &header, both, expected)
    };
    expected.keys.iter().map(find).collect()
}

fn entry<'a>(name: &str, archive: &'a mut Archive, index: usize) -> Result<impl Read + use<'a>, Failure> {
    archive.by_index(index).map_err(|e| failure!("{name}: cannot be read: {e}"))
}

impl Piece {
    fn raw(name: String, content: Content, both: bool) -> Self {
        let arrangement = if both { Arrangement::Stacked } else { Arrangement::Alone };
        Piece { name, content, dims: None, dtype: None, big_endian: false, arrangement }
    }

    fn npy(
        name: String,
        content: Content,
        header: &npy::Header,
        both: bool,
        expected: &Expected,
    ) -> Result<Self, Failure> {
        let (dims, arrangement) = match both {
            true => header.both(&name, expected.dims)?,
            false => (header.alone(&name)?, Arrangement::Alone),
        };
        let (dims, dtype) = (Some(dims), Some(header.dtype));
        Ok(Piece { name, content, dims, dtype, big_endian: header.big_endian, arrangement })
    }

    fn read<T: Element>(self, dims: Dims) -> Result<Intake<T>, Failure> {
        let mut intake = Intake {
            name: self.name,
            dims,
            big_endian: self.big_endian,
            arrangement: self.arrangement,
            values: [Vec::new(), Vec::new()],
        };
        match self.content {
            Content::Stream(mut reader, length) => intake.fill(&mut reader, length)?,
            Content::Entry(archive, index) => {
                let mut archive = archive.borrow_mut();
                let mut reader = entry(&intake.name, &mut archive, index)?;
                npy::read_header(&intake.name, &mut reader)?;
                intake.fill(&mut reader, None)?;
            }
        }
        Ok(intake)
    }
}

fn read_pieces<T: Element>(pieces: Vec<Piece>, dims: Dims, expected: &Expected) -> Result<Field, Failure> {
    let mut components: Vec<Values> = Vec::new();
    for piece in pieces {
        let alone = piece.arrangement == Arrangement::Alone;
        let [first, second] = piece.read::<T>(dims)?.values;
        components.push(T::wrap(first));
        if !alone {
            components.push(T::wrap(second));
        }
    }
    let [u, v] = <[Values; 2]>::try_from(components).expect("a field is given by two components");
    Ok(Field { dims, u, v, fill_value: expected.fill_value })
}

/// The values of an array as they arrive.
struct Intake<T> {
    name: String,
    dims: Dims,
    big_endian: bool,
    arrangement: Arrangement,
    /// The second one stays empty for one component alone.
    values: [Vec<T>; 2],
}

impl<T: Element> Intake<T> {
    fn components(&self) -> u64 {
        1 + (self.arrangement != Arrangement::Alone) as u64
    }

    fn fill(&mut self, reader: &mut impl Read, length: Option<u64>) -> Result<(), Failure> {
        let expected = (self.components() * self.dims.count()) as u128 * T::BYTES as u128;
        if length.is_some_and(|n| n as u128 == expected) {
            self.reserve(self.dims.count())?;
        }
        let unit = if self.arrangement == Arrangement::Interleaved { 2 * T::BYTES } else { T::BYTES };
        let mut chunk = vec![0u8; 1 << 18];
        let (mut bytes, mut held) = (0u128, 0);
        loop {
            let n = match reader.read(&mut chunk[held..]) {
                Ok(0) => break,
                Ok(n) => n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(failure!("{}: cannot be read: {e}", self.name)),
            };
            bytes += n as u128;
            held += n;
            if bytes > expected {
                // Counted for the message.
                bytes += std::io::copy(reader, &mut std::io::sink()).unwrap_or(0) as u128;
                break;
            }
            let whole = held - held % unit;
            self.take(&chunk[..whole])?;
            chunk.copy_within(whole..held, 0);
            held -= whole;
        }
        if bytes == expected {
            Ok(())
        } else {
            Err(self.wrong_length(bytes, expected))
        }
    }

    /// Appends whole values.
    fn take(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let value = match self.big_endian {
            true => from_be::<T>,
            false => from_le::<T>,
        };
        if self.arrangement == Arrangement::Interleaved {
            self.grow(0, bytes.len() / (2 * T::BYTES))?;
            self.grow(1, bytes.len() / (2 * T::BYTES))?;
            let [u, v] = &mut self.values;
            for pair in bytes.chunks_exact(2 * T::BYTES) {
                u.push(value(&pair[..T::BYTES]));
                v.push(value(&pair[T::BYTES..]));
            }
            return Ok(());
        }
        let room = self.dims.count() - self.values[0].len() as u64;
        let first = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX).saturating_mul(T::BYTES));
        for (k, bytes) in [&bytes[..first], &bytes[first..]].into_iter().enumerate() {
            self.grow(k, bytes.len() / T::BYTES)?;
            self.values[k].extend(bytes.chunks_exact(T::BYTES).map(value));
        }
        Ok(())
    }

    /// A file may be shorter than the shape says, and the length of a pipe is not known: memory is asked for
    /// as the values arrive.
    fn grow(&mut self, component: usize, more: usize) -> Result<(), Failure> {
        let done = self.values[component].try_reserve(more);
        done.map_err(|_| failure!("{}: not enough memory for {} values", self.name, self.dims))
    }

    fn reserve(&mut self, count: u64) -> Result<(), Failure> {
        let components = self.components() as usize;
        for values in &mut self.values[..components] {
            memory::reserve(values, count, format_args!("{} values", self.dims))
                .map_err(|e| e.about(&self.name))?;
        }
        Ok(())
    }

    fn wrong_length(&self, bytes: u128, expected: u128) -> Failure {
        let (name, dims, dtype) = (&self.name, self.dims, T::DTYPE.name());
        let other = if T::BYTES == 4 { ("f64", expected * 2) } else { ("f32", expected / 2) };
        let both = self.components() == 2;
        let hint = if both && bytes == expected / 2 {
            "it has one component: give the file of the other one too".into()
        } else if !both && bytes == expected * 2 && T::BYTES == 8 {
            "if it holds u and then v, give it alone, in place of U and V".into()
        } else if bytes == other.1 {
            format!("the size is that of {}: give --dtype {}", other.0, other.0)
        } else {
            "check --dims (columns x rows) and --dtype".into()
        };
        let what = if both { format!("u and v of {dims} values each") } else { format!("{dims} values") };
        failure!("{name}: has {bytes} bytes of values, but {what} of {dtype} take {expected}: {hint}")
    }
}

fn from_le<T: Real>(bytes: &[u8]) -> T {
    let mut word = [0u8; 8];
    word[..T::BYTES].copy_from_slice(bytes);
    T::from_bits64(u64::from_le_bytes(word))
}

fn from_be<T: Real>(bytes: &[u8]) -> T {
    let mut word = [0u8; 8];
    word[8 - T::BYTES..].copy_from_slice(bytes);
    T::from_bits64(u64::from_be_bytes(word))
}

/// Reads a file that begins as a stream does; none for another one.
pub fn read_if_stream(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let mut start = Vec::new();
    // Reading the file as an array reports a file that cannot be read.
    let read = |file: File| file.take(MAGIC.len() as u64).read_to_end(&mut start);
    match !is_dash(path) && path.is_file() && File::open(path).and_then(read).is_ok() && start == MAGIC {
        true => read_stream(path).map(Some),
        false => Ok(None),
    }
}

/// Reads a whole stream.
pub fn read_stream(path: &Path) -> Result<Vec<u8>, Failure> {
    let name = input_name(path);
    let cannot = |e| failure!("{name}: cannot be read: {e}");
    if is_dash(path) {
        refuse_terminal(&name)?;
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map_err(cannot)?;
        return Ok(bytes);
    }
    std::fs::read(path).map_err(cannot)
}
