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

/// Counts that those of blocks add up to.
fn sums(c: &factz_volume_comparison) -> Vec<u64> {
    let simplices = [c.critical_points, c.other_critical_points, c.lost_points, c.spurious_points, c.ties];
    let others = [c.violations, c.changed_types, c.zero_vertices, c.bound_exceeded, c.lost_zeros];
    [&simplices[..], &others, &c.points_by_type].concat()
}

/// Eight blocks of different sizes in the arrays of the whole, with the ghosts of all sides that have a
/// neighbour.
#[test]
fn blocks_add_up_to_the_volume() {
    let mut fields = [noise(5), noise(6)];
    for (k, x) in fields.as_flattened_mut().iter_mut().flatten().enumerate() {
        // Every seventh vertex of the first volume is zero.
        *x = if k < 3 * N && k % 7 == 0 { 0.0 } else { (2.0 * *x).round() };
    }
    let whole_config = config(0.5);
    let at = |f: usize, k: usize| fields[f].each_ref().map(|c| c[k..].as_ptr());
    let call = Call {
        components: at(0, 0),
        others: at(1, 0),
        n: N,
        config: &whole_config,
        other_config: null(),
        threads: 1,
    };
    let mut whole = factz_volume_comparison::default();
    ok(call.compare(&mut whole));
    let list = |call: &Call, first: [usize; 3]| {
        let (mut points, mut count) = (vec![NO_POINT; 4 * N], 0);
        ok(call.points(points.as_mut_ptr(), points.len(), &mut count));
        let [x, y, z] = first.map(|k| k as u64);
        let place = |p: &factz_volume_point| {
            ((p.cell_z + z, p.cell_y + y, p.cell_x + x), (p.simplex, p.point_type, p.index))
        };
        points[..count as usize].iter().map(place).collect::<Vec<_>>()
    };
    let all = list(&call, [0; 3]);
    assert!(all.len() as u64 == whole.critical_points && whole.lost_zeros > 5 && whole.ties > 100);
    let (mut sum, mut found) = (vec![0; sums(&whole).len()], Vec::new());
    let cuts = [4, 2, 5];
    for block in 0..8usize {
        let is_second = [0, 1, 2].map(|k| block >> k & 1 == 1);
        let first = [0, 1, 2].map(|k| if is_second[k] { cuts[k] } else { 0 });
        let sizes = [0, 1, 2].map(|k| if is_second[k] { SIZES[k] - cuts[k] } else { cuts[k] });
        let [nx, ny, nz] = sizes.map(|n| n as u64);
        let [pitch, rows, _] = SIZES.map(|n| n as u64);
        let halo = (0..3).fold(0, |halo, k| halo | 1 << (2 * k + !is_second[k] as usize));
        let c = factz_config { nx, ny, nz, plane_rows: rows, halo, ..whole_config };
        let c = factz_config { u_pitch: pitch, v_pitch: pitch, w_pitch: pitch, ..c };
        let k = (first[2] * SIZES[1] + first[1]) * SIZES[0] + first[0];
        let n = sizes.iter().product();
        let call = Call { components: at(0, k), others: at(1, k), n, config: &c, ..call };
        let mut part = factz_volume_comparison::default();
        ok(call.compare(&mut part));
        sum.iter_mut().zip(sums(&part)).for_each(|(sum, n)| *sum += n);
        found.extend(list(&call, first));
    }
    found.sort();
    assert!(sum == sums(&whole) && found == all, "{sum:?} {:?}", sums(&whole));
}

/// The ghosts of every side that the halo names are inputs, others are not. A range has none.
#[test]
fn ghosts_are_read_on_the_sides_of_the_halo() {
    let c = factz_config { nx: 3, ny: 2, nz: 2, plane_rows: 10, ..config(0.1) };
    let c = factz_config { u_pitch: 10, v_pitch: 10, w_pitch: 10, ..c };
    let mut values = vec![0f64; 2000];
    let base = values.as_mut_ptr().cast::<f32>();
    let call = |halo, of_call: &dyn Fn(&Call, *mut u64) -> factz_status, out: usize| {
        let c = factz_config { halo, ..c };
        // SAFETY: inside the allocation.
        let at = |k: usize| unsafe { base.add(k) };
        let components = [200, 1200, 2200].map(|k| at(k).cast_const());
        let call =
            Call { components, others: components, n: 12, config: &c, other_config: null(), threads: 1 };
        of_call(&call, at(out).cast())
    };
    let points = |call: &Call, out: *mut u64| call.points(null_mut(), 0, out);
    let range = |call: &Call, out: *mut u64| call.range(out.cast());
    // Planes of u begin at 200 and 300; ghosts of the first plane at 100, of the last one at 400.
    let (before, after) = (100, 400);
    let sides = FACTZ_SIDES_ALL;
    for out in [before, after] {
        assert_eq!(call(sides, &points, out), FACTZ_OK);
        assert_eq!(call(FACTZ_SIDES_ALL_OF_VOLUME, &range, out), FACTZ_OK);
    }
    assert_eq!(call(sides | FACTZ_SIDE_Z_MIN, &points, after), FACTZ_OK);
    assert_eq!(call(sides | FACTZ_SIDE_Z_MAX, &points, before), FACTZ_OK);
    for (halo, out) in [(FACTZ_SIDE_Z_MAX, after), (FACTZ_SIDE_Z_MIN, before)] {
        expect(call(halo, &points, out), FACTZ_ERROR_INVALID_ARGUMENT, "count at");
        let all = call(FACTZ_SIDES_ALL_OF_VOLUME, &points, out);
        expect(all, FACTZ_ERROR_INVALID_ARGUMENT, "overlaps u");
    }
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
    let no_pitch = factz_config { halo: FACTZ_SIDE_X_MIN, ..c };
    let no_rows = factz_config { halo: FACTZ_SIDE_Y_MAX, ..c };
    let no_side = factz_config { halo: 64, ..c };
    let seam = factz_config { periodic: FACTZ_PERIODIC_X, ..halo };
    let flat = factz_config { nz: 1, ..c };
    let no_dtype = factz_config { dtype: 7, ..c };
    let (argument, bad) = (FACTZ_ERROR_INVALID_ARGUMENT, FACTZ_ERROR_INVALID_CONFIG);
    for (call, status, part) in [
        (Call { components: [null(), v, w], ..good }, argument, "u is null"),
        (Call { components: [u, v, null()], ..good }, argument, "w is null"),
        (Call { n: N - 1, ..good }, argument, "nx * ny * nz"),
        (Call { config: null(), ..good }, argument, "config is null"),
        (Call { threads: -1, ..good }, argument, "threads = -1"),
        (Call { config: &planes, ..good }, bad, "components = 2"),
        (Call { config: &flat, ..good }, bad, "nz = 1"),
        (Call { config: &no_dtype, ..good }, bad, "dtype"),
        (Call { config: &no_pitch, ..good }, bad, "u_pitch is 0"),
        (Call { config: &no_rows, ..good }, bad, "plane_rows is 0"),
        (Call { config: &no_side, ..good }, bad, "halo = 0x40"),
        (Call { config: &seam, ..good }, bad, "names a side of x"),
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
        (Call { other_config: &halo, ..good }, argument, "halo = 0x1 of the other field"),
        (Call { config: &halo, other_config: &c, ..good }, argument, "halo = 0x0 of the other field"),
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
