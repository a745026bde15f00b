//! The golden streams, whole and damaged.

use super::*;
use crate::golden::{first_element, golden, input_field};
use crate::support::golden::{config, text, typed};
use factz::Status;

#[test]
fn kernels_write_the_golden_streams() {
    needs!("g++");
    let (manifest, cases) = golden();
    assert!(cases.len() > 100, "{} golden streams", cases.len());
    for_each("emulated_compression", &cases, |(case, stream), folder| {
        for order in ORDERS {
            let (config, first) = (config(case, 0), first_element(&manifest, case));
            let written = typed!(case, T =>
                compressed(&input_field::<T>(&manifest, case), &config, first, order, folder));
            assert!(written.0 == *stream, "{}, order {order}: another stream", case["name"]);
        }
    });
}

#[test]
#[ignore = "make test-all"]
fn kernels_restore_the_golden_streams() {
    needs!("g++");
    for_each("emulated_decompression", &golden().1, |(case, stream), folder| {
        for order in ORDERS {
            let (config, name) = (config(case, 0), text(case, "name"));
            typed!(case, T => check_restoration::<T>(&config, stream, order, folder, name));
        }
    });
}

/// A copy with some bytes changed, and a checksum that says nothing of it.
fn damaged(stream: &[u8], seed: usize) -> Vec<u8> {
    let mut copy = stream.to_vec();
    let mut state = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..1 + seed % 3 {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        // Behind the fixed part of the header, whose damage ends everything at once.
        let from = factz::stream::header::HEADER_BYTES;
        let at = from + (state >> 33) as usize % (copy.len() - from).max(1);
        if let Some(byte) = copy.get_mut(at) {
            *byte ^= 1 << (state >> 60 & 7);
        }
    }
    factz::stream::checksum::seal(&mut copy);
    copy
}

/// The values of a stream as the library decodes them, or a status.
fn expected<T: Real>(config: &Config, stream: &[u8]) -> Result<[Vec<u8>; 2], Status> {
    Field::<T>::try_restored(config, stream, 1).map(|field| field.bytes()).map_err(|e| e.status)
}

#[test]
#[ignore = "make test-all"]
fn kernels_find_out_damaged_streams_as_the_library_does() {
    needs!("g++");
    let mut cases = golden().1;
    cases.retain(|(_, stream)| stream.len() > 200);
    let found = AtomicUsize::new(0);
    for_each("emulated_damage", &cases, |(case, stream), folder| {
        for (seed, order) in ORDERS.into_iter().enumerate() {
            let (config, stream) = (config(case, 0), damaged(stream, seed));
            let expected = typed!(case, T => expected::<T>(&config, &stream));
            found.fetch_add(expected.is_err() as usize, Ordering::Relaxed);
            let restored = restored(&config, None, order, folder, &stream);
            let is_same = restored == expected.map_err(|status| status as i32);
            assert!(is_same, "{}, damage {seed}: {:?}", case["name"], restored.err());
        }
    });
    assert!(found.into_inner() > 20, "the damage was found out too seldom");
}

/// Each byte of the header that holds a choice takes values that it may have and values that it may not have.
#[test]
#[ignore = "make test-all"]
fn kernels_read_the_choices_of_a_header_as_the_library_does() {
    needs!("g++");
    let mut cases = golden().1;
    cases.retain(|(case, _)| text(case, "name") == "example_f32");
    let (case, stream) = &cases[0];
    let check = |at: usize, bytes: &[u8], folder: &Path| {
        let (config, mut stream) = (config(case, 0), stream.clone());
        stream[at..at + bytes.len()].copy_from_slice(bytes);
        factz::stream::checksum::seal(&mut stream);
        let mut expected = expected::<f32>(&config, &stream).map_err(|status| status as i32);
        // The library wants one array of a stream of one component, which no kernel reads.
        if (at, bytes) == (26, &[1][..]) {
            assert_eq!(expected, Err(Status::InvalidArgument as i32));
            expected = Err(Status::Unsupported as i32);
        }
        let is_same = restored(&config, None, ORDERS[0], folder, &stream) == expected;
        assert!(is_same, "{bytes:?} at {at}: {:?}", expected.err());
        expected.is_err()
    };
    let refused = AtomicUsize::new(0);
    for_each("emulated_choices", &(12..28).collect::<Vec<usize>>(), |&byte, folder| {
        for value in [0, 1, 2, 3, 6, 0xff] {
            refused.fetch_add(check(byte, &[value], folder) as usize, Ordering::Relaxed);
        }
    });
    assert!(refused.into_inner() > 40, "too few of these headers were refused");
    // Bounds are not negative, but may be -0; the spacing is of either sign and not 0.
    let refused_numbers = AtomicUsize::new(0);
    for_each("emulated_numbers", &[56, 64, 72, 80, 88], |&at, folder| {
        for x in [0.0, -0.0, -1.0, 5e-324, -5e-324, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN] {
            let is_refused = check(at, &f64::to_le_bytes(x), folder);
            let is_bound = at < 80;
            let is_bad = !x.is_finite() || if is_bound { x < 0.0 } else { x == 0.0 };
            assert_eq!(is_refused, is_bad, "{x} at {at}");
            refused_numbers.fetch_add(is_refused as usize, Ordering::Relaxed);
        }
    });
    assert_eq!(refused_numbers.into_inner(), 5 * 6);
}
