//! Blocks of a volume that are compressed on their own, with the values of their neighbours as ghosts, keep every
//! critical point of the whole: also in the tetrahedra that join two of them.

use crate::support::fields::Random;
use crate::volumes::{assert_kept, counts, decompressed, with_solids, Volume};
use factz::{
    compress_volume, max_volume_stream_bytes, BoundKind, Config, Execution, Layout, Preserve, Real, Status,
    Ties, View, VolumeRequest, PERIODIC_X, PERIODIC_Y, PERIODIC_Z,
};

/// A block of a volume: the configuration with its halo and the layout of the whole, and the views of the whole
/// from the first vertex of the block on.
pub struct Block {
    pub first: [u64; 3],
    pub config: Config,
    /// The number of its first vertex, and the layout of the whole.
    origin: usize,
    layout: Layout,
}

impl Block {
    pub fn views<'a, T: Real>(&self, whole: &'a Volume<T>) -> [View<'a, T>; 3] {
        whole.components.each_ref().map(|c| View::strided(c, self.origin, self.layout))
    }

    pub fn sizes(&self) -> [u64; 3] {
        [self.config.nx, self.config.ny, self.config.nz]
    }

    /// Copies the values of the block to its place in the whole.
    pub fn put<T: Real>(&self, block: &Volume<T>, whole: &mut Volume<T>) {
        let ([bx, by, _], [nx, ny, _]) = (block.sizes, whole.sizes);
        for k in 0..block.components[0].len() {
            let local = [k as u64 % bx, k as u64 / bx % by, k as u64 / bx / by];
            let [x, y, z] = [0, 1, 2].map(|i| self.first[i] + local[i]);
            for (to, from) in whole.components.iter_mut().zip(&block.components) {
                to[((z * ny + y) * nx + x) as usize] = from[k];
            }
        }
    }
}

/// Cuts the axes of a volume in two, but for periodic ones, at random. `halo` chooses, of the sides with a
/// neighbour, those with ghosts.
pub fn blocks(whole: [u64; 3], base: Config, halo: impl Fn(u32) -> u32, random: &mut Random) -> Vec<Block> {
    let parts = [0, 1, 2].map(|axis| {
        let n = whole[axis];
        match base.periodic >> axis & 1 != 0 {
            true => vec![(0, n)],
            false => {
                let cut = 2 + random.below(n - 3);
                vec![(0, cut), (cut, n - cut)]
            }
        }
    });
    let mut found = Vec::new();
    for &(z, nz) in &parts[2] {
        for &(y, ny) in &parts[1] {
            for &(x, nx) in &parts[0] {
                let (first, sizes) = ([x, y, z], [nx, ny, nz]);
                let inner = (0..3).filter(|&axis| sizes[axis] < whole[axis]);
                let sides = inner.fold(0, |sides, axis| sides | 1 << (2 * axis) << (first[axis] == 0) as u32);
                let layout = Layout { pitch: whole[0], stride: 1, plane: whole[0] * whole[1] };
                let shape =
                    Config { nx, ny, nz, plane_rows: whole[1], u: layout, v: layout, w: layout, ..base };
                let origin = ((z * whole[1] + y) * whole[0] + x) as usize;
                found.push(Block { first, config: Config { halo: halo(sides), ..shape }, origin, layout });
            }
        }
    }
    found
}

/// Compresses the blocks of a volume apart, and puts what comes back together. Bounds are absolute.
fn joined<T: Real>(whole: &Volume<T>, blocks: &[Block]) -> Volume<T> {
    let mut found = whole.clone();
    for block in blocks {
        let request = VolumeRequest::new(block.config).expect("valid");
        let [one, two] = [1, 2].map(|threads| {
            let mut stream = vec![0; max_volume_stream_bytes(&request) as usize];
            let execution = Execution { threads, progress: None };
            let report =
                compress_volume(&request, block.views(whole), &mut stream, execution).expect("valid");
            assert_eq!(report.status, Status::Ok);
            stream.truncate(report.stream_bytes as usize);
            stream
        });
        assert!(one == two, "the number of threads does not matter");
        block.put(&decompressed(&one, &block.config, 2).expect("intact"), &mut found);
    }
    found
}

/// The volume with the first vertices of its periodic axes again behind the last ones.
pub fn unrolled<T: Real>(volume: &Volume<T>, periodic: u32) -> Volume<T> {
    volume.part([0; 3], [0, 1, 2].map(|axis| volume.sizes[axis] + (periodic >> axis & 1) as u64))
}

