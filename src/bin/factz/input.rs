//! Fields from files and from standard input: raw values, `.npy` and `.npz`, one component or all in each.

use crate::array::{Dims, Element, Field, Values};
use crate::failure::{failure, is_dash, Failure};
use crate::foreign;
use crate::memory;
use crate::npy::{self, Arrangement};
use crate::shell::{python, shell_name};
use crate::source::Source;
use crate::store::Format;
use factz::{Dtype, Real};
use std::cell::RefCell;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use zip::ZipArchive;

/// The options that describe the arrays of a command.
#[derive(Clone, Default)]
pub struct Expected {
    pub dims: Option<Dims>,
    pub dtype: Option<Dtype>,
    /// The names of u and v in a `.npz`, of a volume also of w, or of one array with all components; none
    /// where these are their names.
    pub keys: Vec<String>,
    pub fill_value: Option<f64>,
    /// Whether an array of one component is that of a volume: its last axis is never one of components.
    pub of_volume: bool,
    /// Shape and type of raw values that nothing else tells: those of a stream, with its name.
    pub otherwise: Option<(Dims, Dtype, String)>,
}

/// Advice where a stream has another shape or type.
pub const OF_STREAM: &str = "give the original of this stream; in a file of several --step K chooses another";

impl Expected {
    /// The stream whose shape and type raw values must have.
    fn stream(&self) -> Option<&str> {
        self.otherwise.as_ref().filter(|_| self.dims.is_none()).map(|(_, _, name)| name.as_str())
    }

    /// Shape and type, after all headers were read: as they say, or else as a stream does.
    fn settled<'a>(&self, pieces: impl Iterator<Item = &'a Piece> + Clone) -> Result<(Dims, Dtype), Failure> {
        let (dims, dtype) = match &self.otherwise {
            Some((dims, dtype, _)) => (Some(*dims), *dtype),
            None => (None, Dtype::F32),
        };
        let dims = self.dims.or(dims).ok_or_else(|| shapeless(pieces))?;
        Ok((dims, self.dtype.unwrap_or(dtype)))
    }
}

trait Seekable: Read + Seek {}
impl<T: Read + Seek> Seekable for T {}
type Archive = ZipArchive<Box<dyn Seekable>>;

enum Content {
    /// At the first value.
    Source(Source),
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
    /// Components that the array holds.
    components: usize,
    arrangement: Arrangement,
    /// The file of raw values, and what else it may be by its first bytes or its name.
    raw: Option<(PathBuf, Option<String>)>,
}

/// Reads the components of a volume, given by a file for each or by one with all.
pub fn read_components(files: &[&Path], expected: &Expected) -> Result<(Dims, [Values; 3]), Failure> {
    if files.len() == 2 {
        return Err(failure!("a volume has three components: give U, V and W, or one file with all of them"));
    }
    if files.len() > 1 && files.iter().any(|file| is_dash(file)) {
        return Err(failure!(
            "- takes the place of all components of a volume: give it alone, or U, V and W"
        ));
    }
    let mut known = Expected { keys: keys_of_volume(&expected.keys)?, of_volume: true, ..expected.clone() };
    let mut pieces = Vec::new();
    for file in files {
        pieces.extend(open(file, if files.len() == 1 { 3 } else { 1 }, &known)?);
    }
    for piece in &pieces {
        agree(piece, &mut known)?;
    }
    let (dims, dtype) = known.settled(pieces.iter())?;
    let values = match dtype {
        Dtype::F32 => read_pieces::<f32>(pieces, dims, expected)?,
        Dtype::F64 => read_pieces::<f64>(pieces, dims, expected)?,
    };
    let values = <[Values; 3]>::try_from(values);
    Ok((dims, values.map_err(|found| failure!("{} arrays for u, v and w of a volume", found.len()))?))
}

/// The names in an archive of a field and of a volume.
const NAMES: [&str; 3] = ["u", "v", "w"];

