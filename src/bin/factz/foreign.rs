//! Files of other programs: what they are, by their first bytes or by the ending of their name, and how
//! values get out of them or into them.

use crate::failure::{failure, is_dash, Failure};
use crate::npy;
use crate::shell::{python, shell_name};
use factz::stream::header::MAGIC;
use std::path::Path;

/// First bytes that tell every kind.
pub const ENOUGH: usize = 512;

/// A format that is not read or written here. In the texts FILE stands for the name of the file.
struct Kind {
    what: &'static str,
    /// Of names, without the dot.
    endings: &'static [&'static str],
    begins: fn(&[u8]) -> bool,
    /// A Python program that makes a file to read of it, or nothing.
    python: &'static str,
    /// Advice: the tool that reads the format, or the option to give.
    advice: &'static str,
    /// A Python program that makes such a file of flow.npy, or nothing.
    reverse: &'static str,
}

const STREAM: Kind = kind("a stream, not an array", &[], begins_stream).advice(
    "give the arrays that `factz decompress FILE flow.npy` makes of it (of two fields, the second may be a stream, \
     in a file)",
);

/// By their first bytes the more special ones come first.
const KINDS: [Kind; 18] = [
    STREAM,
    kind("a fix, which belongs to a reconstruction", &[], factz::is_fix)
        .advice("`factz apply FILE U1 V1 U2 V2` applies it, and `factz info FILE` shows its header"),
    kind("a NumPy .npy file", &["npy"], |b| b.starts_with(npy::MAGIC))
        .advice("give it a name that ends in .npy"),
    kind("a zip archive", &["npz", "zip"], |b| b.starts_with(npy::ARCHIVE_MAGIC))
        .advice("give it a name that ends in .npz if NumPy wrote it, otherwise unzip it"),
    kind("an HDF5 or netCDF-4 file", &["h5", "hdf5", "he5", "hdf", "nc4"], |b| b.starts_with(b"\x89HDF\r\n\x1a\n"))
        .python(
            "import h5py, numpy; numpy.save('u.npy', h5py.File('FILE')['u'][:])",
            "writes the values of its dataset u, and so does `h5dump -d /u -b LE -o u.raw FILE`",
        )
        .reverse("import h5py, numpy; h5py.File('FILE', 'w')['uv'] = numpy.load('flow.npy')"),
    kind("a netCDF file", &["nc", "cdf"], |b| b.starts_with(b"CDF") && matches!(b.get(3), Some(1 | 2 | 5)))
        .python(
            "import xarray, numpy; numpy.save('u.npy', xarray.open_dataset('FILE')['u'].values)",
            "writes the values of its variable u",
        )
        .reverse(
            "import xarray, numpy; u, v = numpy.load('flow.npy'); \
             xarray.Dataset({'u': (('y', 'x'), u), 'v': (('y', 'x'), v)}).to_netcdf('FILE')",
        ),
    kind("a GRIB file", &["grib", "grb", "grib2", "grb2"], |b| {
        b.starts_with(b"GRIB") && matches!(b.get(7), Some(1 | 2))
    })
    .python(
        "import xarray, numpy; d = xarray.open_dataset('FILE', engine='cfgrib'); numpy.save('u.npy', d['u10'].values)",
        "writes the values of its variable u10",
    ),
    kind("a VTK file", &["vtk", "vti", "vtr", "vts", "vtu", "vtp", "pvti", "pvtu", "pvd"], |b| {
        b.starts_with(b"# vtk DataFile") || b.windows(8).any(|part| part == b"<VTKFile")
    })
    .python(
        "import pyvista, numpy; m = pyvista.read('FILE'); nx, ny, nz = m.dimensions; \
         numpy.save('flow.npy', m['velocity'].reshape(nz, ny, nx, 3)[0, :, :, :2])",
        "writes x and y of the vectors velocity at its points",
    )
    .reverse(
        "import pyvista, numpy; u, v = numpy.load('flow.npy'); m = pyvista.ImageData(dimensions=u.shape[::-1] + (1,)); \
         m['u'], m['v'] = u.ravel(), v.ravel(); m.save('FILE')",
    ),
    kind("a Zarr store", &["zarr"], |_| false).python(
        "import zarr, numpy; numpy.save('u.npy', zarr.open('FILE')['u'][:])",
        "writes the values of its array u",
    ),
    kind("an ADIOS2 file", &["bp", "bp4", "bp5"], |_| false).python(
        "import adios2, numpy; numpy.save('u.npy', adios2.FileReader('FILE').read('u'))",
        "writes the values of its variable u",
    ),
    kind("a MATLAB file", &["mat"], |b| b.starts_with(b"MATLAB ")).python(
        "import scipy.io, numpy; numpy.save('u.npy', numpy.ascontiguousarray(scipy.io.loadmat('FILE')['u']))",
        "writes the values of its matrix u (version 7.3 is HDF5: use h5py)",
    ),
    kind("a picture", &["png", "jpg", "jpeg", "gif", "webp", "bmp", "svg", "pdf"], |b| {
        [&b"\x89PNG\r\n\x1a\n"[..], b"\xff\xd8\xff", b"GIF8"].iter().any(|magic| b.starts_with(magic))
    })
    .advice("it holds colours, and factz takes the numbers that it was drawn from"),
    kind("a file compressed by gzip", &["gz", "tgz"], |b| {
        b.starts_with(b"\x1f\x8b\x08") && b.get(3).is_some_and(|flags| flags & 0xe0 == 0)
    })
    .advice("`gzip -dc FILE > NEW` makes the file that it was"),
    kind("a file compressed by zstd", &["zst"], |b| b.starts_with(b"\x28\xb5\x2f\xfd"))
        .advice("`zstd -dc FILE > NEW` makes the file that it was"),
    kind("a file compressed by xz", &["xz"], |b| b.starts_with(b"\xfd7zXZ\0"))
        .advice("`xz -dc FILE > NEW` makes the file that it was"),
    kind("a file compressed by bzip2", &["bz2"], |b| b.starts_with(b"BZh") && b.get(4..10) == Some(b"1AY&SY"))
        .advice("`bzip2 -dc FILE > NEW` makes the file that it was"),
    kind("a text file with commas", &["csv"], |b| is_text(b) && b.contains(&b',')).python(
        "import numpy; numpy.save('u.npy', numpy.loadtxt('FILE', delimiter=','))",
        "makes a row of the field of each line",
    ),
    kind("a text file", &["txt", "asc"], is_text).python(
        "import numpy; numpy.save('u.npy', numpy.loadtxt('FILE'))",
        "makes a row of the field of each line",
    ),
];

