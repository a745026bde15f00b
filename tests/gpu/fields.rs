//! Fields, and how they lie in memory.

use crate::support::fields::{dtype, Field};
use crate::POISON;
use factz::Real;
use factz::{BoundKind, Config};
use factz::{Extent, Layout, View, ViewMut};
use factz::{SIDES_ALL, SIDE_X_MAX, SIDE_X_MIN, SIDE_Y_MAX, SIDE_Y_MIN};

/// A smooth field with some noise, for scenarios that need more tiles than the small fields have.
pub fn synthetic(nx: u64, ny: u64) -> Field<f32> {
    let mut noise = noise(1, 0.5);
    Field::new(nx, ny, |x, y| {
        let (x, y) = (x as f32 * 0.021, y as f32 * 0.017);
        let u = x.sin() * y.cos() + 0.3 * (3.1 * y).sin() + 0.01 * noise();
        let v = -x.cos() * y.sin() + 0.3 * (2.7 * x).sin() + 0.01 * noise();
        [u, v].map(f64::from)
    })
}

/// Numbers of a range of 1 from `-below` on.
pub fn noise(mut state: u32, below: f32) -> impl FnMut() -> f32 {
    move || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        (state >> 8) as f32 / (1 << 24) as f32 - below
    }
}

/// How u and v lie in one allocation, and which part of a field is the owned block.
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    pub nx: u64,
    pub ny: u64,
    /// Ghost columns and rows around the block that exist in memory.
    pub margin: u64,
    pub u: Layout,
    pub v: Layout,
    /// Element of vertex (0, 0) of the owned block.
    pub u_at: u64,
    pub v_at: u64,
    /// Elements of the allocation.
    pub elements: u64,
    pub halo: u32,
    pub pin: u32,
    pub spacing: [f64; 2],
}

pub const VARIANTS: usize = 6;

impl Placement {
    pub fn new(variant: usize, [mut nx, mut ny]: [u64; 2]) -> Placement {
        let dense = |nx: u64| Layout { pitch: nx, stride: 1, plane: 0 };
        let (n, mut margin, mut halo, mut pin) = (nx * ny, 0, 0, 0);
        let (u, v, u_at, v_at, elements) = match variant {
            0 => (dense(nx), dense(nx), 0, n, 2 * n),
            1 => {
                let padded = Layout { pitch: nx + 5, stride: 1, plane: 0 };
                pin = SIDE_X_MAX | SIDE_Y_MAX;
                (padded, padded, 3, 3 + padded.pitch * ny, 2 * padded.pitch * ny + 3)
            }
            2 => {
                let both = Layout { pitch: 2 * nx, stride: 2, plane: 0 };
                (both, both, 0, 1, 2 * n)
            }
            3 => {
                let (u, v) = (
                    Layout { pitch: 3 * nx + 1, stride: 3, plane: 0 },
                    Layout { pitch: nx + 2, stride: 1, plane: 0 },
                );
                pin = SIDE_X_MIN;
                (u, v, 1, 1 + u.pitch * ny, 1 + (u.pitch + v.pitch) * ny)
            }
            // The field with its border as ghost vertices.
            _ if nx >= 3 && ny >= 3 => {
                let whole = dense(nx);
                let at = nx + 1;
                (nx, ny, margin) = (nx - 2, ny - 2, 1);
                (halo, pin) = match variant {
                    4 => (SIDES_ALL, SIDES_ALL),
                    _ => (SIDE_X_MIN | SIDE_Y_MIN, SIDE_X_MAX | SIDE_Y_MAX),
                };
                (whole, whole, at, n + at, 2 * n)
            }
            _ => return Placement::new(0, [nx, ny]),
        };
        // Every order of columns and rows.
        let spacing = [[1.0, 1.5], [1.0, -1.5], [-1.0, 1.5], [-1.0, -1.5]][variant % 4];
        Placement { nx, ny, margin, u, v, u_at, v_at, elements, halo, pin, spacing }
    }

    pub fn config<T: Real>(&self) -> Config {
        Config {
            dtype: dtype::<T>(),
            u: self.u,
            v: self.v,
            halo: self.halo,
            pin: self.pin,
            dx: self.spacing[0],
            dy: self.spacing[1],
            ..Config::new(self.nx, self.ny, BoundKind::Relative, 1e-2)
        }
    }

    /// The bytes of the allocation with a field in it.
    pub fn image<T: Real>(&self, field: &Field<f32>) -> Vec<u8> {
        let mut image = vec![POISON; self.elements as usize * T::BYTES];
        let margin = self.margin as i64;
        let places = [(self.u, self.u_at), (self.v, self.v_at)];
        for (values, (layout, at)) in field.components.iter().zip(places) {
            for y in -margin..self.ny as i64 + margin {
                for x in -margin..self.nx as i64 + margin {
                    let value = values[((y + margin) * field.nx as i64 + x + margin) as usize];
                    let k = at as i64 + y * layout.pitch as i64 + x * layout.stride as i64;
                    let bits = T::from_f64(value as f64).to_bits64().to_le_bytes();
                    image[k as usize * T::BYTES..][..T::BYTES].copy_from_slice(&bits[..T::BYTES]);
                }
            }
        }
        image
    }

    pub fn views<'a, T: Real>(&self, image: &'a [u8]) -> [View<'a, T>; 2] {
        assert!(image.len() == self.elements as usize * T::BYTES);
        [(self.u, self.u_at), (self.v, self.v_at)].map(|(layout, at)| {
            let extent = Extent { before: at, after: self.elements - at };
            // SAFETY: the placement lies inside the image, which is borrowed.
            unsafe { View::new(image.as_ptr().cast::<T>().wrapping_add(at as usize), layout, extent) }
        })
    }

    pub fn views_mut<'a, T: Real>(&self, image: &'a mut [u8]) -> [ViewMut<'a, T>; 2] {
        assert!(image.len() == self.elements as usize * T::BYTES);
        let first = image.as_mut_ptr().cast::<T>();
        [(self.u, self.u_at), (self.v, self.v_at)].map(|(layout, at)| {
            // SAFETY: as above; the vertices of u and v are distinct elements.
            let extent = Extent { before: at, after: self.elements - at };
            unsafe { ViewMut::new(first.wrapping_add(at as usize), layout, extent) }
        })
    }
}
