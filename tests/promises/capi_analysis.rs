//! The analysis through the C interface: blocks with ghosts add up to the field, a relative bound counts, and
//! outputs are written whatever happens.

use crate::support::capi::{config_of as config, expect, last_error, ok};
use crate::support::fields::{sides, Random};
use factz::capi::analysis::*;
use factz::capi::config::*;
use factz::capi::device::*;
use factz::capi::range::*;
use factz::capi::status::*;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

const NX: usize = 61;
const NY: usize = 43;
const N: usize = NX * NY;
const FILL: f32 = 9.96921e36;

/// u, v, and a changed copy; with filled vertices, critical points, and zeros at vertices and on edges.
fn fields() -> [Vec<f32>; 4] {
    let mut random = Random(7);
    let mut random = || random.signed() as f32;
    let mut component = || {
        let value = |random: &mut dyn FnMut() -> f32| {
            let (value, coarse) = (random(), random() > 0.0);
            if coarse {
                (2.0 * value).round()
            } else {
                value
            }
        };
        let before: Vec<f32> =
            (0..N).map(|_| if random() > 0.9 { FILL } else { value(&mut random) }).collect();
        let after = before.iter().map(|&x| match x {
            FILL => x,
            _ if random() > 0.5 => x + 0.1 * random(),
            _ => x,
        });
        let after = after.collect();
        (before, after)
    };
    let ((u0, u1), (v0, v1)) = (component(), component());
    [u0, v0, u1, v1]
}

/// The arguments of the functions, to change one at a time.
#[derive(Clone, Copy)]
struct Call {
    components: [*const f32; 4],
    n: usize,
    config: *const factz_config,
    other_config: *const factz_config,
    threads: c_int,
}

impl Call {
    fn pointers(&self) -> [*const c_void; 4] {
        self.components.map(<*const f32>::cast)
    }
    fn compare(&self, out: *mut factz_comparison) -> factz_status {
        let [u, v, other_u, other_v] = self.pointers();
        let Call { n, config, other_config, threads, .. } = *self;
        // SAFETY: what is passed is valid or refused.
        unsafe { factz_compare_host(u, v, n, config, other_u, other_v, other_config, out, threads) }
    }
    fn range(&self, out: *mut factz_range) -> factz_status {
        let [u, v, ..] = self.pointers();
        // SAFETY: as above.
        unsafe { factz_range_host(u, v, self.n, self.config, out, self.threads) }
    }
    fn points(&self, points: &mut [factz_critical_point], count: *mut u64) -> factz_status {
        let ([u, v, ..], capacity) = (self.pointers(), points.len());
        let points = if capacity > 0 { points.as_mut_ptr() } else { null_mut() };
        let Call { n, config, threads, .. } = *self;
        // SAFETY: as above.
        unsafe { factz_critical_points_host(u, v, n, config, points, capacity, count, threads) }
    }
}

fn with_fill(c: factz_config) -> factz_config {
    factz_config { fill_value: FILL as f64, has_fill_value: 1, ..c }
}

const NO_POINT: factz_critical_point = factz_critical_point {
    cell_x: 0,
    cell_y: 0,
    cell_z: 0,
    x: 0.0,
    y: 0.0,
    simplex: 0,
    point_type: 0,
    index: 0,
    rounding_divergence: 0,
    eigenvalues_real: [0.0; 2],
    eigenvalues_imaginary: [0.0; 2],
};

/// Counts that add up.
fn counts(c: &factz_comparison) -> Vec<u64> {
    let points = [
        c.critical_points,
        c.other_critical_points,
        c.lost_points,
        c.spurious_points,
        c.changed_types,
        c.ties,
    ];
    let vertices = [c.nonfinite_vertices, c.filled_vertices, c.changed_missing, c.zero_vertices];
    let more = [c.changed_ties, c.new_ties, c.changed_zero_vertices, c.bound_exceeded, c.violations];
    let zeros = [c.lost_zeros, c.spurious_zeros, c.changed_indices];
    points.into_iter().chain(vertices).chain(more).chain(zeros).chain(c.points_by_type).collect()
}

