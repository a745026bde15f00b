//! Fields into files: raw values, `.npy` and `.npz`, a file for each component or one for both.

use crate::array::{Dims, Element, Held, Values};
use crate::failure::{is_dash, Failure};
use crate::npy;
use crate::output::Output;
use clap::ValueEnum;
use std::io::Write;
use std::path::Path;
use zip::write::SimpleFileOptions;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Little-endian values without a header; u and then v where both are in one file
    Raw,
    /// NumPy's .npy; an array of shape (2, NY, NX), or (2, NZ, NY, NX) of a stack, where both are in one file
    Npy,
    /// NumPy's .npz with the arrays u and v in one file
    Npz,
}

impl Format {
    /// The format that the name of a file asks for.
    pub fn of(path: &Path) -> Format {
        let extension = path.extension().filter(|_| !is_dash(path)).map(|e| e.to_ascii_lowercase());
        match extension.as_ref().and_then(|e| e.to_str()) {
            Some("npy") => Format::Npy,
            Some("npz") => Format::Npz,
            _ => Format::Raw,
        }
    }
}

/// Writes one component. The caller commits.
pub fn component(path: &Path, format: Format, values: &Values, dims: Dims) -> Result<Output, Failure> {
    let mut output = Output::create(path)?;
    if format == Format::Npy {
        output.write(&npy::header(&dims.shape(), values.dtype()))?;
    }
    write_values(output.writer(), values).map_err(|e| output.cannot(e))?;
    Ok(output)
}

/// Writes all that a stream holds into one file. The caller commits.
pub fn whole(path: &Path, format: Format, held: &Held) -> Result<Output, Failure> {
    let mut output = Output::create(path)?;
    let written = match format {
        Format::Npz => {
            // A pipe takes the lengths after the values.
            match output.can_seek() {
                true => archive(zip::ZipWriter::new(output.writer()), held),
                false => archive(zip::ZipWriter::new_stream(output.writer()), held),
            }
        }
        Format::Npy | Format::Raw => {
            if format == Format::Npy {
                let components = held.components.iter().flatten().count() as u64;
                let leading = if components == 1 { vec![] } else { vec![components] };
                output.write(&npy::header(&[leading, held.dims.shape()].concat(), held.dtype))?;
            }
            let writer = output.writer();
            held.components.iter().flatten().try_for_each(|values| write_values(writer, values))
        }
    };
    written.map_err(|e| output.cannot(e))?;
    Ok(output)
}

fn archive<W: Write + std::io::Seek>(mut zip: zip::ZipWriter<W>, held: &Held) -> std::io::Result<()> {
    // As numpy.savez writes it; entries above 4 GiB say so beforehand.
    let options = SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Stored)
        .large_file(held.dims.count() * held.dtype.bytes() > u32::MAX as u64 - 1024);
    for (name, values) in ["u.npy", "v.npy"].into_iter().zip(&held.components) {
        let Some(values) = values else { continue };
        zip.start_file(name, options)?;
        zip.write_all(&npy::header(&held.dims.shape(), held.dtype))?;
        write_values(&mut zip, values)?;
    }
    zip.finish()?.flush()
}

fn write_values(writer: &mut impl Write, values: &Values) -> std::io::Result<()> {
    fn typed<T: Element>(writer: &mut impl Write, values: &[T]) -> std::io::Result<()> {
        let mut bytes = Vec::with_capacity(1 << 16);
        for chunk in values.chunks((1 << 16) / T::BYTES) {
            bytes.clear();
            for x in chunk {
                bytes.extend_from_slice(&x.to_bits64().to_le_bytes()[..T::BYTES]);
            }
            writer.write_all(&bytes)?;
        }
        Ok(())
    }
    match values {
        Values::F32(x) => typed(writer, x),
        Values::F64(x) => typed(writer, x),
    }
}
