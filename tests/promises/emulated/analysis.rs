//! Comparisons, ranges and critical points of blocks.

use super::*;
use crate::support::fields::{bytes_of, dtype, sides, stored, Random, CODERS, FRONTS, TIES};
use factz::capi::analysis::FACTZ_INDEX_UNDEFINED;
use factz::grid::sides::periodic_sides;
use factz::{compare, critical_points, range, CriticalPoint};
use factz::{BoundKind, Layout, Preserve, Request, View, PERIODIC_X, PERIODIC_Y};
use factz::{SIDE_X_MAX, SIDE_X_MIN, SIDE_Y_MAX, SIDE_Y_MIN};

/// A field with zeros, missing values and critical points, and a changed copy.
fn noisy<T: Real>(random: &mut Random, n: u64, fill: f64) -> [Vec<T>; 4] {
    // Few values, many ties and edges through the origin; or many.
    let values = random.one_of(&[5, 2001]);
    let draw = |random: &mut Random| match random.below(24) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2..=4 => fill,
        5 => 0.0,
        6 => -0.0,
        7 => random.one_of(&[1e-40, 3e37, -3e37]),
        _ => random.below(values) as f64 - (values / 2) as f64,
    };
    let component = |random: &mut Random| {
        let before: Vec<f64> = (0..n).map(|_| draw(random)).collect();
        let after = before.iter().map(|&x| match random.below(12) {
            0 => draw(random),
            1 => x + random.below(9) as f64 - 4.0,
            _ => x,
        });
        let after = after.collect::<Vec<_>>();
        [before, after].map(|values| values.into_iter().map(T::from_f64).collect::<Vec<T>>())
    };
    let ([u0, u1], [v0, v1]) = (component(random), component(random));
    [u0, v0, u1, v1]
}