/// A vertex beside a zero one turns: that changes signs and no zero. Then the zero goes away.
#[test]
fn ties_are_compared_as_the_configuration_says() {
    let first = [[0.0f32, 1.0, 2.0, 3.0], [0.0, 2.0, 1.0, 1.0]];
    let [mut turned, mut moved] = [first; 2];
    turned[1][1] = -2.0;
    moved[0][0] = 0.5;
    for (ties, of_turned) in [(FACTZ_TIES_ALL, 1), (FACTZ_TIES_ZEROS, 0), (FACTZ_TIES_SOS, 0)] {
        let c = factz_config { ties, ..config(2, 2, FACTZ_BOUND_ABSOLUTE, 10.0) };
        for (other, changed) in [(&first, 0), (&turned, of_turned), (&moved, 2)] {
            let components = [&first[0], &first[1], &other[0], &other[1]].map(|f| f.as_ptr());
            let call = Call { components, n: 4, config: &c, other_config: null(), threads: 1 };
            let mut found = factz_comparison::default();
            ok(call.compare(&mut found));
            let counts = [found.ties, found.changed_ties, found.new_ties, found.violations];
            assert_eq!(counts, [2, changed, 0, changed], "ties {ties}: {other:?}");
        }
    }
}

#[test]
fn blocks_add_up_to_the_field() {
    let fields = fields();
    let at = |k: usize| fields.each_ref().map(|f| f[k..].as_ptr());
    let whole_config = with_fill(config(NX, NY, FACTZ_BOUND_ABSOLUTE, 0.05));
    let call = Call { components: at(0), n: N, config: &whole_config, other_config: null(), threads: 2 };
    let mut whole = factz_comparison::default();
    ok(call.compare(&mut whole));
    assert!(whole.points_by_type[6..].iter().all(|&n| n > 20) && whole.lost_zeros > 20);
    assert!(whole.lost_points > 20 && whole.filled_vertices > 100 && whole.bound_exceeded > 300);
    let mut all = vec![NO_POINT; 2 * N];
    let mut count = 0;
    ok(call.points(&mut all, &mut count));
    assert_eq!(count, whole.critical_points);
    let place = |p: &factz_critical_point| (p.cell_y, p.cell_x, p.simplex, p.point_type, p.index);
    let all: Vec<_> = all[..count as usize].iter().map(place).collect();
    // Pieces of one vertex as well.
    for (columns, rows) in [(2, 2), (3, 1), (1, 3), (5, 4), (NX, 1), (1, NY)] {
        let (mut sum, mut points) = (vec![0; counts(&whole).len()], Vec::new());
        for (bx, by) in (0..columns * rows).map(|k| (k % columns, k / columns)) {
            let (x0, x1) = (bx * NX / columns, (bx + 1) * NX / columns);
            let (y0, y1) = (by * NY / rows, (by + 1) * NY / rows);
            let c = factz_config {
                nx: (x1 - x0) as u64,
                ny: (y1 - y0) as u64,
                u_pitch: NX as u64,
                v_pitch: NX as u64,
                halo: sides([x0 > 0, x1 < NX, y0 > 0, y1 < NY]),
                ..whole_config
            };
            let n = (x1 - x0) * (y1 - y0);
            let call = Call { components: at(y0 * NX + x0), n, config: &c, other_config: null(), threads: 1 };
            let mut block = factz_comparison::default();
            ok(call.compare(&mut block));
            sum.iter_mut().zip(counts(&block)).for_each(|(sum, n)| *sum += n);
            let mut found = vec![NO_POINT; 2 * (n + x1 - x0 + y1 - y0 + 1)];
            ok(call.points(&mut found, &mut count));
            assert_eq!(count, block.critical_points);
            points.extend(found[..count as usize].iter().map(|p| {
                let (y, x, simplex, kind, index) = place(p);
                (y + y0 as u64, x + x0 as u64, simplex, kind, index)
            }));
        }
        assert_eq!(sum, counts(&whole), "{columns} x {rows} blocks");
        points.sort();
        assert!(points == all, "{columns} x {rows} blocks: {} points", points.len());
    }
}

