//! Analysis of volumes: comparisons count what the independent checker of volumes counts (tests/exact_verify3d.py), and
//! the critical points are those of a search in integers that knows all simplices.

use super::volume_blocks::{blocks, Block};
use super::volumes::{compressed, counts, decompressed, with_solids, Volume};
use crate::support::fields::Random;
use crate::support::fresh_folder;
use factz::{
    compare_volume, critical_points_volume, range_volume, BoundKind, Config, Dtype, Preserve, Real, Status,
    Ties, ValueRange, VolumeComparison, VolumeKind, VolumePoint, VolumeRequest, PERIODIC_X, PERIODIC_Y,
    PERIODIC_Z, SIDE_Z_MAX, SIDE_Z_MIN,
};
use std::collections::{BTreeMap, BTreeSet};

fn compared<T: Real>(first: &Volume<T>, other: &Volume<T>, config: Config) -> VolumeComparison {
    let request = VolumeRequest::new(config).expect("valid");
    let [one, three] = [1, 3]
        .map(|threads| compare_volume(&request, first.views(), other.views(), true, threads).expect("valid"));
    // Not a number is not equal to itself.
    assert_eq!(format!("{one:?}"), format!("{three:?}"), "the number of threads does not matter");
    one
}

fn points<T: Real>(volume: &Volume<T>, config: Config) -> Vec<VolumePoint> {
    let request = VolumeRequest::new(config).expect("valid");
    let [one, three] =
        [1, 3].map(|threads| critical_points_volume(&request, volume.views(), threads).expect("valid"));
    assert_eq!(one, three, "the number of threads does not matter");
    let order = |p: &VolumePoint| (p.cell_z, p.cell_y, p.cell_x, p.simplex);
    assert!(one.windows(2).all(|w| order(&w[0]) < order(&w[1])));
    one
}

/// Small integers: many ties, and zeros on all simplices.
fn integers<T: Real>(sizes: [u64; 3], most: u64, seed: u64) -> Volume<T> {
    let mut random = Random(seed);
    Volume::of(sizes, |_| [0; 3].map(|_| random.below(2 * most + 1) as f64 - most as f64))
}

/// A copy with other values at some vertices.
fn changed<T: Real>(
    volume: &Volume<T>,
    seed: u64,
    mut value: impl FnMut(T, &mut Random) -> f64,
) -> Volume<T> {
    let mut random = Random(seed);
    let mut other = volume.clone();
    for x in other.components.iter_mut().flatten() {
        if random.below(5) == 0 {
            *x = T::from_f64(value(*x, &mut random));
        }
    }
    other
}

/// Compares with the independent checker, which looks at everything that is not periodic.
fn counts_agree<T: Real>(name: &str, first: &Volume<T>, other: &Volume<T>, config: Config) -> [u64; 5] {
    let config = Config { bound_kind: BoundKind::Absolute, ..config };
    let folder = fresh_folder(&format!("volume-analysis-{name}"));
    let expected = counts(&folder, [first, other], &config, config.bound);
    let c = compared(first, other, config);
    let found = BTreeMap::from([
        ("points", c.points_in_tetrahedra()),
        ("lost", c.lost_points - c.lost_zeros),
        ("spurious", c.spurious_points - c.spurious_zeros),
        ("type_changed", c.changed_types - c.changed_indices),
        ("ties", c.ties),
        ("tie_created", c.new_ties),
        ("nonfinite_changed", c.changed_missing),
        ("bound_exceeded", c.bound_exceeded),
    ]);
    for (what, count) in &found {
        assert_eq!(*count, expected[*what], "{name}: {what} of {expected:?}, {c:?}");
    }
    if config.ties == Ties::All {
        let changed = expected["tie_changed"] + expected["tie_minors_changed"];
        assert_eq!(c.changed_ties, changed, "{name}: {expected:?}");
    }
    let listed = points(first, config);
    assert_eq!(listed.len() as u64, c.critical_points, "{name}");
    assert_eq!(points(other, config).len() as u64, c.other_critical_points, "{name}");
    for kind in VolumeKind::ALL {
        let count = listed.iter().filter(|p| p.kind == kind).count() as u64;
        assert_eq!(c.points_by_type[kind as usize], count, "{name}: {kind:?}");
    }
    [found["points"], found["lost"], found["type_changed"], c.changed_ties, c.new_ties]
}

