//! Marks of critical points: a shape and a colour for each type, or for what became of a point.

use factz::{CriticalPoint, Kind};
use std::collections::HashMap;

pub type Colour = [u8; 3];

const WHITE: Colour = [255, 255, 255];
const BLUE: Colour = [86, 180, 233];
const VERMILION: Colour = [225, 80, 0];
const YELLOW: Colour = [240, 228, 66];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Circle,
    Diamond,
    Square,
    TriangleUp,
    TriangleDown,
}

/// How a point is drawn, and its words in the legend. The colours are told apart by colour-blind readers as well,
/// and the shapes by all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    pub label: &'static str,
    pub shape: Shape,
    pub colour: Colour,
    /// Of the usual size.
    pub size: f64,
}

const fn mark(label: &'static str, shape: Shape, colour: Colour, size: f64) -> Mark {
    Mark { label, shape, colour, size }
}

impl Mark {
    pub fn of_kind(kind: Kind) -> Mark {
        match kind {
            Kind::Saddle => mark("saddle", Shape::Diamond, WHITE, 1.0),
            Kind::AttractingNode => mark("sink", Shape::TriangleDown, BLUE, 1.0),
            Kind::RepellingNode => mark("source", Shape::TriangleUp, VERMILION, 1.0),
            Kind::AttractingFocus => mark("spiral sink", Shape::Circle, BLUE, 1.0),
            Kind::RepellingFocus => mark("spiral source", Shape::Circle, VERMILION, 1.0),
            Kind::Center => mark("centre", Shape::Square, YELLOW, 1.0),
        }
    }
}

/// The lot of a critical point in another field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    Kept,
    Changed,
    Spurious,
    Lost,
}

impl Fate {
    /// In the order in which they are drawn: rare ones on top.
    pub const ALL: [Fate; 4] = [Fate::Kept, Fate::Changed, Fate::Spurious, Fate::Lost];

    pub fn mark(self) -> Mark {
        match self {
            Fate::Kept => mark("kept", Shape::Circle, WHITE, 0.7),
            Fate::Changed => mark("type changed", Shape::Square, BLUE, 1.0),
            Fate::Spurious => mark("spurious", Shape::TriangleUp, YELLOW, 1.0),
            Fate::Lost => mark("lost", Shape::Diamond, VERMILION, 1.15),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Fate::Changed => "changed",
            _ => self.mark().label,
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

/// What became of every point, by rows of cells and then by columns. A point is another one's successor if it is in
/// the same triangle.
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

    #[test]
    fn no_two_marks_are_alike() {
        let kinds = Kind::ALL.map(Mark::of_kind).to_vec();
        for marks in [kinds, Fate::ALL.map(Fate::mark).to_vec()] {
            for (k, a) in marks.iter().enumerate() {
                for b in &marks[..k] {
                    assert!((a.shape, a.colour) != (b.shape, b.colour), "{} and {}", a.label, b.label);
                }
            }
        }
    }
}
