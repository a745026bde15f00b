//! Marks of critical points: a shape and a colour for each type, or for the fate of a point.

use crate::class::{Class, VolumeClass};
use crate::fate::Fate;
use factz::VolumeKind;

pub type Colour = [u8; 3];

const WHITE: Colour = [255, 255, 255];
const BLUE: Colour = [86, 180, 233];
const VERMILION: Colour = [225, 80, 0];
const YELLOW: Colour = [240, 228, 66];
const GREY: Colour = [190, 190, 190];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Circle,
    Diamond,
    Square,
    TriangleUp,
    TriangleDown,
    /// Wider than other marks and below them, so that each stays visible.
    Ring,
}

impl Shape {
    pub fn name(self) -> &'static str {
        match self {
            Shape::Circle => "circle",
            Shape::Diamond => "diamond",
            Shape::Square => "square",
            Shape::TriangleUp => "triangle up",
            Shape::TriangleDown => "triangle down",
            Shape::Ring => "ring",
        }
    }
}

/// How a point is drawn, and its words in the legend. The colours are told apart by colour-blind readers as
/// well, and the shapes by all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    pub label: &'static str,
    pub shape: Shape,
    pub colour: Colour,
    /// Of the usual size.
    pub size: f64,
    /// Rare marks are drawn before common ones are, where there is no room for all.
    pub rare: bool,
}

const fn common(label: &'static str, shape: Shape, colour: Colour, size: f64) -> Mark {
    Mark { label, shape, colour, size, rare: false }
}

const fn rare(label: &'static str, shape: Shape, colour: Colour, size: f64) -> Mark {
    Mark { rare: true, ..common(label, shape, colour, size) }
}

/// The marks of classes, in the order of the legend. A new class of points is a line of this table.
const CLASSES: [(Class, Mark); 11] = [
    of_type(Class::Saddle, Shape::Diamond, WHITE),
    of_type(Class::AttractingNode, Shape::TriangleDown, BLUE),
    of_type(Class::RepellingNode, Shape::TriangleUp, VERMILION),
    of_type(Class::AttractingFocus, Shape::Circle, BLUE),
    of_type(Class::RepellingFocus, Shape::Circle, VERMILION),
    of_type(Class::Center, Shape::Square, YELLOW),
    of_type(Class::RoundingAttracting, Shape::Square, BLUE),
    of_type(Class::RoundingRepelling, Shape::Square, VERMILION),
    of_type(Class::ZeroPlusOne, Shape::Circle, YELLOW),
    of_type(Class::ZeroMinusOne, Shape::Diamond, YELLOW),
    of_type(Class::ZeroOther, Shape::Circle, GREY),
];

const fn of_type(class: Class, shape: Shape, colour: Colour) -> (Class, Mark) {
    (class, common(class.label(), shape, colour, 1.0))
}

/// The marks of classes of volumes, in the order of the legend: what repels is red, what attracts blue.
pub const VOLUME_CLASSES: [(VolumeClass, Mark); 13] = [
    inside(VolumeKind::RepellingNodeSaddle, Shape::Diamond, VERMILION),
    inside(VolumeKind::AttractingNodeSaddle, Shape::Diamond, BLUE),
    inside(VolumeKind::RepellingFocusSaddle, Shape::Square, VERMILION),
    inside(VolumeKind::AttractingFocusSaddle, Shape::Square, BLUE),
    inside(VolumeKind::RepellingNode, Shape::TriangleUp, VERMILION),
    inside(VolumeKind::AttractingNode, Shape::TriangleDown, BLUE),
    inside(VolumeKind::RepellingFocus, Shape::Circle, VERMILION),
    inside(VolumeKind::AttractingFocus, Shape::Circle, BLUE),
    inside(VolumeKind::RepellingCenter, Shape::TriangleUp, YELLOW),
    inside(VolumeKind::AttractingCenter, Shape::TriangleDown, YELLOW),
    of_volume(VolumeClass::ZeroPlusOne, Shape::Circle, YELLOW),
    of_volume(VolumeClass::ZeroMinusOne, Shape::Diamond, YELLOW),
    of_volume(VolumeClass::ZeroOther, Shape::Circle, GREY),
];

const fn inside(kind: VolumeKind, shape: Shape, colour: Colour) -> (VolumeClass, Mark) {
    of_volume(VolumeClass::Inside(kind), shape, colour)
}

const fn of_volume(class: VolumeClass, shape: Shape, colour: Colour) -> (VolumeClass, Mark) {
    (class, common(class.label(), shape, colour, 1.0))
}

/// The marks of fates. A lost point and a spurious one are often close together:
/// the ring lies below the triangle and is wider.
const FATES: [(Fate, Mark); 4] = [
    (Fate::Kept, common("kept", Shape::Circle, WHITE, 0.7)),
    (Fate::Changed, rare("type or index changed", Shape::Square, BLUE, 1.0)),
    (Fate::Lost, rare("lost", Shape::Ring, VERMILION, 1.3)),
    (Fate::Spurious, rare("spurious", Shape::TriangleUp, YELLOW, 0.85)),
];

/// Width of the outline of a mark of that radius in pixels.
pub fn outline_width(radius: f64) -> f64 {
    (0.28 * radius).max(1.0)
}

impl Mark {
    /// Its radius in pixels where that of the usual size is given.
    pub fn radius(&self, usual: f64) -> f64 {
        // A ring goes around the outline of another mark.
        let outline = if self.shape == Shape::Ring { outline_width(usual) } else { 0.0 };
        self.size * usual + outline
    }

    pub fn of_class(class: Class) -> Mark {
        of(&CLASSES, class)
    }

    pub fn of_volume_class(class: VolumeClass) -> Mark {
        of(&VOLUME_CLASSES, class)
    }

    pub fn of_fate(fate: Fate) -> Mark {
        of(&FATES, fate)
    }
}

fn of<K: PartialEq>(table: &[(K, Mark)], key: K) -> Mark {
    table.iter().find(|(k, _)| *k == key).expect("a table has all marks").1
}

/// A mark at a place of the grid.
#[derive(Clone, Copy)]
pub struct Placed {
    pub x: f64,
    pub y: f64,
    pub mark: Mark,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_marks_are_alike() {
        let classes = Class::ALL.map(Mark::of_class).to_vec();
        let of_volumes = VOLUME_CLASSES.map(|(_, mark)| mark).to_vec();
        for marks in [classes, of_volumes, Fate::ALL.map(Mark::of_fate).to_vec()] {
            for (k, a) in marks.iter().enumerate() {
                for b in &marks[..k] {
                    assert!((a.shape, a.colour) != (b.shape, b.colour), "{} and {}", a.label, b.label);
                }
            }
        }
    }
}
