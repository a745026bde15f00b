//! Output arrays in which every write beside the vertices is seen.

// Each test uses its part of it.
#![allow(dead_code)]

use factz::{decompress_region, Config, Error, Execution, Layout, Real, Report, Source, ViewMut};

pub const SENTINEL: u64 = 0x5a5a_a5a5_5a5a_a5a5;

/// An output array with gaps between elements and rows, and with guard zones around it.
pub struct Output<T> {
    values: Vec<T>,
    layout: Layout,
    nx: usize,
    ny: usize,
}

pub const GUARD: usize = 64;

impl<T: Real> Output<T> {
    pub fn new(nx: u64, ny: u64, stride: u64) -> Self {
        let pitch = nx * stride + 3;
        let n = GUARD + (pitch * ny) as usize + GUARD;
        let values = vec![T::from_bits64(SENTINEL); n];
        Output { values, layout: Layout { pitch, stride, plane: 0 }, nx: nx as usize, ny: ny as usize }
    }

    pub fn view(&mut self) -> ViewMut<'_, T> {
        ViewMut::strided(&mut self.values, GUARD, self.layout)
    }

    /// The bits of the vertices, or None if anything else was written to.
    pub fn bits(&self) -> Option<Vec<u64>> {
        let untouched = T::from_bits64(SENTINEL).to_bits64();
        let (pitch, stride) = (self.layout.pitch as usize, self.layout.stride as usize);
        let mut bits = Vec::with_capacity(self.nx * self.ny);
        for (k, value) in self.values.iter().enumerate() {
            let at = k.wrapping_sub(GUARD);
            let (x, y) = (at % pitch, at / pitch);
            if k >= GUARD && y < self.ny && x % stride == 0 && x / stride < self.nx {
                bits.push(value.to_bits64());
            } else if value.to_bits64() != untouched {
                return None;
            }
        }
        Some(bits)
    }
}

/// Decompresses a region of the size in a configuration into guarded arrays; the answer, and the bits of u and v.
pub fn region_as<T: Real>(
    config: &Config,
    source: Source<'_>,
    first: [u64; 2],
    threads: usize,
) -> (Result<Report, Error>, [Vec<u64>; 2]) {
    let mut u = Output::<T>::new(config.nx, config.ny, 2);
    let mut v = Output::<T>::new(config.nx, config.ny, 1);
    let execution = Execution { threads, progress: None };
    let result = decompress_region(config, source, [first[0], first[1], 0], u.view(), v.view(), execution);
    let bits = [u.bits().expect("gaps of u are unchanged"), v.bits().expect("gaps of v are unchanged")];
    (result, bits)
}
