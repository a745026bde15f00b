//! Coasts: where zero vertices, such as the land of an ocean model, lie beside others. A zero vertex that is a
//! critical point is no coast. Walls count as coasts, and so do vertices where a segment of zeros begins.

use crate::array::{typed, Field};
use crate::failure::Failure;
use crate::memory;
use crate::say::counted;
use factz::grid::missing::Missing;
use factz::{CriticalPoint, Kind, Preserve, Real, Ties, PERIODIC_X, PERIODIC_Y};

const ZERO: u8 = 1;
const OTHER: u8 = 2;
const MISSING: u8 = 4;

/// Triangles without missing vertices that have both zero vertices and others, for the setting `ties`; the
/// critical points of the field are among the others.
pub fn coast_triangles(field: &Field, points: &[CriticalPoint]) -> Result<u64, Failure> {
    typed!([&field.u, &field.v] as [u, v] => count(u, v, field, points))
}

fn count<T: Real>(u: &[T], v: &[T], field: &Field, points: &[CriticalPoint]) -> Result<u64, Failure> {
    let (nx, ny) = (field.dims.nx as usize, field.dims.ny);
    let missing = Missing::new::<T>(field.fill_value);
    let class = |a: T, b: T| match () {
        _ if missing.is_missing([a, b]) => MISSING,
        _ if a == T::ZERO && b == T::ZERO => ZERO,
        _ => OTHER,
    };
    // Along a periodic axis the first vertex follows the last one again.
    let seams = [PERIODIC_X, PERIODIC_Y].map(|axis| field.periodic & axis != 0);
    let columns = nx + seams[0] as usize;
    let row = || memory::zeros::<u8>(columns as u64, "a row");
    let (mut low, mut high, mut first) = (row()?, row()?, row()?);
    let mut coasts = 0;
    let mut alone = points.iter().filter(|p| p.kind == Kind::VertexZero).peekable();
    for (row, (u, v)) in (0u64..).zip(u.chunks_exact(nx).zip(v.chunks_exact(nx))) {
        for (class_of, (&a, &b)) in high.iter_mut().zip(u.iter().zip(v)) {
            *class_of = class(a, b);
        }
        while let Some(point) = alone.next_if(|point| point.cell_z * ny + point.cell_y == row) {
            high[point.cell_x as usize] = OTHER;
        }
        if seams[0] {
            high[nx] = high[0];
        }
        match row % ny {
            0 => first.copy_from_slice(&high),
            _ => coasts += between(&low, &high),
        }
        if seams[1] && row % ny == ny - 1 {
            coasts += between(&high, &first);
        }
        std::mem::swap(&mut low, &mut high);
    }
    Ok(coasts)
}

/// Triangles with zero vertices and others between two rows of classes.
fn between(low: &[u8], high: &[u8]) -> u64 {
    let cells = low.windows(2).zip(high.windows(2));
    cells
        .map(|(low, high)| {
            // The vertices of a cell's diagonal belong to both of its triangles.
            let diagonal = low[0] | high[1];
            [diagonal | low[1], diagonal | high[0]].into_iter().filter(|&c| c == ZERO | OTHER).count() as u64
        })
        .sum()
}

/// The sentence about the setting `ties` for a field with coasts; none where the setting makes no difference.
pub fn note(coasts: u64, ties: Ties, preserve: Preserve, bound: f64) -> Option<String> {
    if coasts == 0 || preserve == Preserve::None || bound == 0.0 {
        return None;
    }
    let touch = counted(coasts, "triangle touches zero vertices", "triangles touch zero vertices");
    let choice = match ties {
        Ties::All => {
            "--ties all (now) keeps what any tie rule finds; in smaller streams --ties sos keeps what FTK \
             finds, --ties zeros only their zeros"
        }
        Ties::Sos => {
            "--ties sos (now) keeps what FTK finds, --ties zeros only their zeros; --ties all keeps what any \
             tie rule finds in a larger stream"
        }
        Ties::Zeros => {
            "--ties zeros (now) keeps only their zeros, --ties sos what FTK finds; --ties all keeps what any \
             tie rule finds in a larger stream"
        }
    };
    Some(format!("{touch} (coasts, walls, lines of zeros); {choice}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{Dims, Values};
    use crate::engine;
    use crate::options::Spacing;

    /// Counted triangle by triangle.
    #[test]
    fn coasts_have_zeros_and_others() {
        let values = |text: &str| -> Vec<f32> {
            let value = |c: char| match c {
                '.' => 0.0,
                '-' => -0.0,
                'n' => f32::NAN,
                'f' => 9.0,
                _ => 1.0,
            };
            text.chars().map(value).collect()
        };
        let coasts = |u: &str, nx: u64, fill_value, periodic| {
            let pair = || Values::F32(values(u));
            let dims = Dims::plane(nx, u.len() as u64 / nx);
            let field = Field { dims, u: pair(), v: pair(), fill_value, periodic, is_slice: false };
            let points = engine::critical_points(&field, Spacing::UNIT, 1).unwrap();
            coast_triangles(&field, &points).unwrap()
        };
        for (u, nx, fill, expected) in [
            ("........", 4, None, 0),
            ("xxxxxxxx", 4, None, 0),
            ("x...", 2, None, 2),
            ("xx..", 2, None, 2),
            ("..x-", 2, None, 1),
            ("n.x.", 2, None, 0),
            (".xf.", 2, None, 2),
            // The sign of a fill value of zero counts.
            (".x-.", 2, Some(-0.0), 1),
            ("...x", 4, None, 0),
            ("...x", 1, None, 0),
            // Zeros alone.
            (".x.x", 2, Some(-0.0), 2),
            ("....x....", 3, None, 6),
            ("xxxx.xxxx", 3, None, 0),
            (".xn.", 2, None, 1),
            (".xf.", 2, Some(9.0), 1),
            ("xxxxx..xx", 3, None, 0),
            ("xxxx..xxx", 3, None, 7),
        ] {
            assert_eq!(coasts(u, nx, fill, 0), expected, "{u} {fill:?}");
        }
        // A wall in the first column, in the first row, and a zero alone.
        for (u, expected) in
            [(".xx.xx.xx", [4, 8, 6, 12]), ("...xxxxxx", [4, 6, 8, 12]), ("xxxx.xxxx", [0; 4])]
        {
            for (periodic, expected) in (0..).zip(expected) {
                assert_eq!(coasts(u, 3, None, periodic), expected, "{u} {periodic}");
            }
        }
    }
}
