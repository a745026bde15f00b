//! Every configuration on every field.

use crate::expected::{check_images, check_reports, check_streams, host_compress, host_decompress};
use crate::fields::{Placement, Source, VARIANTS};
use crate::memory::Bench;
use crate::{text, Check, Tally};
use factz::Real;
use factz::{BoundKind, Coder, Config, Dtype, Mode, Predictor, Preserve, Request, Ties};

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
pub const PRESERVES: [Preserve; 3] = [Preserve::None, Preserve::Points, Preserve::Types];
pub const BOUNDS: [(BoundKind, f64); 6] = [
    (BoundKind::Relative, 1e-1),
    (BoundKind::Relative, 1e-2),
    (BoundKind::Relative, 1e-3),
    (BoundKind::Relative, 1e-6),
    (BoundKind::Absolute, 1e-2),
    (BoundKind::Absolute, 0.0),
];

/// Checks of one field.
pub const CHECKS: usize = 4 * CONFIGURATIONS.len() * PRESERVES.len() * BOUNDS.len();

pub fn compare_field<T: Real>(source: &Source, dtype: Dtype, tally: &mut Tally) -> Check {
    let bench = Bench::new(source.nx, source.ny, dtype).map_err(text)?;
    let mut turn = source.nx as usize;
    let mut images: Vec<Option<Vec<u8>>> = vec![None; VARIANTS];
    for (mode, predictor, coder) in CONFIGURATIONS {
        for preserve in PRESERVES {
            for (bound_kind, bound) in BOUNDS {
                // The layouts take turns, and so do the ties; the two directions have different layouts.
                turn += 1;
                let ties = [Ties::All, Ties::Zeros][turn / 7 % 2];
                let (variant, other) = (turn % VARIANTS, (turn * 5 + turn / VARIANTS) % VARIANTS);
                let place = Placement::new(variant, source);
                let image = images[variant].get_or_insert_with(|| place.image::<T>(source));
                let config = Config {
                    mode,
                    predictor,
                    coder,
                    preserve,
                    ties,
                    bound_kind,
                    bound,
                    ..place.config(dtype)
                };
                let request = Request::new(config).map_err(text)?;
                let name = |step: &str| {
                    format!(
                        "{step} {dtype:?} {mode:?} {predictor:?} {coder:?} {preserve:?} {ties:?} \
                         {bound_kind:?} {bound:e} layout {variant}/{other}"
                    )
                };
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
                let block = Source { nx: place.nx, ny: place.ny, name: String::new(), u: vec![], v: vec![] };
                let target = Placement::new(if other < 4 { other } else { 0 }, &block);
                let config = Config { mode, preserve, bound_kind, bound, ..target.config(dtype) };
                let request = Request::new(config).map_err(text)?;
                let (host_report, host_image) =
                    host_decompress::<T>(&request, &target, &stream).map_err(text)?;
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
