//! The arguments of `protect` and `apply`, with the text of `--help`.

use crate::options::*;
use crate::store::Format;
use clap::Args;
use factz::{Preserve, Ties};
use std::path::PathBuf;

/// Makes a fix for the reconstruction of a field by any compressor, which then keeps the critical points.
///
/// U0 V0 is the original, U1 V1 what another compressor (SZ3, zfp, bit rounding, ...) made of it, within the bound.
/// The fix is small: it refines the few vertices where a critical point would be lost, spurious or of another
/// type. `factz apply` takes it to U1 V1, and the result keeps what a stream of `factz compress` with the same
/// options keeps. Exactly one of --abs and --rel is required.
#[derive(Args)]
#[command(
    override_usage = "factz protect [OPTIONS] -o <FIX> <U0> <V0> <U1> <V1>\n       \
factz protect [OPTIONS] -o <FIX> <FIELD0> <FIELD1>\n       \
factz protect [OPTIONS] -o <FIX> <U0> <V0> <STREAM>\n       \
factz protect [OPTIONS] -o <FIX> <U0> <V0> <W0> <U1> <V1> <W1>\n       \
factz protect [OPTIONS] -o <FIX> <U0> <V0> <W0> <STREAM>",
    after_long_help = "\
The bound is that of the other compressor: a reconstruction that leaves it at any vertex with data is refused, and the \
error names the vertex and its values. --rel is a fraction of the range of the original. Zero vertices (land) become \
zero, and vertices with NaN, infinity or the fill value get the bits of the original.

The fix holds a checksum of the reconstruction and belongs to it bit for bit: decompress with the same program on the \
same kind of machine. A stream of factz (--preserve none) may take the place of U1 V1. Seconds and MB/s are those of \
the work in memory, without files; on a CUDA device they include the copies there and back.

The tetrahedra of volumes keep their critical points likewise. A volume is three arrays, or a .npy or .npz with all \
components; a stream of one may take the place of the reconstruction.

Exit status: 0 the fix is complete; 2 it is not, and an older FIX is unchanged.

Examples:
  factz protect u.f32 v.f32 u1.f32 v1.f32 -o wind.fix --dims 360x181 --north-first --abs 0.05
  factz apply wind.fix u1.f32 v1.f32 u2.f32 v2.f32
  factz verify u.f32 v.f32 u2.f32 v2.f32 --dims 360x181 --north-first --abs 0.05
  factz protect u.npy v.npy w.npy u1.npy v1.npy w1.npy -o flow3d.fix --abs 0.01
  factz protect uvw.npy uvw1.npz -o flow3d.fix --abs 0.01"
)]
pub struct Protect {
    /// Components of the original and of the reconstruction; a file with both components takes the place of two;
    /// three and three of a volume, or a file with all components in place of three; - is standard input
    #[arg(required = true, num_args = 1.., value_names = ["U0", "V0", "U1", "V1"])]
    pub files: Vec<PathBuf>,
    /// The fix to write; - is standard output
    #[arg(short, long, value_name = "FIX")]
    pub output: PathBuf,
    #[command(flatten)]
    pub shape: ShapeArguments,
    #[command(flatten)]
    pub step: StepArgument,
    #[command(flatten)]
    pub bound: BoundArguments,
    #[command(flatten)]
    pub fill: FillArguments,
    /// Promise besides the error bound
    #[arg(long, value_parser = choice(&Preserve::NAMES, &PRESERVED), default_value = "types")]
    pub preserve: Preserve,
    /// Promise for triangles whose zero lies on an edge or at a vertex
    #[arg(long, value_parser = choice(&Ties::NAMES, &TIES), default_value = "all")]
    pub ties: Ties,
    #[command(flatten)]
    pub spacing: SpacingArguments,
    #[command(flatten)]
    pub depth: DepthArguments,
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub talk: Talk,
}

/// Applies a fix to the reconstruction that it was made for.
///
/// U1 V1 is the reconstruction, U2 V2 the result, of a volume with W1 and W2: the same values but at the vertices that the fix names.
#[derive(Args)]
#[command(
    override_usage = "factz apply [OPTIONS] <FIX> <U1> <V1> <U2> <V2>\n       \
factz apply [OPTIONS] <FIX> <FIELD1> <FIELD2>\n       factz apply [OPTIONS] <FIX> <U1> <V1> <FIELD2>\n       \
factz apply [OPTIONS] <FIX> <U1> <V1> <W1> <U2> <V2> <W2>",
    after_long_help = "\
The fix contains shape and type. It is checked before anything is written, and so is the reconstruction: another one, \
of the same field even, is refused. The endings of U2 and V2 tell their format (--format overrules them) as in `factz \
decompress`; they may be U1 and V1, which are replaced then. `factz info FIX` shows what a fix says about itself.

Exit status: 0 the result is written; 2 it is not, and older files are unchanged.

Examples:
  factz apply wind.fix u1.f32 v1.f32 u2.f32 v2.f32
  factz apply flow.fix flow1.npz flow2.npz
  factz apply flow3d.fix u1.npy v1.npy w1.npy u2.npy v2.npy w2.npy
  factz apply flow3d.fix uvw1.npy uvw2.npy"
)]
pub struct Apply {
    /// The fix
    #[arg(value_name = "FIX")]
    pub fix: PathBuf,
    /// Components of the reconstruction, then files for those of the result; one file with both components takes
    /// the place of two; three and three of a volume
    #[arg(required = true, num_args = 2..=6, value_names = ["U1", "V1", "U2", "V2"])]
    pub files: Vec<PathBuf>,
    /// Format of the output files; default: by the endings of their names
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Names of u and v in a .npz, of a volume also of w, or of one array that holds all; default: u,v, and w
    /// of a volume
    #[arg(long, value_name = "U,V[,W]", value_parser = parse_keys)]
    pub keys: Option<Keys>,
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub talk: Talk,
}
