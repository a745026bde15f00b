//! Analysis of volumes through the C interface: layouts, capacities, and bad input with the name of the argument.

use crate::support::capi::{expect, last_error, ok};
use crate::support::fields::Random;
use factz::capi::config::*;
use factz::capi::range::*;
use factz::capi::status::*;
use factz::capi::volume_analysis::*;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

const SIZES: [usize; 3] = [9, 7, 8];
const N: usize = 9 * 7 * 8;

fn config(bound: f64) -> factz_config {
    let mut c = MaybeUninit::uninit();
    let [nx, ny, nz] = SIZES.map(|n| n as u64);
    // SAFETY: room for a struct.
    ok(unsafe { factz_config_init_volume(c.as_mut_ptr(), nx, ny, nz, FACTZ_BOUND_ABSOLUTE, bound) });
    // SAFETY: a call that succeeds has written it.
    unsafe { c.assume_init() }
}

fn noise(seed: u64) -> [Vec<f32>; 3] {
    let mut random = Random(seed);
    [(); 3].map(|()| (0..N).map(|_| random.signed() as f32).collect())
}

/// The arguments of the functions, to change one at a time.
#[derive(Clone, Copy)]
struct Call {
    components: [*const f32; 3],
    others: [*const f32; 3],
    n: usize,
    config: *const factz_config,
    other_config: *const factz_config,
    threads: c_int,
}

impl Call {
    fn compare(&self, out: *mut factz_volume_comparison) -> factz_status {
        let [u, v, w] = self.components.map(<*const f32>::cast::<c_void>);
        let [u1, v1, w1] = self.others.map(<*const f32>::cast::<c_void>);
        let Call { n, config, other_config, threads, .. } = *self;
        // SAFETY: what is passed is valid or refused.
        unsafe { factz_compare_volume_host(u, v, w, n, config, u1, v1, w1, other_config, out, threads) }
    }

    fn points(&self, points: *mut factz_volume_point, capacity: usize, count: *mut u64) -> factz_status {
        let [u, v, w] = self.components.map(<*const f32>::cast::<c_void>);
        let Call { n, config, threads, .. } = *self;
        // SAFETY: as above.
        unsafe { factz_critical_points_volume_host(u, v, w, n, config, points, capacity, count, threads) }
    }

    fn range(&self, out: *mut factz_range) -> factz_status {
        let [u, v, w] = self.components.map(<*const f32>::cast::<c_void>);
        // SAFETY: as above.
        unsafe { factz_range_volume_host(u, v, w, self.n, self.config, out, self.threads) }
    }
}

const NO_POINT: factz_volume_point = factz_volume_point {
    cell_x: 0,
    cell_y: 0,
    cell_z: 0,
    x: 0.0,
    y: 0.0,
    z: 0.0,
    simplex: 0,
    dimension: 0,
    point_type: 0,
    index: 0,
    reserved: [7; 6],
};

fn empty_range() -> factz_range {
    factz_range {
        status: 99,
        reserved_status: 0,
        low: 0.0,
        high: 0.0,
        nonfinite_vertices: 0,
        filled_vertices: 0,
        zero_vertices: 0,
        reserved: [0; 2],
    }
}

#[test]
fn volumes_are_analysed_in_any_layout() {
    let (first, other) = (noise(1), noise(2));
    let c = config(0.5);
    let call = Call {
        components: first.each_ref().map(|c| c.as_ptr()),
        others: other.each_ref().map(|c| c.as_ptr()),
        n: N,
        config: &c,
        other_config: null(),
        threads: 2,
    };
    let mut count = 0;
    expect(call.points(null_mut(), 0, &mut count), FACTZ_ERROR_BUFFER_TOO_SMALL, "capacity = 0");
    let mut points = vec![NO_POINT; count as usize];
    ok(call.points(points.as_mut_ptr(), points.len(), &mut count));
    assert!(count > 20 && points.iter().all(|p| p.reserved == [0; 6]));
    assert!(points.iter().all(|p| p.dimension == 3 && (0..6).contains(&p.simplex) && p.index.abs() == 1));
    let mut few = vec![NO_POINT; 5];
    expect(call.points(few.as_mut_ptr(), 5, &mut count), FACTZ_ERROR_BUFFER_TOO_SMALL, "capacity = 5");
    assert!(count as usize == points.len() && few[4].x == points[4].x);
    let mut found = factz_volume_comparison::default();
    ok(call.compare(&mut found));
    assert_eq!((found.critical_points, found.bound), (count, 0.5));
    assert!(found.violations > 0 && found.bound_exceeded > 0);
    assert_eq!(found.points_by_type.iter().sum::<u64>(), count);
    let mut range = empty_range();
    ok(call.range(&mut range));
    assert!(range.low > -1.0 && range.low < -0.9 && range.high < 1.0 && range.high > 0.9);

    // The other volume interleaved, in rows and planes with gaps.
    let [nx, ny, nz] = SIZES;
    let (pitch, rows) = (3 * nx + 5, ny + 2);
    let mut mixed = vec![f32::NAN; pitch * rows * nz];
    for (k, component) in other.iter().enumerate() {
        for (i, &x) in component.iter().enumerate() {
            let (x_at, y, z) = (i % nx, i / nx % ny, i / nx / ny);
            mixed[(z * rows + y) * pitch + 3 * x_at + k] = x;
        }
    }
    let pitch = pitch as u64;
    let padded = factz_config {
        u_pitch: pitch,
        v_pitch: pitch,
        w_pitch: pitch,
        u_stride: 3,
        v_stride: 3,
        w_stride: 3,
        plane_rows: rows as u64,
        ..c
    };
    let others = [0, 1, 2].map(|k| mixed[k..].as_ptr());
    let mut again = factz_volume_comparison::default();
    ok(Call { others, other_config: &padded, ..call }.compare(&mut again));
    assert_eq!(
        (again.lost_points, again.spurious_points, again.changed_types, again.max_error, again.psnr),
        (found.lost_points, found.spurious_points, found.changed_types, found.max_error, found.psnr)
    );
}

