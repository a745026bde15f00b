//! The golden streams, made on the device: byte for byte those of the CPU. With `FACTZ_GOLDEN_OUT` they are
//! written down, with a MANIFEST that tests/promises/golden.rs checks where there is no device.

use crate::device::{driver_version, Device};
use crate::expected::check_streams;
use crate::fields::Placement;
use crate::memory::Bench;
use crate::support::fields::bytes_of;
use crate::support::golden::{config, first_vertex, input, integer, manifest, path, sha256, text, typed};
use crate::{ensure, Check};
use factz::grid::tiles::TILE;
use factz::Real;
use factz::{Request, Status};
use serde_json::Value;
use std::fmt::Write;
use std::path::PathBuf;

fn compressed<T: Real>(manifest: &Value, case: &Value) -> Check<Vec<u8>> {
    let [nx, ny] = ["nx", "ny"].map(|key| integer(&manifest["inputs"][text(case, "input")], key));
    let image = input::<T>(manifest, case).map(|values| bytes_of(&values)).concat();
    let request = Request::new(config(case, nx))?;
    let (whole, u_at) = (Placement::new(0, [nx, ny]), first_vertex(case, nx));
    let place = Placement { u_at, v_at: nx * ny + u_at, ..whole };
    // Each plane of a stack ends with tiles of its own.
    let c = request.config();
    let rows = ny.max(c.ny.next_multiple_of(TILE as u64) * c.nz);
    let bench = Bench::new([nx, rows], c.dtype)?;
    let capacity = factz::max_stream_bytes(&request) as usize;
    let (report, stream) = bench.compress(&request, &place, &image, capacity)?;
    ensure!(report.status == Status::Ok, "the compression ended with {:?}", report.status);
    Ok(stream)
}

pub fn golden_streams(device: &Device) -> Check {
    let out = std::env::var_os("FACTZ_GOLDEN_OUT").map(|out| PathBuf::from(out).join("gpu"));
    let write = |name: &str, bytes: &[u8]| -> Check {
        let Some(folder) = &out else { return Ok(()) };
        let path = folder.join(name);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, bytes))
            .map_err(|e| format!("{}: {e}", path.display()).into())
    };
    let manifest = manifest();
    let mut list = String::from(
        "# The golden streams of tests/golden as a GPU made them (tests/gpu/golden.rs): SHA-256, bytes, name.\n",
    );
    let _ = writeln!(list, "device {}", device.name()?);
    let _ = writeln!(list, "driver {}", driver_version()?);
    for case in manifest["cases"].as_array().ok_or("the manifest lists no cases")? {
        let name = text(case, "name");
        let stream =
            typed!(case, T => compressed::<T>(&manifest, case)).map_err(|e| format!("{name}: {e}"))?;
        let path = path(case);
        let golden = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        check_streams(&stream, &golden).map_err(|e| format!("{name}: {e}"))?;
        let _ = writeln!(list, "{} {} {name}", sha256(&stream), stream.len());
        write(&format!("{name}.fctz"), &stream)?;
    }
    write("MANIFEST", list.as_bytes())
}
