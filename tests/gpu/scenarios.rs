//! The ways in which applications use the device functions, one scenario each.

use crate::device::memory::{Buffer, REPORT_BYTES};
use crate::device::Device;
use crate::expected::{small_case, Case};
use crate::fields::{synthetic, Placement};
use crate::golden::golden_streams;
use crate::matrix::CONFIGURATIONS;
use crate::memory::{compress_plan, decompress_plan, Guarded};
use crate::support::fields::Field;
use crate::{ensure, Check, POISON};
use factz::device::{compress_device, decompress_device, prepare_device, set_overlap, Buffers, Stream};
use factz::{BoundKind, Coder, Config, Dtype, Error, Layout, Mode, Predictor, Request, Status};

/// A compression and the decompression of what it wrote, recorded once, replayed on other data.
pub fn graphs(_: &Device) -> Check {
    let ordinary = synthetic(300, 200);
    let [_, v] = &ordinary.components;
    let other = Field { components: [v.clone(), v.clone()], ..ordinary };
    for configuration in CONFIGURATIONS {
        let cases = [&ordinary, &other].map(|field| Case::of::<f32>(field, configuration, 1e-2));
        let bench = cases[0].bench()?;
        let (request, place) = (&cases[0].request, &cases[0].place);
        let output = Guarded::new(cases[0].output.len())?;
        let second_report = Buffer::new(REPORT_BYTES)?;
        let workspace_bytes = compress_plan(request).max(decompress_plan(request));
        let compress = bench.buffers(request, place, cases[0].capacity(), workspace_bytes);
        let decompress = Buffers {
            u: output.pointer(),
            v: output.pointer() + place.v_at * 4,
            report: second_report.pointer(),
            ..compress
        };
        let stream = bench.queue.stream();
        // SAFETY: the buffers outlive the graph.
        unsafe { prepare_device(stream) }?;
        // SAFETY: as above.
        let graph = bench.queue.capture(|| unsafe {
            compress_device(request, &compress, stream)?;
            decompress_device(request, &decompress, stream)
        })?;
        for case in cases.iter().cycle().take(6) {
            bench.spoil(workspace_bytes)?;
            bench.field.write(&case.image)?;
            graph.launch(&bench.queue).and(bench.queue.synchronize())?;
            case.check_stream((bench.report()?, bench.stream.read(case.stream.len())?))?;
            case.check_output((second_report.read_report()?, output.read(case.output.len())?))?;
            output.buffer.fill(POISON)?;
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
            let answer = bench
                .compress(&case.request, &case.place, &case.image, capacity)
                .map_err(|e| format!("capacity {capacity} of {n}: {e}"))?;
            if capacity >= n {
                case.check_stream(answer)?;
                continue;
            }
            let told = (answer.0.status, answer.0.required_bytes);
            ensure!(told == (Status::BufferTooSmall, n as u64), "capacity {capacity} of {n}: {told:?}");
        }
    }
    Ok(())
}

/// A stream of other dimensions or another type is an invalid argument; more bytes behind it do no harm, nor
/// does a checksum that is not compared.
pub fn other_streams(_: &Device) -> Check {
    let case = small_case();
    let bench = case.bench()?;
    for (nx, ny, dtype) in [(200, 300, Dtype::F32), (300, 199, Dtype::F32), (150, 200, Dtype::F64)] {
        let config = Config { dtype, ..Config::new(nx, ny, BoundKind::Relative, 1e-2) };
        let n = nx * ny;
        let layout = Layout { pitch: nx, stride: 1, plane: 0 };
        let place = Placement { nx, ny, u: layout, v: layout, v_at: n, elements: 2 * n, ..case.place };
        let (report, image) = bench.decompress(&Request::new(config)?, &place, &case.stream)?;
        ensure!(report.status == Status::InvalidArgument, "{nx} x {ny} {dtype:?}: {report:?}");
        ensure!(image.iter().all(|&b| b == POISON), "{nx} x {ny} {dtype:?}: the output was written");
    }
    let longer = [&case.stream[..], &[0x77; 77]].concat();
    case.check_output(bench.decompress(&case.request, &case.place, &longer)?)?;
    let unchecked = Request::new(Config { verify_checksum: false, ..*case.request.config() })?;
    case.check_output(bench.decompress(&unchecked, &case.place, &case.stream)?)
}

pub fn concurrent_calls(device: &Device) -> Check {
    let cases = [
        Case::new(&synthetic(500, 300), Mode::BlockWise, 1e-3),
        Case::new(&synthetic(257, 511), Mode::Speculative, 1e-2),
    ];
    let context = device.handle();
    std::thread::scope(|scope| {
        let threads = cases.each_ref().map(|case| {
            let work = || -> Check {
                let bench = case.bench()?;
                (0..20).try_for_each(|_| case.check(&bench))
            };
            scope.spawn(move || Device::enter(context, work)?)
        });
        threads.into_iter().try_for_each(|t| t.join().map_err(|_| "a thread panicked")?)
    })
}

