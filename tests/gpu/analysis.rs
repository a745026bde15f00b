//! The analysis on the device against the host's: the same counts, the same points, the same bits.

use crate::device::memory::{Buffer, COMPARISON_BYTES, POINT_BYTES, RANGE_BYTES};
use crate::device::queue::Queue;
use crate::device::Device;
use crate::expected::{execution, small_case};
use crate::fields::{noise, synthetic, Placement, VARIANTS};
use crate::memory::{poisons, Guarded};
use crate::support::fields::{dtype, sides, Field};
use crate::{ensure, Check, Tally, POISON};
use factz::device::{
    compare_device, critical_points_device, inspect_device, prepare_device, range_device, AnalysisWorkspace,
    ComparedFields, PointBuffers, RangeBuffers,
};
use factz::stream::header::HEADER_BYTES;
use factz::{
    BoundKind, Comparison, Config, CriticalPoint, Error, Layout, Real, Request, Simplex, ValueRange,
    PERIODIC_X, PERIODIC_Y,
};

/// How the other field differs from the first.
const CHANGES: usize = 4;
/// Checks of one field, both element types.
pub const CHECKS: usize = 2 * VARIANTS * 3;

/// A field, changed in some way.
fn changed(field: &Field<f32>, change: usize) -> Field<f32> {
    let mut random = noise(99, 0.0);
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
    let components = field.components.each_ref().map(|values| values.iter().map(|&x| alter(x)).collect());
    Field { components, ..*field }
}

/// A field as it lies in memory.
#[derive(Clone, Copy)]
struct Placed<'a> {
    place: &'a Placement,
    image: &'a [u8],
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
    fn new<T: Real>(nx: u64, ny: u64) -> Result<Self, Error> {
        let config = Config { dtype: dtype::<T>(), ..Config::new(nx, ny, BoundKind::Relative, 0.0) };
        let field_bytes = ((4 * nx + 8) * ny + 8) as usize * T::BYTES;
        Ok(Bench {
            queue: Queue::new()?,
            fields: [Guarded::new(field_bytes)?, Guarded::new(field_bytes)?],
            workspace: Guarded::new(AnalysisWorkspace::bytes(&Request::new(config)?)? as usize)?,
            result: Guarded::new(COMPARISON_BYTES)?,
            points: Guarded::new(2 * ((nx + 1) * (ny + 1)) as usize * POINT_BYTES)?,
        })
    }

    fn fill(&self, images: [&[u8]; 2], workspace_bytes: u64) -> Check {
        for (field, image) in self.fields.iter().zip(images) {
            field.write(image).and(field.arm(image.len()))?;
        }
        for buffer in [&self.result, &self.points] {
            buffer.buffer.fill(POISON)?;
        }
        self.result.arm(COMPARISON_BYTES)?;
        if poisons() {
            self.workspace.buffer.fill(POISON)?;
        }
        Ok(self.workspace.arm(workspace_bytes as usize)?)
    }

    /// Enqueues a call and waits for it: all but the results is as it was.
    fn call(
        &self,
        images: [&[u8]; 2],
        workspace_bytes: u64,
        enqueue: impl FnOnce() -> Result<(), Error>,
    ) -> Check {
        enqueue().and(self.queue.synchronize())?;
        for (field, image) in self.fields.iter().zip(images) {
            field.check("a field", image.len())?;
            ensure!(field.read(image.len())? == image, "an input was changed");
        }
        self.workspace.check("the workspace", workspace_bytes as usize)?;
        self.result.check("the result", COMPARISON_BYTES)
    }

    /// The result that a call has written.
    fn result(&self) -> Result<Buffer, Error> {
        Buffer::from_bytes(&self.result.read(COMPARISON_BYTES)?)
    }

    fn compared(&self, fields: [[u64; 2]; 2], workspace_bytes: u64) -> ComparedFields {
        ComparedFields {
            first: fields[0],
            other: fields[1],
            checks_bound: true,
            workspace: self.workspace.pointer(),
            workspace_bytes,
            comparison: self.result.pointer(),
        }
    }

    fn found(&self, [u, v]: [u64; 2], capacity: u64, count: u64, workspace_bytes: u64) -> PointBuffers {
        let points = if capacity > 0 { self.points.pointer() } else { 0 };
        let workspace = self.workspace.pointer();
        PointBuffers { u, v, points, capacity, count, workspace, workspace_bytes }
    }

    fn pointers(&self, field: usize, place: &Placement, bytes: u64) -> [u64; 2] {
        [place.u_at, place.v_at].map(|at| self.fields[field].pointer() + at * bytes)
    }
}