#[test]
fn bad_arguments_are_named() {
    let (first, other) = (noise(3), noise(4));
    let c = config(0.1);
    let good = Call {
        components: first.each_ref().map(|c| c.as_ptr()),
        others: other.each_ref().map(|c| c.as_ptr()),
        n: N,
        config: &c,
        other_config: null(),
        threads: 1,
    };
    let [u, v, w] = good.components;
    let planes = factz_config { components: 2, mode: FACTZ_MODE_BLOCK_WISE, ..c };
    let halo = factz_config { halo: FACTZ_SIDE_X_MIN, u_pitch: 12, v_pitch: 12, w_pitch: 12, ..c };
    let flat = factz_config { nz: 1, ..c };
    let no_dtype = factz_config { dtype: 7, ..c };
    let (argument, bad, unsupported) =
        (FACTZ_ERROR_INVALID_ARGUMENT, FACTZ_ERROR_INVALID_CONFIG, FACTZ_ERROR_UNSUPPORTED);
    for (call, status, part) in [
        (Call { components: [null(), v, w], ..good }, argument, "u is null"),
        (Call { components: [u, v, null()], ..good }, argument, "w is null"),
        (Call { n: N - 1, ..good }, argument, "nx * ny * nz"),
        (Call { config: null(), ..good }, argument, "config is null"),
        (Call { threads: -1, ..good }, argument, "threads = -1"),
        (Call { config: &planes, ..good }, bad, "components = 2"),
        (Call { config: &flat, ..good }, bad, "nz = 1"),
        (Call { config: &no_dtype, ..good }, bad, "dtype"),
        (Call { config: &halo, ..good }, unsupported, "halo = 0x1"),
    ] {
        let (mut count, mut found, mut range) = (9, factz_volume_comparison::default(), empty_range());
        expect(call.points(null_mut(), 0, &mut count), status, part);
        assert_eq!(count, 0);
        expect(call.compare(&mut found), status, part);
        assert_eq!((found.status, found.violations), (status, 0));
        expect(call.range(&mut range), status, part);
        assert!(range.status == status && range.low == f64::INFINITY && range.high == f64::NEG_INFINITY);
    }
    let [u1, v1, _] = good.others;
    let longer = factz_config { nz: 9, ..c };
    let doubles = factz_config { dtype: FACTZ_DTYPE_F64, ..c };
    let periodic = factz_config { periodic: FACTZ_PERIODIC_Z, ..c };
    let mut found = factz_volume_comparison::default();
    for (call, status, part) in [
        (Call { others: [u1, v1, null()], ..good }, argument, "other_w is null"),
        (Call { other_config: &longer, ..good }, argument, "other_config"),
        (Call { other_config: &doubles, ..good }, argument, "dtype"),
        (Call { other_config: &periodic, ..good }, argument, "periodic"),
        (Call { other_config: &halo, ..good }, unsupported, "halo"),
        (Call { other_config: &planes, ..good }, bad, "components = 2"),
    ] {
        expect(call.compare(&mut found), status, part);
    }
    // Outputs that lie in inputs are not written.
    let inside = first[2].as_ptr().cast_mut();
    let aligned = inside.wrapping_add(inside.align_offset(8));
    expect(good.compare(aligned.cast()), argument, "overlaps w");
    expect(good.range(aligned.cast()), argument, "overlaps w");
    expect(good.points(null_mut(), 0, aligned.cast()), argument, "overlaps w");
    expect(good.compare(null_mut()), argument, "comparison is null");
    let mut count = 0;
    expect(good.points(null_mut(), 3, &mut count), argument, "points is null");
    expect(good.points(aligned.cast(), 1, &mut count), argument, "overlaps w");
    assert!(first == noise(3) && last_error().contains("overlaps w"));
}
