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
    /// The fix that tells shape and type, by its name.
    pub fix: Option<String>,
}

/// Advice where a stream has another shape or type.
pub const OF_STREAM: &str = "give the original of this stream; in a file of several --step K chooses another";

/// Advice where a fix has another shape or type.
const OF_FIX: &str = "give the reconstruction that it was made for";

/// Advice on raw values of u, v and w, one behind the other.
const OF_RAW_VOLUME: &str =
    "`factz compress` takes it with --mode repair, other commands take three files or one .npy";

impl Expected {
    /// Advice where raw values do not have the shape and type that a fix or a stream tells.
    fn told(&self) -> Option<String> {
        match (&self.fix, &self.otherwise, self.dims, self.dtype) {
            (Some(fix), _, Some(dims), Some(dtype)) => {
                Some(format!("{fix} belongs to {dims} values of {}: {OF_FIX}", dtype.name()))
            }
            (_, Some((_, _, name)), None, _) => Some(format!("{name} has this shape and type: {OF_STREAM}")),
            _ => None,
        }
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
    let expected = &Expected { of_volume: true, ..expected.clone() };
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

/// The components that a file holds, by the shape of its array or by the arrays of an archive: three of a volume, or
/// two. None where that is not clear, of one component, of raw values and of pipes.
pub fn components(path: &Path, expected: &Expected) -> Option<u32> {
    if holds_volume(path, expected) {
        return Some(3);
    }
    if is_dash(path) || !path.is_file() {
        return None;
    }
    let mut source = Source::open(path).ok()?;
    let two = match Format::of(path) {
        Format::Npy => npy::read_header("", &mut source).ok()?.is_pair(),
        Format::Npz => match &arrays_of(source, &keys_of_field(&expected.keys).ok()?).ok()?.1[..] {
            [both] => both.header.is_pair(),
            each => each.len() == 2,
        },
        Format::Raw => false,
    };
    two.then_some(2)
}

/// The components that a file holds, where it cannot be read as one of `wanted` components. Of an archive with u, v and
/// w the first two can be read.
pub fn other_components(path: &Path, expected: &Expected, wanted: u32) -> Option<u32> {
    let held = components(path, expected).filter(|&held| held != wanted)?;
    (held < wanted || Format::of(path) != Format::Npz).then_some(held)
}

/// A number of components as messages have it.
pub fn components_text(components: u32) -> &'static str {
    match components {
        3 => "three components (u, v and w of a volume)",
        _ => "two components (u and v of planes)",
    }
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
    let expected = &Expected { dtype: known.dtype, ..expected.clone() };
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
    let told_by_fix = known.told().filter(|_| known.fix.is_some());
    if let (Some(told), Some(dims), Some(dtype)) = (told_by_fix, piece.dims, piece.dtype) {
        if (piece.dims, piece.dtype) != (known.dims, known.dtype) {
            return Err(failure!("{name}: holds {dims} values of {}, and {told}", dtype.name()));
        }
    }
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
            told: expected.told(),
            has_type: expected.dtype.is_some() || expected.otherwise.is_some(),
            of_volume: expected.of_volume,
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

/// What a file may hold by its size, and what to do then.
type Reading = (String, String);

/// The values of an array as they arrive.
struct Intake<T> {
    name: String,
    dims: Dims,
    big_endian: bool,
    arrangement: Arrangement,
    /// Advice where a fix or a stream tells the shape and the type.
    told: Option<String>,
    /// Whether an option or a file tells the type; otherwise it is f32.
    has_type: bool,
    /// Whether the components are those of a volume.
    of_volume: bool,
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
            Some((path, _)) => self.refuse_big_endian(path).and_then(|()| self.refuse_f64()),
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
        let options = || format!("check --dims ({}) and --dtype", self.dims.order());
        self.told.clone().unwrap_or_else(options)
    }

    /// The failure of a file with another number of bytes, which begins with `start`.
    fn wrong_length(&self, bytes: u64, start: &[u8]) -> Failure {
        let (name, what, dtype, expected) = (&self.name, self.what(), T::DTYPE.name(), self.expected_bytes());
        let record = start.first_chunk().map_or(0, |&word| u32::from_le_bytes(word)) as u64;
        let hint = if record > 0 && bytes % (record + RECORD_MARKS) == 0 {
            format!(
                "it looks like a sequential file of Fortran, with marks around records of {record} bytes: write it with \
                 access='stream', or cut them off: `tail -c +5 FILE | head -c {record} > NEW` is the first record"
            )
        } else {
            self.readings_text(bytes)
        };
        failure!("{name}: has {bytes} bytes of values, but {what} of {dtype} take {expected}: {hint}")
    }

    /// What a file with so many bytes may hold, with the option that says so.
    fn readings_text(&self, bytes: u64) -> String {
        let (readings, behind) = match self.told {
            Some(_) => (self.single_component(bytes), vec![]),
            None => (self.readings(bytes), self.multiples(bytes)),
        };
        let advice = self.advice();
        match (&readings[..], &behind[..]) {
            ([], []) => advice,
            ([(what, do_this)], []) => format!("it has {what}: {do_this}"),
            _ => {
                let of_any = |(what, do_this): &Reading| format!("if it has {what}, {do_this}");
                let all: Vec<String> = readings.iter().chain(&behind).map(of_any).collect();
                let otherwise =
                    if behind.is_empty() { String::new() } else { format!("; otherwise {advice}") };
                all.join("; ") + &otherwise
            }
        }
    }

    /// One component, where all are expected.
    fn single_component(&self, bytes: u64) -> Vec<Reading> {
        let is_one = self.components() > 1 && bytes == self.expected_bytes() / self.components();
        Vec::from_iter(is_one.then(|| ("one component".into(), format!("give {} too", self.other_files()))))
    }

    fn other_files(&self) -> &'static str {
        match self.components() {
            2 => "the file of the other one",
            _ => "the files of the other ones",
        }
    }