/// Undefined ratios have no number, whatever the reason.
fn check_comparisons(device: &Comparison, host: &Comparison) -> Check {
    let host = Comparison { psnr: host.psnr.filter(|p| !p.is_nan()), ..*host };
    let bits = |c: &Comparison| (c.max_error.to_bits(), c.psnr.map(f64::to_bits));
    let same = *device == host && bits(device) == bits(&host);
    ensure!(same, "comparisons differ:\n    device {device:?}\n    host   {host:?}");
    Ok(())
}

fn check_points(device: &[CriticalPoint], host: &[CriticalPoint]) -> Check {
    ensure!(device.len() == host.len(), "{} points, the host finds {}", device.len(), host.len());
    // Eigenvalues may be NaN.
    let numbers = |p: &CriticalPoint| {
        let eigenvalues = [p.eigenvalues_real, p.eigenvalues_imaginary].map(|pair| pair.map(f64::to_bits));
        let cell = [p.cell_x, p.cell_y, p.cell_z];
        (cell, p.simplex, p.kind, p.index, p.rounding_divergence, eigenvalues)
    };
    let bits = |p: &CriticalPoint| (p.x.to_bits(), p.y.to_bits());
    let other = device.iter().zip(host).find(|(a, b)| numbers(a) != numbers(b) || bits(a) != bits(b));
    ensure!(other.is_none(), "points of device and host differ: {other:?}");
    Ok(())
}

/// Every layout, each with a field that differs in its own way.
pub fn compare_field<T: Real>(field: &Field<f32>, tally: &mut Tally) -> Check {
    let bench = Bench::new::<T>(field.nx, field.ny)?;
    for variant in 0..VARIANTS {
        let place = Placement::new(variant, [field.nx, field.ny]);
        let change = variant % CHANGES;
        let other = changed(field, change);
        // Where there are ghosts, the other field has them too.
        let other_variant = if place.margin == 0 { (variant + 1) % 4 } else { variant };
        let other_place = Placement::new(other_variant, [field.nx, field.ny]);
        let (image, other_image) = (place.image::<T>(field), other_place.image::<T>(&other));
        let placed = Placed { place: &place, image: &image };
        let pair = [placed, Placed { place: &other_place, image: &other_image }];
        let (bound_kind, bound) = [(BoundKind::Absolute, 0.004), (BoundKind::Relative, 1e-3)][variant % 2];
        // A value that some fields have everywhere on land, and one that lies in the middle.
        let middle = field.components[0][field.len() / 2] as f64;
        let fill_value = [None, Some(0.0), Some(middle)][variant % 3];
        let requests = pair.map(|placed| {
            let config = Config { bound_kind, bound, fill_value, ..placed.place.config::<T>() };
            Request::new(config).expect("a request")
        });
        for (name, result) in [
            ("compare", compare_once::<T>(&bench, pair, &requests)),
            ("critical points", points_once::<T>(&bench, placed, &requests[0])),
            ("range", range_once::<T>(&bench, placed, &requests[0])),
        ] {
            let config = requests[0].config();
            tally.add(|| format!("{name} layout {variant} change {change} {config:?}"), result);
        }
        if tally.is_lost() {
            break;
        }
    }
    Ok(())
}

fn compare_once<T: Real>(bench: &Bench, pair: [Placed; 2], requests: &[Request; 2]) -> Check {
    let device = device_comparison::<T>(bench, pair, requests)?;
    let [first, other] = pair.map(|placed| placed.place.views::<T>(placed.image));
    let threads = execution(pair[0].place).threads;
    check_comparisons(&device, &factz::compare(&requests[0], first, other, true, threads)?)
}