#[test]
fn comparisons_are_those_of_the_independent_checker() {
    let mut seen = [0; 5];
    let mut count = |found: [u64; 5]| (0..5).for_each(|k| seen[k] += found[k]);
    for (round, spacing) in [[1.0; 3], [-2.0, 0.25, -1.0], [0.5, -3.0, 7.0]].into_iter().enumerate() {
        let config = |base: Config| {
            let [dx, dy, dz] = spacing;
            Config { dx, dy, dz, bound: 0.25, ..base }
        };
        let noise = Volume::<f64>::waves([9, 11, 8], 2.0, round as u64);
        let other = changed(&noise, 3, |x, random| x + 0.5 * random.signed());
        count(counts_agree("noise", &noise, &other, config(noise.config(0.0))));
        for most in [1, 2, 5] {
            let whole = integers::<f32>([8, 7, 9], most, 10 * most + round as u64);
            let other = changed(&whole, 4, |x, random| x.to_f64() + random.below(3) as f64 - 1.0);
            count(counts_agree("integers", &whole, &other, config(whole.config(0.0))));
            // Where other signs or none change.
            let other = changed(&whole, 5, |x, _| 2.0 * x.to_f64());
            count(counts_agree("doubled", &whole, &other, config(whole.config(0.0))));
        }
        let mut solids = with_solids::<f32>([14, 15, 13], round as u64);
        let mut other = changed(&solids, 6, |x, random| x.to_f64() * (1.0 + 0.1 * random.signed()));
        // Of all components: the checker leaves out the values of the whole vertex.
        solids.components.iter_mut().for_each(|c| c[77] = f32::NAN);
        other.components.iter_mut().for_each(|c| c[500] = f32::INFINITY);
        count(counts_agree("solids", &solids, &other, config(solids.config(0.0))));
    }
    assert!(seen.iter().all(|&n| n > 20), "{seen:?}");
}

/// A search in integers for isolated zeros: for each simplex, by its vertices, the index of the zero in its interior.
struct Search<'a> {
    volume: &'a Volume<f64>,
    periodic: [bool; 3],
}

type Vertices = Vec<[u64; 3]>;

impl Search<'_> {
    fn vertex(&self, at: [u64; 3]) -> Option<[u64; 3]> {
        let sizes = self.volume.sizes;
        let inside = (0..3).all(|k| at[k] < sizes[k] || (self.periodic[k] && at[k] == sizes[k]));
        inside.then(|| [0, 1, 2].map(|k| at[k] % sizes[k]))
    }

    fn value(&self, at: [u64; 3]) -> Option<[i64; 3]> {
        let value = self.volume.at(at);
        value.iter().all(|x| x.is_finite()).then(|| value.map(|x| x as i64))
    }

    /// All tetrahedra without missing vertices: their vertices along the path and their orientation in space.
    fn tetrahedra(&self) -> Vec<(Vertices, i64)> {
        let [nx, ny, nz] = self.volume.sizes;
        let orders = [
            ([0, 1, 2], 1),
            ([0, 2, 1], -1),
            ([1, 0, 2], -1),
            ([1, 2, 0], 1),
            ([2, 0, 1], 1),
            ([2, 1, 0], -1),
        ];
        let mut found = Vec::new();
        for k in 0..nx * ny * nz {
            for (order, parity) in orders {
                let mut at = [k % nx, k / nx % ny, k / nx / ny];
                let mut path = vec![self.vertex(at)];
                for axis in order {
                    at[axis] += 1;
                    path.push(self.vertex(at));
                }
                if let Some(path) = path.into_iter().collect::<Option<Vertices>>() {
                    if path.iter().all(|&at| self.value(at).is_some()) {
                        found.push((path, parity));
                    }
                }
            }
        }
        found
    }

    fn zeros(&self) -> BTreeMap<Vertices, Option<i64>> {
        let tetrahedra = self.tetrahedra();
        let mut found: BTreeMap<Vertices, Option<i64>> = BTreeMap::new();
        let zeros: Vec<Vec<Vertices>> =
            tetrahedra.iter().map(|(path, _)| self.in_tetrahedron(path)).collect();
        let candidates: BTreeSet<Vertices> = zeros.iter().flatten().cloned().collect();
        for candidate in candidates {
            let around =
                || (0..tetrahedra.len()).filter(|&k| candidate.iter().all(|v| tetrahedra[k].0.contains(v)));
            if around().all(|k| zeros[k].len() == 1) {
                let degree = around().map(|k| self.moved(&tetrahedra[k])).sum();
                let is_closed = around().count() == self.expected_around(&candidate);
                found.insert(candidate, is_closed.then_some(degree));
            }
        }
        found
    }

    /// Tetrahedra around a simplex in a grid without borders.
    fn expected_around(&self, simplex: &Vertices) -> usize {
        let step = |a: [u64; 3], b: [u64; 3]| [0, 1, 2].map(|k| u64::from(a[k] != b[k]));
        match simplex.len() {
            1 => 24,
            // An edge along one axis or along all three is in 6 tetrahedra, one along two axes in 4.
            2 => 6 - 2 * u64::from(step(simplex[0], simplex[1]).iter().sum::<u64>() == 2) as usize,
            3 => 2,
            _ => 1,
        }
    }

    /// The parts of a tetrahedron with a zero in their interior and none elsewhere.
    fn in_tetrahedron(&self, path: &Vertices) -> Vec<Vertices> {
        let chosen = |set: usize| (0..4).filter(move |k| set >> k & 1 != 0).map(|k| path[k]);
        let holds = |set: &usize| {
            let v: Vec<[i64; 3]> = chosen(*set).filter_map(|at| self.value(at)).collect();
            match v[..] {
                [a] => a == [0; 3],
                [a, b] => a != [0; 3] && cross(a, b) == [0; 3] && dot(a, b) < 0,
                [a, b, c] => {
                    let normals = [cross(a, b), cross(b, c), cross(c, a)];
                    dot(a, normals[1]) == 0 && normals.iter().all(|&n| dot(n, normals[0]) > 0)
                }
                [a, b, c, d] => inside([a, b, c, d]) != 0,
                _ => false,
            }
        };
        (1..16usize)
            .filter(holds)
            .map(|set| chosen(set).collect::<BTreeSet<_>>().into_iter().collect())
            .collect()
    }

    /// The orientation of the zero in a tetrahedron all of whose vectors were moved a little.
    fn moved(&self, (path, parity): &(Vertices, i64)) -> i64 {
        let v: Vec<[i64; 3]> = path.iter().filter_map(|&at| self.value(at)).collect();
        let side = 64;
        let moved = |v: [i64; 3]| {
            [
                v[0] * side * side * side - side * side,
                v[1] * side * side * side - side,
                v[2] * side * side * side - 1,
            ]
        };
        parity * inside([moved(v[0]), moved(v[1]), moved(v[2]), moved(v[3])])
    }
}

