//! What becomes of critical points from one field to another.

use factz::CriticalPoint;
use std::collections::HashMap;

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

/// A triangle, or the point in it of one field and of the other.
pub struct Pairing {
    pub fate: Fate,
    pub before: Option<CriticalPoint>,
    pub after: Option<CriticalPoint>,
}

impl Pairing {
    /// The point to show: that of the first field, if it has one.
    pub fn point(&self) -> &CriticalPoint {
        self.before.as_ref().or(self.after.as_ref()).expect("a pairing has a point")
    }
}

/// The fate of every point, by rows of cells and then by columns. A point is another one's successor if it
/// is in the same triangle.
pub fn paired(before: &[CriticalPoint], after: &[CriticalPoint]) -> Vec<Pairing> {
    let place = |p: &CriticalPoint| (p.y_cell, p.x_cell, p.triangle);
    let mut new: HashMap<_, _> = after.iter().map(|p| (place(p), *p)).collect();
    let mut all: Vec<Pairing> = Vec::with_capacity(before.len());
    for p in before {
        let after = new.remove(&place(p));
        let fate = match after {
            None => Fate::Lost,
            Some(q) if q.kind == p.kind => Fate::Kept,
            Some(_) => Fate::Changed,
        };
        all.push(Pairing { fate, before: Some(*p), after });
    }
    all.extend(new.into_values().map(|p| Pairing { fate: Fate::Spurious, before: None, after: Some(p) }));
    all.sort_by_key(|pairing| place(pairing.point()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use factz::Kind;

    fn point(x_cell: u64, triangle: u32, kind: Kind) -> CriticalPoint {
        CriticalPoint { x_cell, y_cell: 7, triangle, kind, x: 0.0, y: 0.0 }
    }

    #[test]
    fn points_are_paired_by_their_triangles() {
        let before = [point(1, 0, Kind::Saddle), point(1, 1, Kind::Center), point(4, 0, Kind::Saddle)];
        let after = [point(0, 1, Kind::Saddle), point(1, 1, Kind::RepellingFocus), point(4, 0, Kind::Saddle)];
        let fates: Vec<Fate> = paired(&before, &after).iter().map(|p| p.fate).collect();
        assert_eq!(fates, [Fate::Spurious, Fate::Lost, Fate::Changed, Fate::Kept]);
    }
}