fn device_comparison<T: Real>(
    bench: &Bench,
    pair: [Placed; 2],
    requests: &[Request; 2],
) -> Check<Comparison> {
    let workspace_bytes = AnalysisWorkspace::compare(&requests[0])?.bytes;
    let images = pair.map(|placed| placed.image);
    bench.fill(images, workspace_bytes)?;
    let fields = [0, 1].map(|k| bench.pointers(k, pair[k].place, T::BYTES as u64));
    let compared = bench.compared(fields, workspace_bytes);
    bench.call(images, workspace_bytes, || {
        // SAFETY: the buffers live until the queue is synchronised.
        unsafe { compare_device(requests, &compared, bench.queue.stream()) }
    })?;
    Ok(bench.result()?.read_comparison()?)
}

fn range_once<T: Real>(bench: &Bench, Placed { place, image }: Placed, request: &Request) -> Check {
    let workspace_bytes = AnalysisWorkspace::range()?.bytes;
    bench.fill([image, image], workspace_bytes)?;
    let [u, v] = bench.pointers(0, place, T::BYTES as u64);
    let (range, workspace) = (bench.result.pointer(), bench.workspace.pointer());
    let buffers = RangeBuffers { u, v, range, workspace, workspace_bytes };
    bench.call([image, image], workspace_bytes, || {
        // SAFETY: the buffers live until the queue is synchronised.
        unsafe { range_device(request, &buffers, bench.queue.stream()) }
    })?;
    let bytes = bench.result.read(COMPARISON_BYTES)?;
    ensure!(bytes[RANGE_BYTES..].iter().all(|&b| b == POISON), "bytes behind the range were written");
    let device = bench.result()?.read_range()?;
    let host = factz::range(request, place.views::<T>(image), execution(place).threads)?;
    let bits = |r: &ValueRange| (r.low.to_bits(), r.high.to_bits());
    let same = device == host && bits(&device) == bits(&host);
    ensure!(same, "ranges differ: device {device:?} host {host:?}");
    Ok(())
}

fn points_once<T: Real>(bench: &Bench, Placed { place, image }: Placed, request: &Request) -> Check {
    let threads = execution(place).threads;
    let host = factz::critical_points(request, place.views::<T>(image), threads)?;
    let workspace_bytes = AnalysisWorkspace::critical_points(request)?.bytes;
    let fields = bench.pointers(0, place, T::BYTES as u64);
    // Room for all, for some and for none.
    for capacity in [host.len() + 1, host.len(), host.len() / 2, 0] {
        bench.fill([image, image], workspace_bytes)?;
        bench.points.arm(capacity * POINT_BYTES)?;
        let buffers = bench.found(fields, capacity as u64, bench.result.pointer(), workspace_bytes);
        bench.call([image, image], workspace_bytes, || {
            // SAFETY: the buffers live until the queue is synchronised.
            unsafe { critical_points_device(request, &buffers, bench.queue.stream()) }
        })?;
        bench.points.check("points", capacity * POINT_BYTES)?;
        let count = bench.result.read(16)?;
        let is_right = count[..8] == (host.len() as u64).to_le_bytes() && count[8..] == [POISON; 8];
        ensure!(is_right, "capacity {capacity}: count {count:?}, the host finds {}", host.len());
        let fit = capacity.min(host.len());
        let bytes = bench.points.read(capacity * POINT_BYTES)?;
        let untouched = bytes[fit * POINT_BYTES..].iter().all(|&b| b == POISON);
        ensure!(untouched, "capacity {capacity}: bytes behind the points were written");
        let points = Buffer::from_bytes(&bytes)?.read_points(fit)?;
        check_points(&points, &host[..fit]).map_err(|e| format!("capacity {capacity}: {e}"))?;
    }
    Ok(())
}

