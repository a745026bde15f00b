//! The hierarchical predictor's side of a tile: values are predicted, quantised and replaced by their
//! reconstruction, from the anchors to the finest level.

use crate::entropy::differences::heads;
use crate::entropy::quantized_tile::{QuantizedTile, TileCoding};
use crate::entropy::symbols::{Code, EXACT, MASKED, PREDICTED};
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::masks::Masks;
use crate::grid::tiles::{Grid, TileShape, ANCHOR_LEVEL, POSITION_OF, TILE};
use crate::predict::interpolation::{along, row, strided, Interpolant, PITCH, ROW};
use crate::predict::quantizer::Quantizer;
use crate::request::{Mode, Predictor, Preserve};
use crate::runtime::vectors::in_wide_vectors;
use crate::tile::builder::{QuantizedTileBuilder, RowCodes};
use crate::tile::constraints::Constraints;
use crate::tile::fan::Fan;
use crate::tile::lattice::{LatticeLines, Lines};
use crate::tile::signs::{spread_signs, Signs};
use crate::tile::traversal::{for_interior, for_line, RowVisitor};
use crate::tile::vertex::{Candidate, Candidates, VertexLimits};
use crate::tile::window::{Rectangle, TileWindow};

/// The reconstruction of a vertex, and its code.
#[derive(Clone, Copy, Default)]
pub struct CodedVertex<T> {
    pub value: [T; 2],
    pub code: Code,
}

/// Encodes the vertices of one plane.
pub struct Encoder<'a, T> {
    pub grid: Grid,
    /// Of u and v; they cover the plane and the halo of the constraints.
    pub views: [View<'a, T>; 2],
    pub quantizer: &'a Quantizer<T>,
    pub interpolants: &'a [Interpolant<T>; ANCHOR_LEVEL],
    pub constraints: &'a Constraints<T>,
}

