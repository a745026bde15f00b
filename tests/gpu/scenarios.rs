//! What applications do, one scenario each.

use crate::device::memory::{Buffer, REPORT_BYTES};
use crate::device::Device;
use crate::expected::{check_images, check_reports, check_streams, host_compress, host_decompress};
use crate::fields::{synthetic, Placement, Source};
use crate::matrix::{Configuration, CONFIGURATIONS};
use crate::memory::{compress_plan, decompress_plan, Bench, Guarded};
use crate::{text, Check, POISON};
use factz::device::{compress_device, decompress_device, prepare_device, Buffers, Stream};
use factz::Layout;
use factz::Real;
use factz::{BoundKind, Coder, Config, Dtype, Mode, Predictor, Report, Request, Status};

/// A field, its request and what the host makes of it.
pub struct Case {
    pub place: Placement,
    pub request: Request,
    pub image: Vec<u8>,
    pub report: Report,
    pub stream: Vec<u8>,
    pub output: Vec<u8>,
    pub output_report: Report,
}

impl Case {
    pub fn new(source: &Source, mode: Mode, bound: f64) -> Case {
        Self::of::<f32>(source, Dtype::F32, (mode, Predictor::Hierarchical, Coder::Ans), bound)
    }

    pub fn of<T: Real>(source: &Source, dtype: Dtype, configuration: Configuration, bound: f64) -> Case {
        let place = Placement::new(0, source);
        let (mode, predictor, coder) = configuration;
        let config = Config { mode, predictor, coder, bound, ..place.config(dtype) };
        let request = Request::new(config).expect("a request");
        let image = place.image::<T>(source);
        let (report, stream) = host_compress::<T>(&request, &place, &image);
        let (output_report, output) =
            host_decompress::<T>(&request, &place, &stream).expect("the host decompresses its stream");
        Case { place, request, image, report, stream, output, output_report }
    }

    pub fn capacity(&self) -> usize {
        factz::max_stream_bytes(&self.request) as usize
    }

    pub fn bench(&self) -> Result<Bench, String> {
        Bench::new(self.place.nx, self.place.ny, self.request.config().dtype).map_err(text)
    }
}

pub fn small_case() -> Case {
    Case::new(&synthetic(300, 200), Mode::BlockWise, 1e-2)
}

/// A compression and the decompression of what it wrote, recorded once, replayed on other data.
pub fn graphs(_: &Device) -> Check {
    for configuration in CONFIGURATIONS {
        let swapped = Source { u: synthetic(300, 200).v, ..synthetic(300, 200) };
        let cases = [
            Case::of::<f32>(&synthetic(300, 200), Dtype::F32, configuration, 1e-2),
            Case::of::<f32>(&swapped, Dtype::F32, configuration, 1e-2),
        ];
        let bench = cases[0].bench()?;
        let (request, place) = (&cases[0].request, &cases[0].place);
        let output = Guarded::new(cases[0].output.len()).map_err(text)?;
        let second_report = Buffer::new(REPORT_BYTES).map_err(text)?;
        let workspace_bytes = compress_plan(request).max(decompress_plan(request));
        let capacity = cases[0].capacity();
        let compress = bench.buffers(place, Dtype::F32, capacity, workspace_bytes);
        let decompress = Buffers {
            u: output.pointer(),
            v: output.pointer() + place.v_at * 4,
            report: second_report.pointer(),
            ..compress
        };
        let stream = bench.queue.stream();
        // SAFETY: the buffers outlive the graph.
        unsafe { prepare_device(stream) }.map_err(text)?;
        let graph = bench
            .queue
            // SAFETY: as above.
            .capture(|| unsafe {
                compress_device(request, &compress, stream)?;
                decompress_device(request, &decompress, stream)
            })
            .map_err(text)?;
        for round in 0..6 {
            let case = &cases[round % 2];
            bench.spoil(workspace_bytes).map_err(text)?;
            bench.field.write(&case.image).map_err(text)?;
            graph.launch(&bench.queue).and(bench.queue.synchronize()).map_err(text)?;
            check_reports(&bench.report()?, &case.report)?;
            check_streams(&bench.stream.read(case.stream.len()).map_err(text)?, &case.stream)?;
            check_reports(&second_report.read_report().map_err(text)?, &case.output_report)?;
            let image = output.read(case.output.len()).map_err(text)?;
            check_images(&image, &case.output, place, 4)?;
            output.buffer.fill(POISON).map_err(text)?;
        }
    }
    Ok(())
}

