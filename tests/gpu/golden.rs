//! The golden streams, made on the device: byte for byte those of the CPU. With `FACTZ_GOLDEN_OUT` they are
//! written down, with a MANIFEST that tests/promises/golden.rs checks where there is no device.

#[path = "../support/golden.rs"]
mod cases;

use crate::device::memory::{Buffer, REPORT_BYTES};
use crate::device::queue::Queue;
use crate::device::{driver_version, Device};
use crate::expected::check_streams;
use crate::{text, Check};
use cases::{config, first_vertex, input, integer, manifest, path, sha256};
use factz::device::Workspace;
use factz::device::{compress_device, Buffers};
use factz::Real;
use factz::{Request, Status};
use serde_json::Value;
use std::fmt::Write;
use std::path::PathBuf;

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
    let stream_bytes = factz::max_stream_bytes(&request);
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
    let out = std::env::var_os("FACTZ_GOLDEN_OUT").map(|out| PathBuf::from(out).join("gpu"));
    let write = |name: &str, bytes: &[u8]| -> Check {
        let Some(folder) = &out else { return Ok(()) };
        let path = folder.join(name);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, bytes))
            .map_err(|e| format!("{}: {e}", path.display()))
    };
    let manifest = manifest();
    let mut list = String::from(
        "# The golden streams of tests/golden as a GPU made them (tests/gpu/golden.rs): SHA-256, bytes, name.\n",
    );
    let _ = writeln!(list, "device {}", device.name().map_err(text)?);
    let _ = writeln!(list, "driver {}", driver_version().map_err(text)?);
    for case in manifest["cases"].as_array().ok_or("the manifest lists no cases")? {
        let name = cases::text(case, "name");
        let stream = match cases::text(case, "dtype") {
            "f32" => compressed::<f32>(&manifest, case),
            _ => compressed::<f64>(&manifest, case),
        };
        let stream = stream.map_err(|e| format!("{name}: {e}"))?;
        let path = path(case);
        let golden = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        check_streams(&stream, &golden).map_err(|e| format!("{name}: {e}"))?;
        let _ = writeln!(list, "{} {} {name}", sha256(&stream), stream.len());
        write(&format!("{name}.fctz"), &stream)?;
    }
    write("MANIFEST", list.as_bytes())
}
