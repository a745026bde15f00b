//! The types of the critical points of a volume.

use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::tetrahedra::{Vectors, STEPS};
use crate::grid::volume_simplex::VolumeSimplex;
use crate::topology::exact_volume_type::{eigenvalue_signs, EigenvalueSigns};
use crate::topology::tetrahedron::VolumeRule;

/// The type of a critical point of a volume. Inside a tetrahedron it comes from the exact signs of the real parts of
/// the eigenvalues of the Jacobian: the number of negative ones, and 4 more if two are complex, is the number of the
/// type. A *focus* has two complex ones, a *node* none; along a direction with a negative one the field flows in.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VolumeKind {
    RepellingNode = 0,
    /// In along one direction, out along two.
    RepellingNodeSaddle = 1,
    /// In along two directions, out along one.
    AttractingNodeSaddle = 2,
    AttractingNode = 3,
    RepellingFocus = 4,
    /// In along one direction, out and around it.
    RepellingFocusSaddle = 5,
    /// In and around, out along one direction.
    AttractingFocusSaddle = 6,
    AttractingFocus = 7,
    /// Around it, with real parts of exactly 0, and out along one direction.
    RepellingCenter = 8,
    /// Around it, with real parts of exactly 0, and in along one direction.
    AttractingCenter = 9,
    /// An isolated zero at a vertex: its index tells more.
    VertexZero = 10,
    /// An isolated zero inside an edge.
    EdgeZero = 11,
    /// An isolated zero inside a face.
    FaceZero = 12,
}

impl VolumeKind {
    /// Number of kinds.
    pub const COUNT: usize = 13;
    /// All of them, by number.
    pub const ALL: [VolumeKind; VolumeKind::COUNT] = [
        VolumeKind::RepellingNode,
        VolumeKind::RepellingNodeSaddle,
        VolumeKind::AttractingNodeSaddle,
        VolumeKind::AttractingNode,
        VolumeKind::RepellingFocus,
        VolumeKind::RepellingFocusSaddle,
        VolumeKind::AttractingFocusSaddle,
        VolumeKind::AttractingFocus,
        VolumeKind::RepellingCenter,
        VolumeKind::AttractingCenter,
        VolumeKind::VertexZero,
        VolumeKind::EdgeZero,
        VolumeKind::FaceZero,
    ];

    /// The kind of an isolated zero on a simplex that is no tetrahedron.
    pub(super) fn of_zero(simplex: VolumeSimplex) -> Self {
        match simplex.dimension() {
            0 => VolumeKind::VertexZero,
            1 => VolumeKind::EdgeZero,
            _ => VolumeKind::FaceZero,
        }
    }

    /// The exact kind of the critical point in a tetrahedron, which has one.
    pub(super) fn of<T: Real>(p: &Vectors<T>, tetrahedron: usize, rule: &VolumeRule) -> Result<Self> {
        let EigenvalueSigns { negative, complex, imaginary } =
            eigenvalue_signs(p, STEPS[tetrahedron], rule.spacing)?;
        Ok(match (imaginary, negative) {
            (true, 0) => VolumeKind::RepellingCenter,
            (true, _) => VolumeKind::AttractingCenter,
            _ => VolumeKind::ALL[(negative + 4 * complex as u8) as usize],
        })
    }
}