pub fn too_small_buffers(_: &Device) -> Check {
    for bound in [1e-2, 0.0] {
        let case = Case::new(&synthetic(300, 200), Mode::BlockWise, bound);
        let bench = case.bench()?;
        let n = case.stream.len();
        for capacity in [128, 132, 1024, n / 2, n - 256, n - 4, n - 1, n, n + 1] {
            let (report, stream) = bench
                .compress(&case.request, &case.place, &case.image, capacity)
                .map_err(|e| format!("capacity {capacity} of {n}: {e}"))?;
            if capacity >= n {
                check_streams(&stream, &case.stream)?;
                check_reports(&report, &case.report)?;
            } else if report.status != Status::BufferTooSmall || report.required_bytes != n as u64 {
                return Err(format!("capacity {capacity} of {n}: {report:?}"));
            }
        }
    }
    Ok(())
}

/// A stream of other dimensions or another type is an invalid argument; more bytes behind it do no harm.
pub fn other_streams(_: &Device) -> Check {
    let case = small_case();
    let bench = case.bench()?;
    for (nx, ny, dtype) in [(200, 300, Dtype::F32), (300, 199, Dtype::F32), (150, 200, Dtype::F64)] {
        let config = Config { dtype, ..Config::new(nx, ny, BoundKind::Relative, 1e-2) };
        let request = Request::new(config).map_err(text)?;
        let n = nx * ny;
        let layout = Layout { pitch: nx, stride: 1 };
        let place = Placement { nx, ny, u: layout, v: layout, v_at: n, elements: 2 * n, ..case.place };
        let (report, image) = bench.decompress(&request, &place, &case.stream)?;
        if report.status != Status::InvalidArgument {
            return Err(format!("{nx} x {ny} {dtype:?}: {report:?}"));
        }
        if image.iter().any(|&b| b != POISON) {
            return Err(format!("{nx} x {ny} {dtype:?}: the output was written"));
        }
    }
    let mut longer = case.stream.clone();
    longer.resize(case.stream.len() + 77, 0x77);
    let (report, image) = bench.decompress(&case.request, &case.place, &longer)?;
    check_reports(&report, &case.output_report)?;
    check_images(&image, &case.output, &case.place, 4)
}

pub fn concurrent_calls(device: &Device) -> Check {
    let cases = [
        Case::new(&synthetic(500, 300), Mode::BlockWise, 1e-3),
        Case::new(&synthetic(257, 511), Mode::Speculative, 1e-2),
    ];
    let context = device.handle();
    std::thread::scope(|scope| {
        let threads = cases.each_ref().map(|case| {
            scope.spawn(move || {
                let work = || -> Check {
                    let bench = case.bench()?;
                    for _ in 0..20 {
                        let (report, stream) =
                            bench.compress(&case.request, &case.place, &case.image, case.capacity())?;
                        check_streams(&stream, &case.stream)?;
                        check_reports(&report, &case.report)?;
                        let (_, image) = bench.decompress(&case.request, &case.place, &case.stream)?;
                        check_images(&image, &case.output, &case.place, 4)?;
                    }
                    Ok(())
                };
                Device::enter(context, work).map_err(text)?
            })
        });
        threads.into_iter().try_for_each(|t| t.join().map_err(|_| "a thread panicked".to_owned())?)
    })
}

/// Two calls in flight at once on two streams, nothing between them.
pub fn overlapping_calls(_: &Device) -> Check {
    let cases = [
        Case::new(&synthetic(700, 500), Mode::BlockWise, 1e-3),
        Case::new(&synthetic(640, 512), Mode::Speculative, 1e-2),
    ];
    let benches = [cases[0].bench()?, cases[1].bench()?];
    let buffers = [0, 1].map(|k| {
        let workspace = compress_plan(&cases[k].request);
        benches[k].buffers(&cases[k].place, Dtype::F32, cases[k].capacity(), workspace)
    });
    for k in [0, 1] {
        benches[k].spoil(compress_plan(&cases[k].request)).map_err(text)?;
        benches[k].field.write(&cases[k].image).map_err(text)?;
    }
    for _ in 0..10 {
        for k in [0, 1] {
            // SAFETY: the buffers live until both streams are synchronised.
            unsafe { compress_device(&cases[k].request, &buffers[k], benches[k].queue.stream()) }
                .map_err(text)?;
        }
    }
    for k in [0, 1] {
        benches[k].queue.synchronize().map_err(text)?;
        check_reports(&benches[k].report()?, &cases[k].report)?;
        check_streams(&benches[k].stream.read(cases[k].stream.len()).map_err(text)?, &cases[k].stream)?;
    }
    Ok(())
}