fn keys_of_field(keys: &[String]) -> Result<Vec<String>, Failure> {
    match keys {
        [] => Ok(NAMES[..2].iter().map(|&name| name.to_owned()).collect()),
        [_] | [_, _] => Ok(keys.to_vec()),
        _ => Err(failure!("--keys {}: u and v have two names", keys.join(","))),
    }
}

fn keys_of_volume(keys: &[String]) -> Result<Vec<String>, Failure> {
    match keys {
        [] => Ok(NAMES.map(str::to_owned).to_vec()),
        [_] | [_, _, _] => Ok(keys.to_vec()),
        _ => Err(failure!("--keys {}: give three names, U,V,W, of a volume", keys.join(","))),
    }
}

/// Whether a file alone holds a volume, by the shape of its array or by the arrays of an archive. Raw values
/// and pipes do not tell. Reading the file reports one that cannot be read.
pub fn holds_volume(path: &Path, expected: &Expected) -> bool {
    let format = Some(Format::of(path)).filter(|_| !is_dash(path) && path.is_file());
    let held = match format {
        Some(Format::Npy) => Source::open(path).and_then(|mut source| {
            Ok(npy::read_header(&source.name.clone(), &mut source)?.is_volume(expected.dims))
        }),
        Some(Format::Npz) => archive_holds_volume(path, expected),
        Some(Format::Raw) | None => Ok(false),
    };
    held.unwrap_or(false)
}

/// Three names say that there is a volume, and two that there is none.
fn archive_holds_volume(path: &Path, expected: &Expected) -> Result<bool, Failure> {
    let keys = match expected.keys.len() {
        2 => return Ok(false),
        3 => return Ok(true),
        _ => keys_of_volume(&expected.keys)?,
    };
    let (_, arrays) = arrays_of(Source::open(path)?, &keys)?;
    Ok(match &arrays[..] {
        [all] => all.header.is_volume(expected.dims),
        each => {
            each.iter().all(|array| array.header.alone(&array.name, true).is_ok_and(|dims| dims.has_cubes()))
        }
    })
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
    let mut known = Expected { keys: keys_of_field(&expected.keys)?, ..expected.clone() };
    let mut opened = Vec::new();
    for files in &fields {
        let mut pieces = Vec::new();
        for file in *files {
            pieces.extend(open(file, if files.len() == 1 { 2 } else { 1 }, &known)?);
        }
        for piece in &pieces {
            agree(piece, &mut known)?;
        }
        opened.push(pieces);
    }
    let (dims, dtype) = known.settled(opened.iter().flatten())?;
    opened
        .into_iter()
        .map(|pieces| {
            let components = match dtype {
                Dtype::F32 => read_pieces::<f32>(pieces, dims, expected)?,
                Dtype::F64 => read_pieces::<f64>(pieces, dims, expected)?,
            };
            let [u, v] = <[Values; 2]>::try_from(components).expect("a field is given by two components");
            Ok(Field { dims, u, v, fill_value: expected.fill_value, periodic: 0, is_slice: false })
        })
        .collect()
}

