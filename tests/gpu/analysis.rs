//! The analysis on the device against the host's: the same counts, the same points, the same bits.

use crate::device::memory::Buffer;
use crate::device::queue::Queue;
use crate::device::Device;
use crate::expected::execution;
use crate::fields::{synthetic, Placement, Source, VARIANTS};
use crate::memory::{poisons, Guarded};
use crate::scenarios::small_case;
use crate::{text, Check, Tally, POISON};
use factz::device::AnalysisWorkspace;
use factz::device::{
    compare_device, critical_points_device, inspect_device, prepare_device, range_device, ComparedFields,
    PointBuffers, RangeBuffers,
};
use factz::stream::header::HEADER_BYTES;
use factz::Real;
use factz::{BoundKind, Config, Dtype, Error, Request};
use factz::{Comparison, CriticalPoint, ValueRange};
use factz::{SIDE_X_MAX, SIDE_X_MIN, SIDE_Y_MAX, SIDE_Y_MIN};

/// How the other field differs from the first.
const CHANGES: usize = 4;
/// Checks of one field, both element types.
pub const CHECKS: usize = 2 * VARIANTS * 3;

const COMPARISON_BYTES: usize = 256;
const POINT_BYTES: usize = 40;
const RANGE_BYTES: usize = 64;

/// A source, changed in some way.
fn changed(source: &Source, change: usize) -> Source {
    let mut state = 99u32;
    let mut random = || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    let mut alter = |value: f32| match change {
        1 => value * (1.0 + 0.1 * (random() - 0.5)),
        2 if random() < 0.1 => -value,
        3 => match random() {
            r if r < 0.02 => f32::NAN,
            r if r < 0.05 => 0.0,
            r if r < 0.2 => value + 0.01,
            _ => value,
        },
        _ => value,
    };
    let [u, v] = [&source.u, &source.v].map(|values| values.iter().map(|&x| alter(x)).collect());
    Source { name: String::new(), nx: source.nx, ny: source.ny, u, v }
}

/// The device memory of one analysis after another.
struct Bench {
    queue: Queue,
    fields: [Guarded; 2],
    workspace: Guarded,
    result: Guarded,
    points: Guarded,
}

impl Bench {
    fn new(source: &Source, dtype: Dtype) -> Result<Self, Error> {
        let config = Config { dtype, ..Config::new(source.nx, source.ny, BoundKind::Relative, 0.0) };
        let field_bytes = ((4 * source.nx + 8) * source.ny + 8) * dtype.bytes();
        let points = 2 * (source.nx * source.ny) as usize;
        Ok(Bench {
            queue: Queue::new()?,
            fields: [Guarded::new(field_bytes as usize)?, Guarded::new(field_bytes as usize)?],
            workspace: Guarded::new(AnalysisWorkspace::bytes(&Request::new(config)?)? as usize)?,
            result: Guarded::new(COMPARISON_BYTES)?,
            points: Guarded::new(points * POINT_BYTES)?,
        })
    }

    fn fill(&self, images: [&[u8]; 2], workspace_bytes: u64) -> Check {
        for (field, image) in self.fields.iter().zip(images) {
            field.write(image).and(field.arm(image.len())).map_err(text)?;
        }
        for buffer in [&self.result, &self.points] {
            buffer.buffer.fill(POISON).map_err(text)?;
        }
        self.result.arm(COMPARISON_BYTES).map_err(text)?;
        if poisons() {
            self.workspace.buffer.fill(POISON).map_err(text)?;
        }
        self.workspace.arm(workspace_bytes as usize).map_err(text)
    }

    /// Whether all but the results are as they were.
    fn check(&self, images: [&[u8]; 2], workspace_bytes: u64) -> Check {
        for (field, image) in self.fields.iter().zip(images) {
            field.check("a field", image.len())?;
            if field.read(image.len()).map_err(text)? != image {
                return Err("an input was changed".into());
            }
        }
        self.workspace.check("workspace", workspace_bytes as usize)
    }

