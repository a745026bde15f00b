//! The golden streams, made on the device: byte for byte those of the CPU. With `FACTZ_GOLDEN_OUT` they are
//! written down, with a MANIFEST that tests/golden.rs checks where there is no device.

#[path = "../support/golden.rs"]
mod cases;

use crate::device::memory::{Buffer, REPORT_BYTES};
use crate::device::queue::Queue;
use crate::device::{driver_version, Device};
use crate::expected::check_streams;
use crate::{text, Check, POISON};
use cases::{config, first_vertex, folder, input, integer, is_decoded_only, manifest, sha256, WRITTEN};
use factz::cpu;
use factz::cuda::workspace::Workspace;
use factz::cuda::{compress_device, decompress_device, inspect_device, Buffers};
use factz::grid::element::Real;
use factz::{Config, Request, Status};
use serde_json::Value;
use std::fmt::Write;
use std::path::PathBuf;

/// A `factz_info`.
const INFO_BYTES: usize = std::mem::size_of::<factz::capi::inspect::factz_info>();

fn upload<T: Real>(values: &[T]) -> Result<Buffer, String> {
    let bytes: Vec<u8> =
        values.iter().flat_map(|x| x.to_bits64().to_le_bytes().into_iter().take(T::BYTES)).collect();
    Buffer::from_bytes(&bytes).map_err(text)
}

fn compressed<T: Real>(manifest: &Value, case: &Value) -> Result<Vec<u8>, String> {
    let pitch = integer(&manifest["inputs"][cases::text(case, "input")], "nx");
    let [u, v] = input::<T>(manifest, case);
    let first = first_vertex(case, pitch) * T::BYTES as u64;
    let request = Request::new(config(case, pitch)).map_err(text)?;
    let (queue, u, v) = (Queue::new().map_err(text)?, upload(&u)?, upload(&v)?);
    let workspace_bytes = Workspace::compress(&request).map_err(text)?.bytes;
    let workspace = Buffer::new(workspace_bytes as usize).map_err(text)?;
    let stream_bytes = cpu::max_stream_bytes(&request);
    let stream = Buffer::new(stream_bytes as usize).map_err(text)?;
    let report = Buffer::new(REPORT_BYTES).map_err(text)?;
    let buffers = Buffers {
        u: u.pointer() + first,
        v: v.pointer() + first,
        stream: stream.pointer(),
        stream_bytes,
        workspace: workspace.pointer(),
        workspace_bytes,
        report: report.pointer(),
    };
    // SAFETY: the buffers live until the queue is synchronised.
    unsafe { compress_device(&request, &buffers, queue.stream()) }.map_err(text)?;
    queue.synchronize().map_err(text)?;
    let report = report.read_report().map_err(text)?;
    match report.status {
        Status::Ok => stream.read(0, report.stream_bytes as usize).map_err(text),
        status => Err(format!("the compression ended with {status:?}")),
    }
}

pub fn golden_streams(device: &Device) -> Check {
    WRITTEN.into_iter().try_for_each(|version| golden_streams_of(device, version))
}

fn golden_streams_of(device: &Device, version: u64) -> Check {
    let out =
        std::env::var_os("FACTZ_GOLDEN_OUT").map(|all| PathBuf::from(all).join(format!("gpu-v{version}")));
    let write = |name: &str, bytes: &[u8]| -> Check {
        let Some(folder) = &out else { return Ok(()) };
        let path = folder.join(name);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, bytes))
            .map_err(|e| format!("{}: {e}", path.display()))
    };
    let manifest = manifest(version);
    let mut list = format!(
        "# The golden streams of tests/golden/v{version} as a GPU made them (tests/gpu/golden.rs): SHA-256, bytes, \
         name.\n",
    );
    let _ = writeln!(list, "device {}", device.name().map_err(text)?);
    let _ = writeln!(list, "driver {}", driver_version().map_err(text)?);
    for case in manifest["cases"].as_array().ok_or("the manifest lists no cases")? {
        let name = cases::text(case, "name");
        if is_decoded_only(case) {
            continue;
        }
        let stream = match cases::text(case, "dtype") {
            "f32" => compressed::<f32>(&manifest, case),
            _ => compressed::<f64>(&manifest, case),
        };
        let stream = stream.map_err(|e| format!("{name}: {e}"))?;
        let path = folder(version).join(format!("{name}.fctz"));
        let golden = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        check_streams(&stream, &golden).map_err(|e| format!("{name}: {e}"))?;
        let _ = writeln!(list, "{} {} {name}", sha256(&stream), stream.len());
        write(&format!("{name}.fctz"), &stream)?;
    }
    write("MANIFEST", list.as_bytes())
}

/// Streams of version 1, and of version 2 with the Lorenzo predictor, which the host alone reads, are told by their
/// header and refused without touching u and v.
pub fn older_version(_: &Device) -> Check {
    let names = [
        (1, "example_f32"),
        (1, "stored_f32"),
        (1, "huffman_waves_block_coarse_f32"),
        (2, "lorenzo_waves_block_coarse_f32"),
    ];
    for (version, name) in names {
        let path = folder(version).join(format!("{name}.fctz"));
        let stream = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let host = cpu::inspect(&stream).map_err(text)?;
        let config = Config::new(host.nx, host.ny, host.bound_kind, host.bound);
        let request = Request::new(config).map_err(text)?;
        let component_bytes = 4 * (host.nx * host.ny) as usize;
        let workspace_bytes = Workspace::decompress(&request).map_err(text)?.bytes;
        let (queue, source) = (Queue::new().map_err(text)?, Buffer::from_bytes(&stream).map_err(text)?);
        let workspace = Buffer::new(workspace_bytes as usize).map_err(text)?;
        let components = [POISON; 2].map(|value| Buffer::from_bytes(&vec![value; component_bytes]));
        let [u, v] = components;
        let (u, v) = (u.map_err(text)?, v.map_err(text)?);
        let report = Buffer::new(REPORT_BYTES).map_err(text)?;
        let info = Buffer::new(INFO_BYTES).map_err(text)?;
        let buffers = Buffers {
            u: u.pointer(),
            v: v.pointer(),
            stream: source.pointer(),
            stream_bytes: stream.len() as u64,
            workspace: workspace.pointer(),
            workspace_bytes,
            report: report.pointer(),
        };
        // SAFETY: the buffers live until the queue is synchronised.
        unsafe {
            decompress_device(&request, &buffers, queue.stream()).map_err(text)?;
            inspect_device(source.pointer(), stream.len() as u64, info.pointer(), queue.stream())
                .map_err(text)?;
        }
        queue.synchronize().map_err(text)?;
        let status = report.read_report().map_err(text)?.status;
        if status != Status::UnsupportedVersion {
            return Err(format!("{name} of version {version}: {status:?}"));
        }
        // factz_info begins with the status and the version.
        let begin = info.read(0, 8).map_err(text)?;
        if begin != [0, 0, 0, 0, version as u8, 0, 0, 0] {
            return Err(format!("{name} of version {version}: its header is said to be {begin:?}"));
        }
        for component in [u, v] {
            if component.read(0, component_bytes).map_err(text)?.iter().any(|&b| b != POISON) {
                let what = "was refused after u or v were written to";
                return Err(format!("{name} of version {version} {what}"));
            }
        }
    }
    Ok(())
}