/// All headers and options must say the same.
fn agree(piece: &Piece, known: &mut Expected) -> Result<(), Failure> {
    let name = &piece.name;
    if let (Some(dims), Some(d)) = (piece.dims, known.dims) {
        if d != dims {
            return Err(failure!(
                "{name}: holds {dims} values ({}), expected {d}: all files and --dims must agree (a NumPy shape is \
                 (rows, columns), or (planes, rows, columns))",
                dims.order()
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

/// The failure of raw values without a shape.
fn shapeless<'a>(mut pieces: impl Iterator<Item = &'a Piece> + Clone) -> Failure {
    let foreign = pieces.clone().find_map(|piece| {
        let (_, foreign) = piece.raw.as_ref()?;
        foreign.as_ref().map(|foreign| failure!("{}: {foreign}", piece.name))
    });
    foreign.unwrap_or_else(|| {
        let raw = pieces.next().map_or("", |piece| piece.name.as_str());
        failure!(
            "--dims NXxNY is missing: {raw} is a raw array and does not tell its shape (columns x rows, x fastest)"
        )
    })
}

/// Opens a file or standard input with so many components. The format of a file is told by its name, that of standard input and of
/// pipes by their first bytes.
fn open(path: &Path, components: usize, known: &Expected) -> Result<Vec<Piece>, Failure> {
    let mut source = Source::open(path)?;
    let name = source.name.clone();
    let start = source.peek(first_bytes(components, known))?;
    if start.is_empty() {
        return Err(failure!("{name}: is empty"));
    }
    let format = match !is_dash(path) && path.is_file() {
        true => Format::of(path),
        false if start.starts_with(npy::MAGIC) => Format::Npy,
        false if start.starts_with(npy::ARCHIVE_MAGIC) => Format::Npz,
        false => Format::Raw,
    };
    match format {
        Format::Npz => open_archive(source, components, known),
        Format::Npy => {
            let header = npy::read_header(&name, &mut source)?;
            Ok(vec![Piece::npy(name, Content::Source(source), &header, components, known)?])
        }
        Format::Raw => {
            let foreign = foreign::of_input(path, start);
            let arrangement = if components > 1 { Arrangement::Stacked } else { Arrangement::Alone };
            let (content, raw) = (Content::Source(source), Some((path.to_owned(), foreign)));
            let (dims, dtype, big_endian) = (None, None, false);
            Ok(vec![Piece { name, content, dims, dtype, big_endian, components, arrangement, raw }])
        }
    }
}

/// Bytes that tell what a file is: no more than there must be, since the writer of a pipe may wait behind them.
fn first_bytes(components: usize, known: &Expected) -> usize {
    let otherwise = known.otherwise.as_ref().map(|&(dims, dtype, _)| (dims, dtype));
    let dtype = known.dtype.or(otherwise.map(|(_, dtype)| dtype)).unwrap_or(Dtype::F32);
    let dims = known.dims.or(otherwise.map(|(dims, _)| dims));
    let bytes = dims.map(|dims| components as u64 * dims.count() * dtype.bytes());
    bytes.map_or(8, |bytes| bytes.min(foreign::ENOUGH as u64) as usize)
}

fn open_archive(source: Source, components: usize, expected: &Expected) -> Result<Vec<Piece>, Failure> {
    let name = source.name.clone();
    if components == 1 {
        return Err(failure!("{name}: is an archive of arrays: give it alone, in place of U and V"));
    }
    let components = if expected.keys.len() == 1 { components } else { 1 };
    let (archive, arrays) = arrays_of(source, &expected.keys)?;
    let piece = |Array { name, index, header }: Array| {
        Piece::npy(name, Content::Entry(archive.clone(), index), &header, components, expected)
    };
    arrays.into_iter().map(piece).collect()
}

/// An array in an archive, with its name in messages.
struct Array {
    name: String,
    index: usize,
    header: npy::Header,
}

/// The arrays with these names in an archive.
fn arrays_of(source: Source, keys: &[String]) -> Result<(Rc<RefCell<Archive>>, Vec<Array>), Failure> {
    let name = source.name.clone();
    let seekable = seekable(source).map_err(|e| failure!("{name}: cannot be read: {e}"))?;
    let archive = ZipArchive::new(seekable).map_err(|e| failure!("{name}: is not a NumPy .npz file: {e}"))?;
    let archive = Rc::new(RefCell::new(archive));
    let find = |key: &String| {
        let found = archive.borrow().index_for_name(&format!("{key}.npy"));
        let index = found.ok_or_else(|| {
            let held = archive.borrow();
            let held: Vec<&str> = held.file_names().map(|n| n.strip_suffix(".npy").unwrap_or(n)).collect();
            let (names, option) = if keys.len() == 3 { ("u, v and w", "U,V,W") } else { ("u and v", "U,V") };
            failure!("{name}: has no array {key}, but {}: name {names} with --keys {option}", held.join(", "))
        })?;
        let name = format!("{name}, array {key}");
        let header = {
            let mut archive = archive.borrow_mut();
            npy::read_header(&name, &mut entry(&name, &mut archive, index)?)?
        };
        Ok(Array { name, index, header })
    };
    let arrays = keys.iter().map(find).collect::<Result<_, Failure>>()?;
    Ok((archive, arrays))
}

/// The source of an archive, which has its table at its end.
fn seekable(mut source: Source) -> std::io::Result<Box<dyn Seekable>> {
    if source.length().is_some() {
        return Ok(Box::new(BufReader::new(source.into_file()?)));
    }
    let mut bytes = Vec::new();
    source.read_to_end(&mut bytes)?;
    Ok(Box::new(Cursor::new(bytes)))
}

fn entry<'a>(name: &str, archive: &'a mut Archive, index: usize) -> Result<impl Read + use<'a>, Failure> {
    archive.by_index(index).map_err(|e| failure!("{name}: cannot be read: {e}"))
}

impl Piece {
    fn npy(
        name: String,
        content: Content,
        header: &npy::Header,
        components: usize,
        expected: &Expected,
    ) -> Result<Self, Failure> {
        let (dims, arrangement) = match components {
            1 => (header.alone(&name, expected.of_volume)?, Arrangement::Alone),
            2 => header.both(&name, expected.dims)?,
            _ => header.volume(&name, expected.dims)?,
        };
        let (dims, dtype, big_endian) = (Some(dims), Some(header.dtype), header.big_endian);
        Ok(Piece { name, content, dims, dtype, big_endian, components, arrangement, raw: None })
    }

    fn read<T: Element>(self, dims: Dims, expected: &Expected) -> Result<Intake<T>, Failure> {
        let mut intake = Intake {
            name: self.name,
            dims,
            big_endian: self.big_endian,
            arrangement: self.arrangement,
            stream: expected.stream().map(str::to_owned),
            values: vec![Vec::new(); self.components],
        };
        match self.content {
            Content::Source(source) => intake.read_source(source, self.raw)?,
            Content::Entry(archive, index) => {
                let mut archive = archive.borrow_mut();
                let mut reader = entry(&intake.name, &mut archive, index)?;
                npy::read_header(&intake.name, &mut reader)?;
                let expected = intake.expected_bytes();
                let bytes = intake.fill(&mut reader)?;
                let more = std::io::copy(&mut reader, &mut std::io::sink()).unwrap_or(0);
                if bytes + more != expected {
                    return Err(intake.wrong_length(bytes + more, &[]));
                }
            }
        }
        Ok(intake)
    }
}

/// The components that the arrays hold, in order.
fn read_pieces<T: Element>(
    pieces: Vec<Piece>,
    dims: Dims,
    expected: &Expected,
) -> Result<Vec<Values>, Failure> {
    let mut components = Vec::new();
    for piece in pieces {
        components.extend(piece.read::<T>(dims, expected)?.values.into_iter().map(T::wrap));
    }
    Ok(components)
}

/// The values of an array as they arrive.
struct Intake<T> {
    name: String,
    dims: Dims,
    big_endian: bool,
    arrangement: Arrangement,
    /// The stream that tells the shape and the type.
    stream: Option<String>,
    /// The values by component.
    values: Vec<Vec<T>>,
}

impl<T: Element> Intake<T> {
    fn components(&self) -> u64 {
        self.values.len() as u64
    }

    fn expected_bytes(&self) -> u64 {
        self.components() * self.dims.count() * T::BYTES as u64
    }

    /// Reads all values of a file or pipe, which must end with them.
    fn read_source(
        &mut self,
        mut source: Source,
        raw: Option<(PathBuf, Option<String>)>,
    ) -> Result<(), Failure> {
        let (expected, left) = (self.expected_bytes(), source.left());
        if left != Some(expected) {
            if let Some((_, Some(foreign))) = &raw {
                return Err(failure!("{}: {foreign}", self.name));
            }
        }
        match left {
            Some(bytes) if bytes == expected => self.reserve(self.dims.count())?,
            Some(bytes) => {
                let start = source.peek(4)?;
                return Err(self.wrong_length(bytes, start));
            }
            // It never ends.
            None if source.is_device() => self.reserve(self.dims.count())?,
            None => {}
        }
        let bytes = self.fill(&mut source)?;
        if bytes < expected {
            return Err(self.wrong_length(bytes, &[]));
        }
        if source.goes_on()? {
            return Err(failure!(
                "{}: goes on behind the {expected} bytes that {} of {} take: {}, or cut it there with `head -c \
                 {expected}` in the pipe",
                self.name,
                self.what(),
                T::DTYPE.name(),
                self.advice()
            ));
        }
        match &raw {
            Some((path, _)) => self.refuse_big_endian(path),
            None => Ok(()),
        }
    }

    /// Reads values until all are there; returns the number of bytes.
    fn fill(&mut self, reader: &mut impl Read) -> Result<u64, Failure> {
        let interleaved = self.arrangement == Arrangement::Interleaved;
        let unit = if interleaved { self.values.len() * T::BYTES } else { T::BYTES };
        let mut reader = reader.take(self.expected_bytes());
        let mut chunk = vec![0u8; 1 << 18];
        let (mut bytes, mut held) = (0, 0);
        loop {
            let n = match reader.read(&mut chunk[held..]) {
                Ok(0) => return Ok(bytes),
                Ok(n) => n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(failure!("{}: cannot be read: {e}", self.name)),
            };
            bytes += n as u64;
            held += n;
            let whole = held - held % unit;
            self.take(&chunk[..whole])?;
            chunk.copy_within(whole..held, 0);
            held -= whole;
        }
    }

    /// Appends whole values.
    fn take(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let value = match self.big_endian {
            true => from_be::<T>,
            false => from_le::<T>,
        };
        if self.arrangement == Arrangement::Interleaved {
            let unit = self.values.len() * T::BYTES;
            (0..self.values.len()).try_for_each(|k| self.grow(k, bytes.len() / unit))?;
            for vertex in bytes.chunks_exact(unit) {
                let components = vertex.chunks_exact(T::BYTES).map(value);
                self.values.iter_mut().zip(components).for_each(|(values, x)| values.push(x));
            }
            return Ok(());
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let (k, room) = self.next_run();
            let room = usize::try_from(room).unwrap_or(usize::MAX).saturating_mul(T::BYTES);
            let (run, behind) = rest.split_at(rest.len().min(room));
            self.grow(k, run.len() / T::BYTES)?;
            self.values[k].extend(run.chunks_exact(T::BYTES).map(value));
            rest = behind;
        }
        Ok(())
    }

    /// The component of the next value, and how many of its values follow before those of another one.
    fn next_run(&self) -> (usize, u64) {
        let run = match self.arrangement {
            Arrangement::Paired => self.dims.count() / self.dims.nz,
            _ => self.dims.count(),
        };
        let all: u64 = self.values.iter().map(|values| values.len() as u64).sum();
        ((all / run % self.components()) as usize, run - all % run)
    }

    /// A file may be shorter than the shape says, and the length of a pipe is not known: memory is asked for
    /// as the values arrive.
    fn grow(&mut self, component: usize, more: usize) -> Result<(), Failure> {
        let done = self.values[component].try_reserve(more);
        done.map_err(|_| failure!("{}: not enough memory for {} values", self.name, self.dims))
    }

    fn reserve(&mut self, count: u64) -> Result<(), Failure> {
        for values in &mut self.values {
            memory::reserve(values, count, format_args!("{} values", self.dims))
                .map_err(|e| e.about(&self.name))?;
        }
        Ok(())
    }

    fn what(&self) -> String {
        match self.components() {
            1 => format!("{} values", self.dims),
            3 => format!("u, v and w of {} values each", self.dims),
            _ => format!("u and v of {} values each", self.dims),
        }
    }

    /// Advice where a shape does not fit.
    fn advice(&self) -> String {
        match &self.stream {
            Some(name) => format!("{name} has this shape and type: {OF_STREAM}"),
            None => format!("check --dims ({}) and --dtype", self.dims.order()),
        }
    }

    /// The failure of a file with another number of bytes, which begins with `start`.
    fn wrong_length(&self, bytes: u64, start: &[u8]) -> Failure {
        let (name, what, dtype, expected) = (&self.name, self.what(), T::DTYPE.name(), self.expected_bytes());
        let other = if T::BYTES == 4 { ("f64", expected * 2) } else { ("f32", expected / 2) };
        let (components, together) = (self.components(), self.components() > 1);
        let record = start.first_chunk().map_or(0, |&word| u32::from_le_bytes(word)) as u64;
        let (Dims { nx, ny, nz }, advice) = (self.dims, self.advice());
        let hint = if record > 0 && bytes % (record + RECORD_MARKS) == 0 {
            format!(
                "it looks like a sequential file of Fortran, with marks around records of {record} bytes: write it with \
                 access='stream', or cut them off: `tail -c +5 FILE | head -c {record} > NEW` is the first record"
            )
        } else if together && bytes == expected / components {
            match components {
                2 => "it has one component: give the file of the other one too".into(),
                _ => "it has one component: give the files of the other ones too".into(),
            }
        } else if self.stream.is_some() {
            advice
        } else if !together && bytes == expected * 2 && T::BYTES == 8 {
            "if it holds u and then v, give it alone, in place of U and V".into()
        } else if bytes == other.1 {
            format!("the size is that of {}: give --dtype {}", other.0, other.0)
        } else if bytes > expected && bytes % expected == 0 && !together {
            let planes = bytes / expected;
            format!(
                "if it holds {planes} planes (steps, levels), give --dims {nx}x{ny}x{}; otherwise {advice}",
                nz * planes
            )
        } else if bytes > expected && bytes % expected == 0 {
            let fields = bytes / expected;
            let stack = match self.components() {
                3 => String::new(),
                _ => format!(
                    "if it holds u of {} planes (steps, levels) and then v of these, give --dims {nx}x{ny}x{}; ",
                    nz * fields,
                    nz * fields
                ),
            };
            format!(
                "{stack}if it holds {fields} fields one behind the other, cut one out: `tail -c +{} FILE | head -c \
                 {expected} > NEW` is the second; otherwise {advice}",
                expected + 1
            )
        } else {
            advice
        };
        failure!("{name}: has {bytes} bytes of values, but {what} of {dtype} take {expected}: {hint}")
    }

    /// Refuses values of the other byte order: they are wild as they stand, and tame the other way round.
    fn refuse_big_endian(&self, path: &Path) -> Result<(), Failure> {
        if !self.values.iter().any(|values| is_swapped(values)) {
            return Ok(());
        }
        let together = Some(self.components()).filter(|&count| count > 1);
        let sizes: Vec<String> =
            together.into_iter().chain(self.dims.shape()).map(|n| n.to_string()).collect();
        let shape = sizes.join(", ");
        let program = format!(
            "import numpy; numpy.save('NEW.npy', numpy.fromfile('{}', '>f{}').reshape({shape}))",
            shell_name(path),
            T::BYTES
        );
        Err(failure!(
            "{}: looks like big-endian values, and raw values are little-endian; {} makes a file that tells its byte order",
            self.name,
            python(&program)
        ))
    }
}

/// Bytes around a record of a sequential file of Fortran: its length, twice.
const RECORD_MARKS: u64 = 8;

/// Whether values are numbers of usual size only in the other byte order.
fn is_swapped<T: Real>(values: &[T]) -> bool {
    // Spread without a period, as the columns of a field have one.
    let places = (0..values.len().min(4096)).map(|k| (k * 1_000_003) % values.len());
    let mut words: Vec<u64> = places.map(|k| values[k].to_bits64()).collect();
    // Many a field has one value for land.
    words.sort_unstable();
    words.dedup();
    let tame = |word: u64| {
        let x = T::from_bits64(word).to_f64();
        x == 0.0 || (1e-12..1e12).contains(&x.abs())
    };
    let swapped = |word: u64| word.swap_bytes() >> (64 - 8 * T::BYTES);
    let count = |tame: &dyn Fn(u64) -> bool| words.iter().filter(|&&word| tame(word)).count();
    words.len() >= 16
        && 2 * count(&tame) < words.len()
        && 16 * count(&|word| tame(swapped(word))) >= 15 * words.len()
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