fn cross(a: [i64; 3], b: [i64; 3]) -> [i64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn dot(a: [i64; 3], b: [i64; 3]) -> i64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The sign of the determinants if the origin is strictly inside, otherwise 0.
fn inside([a, b, c, d]: [[i64; 3]; 4]) -> i64 {
    let det = |a: [i64; 3], b: [i64; 3], c: [i64; 3]| {
        let [a, b, c] = [a, b, c].map(|v| v.map(i128::from));
        let x = [b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]];
        (a[0] * x[0] + a[1] * x[1] + a[2] * x[2]).signum() as i64
    };
    let signs = [det(b, c, d), -det(a, c, d), det(a, b, d), -det(a, b, c)];
    if signs.iter().all(|&s| s == signs[0]) {
        signs[0]
    } else {
        0
    }
}

/// The points of the library by the vertices of their simplices.
fn by_vertices<T: Real>(volume: &Volume<T>, points: &[VolumePoint]) -> BTreeMap<Vertices, Option<i64>> {
    let vertices = |p: &VolumePoint| {
        let cell = [p.cell_x, p.cell_y, p.cell_z];
        let corner = |&c: &usize| [0, 1, 2].map(|k| (cell[k] + (c >> k & 1) as u64) % volume.sizes[k]);
        p.simplex.corners().iter().map(corner).collect::<BTreeSet<_>>().into_iter().collect()
    };
    points.iter().map(|p| (vertices(p), p.index.map(i64::from))).collect()
}

#[test]
fn all_isolated_zeros_are_found_with_their_indices() {
    let mut seen = [0; 4];
    let mut indices = BTreeMap::new();
    for round in 0..60 {
        let sizes = [3 + round % 3, 3 + round / 2 % 3, 4];
        let most = [1, 1, 2, 3][round as usize % 4];
        let mut volume = integers::<f64>(sizes, most, 100 + round);
        if round % 5 == 4 {
            volume.components[0][17] = f64::NAN;
        }
        let periodic = [round % 2 == 1, round % 4 > 1, round % 8 > 3];
        let bits = [PERIODIC_X, PERIODIC_Y, PERIODIC_Z];
        let axes = (0..3).filter(|&k| periodic[k]).map(|k| bits[k]).sum();
        let config = Config { periodic: axes, ..volume.config(0.0) };
        let found = points(&volume, config);
        let expected = Search { volume: &volume, periodic }.zeros();
        assert_eq!(by_vertices(&volume, &found), expected, "round {round}");
        // Where one axis runs backwards all indices have the other sign.
        let mirrored = points(&volume, Config { dy: -2.0, ..config });
        let negated = expected.iter().map(|(v, index)| (v.clone(), index.map(|k| -k))).collect();
        assert_eq!(by_vertices(&volume, &mirrored), negated, "round {round}");
        for p in &found {
            seen[p.simplex.dimension()] += 1;
            *indices.entry((p.simplex.dimension(), p.index)).or_insert(0) += 1;
            assert_eq!(p.kind as usize > 9, p.simplex.dimension() < 3);
        }
    }
    assert!(seen.iter().all(|&n| n > 10), "{seen:?}");
    let has = |dimension, index| indices.contains_key(&(dimension, index));
    assert!(has(0, None) && has(1, None) && has(2, None), "{indices:?}");
    assert!([-1, 0, 1].into_iter().all(|n| has(1, Some(n)) && has(2, Some(n))), "{indices:?}");
}

