//! The critical points as lists and pictures tell them apart: by type, and zeros at vertices and on edges by
//! index.

use factz::{CriticalPoint, Kind, Simplex, VolumeKind, VolumePoint, VolumeSimplex};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Saddle,
    AttractingNode,
    RepellingNode,
    AttractingFocus,
    RepellingFocus,
    Center,
    /// Foci that may be centres in truth.
    RoundingAttracting,
    RoundingRepelling,
    ZeroPlusOne,
    ZeroMinusOne,
    ZeroOther,
}

impl Class {
    pub const ALL: [Class; 11] = [
        Class::Saddle,
        Class::AttractingNode,
        Class::RepellingNode,
        Class::AttractingFocus,
        Class::RepellingFocus,
        Class::Center,
        Class::RoundingAttracting,
        Class::RoundingRepelling,
        Class::ZeroPlusOne,
        Class::ZeroMinusOne,
        Class::ZeroOther,
    ];

    pub fn of(point: &CriticalPoint) -> Class {
        match (point.kind, point.rounding_divergence, point.index) {
            (Kind::Saddle, ..) => Class::Saddle,
            (Kind::AttractingNode, ..) => Class::AttractingNode,
            (Kind::RepellingNode, ..) => Class::RepellingNode,
            (Kind::AttractingFocus, false, _) => Class::AttractingFocus,
            (Kind::RepellingFocus, false, _) => Class::RepellingFocus,
            (Kind::AttractingFocus, true, _) => Class::RoundingAttracting,
            (Kind::RepellingFocus, true, _) => Class::RoundingRepelling,
            (Kind::Center, ..) => Class::Center,
            (Kind::VertexZero | Kind::EdgeZero, _, Some(1)) => Class::ZeroPlusOne,
            (Kind::VertexZero | Kind::EdgeZero, _, Some(-1)) => Class::ZeroMinusOne,
            (Kind::VertexZero | Kind::EdgeZero, ..) => Class::ZeroOther,
        }
    }

    pub const fn label(self) -> &'static str {
        match self {
            Class::Saddle => "saddle",
            Class::AttractingNode => "attracting node",
            Class::RepellingNode => "repelling node",
            Class::AttractingFocus => "attracting focus",
            Class::RepellingFocus => "repelling focus",
            Class::Center => "centre",
            Class::RoundingAttracting => "centre (divergence at rounding level; attracting focus)",
            Class::RoundingRepelling => "centre (divergence at rounding level; repelling focus)",
            Class::ZeroPlusOne => "vertex or edge zero (index +1)",
            Class::ZeroMinusOne => "vertex or edge zero (index -1)",
            Class::ZeroOther => "vertex or edge zero (other index, or none at a border)",
        }
    }

    /// How many of some points belong to each class.
    pub fn counts<'a>(points: impl IntoIterator<Item = &'a CriticalPoint>) -> [(Class, usize); 11] {
        let mut counts = Class::ALL.map(|class| (class, 0));
        for point in points {
            counts[Class::of(point) as usize].1 += 1;
        }
        counts
    }
}

/// The critical points of volumes likewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeClass {
    /// Inside a tetrahedron.
    Inside(VolumeKind),
    ZeroPlusOne,
    ZeroMinusOne,
    ZeroOther,
}

impl VolumeClass {
    pub fn of(point: &VolumePoint) -> VolumeClass {
        match (point.kind, point.index) {
            (VolumeKind::VertexZero | VolumeKind::EdgeZero | VolumeKind::FaceZero, index) => match index {
                Some(1) => VolumeClass::ZeroPlusOne,
                Some(-1) => VolumeClass::ZeroMinusOne,
                _ => VolumeClass::ZeroOther,
            },
            (kind, _) => VolumeClass::Inside(kind),
        }
    }

