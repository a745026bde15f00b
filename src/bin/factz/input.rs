//! Fields from files and from standard input: raw values, `.npy` and `.npz`, one component or all in each.

use crate::array::{Dims, Element, Field, Values};
use crate::failure::{failure, is_dash, Failure};
use crate::foreign;
use crate::intake::Intake;
use crate::npy::{self, Arrangement};
use crate::source::Source;
use crate::store::Format;
use factz::Dtype;
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
