//! Fields into files: raw values, `.npy` and `.npz`, a file for each component or one for all.

use crate::array::{Dims, Element, Values};
use crate::failure::{is_dash, Failure};
use crate::npy;
use crate::output::Output;
use clap::ValueEnum;
use std::io::Write;
use std::path::Path;
use zip::write::SimpleFileOptions;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Little-endian values without a header; u and then v, of a volume then w, where all are in one file
    Raw,
    /// NumPy's .npy; an array of shape (2, NY, NX), (2, NZ, NY, NX) of a stack, or (3, NZ, NY, NX) of a volume, where
    /// all are in one file
    Npy,
    /// NumPy's .npz with the arrays u and v, of a volume also w, in one file
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

/// A component, with its name in an archive.
pub type Named<'a> = (&'static str, &'a Values);

/// Writes all that a stream holds into one file: components of the same type. The caller commits.
pub fn whole(path: &Path, format: Format, held: &[Named], dims: Dims) -> Result<Output, Failure> {
    let mut output = Output::create(path)?;
    let written = match format {
        Format::Npz => {
            // A pipe takes the lengths after the values.
            match output.can_seek() {
                true => archive(zip::ZipWriter::new(output.writer()), held, dims),
                false => archive(zip::ZipWriter::new_stream(output.writer()), held, dims),
            }
        }
        Format::Npy | Format::Raw => {
            if format == Format::Npy {
                let leading = if held.len() == 1 { vec![] } else { vec![held.len() as u64] };
                output.write(&npy::header(&[leading, dims.shape()].concat(), held[0].1.dtype()))?;
            }
            let writer = output.writer();
            held.iter().try_for_each(|(_, values)| write_values(writer, values))
        }
    };
    written.map_err(|e| output.cannot(e))?;
    Ok(output)
}

fn archive<W: Write + std::io::Seek>(
    mut zip: zip::ZipWriter<W>,
    held: &[Named],
    dims: Dims,
) -> std::io::Result<()> {
    let dtype = held[0].1.dtype();
    // As numpy.savez writes it; entries above 4 GiB say so beforehand.
    let options = SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Stored)
        .large_file(dims.count() * dtype.bytes() > u32::MAX as u64 - 1024);
    for (name, values) in held {
        zip.start_file(format!("{name}.npy"), options)?;
        zip.write_all(&npy::header(&dims.shape(), dtype))?;
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