    fn compared(
        &self,
        requests: &[Request; 2],
        fields: [[u64; 2]; 2],
        workspace_bytes: u64,
    ) -> ComparedFields {
        assert!(AnalysisWorkspace::compare(&requests[0]).is_ok_and(|w| w.bytes == workspace_bytes));
        ComparedFields {
            first: fields[0],
            other: fields[1],
            checks_bound: true,
            workspace: self.workspace.pointer(),
            workspace_bytes,
            comparison: self.result.pointer(),
        }
    }

    fn pointers(&self, field: usize, place: &Placement, dtype: Dtype) -> [u64; 2] {
        [place.u_at, place.v_at].map(|at| self.fields[field].pointer() + at * dtype.bytes())
    }
}

/// Undefined ratios have no number, whatever the reason.
fn check_comparisons(device: &Comparison, host: &Comparison) -> Check {
    let host = Comparison { psnr: host.psnr.filter(|p| !p.is_nan()), ..*host };
    let bits = |c: &Comparison| (c.max_error.to_bits(), c.psnr.map(f64::to_bits));
    match *device == host && bits(device) == bits(&host) {
        true => Ok(()),
        false => Err(format!("comparisons differ:\n    device {device:?}\n    host   {host:?}")),
    }
}

fn check_points(device: &[CriticalPoint], host: &[CriticalPoint]) -> Check {
    if device.len() != host.len() {
        return Err(format!("{} points, the host finds {}", device.len(), host.len()));
    }
    let bits = |p: &CriticalPoint| (p.x.to_bits(), p.y.to_bits());
    match device.iter().zip(host).find(|(a, b)| a != b || bits(a) != bits(b)) {
        None => Ok(()),
        Some((a, b)) => Err(format!("points differ: device {a:?} host {b:?}")),
    }
}

/// Every layout, each with a field that differs in its own way.
pub fn compare_field<T: Real>(source: &Source, dtype: Dtype, tally: &mut Tally) -> Check {
    let bench = Bench::new(source, dtype).map_err(text)?;
    for variant in 0..VARIANTS {
        let place = Placement::new(variant, source);
        let image = place.image::<T>(source);
        let change = variant % CHANGES;
        let other = changed(source, change);
        // Where there are ghosts, the other field has them too.
        let other_place = match place.margin {
            0 => Placement::new((variant + 1) % 4, &other),
            _ => Placement::new(variant, &other),
        };
        let other_image = other_place.image::<T>(&other);
        let places = [&place, &other_place];
        let (kind, bound) = [(BoundKind::Absolute, 0.004), (BoundKind::Relative, 1e-3)][variant % 2];
        // A value that some fields have everywhere on land, and one that lies in the middle.
        let fill_value = [None, Some(0.0), Some(source.u[source.u.len() / 2] as f64)][variant % 3];
        let requests = places.map(|place| {
            let config = Config { bound_kind: kind, bound, fill_value, ..place.config(dtype) };
            Request::new(config).expect("a request")
        });
        let what = || format!("{dtype:?} layout {variant} change {change} fill {fill_value:?}");
        let compared = compare_once::<T>(&bench, places, [&image, &other_image], &requests);
        tally.add(|| format!("compare {}", what()), compared);
        let found = points_once::<T>(&bench, &place, &image, &requests[0]);
        tally.add(|| format!("critical points {}", what()), found);
        let found = range_once::<T>(&bench, &place, &image, &requests[0]);
        tally.add(|| format!("range {}", what()), found);
        if tally.is_lost() {
            break;
        }
    }
    Ok(())
}

fn compare_once<T: Real>(
    bench: &Bench,
    places: [&Placement; 2],
    images: [&[u8]; 2],
    requests: &[Request; 2],
) -> Check {
    let device = device_comparison(bench, places, images, requests)?;
    let (first, other) = (places[0].views::<T>(images[0]), places[1].views::<T>(images[1]));
    let threads = execution(places[0]).threads;
    let host = factz::compare(&requests[0], first, other, true, threads).map_err(text)?;
    check_comparisons(&device, &host)
}

