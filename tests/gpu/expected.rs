//! What the host functions answer, and whether the device answers the same.

use crate::fields::Placement;
use crate::{Check, POISON};
use factz::stream::header::{Header, HEADER_BYTES};
use factz::Execution;
use factz::Real;
use factz::{Error, Report, Request, Status};

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
    if device == host && bits(device) == bits(host) {
        return Ok(());
    }
    Err(format!("reports differ:\n    device {device:?}\n    host   {host:?}"))
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
        begin += size;
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
    Err(format!(
        "streams differ: {} bytes (host {}), {differ} differ, the first at {at}: {}",
        device.len(),
        host.len(),
        part_of(host, at)
    ))
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
                return Err(format!(
                    "{wrong} values differ, the first {name}({}, {y}): device {} host {}",
                    rest / layout.stride,
                    hex(&device[at / bytes * bytes..][..bytes]),
                    hex(&host[at / bytes * bytes..][..bytes])
                ));
            }
        }
    }
    Err(format!("{wrong} values differ, the first in a gap, element {element}"))
}
