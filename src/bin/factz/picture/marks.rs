//! Marks of critical points: a shape and a colour for each type, or for what became of a point.

use crate::class::Class;
use crate::fate::Fate;

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

/// How a point is drawn, and its words in the legend. The colours are told apart by colour-blind readers as
/// well, and the shapes by all.
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
    pub fn of_class(class: Class) -> Mark {
        let (shape, colour) = match class {
            Class::Saddle => (Shape::Diamond, WHITE),
            Class::AttractingNode => (Shape::TriangleDown, BLUE),
            Class::RepellingNode => (Shape::TriangleUp, VERMILION),
            Class::AttractingFocus => (Shape::Circle, BLUE),
            Class::RepellingFocus => (Shape::Circle, VERMILION),
            Class::Center => (Shape::Square, YELLOW),
            Class::RoundingAttracting => (Shape::Square, BLUE),
            Class::RoundingRepelling => (Shape::Square, VERMILION),
            Class::ZeroPlusOne => (Shape::Circle, YELLOW),
            Class::ZeroMinusOne => (Shape::Diamond, YELLOW),
            Class::ZeroOther => (Shape::Circle, WHITE),
        };
        mark(class.label(), shape, colour, 1.0)
    }

    pub fn of_fate(fate: Fate) -> Mark {
        match fate {
            Fate::Kept => mark("kept", Shape::Circle, WHITE, 0.7),
            Fate::Changed => mark("type or index changed", Shape::Square, BLUE, 1.0),
            Fate::Spurious => mark("spurious", Shape::TriangleUp, YELLOW, 1.0),
            Fate::Lost => mark("lost", Shape::Diamond, VERMILION, 1.15),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_marks_are_alike() {
        let classes = Class::ALL.map(Mark::of_class).to_vec();
        for marks in [classes, Fate::ALL.map(Mark::of_fate).to_vec()] {
            for (k, a) in marks.iter().enumerate() {
                for b in &marks[..k] {
                    assert!((a.shape, a.colour) != (b.shape, b.colour), "{} and {}", a.label, b.label);
                }
            }
        }
    }
}
