//! Interval arithmetic in f64.

use std::ops::{Add, Mul, Sub};

/// Numbers within `radius` of `middle`. Every operation contains its exact results.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    pub(super) middle: f64,
    pub(super) radius: f64,
}

/// More than the relative error of a rounded operation.
const ROUNDING: f64 = 2.3e-16;
/// Covers the roundings of a radius.
const WIDER: f64 = 1.0 + 4.0 * ROUNDING;
/// More than what underflows in operations on numbers below 4, and far below what matters in them.
pub(super) const UNDERFLOW: f64 = 1e-290;

impl Interval {
    pub(super) fn new(middle: f64, radius: f64) -> Self {
        Interval { middle, radius: (radius + ROUNDING * middle.abs() + UNDERFLOW) * WIDER }
    }

    pub(super) fn exact(middle: f64) -> Self {
        Interval { middle, radius: 0.0 }
    }

    /// The certain sign of all its numbers; 0 if there is none.
    pub(super) fn sign(self) -> i32 {
        (self.middle > self.radius) as i32 - (self.middle < -self.radius) as i32
    }

    pub(super) fn times(self, factor: f64) -> Self {
        Interval::new(factor, 0.0) * self
    }

    pub(super) fn square(self) -> Self {
        if self.sign() != 0 {
            return self * self;
        }
        let most = (self.middle.abs() + self.radius) * WIDER;
        let half = most * most / 2.0 * WIDER;
        Interval::new(half, half)
    }
}

impl Add for Interval {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Interval::new(self.middle + other.middle, self.radius + other.radius)
    }
}

impl Sub for Interval {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Interval::new(self.middle - other.middle, self.radius + other.radius)
    }
}

impl Mul for Interval {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let (a, b) = (self.middle.abs(), other.middle.abs());
        let radius = a * other.radius + b * self.radius + self.radius * other.radius;
        Interval::new(self.middle * other.middle, radius * WIDER)
    }
}