/// The ghosts of every side that the halo names are inputs, others are not.
#[test]
fn ghosts_are_read_on_the_sides_of_the_halo() {
    let c = config(3, 2, FACTZ_BOUND_ABSOLUTE, 0.1);
    let mut values = vec![0f64; 4 * 100];
    let base = values.as_mut_ptr().cast::<f32>();
    let reads = |halo, out: usize| {
        let c = factz_config { halo, u_pitch: 10, v_pitch: 10, ..c };
        // SAFETY: inside the allocation.
        let at = |k: usize| unsafe { base.add(k) }.cast_const();
        let components = [at(20), at(120), at(220), at(320)];
        let call = Call { components, n: 6, config: &c, other_config: null(), threads: 1 };
        // SAFETY: as above.
        call.points(&mut [], unsafe { base.add(out) }.cast::<u64>())
    };
    // Vertices of u: 20 to 22 and 30 to 32; ghosts of the first row are 10 to 12, of the last one 40 to 42.
    let (before, after) = (10, 40);
    assert_eq!(reads(FACTZ_SIDE_X_MIN | FACTZ_SIDE_Y_MIN, after), FACTZ_OK);
    assert_eq!(reads(FACTZ_SIDE_X_MAX | FACTZ_SIDE_Y_MAX, before), FACTZ_OK);
    for (halo, out) in [(FACTZ_SIDE_Y_MAX, after), (FACTZ_SIDE_Y_MIN, before)] {
        expect(reads(halo, out), FACTZ_ERROR_INVALID_ARGUMENT, "count at");
        expect(reads(FACTZ_SIDES_ALL, out), FACTZ_ERROR_INVALID_ARGUMENT, "overlaps u");
    }
}

#[test]
fn ranges_give_the_bound_of_compression() {
    let [u, v, ..] = fields();
    let c = with_fill(config(NX, NY, FACTZ_BOUND_RELATIVE, 1e-3));
    let components = [u.as_ptr(), v.as_ptr(), u.as_ptr(), v.as_ptr()];
    let call = Call { components, n: N, config: &c, other_config: null(), threads: 1 };
    let mut range = MaybeUninit::<factz_range>::uninit();
    ok(call.range(range.as_mut_ptr()));
    // SAFETY: it was written.
    let range = unsafe { range.assume_init() };
    let values = || u.iter().zip(&v).filter(|(u, v)| **u != FILL && **v != FILL).flat_map(|(u, v)| [*u, *v]);
    assert_eq!(range.low, values().fold(f32::MAX, f32::min) as f64);
    assert_eq!(range.high, values().fold(f32::MIN, f32::max) as f64);
    assert_eq!(range.filled_vertices as usize, N - values().count() / 2);
    let bound = factz_relative_bound(1e-3, range.low, range.high);
    assert_eq!(bound, 1e-3 * (range.high - range.low));
    // Fifty times the field exceeds that bound nearly everywhere.
    let is_filled = |k: usize| u[k] == FILL || v[k] == FILL;
    let scale =
        |c: &[f32]| (0..N).map(|k| if is_filled(k) { c[k] } else { 50.0 * c[k] }).collect::<Vec<f32>>();
    let fifty = [scale(&u), scale(&v)];
    let mut result = factz_comparison::default();
    let call = Call { components: [u.as_ptr(), v.as_ptr(), fifty[0].as_ptr(), fifty[1].as_ptr()], ..call };
    ok(call.compare(&mut result));
    assert_eq!((result.bound, result.changed_missing), (bound, 0));
    assert!(result.bound_exceeded > N as u64 && result.violations >= result.bound_exceeded);

    assert_eq!(factz_relative_bound(0.25, f64::INFINITY, f64::NEG_INFINITY), 0.0);
    assert_eq!(factz_relative_bound(0.25, f64::MIN, f64::MAX), 0.5 * f64::MAX);
    assert_eq!(factz_relative_bound(4.0, f64::MIN, f64::MAX), f64::MAX);
    assert!(factz_relative_bound(1e-3, 0.0, -0.0).is_sign_positive());
    for (relative, low, high) in [(-1.0, 0.0, 1.0), (f64::NAN, 0.0, 1.0), (1.0, f64::NAN, 1.0)] {
        assert!(factz_relative_bound(relative, low, high).is_nan());
    }
    assert!(factz_relative_bound(f64::INFINITY, 0.0, 1.0).is_nan());
}

