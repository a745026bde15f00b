//! Fields made on the device against those that the command line's generator makes on the host: the same bits.

#[path = "../../src/bin/factz/synthetic.rs"]
mod synthetic;

use crate::{text, Check};
use factz::cuda::host::Device;
use factz::cuda::pipeline::Pipeline;
use factz::grid::element::Real;
use factz::{BoundKind, Config, Dtype, Request};
use synthetic::{Kind, Synthetic};

/// Every kind, in shapes that end within and at the ends of blocks, narrow ones, and one for which blocks go
/// round more than once.
pub fn synthetic_fields(_: &Device) -> Check {
    for kind in [Kind::Dense, Kind::Smooth, Kind::Ocean] {
        for (nx, ny) in [(1, 1), (1, 70_001), (3001, 1), (256, 8), (257, 9), (1000, 777)] {
            let made = Synthetic::new(kind, nx, ny).map_err(text)?;
            let checks: [fn(&Synthetic, &Config) -> Check; 2] = [check::<f32>, check::<f64>];
            for (check, dtype) in checks.into_iter().zip([Dtype::F32, Dtype::F64]) {
                let config = Config { dtype, ..Config::new(nx, ny, BoundKind::Relative, 1e-2) };
                check(&made, &config).map_err(|e| format!("{kind:?} {nx} x {ny} {dtype:?}: {e}"))?;
            }
        }
    }
    refuses_other_shapes()
}

fn check<T: Real>(made: &Synthetic, config: &Config) -> Check {
    let count = (config.nx * config.ny) as usize;
    let pipeline = Pipeline::new(&Request::new(*config).map_err(text)?).map_err(text)?;
    pipeline.make_input(&made.view()).and(pipeline.copy()).map_err(text)?;
    let [mut u, mut v] = [(); 2].map(|()| vec![T::ZERO; count]);
    pipeline.read_output(&mut u, &mut v).map_err(text)?;
    let [mut host_u, mut host_v] = [(); 2].map(|()| vec![T::ZERO; count]);
    made.fill(&mut host_u, &mut host_v);
    for (name, device, host) in [("u", u, host_u), ("v", v, host_v)] {
        if let Some(k) = (0..count).find(|&k| device[k].to_bits64() != host[k].to_bits64()) {
            let (x, y) = (k as u64 % config.nx, k as u64 / config.nx);
            return Err(format!("{name} at ({x}, {y}): device {:?} host {:?}", device[k], host[k]));
        }
    }
    Ok(())
}

/// Factors of another shape would be read past their ends.
fn refuses_other_shapes() -> Check {
    let made = Synthetic::new(Kind::Ocean, 64, 48).map_err(text)?;
    for (nx, ny) in [(65, 48), (64, 49), (48, 64)] {
        let config = Config::new(nx, ny, BoundKind::Relative, 1e-2);
        let pipeline = Pipeline::new(&Request::new(config).map_err(text)?).map_err(text)?;
        if pipeline.make_input(&made.view()).is_ok() {
            return Err(format!("{nx} x {ny}: took the factors of 64 x 48"));
        }
    }
    Ok(())
}
