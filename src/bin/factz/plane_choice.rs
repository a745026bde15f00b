//! `--plane`: which plane of a stack or a volume to draw.

use crate::array::Dims;
use crate::failure::{failure, Failure};

/// Names of the axes.
pub const AXES: [&str; 3] = ["x", "y", "z"];

/// A plane of a stack or a volume, as `--plane` names it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlaneChoice {
    /// The axis that goes through the plane, if it is given: 0 is x.
    axis: Option<usize>,
    /// Counted from 0; negative: from the end, where -1 is the last plane.
    number: i64,
}

impl PlaneChoice {
    /// Planes of constant z, unless another axis is given.
    pub fn axis(&self) -> usize {
        self.axis.unwrap_or(2)
    }

    /// Refuses an axis other than z for planes; `volume` is what to give for a volume.
    pub fn refuse_for_planes(&self, volume: &str) -> Result<(), Failure> {
        match self.axis() {
            2 => Ok(()),
            _ => Err(failure!("--plane {self}: a stack has planes of constant z alone: give K, or {volume}")),
        }
    }

    /// The number among `count` planes.
    pub fn of(&self, count: u64, dims: Dims) -> Result<u64, Failure> {
        let PlaneChoice { axis, number } = *self;
        let from_start =
            if number < 0 { count.checked_sub(number.unsigned_abs()) } else { Some(number as u64) };
        from_start.filter(|&k| k < count).ok_or_else(|| {
            let named = |number: i64| PlaneChoice { axis, number };
            let [first, last, end] = [named(0), named(count as i64 - 1), named(-1)];
            failure!(
                "--plane {self}: the field has {dims} values: give {first} to {last}, or {end} for the last plane"
            )
        })
    }
}

impl std::fmt::Display for PlaneChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.axis {
            Some(axis) => write!(f, "{}:{}", AXES[axis], self.number),
            None => write!(f, "{}", self.number),
        }
    }
}

pub fn parse_plane_choice(text: &str) -> Result<PlaneChoice, String> {
    let (axis, number) = match text.split_once(':') {
        Some((axis, number)) => (Some(AXES.iter().position(|name| *name == axis)), number),
        None => (None, text),
    };
    match (axis, number.parse()) {
        (None, Ok(number)) => Ok(PlaneChoice { axis: None, number }),
        (Some(Some(axis)), Ok(number)) => Ok(PlaneChoice { axis: Some(axis), number }),
        _ => Err("give K, x:K, y:K or z:K: an axis, z by default, and a whole number: 0 is the first plane, -1 the \
                  last one"
            .into()),
    }
}