/// A linear field J (x - x0) at the vertices of a grid, with x and x0 in units of the spacing.
fn linear(jacobian: [[f64; 3]; 3], zero: [f64; 3], spacing: [f64; 3]) -> Volume<f64> {
    Volume::of([5, 6, 4], |at| {
        let place = [0, 1, 2].map(|k| (at[k] as f64 - zero[k]) * spacing[k]);
        jacobian.map(|row| (0..3).map(|k| row[k] * place[k]).sum())
    })
}

#[test]
fn linear_fields_have_the_type_of_their_matrix() {
    let diagonal = |a: f64, b: f64, c: f64| [[a, 0.0, 0.0], [0.0, b, 0.0], [0.0, 0.0, c]];
    let around = |real: f64, other: f64| [[real, -2.0, 0.0], [2.0, real, 0.0], [0.0, 0.0, other]];
    let cases = [
        (diagonal(1.0, 2.0, 3.0), VolumeKind::RepellingNode, 1),
        // Equal eigenvalues are real: the discriminant is exactly 0.
        (diagonal(1.0, 1.0, 1.0), VolumeKind::RepellingNode, 1),
        (diagonal(-1.0, 2.0, 3.0), VolumeKind::RepellingNodeSaddle, -1),
        (diagonal(-1.0, 2.0, -3.0), VolumeKind::AttractingNodeSaddle, 1),
        (diagonal(-1.0, -2.0, -1.0), VolumeKind::AttractingNode, -1),
        (around(1.0, 1.0), VolumeKind::RepellingFocus, 1),
        (around(1.0, -1.0), VolumeKind::RepellingFocusSaddle, -1),
        (around(-1.0, 1.0), VolumeKind::AttractingFocusSaddle, 1),
        (around(-1.0, -1.0), VolumeKind::AttractingFocus, -1),
        (around(0.0, 1.0), VolumeKind::RepellingCenter, 1),
        (around(0.0, -1.0), VolumeKind::AttractingCenter, -1),
    ];
    // Strictly inside each of the six tetrahedra: the orders of the coordinates in the cell.
    let orders = [
        [0.75, 0.5, 0.25],
        [0.75, 0.25, 0.5],
        [0.5, 0.75, 0.25],
        [0.25, 0.75, 0.5],
        [0.5, 0.25, 0.75],
        [0.25, 0.5, 0.75],
    ];
    for (jacobian, kind, index) in cases {
        for spacing in [[1.0; 3], [2.0, -0.5, 4.0], [-1.0, -8.0, -0.25]] {
            for (number, local) in orders.into_iter().enumerate() {
                let zero = [1.0 + local[0], 3.0 + local[1], local[2]];
                let volume = linear(jacobian, zero, spacing);
                let [dx, dy, dz] = spacing;
                let found = points(&volume, Config { dx, dy, dz, ..volume.config(0.0) });
                let [p] = found[..] else { panic!("{kind:?}: {found:?}") };
                assert_eq!((p.kind, p.index), (kind, Some(index)), "{spacing:?}");
                assert_eq!((p.cell_x, p.cell_y, p.cell_z), (1, 3, 0));
                assert_eq!(p.simplex.dimension(), 3);
                // Steps are along the axes in the descending order of the coordinates.
                let mut steps = [0, 1, 2];
                steps.sort_by(|&a, &b| local[b].total_cmp(&local[a]));
                let corners = [1 << steps[0], 1 << steps[0] | 1 << steps[1], 7];
                assert_eq!(p.simplex.corners()[1..], corners, "{number}");
                for (k, x) in [p.x, p.y, p.z].into_iter().enumerate() {
                    assert!((x - zero[k] * spacing[k]).abs() < 1e-12 * spacing[k].abs(), "{p:?} {zero:?}");
                }
            }
        }
    }
}

