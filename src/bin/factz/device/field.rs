//! Dense fields in device memory.

use super::memory::{bytes_of, bytes_of_mut, Buffer};
use factz::device::Buffers;
use factz::{Error, Layout, Real, Request, Result};

/// A dense field of N components in device memory, one component behind the other.
pub struct DeviceField<const N: usize = 2> {
    pub buffer: Buffer,
    component_bytes: u64,
}

impl<const N: usize> DeviceField<N> {
    /// Room for components that take as many bytes together.
    pub fn of_bytes(bytes: u64) -> Result<Self> {
        Ok(DeviceField { buffer: Buffer::new(size(bytes)?)?, component_bytes: bytes / N as u64 })
    }

    /// The field with these values.
    pub fn filled<T: Real>(self, components: [&[T]; N]) -> Result<Self> {
        self.check_lengths(components.map(size_of_val))?;
        self.write(0, components)?;
        Ok(self)
    }

    /// Copies all values to host memory.
    pub fn copy_to<T: Real>(&self, components: [&mut [T]; N]) -> Result<()> {
        self.check_lengths(components.each_ref().map(|c| size_of_val(&**c)))?;
        self.read(0, components)
    }

    fn check_lengths(&self, bytes: [usize; N]) -> Result<()> {
        match bytes.iter().all(|&n| n as u64 == self.component_bytes) {
            true => Ok(()),
            false => Err(Error::argument(format!(
                "the components have {bytes:?} bytes, the request is for {} each",
                self.component_bytes
            ))),
        }
    }

    /// Writes values of all components from the one with this number on.
    pub fn write<T: Real>(&self, first: u64, components: [&[T]; N]) -> Result<()> {
        for (k, values) in components.into_iter().enumerate() {
            self.buffer.write(self.offset(first, k, values)?, bytes_of(values))?;
        }
        Ok(())
    }

    /// Reads values of all components from the one with this number on.
    pub fn read<T: Real>(&self, first: u64, components: [&mut [T]; N]) -> Result<()> {
        for (k, values) in components.into_iter().enumerate() {
            let offset = self.offset(first, k, values)?;
            self.buffer.read_into(offset, bytes_of_mut(values))?;
        }
        Ok(())
    }

    /// Where values of a component lie from the one with this number on.
    fn offset<T: Real>(&self, first: u64, component: usize, values: &[T]) -> Result<usize> {
        let offset = first * T::BYTES as u64;
        if offset + size_of_val(values) as u64 > self.component_bytes {
            return Err(Error::argument(format!(
                "{} values from {first} on are more than a component of {} bytes has",
                values.len(),
                self.component_bytes
            )));
        }
        Ok((component as u64 * self.component_bytes + offset) as usize)
    }

    pub fn pointers(&self) -> [u64; N] {
        std::array::from_fn(|k| self.buffer.pointer() + k as u64 * self.component_bytes)
    }
}

impl DeviceField {
    /// Room for planes of the request, which have dense rows and planes and no halo.
    pub fn new(request: &Request) -> Result<DeviceField> {
        let c = request.config();
        let plane = if c.nz > 1 { c.nx * c.ny } else { 0 };
        let dense = Layout { pitch: c.nx, stride: 1, plane };
        if c.u != dense || c.v != dense || c.halo != 0 {
            return Err(Error::argument("a dense field without a halo is needed"));
        }
        DeviceField::of_bytes(request.field_bytes())
    }

    /// The memory of a call on the field.
    pub fn buffers(&self, stream: &Buffer, workspace: &Buffer, report: &Buffer) -> Buffers {
        let [u, v] = self.pointers();
        Buffers {
            u,
            v,
            stream: stream.pointer(),
            stream_bytes: stream.bytes() as u64,
            workspace: workspace.pointer(),
            workspace_bytes: workspace.bytes() as u64,
            report: report.pointer(),
        }
    }
}

pub fn size(bytes: u64) -> Result<usize> {
    usize::try_from(bytes)
        .map_err(|_| Error::argument(format!("{bytes} bytes are too many for this machine")))
}
