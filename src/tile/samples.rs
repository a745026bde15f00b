//! Sample tiles, coded with every option of the hierarchical predictor: what `predict::tuning` decides by.
//!
//! Each tile is coded on its own, without any constraint but the error bound, and the codes of each level are
//! counted.

use crate::entropy::symbols::{self, Code, EXACT, MASKED, RAW_BITS, STORED};
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::missing::Missing;
use crate::grid::tiles::{Grid, TileShape, ANCHOR_LEVEL, LEVELS, POSITIONS, TILE};
use crate::predict::interpolation::{Interpolant, INTERPOLANTS, ROW};
use crate::predict::quantizer::Quantizer;
use crate::predict::tuning::{CountsByInterpolant, LevelCount};
use crate::request::{Mode, Preserve, Ties};
use crate::tile::builder::RowCodes;
use crate::tile::constraints::Constraints;
use crate::tile::encode::Encoder;
use crate::tile::window::{Rectangle, TileWindow};
use crate::topology::signature::Rule;

/// Number of choices that code lattice lines differently: two choices that differ only in the prediction of
/// centre vertices code them alike.
const LINE_CHOICES: usize = INTERPOLANTS / 2;

/// Windows of a sample tile: its values, those with coded lines, and those with a coded interior.
pub struct SampleWindows<T> {
    tile: Option<u64>,
    original: Box<TileWindow<T>>,
    lines: Box<TileWindow<T>>,
    interior: Box<TileWindow<T>>,
}

impl<T: Real> SampleWindows<T> {
    pub fn new() -> Result<Self> {
        let [original, lines, interior] = [TileWindow::new()?, TileWindow::new()?, TileWindow::new()?];
        Ok(SampleWindows { tile: None, original, lines, interior })
    }
}

/// Counts the codes of a tile with every interpolant.
pub fn count_tile<T: Real>(
    grid: Grid,
    views: [View<'_, T>; 2],
    tile: u64,
    missing: Missing,
    (bound, quantizer): (f64, &Quantizer<T>),
    windows: &mut SampleWindows<T>,
) -> CountsByInterpolant {
    let constraints = Constraints {
        mode: Mode::BlockWise,
        preserve: Preserve::None,
        rule: Rule { types: false, ties: Ties::All, dx: 1.0, dy: 1.0 },
        bound,
        bound_up: T::ZERO,
        halo: 0,
        pin: 0,
        bounds_on_demand: false,
        missing,
        fill: None,
    };
    let shape = &grid.tile(tile);
    let views = views.map(|view| view.plane(shape.z));
    let SampleWindows { tile: loaded, original, lines, interior } = windows;
    if loaded.replace(tile) != Some(tile) {
        original.load(grid, views, Rectangle::closed(shape), &constraints);
        for window in [&mut *lines, &mut *interior] {
            window.copy_masks(original);
        }
    }
    let interpolants: [_; INTERPOLANTS] = std::array::from_fn(|c| [Interpolant::new(c as u8); ANCHOR_LEVEL]);
    let encoder = |choice: usize| Encoder {
        grid,
        views,
        quantizer,
        interpolants: &interpolants[choice],
        constraints: &constraints,
    };
    let mut counts = CountsByInterpolant::default();
    for choice in 0..LINE_CHOICES {
        (lines.u, lines.v) = (original.u, original.v);
        let on_lines = count_lines(&encoder(choice), lines, shape);
        for choice in [choice, choice + LINE_CHOICES] {
            (interior.u, interior.v) = (lines.u, lines.v);
            counts[choice] = on_lines;
            count_interior(&encoder(choice), interior, &mut counts[choice]);
        }
    }
    counts
}

/// Codes the anchors and the lattice lines of the tile in the window, and counts the codes of each level.
fn count_lines<T: Real>(
    encoder: &Encoder<'_, T>,
    window: &mut TileWindow<T>,
    shape: &TileShape,
) -> [LevelCount; LEVELS] {
    let mut levels = [LevelCount::default(); LEVELS];
    let (last_x, last_y) = (shape.last_x, shape.last_y);
    // The first line, and the one that closes the tile where there is one.
    let lines = |last: usize| [0, TILE].into_iter().take(if last == TILE { 2 } else { 1 });
    for y in lines(last_y) {
        for x in lines(last_x) {
            encoder.vertex(window, x, y, [T::ZERO; 2], LEVELS - 1);
        }
    }
    for (horizontal, last, last_across) in [(true, last_x, last_y), (false, last_y, last_x)] {
        for at in lines(last_across) {
            encoder.line(window, horizontal, at, last, |k, coded| {
                if at == 0 {
                    add(&mut levels[k.trailing_zeros() as usize], coded.code);
                }
            });
        }
    }
    levels
}

/// Codes the interior of the tile in the window, whose lines are coded, and counts the codes of each level.
fn count_interior<T: Real>(
    encoder: &Encoder<'_, T>,
    window: &mut TileWindow<T>,
    levels: &mut [LevelCount; LEVELS],
) {
    encoder.interior(
        window,
        #[inline(always)]
        |position, count, codes| add_row(&mut levels[POSITIONS[position].2 as usize], count, codes),
    );
}

/// Counts the first `count` codes of a row.
#[inline(always)]
fn add_row(level: &mut LevelCount, count: usize, codes: &RowCodes) {
    if codes.are_zero(count) {
        level.vertices += count as u32;
        return;
    }
    let (mut small, mut nonzero) = (0, 0);
    // Written without branches, so that the compiler can use vector instructions.
    for i in 0..ROW {
        let counts = (i < count) & codes.is_small(i);
        small += counts as u32;
        nonzero += (counts & (codes.q[0][i] | codes.q[1][i] != 0)) as u32;
    }
    level.vertices += small;
    level.nonzero += nonzero;
    level.bits += BITS_OF_SMALL * nonzero;
    if small < count as u32 {
        for i in (0..count).filter(|&i| !codes.is_small(i)) {
            add(level, codes.get(i));
        }
    }
}

/// Bits of a code without raw bits besides saying that it is not zero, about.
const BITS_OF_SMALL: u32 = 3;

/// Counts a code.
fn add(level: &mut LevelCount, code: Code) {
    let (nonzero, bits) = weight(code);
    level.vertices += (code.refinement != MASKED) as u32;
    level.nonzero += nonzero;
    level.bits += bits;
}

/// Whether a code is not zero, and about how many bits it takes besides saying so.
fn weight(code: Code) -> (u32, u32) {
    if code.refinement == MASKED {
        return (0, 0);
    }
    if code.refinement >= EXACT {
        return (1, 64);
    }
    let (s, _) = symbols::encode(code);
    debug_assert!(s != STORED);
    match s {
        symbols::ZERO => (0, 0),
        s if s < symbols::FIRST_WITH_RAW_BITS => (1, BITS_OF_SMALL),
        s => (1, 4 + RAW_BITS[s as usize] as u32),
    }
}
