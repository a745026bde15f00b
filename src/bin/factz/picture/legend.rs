//! The legend below the panels: marks with their numbers, and notes.

use super::canvas::{Anchor, Area, Canvas, Sizes, GREY};
use super::lettering::{text_width, wrapped};
use super::marks::Mark;
use super::panel::LAND;
use super::thin::Thinning;
use crate::say::grouped;

/// A mark with the number of its points in each column; none in a column that cannot have it.
pub struct Counted {
    pub mark: Mark,
    pub counts: Vec<Option<usize>>,
}

impl Counted {
    /// The number, and where the columns differ that of each.
    pub fn words(&self) -> String {
        let number = |count: usize| grouped(count as u64);
        let label = self.mark.label;
        match self.counts[..] {
            [Some(one), Some(other)] if one != other => {
                format!("{label} {} left, {} right", number(one), number(other))
            }
            [Some(count), None] => format!("{label} {} (left)", number(count)),
            [None, Some(count)] => format!("{label} {} (right)", number(count)),
            _ => format!("{label} {}", number(self.counts.iter().flatten().copied().max().unwrap_or(0))),
        }
    }
}

/// Sentence on the number of points that a mark stands for; none where each stands for one point.
pub fn thinning_note(rows: &[Thinning], has_rare: bool) -> Option<String> {
    let words = |thinning: &Thinning| match (thinning.common, thinning.rare, has_rare) {
        (1, 1, _) => "every point has a mark".to_owned(),
        (common, _, false) => format!("1 mark = {common} points"),
        (1, rare, true) => format!("1 mark = {rare} points that are not kept; all others are drawn"),
        (common, 1, true) => format!("1 mark = {common} kept points; all others are drawn"),
        (common, rare, true) => format!("1 mark = {common} kept points, or {rare} others"),
    };
    match rows {
        _ if rows.iter().all(|thinning| *thinning == Thinning::NONE) => None,
        [whole, part] => Some(format!("whole field: {}. Outlined part: {}", words(whole), words(part))),
        rows => rows.first().map(words),
    }
}

/// The square at the begin of an entry.
#[derive(Clone, Copy)]
enum Sign {
    Mark(Mark),
    Land,
    /// A note, or a further line of an entry.
    None,
}

struct Line {
    x: f64,
    y: f64,
    sign: Sign,
    words: String,
}

pub struct Legend {
    lines: Vec<Line>,
    /// Its entries and notes.
    pub texts: Vec<String>,
    size: f64,
    pub bottom: f64,
}

/// Heights of the text that a sign takes.
const SIGN: f64 = 1.9;

impl Legend {
    /// In a width, below a height.
    pub fn new(
        counted: &[Counted],
        has_land: bool,
        notes: &[String],
        sizes: Sizes,
        (left, right, top): (f64, f64, f64),
    ) -> Legend {
        let (text, size) = (sizes.text, 0.9 * sizes.text);
        let signs = counted.iter().map(|counted| (Sign::Mark(counted.mark), counted.words()));
        let land = has_land.then(|| (Sign::Land, "zero or no data".to_owned()));
        let (mut lines, mut texts) = (Vec::new(), Vec::new());
        let (mut x, mut y) = (left, top);
        for (sign, words) in signs.chain(land) {
            let width = SIGN * text + text_width(size, &words);
            if x + width > right && x > left {
                (x, y) = (left, y + 1.7 * text);
            }
            for (k, part) in wrapped(size, &words, right - left - SIGN * text).into_iter().enumerate() {
                y += if k > 0 { 1.3 * text } else { 0.0 };
                let (x, sign) = if k > 0 { (x + SIGN * text, Sign::None) } else { (x, sign) };
                lines.push(Line { x, y, sign, words: part });
            }
            texts.push(words);
            x += width + 1.2 * text;
        }
        y += if lines.is_empty() { 0.0 } else { 1.7 * text };
        for note in notes {
            for words in wrapped(size, note, right - left) {
                lines.push(Line { x: left, y, sign: Sign::None, words });
                y += 1.3 * text;
            }
            texts.push(note.clone());
        }
        Legend { lines, texts, size, bottom: y - 0.3 * text }
    }

    pub fn draw(&self, canvas: &mut Canvas, sizes: Sizes) {
        let all = Area { left: 0, top: 0, width: canvas.width, height: canvas.height };
        let text = sizes.text;
        for Line { x, y, sign, words } in &self.lines {
            let (middle, half) = (x + 0.8 * text, 0.75 * text);
            let side = (2.0 * half) as usize;
            let swatch =
                Area { left: (middle - half) as usize, top: (y - half) as usize, width: side, height: side };
            let indent = match sign {
                // Marks are as they look on the flow.
                Sign::Mark(mark) => {
                    canvas.fill(swatch, GREY);
                    canvas.mark(all, (middle, *y), 0.4 * text, mark);
                    SIGN * text
                }
                Sign::Land => {
                    canvas.fill(swatch, LAND);
                    SIGN * text
                }
                Sign::None => 0.0,
            };
            canvas.text((x + indent, *y), Anchor::Left, self.size, words);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fate::Fate;

    #[test]
    fn numbers_are_those_of_each_panel() {
        let words = |counts: &[Option<usize>]| {
            Counted { mark: Mark::of_fate(Fate::Lost), counts: counts.to_vec() }.words()
        };
        assert_eq!(words(&[Some(1234)]), "lost 1,234");
        assert_eq!(words(&[Some(7), Some(7)]), "lost 7");
        assert_eq!(words(&[Some(0), Some(7)]), "lost 0 left, 7 right");
        assert_eq!([words(&[Some(7), None]), words(&[None, Some(7)])], ["lost 7 (left)", "lost 7 (right)"]);
    }

    #[test]
    fn long_entries_and_notes_stay_inside() {
        let mark = Mark { label: "a label of many words (with a remark)", ..Mark::of_fate(Fate::Lost) };
        let counted = [Counted { mark, counts: vec![Some(123)] }, Counted { mark, counts: vec![Some(4)] }];
        let notes = ["a note that is longer than a line of it".to_owned()];
        let legend = Legend::new(&counted, true, &notes, Sizes::of(300), (20.0, 160.0, 50.0));
        assert_eq!(legend.texts.len(), 4);
        let ends = legend.lines.iter().map(|line| {
            let sign = if matches!(line.sign, Sign::None) { 0.0 } else { SIGN * 11.0 };
            line.x + sign + text_width(legend.size, &line.words)
        });
        assert!(ends.clone().all(|end| end <= 160.0) && ends.count() > 6);
        assert!(legend.lines.windows(2).all(|pair| pair[0].y < pair[1].y));
    }

    #[test]
    fn notes_tell_how_many_points_a_mark_stands_for() {
        let of = |common, rare| Thinning { common, rare };
        assert_eq!(thinning_note(&[of(1, 1), of(1, 1)], true), None);
        assert_eq!(thinning_note(&[of(10, 1)], false).unwrap(), "1 mark = 10 points");
        assert_eq!(
            thinning_note(&[of(10, 2), of(1, 1)], true).unwrap(),
            "whole field: 1 mark = 10 kept points, or 2 others. Outlined part: every point has a mark"
        );
    }
}