pub fn bad_arguments(_: &Device) -> Check {
    let case = small_case();
    let bench = case.bench()?;
    let workspace_bytes = compress_plan(&case.request).max(decompress_plan(&case.request));
    let good = bench.buffers(&case.place, Dtype::F32, case.capacity(), workspace_bytes);
    let host = vec![0u64; 1 << 16];
    let host = (host.as_ptr() as u64).next_multiple_of(256);
    let pinned = Buffer::pinned(workspace_bytes + 256).map_err(text)?;
    let invalid = Status::InvalidArgument;
    let cases: Vec<(&str, Buffers, Status)> = vec![
        ("u", Buffers { u: host, ..good }, invalid),
        ("v", Buffers { v: host, ..good }, invalid),
        ("stream", Buffers { stream: host, ..good }, invalid),
        ("workspace", Buffers { workspace: host, ..good }, invalid),
        ("workspace", Buffers { workspace: pinned.pointer().next_multiple_of(256), ..good }, invalid),
        ("report", Buffers { report: host, ..good }, invalid),
        ("u", Buffers { u: 0, ..good }, invalid),
        ("v", Buffers { v: good.v + 2, ..good }, invalid),
        ("stream", Buffers { stream: good.stream + 4, ..good }, invalid),
        ("workspace", Buffers { workspace: good.workspace + 128, ..good }, invalid),
        ("report", Buffers { report: good.report + 4, ..good }, invalid),
        ("workspace", Buffers { workspace_bytes: 1024, ..good }, Status::WorkspaceTooSmall),
        // More bytes than any allocation has.
        ("workspace", Buffers { workspace_bytes: 1 << 45, ..good }, invalid),
        ("stream", Buffers { stream_bytes: 1 << 45, ..good }, invalid),
    ];
    bench.report.fill(POISON).map_err(text)?;
    for (name, buffers, status) in &cases {
        for direction in ["compress", "decompress"] {
            let queue = bench.queue.stream();
            // SAFETY: refused before anything is enqueued.
            let answer = unsafe {
                match direction {
                    "compress" => compress_device(&case.request, buffers, queue),
                    _ => decompress_device(&case.request, buffers, queue),
                }
            };
            let name = match (*name, direction) {
                ("stream", "compress") => "dst",
                ("stream", _) => "src",
                (name, _) => name,
            };
            match answer {
                Err(e) if e.status == *status && e.message.starts_with(name) => {}
                other => return Err(format!("{direction} with bad {name}: {other:?}")),
            }
        }
    }
    let short = Buffers { stream_bytes: 127, ..good };
    // SAFETY: refused before anything is enqueued.
    match unsafe { compress_device(&case.request, &short, bench.queue.stream()) } {
        Err(e) if e.status == invalid && e.message.contains("127") => {}
        other => return Err(format!("dst_bytes = 127: {other:?}")),
    }
    bench.queue.synchronize().map_err(text)?;
    match bench.report.read(0, REPORT_BYTES).map_err(text)?.iter().all(|&b| b == POISON) {
        true => Ok(()),
        false => Err("a refused call wrote the report".into()),
    }
}

/// Default streams, a report in pinned host memory, a field in managed memory, a stream in pinned memory.
pub fn kinds_of_memory_and_streams(device: &Device) -> Check {
    let case = small_case();
    let bench = case.bench()?;
    let workspace_bytes = compress_plan(&case.request);
    let pinned = Buffer::pinned(256).map_err(text)?;
    let managed = Buffer::managed(case.image.len()).map_err(text)?;
    let pinned_stream = Buffer::pinned(case.capacity() + 256).map_err(text)?;
    managed.write(0, &case.image).map_err(text)?;
    device.synchronize().map_err(text)?;
    let good = bench.buffers(&case.place, Dtype::F32, case.capacity(), workspace_bytes);
    let at = pinned_stream.pointer().next_multiple_of(256);
    let kinds = [
        Buffers { report: pinned.pointer(), ..good },
        Buffers {
            u: managed.pointer(),
            v: managed.pointer() + case.place.v_at * 4,
            report: pinned.pointer(),
            ..good
        },
        Buffers { stream: at, report: pinned.pointer(), ..good },
    ];
    for (k, buffers) in kinds.iter().enumerate() {
        for stream in [bench.queue.stream(), 0 as Stream, 1 as Stream, 2 as Stream] {
            bench.spoil(workspace_bytes).map_err(text)?;
            bench.field.write(&case.image).map_err(text)?;
            device.synchronize().map_err(text)?;
            // SAFETY: the buffers live until the device is synchronised.
            unsafe { compress_device(&case.request, buffers, stream) }
                .map_err(|e| format!("kind {k}, stream {stream:?}: {}", text(e)))?;
            device.synchronize().map_err(text)?;
            check_reports(&pinned.read_report().map_err(text)?, &case.report)?;
            let bytes = match k {
                2 => pinned_stream.read((at - pinned_stream.pointer()) as usize, case.stream.len()),
                _ => bench.stream.read(case.stream.len()),
            };
            check_streams(&bytes.map_err(text)?, &case.stream)?;
        }
    }
    Ok(())
}

