//! Stacks: planes that are compressed together keep what each of them keeps, and can be decompressed alone.

use crate::support::checker::{counts, Checker};
use crate::support::fields::*;
use factz::{
    compare, compress, critical_points, decompress, decompress_planes, decompress_region, inspect,
    max_stream_bytes, BoundKind, Config, Execution, Layout, Real, Report, Request, View, ViewMut,
};

/// Planes of one shape, which lie one behind the other.
struct Stack<T> {
    planes: Vec<Field<T>>,
}

const EXECUTION: Execution<'static> = Execution { threads: 2, progress: None };

impl<T: Real> Stack<T> {
    fn config(&self, bound: f64) -> Config {
        let plane = &self.planes[0];
        Config { nz: self.planes.len() as u64, ..plane.config(BoundKind::Relative, bound) }
    }

    /// All planes, with `gap` rows of NaN behind each.
    fn components(&self, gap: u64) -> [Vec<T>; 2] {
        let rows = vec![T::from_f64(f64::NAN); (gap * self.planes[0].nx) as usize];
        [0, 1].map(|k| {
            self.planes.iter().flat_map(|plane| [&plane.components[k][..], &rows].concat()).collect()
        })
    }

    fn layout(&self, gap: u64) -> Layout {
        let plane = &self.planes[0];
        Layout { pitch: plane.nx, stride: 1, plane: plane.nx * (plane.ny + gap) }
    }

    fn compressed(&self, config: &Config, gap: u64) -> (Vec<u8>, Report) {
        let request = Request::new(Config { plane_rows: self.planes[0].ny + gap, ..*config })
            .expect("a valid configuration");
        let components = self.components(gap);
        let [u, v] = components.each_ref().map(|c| View::strided(c, 0, self.layout(gap)));
        let mut stream = vec![0; max_stream_bytes(&request) as usize];
        let report = compress(&request, u, v, &mut stream, EXECUTION).expect("a valid field");
        stream.truncate(report.stream_bytes as usize);
        (stream, report)
    }

    /// The planes of dense components.
    fn of(&self, components: &[Vec<T>; 2]) -> Vec<Field<T>> {
        let Field { nx, ny, .. } = self.planes[0];
        let plane = |z: usize| {
            let part = |c: &Vec<T>| c[z * (nx * ny) as usize..][..(nx * ny) as usize].to_vec();
            Field { nx, ny, components: components.each_ref().map(part) }
        };
        (0..components[0].len() / (nx * ny) as usize).map(plane).collect()
    }

    fn restored(&self, config: &Config, stream: &[u8]) -> Vec<Field<T>> {
        let Config { nx, ny, nz, .. } = *config;
        let mut components = [0, 1].map(|_| vec![T::ZERO; (nx * ny * nz) as usize]);
        let [u, v] = components.each_mut().map(|c| ViewMut::stack(c, nx, ny));
        decompress(config, stream, u, v, EXECUTION).expect("an intact stream");
        self.of(&components)
    }
}

/// Blocks of a field of data/, of several kinds: smooth ones, constant ones, with missing values.
fn stack<T: Real>(name: &str, nx: u64, ny: u64, nz: u64) -> Stack<T> {
    let field = stored(name);
    let planes = (0..nz).map(|z| {
        let (x0, y0) = ((7 * z) % (field.nx - nx + 1), (5 * z) % (field.ny - ny + 1));
        let block = field.block(x0, y0, nx, ny);
        Field::new(nx, ny, |x, y| match z % 4 {
            3 => [0.0; 2],
            2 if (x + y) % 31 == 0 => [f64::NAN, 1.0],
            _ => block.vertex(block.at(x, y)).map(|c| c as f64),
        })
    });
    Stack { planes: planes.collect() }
}

/// Every plane alone is that of the whole, and keeps its points.
fn check<T: Real>(name: &str, stack: &Stack<T>, bound: f64) {
    let mut checker = Checker::new(&format!("stacks-{name}-{}", T::BYTES));
    let before: Vec<_> = stack.planes.iter().map(|plane| checker.write(plane)).collect();
    for (mode, predictor) in FRONTS {
        for coder in CODERS {
            let config = Config { mode, predictor, coder, ..stack.config(bound) };
            let (stream, report) = stack.compressed(&config, 0);
            assert!((stream.clone(), report) == stack.compressed(&config, 3), "gaps do not count");
            assert_eq!(inspect(&stream).expect("a header").nz, config.nz);
            let after = stack.restored(&config, &stream);
            let bound = Config { bound_kind: BoundKind::Absolute, bound: report.bound, nz: 1, ..config };
            for (z, plane) in after.iter().enumerate() {
                let compared = stack.planes[z].compared(plane, &bound, report.bound);
                assert_eq!(compared.violations(), 0, "{name}, plane {z}: {compared:?}");
                checker.add(&before[z], plane, &bound, &counts(&compared));
            }
            planes_alone(stack, &config, &stream, &after);
        }
    }
    checker.check();
}