impl<T: Real> Encoder<'_, T> {
    /// The encoder of a plane of a stack.
    pub fn of_plane(&self, z: u64) -> Self {
        Encoder { views: self.views.map(|view| view.plane(z)), ..*self }
    }

    /// The anchor of a tile, which nothing predicts.
    pub fn anchor(&self, window: &mut TileWindow<T>, shape: &TileShape) -> CodedVertex<T> {
        let (x0, width, i) = around(shape.x0, self.grid.nx);
        let (y0, height, j) = around(shape.y0, self.grid.ny);
        self.load(window, Rectangle { x0, y0, width, height });
        let code = self.vertex(window, i, j, [T::ZERO; 2], ANCHOR_LEVEL);
        CodedVertex { value: window.get(i, j), code }
    }

    /// The row line above a tile, from its anchor to that of the next tile, if there is one.
    pub fn row_line(
        &self,
        window: &mut TileWindow<T>,
        shape: &TileShape,
        [anchor, next]: [CodedVertex<T>; 2],
        line: &mut [CodedVertex<T>],
    ) {
        let (y0, height, j) = around(shape.y0, self.grid.ny);
        self.load(window, Rectangle { x0: shape.x0, y0, width: shape.last_x + 1, height });
        line[0] = anchor;
        window.set(0, j, anchor.value);
        if shape.last_x == TILE {
            window.set(TILE, j, next.value);
        }
        self.line(window, true, j, shape.last_x, |k, coded| line[k] = coded);
    }

    /// The column line to the left of a tile, from its anchor to that of the tile below. The rows at both
    /// ends are row lines, whose values are final.
    pub fn column_line(
        &self,
        window: &mut TileWindow<T>,
        shape: &TileShape,
        anchor: CodedVertex<T>,
        row_lines: &Lines<CodedVertex<T>>,
        line: &mut [CodedVertex<T>],
    ) {
        let (x0, width, i) = around(shape.x0, self.grid.nx);
        self.load(window, Rectangle { x0, y0: shape.y0, width, height: shape.last_y + 1 });
        line[0] = anchor;
        for (y, row_line) in [(0, shape.row_line), (TILE, shape.row_line + 1)] {
            if y <= shape.last_y {
                let row = row_lines.part(row_line, x0, width);
                row.iter().enumerate().for_each(|(x, coded)| window.set(x, y, coded.value));
            }
        }
        self.line(window, false, i, shape.last_y, |k, coded| line[k] = coded);
    }

    /// A tile whose lattice lines are coded; `anchor` is the code of its anchor as the stream holds it, with
    /// its refinement bits.
    pub fn tile(
        &self,
        window: &mut TileWindow<T>,
        builder: &mut QuantizedTileBuilder,
        shape: &TileShape,
        lines: &LatticeLines<CodedVertex<T>>,
        anchor: (Code, u32),
    ) -> Result<QuantizedTile> {
        self.load(window, Rectangle::closed(shape));
        window.count_critical_points((0, 0), &self.constraints.rule);
        lines.for_tile(shape, |x, y, coded| {
            window.set(x, y, coded.value);
            if x < TILE && y < TILE {
                builder.put(POSITION_OF[y * TILE + x] as usize, coded.code);
            }
        });
        builder.put(0, anchor.0);
        builder.put_refinement_bits(0, anchor.1);
        self.interior(
            window,
            #[inline(always)]
            |position, count, codes| builder.put_row(position, count, codes),
        );
        let mut masks = Masks::default();
        for y in 0..shape.owned().1 {
            masks.zero[y] = window.zero[y] as u32;
            masks.fill[y] = window.fill[y] as u32;
        }
        let coding = TileCoding::new(Predictor::Hierarchical, T::BYTES);
        builder.finish(coding, shape, 0, masks, self.views)
    }

    fn load(&self, window: &mut TileWindow<T>, area: Rectangle) {
        window.load(self.grid, self.views, area, self.constraints);
    }

    /// Codes the vertices between the ends of a lattice line, whose values are final: of row `at` of the
    /// window when `horizontal`, else of column `at`. `last` is the last vertex of the piece, an anchor where
    /// it is 32.
    pub(super) fn line(
        &self,
        window: &mut TileWindow<T>,
        horizontal: bool,
        at: usize,
        last: usize,
        mut out: impl FnMut(usize, CodedVertex<T>),
    ) {
        let (first, distance) = if horizontal { (at * PITCH, 1) } else { (at, PITCH) };
        for_line(last, |level, step, k| {
            let i = first + k * distance;
            let interpolant = &self.interpolants[level];
            let prediction = [
                along(interpolant, &window.u, i, step * distance, k, step, last),
                along(interpolant, &window.v, i, step * distance, k, step, last),
            ];
            let (x, y) = if horizontal { (k, at) } else { (at, k) };
            let code = self.vertex(window, x, y, prediction, level);
            out(k, CodedVertex { value: window.get(x, y), code });
        });
    }

    /// Codes the vertices of a closed tile that lie on no lattice line, row by row, as
    /// `out(position of the first, how many, codes)`.
    pub(super) fn interior(&self, window: &mut TileWindow<T>, out: impl FnMut(usize, usize, &RowCodes)) {
        let last = (window.width - 1, window.height - 1);
        // Vertices beside the end of the grid have fewer triangles: signatures decide them.
        let signs = (self.verifies() && window.any_constrained).then(|| Signs::new(window));
        let mut interior = Interior { encoder: self, window, signs, last, largest: [T::ZERO; ROW], out };
        in_wide_vectors(
            #[inline(always)]
            || for_interior(last, &mut interior),
        );
        let largest = interior.largest.iter().fold(T::ZERO, |largest, &error| largest.max(error));
        window.stats.max_error = window.stats.max_error.max(largest.to_f64());
    }

    /// Codes vertex (x, y) around a prediction.
    #[inline(always)]
    pub(super) fn vertex(
        &self,
        window: &mut TileWindow<T>,
        x: usize,
        y: usize,
        prediction: [T; 2],
        level: usize,
    ) -> Code {
        let bit = 1u64 << x;
        if (window.zero[y] | window.missing[y] | window.signed[y]) & bit != 0 {
            return self.special(window, x, y);
        }
        let Some(first) = self.candidates(window, x, y, prediction, level).nearest(0) else {
            window.stats.exact += 1;
            return stored(prediction, level);
        };
        let constrained = window.constrained[y] & bit != 0;
        if self.settles(first.error, constrained, window.lower_bounds[y * PITCH + x]) {
            return commit(window, x, y, first);
        }
        self.refined_vertex(window, x, y, prediction, level)
    }

    #[inline(always)]
    fn candidates(
        &self,
        window: &TileWindow<T>,
        x: usize,
        y: usize,
        prediction: [T; 2],
        level: usize,
    ) -> Candidates<'_, T> {
        Candidates { original: window.get(x, y), prediction, steps: &self.quantizer.steps[level] }
    }

    /// Whether the error of a first attempt is accepted at once, without the vertex bound or the signatures
    /// of the triangles. An unconstrained vertex needs the error bound alone. A constrained vertex needs an
    /// error below `lower_bound`, which is a lower bound of its vertex bound; if signatures are compared, it
    /// needs an error of zero.
    #[inline(always)]
    fn settles(&self, error: T, constrained: bool, lower_bound: T) -> bool {
        let accept = self.quantizer.accept;
        let certain = if self.verifies() { T::ZERO } else { lower_bound };
        if constrained {
            accept.allows(error, certain)
        } else {
            accept.within(error)
        }
    }

    /// [`Encoder::vertex`] for a vertex that is not coded as the others of its row.
    #[inline(never)]
    fn unsettled_vertex(
        &self,
        window: &mut TileWindow<T>,
        x: usize,
        y: usize,
        prediction: [T; 2],
        level: usize,
    ) -> Code {
        self.vertex(window, x, y, prediction, level)
    }

    /// Masked vertices have no code; other missing ones are stored, and signed zeros.
    #[cold]
    fn special(&self, window: &mut TileWindow<T>, x: usize, y: usize) -> Code {
        if (window.zero[y] | window.fill[y]) >> x & 1 != 0 {
            Code { refinement: MASKED, q: [0; 2] }
        } else {
            window.stats.exact += window.signed[y] >> x & 1;
            Code { refinement: EXACT, q: [0; 2] }
        }
    }

    /// Codes a vertex that is constrained, or whose error is too large without a refinement.
    #[inline(never)]
    fn refined_vertex(
        &self,
        window: &mut TileWindow<T>,
        x: usize,
        y: usize,
        prediction: [T; 2],
        level: usize,
    ) -> Code {
        let candidates = self.candidates(window, x, y, prediction, level);
        let accept = self.quantizer.accept;
        let constrained = window.constrained[y] >> x & 1 != 0;
        let bound = constrained.then(|| window.vertex_bound((x, y), self.views, self.constraints));
        let found = if constrained && self.verifies() {
            let fan = Fan::new(window, x, y, &self.constraints.rule);
            VertexLimits { accept, bound, keeps: Some(|value| fan.stays_with(value)) }.find(&candidates)
        } else {
            VertexLimits { accept, bound, keeps: None::<fn([T; 2]) -> bool> }.find(&candidates)
        };
        match found {
            Some(candidate) => commit(window, x, y, candidate),
            None => {
                window.stats.exact += 1;
                stored(prediction, level)
            }
        }
    }

    /// Whether signatures are compared.
    fn verifies(&self) -> bool {
        self.constraints.mode == Mode::Speculative && self.constraints.preserve != Preserve::None
    }

    /// Quantises `count` vertices under the error bound alone. The vertices are 2 STEP apart, and the first
    /// one has index `first` in the window. Written without branches, so that the compiler can use vector
    /// instructions.
    #[inline(always)]
    fn unconstrained_row<const STEP: usize>(
        &self,
        window: &TileWindow<T>,
        first: usize,
        count: usize,
        predictions: &[[T; ROW]; 2],
    ) -> UnconstrainedRow<T> {
        let (step, accept) = (self.quantizer.steps[STEP.trailing_zeros() as usize][0], self.quantizer.accept);
        let originals = [strided::<T, STEP>(&window.u[first..]), strided::<T, STEP>(&window.v[first..])];
        let mut row = UnconstrainedRow {
            codes: RowCodes::default(),
            values: [[T::ZERO; ROW]; 2],
            errors: [T::ZERO; ROW],
            settled: [0; ROW],
        };
        for i in 0..ROW / STEP {
            let (mut errors, mut fits) = ([T::ZERO; 2], i < count);
            for c in 0..2 {
                let attempt = step.attempt(originals[c][i], predictions[c][i]);
                row.codes.q[c][i] = attempt.code;
                row.values[c][i] = attempt.value;
                errors[c] = attempt.error;
                fits &= attempt.fits;
            }
            let error = errors[0].max(errors[1]);
            row.errors[i] = error;
            row.settled[i] = (fits & accept.within(error)) as u32;
        }
        row
    }
}