/// Without a checksum the same bits come out.
pub fn unchecked(_: &Device) -> Check {
    let case = small_case();
    let config = Config { verify_checksum: false, ..*case.request.config() };
    let request = Request::new(config).map_err(text)?;
    let (report, image) = case.bench()?.decompress(&request, &case.place, &case.stream)?;
    check_reports(&report, &case.output_report)?;
    check_images(&image, &case.output, &case.place, 4)
}

/// A field on the device against what the host made of it, both ways.
fn check_case(case: &Case) -> Check {
    let bench = case.bench()?;
    let (report, stream) = bench.compress(&case.request, &case.place, &case.image, case.capacity())?;
    check_streams(&stream, &case.stream)?;
    check_reports(&report, &case.report)?;
    let (report, image) = bench.decompress(&case.request, &case.place, &case.stream)?;
    check_images(&image, &case.output, &case.place, case.request.config().dtype.bytes() as usize)?;
    check_reports(&report, &case.output_report)
}

/// More tiles than some grids have blocks.
pub fn many_tiles(_: &Device) -> Check {
    for (nx, ny, mode) in [
        (4096, 2500, Mode::BlockWise),
        (100_000, 33, Mode::Speculative),
        (3, 300_000, Mode::BlockWise),
        (1, 2_000_000, Mode::BlockWise),
        (2_000_000, 1, Mode::Speculative),
    ] {
        check_case(&Case::new(&synthetic(nx, ny), mode, 1e-3)).map_err(|e| format!("{nx} x {ny}: {e}"))?;
    }
    Ok(())
}

/// Of the Lorenzo predictor, more whole tiles with limits than 8,192 (MANY_WHOLE_TILES), from where on a kernel of their own has them: at
/// this bound 9,551 of the 9,906 whole tiles come near the origin.
pub fn many_limited_tiles(_: &Device) -> Check {
    let source = synthetic(4096, 2500);
    let configuration = |coder| (Mode::BlockWise, Predictor::Lorenzo, coder);
    let named = |name: &'static str| move |e| format!("{name}: {e}");
    check_case(&Case::of::<f32>(&source, Dtype::F32, configuration(Coder::Ans), 0.3))
        .map_err(named("f32"))?;
    check_case(&Case::of::<f64>(&source, Dtype::F64, configuration(Coder::Huffman), 0.3))
        .map_err(named("f64"))
}

/// A stream of one predictor where the call expects the other one.
pub fn unexpected_predictors(_: &Device) -> Check {
    let predictors = [Predictor::Hierarchical, Predictor::Lorenzo];
    for (source, bound) in [(synthetic(700, 333), 1e-2), (synthetic(64, 65), 1e-1), (synthetic(33, 31), 1e-9)]
    {
        for (predictor, other) in predictors.into_iter().zip(predictors.into_iter().rev()) {
            for dtype in [Dtype::F32, Dtype::F64] {
                let configuration = (Mode::BlockWise, predictor, Coder::Ans);
                let case = match dtype {
                    Dtype::F32 => Case::of::<f32>(&source, dtype, configuration, bound),
                    Dtype::F64 => Case::of::<f64>(&source, dtype, configuration, bound),
                };
                let expected = Config { predictor: other, ..*case.request.config() };
                let request = Request::new(expected).map_err(text)?;
                let name = |e| format!("{} {dtype:?} {predictor:?}: {e}", source.name);
                let bench = case.bench()?;
                let (report, image) = bench.decompress(&request, &case.place, &case.stream).map_err(name)?;
                check_images(&image, &case.output, &case.place, dtype.bytes() as usize).map_err(name)?;
                check_reports(&report, &case.output_report).map_err(name)?;
            }
        }
    }
    Ok(())
}

/// In a context that was made anew the kernels are loaded again, but not while a stream is captured. The
/// last scenario: everything on the device is gone after it.
pub fn fresh_contexts(device: &Device) -> Check {
    let case = small_case();
    for _ in 0..2 {
        // SAFETY: all other scenarios have freed what they had.
        unsafe { device.reset() }.map_err(text)?;
        let again = Device::open().map_err(text)?;
        let bench = case.bench()?;
        let buffers = bench.buffers(&case.place, Dtype::F32, case.capacity(), compress_plan(&case.request));
        let stream = bench.queue.stream();
        // SAFETY: nothing is enqueued.
        let captured = bench.queue.capture(|| unsafe { compress_device(&case.request, &buffers, stream) });
        match captured {
            Err(e) if e.message.contains("factz_prepare_device") => {}
            Err(e) => return Err(format!("captured before the kernels were loaded: {}", text(e))),
            Ok(_) => return Err("captured although the kernels cannot have been loaded".into()),
        }
        // SAFETY: a live stream.
        unsafe { prepare_device(stream) }.map_err(text)?;
        let (_, stream) = bench.compress(&case.request, &case.place, &case.image, case.capacity())?;
        check_streams(&stream, &case.stream)?;
        drop(bench);
        drop(again);
    }
    Ok(())
}
