//! The command that makes the arguments of the HDF5 filter.

use crate::array::Dims;
use crate::options::*;
use clap::{Args, ValueEnum};
use factz::Dtype;

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum H5Format {
    /// JSON: the keyword arguments compression and compression_opts of create_dataset
    H5py,
    /// UD=..., which follows the name of the dataset in -f
    H5repack,
    /// The text that follows the name of the variable in nccopy -F
    Netcdf,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum ChunkLayout {
    /// (..., 2, NY, NX)
    Planes,
    /// (..., NY, NX, 2)
    Interleaved,
}

/// Prints the arguments of the HDF5 filter for h5py, h5repack or nccopy.
///
/// The filter compresses datasets of shape (..., 2, NY, NX) or (..., NY, NX, 2) that hold u and v. A chunk is
/// a field or a part of one, (1, ..., 2, ny, nx) or (1, ..., ny, nx, 2), or several along the leading axes, which
/// are compressed together. With --mode repair a chunk is a volume or a part of one, (1, ..., 3, nz, ny, nx), of
/// u, v and w. Critical points are kept in the whole dataset, those between chunks included.
/// Exactly one of --abs and --rel is required.
#[derive(Args)]
#[command(
    name = "h5args",
    after_long_help = "\
Writing:
  Write whole chunks, u and v together, or give HDF5 a chunk cache that holds the chunks which are being written \
(H5Pset_chunk_cache, rdcc_nbytes in h5py; 1 MiB before HDF5 2.0, 8 MiB from then on): otherwise HDF5 decompresses and \
compresses a chunk for each part. The filter notices values that this process decompressed before, as long as \
it has the chunk in memory (128 MiB, or FACTZ_HDF5_MEMORY in MiB), and rows, columns and runs of values longer than that. The \
originals take their place where this process wrote them; otherwise the chunk is stored exactly, which takes more space. \
Changes that it does not notice are compressed again, and add an error of up to one bound. FACTZ_HDF5_LOG=FILE (or stderr) tells when \
chunks are stored exactly and why; FACTZ_HDF5_AGAIN=lossy compresses such values again.

Chunks:
  HDF5 shows the filter a chunk, not the dataset, so the filter stores the borders of every chunk exactly: the triangles \
between two chunks then stay as they are. Large chunks cost least. Where the chunks are as long as the field along an axis, \
--field NXxNY saves the borders there, and --periodic keeps the cells between the last and the first vertices. \
Where chunks divide a periodic axis their exact borders do that; other chunks are refused.
  Chunks of several steps or levels, (24, 2, ny, nx), are smaller in sum, most where a field is small. HDF5 reads and \
decompresses whole chunks: a step alone takes as long as all of its chunk, and the chunk cache must hold a chunk.
  --rel is a fraction of the range of one chunk. The filter accepts it only if a chunk is one whole field, given by --field; \
each step of a series then has a bound of its own. A bound for all chunks is --abs, fraction * (max - min).
  A chunk in which outliers make the range, such as a fill value that nobody named, is stored exactly, unless \
--allow-wide-range is given.
  A fill value of the dataset that is finite and not zero counts as --fill-value if none is given.

Plugin:
  Programs find the filter, libh5zfactz.so, through the environment variable HDF5_PLUGIN_PATH, a list of folders; it is \
installed into lib/hdf5/plugin. FACTZ_HDF5_THREADS is the number of threads per chunk (1). Other filters follow factz in the \
pipeline: fletcher32 does; shuffle should be off: after factz it is legal but useless, before factz it is refused.
  A program with HDF5 linked statically may hide it from the filter. --chunk, --dtype and --layout then describe the chunks, and \
nothing checks type and filters there: the values must be floats of that type and in this machine's byte order, and factz the \
first filter. Elsewhere the filter finds this out, and they have no effect.

Exit status: 0 the arguments are printed; 2 wrong usage.

Examples:
  factz h5args --rel 1e-3 --field 360x181 --mode speculative
  opts=$(factz h5args --abs 0.05 --field 360x181 --format h5repack)
  h5repack -l uv:CHUNK=1x2x181x360 -f uv:$opts in.h5 out.h5
  opts=$(factz h5args --abs 0.05 --field 360x181 --format netcdf)
  nccopy -c uv:1,2,181,360 -F uv,$opts in.nc out.nc
  factz h5args --mode repair --abs 0.05 --field 256x256x128    # volumes
  factz h5args --abs 0.05 > args.json    # then in Python, with h5py:
  args = json.load(open('args.json'))
  file.create_dataset('uv', data=uv, chunks=(2, 181, 360),
                      compression=args['compression'],
                      compression_opts=tuple(args['compression_opts']))"
)]
pub struct H5args {
    #[command(flatten)]
    pub bound: BoundArguments,
    #[command(flatten)]
    pub fill: FillArguments,
    #[command(flatten)]
    pub choices: Choices,
    /// Form of the arguments
    #[arg(long, value_enum, default_value = "h5py")]
    pub format: H5Format,
    /// Columns x rows of a field of the dataset, or x planes of a volume; default: any
    #[arg(long, value_name = "NXxNY[xNZ]")]
    pub field: Option<Dims>,
    #[command(flatten)]
    pub depth: DepthArguments,
    /// Let --rel count even where outliers make the range, such as a fill value that nobody named
    #[arg(long)]
    pub allow_wide_range: bool,
    /// Columns x rows (x planes, or vertices along z of a volume) of a chunk, for programs with HDF5 linked statically
    #[arg(long, value_name = "NXxNY[xNZ]")]
    pub chunk: Option<Dims>,
    /// Type of the values in --chunk
    #[arg(long, value_parser = choice(&Dtype::NAMES, &[]), default_value = "f32", requires = "chunk")]
    pub dtype: Dtype,
    /// Order of the axes in --chunk
    #[arg(long, value_enum, default_value = "planes", requires = "chunk")]
    pub layout: ChunkLayout,
}
