//! The enumerations of the interface: their C constants, and the values of the crate by number.

use crate::request::{BoundKind, Coder, Dtype, Mode, Predictor, Preserve, Ties};

/// `dtype`: u and v are IEEE 754 binary32 (`float`).
pub const FACTZ_DTYPE_F32: i32 = 0;
/// `dtype`: u and v are IEEE 754 binary64 (`double`).
pub const FACTZ_DTYPE_F64: i32 = 1;

/// `bound_kind`: the bound is in the unit of the field.
pub const FACTZ_BOUND_ABSOLUTE: i32 = 0;
/// `bound_kind`: the bound is a fraction of max - min over the finite values of u and v together, those of
/// filled vertices excepted.
pub const FACTZ_BOUND_RELATIVE: i32 = 1;

/// `mode`: an analytic bound from the original data; one pass, fastest.
pub const FACTZ_MODE_BLOCK_WISE: i32 = 0;
/// `mode`: try the full bound, verify the triangles and back off; smallest streams.
pub const FACTZ_MODE_SPECULATIVE: i32 = 1;
/// `mode` of volumes: code without constraints, verify every tetrahedron, and repair the few that changed.
pub const FACTZ_MODE_REPAIR: i32 = 2;

/// `coder`: asymmetric numeral systems.
pub const FACTZ_CODER_ANS: i32 = 0;
/// `coder`: canonical Huffman codes.
pub const FACTZ_CODER_HUFFMAN: i32 = 1;

/// `predictor`: dyadic interpolation, coarse to fine.
pub const FACTZ_PREDICTOR_HIERARCHICAL: i32 = 0;
/// `predictor`: Lorenzo. Block-wise mode only (else FACTZ_ERROR_INVALID_CONFIG).
pub const FACTZ_PREDICTOR_LORENZO: i32 = 1;

/// `preserve`: nothing but the error bound.
pub const FACTZ_PRESERVE_NONE: i32 = 0;
/// `preserve`: every critical point stays in its triangle and none appears.
pub const FACTZ_PRESERVE_POINTS: i32 = 1;
/// `preserve`: as FACTZ_PRESERVE_POINTS, and every critical point keeps its type.
pub const FACTZ_PRESERVE_TYPES: i32 = 2;

/// `ties`: a triangle whose zero lies on an edge or at a vertex keeps the signs of its determinants and of
/// all its components, so that every rule that breaks ties gives the same answer. Isolated zeros at vertices
/// and on edges keep their places and indices.
pub const FACTZ_TIES_ALL: i32 = 0;
/// `ties`: the zeros of the piecewise linear field stay the same set of points. Zero vertices stay zero, no
/// other value becomes zero, and nothing else is kept of the triangles around them: FACTZ_MODE_SPECULATIVE
/// may change the index of an isolated zero at a vertex. Smaller streams of fields with such triangles, for
/// instance along coasts.
pub const FACTZ_TIES_ZEROS: i32 = 1;
/// `ties`: a triangle whose zero lies on an edge or at a vertex keeps its zero vertices and the answer of one
/// rule, the simulation of simplicity as FTK applies it. Streams are nearly as small as with
/// FACTZ_TIES_ZEROS. FACTZ_MODE_SPECULATIVE may change isolated zeros: vertices stay zero, but other zeros
/// may appear beside them, and the index may change; a zero on an edge may move to another edge of its
/// triangle. Volumes refuse this rule.
pub const FACTZ_TIES_SOS: i32 = 2;

/// Lists the numbers of an enumeration with their C names, in order, and asserts that they are the crate's.
macro_rules! numbers {
    ($list:ident: $kind:ident { $($name:ident = $value:ident),+ }) => {
        pub(super) const $list: [(&str, $kind); [$($name),+].len()] =
            [$((stringify!($name), $kind::$value)),+];
        const _: () = {
            $(assert!($name == $kind::$value as i32);)+
        };
    };
}

numbers!(DTYPES: Dtype { FACTZ_DTYPE_F32 = F32, FACTZ_DTYPE_F64 = F64 });
numbers!(BOUND_KINDS: BoundKind { FACTZ_BOUND_ABSOLUTE = Absolute, FACTZ_BOUND_RELATIVE = Relative });
numbers!(MODES: Mode {
    FACTZ_MODE_BLOCK_WISE = BlockWise,
    FACTZ_MODE_SPECULATIVE = Speculative,
    FACTZ_MODE_REPAIR = Repair
});
numbers!(CODERS: Coder { FACTZ_CODER_ANS = Ans, FACTZ_CODER_HUFFMAN = Huffman });
numbers!(PREDICTORS: Predictor {
    FACTZ_PREDICTOR_HIERARCHICAL = Hierarchical,
    FACTZ_PREDICTOR_LORENZO = Lorenzo
});
numbers!(PRESERVES: Preserve {
    FACTZ_PRESERVE_NONE = None,
    FACTZ_PRESERVE_POINTS = Points,
    FACTZ_PRESERVE_TYPES = Types
});
numbers!(TIES: Ties { FACTZ_TIES_ALL = All, FACTZ_TIES_ZEROS = Zeros, FACTZ_TIES_SOS = Sos });

pub(super) const NO_YES: [(&str, bool); 2] = [("no", false), ("yes", true)];