const fn kind(what: &'static str, endings: &'static [&'static str], begins: fn(&[u8]) -> bool) -> Kind {
    Kind { what, endings, begins, python: "", advice: "", reverse: "" }
}

impl Kind {
    const fn python(self, python: &'static str, advice: &'static str) -> Kind {
        Kind { python, advice, ..self }
    }
    const fn advice(self, advice: &'static str) -> Kind {
        Kind { advice, ..self }
    }
    const fn reverse(self, reverse: &'static str) -> Kind {
        Kind { reverse, ..self }
    }

    fn advice_on(&self, path: &Path) -> String {
        let text = match self.python.is_empty() {
            true => self.advice.to_owned(),
            false => format!("{} {}", python(self.python), self.advice),
        };
        format!("is {}: {}", self.what, text.replace("FILE", &shell_name(path)))
    }
}

/// Whether bytes are lines of printable characters, which values are not by chance.
fn is_text(bytes: &[u8]) -> bool {
    let printable = |b: &u8| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    bytes.len() >= 16 && bytes.contains(&b'\n') && bytes.iter().all(printable)
}

/// Whether bytes begin as the header of a stream: with its mark, a small version and a short header. Values
/// may begin with the mark by chance.
pub fn begins_stream(start: &[u8]) -> bool {
    start.starts_with(&MAGIC) && (start.get(5), start.get(7)) == (Some(&0), Some(&0))
}

fn by_content(start: &[u8]) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| (kind.begins)(start))
}

fn by_name(path: &Path) -> Option<&'static Kind> {
    let ending = ending(path);
    KINDS.iter().find(|kind| kind.endings.contains(&&*ending))
}

fn ending(path: &Path) -> String {
    path.extension().map_or(String::new(), |ending| ending.to_string_lossy().to_ascii_lowercase())
}

/// Format of an input that should hold values, by its first bytes or else by its name, with advice.
pub fn of_input(path: &Path, start: &[u8]) -> Option<String> {
    by_content(start).or(by_name(path)).map(|kind| kind.advice_on(path))
}

/// Format of a file that should hold a stream.
pub fn of_stream(path: &Path, start: &[u8]) -> Option<String> {
    let kind = by_content(start)?;
    Some(match kind.what.contains("compressed") {
        true => kind.advice_on(path),
        false => format!("is {}, no factz stream", kind.what),
    })
}

/// Kind of data that a command writes into a file.
#[derive(Clone, Copy, PartialEq)]
pub enum Product {
    Stream,
    Arrays,
    List,
}

impl Product {
    /// Its formats, and their endings among those of [`KINDS`].
    fn formats(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Product::Stream => ("a stream, such as OUT.fz", &[]),
            Product::Arrays => ("raw values, .npy and .npz", &["npy", "npz"]),
            Product::List => (".csv, .json and .vtp", &["csv", "txt", "vtp"]),
        }
    }

    /// Refuses the name of an output whose ending promises another format.
    pub fn refuse_name(self, path: &Path) -> Result<(), Failure> {
        let (formats, own) = self.formats();
        let Some(kind) = by_name(path).filter(|_| !own.contains(&&*ending(path)) && !is_dash(path)) else {
            return Ok(());
        };
        let more = match self {
            Product::Arrays if !kind.reverse.is_empty() => format!(
                "; decompress to flow.npy, and {} makes the other file of it",
                python(kind.reverse).replace("FILE", &shell_name(path))
            ),
            Product::Stream if kind.reverse.is_empty() => String::new(),
            Product::Stream => {
                "; programs with HDF5 and netCDF-4 compress by its filter: see `factz h5args`".into()
            }
            _ => String::new(),
        };
        Err(failure!(
            "{}: is the name of {}, and factz writes {formats} here{more}",
            path.display(),
            kind.what
        ))
    }
}
