//! Narrow fields: the time of no kernel may grow faster than the field. What a device writes and restores is compared with
//! the host's; times are printed, not judged, since other work on the device would change them.

use crate::device::memory::Buffer;
use crate::device::pipeline::Pipeline;
use crate::device::Device;
use crate::expected::{check_reports, check_streams};
use crate::{text, Check, NOT_RUN};
use factz::device::AnalysisWorkspace;
use factz::device::{critical_points_device, PointBuffers};
use factz::Execution;
use factz::{BoundKind, Config, Mode, Predictor, Request};
use factz::{View, ViewMut};
use std::collections::BTreeMap;

/// So many times as many vertices in each next field.
const STEP: u64 = 4;
const SIZES: [u64; 3] = [1_000_000, STEP * 1_000_000, STEP * STEP * 1_000_000];

/// Milliseconds by kernel.
type Times = BTreeMap<String, f64>;

pub fn narrow_fields(device: &Device) -> Check {
    let (free, _) = device.memory().map_err(text)?;
    if free < 8 << 30 {
        return Err(format!("{NOT_RUN}{} MB of the device are free", free >> 20));
    }
    // A column, a row, a column of two tiles of which the first is land, and two rows.
    let shapes: [fn(u64) -> [u64; 2]; 4] = [|n| [1, n], |n| [n, 1], |n| [40, n / 40], |n| [n / 2, 2]];
    for (mode, predictor) in [
        (Mode::BlockWise, Predictor::Hierarchical),
        (Mode::Speculative, Predictor::Hierarchical),
        (Mode::BlockWise, Predictor::Lorenzo),
    ] {
        for shape in shapes {
            let mut all = Vec::new();
            for vertices in SIZES {
                let [nx, ny] = shape(vertices);
                let config = Config { mode, predictor, ..Config::new(nx, ny, BoundKind::Relative, 1e-3) };
                let name = format!("{nx} x {ny}, {mode:?}, {predictor:?}");
                all.push(times(&config).map_err(|e| format!("{name}: {e}"))?);
                let total: f64 = all[all.len() - 1].values().sum();
                println!("  {name}: {total:.3} ms in all kernels");
            }
            // The slowest ones of the largest field.
            let mut kernels: Vec<(&String, &f64)> = all[all.len() - 1].iter().collect();
            kernels.sort_by(|a, b| b.1.total_cmp(a.1));
            for (kernel, last) in kernels.into_iter().take(5) {
                let times: Vec<f64> = all.iter().map(|t| t.get(kernel).copied().unwrap_or(0.0)).collect();
                println!("    {kernel}: {times:.4?} ms, {:.1} times for {STEP}", last / times[1]);
            }
        }
    }
    Ok(())
}

/// Water with land in between, all of the first column of tiles where there are more.
fn component(nx: u64, ny: u64, phase: f32) -> Vec<f32> {
    let value = |k: u64| {
        let (x, y) = (k % nx, k / nx);
        match (x / 32 + y / 32) % 5 == 3 || (nx > 32 && x < 32) {
            true => 0.0,
            false => 2.0 + (x as f32 * 0.013 + phase).sin() + 1.5 * (y as f32 * 0.017 - phase).cos(),
        }
    };
    (0..nx * ny).map(value).collect()
}

fn times(config: &Config) -> Result<Times, String> {
    let Config { nx, ny, .. } = *config;
    let request = Request::new(*config).map_err(text)?;
    let [u, v] = [0.3, 1.9].map(|phase| component(nx, ny, phase));
    let execution = Execution { threads: 0, progress: None };
    let mut stream = vec![0; factz::max_stream_bytes(&request) as usize];
    let report = factz::compress(&request, View::dense(&u, nx), View::dense(&v, nx), &mut stream, execution)
        .map_err(text)?;
    stream.truncate(report.stream_bytes as usize);
    let [mut host_u, mut host_v] = [(); 2].map(|()| vec![0f32; u.len()]);
    let views = (ViewMut::dense(&mut host_u, nx), ViewMut::dense(&mut host_v, nx));
    factz::decompress(config, &stream, views.0, views.1, execution).map_err(text)?;

    let pipeline = Pipeline::new(&request).map_err(text)?;
    pipeline.write_input(&u, &v).map_err(text)?;
    // Twice: what is first also loads the kernels.
    let mut times = Times::new();
    for _ in 0..2 {
        pipeline.spoil_output().map_err(text)?;
        let compressed = pipeline.profile_compress().map_err(text)?;
        check_reports(&pipeline.compressed().map_err(text)?, &report)?;
        check_streams(&pipeline.read_stream().map_err(text)?, &stream)?;
        times = compressed.into_iter().chain(pipeline.profile_decompress().map_err(text)?).collect();
    }
    // And all kernels beside each other, as calls have them.
    pipeline.spoil_output().and(pipeline.compress()).and(pipeline.decompress()).map_err(text)?;
    check_streams(&pipeline.read_stream().map_err(text)?, &stream)?;
    let [mut device_u, mut device_v] = [(); 2].map(|()| vec![0f32; u.len()]);
    pipeline.read_output(&mut device_u, &mut device_v).map_err(text)?;
    for (name, device, host) in [("u", device_u, host_u), ("v", device_v, host_v)] {
        if let Some(k) = (0..host.len()).find(|&k| device[k].to_bits() != host[k].to_bits()) {
            return Err(format!("{name}, vertex {k}: device {:e} host {:e}", device[k], host[k]));
        }
    }
    let compare = || pipeline.compare(report.bound);
    times.insert("compare".into(), pipeline.queue().time(compare).map_err(text)?);
    times.insert("critical points".into(), time_of_points(&request, &pipeline, &u, &v)?);
    Ok(times)
}

fn time_of_points(request: &Request, pipeline: &Pipeline, u: &[f32], v: &[f32]) -> Result<f64, String> {
    let buffer = |bytes: usize| Buffer::new(bytes.max(256)).map_err(text);
    let fields = [u, v].map(|values| -> Result<Buffer, String> {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let field = buffer(bytes.len())?;
        field.write(0, &bytes).map_err(text)?;
        Ok(field)
    });
    let [u, v] = fields;
    let (u, v, count) = (u?, v?, buffer(8)?);
    let bytes = AnalysisWorkspace::critical_points(request).map_err(text)?.bytes;
    let (workspace, capacity) = (buffer(bytes as usize)?, 1 << 20);
    let points = buffer(40 * capacity as usize)?;
    let buffers = PointBuffers {
        u: u.pointer(),
        v: v.pointer(),
        points: points.pointer(),
        capacity,
        count: count.pointer(),
        workspace: workspace.pointer(),
        workspace_bytes: bytes,
    };
    let queue = pipeline.queue();
    // SAFETY: the buffers live until the time is known.
    queue.time(|| unsafe { critical_points_device(request, &buffers, queue.stream()) }).map_err(text)
}