/// A row of vertices, quantised under the error bound alone. Entries beyond the length of the row are
/// undefined.
struct UnconstrainedRow<T> {
    codes: RowCodes,
    values: [[T; ROW]; 2],
    errors: [T; ROW],
    /// 1 if the first attempt at a vertex is accepted, else 0.
    settled: [u32; ROW],
}

/// Writes the settled values to their places, which are 2 STEP apart; other places keep their values.
#[inline(always)]
fn put_settled<T: Real, const STEP: usize>(places: &mut [T], values: &[T; ROW], settled: &[u32; ROW]) {
    if STEP == 1 {
        // The loop writes the values between the places back unchanged, so that the compiler can vectorise
        // it.
        let places = &mut places[..2 * ROW];
        for i in 0..ROW {
            let [place, between] = [places[2 * i], places[2 * i + 1]];
            places[2 * i] = if settled[i] != 0 { values[i] } else { place };
            places[2 * i + 1] = between;
        }
    } else {
        let n = ROW / STEP;
        let places = &mut places[..2 * STEP * (n - 1) + 1];
        for i in 0..n {
            let place = &mut places[2 * STEP * i];
            *place = if settled[i] != 0 { values[i] } else { *place };
        }
    }
}

/// Codes the interior of a window, row by row.
struct Interior<'e, 'w, T, F> {
    encoder: &'e Encoder<'e, T>,
    window: &'w mut TileWindow<T>,
    /// Where signatures are compared.
    signs: Option<Signs>,
    last: (usize, usize),
    /// The largest errors of vertices that are coded with their row, by place in it.
    largest: [T; ROW],
    out: F,
}

