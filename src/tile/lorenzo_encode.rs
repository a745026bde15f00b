//! The Lorenzo predictor's side of a tile: values are quantised on one lattice, and the differences of the
//! integers are coded (`predict::lorenzo`).

use crate::entropy::differences::heads;
use crate::entropy::lanes::{lanes, lanes_above};
use crate::entropy::quantized_tile::{QuantizedTile, TileCoding};
use crate::entropy::symbols::{Code, EXACT, PREDICTED};
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::masks::{row_mask, Masks};
use crate::grid::tiles::{Grid, TileShape, TILE};
use crate::predict::anchors;
use crate::predict::interpolation::PITCH;
use crate::predict::lorenzo::{
    best_bound_shift, differences, predict_uncoded, CoarseRow, Lattices, HALVINGS,
};
use crate::request::Predictor;
use crate::runtime::vectors::in_wide_vectors;
use crate::tile::builder::QuantizedTileBuilder;
use crate::tile::constraints::Constraints;
use crate::tile::vertex::{Candidates, VertexLimits};
use crate::tile::window::{Rectangle, TileWindow};

/// The vertices of a tile that have codes, as rows of a mask, and where the tile lies in its window.
struct Inside {
    first: (usize, usize),
    owned: (usize, usize),
    visible: [u32; TILE],
}

/// A row of vertices, quantised under the error bound alone.
struct UnconstrainedRow<T> {
    coarse: CoarseRow,
    errors: [T; TILE],
}

impl<T: Real> UnconstrainedRow<T> {
    fn new() -> Self {
        UnconstrainedRow { coarse: [[0; 1 + TILE]; 2], errors: [T::ZERO; TILE] }
    }
}

/// Encodes the tiles of one plane.
pub struct Encoder<'a, T> {
    pub grid: Grid,
    /// Of u and v; they cover the plane and the halo of the constraints.
    pub views: [View<'a, T>; 2],
    pub lattices: &'a Lattices<T>,
    pub constraints: &'a Constraints<T>,
}