/// Zeros at a vertex, inside every edge and inside every face around it, and the same at the border.
#[test]
fn zeros_between_tetrahedra_have_their_place() {
    let jacobian = [[1.0, 0.5, 0.0], [0.0, -2.0, 0.25], [0.5, 0.0, 3.0]];
    let (half, third, two) = (0.5, 0.25, 0.75);
    for (local, kind, corners) in [
        ([0.0, 0.0, 0.0], VolumeKind::VertexZero, &[0][..]),
        ([half, 0.0, 0.0], VolumeKind::EdgeZero, &[0, 1]),
        ([0.0, half, 0.0], VolumeKind::EdgeZero, &[0, 2]),
        ([0.0, 0.0, half], VolumeKind::EdgeZero, &[0, 4]),
        ([half, half, 0.0], VolumeKind::EdgeZero, &[0, 3]),
        ([half, 0.0, half], VolumeKind::EdgeZero, &[0, 5]),
        ([0.0, half, half], VolumeKind::EdgeZero, &[0, 6]),
        ([half, half, half], VolumeKind::EdgeZero, &[0, 7]),
        ([two, third, 0.0], VolumeKind::FaceZero, &[0, 1, 3]),
        ([third, two, 0.0], VolumeKind::FaceZero, &[0, 2, 3]),
        ([two, 0.0, third], VolumeKind::FaceZero, &[0, 1, 5]),
        ([0.0, third, two], VolumeKind::FaceZero, &[0, 4, 6]),
        ([two, third, third], VolumeKind::FaceZero, &[0, 1, 7]),
        ([third, third, two], VolumeKind::FaceZero, &[0, 4, 7]),
        ([two, two, third], VolumeKind::FaceZero, &[0, 3, 7]),
    ] {
        for (cell, at_border) in [([2, 1, 1], false), ([0, 2, 0], true)] {
            let zero = [0, 1, 2].map(|k| cell[k] as f64 + local[k]);
            let volume = linear(jacobian, zero, [1.0; 3]);
            let found = points(&volume, volume.config(0.0));
            let [p] = found[..] else { panic!("{local:?}: {found:?}") };
            assert_eq!((p.kind, p.simplex.corners()), (kind, corners), "{local:?}");
            assert_eq!([p.cell_x, p.cell_y, p.cell_z], cell);
            assert!([p.x, p.y, p.z].iter().zip(zero).all(|(x, expected)| (x - expected).abs() < 1e-12));
            // The determinant is negative.
            let is_open = at_border && (0..3).any(|k| cell[k] == 0 && local[k] == 0.0);
            assert_eq!(p.index, (!is_open).then_some(-1), "{local:?}");
        }
    }
    // A zero at the last vertex of all, which no cube begins at.
    let volume = linear(jacobian, [4.0, 5.0, 3.0], [1.0; 3]);
    let found = points(&volume, volume.config(0.0));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].cell_x, found[0].cell_y, found[0].cell_z, found[0].index), (4, 5, 3, None));
}

#[test]
fn what_compression_keeps_is_kept() {
    let mut volume = with_solids::<f32>([21, 20, 23], 40);
    (0..40).for_each(|k| volume.components[k % 3][61 * k] = -9.0);
    volume.components[0][5000] = f32::NAN;
    for ties in [Ties::All, Ties::Zeros] {
        for periodic in [0, PERIODIC_X | PERIODIC_Z] {
            for preserve in [Preserve::Types, Preserve::Points, Preserve::None] {
                let config = Config {
                    ties,
                    periodic,
                    preserve,
                    fill_value: Some(-9.0),
                    dy: -0.5,
                    bound_kind: BoundKind::Absolute,
                    ..volume.config(0.05)
                };
                let (stream, report) = compressed(&volume, config, 1);
                let found: Volume<f32> = decompressed(&stream, &config, 1).expect("intact");
                let c = compared(&volume, &found, config);
                assert_eq!((c.filled_vertices, c.nonfinite_vertices), (40, 1));
                assert_eq!((c.changed_missing, c.bound_exceeded), (0, 0));
                assert_eq!(c.zero_vertices, report.zero_vertices);
                assert_eq!((c.max_error, c.bound), (report.max_error, report.bound));
                assert!(c.psnr.is_some_and(|psnr| psnr > 20.0), "{c:?}");
                match preserve {
                    Preserve::Types => assert_eq!(c.violations(), 0, "{c:?}"),
                    Preserve::Points => {
                        assert_eq!(c.violations(), c.changed_types - c.changed_indices, "{c:?}")
                    }
                    Preserve::None => assert!(c.violations() > 0, "{c:?}"),
                }
                if preserve != Preserve::None {
                    assert_eq!(c.points_in_tetrahedra(), report.points_in_triangles);
                    assert!(ties != Ties::All || c.changed_zero_points() == 0, "{c:?}");
                }
            }
        }
    }
}

