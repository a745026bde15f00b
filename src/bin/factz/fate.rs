//! What becomes of critical points from one field to another.

use factz::{CriticalPoint, Simplex, VolumePoint, VolumeSimplex};
use std::collections::HashMap;
use std::hash::Hash;

/// What became of a critical point in another field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    Kept,
    Changed,
    Spurious,
    Lost,
}

impl Fate {
    /// In the order of legends.
    pub const ALL: [Fate; 4] = [Fate::Kept, Fate::Changed, Fate::Lost, Fate::Spurious];

    pub fn name(self) -> &'static str {
        match self {
            Fate::Kept => "kept",
            Fate::Changed => "changed",
            Fate::Spurious => "spurious",
            Fate::Lost => "lost",
        }
    }
}

/// A critical point of a plane or of a volume.
pub trait Point: Copy {
    /// A cell, slowest axis first, and a simplex of it.
    type Simplex: Ord + Hash;
    fn simplex(&self) -> Self::Simplex;
    /// The number of its type, and its index.
    fn kind(&self) -> (u32, Option<i32>);
    /// To the right and upwards in a picture.
    fn position(&self) -> [f64; 2];
}

macro_rules! point {
    ($point:ty, $simplex:ty) => {
        impl Point for $point {
            type Simplex = ([u64; 3], $simplex);
            fn simplex(&self) -> Self::Simplex {
                ([self.cell_z, self.cell_y, self.cell_x], self.simplex)
            }
            fn kind(&self) -> (u32, Option<i32>) {
                (self.kind as u32, self.index)
            }
            fn position(&self) -> [f64; 2] {
                [self.x, self.y]
            }
        }
    };
}
point!(CriticalPoint, Simplex);
point!(VolumePoint, VolumeSimplex);

/// A simplex, with the point in it of one field and of the other.
pub struct Pairing<P = CriticalPoint> {
    pub fate: Fate,
    pub before: Option<P>,
    pub after: Option<P>,
}

impl<P> Pairing<P> {
    /// The point to show: that of the first field, if it has one.
    pub fn point(&self) -> &P {
        self.before.as_ref().or(self.after.as_ref()).expect("a pairing has a point")
    }
}

/// The fate of every point, in the order of the lists. A point is another one's successor if it is in the
/// same simplex.
pub fn paired<P: Point>(before: &[P], after: &[P]) -> Vec<Pairing<P>> {
    let mut new: HashMap<_, _> = after.iter().map(|p| (p.simplex(), *p)).collect();
    let mut all: Vec<Pairing<P>> = Vec::with_capacity(before.len());
    for p in before {
        let after = new.remove(&p.simplex());
        let fate = match after {
            None => Fate::Lost,
            Some(q) if q.kind() == p.kind() => Fate::Kept,
            Some(_) => Fate::Changed,
        };
        all.push(Pairing { fate, before: Some(*p), after });
    }
    all.extend(new.into_values().map(|p| Pairing { fate: Fate::Spurious, before: None, after: Some(p) }));
    all.sort_by_key(|pairing| pairing.point().simplex());
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::saddle_at;
    use factz::{Kind, Simplex};

    fn point(cell_x: u64, simplex: Simplex, kind: Kind, index: i32) -> CriticalPoint {
        CriticalPoint { simplex, kind, index: Some(index), ..saddle_at(cell_x, 7) }
    }

    #[test]
    fn points_are_paired_by_their_simplices() {
        use {Kind::*, Simplex::*};
        let before = [
            point(1, Lower, Saddle, -1),
            point(1, Upper, Center, 1),
            point(4, Lower, Saddle, -1),
            point(4, Vertex, VertexZero, 1),
            point(5, EdgeY, EdgeZero, 1),
        ];
        let after = [
            point(0, Upper, Saddle, -1),
            point(1, Upper, RepellingFocus, 1),
            point(4, Lower, Saddle, -1),
            point(4, Vertex, VertexZero, -1),
            point(5, EdgeX, EdgeZero, 1),
        ];
        let fates: Vec<Fate> = paired(&before, &after).iter().map(|p| p.fate).collect();
        use Fate::*;
        assert_eq!(fates, [Spurious, Lost, Changed, Kept, Changed, Spurious, Lost]);
    }
}
