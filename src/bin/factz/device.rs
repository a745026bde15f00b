//! A CUDA device that works on fields in memory.

use factz::analysis::{Comparison, CriticalPoint};
use factz::cuda::{host, staged};
use factz::grid::element::Real;
use factz::{Report, Request, Result};

pub use crate::bench_cuda::run as bench;

/// Its context is current until it is dropped.
pub struct Device {
    name: String,
    _device: host::Device,
}

/// Whether there is a device that this program can use.
pub fn is_there() -> bool {
    host::device_count().is_ok()
}

impl Device {
    pub fn open() -> Result<Device> {
        let device = host::Device::open(0)?;
        Ok(Device { name: device.name()?, _device: device })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn compress<T: Real>(&self, request: &Request, components: [&[T]; 2]) -> Result<(Report, Vec<u8>)> {
        staged::compress(request, components)
    }

    pub fn decompress<T: Real>(
        &self,
        request: &Request,
        stream: &[u8],
        components: [&mut [T]; 2],
    ) -> Result<Report> {
        staged::decompress(request, stream, components)
    }

    pub fn compare<T: Real>(
        &self,
        request: &Request,
        first: [&[T]; 2],
        other: [&[T]; 2],
        checks_bound: bool,
    ) -> Result<Comparison> {
        staged::compare(request, first, other, checks_bound)
    }

    pub fn critical_points<T: Real>(
        &self,
        request: &Request,
        components: [&[T]; 2],
    ) -> Result<Vec<CriticalPoint>> {
        staged::critical_points(request, components)
    }
}
