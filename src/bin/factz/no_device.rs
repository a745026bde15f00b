//! Stands for the devices in a program without the feature `cuda`: there is none, and so nothing is done on
//! it.

use factz::{
    device as cuda, Comparison, CriticalPoint, FixReport, Real, Report, Request, Result, VolumeRequest,
};

pub enum Device {}

impl Device {
    pub fn open() -> Result<Device> {
        cuda::available()?;
        unreachable!("there are no kernels")
    }

    pub fn name(&self) -> Result<String> {
        match *self {}
    }

    pub fn compress<T: Real>(&self, _: &Request, _: [&[T]; 2]) -> Result<(Report, Vec<u8>)> {
        match *self {}
    }

    pub fn decompress<T: Real>(&self, _: &Request, _: &[u8], _: [&mut [T]; 2]) -> Result<Report> {
        match *self {}
    }

    pub fn compare<T: Real>(&self, _: &Request, _: [&[T]; 2], _: [&[T]; 2], _: bool) -> Result<Comparison> {
        match *self {}
    }

    pub fn critical_points<T: Real>(&self, _: &Request, _: [&[T]; 2]) -> Result<Vec<CriticalPoint>> {
        match *self {}
    }

    pub fn compress_volume<T: Real>(&self, _: &VolumeRequest, _: [&[T]; 3]) -> Result<(Report, Vec<u8>)> {
        match *self {}
    }

    pub fn decompress_volume<T: Real>(
        &self,
        _: &VolumeRequest,
        _: &[u8],
        _: &mut [Vec<T>; 3],
    ) -> Result<Report> {
        match *self {}
    }

    pub fn protect<T: Real>(&self, _: &Request, _: [&[T]; 2], _: [&[T]; 2]) -> Result<(FixReport, Vec<u8>)> {
        match *self {}
    }

    pub fn protect_volume<T: Real>(
        &self,
        _: &VolumeRequest,
        _: [&[T]; 3],
        _: [&[T]; 3],
    ) -> Result<(FixReport, Vec<u8>)> {
        match *self {}
    }

    pub fn apply<T: Real>(&self, _: &Request, _: &[u8], _: [&mut [T]; 2]) -> Result<FixReport> {
        match *self {}
    }

    pub fn apply_volume<T: Real>(&self, _: &VolumeRequest, _: &[u8], _: [&mut [T]; 3]) -> Result<FixReport> {
        match *self {}
    }
}