    /// Other types and numbers of components of the same vertices.
    fn readings(&self, bytes: u64) -> Vec<Reading> {
        let mut found = self.single_component(bytes);
        let count = self.dims.count();
        let (one, other) = (count * T::BYTES as u64, if T::BYTES == 4 { Dtype::F64 } else { Dtype::F32 });
        let (name, one_of_other) = (other.name(), count * other.bytes());
        let mut add =
            |is_so: bool, what: String, do_this: String| found.extend(is_so.then_some((what, do_this)));
        match self.components() {
            1 => {
                add(bytes == one_of_other, format!("values of {name}"), format!("give --dtype {name}"));
                let alone = "give it alone, in place of U and V";
                add(bytes == 2 * one && !self.of_volume, "u and then v".into(), alone.into());
            }
            components => {
                let files = self.other_files();
                add(
                    bytes == one_of_other,
                    format!("one component of {name}"),
                    format!("give {files} too, and --dtype {name}"),
                );
                let all = ["u and v", "u, v and w"][components as usize - 2];
                let is_other = bytes == components * one_of_other;
                add(is_other, format!("{all} of {name}"), format!("give --dtype {name}"));
                if components == 2 && self.dims.has_cubes() {
                    let what = "u, v and w of a volume";
                    add(bytes == 3 * one, what.into(), OF_RAW_VOLUME.into());
                    let with_type = format!("give --dtype {name}; {OF_RAW_VOLUME}");
                    add(bytes == 3 * one_of_other, format!("{what} of {name}"), with_type);
                }
            }
        }
        found
    }

    /// Several planes or fields in place of one.
    fn multiples(&self, bytes: u64) -> Vec<Reading> {
        let (expected, Dims { nx, ny, nz }) = (self.expected_bytes(), self.dims);
        if bytes <= expected || bytes % expected != 0 {
            return vec![];
        }
        let (times, planes) = (bytes / expected, nz * (bytes / expected));
        let stack = format!("give --dims {nx}x{ny}x{planes}");
        let fields = || {
            let cut = format!("tail -c +{} FILE | head -c {expected} > NEW", expected + 1);
            (format!("{times} fields one behind the other"), format!("cut one out: `{cut}` is the second"))
        };
        match self.components() {
            1 => vec![(format!("{planes} planes (steps, levels)"), stack)],
            2 => vec![(format!("u of {planes} planes (steps, levels) and then v of these"), stack), fields()],
            _ => vec![fields()],
        }
    }

    /// Refuses one component of f64, as large as u and v of f32, where no option tells the type: as f32 the lower
    /// halves of its values, and only these, are wild or end in many zeros.
    fn refuse_f64(&self) -> Result<(), Failure> {
        let [u, v] = &self.values[..] else { return Ok(()) };
        if self.has_type || T::BYTES != 4 || !holds_f64([u, v]) {
            return Ok(());
        }
        Err(failure!(
            "{}: has the size of u and v of f32 and looks like one component of f64: give the file of the other one too, \
             and --dtype f64; --dtype f32 reads it as u and then v all the same",
            self.name
        ))
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

/// Different words of a field, of so many that `word` gives, as a sample.
fn sample(count: usize, word: impl Fn(usize) -> u64) -> Vec<u64> {
    // Spread without a period, as the columns of a field have one.
    let mut words: Vec<u64> = (0..count.min(4096)).map(|k| word((k * 1_000_003) % count)).collect();
    // Many a field has one value for land.
    words.sort_unstable();
    words.dedup();
    words
}

fn is_tame(x: f64) -> bool {
    x == 0.0 || (1e-12..1e12).contains(&x.abs())
}

/// Whether u and v of f32 are the halves of as many values of f64.
fn holds_f64<T: Real>([u, v]: [&[T]; 2]) -> bool {
    let half = |k: usize| u.get(k).unwrap_or_else(|| &v[k - u.len()]).to_bits64();
    let words = sample(u.len(), |k| half(2 * k) | half(2 * k + 1) << 32);
    // Values of f64 that once were of f32 have 29 zeros at the end.
    let is_lower = |half: u64| half.trailing_zeros() >= 29 || !is_tame(T::from_bits64(half).to_f64());
    let lower = words.iter().filter(|&&word| is_lower(word & u32::MAX as u64)).count();
    let upper = words.iter().filter(|&&word| is_lower(word >> 32)).count();
    words.len() >= 16 && 2 * lower > words.len() && 4 * upper <= words.len()
}

/// Whether values are numbers of usual size only in the other byte order.
fn is_swapped<T: Real>(values: &[T]) -> bool {
    let words = sample(values.len(), |k| values[k].to_bits64());
    let tame = |word: u64| is_tame(T::from_bits64(word).to_f64());
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