impl<T: Real> Encoder<'_, T> {
    /// The encoder of a plane of a stack.
    pub fn of_plane(&self, z: u64) -> Self {
        Encoder { views: self.views.map(|view| view.plane(z)), ..*self }
    }

    /// The codes of a tile. Statistics are added to those of the window.
    pub fn tile(
        &self,
        window: &mut TileWindow<T>,
        builder: &mut QuantizedTileBuilder,
        shape: &TileShape,
    ) -> Result<QuantizedTile> {
        let first = ((shape.x0 > 0) as usize, (shape.y0 > 0) as usize);
        let area = Rectangle {
            x0: shape.x0 - first.0 as u64,
            y0: shape.y0 - first.1 as u64,
            width: first.0 + shape.last_x + 1,
            height: first.1 + shape.last_y + 1,
        };
        window.load(self.grid, self.views, area, self.constraints);
        window.count_critical_points(first, &self.constraints.rule);
        let owned = shape.owned();
        let mut masks = Masks::default();
        let mut visible = [0; TILE];
        for y in 0..owned.1 {
            let row = |mask: u64| (mask >> first.0) as u32 & row_mask(owned.0);
            let at = y + first.1;
            masks.zero[y] = row(window.zero[at]);
            masks.fill[y] = row(window.fill[at]);
            visible[y] = row(!(window.zero[at] | window.missing[at]));
        }
        let inside = Inside { first, owned, visible };
        let bound_shift = self.bound_shift(window, &inside);
        let stats = window.stats;
        if !self.rows(window, builder, &inside, bound_shift, false) {
            window.stats = stats;
            self.rows(window, builder, &inside, bound_shift, true);
        }
        let coding = TileCoding::new(Predictor::Lorenzo, T::BYTES);
        builder.finish(coding, shape, bound_shift, masks, self.views)
    }

    /// The bound shift of the smallest estimated size, the first of several.
    fn bound_shift(&self, window: &TileWindow<T>, inside: &Inside) -> usize {
        if !window.any_constrained {
            return 0;
        }
        let mut halvings = [0u32; HALVINGS];
        let mut vertices = 0;
        for (y, &visible) in inside.visible[..inside.owned.1].iter().enumerate() {
            let at = y + inside.first.1;
            vertices += visible.count_ones();
            let constrained = (window.constrained[at] >> inside.first.0) as u32 & visible;
            for x in lanes(constrained) {
                halvings[self.lattices.halvings(window.lower_bounds[at * PITCH + inside.first.0 + x])] += 1;
            }
        }
        best_bound_shift(vertices, &halvings)
    }

    /// Codes the vertices, or stores them all. False if a code has more raw bits than the format allows. Such
    /// a vertex cannot be stored alone, since that would change the differences of the vertices after it: the
    /// caller stores the whole tile.
    fn rows(
        &self,
        window: &mut TileWindow<T>,
        builder: &mut QuantizedTileBuilder,
        inside: &Inside,
        bound_shift: usize,
        stored: bool,
    ) -> bool {
        in_wide_vectors(
            #[inline(always)]
            || self.rows_anywhere(window, builder, inside, bound_shift, stored),
        )
    }

    #[inline(always)]
    fn rows_anywhere(
        &self,
        window: &mut TileWindow<T>,
        builder: &mut QuantizedTileBuilder,
        inside: &Inside,
        bound_shift: usize,
        stored: bool,
    ) -> bool {
        let (mut row, mut before) = (&mut UnconstrainedRow::new(), &mut UnconstrainedRow::new());
        // By column in rows without constraints, and in others.
        let mut largest = ([T::ZERO; TILE], T::ZERO);
        for (y, &visible) in inside.visible[..inside.owned.1].iter().enumerate() {
            let at = (y + inside.first.1) * PITCH + inside.first.0;
            let constrained = (window.constrained[y + inside.first.1] >> inside.first.0) as u32;
            let signed = (window.signed[y + inside.first.1] >> inside.first.0) as u32;
            let fits = self.unconstrained(window, at, bound_shift, row);
            if fits && visible == u32::MAX && constrained | signed == 0 && !stored {
                for x in 0..TILE {
                    largest.0[x] = largest.0[x].max(row.errors[x]);
                }
                builder.put_differences(TILE * y, &differences(&row.coarse, &before.coarse));
            } else {
                let refinements =
                    self.mixed(window, builder, inside, (y, bound_shift), stored, row, &mut largest.1);
                predict_uncoded(&mut row.coarse, &before.coarse, &refinements);
                let width = self.lattices.steps[bound_shift][0].width;
                if !put_mixed(builder, TILE * y, &refinements, &row.coarse, &before.coarse, width) {
                    return false;
                }
            }
            std::mem::swap(&mut row, &mut before);
        }
        let largest = largest.0.iter().fold(largest.1, |largest, &error| largest.max(error));
        window.stats.max_error = window.stats.max_error.max(largest.to_f64());
        true
    }

    /// Quantises a row of 32 vertices under the error bound alone, and tells whether all of them have a code
    /// that meets it. Written without branches; entries beyond the tile are undefined.
    #[inline(always)]
    fn unconstrained(
        &self,
        window: &TileWindow<T>,
        at: usize,
        bound_shift: usize,
        row: &mut UnconstrainedRow<T>,
    ) -> bool {
        let [bu, bv] = &mut row.coarse;
        // One component after the other: the compiler makes vectors of vertices then, not of components.
        let u = self.quantize_row(&window.u[at..at + TILE], bound_shift, bu);
        let v = self.quantize_row(&window.v[at..at + TILE], bound_shift, bv);
        for x in 0..TILE {
            row.errors[x] = u.1[x].max(v.1[x]);
        }
        u.0 & v.0
    }

    /// The coarse codes of one component of a row; whether all of them meet the bound, and what errors they
    /// leave.
    #[inline(always)]
    fn quantize_row(
        &self,
        values: &[T],
        bound_shift: usize,
        coarse: &mut [i32; 1 + TILE],
    ) -> (bool, [T; TILE]) {
        let (step, accept) = (self.lattices.steps[bound_shift][0], self.lattices.accept);
        let values: &[T; TILE] = values.try_into().expect("the length is TILE");
        let mut errors = [T::ZERO; TILE];
        let mut beyond = 0u32;
        for x in 0..TILE {
            let attempt = step.attempt_unpredicted(values[x]);
            coarse[1 + x] = attempt.code;
            // A step that is infinite makes an error NaN, which is not below anything.
            errors[x] = attempt.error;
            beyond |= !(attempt.fits & accept.within(attempt.error)) as u32;
        }
        (beyond == 0, errors)
    }

    /// The refinements of a row in which some vertices are constrained, `EXACT` or `PREDICTED` for those
    /// without a code; puts in place the coarse codes of the others, and hands on their refinement bits.
    #[allow(clippy::too_many_arguments)]
    #[inline(never)]
    fn mixed(
        &self,
        window: &mut TileWindow<T>,
        builder: &mut QuantizedTileBuilder,
        inside: &Inside,
        (y, bound_shift): (usize, usize),
        stored: bool,
        row: &mut UnconstrainedRow<T>,
        largest: &mut T,
    ) -> [u8; TILE] {
        let at = (y + inside.first.1) * PITCH + inside.first.0;
        let constrained = (window.constrained[y + inside.first.1] >> inside.first.0) as u32;
        let signed =
            if stored { u32::MAX } else { (window.signed[y + inside.first.1] >> inside.first.0) as u32 };
        let mut refinements = [EXACT; TILE];
        let fitting =
            self.fitting(window, at, bound_shift, row) & inside.visible[y] & !(constrained | signed);
        for x in lanes(fitting) {
            refinements[x] = 0;
            *largest = largest.max(row.errors[x]);
        }
        for x in lanes(inside.visible[y] & !fitting) {
            let must_store = signed >> x & 1 != 0;
            let kept = if must_store {
                None
            } else {
                self.constrained_vertex(window, at + x, constrained >> x & 1 != 0, bound_shift)
            };
            match kept {
                Some((code, error)) => {
                    let [(bu, du), (bv, dv)] = code.q.map(|q| anchors::split(q, code.refinement));
                    (row.coarse[0][1 + x], row.coarse[1][1 + x], refinements[x]) = (bu, bv, code.refinement);
                    builder.put_refinement_bits(TILE * y + x, du | dv << (2 * code.refinement as u32));
                    *largest = largest.max(error);
                }
                None => {
                    window.stats.exact += 1;
                    refinements[x] = if must_store { EXACT } else { PREDICTED };
                }
            }
        }
        refinements
    }

    /// The vertices of an unconstrained row that have a code that meets the bound, as bits.
    fn fitting(
        &self,
        window: &TileWindow<T>,
        at: usize,
        bound_shift: usize,
        row: &UnconstrainedRow<T>,
    ) -> u32 {
        let (step, accept) = (self.lattices.steps[bound_shift][0], self.lattices.accept);
        let mut fits = [0u8; TILE];
        for x in 0..TILE {
            let [u, v] = [window.u[at + x], window.v[at + x]].map(|value| step.attempt_unpredicted(value));
            fits[x] = (u.fits & v.fits & accept.within(row.errors[x])) as u8;
        }
        lanes_above(&fits, 1)
    }

    /// The code of a vertex that is constrained or that the tile's lattice does not hold, and the error that
    /// it leaves. None if the vertex must be stored.
    #[inline(never)]
    fn constrained_vertex(
        &self,
        window: &TileWindow<T>,
        i: usize,
        constrained: bool,
        bound_shift: usize,
    ) -> Option<(Code, T)> {
        let limits = VertexLimits {
            accept: self.lattices.accept,
            bound: constrained.then_some(window.lower_bounds[i]),
            keeps: None::<fn([T; 2]) -> bool>,
        };
        let candidates = Candidates {
            original: [window.u[i], window.v[i]],
            prediction: [T::ZERO; 2],
            steps: &self.lattices.steps[bound_shift],
        };
        limits.find(&candidates).map(|found| (found.code, found.error))
    }
}

/// Hands on the codes of a row, given the coarse codes, those of the row before and the width of the
/// lattice; false where the format does not allow one.
fn put_mixed<T: Real>(
    builder: &mut QuantizedTileBuilder,
    position: usize,
    refinements: &[u8; TILE],
    coarse: &CoarseRow,
    before: &CoarseRow,
    width: T,
) -> bool {
    let coding = TileCoding::new(Predictor::Lorenzo, T::BYTES);
    let [u, v] = &differences(coarse, before);
    builder.put_differences(position, &[*u, *v]);
    // Codes with refinement 0 have 64 raw bits at most.
    lanes(lanes_above(refinements, 1)).all(|x| {
        let mut code = Code { refinement: refinements[x], q: [u[x], v[x]] };
        if code.refinement == PREDICTED {
            let prediction = [0, 1].map(|c| T::from_i32(coarse[c][1 + x]) * width);
            code = match heads(prediction) {
                Some(q) => Code { refinement: PREDICTED, q },
                None => Code { refinement: EXACT, q: [0; 2] },
            };
        }
        builder.put(position + x, code);
        refinements[x] >= EXACT || coding.allows(builder.symbols[position + x])
    })
}