/// The words of a comparison, a range and critical points as the kernels write them.
fn analysis_words<T: Real>(request: &Request, [u0, v0, u1, v1]: [View<'_, T>; 4]) -> Vec<u64> {
    let first = [u0, v0];
    let c = compare(request, first, [u1, v1], true, 1).expect("the views cover the grid");
    let r = range(request, first, 1).expect("the views cover the grid");
    let points = critical_points(request, first, 1).expect("the views cover the grid");
    let counts = [
        [0, c.violations(), c.critical_points, c.other_critical_points, c.lost_points, c.spurious_points],
        [c.changed_types, c.ties, c.changed_ties, c.new_ties, c.nonfinite_vertices, c.changed_missing],
    ];
    let psnr = c.psnr.filter(|p| !p.is_nan()).map_or(0x7ff8 << 48, f64::to_bits);
    let errors = [
        c.zero_vertices,
        c.changed_zero_vertices,
        c.bound_exceeded,
        c.bound.to_bits(),
        c.max_error.to_bits(),
        psnr,
    ];
    let zeros = [c.filled_vertices, c.lost_zeros, c.spurious_zeros, c.changed_indices, 0, 0];
    let mut words = [&counts.concat()[..], &errors, &c.points_by_type, &zeros].concat();
    words.extend([0, r.low.to_bits(), r.high.to_bits(), r.nonfinite_vertices, r.filled_vertices]);
    words.extend([r.zero_vertices, 0, 0, points.len() as u64]);
    let pair = |low: i32, high: i32| low as u32 as u64 | (high as u64) << 32;
    let of = |p: &CriticalPoint| {
        let index = p.index.unwrap_or(FACTZ_INDEX_UNDEFINED);
        let numbers = [pair(p.simplex as i32, p.kind as i32), pair(index, p.rounding_divergence as i32)];
        let place = [p.cell_x, p.cell_y, p.cell_z, p.x.to_bits(), p.y.to_bits()];
        let eigenvalues = [p.eigenvalues_real, p.eigenvalues_imaginary].concat();
        [&place[..], &numbers, &eigenvalues.into_iter().map(f64::to_bits).collect::<Vec<_>>()].concat()
    };
    words.extend(points.iter().flat_map(of));
    words
}

/// The results of the kernels for a block of a field whose vertex (0, 0) is element `first`. The planes of
/// the other field are `other_plane` elements apart.
fn emulated_analysis<T: Real>(
    c: &Config,
    fields: &[Vec<T>; 4],
    first: u64,
    other_plane: u64,
    order: u32,
    folder: &Path,
) -> Vec<u64> {
    let mut names = ["u", "v", "other_u", "other_v"].iter();
    let files = fields.each_ref().map(|values| {
        let name = names.next().expect("a name for each");
        written(folder, name, &bytes_of(values))
    });
    let results = folder.join("results");
    let ghosts = c.halo | periodic_sides(c.periodic);
    let beyond = |bit: u32| (ghosts & bit != 0) as u64;
    let fill = c.fill_value.map(|fill| T::from_f64(fill).to_bits64());
    let (columns, rows) = (c.nx + beyond(SIDE_X_MAX), c.ny + beyond(SIDE_Y_MAX));
    let (columns_before, rows_before) = (beyond(SIDE_X_MIN), beyond(SIDE_Y_MIN));
    let grid: [&dyn ToString; 6] = [&order, &(c.dtype as u32), &c.nx, &c.ny, &c.nz, &c.periodic];
    let ghosts: [&dyn ToString; 4] = [&columns, &rows, &columns_before, &rows_before];
    let (has_fill, fill) = (fill.is_some() as u64, fill.unwrap_or(0));
    let ties = c.ties as u32;
    let choices: [&dyn ToString; 7] =
        [&(c.bound_kind as u32), &c.bound, &has_fill, &fill, &c.dx, &c.dy, &ties];
    let files = files.each_ref().map(|file| file as &dyn ToString);
    let places: [&dyn ToString; 5] = [&first, &c.u.pitch, &c.u.plane, &other_plane, &results.display()];
    let status = emulate("analyze", &[&grid[..], &ghosts, &choices, &files, &places].concat());
    assert_eq!(status, [0], "{c:?}");
    let bytes = fs::read(results).expect("the results are there");
    bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes"))).collect()
}

/// Planes with other elements behind each, so that they are `to` elements apart.
fn apart<T: Real>(values: &[T], from: u64, to: u64) -> Vec<T> {
    let behind = vec![T::from_f64(-0.5); (to - from) as usize];
    values.chunks(from as usize).flat_map(|plane| [plane, &behind].concat()).collect()
}

/// Blocks of a random stack, with ghosts on the sides that have a neighbour, or with periodic axes.
fn analyze_blocks<T: Real>(seed: u64, folder: &Path) {
    let mut random = Random(seed);
    // Widths of warps and of blocks, and about them.
    let columns = random.one_of(&[1, 2, 3, 65, 129, 130, 257, 258, 300]);
    let rows = random.one_of(&[1, 2, 3, 31, 33, 65, 70]);
    let nz = random.one_of(&[1, 1, 2, 5]);
    let fill = random.one_of(&[9.96921e36, 0.0, 7.0]);
    let [u0, v0, u1, v1] = noisy::<T>(&mut random, columns * rows * nz, fill);
    // The planes of the other field lie otherwise.
    let (plane, other_plane) = (columns * rows, columns * (rows + random.below(4)));
    let fields = [u0, v0, apart(&u1, plane, other_plane), apart(&v1, plane, other_plane)];
    let layout = Layout { pitch: columns, stride: 1, plane: 0 };
    let mut piece = |n: u64, sizes: &[u64]| {
        let first = [0, 1, random.below(n)][random.below(3) as usize].min(n - 1);
        let size = [random.one_of(sizes), n, 1 + random.below(n)][random.below(3) as usize];
        (first, size.min(n - first))
    };
    let ((x0, nx), (y0, ny)) = (piece(columns, &[64, 128, 256]), piece(rows, &[32, 64]));
    let long_axes = ((nx >= 3) as u32 * PERIODIC_X) | ((ny >= 3) as u32 * PERIODIC_Y);
    let periodic = random.one_of(&[0, PERIODIC_X, PERIODIC_Y, PERIODIC_X | PERIODIC_Y]) & long_axes;
    let config = Config {
        dtype: dtype::<T>(),
        nz,
        plane_rows: rows,
        u: layout,
        v: layout,
        halo: sides([x0 > 0, x0 + nx < columns, y0 > 0, y0 + ny < rows]) & !periodic_sides(periodic),
        periodic,
        dx: random.one_of(&[1.0, 0.75, -1.0]),
        dy: random.one_of(&[1.0, -1.0]),
        fill_value: random.one_of(&[None, Some(fill), Some(fill)]),
        ties: random.one_of(&TIES),
        ..Config::new(nx, ny, random.one_of(&[BoundKind::Relative, BoundKind::Absolute]), 1e-3)
    };
    let request = Request::new(config).expect("a valid configuration");
    let what = format!("seed {seed}");
    check_analysis(&request, &fields, y0 * columns + x0, [plane, other_plane], &what, folder);
}

/// The kernels find what the library finds, in fields with so many elements from a plane to the next.
fn check_analysis<T: Real>(
    request: &Request,
    fields: &[Vec<T>; 4],
    first: u64,
    planes: [u64; 2],
    what: &str,
    folder: &Path,
) {
    let config = request.config();
    let view =
        |k: usize| View::strided(&fields[k], first as usize, Layout { plane: planes[k / 2], ..config.u });
    let expected = analysis_words(request, std::array::from_fn(view));
    for order in ORDERS {
        let found = emulated_analysis(config, fields, first, planes[1], order, folder);
        assert!(found == expected, "{what}, order {order}: {config:?}\n{found:?}\n{expected:?}");
    }
}

/// A stack with gaps behind its planes, larger ones in the other field.
fn analyze_stack<T: Real>([nx, ny, nz]: [u64; 3], periodic: u32, folder: &Path) {
    let mut random = Random(nx + ny);
    let fields = noisy::<T>(&mut random, nx * ny * nz, 7.0);
    let plane = nx * ny;
    let planes = [plane + 2 * nx, plane + 3 * nx];
    let mut apart_by = [planes[0], planes[0], planes[1], planes[1]].into_iter();
    let fields = fields.map(|c| apart(&c, plane, apart_by.next().expect("one for each component")));
    let config = Config {
        nz,
        plane_rows: ny + 2,
        periodic,
        dtype: dtype::<T>(),
        fill_value: Some(7.0),
        ..Config::new(nx, ny, BoundKind::Relative, 1e-3)
    };
    let request = Request::new(config).expect("a valid configuration");
    check_analysis(&request, &fields, 0, planes, "a stack", folder);
}

/// Columns and rows against their axes: the kernels keep, count and list the types that the library does.
fn check_orders<T: Real>(field: &Field<T>, [dx, dy]: [f64; 2], order: u32, folder: &Path) {
    for (front, (mode, predictor)) in FRONTS.into_iter().enumerate() {
        let coder = CODERS[front % 2];
        let config = Config { mode, predictor, coder, dx, dy, ..field.config(BoundKind::Relative, 5e-2) };
        let stream = check_compression(field, &config, 0, order, folder, "against the axes");
        let other = Config { dx: dx.abs(), dy: dy.abs(), ..config };
        // With both axes turned, the same triangles keep the same signs.
        let is_same = field.compressed_block(&other, 0, 1).0[128..] == stream[128..];
        assert_eq!(is_same, dx * dy > 0.0, "{config:?}");
        let request = Request::new(config).expect("a valid configuration");
        // A reconstruction that changes types, too.
        let preserve = Preserve::None;
        let lossy = field.compressed_block(&Config { preserve, ..config }, 0, 1).0;
        for stream in [stream, lossy] {
            let after = Field::<T>::restored(&config, &stream, 1);
            let ([u0, v0], [u1, v1]) = (field.views(0), after.views(0));
            let expected = analysis_words(&request, [u0, v0, u1, v1]);
            let [[u0, v0], [u1, v1]] = [field, &after].map(|field| field.components.clone());
            let found = emulated_analysis(request.config(), &[u0, v0, u1, v1], 0, 0, order, folder);
            assert!(found == expected, "{config:?}\n{found:?}\n{expected:?}");
        }
    }
}

#[test]
fn kernels_keep_and_find_the_types_of_the_plane() {
    needs!("g++");
    let wind = stored("wind_global").block(192, 76, 66, 45);
    let wide = wind.widened();
    let cases = [
        ([1.0, -1.0], ORDERS[0], false),
        ([1.0, -1.0], ORDERS[1], true),
        ([-1.0, 1.0], ORDERS[1], false),
        ([-1.0, -0.5], ORDERS[0], true),
    ];
    for_each("emulated_orders", &cases, |&(spacing, order, is_wide), folder| match is_wide {
        true => check_orders(&wide, spacing, order, folder),
        false => check_orders(&wind, spacing, order, folder),
    });
}

#[test]
#[ignore = "make test-all"]
fn kernels_find_what_the_library_finds_in_blocks() {
    needs!("g++");
    for_each("emulated_analysis", &(0..90).collect::<Vec<u64>>(), |&seed, folder| match seed % 3 {
        2 => analyze_blocks::<f64>(seed, folder),
        _ => analyze_blocks::<f32>(seed, folder),
    });
}

#[test]
#[ignore = "make test-all"]
fn kernels_find_what_the_library_finds_in_stacks_and_seams() {
    needs!("g++");
    let both = PERIODIC_X | PERIODIC_Y;
    let cases = [
        ([3, 3, 2], both),
        ([130, 33, 2], PERIODIC_X),
        ([128, 35, 3], both),
        ([70, 32, 2], PERIODIC_Y),
        ([129, 5, 3], 0),
        ([64, 64, 1], both),
    ];
    for_each("emulated_stacks", &cases, |&(shape, periodic), folder| {
        analyze_stack::<f32>(shape, periodic, folder);
        analyze_stack::<f64>(shape, periodic, folder);
    });
}