impl<T: Real, F> Interior<'_, '_, T, F> {
    /// Codes `count` vertices 2 STEP apart. No two of them share a triangle, so that their order does not
    /// matter.
    #[inline(always)]
    fn row<const STEP: usize>(
        &mut self,
        first_x: usize,
        y: usize,
        count: usize,
        predictions: &[[T; ROW]; 2],
    ) -> RowCodes {
        let Interior { encoder, window, signs, largest, .. } = self;
        let (n, first) = (ROW / STEP, y * PITCH + first_x);
        let mut row = encoder.unconstrained_row::<STEP>(window, first, count, predictions);
        let mut constrained = window.constrained[y];
        if let Some(signs) = signs.as_ref().filter(|_| constrained != 0) {
            let moved = spread_signs([&row.values[0][..count], &row.values[1][..count]], first_x, 2 * STEP);
            constrained &= !signs.one_sided_around(y, &moved);
        }
        let special = window.zero[y] | window.missing[y] | window.signed[y];
        if (special | constrained) & columns::<STEP>(first_x, count) != 0 {
            let (special, constrained) = ((special >> first_x) as u32, (constrained >> first_x) as u32);
            let lower_bounds = strided::<T, STEP>(&window.lower_bounds[first..]);
            for i in 0..n {
                let column = 2 * STEP * i;
                let settles = encoder.settles(row.errors[i], constrained >> column & 1 != 0, lower_bounds[i]);
                row.settled[i] &= settles as u32 & !(special >> column);
            }
        }
        put_settled::<T, STEP>(&mut window.u[first..], &row.values[0], &row.settled);
        put_settled::<T, STEP>(&mut window.v[first..], &row.values[1], &row.settled);
        let mut rest = 0;
        for i in 0..n {
            largest[i] = largest[i].max(if row.settled[i] != 0 { row.errors[i] } else { T::ZERO });
            rest |= (((i < count) & (row.settled[i] == 0)) as u32) << i;
        }
        let masked = window.zero[y] | window.fill[y];
        while rest != 0 {
            let i = rest.trailing_zeros() as usize % ROW;
            rest &= rest - 1;
            let x = first_x + 2 * STEP * i;
            let code = if masked >> x & 1 != 0 {
                Code { refinement: MASKED, q: [0; 2] }
            } else {
                let level = STEP.trailing_zeros() as usize;
                encoder.unsettled_vertex(window, x, y, [predictions[0][i], predictions[1][i]], level)
            };
            row.codes.refinement[i] = code.refinement;
            [row.codes.q[0][i], row.codes.q[1][i]] = code.q;
        }
        row.codes
    }
}

