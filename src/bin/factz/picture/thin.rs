//! Marks where there are too many to draw all: one for a number of points.

use super::marks::{Mark, Placed};
use super::view::Window;

/// How many points a mark stands for: of common marks, and of rare ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thinning {
    pub common: usize,
    pub rare: usize,
}

/// Of the room for marks, the most that rare ones may take, and the least that is left to common ones.
const RARE: f64 = 0.8;

impl Thinning {
    pub const NONE: Thinning = Thinning { common: 1, rare: 1 };

    /// For panels that are to be alike, with room for some marks each.
    pub fn of(panels: &[Vec<Placed>], room: usize) -> Thinning {
        let most = |is_rare| {
            let count = |marks: &Vec<Placed>| marks.iter().filter(|p| p.mark.rare == is_rare).count();
            panels.iter().map(count).max().unwrap_or(0)
        };
        let room = room.max(1) as f64;
        let rare = step(most(true) as f64 / (RARE * room));
        let left = room - (most(true) / rare) as f64;
        Thinning { common: step(most(false) as f64 / left.max((1.0 - RARE) * room)), rare }
    }

    /// The number of points that a mark stands for.
    pub fn points(&self, mark: &Mark) -> usize {
        if mark.rare {
            self.rare
        } else {
            self.common
        }
    }

    /// One of every few marks that are alike and close to each other. The order of different marks stays.
    pub fn apply(&self, marks: Vec<Placed>, window: Window) -> Vec<Placed> {
        if *self == Thinning::NONE {
            return marks;
        }
        let mut chosen = vec![false; marks.len()];
        let mut rest: Vec<usize> = (0..marks.len()).collect();
        while let Some(&first) = rest.first() {
            let is_alike = |k: &usize| marks[*k].mark.label == marks[first].mark.label;
            let (mut alike, others): (Vec<usize>, Vec<usize>) = rest.into_iter().partition(is_alike);
            alike.sort_by_key(|&k| along_curve(&marks[k], window));
            for group in alike.chunks(self.points(&marks[first].mark)) {
                chosen[group[group.len() / 2]] = true;
            }
            rest = others;
        }
        marks.into_iter().zip(chosen).filter(|(_, chosen)| *chosen).map(|(placed, _)| placed).collect()
    }
}

/// The least number of one digit times a power of ten that is not below another one.
fn step(number: f64) -> usize {
    let mut power = 1;
    loop {
        for factor in [1, 2, 3, 4, 5, 6, 8] {
            if (factor * power) as f64 >= number {
                return factor * power;
            }
        }
        power *= 10;
    }
}

/// The position on a curve (Morton's) on which places that are close to each other mostly follow each other.
fn along_curve(placed: &Placed, window: Window) -> u32 {
    let part = |at: f64, from: f64, length: f64| ((at - from) / length * 65535.0) as u16;
    let (x, y) = (part(placed.x, window.x0, window.width()), part(placed.y, window.y0, window.height()));
    let bit = |k: u32| u32::from(x >> k & 1) << (2 * k) | u32::from(y >> k & 1) << (2 * k + 1);
    (0..16).map(bit).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Dims;
    use crate::fate::Fate;

    fn placed(fate: Fate, count: usize) -> impl Iterator<Item = Placed> {
        let at = |k: usize, step: usize| (k * step % 1000) as f64 / 10.0;
        (0..count).map(move |k| Placed { x: at(k, 379), y: at(k, 613), mark: Mark::of_fate(fate) })
    }

    fn count(marks: &[Placed], fate: Fate) -> usize {
        marks.iter().filter(|p| p.mark == Mark::of_fate(fate)).count()
    }

    #[test]
    fn few_marks_are_all_drawn_and_rare_ones_before_common_ones() {
        let of = |kept, lost| {
            let marks: Vec<Placed> = placed(Fate::Kept, kept).chain(placed(Fate::Lost, lost)).collect();
            Thinning::of(&[marks, Vec::new()], 500)
        };
        assert_eq!(of(400, 100), Thinning::NONE);
        assert_eq!(of(4000, 100), Thinning { common: 10, rare: 1 });
        assert_eq!(of(4000, 1000), Thinning { common: 30, rare: 3 });
        assert_eq!(of(0, 3_000_000), Thinning { common: 1, rare: 8000 });
    }

    #[test]
    fn a_mark_stands_for_its_neighbours() {
        let window = Window::whole(Dims::plane(100, 100));
        let marks: Vec<Placed> = placed(Fate::Kept, 905).chain(placed(Fate::Lost, 7)).collect();
        let drawn = Thinning { common: 10, rare: 1 }.apply(marks, window);
        assert_eq!((count(&drawn, Fate::Kept), count(&drawn, Fate::Lost)), (91, 7));
        assert!(drawn[..91].iter().all(|p| p.mark == Mark::of_fate(Fate::Kept)));
        // Each quarter of the field has about a quarter of them.
        let quarter = drawn.iter().filter(|p| p.x < 50.0 && p.y < 50.0).count();
        assert!((18..32).contains(&quarter), "{quarter}");
    }
}