    pub const fn label(self) -> &'static str {
        match self {
            VolumeClass::Inside(kind) => match kind {
                VolumeKind::RepellingNode => "repelling node",
                VolumeKind::RepellingNodeSaddle => "repelling node saddle",
                VolumeKind::AttractingNodeSaddle => "attracting node saddle",
                VolumeKind::AttractingNode => "attracting node",
                VolumeKind::RepellingFocus => "repelling focus",
                VolumeKind::RepellingFocusSaddle => "repelling focus saddle",
                VolumeKind::AttractingFocusSaddle => "attracting focus saddle",
                VolumeKind::AttractingFocus => "attracting focus",
                VolumeKind::RepellingCenter => "repelling centre",
                VolumeKind::AttractingCenter => "attracting centre",
                VolumeKind::VertexZero | VolumeKind::EdgeZero | VolumeKind::FaceZero => "zero",
            },
            VolumeClass::ZeroPlusOne => "vertex, edge or face zero (index +1)",
            VolumeClass::ZeroMinusOne => "vertex, edge or face zero (index -1)",
            VolumeClass::ZeroOther => "vertex, edge or face zero (other index, or none at a border)",
        }
    }
}

pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Saddle => "saddle",
        Kind::AttractingNode => "attracting_node",
        Kind::RepellingNode => "repelling_node",
        Kind::AttractingFocus => "attracting_focus",
        Kind::RepellingFocus => "repelling_focus",
        Kind::Center => "center",
        Kind::VertexZero => "vertex_zero",
        Kind::EdgeZero => "edge_zero",
    }
}

pub fn simplex_name(simplex: Simplex) -> &'static str {
    match simplex {
        Simplex::Lower => "lower",
        Simplex::Upper => "upper",
        Simplex::EdgeX => "edge_x",
        Simplex::EdgeY => "edge_y",
        Simplex::Diagonal => "diagonal",
        Simplex::Vertex => "vertex",
    }
}

pub fn volume_kind_name(kind: VolumeKind) -> &'static str {
    match kind {
        VolumeKind::RepellingNode => "repelling_node",
        VolumeKind::RepellingNodeSaddle => "repelling_node_saddle",
        VolumeKind::AttractingNodeSaddle => "attracting_node_saddle",
        VolumeKind::AttractingNode => "attracting_node",
        VolumeKind::RepellingFocus => "repelling_focus",
        VolumeKind::RepellingFocusSaddle => "repelling_focus_saddle",
        VolumeKind::AttractingFocusSaddle => "attracting_focus_saddle",
        VolumeKind::AttractingFocus => "attracting_focus",
        VolumeKind::RepellingCenter => "repelling_center",
        VolumeKind::AttractingCenter => "attracting_center",
        VolumeKind::VertexZero => "vertex_zero",
        VolumeKind::EdgeZero => "edge_zero",
        VolumeKind::FaceZero => "face_zero",
    }
}

/// The kind of a simplex of a volume, and the axes that its steps go along: face_x_yz.
pub fn volume_simplex_name(simplex: VolumeSimplex) -> String {
    let mut name = ["vertex", "edge", "face", "tetrahedron"][simplex.dimension()].to_owned();
    for step in simplex.corners().windows(2) {
        let axes = step[0] ^ step[1];
        name.push('_');
        name.extend(
            ["x", "y", "z"].iter().enumerate().filter(|(k, _)| axes >> k & 1 != 0).map(|(_, axis)| *axis),
        );
    }
    name
}

/// A saddle for unit tests.
#[cfg(test)]
pub fn saddle_at(cell_x: u64, cell_y: u64) -> CriticalPoint {
    CriticalPoint {
        cell_x,
        cell_y,
        cell_z: 0,
        simplex: Simplex::Lower,
        kind: Kind::Saddle,
        index: Some(-1),
        rounding_divergence: false,
        x: cell_x as f64 + 0.4,
        y: cell_y as f64 + 0.4,
        eigenvalues_real: [1.0, -1.0],
        eigenvalues_imaginary: [0.0; 2],
    }
}