/// Headers as they are, and with every byte changed: the device says what the host says.
pub fn inspection(_: &Device) -> Check {
    let case = small_case();
    let (queue, source, info) = (Queue::new()?, Guarded::new(HEADER_BYTES)?, Guarded::new(HEADER_BYTES)?);
    let intact = &case.stream[..HEADER_BYTES];
    let mut headers = vec![intact.to_vec(), intact[..HEADER_BYTES - 1].to_vec()];
    for byte in 0..HEADER_BYTES {
        headers.extend([0, 1, 2, 7, 0x7f, 0x80, 0xff].map(|value| {
            let mut header = intact.to_vec();
            header[byte] = value;
            header
        }));
    }
    for header in &headers {
        source.write(header).and(source.arm(header.len())).and(info.arm(HEADER_BYTES))?;
        let (bytes, stream) = (header.len() as u64, queue.stream());
        // SAFETY: the buffers live until the queue is synchronised.
        unsafe { inspect_device(source.pointer(), bytes, info.pointer(), stream) }?;
        queue.synchronize()?;
        info.check("info", HEADER_BYTES)?;
        let device = info.read(HEADER_BYTES)?;
        // SAFETY: header holds as many bytes as said, and info is a whole struct.
        let host = unsafe {
            let mut host: factz::capi::inspect::factz_info = std::mem::zeroed();
            factz::capi::inspect::factz_inspect_host(header.as_ptr().cast(), header.len(), &mut host);
            std::mem::transmute::<factz::capi::inspect::factz_info, [u8; HEADER_BYTES]>(host)
        };
        ensure!(device == host, "{header:?}: device {device:?}\n    host {host:?}");
    }
    factz::inspect(&case.stream)?;
    Ok(())
}

/// A comparison and an extraction, recorded once, replayed on other data.
pub fn analysis_graph(_: &Device) -> Check {
    let ordinary = synthetic(300, 200);
    let [_, v] = &ordinary.components;
    let sources = [Field { components: [v.clone(), v.clone()], ..ordinary }, ordinary];
    let bench = Bench::new::<f32>(300, 200)?;
    let place = Placement::new(0, [300, 200]);
    let config = Config { bound: 0.004, fill_value: Some(0.0), ..place.config::<f32>() };
    let request = Request::new(config)?;
    let other_image = place.image::<f32>(&changed(&sources[1], 1));
    let workspace_bytes = AnalysisWorkspace::bytes(&request)?;
    let (stream, requests) = (bench.queue.stream(), [request; 2]);
    let count = Buffer::new(8)?;
    let fields = [0, 1].map(|k| bench.pointers(k, &place, 4));
    let compared = bench.compared(fields, workspace_bytes);
    let capacity = 2 * place.nx * place.ny;
    let found = bench.found(fields[0], capacity, count.pointer(), workspace_bytes);
    // SAFETY: the buffers outlive the graph.
    unsafe { prepare_device(stream) }?;
    // SAFETY: as above.
    let graph = bench.queue.capture(|| unsafe {
        compare_device(&requests, &compared, stream)?;
        critical_points_device(&request, &found, stream)
    })?;
    for source in sources.iter().cycle().take(4) {
        let image = place.image::<f32>(source);
        bench.fill([&image, &other_image], workspace_bytes)?;
        graph.launch(&bench.queue).and(bench.queue.synchronize())?;
        let (first, other) = (place.views::<f32>(&image), place.views::<f32>(&other_image));
        let host = factz::compare(&request, first, other, true, 0)?;
        check_comparisons(&bench.result()?.read_comparison()?, &host)?;
        let bytes = bench.points.read(count.read_u64(0)?.min(capacity) as usize * POINT_BYTES)?;
        let points = Buffer::from_bytes(&bytes)?.read_points(bytes.len() / POINT_BYTES)?;
        check_points(&points, &factz::critical_points(&request, first, 0)?)?;
    }
    Ok(())
}

/// Few values: zeros at vertices and on edges, alone and side by side, and centres.
fn coarse(nx: u64, ny: u64) -> Field<f32> {
    let mut random = noise(7, 0.0);
    Field::new(nx, ny, |x, y| {
        let land = x / 37 % 3 == 1 && y / 29 % 2 == 1;
        [(); 2].map(|()| if land { 0.0 } else { (5.0 * random()).floor() as f64 - 2.0 })
    })
}