fn device_comparison(
    bench: &Bench,
    places: [&Placement; 2],
    images: [&[u8]; 2],
    requests: &[Request; 2],
) -> Result<Comparison, String> {
    let dtype = requests[0].config().dtype;
    let workspace_bytes = AnalysisWorkspace::compare(&requests[0]).map_err(text)?.bytes;
    bench.fill(images, workspace_bytes)?;
    let fields = [bench.pointers(0, places[0], dtype), bench.pointers(1, places[1], dtype)];
    let compared = bench.compared(requests, fields, workspace_bytes);
    // SAFETY: the buffers live until the queue is synchronised.
    unsafe { compare_device(requests, &compared, bench.queue.stream()) }.map_err(text)?;
    bench.queue.synchronize().map_err(text)?;
    bench.check(images, workspace_bytes)?;
    bench.result.check("comparison", COMPARISON_BYTES)?;
    let result = Buffer::from_bytes(&bench.result.read(COMPARISON_BYTES).map_err(text)?).map_err(text)?;
    result.read_comparison().map_err(text)
}

fn range_once<T: Real>(bench: &Bench, place: &Placement, image: &[u8], request: &Request) -> Check {
    let workspace_bytes = AnalysisWorkspace::range().map_err(text)?.bytes;
    bench.fill([image, image], workspace_bytes)?;
    let [u, v] = bench.pointers(0, place, request.config().dtype);
    let buffers = RangeBuffers {
        u,
        v,
        range: bench.result.pointer(),
        workspace: bench.workspace.pointer(),
        workspace_bytes,
    };
    // SAFETY: the buffers live until the queue is synchronised.
    unsafe { range_device(request, &buffers, bench.queue.stream()) }.map_err(text)?;
    bench.queue.synchronize().map_err(text)?;
    bench.check([image, image], workspace_bytes)?;
    let bytes = bench.result.read(COMPARISON_BYTES).map_err(text)?;
    if bytes[RANGE_BYTES..].iter().any(|&b| b != POISON) {
        return Err("bytes behind the range were written".into());
    }
    let device = Buffer::from_bytes(&bytes).map_err(text)?.read_range().map_err(text)?;
    let host = factz::range(request, place.views::<T>(image), execution(place).threads).map_err(text)?;
    let bits = |r: &ValueRange| (r.low.to_bits(), r.high.to_bits());
    match device == host && bits(&device) == bits(&host) {
        true => Ok(()),
        false => Err(format!("ranges differ: device {device:?} host {host:?}")),
    }
}

fn points_once<T: Real>(bench: &Bench, place: &Placement, image: &[u8], request: &Request) -> Check {
    let dtype = request.config().dtype;
    let threads = execution(place).threads;
    let host = factz::critical_points(request, place.views::<T>(image), threads).map_err(text)?;
    let workspace_bytes = AnalysisWorkspace::critical_points(request).map_err(text)?.bytes;
    let [u, v] = bench.pointers(0, place, dtype);
    // Room for all, for some and for none.
    for capacity in [host.len() + 1, host.len(), host.len() / 2, 0] {
        bench.fill([image, image], workspace_bytes)?;
        bench.points.arm(capacity * POINT_BYTES).map_err(text)?;
        let buffers = PointBuffers {
            u,
            v,
            points: if capacity > 0 { bench.points.pointer() } else { 0 },
            capacity: capacity as u64,
            count: bench.result.pointer(),
            workspace: bench.workspace.pointer(),
            workspace_bytes,
        };
        // SAFETY: the buffers live until the queue is synchronised.
        unsafe { critical_points_device(request, &buffers, bench.queue.stream()) }.map_err(text)?;
        bench.queue.synchronize().map_err(text)?;
        bench.check([image, image], workspace_bytes)?;
        bench.points.check("points", capacity * POINT_BYTES)?;
        let count = bench.result.read(16).map_err(text)?;
        if count[..8] != (host.len() as u64).to_le_bytes() || count[8..] != [POISON; 8] {
            return Err(format!("capacity {capacity}: count {count:?}, the host finds {}", host.len()));
        }
        let fit = capacity.min(host.len());
        let bytes = bench.points.read(capacity * POINT_BYTES).map_err(text)?;
        if bytes[fit * POINT_BYTES..].iter().any(|&b| b != POISON) {
            return Err(format!("capacity {capacity}: bytes behind the points were written"));
        }
        let points = Buffer::from_bytes(&bytes).map_err(text)?.read_points(fit).map_err(text)?;
        check_points(&points, &host[..fit]).map_err(|e| format!("capacity {capacity}: {e}"))?;
    }
    Ok(())
}

