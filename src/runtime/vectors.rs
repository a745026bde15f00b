//! Vector instructions beyond those that every processor has.

/// Does something in the widest vectors of this processor, which compute the same. What `work` calls must be
/// inlined to take part.
#[inline(always)]
pub fn in_wide_vectors<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,lzcnt,bmi1,bmi2")]
        unsafe fn avx2<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        let detected = std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("lzcnt")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2");
        if detected && !tests_narrow() {
            // SAFETY: the processor has these instructions.
            return unsafe { avx2(work) };
        }
    }
    work()
}

/// Whether a test looks at what is done on a processor without wide vectors.
#[cfg(target_arch = "x86_64")]
fn tests_narrow() -> bool {
    #[cfg(test)]
    return tests::NARROW.load(std::sync::atomic::Ordering::Relaxed);
    #[cfg(not(test))]
    false
}

/// The bytes that are `least` or above (1 to 128), as bits.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn bytes_above(bytes: &[u8; 32], least: u8) -> u32 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_max_epu8, _mm_movemask_epi8, _mm_set1_epi8,
    };
    let half = |at: usize| {
        let half: &[u8; 16] = bytes[at..at + 16].try_into().expect("sixteen bytes");
        // SAFETY: every processor of this architecture has SSE2, and the load takes the sixteen bytes.
        unsafe {
            let x = _mm_loadu_si128(half.as_ptr().cast::<__m128i>());
            _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(x, _mm_set1_epi8(least as i8)), x)) as u32
        }
    };
    half(0) | half(16) << 16
}

/// The bytes that are `least` or above (1 to 128), as bits: eight at a time.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn bytes_above(bytes: &[u8; 32], least: u8) -> u32 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = ONES << 7;
    let mut bits = 0;
    for (k, eight) in bytes.chunks_exact(8).enumerate() {
        let x = u64::from_le_bytes(eight.try_into().expect("eight bytes"));
        let above = (x | ((x & !HIGH) + ONES * (128 - least as u64))) & HIGH;
        // The high bits come together in the highest byte.
        bits |= (((above >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32) << (8 * k);
    }
    bits
}

#[cfg(test)]
mod tests {
    use crate::cpu::{compress, max_stream_bytes, Execution};
    use crate::grid::element::Real;
    use crate::grid::field::View;
    use crate::request::{BoundKind, Config, Dtype, Mode, Predictor, Request};
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Other tests that run meanwhile write the same streams.
    pub(super) static NARROW: AtomicBool = AtomicBool::new(false);

    fn both_are_the_same<T: Real>(dtype: Dtype) {
        let (nx, ny) = (300u64, 170u64);
        let noise = |k: u64| (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / (1 << 24) as f64;
        let wave = |a: f64, b: f64, c: f64| -> Vec<T> {
            let at = |k: u64| (a * (k % nx) as f64).sin() + (b * (k / nx) as f64).cos() + c * noise(k);
            (0..nx * ny).map(|k| T::from_f64(if k % 977 == 5 { f64::NAN } else { at(k) })).collect()
        };
        let ways = [
            (Mode::BlockWise, Predictor::Lorenzo),
            (Mode::BlockWise, Predictor::Hierarchical),
            (Mode::Speculative, Predictor::Hierarchical),
        ];
        for (roughness, (mode, predictor)) in
            [0.0, 1e-3, 0.3].into_iter().flat_map(|roughness| ways.map(|way| (roughness, way)))
        {
            let (u, v) = (wave(0.11, 0.07, roughness), wave(0.05, 0.13, roughness));
            for bound in [1e-1, 1e-2, 1e-4, 1e-7] {
                let config =
                    Config { dtype, mode, predictor, ..Config::new(nx, ny, BoundKind::Relative, bound) };
                let request = Request::new(config).expect("valid");
                let streams = [true, false].map(|narrow| {
                    NARROW.store(narrow, Ordering::Relaxed);
                    let mut stream = vec![0; max_stream_bytes(&request) as usize];
                    let [u, v] = [&u, &v].map(|c| View::dense(c, nx));
                    let execution = Execution { threads: 1, progress: None };
                    let report = compress(&request, u, v, &mut stream, execution).expect("valid");
                    stream.truncate(report.stream_bytes as usize);
                    stream
                });
                assert!(streams[0] == streams[1], "{mode:?} {predictor:?}, {roughness}, bound {bound}");
            }
        }
    }

    #[test]
    fn wide_vectors_write_the_same_streams() {
        both_are_the_same::<f32>(Dtype::F32);
        both_are_the_same::<f64>(Dtype::F64);
    }
}
