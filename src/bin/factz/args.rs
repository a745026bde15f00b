//! The program and its commands. Their arguments, with the text of `--help`, are in the files of the folder;
//! options that several share: options.rs.

mod analysis;
mod fixes;
mod hdf5;
mod measurement;
mod streams;

pub use analysis::{Diff, Points, Range, Render};
pub use fixes::{Apply, Protect};
pub use hdf5::{ChunkLayout, H5Format, H5args};
pub use measurement::{Bench, Demo, Sweep};
pub use streams::{Compress, Decompress, Info, Join, Split, Test, Verify};

use crate::options::Talk;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Compresses 2D and 3D vector fields within an error bound and keeps every critical point.
#[derive(Parser)]
#[command(
    name = "factz",
    version,
    disable_help_subcommand = true,
    after_long_help = "\
Fields:
  A field is two arrays, u and v, in two files or both in one. The ending of a file name tells its format: .npy and \
.npz are NumPy's and contain shape and type; all others are raw little-endian values, row by row, x fastest: --dims \
NXxNY means NX columns and NY rows, and the value at (x, y) is number y * NX + x. Without --dtype they are f32; u and \
v of f32 in one file take as many bytes as one component of f64, and a file that looks like the latter is refused. \
NXxNYxNZ is a stack of NZ planes, \
one behind the other, such as times or levels: fields of their own that are compressed into one stream, with one bound. \
In .npy it is an array of shape (NZ, NY, NX).
  One file holds both components as u and then v (raw, or .npy of shape (2, NY, NX)), side by side (.npy of shape \
(NY, NX, 2)), or as the arrays u and v of a .npz (other names: --keys).
  A volume is three arrays, u, v and w, of NX x NY x NZ vertices. One .npy or .npz of all three, of shape (3, NZ, NY, NX) \
or (NZ, NY, NX, 3), or with the arrays u, v and w, is a volume for points, range, render, verify and diff, unless \
it is read from a pipe alone. An array of which another axis has the length 2 may be a stack of planes: it is read as a \
volume if --dims gives the shape of the volume. --keys u,v reads planes from a .npz. `factz compress` needs --mode \
repair for a volume in one file.
  - is standard input or output; a file of that name is ./-. The first bytes of standard input, and of a pipe, tell its \
format. With --dims a raw input ends with the field: nothing is read behind it, and bytes that follow in a file or pipe \
are an error. If data goes to standard output, the report goes to standard error.
  Files of other formats (HDF5, netCDF, GRIB, VTK, Zarr, ADIOS2, MATLAB, text) are not read; the error names a command \
that makes a .npy of their values.

Critical points:
  Every grid cell is cut into two triangles along the diagonal from (x, y) to (x+1, y+1). A triangle has a critical \
point if the linearly interpolated vector is zero in its interior. A zero at a vertex or on an edge is a critical point \
if there are no other zeros beside it. After decompression each critical point is in the same triangle, or at the \
same vertex or edge, with the same type or index, and there are no others; no value differs by more than the bound. \
Of a volume every cube is cut into six tetrahedra along the diagonal from (x, y, z) to (x+1, y+1, z+1), which take the \
place of triangles.

Devices:
  Commands with the option --backend run on the first CUDA device (--backend auto), with the same results as on the \
processor. The processor does the work if there is no device, or not enough memory on it, and analyses volumes. \
--backend cuda insists on the device; CUDA_VISIBLE_DEVICES chooses among several.

Several streams in one file:
  Streams may follow each other, as the time steps of a simulation or the blocks of a domain do: `cat a.fz b.fz > all.fz` \
makes such a file, and `factz compress --append` adds to one. They have numbers from 0 on. `factz info` lists them, \
`factz test` tests all. Commands that read one stream take its number, --step K; -1 is the last one. Without it several \
streams are an error. So are bytes that are no stream, behind the last one, and a stream that is cut off or has a damaged \
header. The error says at which byte that is; the streams before it can be read with --step, counted from 0. Standard input is read to its end.

Files:
  An output appears under its name when it is complete and on the disk. An error, an interrupt or a lack of memory \
leaves what was there before, and no temporary file. It is written in the directory of the output, which must be \
writable. A replaced file hands down its permissions and, as far as the user may, its owner and group; the file \
behind a symbolic link is replaced or made, not the link. `factz compress --append` writes in place instead.

Exit status:
  0  done
  1  verify, diff, bench or demo found a violation, or test found a damaged stream
  2  wrong usage, a file or standard output that cannot be read, written or understood, not enough memory, or \
--backend cuda without a device
  130, 143  interrupted, terminated

Examples:
  factz compress u.f32 v.f32 -o wind.fz --dims 360x181 --north-first --rel 1e-2
  factz decompress wind.fz u2.f32 v2.f32
  factz verify u.f32 v.f32 u2.f32 v2.f32 --dims 360x181 --north-first --rel 1e-2
  factz info wind.fz"
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Compress(Compress),
    Decompress(Decompress),
    Verify(Verify),
    Protect(Protect),
    Apply(Apply),
    Test(Test),
    Info(Info),
    Split(Split),
    Join(Join),
    Points(Points),
    Range(Range),
    Diff(Diff),
    Render(Render),
    Bench(Bench),
    Sweep(Sweep),
    Demo(Demo),
    H5args(H5args),
    Completions(Completions),
    Man(Man),
}

impl Command {
    /// The form of the report; none for commands that print nothing else.
    pub fn talk(&self) -> Option<&Talk> {
        match self {
            Command::Compress(a) => Some(&a.talk),
            Command::Decompress(a) => Some(&a.talk),
            Command::Verify(a) => Some(&a.talk),
            Command::Protect(a) => Some(&a.talk),
            Command::Apply(a) => Some(&a.talk),
            Command::Test(a) => Some(&a.talk),
            Command::Info(a) => Some(&a.talk),
            Command::Split(a) => Some(&a.talk),
            Command::Join(a) => Some(&a.talk),
            Command::Points(a) => Some(&a.talk),
            Command::Range(a) => Some(&a.talk),
            Command::Diff(a) => Some(&a.talk),
            Command::Render(a) => Some(&a.talk),
            Command::Bench(a) => Some(&a.talk),
            Command::Sweep(a) => Some(&a.talk),
            Command::Demo(a) => Some(&a.talk),
            Command::H5args(_) | Command::Completions(_) | Command::Man(_) => None,
        }
    }
}

/// Prints a completion script for a shell, or writes it into a directory.
#[derive(Args)]
#[command(hide = true)]
pub struct Completions {
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
    /// Directory of the script, which gets the name that the shell expects
    pub folder: Option<PathBuf>,
}

/// Writes the manual pages into a directory.
#[derive(Args)]
#[command(hide = true)]
pub struct Man {
    pub folder: PathBuf,
}