/// Zeros at vertices and on edges: their indices, and what becomes of them.
pub fn isolated_zeros(_: &Device) -> Check {
    for (nx, ny) in [(1, 70), (70, 1), (2, 2), (3, 65), (129, 33), (260, 97), (513, 64)] {
        let field = coarse(nx, ny);
        let mut tally = Tally::default();
        compare_field::<f32>(&field, &mut tally)?;
        compare_field::<f64>(&field, &mut tally)?;
        ensure!(tally.failures.is_empty(), "{nx} x {ny}: {:?}", tally.failures);
        let request = Request::new(Config::new(nx, ny, BoundKind::Absolute, 0.0))?;
        let points = factz::critical_points(&request, field.views(0), 1)?;
        let zeros = |index| points.iter().filter(|p| p.simplex >= Simplex::EdgeX && p.index == index).count();
        let has_all = [Some(-1), Some(0), Some(1), None].into_iter().all(|index| zeros(index) > 0);
        ensure!(nx * ny < 1000 || has_all, "{nx} x {ny}: a field that shows little");
    }
    Ok(())
}

/// The shape of a stack, and the rows of memory from a plane to the next.
#[derive(Clone, Copy)]
struct Planes {
    nx: u64,
    ny: u64,
    nz: u64,
    rows: u64,
}

impl Planes {
    /// The planes of a field one above the other, with rows of another value between them.
    fn tall(&self, field: &Field<f32>) -> Field<f32> {
        let vertex = |x: u64, y: u64| {
            let (z, y) = (y / self.rows, y % self.rows);
            match y < self.ny {
                true => field.vertex(field.at(x, z * self.ny + y)).map(f64::from),
                false => [-0.5; 2],
            }
        };
        Field::new(self.nx, self.nz * self.rows, vertex)
    }

    fn placement(&self, variant: usize) -> Placement {
        let place = Placement::new(variant, [self.nx, self.nz * self.rows]);
        let [u, v] = [place.u, place.v].map(|layout| Layout { plane: self.rows * layout.pitch, ..layout });
        Placement { u, v, pin: 0, ..place }
    }

    fn request<T: Real>(&self, place: &Placement, config: &Config) -> Result<Request, Error> {
        let Planes { nx, ny, nz, rows } = *self;
        let ([dx, dy], plane_rows) = (place.spacing, rows);
        let config = Config { nx, ny, nz, plane_rows, dx, dy, ..*config };
        Request::new(Config { dtype: dtype::<T>(), u: place.u, v: place.v, ..config })
    }
}

/// Stacks of planes and periodic axes, with zeros and missing values in the seams.
pub fn analysis_of_stacks(_: &Device) -> Check {
    let shapes = [(3, 3, 1), (70, 31, 4), (128, 33, 3), (131, 64, 2), (257, 5, 9), (1, 40, 3), (300, 1, 40)];
    let mut random = noise(21, 0.0);
    let mut tally = Tally::default();
    for (k, (nx, ny, nz)) in shapes.into_iter().enumerate() {
        let mut field = coarse(nx, ny * nz);
        for at in 0..field.len() {
            if random() < 0.02 {
                field.set(at, [f64::NAN, 1.0]);
            }
        }
        for periodic in [0, PERIODIC_X, PERIODIC_Y, PERIODIC_X | PERIODIC_Y] {
            let is_short = (periodic & PERIODIC_X != 0 && nx < 3) || (periodic & PERIODIC_Y != 0 && ny < 3);
            if !is_short {
                let shape = Planes { nx, ny, nz, rows: ny + k as u64 % 3 };
                let config = Config { periodic, ..Config::new(nx, ny, BoundKind::Relative, 1e-3) };
                analyze_stack::<f32>(&field, shape, &config, k, &mut tally)?;
                analyze_stack::<f64>(&field, shape, &config, k + 1, &mut tally)?;
            }
        }
    }
    ensure!(tally.failures.is_empty(), "{:?}", tally.failures);
    Ok(())
}

