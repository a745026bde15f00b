//! The answers of the host functions, and whether the device answers the same.

use crate::fields::{synthetic, Placement};
use crate::matrix::Configuration;
use crate::memory::Bench;
use crate::support::fields::Field;
use crate::{ensure, Check, POISON};
use factz::stream::header::{Header, HEADER_BYTES};
use factz::stream::sections::GROUP_ALIGNMENT;
use factz::{Coder, Config, Error, Execution, Mode, Predictor, Real, Report, Request, Status};

/// A field in memory, its request and what the host makes of it.
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
    pub fn new(field: &Field<f32>, mode: Mode, bound: f64) -> Case {
        Case::of::<f32>(field, (mode, Predictor::Hierarchical, Coder::Ans), bound)
    }

    /// A dense field with a relative bound.
    pub fn of<T: Real>(field: &Field<f32>, (mode, predictor, coder): Configuration, bound: f64) -> Case {
        let place = Placement::new(0, [field.nx, field.ny]);
        let config = Config { mode, predictor, coder, bound, ..place.config::<T>() };
        Case::placed::<T>(field, place, config)
    }

    pub fn placed<T: Real>(field: &Field<f32>, place: Placement, config: Config) -> Case {
        let request = Request::new(config).expect("a request");
        let image = place.image::<T>(field);
        let (report, stream) = host_compress::<T>(&request, &place, &image);
        let (output_report, output) =
            host_decompress::<T>(&request, &place, &stream).expect("the host decompresses its stream");
        Case { place, request, image, report, stream, output, output_report }
    }

    pub fn capacity(&self) -> usize {
        factz::max_stream_bytes(&self.request) as usize
    }

    pub fn bench(&self) -> Result<Bench, Error> {
        Bench::new([self.place.nx, self.place.ny], self.request.config().dtype)
    }

    /// Report and stream of a device.
    pub fn check_stream(&self, (report, stream): (Report, Vec<u8>)) -> Check {
        check_streams(&stream, &self.stream)?;
        check_reports(&report, &self.report)
    }

    /// Report and output of a device.
    pub fn check_output(&self, (report, image): (Report, Vec<u8>)) -> Check {
        let bytes = self.request.config().dtype.bytes() as usize;
        check_images(&image, &self.output, &self.place, bytes)?;
        check_reports(&report, &self.output_report)
    }

    /// A device does the same, both ways.
    pub fn check(&self, bench: &Bench) -> Check {
        self.check_stream(bench.compress(&self.request, &self.place, &self.image, self.capacity())?)?;
        self.check_output(bench.decompress(&self.request, &self.place, &self.stream)?)
    }
}

pub fn small_case() -> Case {
    Case::new(&synthetic(300, 200), Mode::BlockWise, 1e-2)
}

/// Small fields are done sooner by one thread.
pub fn execution(place: &Placement) -> Execution<'static> {
    Execution { threads: if place.nx * place.ny < 1 << 16 { 1 } else { 0 }, progress: None }
}

pub fn host_compress<T: Real>(request: &Request, place: &Placement, image: &[u8]) -> (Report, Vec<u8>) {
    let mut dst = vec![0; factz::max_stream_bytes(request) as usize];
    let [u, v] = place.views::<T>(image);
    let report =
        factz::compress(request, u, v, &mut dst, execution(place)).expect("the host compresses the field");
    assert_eq!(report.status, Status::Ok);
    dst.truncate(report.stream_bytes as usize);
    (report, dst)
}

pub fn host_decompress<T: Real>(
    request: &Request,
    place: &Placement,
    stream: &[u8],
) -> Result<(Report, Vec<u8>), Error> {
    let mut image = vec![POISON; place.elements as usize * T::BYTES];
    let [u, v] = place.views_mut::<T>(&mut image);
    let report = factz::decompress(request.config(), stream, u, v, execution(place))?;
    Ok((report, image))
}

pub fn check_reports(device: &Report, host: &Report) -> Check {
    let bits = |r: &Report| (r.bound.to_bits(), r.max_error.to_bits());
    let same = device == host && bits(device) == bits(host);
    ensure!(same, "reports differ:\n    device {device:?}\n    host   {host:?}");
    Ok(())
}

/// Where in a coded stream a byte lies.
pub fn part_of(stream: &[u8], at: usize) -> String {
    let Ok(h) = Header::read(stream) else { return "no stream".into() };
    let sizes = HEADER_BYTES + h.table_bytes as usize;
    let mut begin = sizes + 4 * h.groups as usize;
    if at < HEADER_BYTES {
        return format!("header byte {at}");
    } else if at < sizes {
        return format!("byte {} of {} of the tables", at - HEADER_BYTES, h.table_bytes);
    } else if at < begin {
        return format!("size of group {} of {}", (at - sizes) / 4, h.groups);
    }
    for (group, size) in stream[sizes..begin].chunks_exact(4).enumerate() {
        let size = u32::from_le_bytes([size[0], size[1], size[2], 0]) as usize;
        if at < begin + size {
            return format!("byte {} of {size} of group {group} of {}", at - begin, h.groups);
        }
        begin += size.next_multiple_of(GROUP_ALIGNMENT);
    }
    "past the groups".into()
}

pub fn check_streams(device: &[u8], host: &[u8]) -> Check {
    if device == host {
        return Ok(());
    }
    let differ = device.iter().zip(host).filter(|(a, b)| a != b).count();
    // The checksum differs whenever something does.
    let first = device.iter().zip(host).enumerate().position(|(k, (a, b))| a != b && !(8..12).contains(&k));
    let at = first.unwrap_or(device.len().min(host.len()));
    let (n, of, part) = (device.len(), host.len(), part_of(host, at));
    Err(format!("streams differ: {n} bytes (host {of}), {differ} differ, the first at {at}: {part}").into())
}

pub fn check_images(device: &[u8], host: &[u8], place: &Placement, bytes: usize) -> Check {
    let Some(at) = device.iter().zip(host).position(|(a, b)| a != b) else { return Ok(()) };
    let element = (at / bytes) as u64;
    let wrong = device.chunks(bytes).zip(host.chunks(bytes)).filter(|(a, b)| a != b).count();
    for (name, layout, first) in [("u", place.u, place.u_at), ("v", place.v, place.v_at)] {
        if element >= first {
            let (y, rest) = ((element - first) / layout.pitch, (element - first) % layout.pitch);
            if y < place.ny && rest % layout.stride == 0 && rest / layout.stride < place.nx {
                let hex = |b: &[u8]| b.iter().rev().map(|b| format!("{b:02x}")).collect::<String>();
                let [device, host] = [device, host].map(|all| hex(&all[at / bytes * bytes..][..bytes]));
                let x = rest / layout.stride;
                let first = format!("{name}({x}, {y}): device {device} host {host}");
                return Err(format!("{wrong} values differ, the first {first}").into());
            }
        }
    }
    Err(format!("{wrong} values differ, the first in a gap, element {element}").into())
}