impl<T: Real, F: FnMut(usize, usize, &RowCodes)> RowVisitor for Interior<'_, '_, T, F> {
    #[inline(always)]
    fn visit<const STEP: usize, const PHASE: usize>(
        &mut self,
        first_x: usize,
        y: usize,
        position: usize,
        count: usize,
    ) {
        let columns = columns::<STEP>(first_x, count);
        if (self.window.zero[y] | self.window.fill[y]) & columns == columns {
            // Masked vertices have no code.
            return;
        }
        let interpolant = &self.encoder.interpolants[STEP.trailing_zeros() as usize];
        // Not by a map over both: its closure would be called.
        let predictions = [
            row::<T, STEP, PHASE>(interpolant, &self.window.u, y, count, self.last),
            row::<T, STEP, PHASE>(interpolant, &self.window.v, y, count, self.last),
        ];
        let codes = self.row::<STEP>(first_x, y, count, &predictions);
        if let Some(signs) = &mut self.signs {
            signs.renew(self.window, y);
        }
        (self.out)(position, count, &codes);
    }
}

/// Puts a reconstruction in its place, and returns its code.
#[inline(always)]
fn commit<T: Real>(window: &mut TileWindow<T>, x: usize, y: usize, candidate: Candidate<T>) -> Code {
    window.set(x, y, candidate.value);
    window.stats.max_error = window.stats.max_error.max(candidate.error.to_f64());
    candidate.code
}

/// The code of a vertex that is stored. An anchor has no prediction.
#[cold]
fn stored<T: Real>(prediction: [T; 2], level: usize) -> Code {
    match heads(prediction) {
        Some(q) if level != ANCHOR_LEVEL => Code { refinement: PREDICTED, q },
        _ => Code { refinement: EXACT, q: [0; 2] },
    }
}

/// The vertices of an axis within one step of `at`: the first one, their number, and the index of `at` among
/// them.
fn around(at: u64, n: u64) -> (u64, usize, usize) {
    let first = at.saturating_sub(1);
    (first, (n.min(at + 2) - first) as usize, (at - first) as usize)
}

/// The columns of `count` vertices 2 STEP apart.
#[inline(always)]
fn columns<const STEP: usize>(first_x: usize, count: usize) -> u64 {
    (every::<STEP>() & ((1 << (2 * STEP * count)) - 1)) << first_x
}

/// Bits 0, 2 STEP, 4 STEP, ... below 32.
const fn every<const STEP: usize>() -> u64 {
    let (mut bits, mut x) = (0, 0);
    while x < TILE {
        bits |= 1 << x;
        x += 2 * STEP;
    }
    bits
}