/// Headers as they are, and with every byte changed: the device says what the host says.
pub fn inspection(_: &Device) -> Check {
    let case = small_case();
    let (queue, source) = (Queue::new().map_err(text)?, Guarded::new(HEADER_BYTES).map_err(text)?);
    let info = Guarded::new(HEADER_BYTES).map_err(text)?;
    let mut headers = vec![(case.stream[..HEADER_BYTES].to_vec(), "intact".to_owned())];
    for byte in 0..HEADER_BYTES {
        for value in [0, 1, 2, 7, 0x7f, 0x80, 0xff] {
            let mut header = case.stream[..HEADER_BYTES].to_vec();
            header[byte] = value;
            headers.push((header, format!("byte {byte} = {value}")));
        }
    }
    headers.push((case.stream[..HEADER_BYTES - 1].to_vec(), "too short".to_owned()));
    for (header, what) in &headers {
        source.write(header).and(source.arm(header.len())).and(info.arm(HEADER_BYTES)).map_err(text)?;
        let (bytes, stream) = (header.len() as u64, queue.stream());
        // SAFETY: the buffers live until the queue is synchronised.
        unsafe { inspect_device(source.pointer(), bytes, info.pointer(), stream) }.map_err(text)?;
        queue.synchronize().map_err(text)?;
        info.check("info", HEADER_BYTES)?;
        let device = info.read(HEADER_BYTES).map_err(text)?;
        // SAFETY: header holds as many bytes as said, and info is a whole struct.
        let host = unsafe {
            let mut host: factz::capi::inspect::factz_info = std::mem::zeroed();
            factz::capi::inspect::factz_inspect_host(header.as_ptr().cast(), header.len(), &mut host);
            std::mem::transmute::<factz::capi::inspect::factz_info, [u8; HEADER_BYTES]>(host)
        };
        if device != host {
            return Err(format!("{what}: device {device:?}\n    host {host:?}"));
        }
    }
    match factz::inspect(&case.stream) {
        Ok(_) => Ok(()),
        Err(e) => Err(text(e)),
    }
}

/// A comparison and an extraction, recorded once, replayed on other data.
pub fn analysis_graph(_: &Device) -> Check {
    let sources = [synthetic(300, 200), Source { u: synthetic(300, 200).v, ..synthetic(300, 200) }];
    let dtype = Dtype::F32;
    let bench = Bench::new(&sources[0], dtype).map_err(text)?;
    let place = Placement::new(0, &sources[0]);
    let config = Config { bound: 0.004, fill_value: Some(0.0), ..place.config(dtype) };
    let request = Request::new(config).map_err(text)?;
    let other = changed(&sources[0], 1);
    let other_image = place.image::<f32>(&other);
    let workspace_bytes = AnalysisWorkspace::bytes(&request).map_err(text)?;
    let (stream, requests) = (bench.queue.stream(), [request; 2]);
    let count = Buffer::new(8).map_err(text)?;
    let compared = ComparedFields {
        first: bench.pointers(0, &place, dtype),
        other: bench.pointers(1, &place, dtype),
        checks_bound: true,
        workspace: bench.workspace.pointer(),
        workspace_bytes,
        comparison: bench.result.pointer(),
    };
    let capacity = 2 * place.nx * place.ny;
    let found = PointBuffers {
        u: compared.first[0],
        v: compared.first[1],
        points: bench.points.pointer(),
        capacity,
        count: count.pointer(),
        workspace: bench.workspace.pointer(),
        workspace_bytes,
    };
    // SAFETY: the buffers outlive the graph.
    unsafe { prepare_device(stream) }.map_err(text)?;
    let record = || {
        // SAFETY: as above.
        unsafe {
            compare_device(&requests, &compared, stream)?;
            critical_points_device(&request, &found, stream)
        }
    };
    let graph = bench.queue.capture(record).map_err(text)?;
    for round in 0..4 {
        let source = &sources[round % 2];
        let image = place.image::<f32>(source);
        bench.fill([&image, &other_image], workspace_bytes)?;
        graph.launch(&bench.queue).and(bench.queue.synchronize()).map_err(text)?;
        let result = Buffer::from_bytes(&bench.result.read(COMPARISON_BYTES).map_err(text)?).map_err(text)?;
        let (first, other) = (place.views::<f32>(&image), place.views::<f32>(&other_image));
        let host = factz::compare(&request, first, other, true, 0).map_err(text)?;
        check_comparisons(&result.read_comparison().map_err(text)?, &host)?;
        let host = factz::critical_points(&request, first, 0).map_err(text)?;
        let n = count.read_u64(0).map_err(text)?;
        let bytes = bench.points.read(n.min(capacity) as usize * POINT_BYTES).map_err(text)?;
        let points = Buffer::from_bytes(&bytes).map_err(text)?.read_points(bytes.len() / POINT_BYTES);
        check_points(&points.map_err(text)?, &host)?;
    }
    Ok(())
}

