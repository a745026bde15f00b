//! Damaged and forged streams: whatever the bytes are, the device answers, touches nothing that is not its
//! own, and works on afterwards. Small enough for compute-sanitizer.

use crate::device::Device;
use crate::expected::{part_of, Case};
use crate::fields::synthetic;
use crate::matrix::CONFIGURATIONS;
use crate::support::fields::{times, Field, Random};
use crate::{ensure, Check};
use factz::stream::checksum::seal;
use factz::stream::header::{Header, HEADER_BYTES};
use factz::{Config, Mode, Report, Request, Status};

/// A field with everything a stream can hold: missing values, land, and values that are stored exactly.
fn mixed(nx: u64, ny: u64) -> Field<f32> {
    let mut field = synthetic(nx, ny);
    for k in 0..field.len() {
        let (x, y) = (k as u64 % nx, k as u64 / nx);
        if (x / 7 + y / 9) % 4 == 0 {
            field.set(k, [0.0; 2]);
        } else if (x / 5 + y / 6) % 5 == 0 {
            field.set(k, [f64::NAN; 2]);
        } else if k % 61 == 0 {
            field.components[0][k] = f32::INFINITY;
        }
    }
    field
}

fn cases() -> Vec<Case> {
    vec![
        Case::new(&synthetic(300, 200), Mode::Speculative, 1e-2),
        Case::new(&synthetic(33, 65), Mode::BlockWise, 1e-3),
        Case::new(&synthetic(40, 40), Mode::BlockWise, 0.0),
        Case::new(&mixed(70, 50), Mode::Speculative, 1e-3),
        Case::of::<f64>(&mixed(64, 40), CONFIGURATIONS[0], 1e-6),
        Case::of::<f32>(&mixed(100, 70), CONFIGURATIONS[2], 1e-2),
        Case::of::<f64>(&mixed(70, 50), CONFIGURATIONS[3], 1e-3),
        Case::of::<f32>(&mixed(70, 100), CONFIGURATIONS[4], 1e-3),
        Case::of::<f32>(&mixed(100, 70), CONFIGURATIONS[5], 1e-2),
        Case::of::<f64>(&mixed(70, 50), CONFIGURATIONS[5], 1e-3),
    ]
}

/// Damages a stream of `n` bytes, and says how.
pub fn mutate(stream: &mut [u8], round: usize, random: &mut Random) -> String {
    let n = stream.len();
    let mut below = |n: usize| random.below(n as u64) as usize;
    let tables = Header::read(stream).map_or(0, |h| h.table_bytes as usize);
    // Each part of the stream gets its share, and each byte of the header its turn.
    let parts = [HEADER_BYTES, HEADER_BYTES + tables + 8, HEADER_BYTES + tables + 600, n];
    let byte = if round < 2 * HEADER_BYTES { round / 2 } else { below(parts[round % 4].min(n)) };
    let part = part_of(stream, byte);
    let how = match round % 7 {
        0 | 3 => {
            stream[byte] ^= 1 << below(8);
            "a bit flipped"
        }
        1 => {
            stream[byte] = below(256) as u8;
            "a random byte"
        }
        2 => {
            stream[byte..].iter_mut().take(64).for_each(|b| *b = below(256) as u8);
            "random bytes"
        }
        4 => {
            let word = [0, u32::MAX, i32::MAX as u32, 1 << below(32)][below(4)];
            let at = byte / 4 * 4;
            stream[at..at + 4].copy_from_slice(&word.to_le_bytes());
            "an extreme word"
        }
        6 => {
            // Dimensions, bounds, the fill pattern, lengths, groups.
            let number = [0, u64::MAX, 1 << 32, 1 << 48, 1 << below(64), 31, 33][below(7)];
            let at = 32 + 8 * below(12);
            stream[at..at + 8].copy_from_slice(&number.to_le_bytes());
            return format!("{number:#x} at byte {at} ({})", part_of(stream, at));
        }
        _ => {
            let (from, length) = (below(n), below(200));
            let copy: Vec<u8> = stream[from..].iter().take(length.min(n - byte)).copied().collect();
            stream[byte..byte + copy.len()].copy_from_slice(&copy);
            "bytes from elsewhere"
        }
    };
    format!("{how} at byte {byte} ({part})")
}

pub fn corrupt_streams(_: &Device) -> Check {
    let mutations = times("FACTZ_GPU_MUTATIONS", 400) as usize;
    for case in &cases() {
        damage(case, mutations)?;
    }
    Ok(())
}

fn damage(case: &Case, mutations: usize) -> Check {
    let bench = case.bench()?;
    let n = case.stream.len();
    let run = |stream: &[u8], verify_checksum: bool, what: &str| -> Check<Report> {
        let request = Request::new(Config { verify_checksum, ..*case.request.config() })?;
        let answer = bench.decompress(&request, &case.place, stream).map_err(|e| format!("{what}: {e}"))?;
        Ok(answer.0)
    };
    let intact = || case.check_output(bench.decompress(&case.request, &case.place, &case.stream)?);
    intact()?;
    for cut in [0, 1, 4, 64, 127, 128, 131, n / 3, n / 2, n - 256, n - 4, n - 1] {
        let what = format!("the first {cut} of {n} bytes");
        for verify in [true, false] {
            let status = run(&case.stream[..cut], verify, &what)?.status;
            ensure!(status == Status::CorruptStream, "{what}: {status:?}");
        }
    }
    let mut random = Random(7);
    for round in 0..mutations {
        let mut stream = case.stream.clone();
        let what = mutate(&mut stream, round, &mut random);
        if stream == case.stream {
            continue;
        }
        let status = run(&stream, true, &what)?.status;
        ensure!(status != Status::Ok, "{what}: the checksum was not compared");
        run(&stream, false, &format!("{what}, unchecked"))?;
        seal(&mut stream);
        run(&stream, true, &format!("{what}, resealed"))?;
        // Cut short as well, where nothing tells.
        let cut = HEADER_BYTES + 4 * random.below((n - HEADER_BYTES) as u64 / 4) as usize;
        stream.truncate(cut);
        stream[112..120].copy_from_slice(&(cut as u64).to_le_bytes());
        seal(&mut stream);
        run(&stream, true, &format!("{what}, cut to {cut} bytes and resealed"))?;
    }
    intact()
}