/// Every error that the arguments can make, with an output that is usable.
#[test]
fn usable_outputs_are_written_on_every_error() {
    let fields = fields();
    let components = fields.each_ref().map(|f| f.as_ptr());
    let good = config(NX, NY, FACTZ_BOUND_ABSOLUTE, 0.05);
    let call = Call { components, n: N, config: &good, other_config: null(), threads: 1 };
    let bad = factz_config { mode: 9, ..good };
    let old = factz_config { struct_size: 8, ..good };
    let ghosts = factz_config { halo: FACTZ_SIDE_Y_MAX, ..good };
    let left = factz_config { u_pitch: 80, v_pitch: 80, halo: FACTZ_SIDE_X_MIN, ..good };
    let narrow = factz_config { nx: NX as u64 - 1, ..good };
    let [u, v, other_u, other_v] = components;
    let argument = FACTZ_ERROR_INVALID_ARGUMENT;
    let cases = [
        (Call { config: null(), ..call }, argument, "config is null"),
        (Call { config: (&raw const good).wrapping_byte_add(4), ..call }, argument, "config = "),
        (Call { config: &bad, ..call }, FACTZ_ERROR_INVALID_CONFIG, "mode = 9"),
        (Call { config: &old, ..call }, FACTZ_ERROR_INVALID_CONFIG, "struct_size = 8"),
        (Call { n: 7, ..call }, argument, "n = 7"),
        (Call { components: [null(), v, other_u, other_v], ..call }, argument, "u is null"),
        (Call { components: [u, null(), other_u, other_v], ..call }, argument, "v is null"),
        (Call { threads: -1, ..call }, argument, "threads = -1"),
    ];
    let of_two = [
        (Call { components: [u, v, null(), other_v], ..call }, argument, "other_u is null"),
        (Call { components: [u, v, other_u, null()], ..call }, argument, "other_v is null"),
        (Call { other_config: &bad, ..call }, FACTZ_ERROR_INVALID_CONFIG, "other_config: mode = 9"),
        (Call { other_config: &narrow, ..call }, argument, "other_config describes 60 x 43"),
        (Call { other_config: &ghosts, ..call }, argument, "halo = 0x8 of the other field"),
        (Call { other_config: &left, ..call }, argument, "halo = 0x1 of the other field"),
    ];
    // Nothing but the status, and what says that there is nothing.
    let bytes = |from: &dyn Fn(*mut u8)| {
        let mut bytes = [0xeeeeeeeeeeeeeeeeu64; 33];
        from(bytes.as_mut_ptr().cast());
        bytes
    };
    for (case, status, text) in cases.iter().chain(&of_two) {
        let found = bytes(&|out| expect(case.compare(out.cast()), *status, text));
        assert_eq!(found[0], *status as u64, "{text}");
        assert!(found[1..32].iter().all(|&word| word == 0) && found[32] == u64::MAX / 15 * 14, "{text}");
    }
    for (case, status, text) in &cases {
        let found = bytes(&|out| expect(case.points(&mut [], out.cast()), *status, text));
        assert_eq!(found[..2], [0, u64::MAX / 15 * 14], "{text}");
        let found = bytes(&|out| expect(case.range(out.cast()), *status, text));
        let nothing = [*status as u64, f64::INFINITY.to_bits(), f64::NEG_INFINITY.to_bits(), 0, 0, 0, 0, 0];
        assert_eq!(found[..9], [&nothing[..], &[u64::MAX / 15 * 14]].concat(), "{text}");
    }
    // Points that are no place to write to.
    let mut count = 77u64;
    let points = |points: *mut factz_critical_point, capacity, count: &mut u64| {
        // SAFETY: refused.
        unsafe { factz_critical_points_host(u.cast(), v.cast(), N, &good, points, capacity, count, 1) }
    };
    let inside = u.cast_mut().cast::<factz_critical_point>().map_addr(|a| a.next_multiple_of(8));
    for (place, capacity, text) in [
        (null_mut(), 3, "points is null but capacity = 3"),
        (inside, 3, "overlaps u"),
        (inside, usize::MAX, "capacity = 18446744073709551615"),
        (inside.wrapping_byte_add(1), 1, "aligned"),
        ((&raw mut count).cast(), 1, "overlaps count"),
    ] {
        expect(points(place, capacity, &mut count), argument, text);
        assert_eq!(std::mem::replace(&mut count, 77), 0, "{text}");
    }
}