/// With all ties, compression keeps zeros between tetrahedra and their indices.
#[test]
fn isolated_zeros_are_kept_with_all_ties() {
    let mut zeros = 0;
    for (seed, most) in [(70, 1), (71, 2), (72, 3)] {
        let mut random = Random(seed);
        let mut volume = integers::<f32>([13, 12, 11], most, seed);
        // Some vertices move, so that others than integers are coded.
        for x in volume.components.iter_mut().flatten().filter(|x| **x != 0.0) {
            if random.below(16) == 0 {
                *x += 0.2 * random.signed() as f32;
            }
        }
        let config = Config { bound_kind: BoundKind::Absolute, dz: -3.0, ..volume.config(0.9) };
        let found: Volume<f32> = decompressed(&compressed(&volume, config, 2).0, &config, 2).expect("intact");
        let c = compared(&volume, &found, config);
        assert_eq!((c.violations(), c.changed_zero_points()), (0, 0), "{c:?}");
        assert!(c.max_error > 0.0, "{c:?}");
        zeros += c.critical_points - c.points_in_tetrahedra();
    }
    assert!(zeros > 50, "{zeros}");
}

/// A periodic volume has the points of one with the first planes once more behind the last.
#[test]
fn periodic_axes_hold_points_between_their_ends() {
    let volume = integers::<f32>([6, 5, 7], 2, 50);
    let wide = volume.part([0; 3], [7, 6, 8]);
    let other = changed(&volume, 51, |x, random| x.to_f64() + random.below(3) as f64 - 1.0);
    let wide_other = other.part([0; 3], [7, 6, 8]);
    let all = PERIODIC_X | PERIODIC_Y | PERIODIC_Z;
    let found = compared(&volume, &other, Config { periodic: all, ..volume.config(0.0) });
    let expected = compared(&wide, &wide_other, wide.config(0.0));
    let inside = |c: &VolumeComparison| {
        let (lost, spurious) = (c.lost_points - c.lost_zeros, c.spurious_points - c.spurious_zeros);
        let types = c.changed_types - c.changed_indices;
        [c.points_in_tetrahedra(), lost, spurious, types, c.ties, c.changed_ties, c.new_ties]
    };
    assert_eq!(inside(&found), inside(&expected));
    assert_eq!(
        found.critical_points,
        points(&volume, Config { periodic: all, ..volume.config(0.0) }).len() as u64
    );
}

#[test]
fn ranges_join_all_components() {
    let mut volume = Volume::<f64>::of([3, 4, 5], |at| [1.0, 2.0 + at[0] as f64, -(at[2] as f64)]);
    volume.components[1][3] = f64::NAN;
    volume.components[0][5] = 1e20;
    (0..3).for_each(|c| volume.components[c][7] = -0.0);
    let config = Config { fill_value: Some(1e20), ..volume.config(0.1) };
    let request = VolumeRequest::new(config).expect("valid");
    for threads in [1, 4] {
        let r = range_volume(&request, volume.views(), threads).expect("valid");
        assert_eq!((r.low, r.high), (-4.0, 4.0));
        assert_eq!((r.nonfinite_vertices, r.filled_vertices, r.zero_vertices), (1, 1, 1));
    }
    let c = compared(&volume, &volume, config);
    assert_eq!((c.bound, c.violations(), c.psnr), (0.8, 0, Some(f64::INFINITY)));
}

#[test]
fn bad_input_is_refused() {
    let volume = integers::<f32>([5, 5, 5], 2, 60);
    let check = |config: Config, status: Status, text: &str| {
        let request = VolumeRequest::new(config).expect("valid");
        let errors = [
            critical_points_volume(&request, volume.views(), 1).map(drop),
            compare_volume(&request, volume.views(), volume.views(), true, 1).map(drop),
            range_volume(&request, volume.views(), 1).map(drop),
        ];
        for error in errors.map(Result::unwrap_err) {
            assert!(error.status == status && error.message.contains(text), "{error}");
        }
    };
    check(Config { dtype: Dtype::F64, ..volume.config(0.1) }, Status::InvalidArgument, "dtype");
    check(Config { nz: 6, ..volume.config(0.1) }, Status::InvalidArgument, "u");
    let short = integers::<f32>([5, 5, 4], 2, 61);
    let request = VolumeRequest::new(volume.config(0.1)).expect("valid");
    let error = compare_volume(&request, volume.views(), short.views(), true, 1).unwrap_err();
    assert!(error.message.contains("other_u"), "{error}");
}

