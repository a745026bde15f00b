//! The values of an array as they arrive from a file or a pipe.

use crate::array::{Dims, Element};
use crate::failure::{failure, Failure};
use crate::memory;
use crate::npy::Arrangement;
use crate::source::Source;
use factz::Real;
use std::io::Read;
use std::path::PathBuf;

/// The values of an array as they arrive.
pub struct Intake<T> {
    pub name: String,
    pub dims: Dims,
    pub big_endian: bool,
    pub arrangement: Arrangement,
    /// Advice where a fix or a stream tells the shape and the type.
    pub told: Option<String>,
    /// Whether an option or a file tells the type; otherwise it is f32.
    pub has_type: bool,
    /// Whether the components are those of a volume.
    pub of_volume: bool,
    /// The values by component.
    pub values: Vec<Vec<T>>,
}

impl<T: Element> Intake<T> {
    pub fn components(&self) -> u64 {
        self.values.len() as u64
    }

    pub fn expected_bytes(&self) -> u64 {
        self.components() * self.dims.count() * T::BYTES as u64
    }

    /// Reads all values of a file or pipe, which must end with them.
    pub fn read_source(
        &mut self,
        mut source: Source,
        raw: Option<(PathBuf, Option<String>)>,
    ) -> Result<(), Failure> {
        let (expected, left) = (self.expected_bytes(), source.left());
        if left != Some(expected) {
            if let Some((_, Some(foreign))) = &raw {
                return Err(failure!("{}: {foreign}", self.name));
            }
        }
        match left {
            Some(bytes) if bytes == expected => self.reserve(self.dims.count())?,
            Some(bytes) => {
                let start = source.peek(4)?;
                return Err(self.wrong_length(bytes, start));
            }
            // It never ends.
            None if source.is_device() => self.reserve(self.dims.count())?,
            None => {}
        }
        let bytes = self.fill(&mut source)?;
        if bytes < expected {
            return Err(self.wrong_length(bytes, &[]));
        }
        if source.goes_on()? {
            return Err(failure!(
                "{}: goes on behind the {expected} bytes that {} of {} take: {}, or cut it there with `head -c \
                 {expected}` in the pipe",
                self.name,
                self.what(),
                T::DTYPE.name(),
                self.advice()
            ));
        }
        match &raw {
            Some((path, _)) => self.refuse_big_endian(path).and_then(|()| self.refuse_f64()),
            None => Ok(()),
        }
    }

    /// Reads values until all are there; returns the number of bytes.
    pub fn fill(&mut self, reader: &mut impl Read) -> Result<u64, Failure> {
        let interleaved = self.arrangement == Arrangement::Interleaved;
        let unit = if interleaved { self.values.len() * T::BYTES } else { T::BYTES };
        let mut reader = reader.take(self.expected_bytes());
        let mut chunk = vec![0u8; 1 << 18];
        let (mut bytes, mut held) = (0, 0);
        loop {
            let n = match reader.read(&mut chunk[held..]) {
                Ok(0) => return Ok(bytes),
                Ok(n) => n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(failure!("{}: cannot be read: {e}", self.name)),
            };
            bytes += n as u64;
            held += n;
            let whole = held - held % unit;
            self.take(&chunk[..whole])?;
            chunk.copy_within(whole..held, 0);
            held -= whole;
        }
    }

    /// Appends whole values.
    fn take(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let value = match self.big_endian {
            true => from_be::<T>,
            false => from_le::<T>,
        };
        if self.arrangement == Arrangement::Interleaved {
            let unit = self.values.len() * T::BYTES;
            (0..self.values.len()).try_for_each(|k| self.grow(k, bytes.len() / unit))?;
            for vertex in bytes.chunks_exact(unit) {
                let components = vertex.chunks_exact(T::BYTES).map(value);
                self.values.iter_mut().zip(components).for_each(|(values, x)| values.push(x));
            }
            return Ok(());
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let (k, room) = self.next_run();
            let room = usize::try_from(room).unwrap_or(usize::MAX).saturating_mul(T::BYTES);
            let (run, behind) = rest.split_at(rest.len().min(room));
            self.grow(k, run.len() / T::BYTES)?;
            self.values[k].extend(run.chunks_exact(T::BYTES).map(value));
            rest = behind;
        }
        Ok(())
    }

    /// The component of the next value, and how many of its values follow before those of another one.
    fn next_run(&self) -> (usize, u64) {
        let run = match self.arrangement {
            Arrangement::Paired => self.dims.count() / self.dims.nz,
            _ => self.dims.count(),
        };
        let all: u64 = self.values.iter().map(|values| values.len() as u64).sum();
        ((all / run % self.components()) as usize, run - all % run)
    }

    /// A file may be shorter than the shape says, and the length of a pipe is not known: memory is asked for
    /// as the values arrive.
    fn grow(&mut self, component: usize, more: usize) -> Result<(), Failure> {
        let done = self.values[component].try_reserve(more);
        done.map_err(|_| failure!("{}: not enough memory for {} values", self.name, self.dims))
    }

    fn reserve(&mut self, count: u64) -> Result<(), Failure> {
        for values in &mut self.values {
            memory::reserve(values, count, format_args!("{} values", self.dims))
                .map_err(|e| e.about(&self.name))?;
        }
        Ok(())
    }

    pub fn what(&self) -> String {
        match self.components() {
            1 => format!("{} values", self.dims),
            3 => format!("u, v and w of {} values each", self.dims),
            _ => format!("u and v of {} values each", self.dims),
        }
    }
}

fn from_le<T: Real>(bytes: &[u8]) -> T {
    let mut word = [0u8; 8];
    word[..T::BYTES].copy_from_slice(bytes);
    T::from_bits64(u64::from_le_bytes(word))
}

fn from_be<T: Real>(bytes: &[u8]) -> T {
    let mut word = [0u8; 8];
    word[8 - T::BYTES..].copy_from_slice(bytes);
    T::from_bits64(u64::from_be_bytes(word))
}