fn analyze_stack<T: Real>(
    field: &Field<f32>,
    shape: Planes,
    config: &Config,
    variant: usize,
    tally: &mut Tally,
) -> Check {
    let other_shape = Planes { rows: shape.rows + 2, ..shape };
    // No band of a plane is larger than one of so many rows.
    let bench = Bench::new::<T>(shape.nx, shape.nz * (other_shape.rows + 32))?;
    let fill_value = [None, Some(0.0), Some(1.0)][variant % 3];
    let config = Config { fill_value, ..*config };
    let places = [shape.placement(variant % 4), other_shape.placement((variant + 1) % 4)];
    let images = [
        places[0].image::<T>(&shape.tall(field)),
        places[1].image::<T>(&other_shape.tall(&changed(field, 2))),
    ];
    let pair = [0, 1].map(|k| Placed { place: &places[k], image: &images[k] });
    let requests = [shape.request::<T>(&places[0], &config)?, other_shape.request::<T>(&places[1], &config)?];
    for (name, result) in [
        ("compare", compare_once::<T>(&bench, pair, &requests)),
        ("critical points", points_once::<T>(&bench, pair[0], &requests[0])),
        ("range", range_once::<T>(&bench, pair[0], &requests[0])),
    ] {
        tally.add(|| format!("{name} {:?}", requests[0].config()), result);
    }
    Ok(())
}

/// The counts of all blocks of a field add up to those of the field, where every block has the ghosts of its
/// cells.
pub fn analysis_of_blocks(_: &Device) -> Check {
    for field in [synthetic(301, 203), coarse(301, 203)] {
        blocks_add_up(&field)?;
    }
    Ok(())
}

fn blocks_add_up(field: &Field<f32>) -> Check {
    let bench = Bench::new::<f32>(301, 203)?;
    let whole = Placement::new(0, [301, 203]);
    let images = [whole.image::<f32>(field), whole.image::<f32>(&changed(field, 2))];
    let compared = |place: &Placement| {
        let config = Config { bound_kind: BoundKind::Absolute, bound: 0.01, ..place.config::<f32>() };
        let pair = images.each_ref().map(|image| Placed { place, image });
        device_comparison::<f32>(&bench, pair, &[Request::new(config)?; 2])
    };
    let counts = |c: &Comparison| {
        let own =
            [c.critical_points, c.other_critical_points, c.lost_points, c.spurious_points, c.changed_types];
        let more =
            [c.ties, c.changed_ties, c.new_ties, c.zero_vertices, c.changed_zero_vertices, c.bound_exceeded];
        let zeros = [c.lost_zeros, c.spurious_zeros, c.changed_indices];
        own.into_iter().chain(more).chain(zeros).chain(c.points_by_type).collect::<Vec<u64>>()
    };
    let all = counts(&compared(&whole)?);
    for (columns, rows) in [(2, 2), (3, 1), (1, 4), (7, 5)] {
        let mut sum = vec![0; all.len()];
        for (bx, by) in (0..columns * rows).map(|k| (k % columns, k / columns)) {
            let cut = |k: u64, parts: u64, n: u64| k * n / parts;
            let (x0, x1) = (cut(bx, columns, field.nx), cut(bx + 1, columns, field.nx));
            let (y0, y1) = (cut(by, rows, field.ny), cut(by + 1, rows, field.ny));
            let place = Placement {
                nx: x1 - x0,
                ny: y1 - y0,
                u_at: whole.u_at + y0 * whole.u.pitch + x0,
                v_at: whole.v_at + y0 * whole.v.pitch + x0,
                halo: sides([bx > 0, bx + 1 < columns, by > 0, by + 1 < rows]),
                ..whole
            };
            let found = counts(&compared(&place)?);
            sum.iter_mut().zip(found).for_each(|(sum, n)| *sum += n);
        }
        ensure!(sum == all, "{columns} x {rows} blocks: {sum:?}, the field has {all:?}");
    }
    Ok(())
}