/// Views that hold the vertices of a volume, but not the ghosts beside it.
#[test]
fn views_without_their_ghosts_are_refused() {
    let volume = integers::<f32>([5, 5, 5], 2, 62);
    for halo in [SIDE_Z_MIN, SIDE_Z_MAX] {
        let request = VolumeRequest::new(Config { halo, ..volume.config(0.1) }).expect("valid");
        let errors = [
            critical_points_volume(&request, volume.views(), 1).map(drop),
            compare_volume(&request, volume.views(), volume.views(), true, 1).map(drop),
        ];
        for error in errors.map(Result::unwrap_err) {
            let names = error.message.contains(&format!("halo = {halo:#x}"));
            assert!(error.status == Status::InvalidArgument && names, "{error}");
        }
        assert!(range_volume(&request, volume.views(), 1).is_ok(), "a range needs no ghosts");
    }
}

/// The counts of a comparison that those of blocks add up to.
fn sums(c: &VolumeComparison) -> Vec<u64> {
    let simplices = [
        [c.critical_points, c.lost_points, c.spurious_points, c.changed_types],
        [c.other_critical_points, c.lost_zeros, c.spurious_zeros, c.changed_indices],
        [c.ties, c.changed_ties, c.new_ties, c.bound_exceeded],
        [c.nonfinite_vertices, c.filled_vertices, c.changed_missing, c.zero_vertices],
    ];
    [simplices.as_flattened(), &[c.changed_zero_vertices], &c.points_by_type].concat()
}

/// Analyses blocks of a volume. The answer is the sum of their counts, and their points at places in the
/// whole.
fn of_blocks<T: Real>(
    [first, other]: [&Volume<T>; 2],
    blocks: &[Block],
) -> (Vec<u64>, Vec<VolumePoint>, f64, ValueRange) {
    let (mut sum, mut found) = (vec![0; sums(&VolumeComparison::default()).len()], Vec::new());
    let (mut largest, mut range) = (0.0f64, ValueRange::default());
    for block in blocks {
        let request = VolumeRequest::new(block.config).expect("valid");
        let views = block.views(first);
        let c = compare_volume(&request, views, block.views(other), true, 2).expect("valid");
        sum.iter_mut().zip(sums(&c)).for_each(|(sum, n)| *sum += n);
        largest = largest.max(c.max_error);
        range = range.join(range_volume(&request, views, 2).expect("valid"));
        let Config { dx, dy, dz, .. } = block.config;
        let [x, y, z] = block.first;
        let points = critical_points_volume(&request, views, 2).expect("valid");
        assert_eq!(points.len() as u64, c.critical_points);
        found.extend(points.iter().map(|p| VolumePoint {
            cell_x: p.cell_x + x,
            cell_y: p.cell_y + y,
            cell_z: p.cell_z + z,
            x: p.x + x as f64 * dx,
            y: p.y + y as f64 * dy,
            z: p.z + z as f64 * dz,
            ..*p
        }));
    }
    found.sort_by_key(|p| (p.cell_z, p.cell_y, p.cell_x, p.simplex));
    (sum, found, largest, range)
}

/// Checks that the blocks of a volume make up the whole. The answer is the sums.
fn blocks_make_up<T: Real>(fields: [&Volume<T>; 2], config: Config, blocks: &[Block]) -> Vec<u64> {
    let whole = compared(fields[0], fields[1], config);
    let (sum, found, largest, range) = of_blocks(fields, blocks);
    assert_eq!(sum, sums(&whole), "{whole:?}");
    assert_eq!(largest, whole.max_error);
    let request = VolumeRequest::new(config).expect("valid");
    assert_eq!(range, range_volume(&request, fields[0].views(), 1).expect("valid"));
    let all = points(fields[0], config);
    let exact = |p: &VolumePoint| VolumePoint { x: 0.0, y: 0.0, z: 0.0, ..*p };
    assert_eq!(found.iter().map(exact).collect::<Vec<_>>(), all.iter().map(exact).collect::<Vec<_>>());
    for (a, b) in found.iter().zip(&all) {
        let apart = (a.x - b.x).abs() + (a.y - b.y).abs() + (a.z - b.z).abs();
        assert!(apart < 1e-9, "{a:?} {b:?}");
    }
    sum
}