/// Two calls in flight at once on two streams, nothing between them.
pub fn overlapping_calls(_: &Device) -> Check {
    let cases = [
        Case::new(&synthetic(700, 500), Mode::BlockWise, 1e-3),
        Case::new(&synthetic(640, 512), Mode::Speculative, 1e-2),
    ];
    let benches = [cases[0].bench()?, cases[1].bench()?];
    for (case, bench) in cases.iter().zip(&benches) {
        bench.spoil(compress_plan(&case.request))?;
        bench.field.write(&case.image)?;
    }
    for _ in 0..10 {
        for (case, bench) in cases.iter().zip(&benches) {
            let plan = compress_plan(&case.request);
            let buffers = bench.buffers(&case.request, &case.place, case.capacity(), plan);
            // SAFETY: the buffers live until both streams are synchronised.
            unsafe { compress_device(&case.request, &buffers, bench.queue.stream()) }?;
        }
    }
    for (case, bench) in cases.iter().zip(&benches) {
        bench.queue.synchronize()?;
        case.check_stream((bench.report()?, bench.stream.read(case.stream.len())?))?;
    }
    Ok(())
}

/// As the driver tells memory of the host from that of the device; tests/promises/enqueuing.rs has all that
/// is refused, on a stand-in for the driver.
pub fn bad_arguments(_: &Device) -> Check {
    type Call = unsafe fn(&Request, &Buffers, Stream) -> Result<(), Error>;
    let case = small_case();
    let bench = case.bench()?;
    let workspace_bytes = compress_plan(&case.request).max(decompress_plan(&case.request));
    let good = bench.buffers(&case.request, &case.place, case.capacity(), workspace_bytes);
    let host = vec![0u64; 1 << 16];
    let host = (host.as_ptr() as u64).next_multiple_of(256);
    let pinned = Buffer::pinned(workspace_bytes + 256)?.pointer().next_multiple_of(256);
    bench.report.fill(POISON)?;
    for (call, stream_name) in [(compress_device as Call, "dst"), (decompress_device as Call, "src")] {
        for (name, buffers, status) in [
            ("u", Buffers { u: host, ..good }, Status::InvalidArgument),
            ("v", Buffers { v: host, ..good }, Status::InvalidArgument),
            (stream_name, Buffers { stream: host, ..good }, Status::InvalidArgument),
            ("workspace", Buffers { workspace: host, ..good }, Status::InvalidArgument),
            ("workspace", Buffers { workspace: pinned, ..good }, Status::InvalidArgument),
            ("report", Buffers { report: host, ..good }, Status::InvalidArgument),
            ("workspace", Buffers { workspace_bytes: 1024, ..good }, Status::WorkspaceTooSmall),
            // More bytes than any allocation has.
            ("workspace", Buffers { workspace_bytes: 1 << 45, ..good }, Status::InvalidArgument),
            (stream_name, Buffers { stream_bytes: 1 << 45, ..good }, Status::InvalidArgument),
        ] {
            // SAFETY: refused before anything is enqueued.
            match unsafe { call(&case.request, &buffers, bench.queue.stream()) } {
                Err(e) if e.status == status && e.message.starts_with(name) => {}
                other => return Err(format!("{stream_name}, bad {name}: {other:?}").into()),
            }
        }
    }
    bench.queue.synchronize()?;
    let report = bench.report.read(0, REPORT_BYTES)?;
    ensure!(report.iter().all(|&b| b == POISON), "a refused call wrote the report");
    Ok(())
}

/// Default streams, a report in pinned host memory, a field in managed memory, a stream in pinned memory.
pub fn kinds_of_memory_and_streams(device: &Device) -> Check {
    let case = small_case();
    let bench = case.bench()?;
    let workspace_bytes = compress_plan(&case.request);
    let pinned = Buffer::pinned(256)?;
    let managed = Buffer::managed(case.image.len())?;
    let pinned_stream = Buffer::pinned(case.capacity() + 256)?;
    managed.write(0, &case.image)?;
    device.synchronize()?;
    let good = Buffers {
        report: pinned.pointer(),
        ..bench.buffers(&case.request, &case.place, case.capacity(), workspace_bytes)
    };
    let at = pinned_stream.pointer().next_multiple_of(256);
    let of_managed = (managed.pointer(), managed.pointer() + case.place.v_at * 4);
    let kinds = [good, Buffers { u: of_managed.0, v: of_managed.1, ..good }, Buffers { stream: at, ..good }];
    for (k, buffers) in kinds.iter().enumerate() {
        for stream in [bench.queue.stream(), 0 as Stream, 1 as Stream, 2 as Stream] {
            bench.spoil(workspace_bytes)?;
            bench.field.write(&case.image)?;
            device.synchronize()?;
            // SAFETY: the buffers live until the device is synchronised.
            unsafe { compress_device(&case.request, buffers, stream) }
                .map_err(|e| format!("kind {k}, stream {stream:?}: {e}"))?;
            device.synchronize()?;
            let bytes = match k {
                2 => pinned_stream.read((at - pinned_stream.pointer()) as usize, case.stream.len()),
                _ => bench.stream.read(case.stream.len()),
            };
            case.check_stream((pinned.read_report()?, bytes?))?;
        }
    }
    Ok(())
}