/// Runs of planes, and rectangles of them, are those of the whole.
fn planes_alone<T: Real>(stack: &Stack<T>, config: &Config, stream: &[u8], after: &[Field<T>]) {
    let Config { nx, ny, nz, .. } = *config;
    let runs = (0..nz).flat_map(|first| [1, 2, nz - first].map(|count| (first, count.min(nz - first))));
    for (first, count) in runs {
        let mut components = [0, 1].map(|_| vec![T::ZERO; (nx * ny * count) as usize]);
        let [u, v] = components.each_mut().map(|c| ViewMut::stack(c, nx, ny));
        let config = Config { nz: count, ..*config };
        let report = decompress_planes(&config, stream.into(), first, u, v, EXECUTION).expect("planes");
        assert!(report.stream_bytes <= stream.len() as u64);
        for (k, plane) in stack.of(&components).iter().enumerate() {
            assert_eq!(plane.bits(), after[first as usize + k].bits(), "planes {first} to {}", first + count);
        }
        let (w, h) = (nx.div_ceil(2), ny.div_ceil(3));
        let [x0, y0] = [5.min(nx - w), 7.min(ny - h)];
        let mut components = [0, 1].map(|_| vec![T::ZERO; (w * h * count) as usize]);
        let [u, v] = components.each_mut().map(|c| ViewMut::stack(c, w, h));
        let config = Config { nx: w, ny: h, ..config };
        decompress_region(&config, stream.into(), [x0, y0, first], u, v, EXECUTION).expect("a region");
        for (k, c) in components[0].chunks((w * h) as usize).enumerate() {
            let expected = after[first as usize + k].block(x0, y0, w, h);
            assert_eq!(bytes_of(c), bytes_of(&expected.components[0]));
        }
    }
}

#[test]
fn planes_keep_their_points() {
    check("wind", &stack::<f32>("wind_global", 70, 67, 6), 1e-2);
    check("wind", &stack::<f64>("wind_global", 64, 65, 4), 1e-1);
    check("narrow", &stack::<f32>("wind_global", 5, 40, 9), 1e-3);
    check("row", &stack::<f64>("wind_global", 50, 1, 5), 1e-3);
}

/// Counts of a stack are the sums over its planes, and points name theirs.
#[test]
fn analyses_of_a_stack_are_those_of_its_planes() {
    let stack = stack::<f32>("wind_global", 90, 75, 5);
    let config = stack.config(1e-1);
    let request = Request::new(config).expect("a valid configuration");
    let (stream, report) = stack.compressed(&Config { preserve: factz::Preserve::None, ..config }, 0);
    let after = stack.restored(&config, &stream);
    let components = [stack.components(0), Stack { planes: after.clone() }.components(0)];
    let views = components.each_ref().map(|c| c.each_ref().map(|c| View::stack(c, 90, 75)));
    let whole = compare(&request, views[0], views[1], true, 2).expect("views that cover the grid");
    let planes = stack.planes.iter().zip(&after);
    let parts: Vec<_> =
        planes.map(|(a, b)| a.compared(b, &Config { nz: 1, ..config }, report.bound)).collect();
    assert!(whole.lost_points > 0, "nothing is kept: {whole:?}");
    for (k, (name, count)) in counts(&whole).into_iter().enumerate() {
        assert_eq!(count, parts.iter().map(|part| counts(part)[k].1).sum::<u64>(), "{name}");
    }
    let found = critical_points(&request, views[0], 2).expect("views that cover the grid");
    let plane_request = Request::new(Config { nz: 1, ..config }).expect("a valid configuration");
    let mut expected = Vec::new();
    for (z, plane) in stack.planes.iter().enumerate() {
        let points = critical_points(&plane_request, plane.views(0), 1).expect("views that cover the grid");
        expected
            .extend(points.into_iter().map(|point| (z as u64, point.cell_y, point.cell_x, point.simplex)));
    }
    let found: Vec<_> = found.iter().map(|p| (p.cell_z, p.cell_y, p.cell_x, p.simplex)).collect();
    assert_eq!(found, expected);
}

/// A stack is never larger than its planes one by one, and small planes gain.
#[test]
fn stacks_are_smaller_than_their_planes() {
    let stack = stack::<f32>("wind_global", 72, 65, 8);
    for (mode, predictor) in FRONTS {
        for bound in [1e-1, 1e-2, 1e-3] {
            let config = Config { mode, predictor, ..stack.config(bound) };
            let (stream, report) = stack.compressed(&config, 0);
            let plane = Config { nz: 1, bound_kind: BoundKind::Absolute, bound: report.bound, ..config };
            let alone: usize = stack.planes.iter().map(|field| field.compressed(&plane).0.len()).sum();
            assert!(stream.len() < alone, "{config:?}: {} and {alone}", stream.len());
        }
    }
}

#[test]
fn a_stack_of_one_is_its_plane() {
    let stack = stack::<f32>("wind_global", 72, 65, 1);
    let config = stack.config(1e-2);
    assert!(stack.compressed(&config, 0) == stack.planes[0].compressed(&config));
}

#[test]
fn planes_outside_are_named() {
    let stack = stack::<f32>("wind_global", 40, 33, 3);
    let config = stack.config(1e-2);
    let stream = stack.compressed(&config, 0).0;
    let mut values = vec![0f32; 40 * 33 * 3];
    let mut message = |config: Config, first: u64| {
        let mut other = values.clone();
        let (u, v) = (ViewMut::stack(&mut values, 40, 33), ViewMut::stack(&mut other, 40, 33));
        decompress_planes(&config, (&stream[..]).into(), first, u, v, EXECUTION).expect_err("refused").message
    };
    assert!(message(config, 1).contains("z0 = 1 and nz = 3: the region is not inside"));
    assert!(message(Config { nz: 1, ..config }, u64::MAX).contains("z0 = 18446744073709551615"));
    assert!(
        message(Config { nx: 39, ..config }, 0).contains("the planes of the stream have 40 x 33 vertices")
    );
    let flat = View::dense(&values, 40);
    let error = compress(&Request::new(config).unwrap(), flat, flat, &mut [], EXECUTION).unwrap_err();
    assert!(error.message.contains("u has 0 elements from a plane to the next"), "{error}");
}