fn absolute<T: Real>(volume: &Volume<T>, bound: f64) -> Config {
    Config { bound_kind: BoundKind::Absolute, bound, ..volume.config(0.0) }
}

#[test]
fn blocks_with_halos_keep_the_points_between_them() {
    let mut random = Random(31);
    let noise = Volume::<f32>::waves([15, 14, 16], 3.0, 32);
    let solids = with_solids::<f64>([17, 16, 15], 33);
    let integers = Volume::<f64>::of([7, 8, 6], |_| [0; 3].map(|_| random.below(5) as f64 - 2.0));
    let axes = [0, PERIODIC_X, PERIODIC_Y, PERIODIC_Z, PERIODIC_X | PERIODIC_Z];
    for (round, periodic) in axes.into_iter().enumerate() {
        let ties = [Ties::All, Ties::Zeros][round % 2];
        let with = |config| Config { periodic, ties, ..config };
        check(&format!("noise-{round}"), &noise, with(absolute(&noise, 0.7)), &mut random);
        check(&format!("solids-{round}"), &solids, with(absolute(&solids, 0.4)), &mut random);
        for ties in [Ties::All, Ties::Zeros] {
            let config = Config { periodic, ties, ..absolute(&integers, 1.2) };
            check(&format!("integers-{round}"), &integers, config, &mut random);
        }
    }
    let points = Config { preserve: Preserve::Points, dx: -2.0, ..absolute(&noise, 1.0) };
    check("points", &noise, points, &mut random);
}

fn check<T: Real>(name: &str, whole: &Volume<T>, config: Config, random: &mut Random) {
    let found = joined(whole, &blocks(whole.sizes, config, |sides| sides, random));
    let [before, after] = [whole, &found].map(|volume| unrolled(volume, config.periodic));
    assert_kept(&format!("halo-{name}"), [&before, &after], &config, config.bound);
}

/// Without halos points are lost between blocks, so that the test above can fail. A halo on one side of a seam is
/// not enough, and a pinned side beside a pinned side is.
#[test]
fn what_blocks_without_halos_lose_is_found() {
    let mut random = Random(34);
    let noise = Volume::<f32>::waves([15, 14, 16], 3.0, 35);
    let config = absolute(&noise, 0.7);
    let folder = crate::support::fresh_folder("volumes-no-halo");
    let cases: [fn(u32) -> u32; 2] = [|_| 0, |sides| sides & 0b010101];
    for halo in cases {
        let found = joined(&noise, &blocks(noise.sizes, config, halo, &mut random));
        assert!(counts(&folder, [&noise, &found], &config, 0.7)["violations"] > 0);
    }
    let mut pinned = blocks(noise.sizes, config, |sides| sides, &mut random);
    pinned.iter_mut().for_each(|block| (block.config.pin, block.config.halo) = (block.config.halo, 0));
    assert_kept("pinned", [&noise, &joined(&noise, &pinned)], &config, 0.7);
}

/// Missing ghosts constrain nothing, and all vertices beside a wall of ghosts may be missing.
#[test]
fn ghosts_without_data_constrain_nothing() {
    let mut random = Random(36);
    let mut volume = Volume::<f32>::waves([13, 12, 14], 3.0, 37);
    for k in 0..volume.components[0].len() {
        if random.below(6) == 0 {
            volume.components[random.below(3) as usize][k] = f32::NAN;
        }
    }
    check("missing", &volume, absolute(&volume, 0.7), &mut random);
    // Ghosts are not read where there is no data to keep, and streams do not depend on their values.
    let base = Config { preserve: Preserve::None, ..absolute(&volume, 0.7) };
    let [with, without] = [true, false].map(|has_halo| {
        let halo = move |sides| if has_halo { sides } else { 0 };
        joined(&volume, &blocks(volume.sizes, base, halo, &mut Random(38)))
    });
    let bits =
        |v: &Volume<f32>| v.components.each_ref().map(|c| c.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
    assert!(bits(&with) == bits(&without));
}

#[test]
fn views_without_their_ghosts_are_refused() {
    let volume = Volume::<f32>::waves([6, 5, 4], 3.0, 39);
    for halo in [factz::SIDE_Z_MIN, factz::SIDE_Z_MAX] {
        let request = VolumeRequest::new(Config { halo, ..absolute(&volume, 0.1) }).expect("valid");
        let mut stream = vec![0; max_volume_stream_bytes(&request) as usize];
        let error = compress_volume(&request, volume.views(), &mut stream, Execution::default()).unwrap_err();
        assert!(error.message.contains(&format!("halo = {halo:#x}")), "{error}");
    }
}
