//! Stands for the devices in a program without the feature `cuda`: there is none, and so nothing is done on it.

use crate::args::Bench;
use crate::bench::Subject;
use crate::failure::{failure, Failure};
use crate::Verdict;
use factz::analysis::{Comparison, CriticalPoint};
use factz::grid::element::Real;
use factz::{cuda, Report, Request, Result};

pub enum Device {}

pub fn is_there() -> bool {
    false
}

pub fn bench(_: &Bench, _: &str, _: Subject) -> std::result::Result<Verdict, Failure> {
    cuda::available().map_err(|e| failure!("--backend cuda: {e}"))?;
    unreachable!("there are no kernels")
}

impl Device {
    pub fn open() -> Result<Device> {
        cuda::available()?;
        unreachable!("there are no kernels")
    }

    pub fn name(&self) -> &str {
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
}
