//! Every configuration on every field.

use crate::expected::{check_images, check_reports, check_streams, host_compress, host_decompress};
use crate::fields::{Placement, VARIANTS};
use crate::memory::Bench;
use crate::support::fields::{dtype, Field, PRESERVED, TIES};
use crate::{Check, Tally};
use factz::Real;
use factz::{BoundKind, Coder, Config, Mode, Predictor, Request};

/// Every combination of choices that makes another stream.
pub type Configuration = (Mode, Predictor, Coder);
pub const CONFIGURATIONS: [Configuration; 6] = [
    (Mode::BlockWise, Predictor::Hierarchical, Coder::Ans),
    (Mode::Speculative, Predictor::Hierarchical, Coder::Ans),
    (Mode::BlockWise, Predictor::Hierarchical, Coder::Huffman),
    (Mode::Speculative, Predictor::Hierarchical, Coder::Huffman),
    (Mode::BlockWise, Predictor::Lorenzo, Coder::Ans),
    (Mode::BlockWise, Predictor::Lorenzo, Coder::Huffman),
];
pub const BOUNDS: [(BoundKind, f64); 6] = [
    (BoundKind::Relative, 1e-1),
    (BoundKind::Relative, 1e-2),
    (BoundKind::Relative, 1e-3),
    (BoundKind::Relative, 1e-6),
    (BoundKind::Absolute, 1e-2),
    (BoundKind::Absolute, 0.0),
];

/// Checks of one field.
pub const CHECKS: usize = 4 * CONFIGURATIONS.len() * PRESERVED.len() * BOUNDS.len();

pub fn compare_field<T: Real>(field: &Field<f32>, tally: &mut Tally) -> Check {
    let bench = Bench::new([field.nx, field.ny], dtype::<T>())?;
    let mut turn = field.nx as usize;
    let mut images: Vec<Option<Vec<u8>>> = vec![None; VARIANTS];
    for (mode, predictor, coder) in CONFIGURATIONS {
        for preserve in PRESERVED {
            for (bound_kind, bound) in BOUNDS {
                // The layouts take turns, and so do the ties; the two directions have different layouts.
                turn += 1;
                let ties = TIES[turn / 7 % TIES.len()];
                let (variant, other) = (turn % VARIANTS, (turn * 5 + turn / VARIANTS) % VARIANTS);
                let place = Placement::new(variant, [field.nx, field.ny]);
                let image = images[variant].get_or_insert_with(|| place.image::<T>(field));
                let choices = Config { mode, predictor, coder, preserve, ties, ..place.config::<T>() };
                let config = Config { bound_kind, bound, ..choices };
                let request = Request::new(config)?;
                let name = |step: &str| format!("{step} layout {variant}/{other} {config:?}");
                let (host_report, stream) = host_compress::<T>(&request, &place, image);
                let capacity = factz::max_stream_bytes(&request) as usize;
                let result = bench.compress(&request, &place, image, capacity).and_then(|(report, bytes)| {
                    check_streams(&bytes, &stream).and(check_reports(&report, &host_report))
                });
                tally.add(|| name("compress"), result);
                if tally.is_lost() {
                    return Ok(());
                }

                // The output block has the shape of the stream, in another layout.
                let target = Placement::new(if other < 4 { other } else { 0 }, [place.nx, place.ny]);
                let config = Config { mode, preserve, bound_kind, bound, ..target.config::<T>() };
                let request = Request::new(config)?;
                let (host_report, host_image) = host_decompress::<T>(&request, &target, &stream)?;
                let result = bench.decompress(&request, &target, &stream).and_then(|(report, image)| {
                    check_images(&image, &host_image, &target, T::BYTES)
                        .and(check_reports(&report, &host_report))
                });
                tally.add(|| name("decompress"), result);
                if tally.is_lost() {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}