/// An output that cannot be written is not: no crash, and no input is changed.
#[test]
fn unusable_outputs_are_left_alone() {
    let fields = fields();
    let copy = fields.clone();
    let components = fields.each_ref().map(|f| f.as_ptr());
    let good = config(NX, NY, FACTZ_BOUND_ABSOLUTE, 0.05);
    let call = Call { components, n: N, config: &good, other_config: null(), threads: 1 };
    let argument = FACTZ_ERROR_INVALID_ARGUMENT;
    let aligned = |p: *const f32| p.cast_mut().map_addr(|a| a.next_multiple_of(8));
    for (k, component) in components.into_iter().enumerate() {
        let at = aligned(component);
        expect(call.compare(at.cast()), argument, "comparison at");
        if k < 2 {
            expect(call.points(&mut [], at.cast()), argument, "count at");
            expect(call.range(at.cast()), argument, "range at");
        }
    }
    let mut place = factz_comparison::default();
    let odd = (&raw mut place).wrapping_byte_add(4);
    let misaligned = ["is not aligned to 8 bytes"; 3];
    let missing = ["comparison is null", "count is null", "range is null"];
    for (out, [comparison, count, range]) in [(odd, misaligned), (null_mut(), missing)] {
        expect(call.compare(out), argument, comparison);
        expect(call.points(&mut [], out.cast()), argument, count);
        expect(call.range(out.cast()), argument, range);
    }
    assert!(counts(&place).iter().all(|&n| n == 0));
    assert_eq!(fields, copy);
}

#[test]
fn the_device_twins_check_their_arguments() {
    let good = config(40, 30, FACTZ_BOUND_RELATIVE, 0.05);
    // Addresses of a device that nobody follows.
    let (u, v, work) = (0x10_0000usize as *const c_void, 0x20_0000usize as *const c_void, 0x40_0000usize);
    let find = |n, bytes, range: usize| {
        // SAFETY: refused.
        unsafe { factz_range_device(u, v, n, &good, work as _, bytes, range as _, null_mut()) }
    };
    let argument = FACTZ_ERROR_INVALID_ARGUMENT;
    for (n, range, text) in [
        (1200, 0, "range is null"),
        (1200, 0x50_0004, "not aligned to 8 bytes"),
        (1200, 0x20_0000 + 4792, "overlaps v"),
        (1200, work, "overlaps range"),
        (1201, 0x50_0000, "is not nx * ny"),
    ] {
        expect(find(n, 256, range), argument, text);
    }
    expect(find(1200, 255, 0x50_0000), FACTZ_ERROR_WORKSPACE_TOO_SMALL, "workspace_bytes = 255");
    assert_ne!(find(1200, 256, 0x50_0000), FACTZ_OK);
    let compare = |c: &factz_config, other: &factz_config, comparison: usize| {
        let (result, none) = (comparison as *mut factz_comparison, null_mut());
        // SAFETY: refused.
        unsafe { factz_compare_device(u, v, 1200, c, v, u, other, work as _, 1 << 19, result, none) }
    };
    let ghosts = factz_config { halo: FACTZ_SIDE_Y_MAX, ..good };
    expect(compare(&good, &ghosts, 0x50_0000), argument, "halo = 0x8 of the other field");
    // The row of ghosts is part of the input.
    let behind = 0x20_0000 + 40 * 30 * 4;
    expect(compare(&ghosts, &ghosts, behind), argument, "comparison at");
    assert!(compare(&good, &good, behind) != argument || last_error().contains("host memory"));
}