/// Integers with solids and missing vertices, and a wall of these right behind the first vertices of blocks:
/// zeros there are found from the ghosts before them.
fn with_gaps<T: Real>(sizes: [u64; 3], blocks: &[Block], seed: u64) -> Volume<T> {
    let mut random = Random(seed);
    let mut volume = integers::<T>(sizes, 1 + seed % 2, seed);
    let inner = blocks.last().map_or([0; 3], |block| block.first);
    let axis = (seed % 3) as usize;
    for k in 0..volume.components[0].len() {
        let at = [k as u64 % sizes[0], k as u64 / sizes[0] % sizes[1], k as u64 / sizes[0] / sizes[1]];
        let is_wall = inner[axis] > 0 && at[axis] == inner[axis] + 1 && random.below(8) > 0;
        let value = match random.below(25) {
            _ if is_wall => f64::NAN,
            0 => [f64::NAN, f64::INFINITY, 9.0][random.below(3) as usize],
            _ if (0..3).all(|i| at[i].abs_diff(inner[i]) < 2) && seed % 4 == 0 => 0.0,
            _ => continue,
        };
        volume.components.iter_mut().for_each(|c| c[k] = T::from_f64(value));
    }
    volume
}

fn check_blocks<T: Real>(seed: u64, periodic: u32) -> Vec<u64> {
    let mut random = Random(seed);
    let sizes = [7 + seed % 3, 6 + seed % 4, 8 - seed % 2];
    let base = Volume::<T>::of(sizes, |_| [0.0; 3]).config(0.0);
    let config = Config {
        periodic,
        ties: [Ties::All, Ties::Zeros][seed as usize % 2],
        fill_value: Some(9.0),
        bound_kind: BoundKind::Absolute,
        bound: 0.5,
        dx: -2.0,
        dz: 0.25,
        ..base
    };
    let blocks = blocks(sizes, config, |sides| sides, &mut random);
    let first = with_gaps::<T>(sizes, &blocks, seed);
    let other = changed(&first, seed, |x, random| x.to_f64() + random.below(3) as f64 - 1.0);
    blocks_make_up([&first, &other], config, &blocks)
}

/// Each point and each tetrahedron belongs to one block, also those between blocks.
#[test]
fn blocks_with_halos_add_up_to_the_volume() {
    let mut seen = vec![0; sums(&VolumeComparison::default()).len()];
    let mut count = |sum: Vec<u64>| seen.iter_mut().zip(sum).for_each(|(seen, n)| *seen += n);
    for seed in 80..104 {
        let periodic = [0, 0, PERIODIC_X, 0, PERIODIC_Y, PERIODIC_Z | PERIODIC_X][seed as usize % 6];
        count(check_blocks::<f32>(seed, periodic));
        count(check_blocks::<f64>(seed + 1000, periodic));
    }
    // All counts but those of the types inside tetrahedra, of which there are eleven in all.
    assert!(seen[..17].iter().chain(&seen[27..]).all(|&n| n > 5), "{seen:?}");
    assert!(seen[17..27].iter().sum::<u64>() > 100, "{seen:?}");
    let mut random = Random(105);
    let solids = with_solids::<f32>([15, 16, 14], 106);
    let other = changed(&solids, 107, |x, random| x.to_f64() * (1.0 + 0.3 * random.signed()));
    let config = Config { bound_kind: BoundKind::Absolute, bound: 0.1, ..solids.config(0.0) };
    let of_solids = |halo: fn(u32) -> u32, random: &mut Random| blocks(solids.sizes, config, halo, random);
    let sum = blocks_make_up([&solids, &other], config, &of_solids(|sides| sides, &mut random));
    assert!(sum[0] > 5 && sum[8] > 1000, "{sum:?}");
    // The test can fail: without halos tetrahedra between blocks are left out.
    let (without, ..) = of_blocks([&solids, &other], &of_solids(|_| 0, &mut random));
    assert!(without[8] < sum[8] && without[15] == sum[15], "{without:?} {sum:?}");
}

/// Zeros that no tetrahedron of their block's own cubes shows are found from the ghosts before the block.
#[test]
fn zeros_behind_missing_vertices_belong_to_their_block() {
    let sizes = [6, 4, 4];
    let mut behind = 0;
    for axis in 0..3 {
        let turned = |at: [u64; 3]| [0, 1, 2].map(|k| at[(k + axis) % 3]);
        let sizes = [0, 1, 2].map(|k| sizes[(k + 3 - axis) % 3]);
        let volume = Volume::<f64>::of(sizes, |at| match turned(at) {
            [x, ..] if x > 3 => [f64::NAN; 3],
            [x, y, z] => [x as f64 - 3.0, y as f64 - 2.0, z as f64 - 2.0],
        });
        let config = volume.config(0.0);
        let all = points(&volume, config);
        assert_eq!(all.len(), 1, "the zero at a vertex before a wall of missing vertices");
        for seed in 0..12 {
            let blocks = blocks(sizes, config, |sides| sides, &mut Random(seed));
            blocks_make_up([&volume, &volume], config, &blocks);
            behind += blocks.last().is_some_and(|block| block.first[axis] == 3) as u64;
        }
    }
    assert!(behind > 3, "{behind} blocks begin at the zero");
}