/// The counts of all blocks of a field add up to those of the field, where every block has the ghosts of its
/// cells.
pub fn analysis_of_blocks(_: &Device) -> Check {
    let source = Source { name: String::new(), ..synthetic(301, 203) };
    let other = changed(&source, 2);
    let bench = Bench::new(&source, Dtype::F32).map_err(text)?;
    let whole = Placement::new(0, &source);
    let images = [whole.image::<f32>(&source), whole.image::<f32>(&other)];
    let images = [&images[0][..], &images[1][..]];
    let compared = |place: &Placement| {
        let config = Config { bound_kind: BoundKind::Absolute, bound: 0.01, ..place.config(Dtype::F32) };
        let request = Request::new(config).map_err(text)?;
        device_comparison(&bench, [place; 2], images, &[request; 2])
    };
    let counts = |c: &Comparison| {
        let own = [c.critical_points, c.critical_points_after, c.lost, c.spurious, c.type_changed, c.ties];
        let more = [c.tie_changed, c.tie_created, c.zero_vertices, c.zero_changed, c.bound_exceeded];
        own.into_iter().chain(more).chain(c.kinds).collect::<Vec<u64>>()
    };
    let all = counts(&compared(&whole)?);
    for (columns, rows) in [(2, 2), (3, 1), (1, 4), (7, 5)] {
        let mut sum = vec![0; all.len()];
        for (bx, by) in (0..columns * rows).map(|k| (k % columns, k / columns)) {
            let cut = |k: u64, parts: u64, n: u64| k * n / parts;
            let (x0, x1) = (cut(bx, columns, source.nx), cut(bx + 1, columns, source.nx));
            let (y0, y1) = (cut(by, rows, source.ny), cut(by + 1, rows, source.ny));
            let side = |bit: u32, is_inside: bool| if is_inside { bit } else { 0 };
            let place = Placement {
                nx: x1 - x0,
                ny: y1 - y0,
                u_at: whole.u_at + y0 * whole.u.pitch + x0,
                v_at: whole.v_at + y0 * whole.v.pitch + x0,
                halo: side(SIDE_X_MIN, bx > 0)
                    | side(SIDE_X_MAX, bx + 1 < columns)
                    | side(SIDE_Y_MIN, by > 0)
                    | side(SIDE_Y_MAX, by + 1 < rows),
                ..whole
            };
            let found = counts(&compared(&place)?);
            sum.iter_mut().zip(found).for_each(|(sum, n)| *sum += n);
        }
        if sum != all {
            return Err(format!("{columns} x {rows} blocks: {sum:?}, the field has {all:?}"));
        }
    }
    Ok(())
}