/// More tiles than some grids have blocks, in narrow fields too, whose first column of tiles is land.
pub fn many_tiles(_: &Device) -> Check {
    let lorenzo = (Mode::BlockWise, Predictor::Lorenzo, Coder::Ans);
    for ([nx, ny], configuration) in [
        ([4096, 2500], CONFIGURATIONS[0]),
        ([100_000, 33], CONFIGURATIONS[1]),
        ([3, 300_000], CONFIGURATIONS[0]),
        ([1, 2_000_000], CONFIGURATIONS[0]),
        ([2_000_000, 1], CONFIGURATIONS[1]),
        ([40, 400_000], CONFIGURATIONS[0]),
        ([40, 400_000], CONFIGURATIONS[1]),
        ([40, 400_000], lorenzo),
        ([8_000_000, 2], CONFIGURATIONS[0]),
        ([8_000_000, 2], lorenzo),
    ] {
        let mut field = synthetic(nx, ny);
        let is_land = |k: &usize| nx == 40 && *k as u64 % nx < 32;
        (0..field.len()).filter(is_land).for_each(|k| field.set(k, [0.0; 2]));
        let case = Case::of::<f32>(&field, configuration, 1e-3);
        case.check(&case.bench()?).map_err(|e| format!("{nx} x {ny}, {configuration:?}: {e}"))?;
    }
    Ok(())
}

/// More than MANY_CONSTRAINED_TILES (8,192) constrained tiles of the Lorenzo predictor: the kernel
/// `lorenzo_constrained` codes them only if there are so many. At this bound 9,551 of the 9,906 interior
/// tiles come near the origin.
pub fn many_constrained_tiles(_: &Device) -> Check {
    let field = synthetic(4096, 2500);
    for (of, coder) in [(Case::of::<f32> as fn(_, _, _) -> _, Coder::Ans), (Case::of::<f64>, Coder::Huffman)]
    {
        let case = of(&field, (Mode::BlockWise, Predictor::Lorenzo, coder), 0.3);
        case.check(&case.bench()?).map_err(|e| format!("{coder:?}: {e}"))?;
    }
    Ok(())
}

/// A stream of one predictor where the call expects the other one.
pub fn unexpected_predictors(_: &Device) -> Check {
    let predictors = [Predictor::Hierarchical, Predictor::Lorenzo];
    for ((nx, ny), bound) in [((700, 333), 1e-2), ((64, 65), 1e-1), ((33, 31), 1e-9)] {
        let field = synthetic(nx, ny);
        for (predictor, other) in predictors.into_iter().zip(predictors.into_iter().rev()) {
            for of in [Case::of::<f32>, Case::of::<f64>] {
                let case = of(&field, (Mode::BlockWise, predictor, Coder::Ans), bound);
                let request = Request::new(Config { predictor: other, ..*case.request.config() })?;
                let answer = case.bench()?.decompress(&request, &case.place, &case.stream);
                answer
                    .and_then(|answer| case.check_output(answer))
                    .map_err(|e| format!("{:?}: {e}", request.config()))?;
            }
        }
    }
    Ok(())
}

/// The bytes are those of the host also where no kernel begins before the previous one has ended.
pub fn without_overlap(device: &Device) -> Check {
    let before = set_overlap(false);
    let result = in_order(device);
    set_overlap(before);
    result
}

fn in_order(device: &Device) -> Check {
    for field in [synthetic(300, 200), synthetic(700, 500)] {
        for configuration in CONFIGURATIONS {
            for case in [1e-1, 1e-3].map(|bound| Case::of::<f32>(&field, configuration, bound)) {
                case.check(&case.bench()?)?;
            }
            let case = Case::of::<f64>(&field, configuration, 1e-2);
            case.check(&case.bench()?)?;
        }
    }
    golden_streams(device)
}

/// In a context that was made anew the kernels are loaded again, but not while a stream is captured. The
/// last scenario: everything on the device is gone after it.
pub fn fresh_contexts(device: &Device) -> Check {
    let case = small_case();
    for _ in 0..2 {
        // SAFETY: all other scenarios have freed what they had.
        unsafe { device.reset() }?;
        let again = Device::open()?;
        let bench = case.bench()?;
        let plan = compress_plan(&case.request);
        let buffers = bench.buffers(&case.request, &case.place, case.capacity(), plan);
        let stream = bench.queue.stream();
        // SAFETY: nothing is enqueued.
        let captured = bench.queue.capture(|| unsafe { compress_device(&case.request, &buffers, stream) });
        let error = captured.err().ok_or("captured although the kernels cannot have been loaded")?;
        ensure!(
            error.message.contains("factz_prepare_device"),
            "captured before the kernels were loaded: {error}"
        );
        // SAFETY: a live stream.
        unsafe { prepare_device(stream) }?;
        case.check(&bench)?;
        drop(bench);
        drop(again);
    }
    Ok(())
}
