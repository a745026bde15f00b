//! Pictures and lists of critical points: marks are where the points are, and every format holds the same
//! list.

use crate::support::cli::{text, Folder};
use crate::support::fields::bytes_of;
use serde_json::Value;
use std::collections::HashMap;

/// An image of 8-bit RGB.
pub struct Image {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Image {
    pub fn read(f: &Folder, name: &str) -> Image {
        let bytes = f.read(name);
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
        Image { width: info.width as usize, height: info.height as usize, pixels }
    }

    pub fn at(&self, (x, y): (f64, f64)) -> [u8; 3] {
        let at = 3 * (y as usize * self.width + x as usize);
        self.pixels[at..at + 3].try_into().unwrap()
    }
}

/// A line of a list.
pub struct Point {
    x: f64,
    y: f64,
    kind: String,
    eigenvalues: [f64; 4],
}

fn points(list: &str) -> Vec<Point> {
    let number = |cell: &str| cell.parse::<f64>().unwrap();
    let line = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let eigenvalues = [9, 11, 10, 12].map(|k| number(cells[k]));
        Point { x: number(cells[0]), y: number(cells[1]), kind: cells[6].to_owned(), eigenvalues }
    };
    list.lines().skip(1).map(line).collect()
}

/// The place of a grid position on a panel.
pub fn pixel(panel: &Value, x: f64, y: f64) -> (f64, f64) {
    let number = |value: &Value| value.as_f64().unwrap();
    let [x0, y0, x1, y1] = [0, 1, 2, 3].map(|k| number(&panel["window"][k]));
    let turned = |part: f64, turns: bool| if turns { 1.0 - part } else { part };
    let across = turned((x - x0) / (x1 - x0), panel["column_0"] == "right");
    let down = turned((y - y0) / (y1 - y0), panel["row_0"] == "bottom");
    let [left, top, width, height] = ["left", "top", "width", "height"].map(|name| number(&panel[name]));
    (left + across * width, top + down * height)
}

/// The colours of the marks of a panel by their labels, with the numbers of points and of marks drawn.
pub fn marks(panel: &Value) -> HashMap<&str, ([u8; 3], u64, u64)> {
    let colour = |mark: &Value| [0, 1, 2].map(|c| mark["colour"][c].as_u64().unwrap() as u8);
    let number = |mark: &Value, name: &str| mark[name].as_u64().unwrap();
    let entry = |mark: &'_ Value| (colour(mark), number(mark, "count"), number(mark, "drawn"));
    let all = panel["marks"].as_array().unwrap().iter();
    all.map(|mark| (mark["label"].as_str().unwrap(), entry(mark))).collect()
}

pub fn label(kind: &str) -> String {
    kind.replace('_', " ").replace("center", "centre")
}

/// The lines of the legend.
fn legend(report: &Value) -> Vec<&str> {
    report["legend"].as_array().unwrap().iter().map(|words| words.as_str().unwrap()).collect()
}

/// Whether the outline of a part goes through a mark.
fn is_outlined(panel: &Value, place: (f64, f64), radius: f64) -> bool {
    let Some(corners) = panel["outlined"].as_array() else { return false };
    let corner = |k: usize| corners[k].as_f64().unwrap();
    let [a, b] = [0, 2].map(|k| pixel(panel, corner(k), corner(k + 1)));
    let between = |at: f64, a: f64, b: f64| a.min(b) - radius < at && at < a.max(b) + radius;
    let on_side = |at: f64, a: f64, b: f64| (at - a).abs().min((at - b).abs()) < radius;
    between(place.0, a.0, b.0)
        && between(place.1, a.1, b.1)
        && (on_side(place.0, a.0, b.0) || on_side(place.1, a.1, b.1))
}

/// Counts the marks that nothing else touches, or one of the others; all of them have the colour of their point
/// in their middle, or that far beside it on a side.
pub fn free_marks(
    image: &Image,
    panel: &Value,
    placed: &[(f64, f64, [u8; 3])],
    others: &[Point],
    beside: f64,
) -> usize {
    let reach = 3.2 * panel["mark_radius"].as_f64().unwrap();
    let places: Vec<(f64, f64)> = placed.iter().map(|p| pixel(panel, p.0, p.1)).collect();
    let others: Vec<(f64, f64)> = others.iter().map(|p| pixel(panel, p.x, p.y)).collect();
    // A list of others may have the point itself.
    let near = |a: (f64, f64), b: (f64, f64)| (1e-6..reach).contains(&(a.0 - b.0).hypot(a.1 - b.1));
    let free = |k: &usize| {
        !is_outlined(panel, places[*k], reach)
            && !places.iter().any(|&place| near(place, places[*k]))
            && others.iter().filter(|&&place| near(place, places[*k])).count() < 2
    };
    let free: Vec<usize> = (0..places.len()).filter(free).collect();
    for &k in &free {
        let (x, y) = places[k];
        let sides = [(beside, 0.0), (-beside, 0.0), (0.0, beside), (0.0, -beside)];
        let colours = sides.map(|(dx, dy)| image.at((x + dx, y + dy)));
        assert!(colours.contains(&placed[k].2), "at {}, {}: {colours:?}", placed[k].0, placed[k].1);
    }
    free.len()
}

#[test]
fn marks_are_where_the_points_are() {
    let f = Folder::with_field("marks", "wind_global");
    for (size, spacing) in [
        ("--width 1000", [1.0, 1.0]),
        ("--width 3000 --origin top", [1.0, 1.0]),
        ("", [1.0, 0.5]),
        ("", [-1.0, -0.5]),
    ] {
        // Types depend on the spacing.
        let [dx, dy] = spacing;
        let field = format!("u.f32 v.f32 --dims 360x181 --spacing {dx},{dy}");
        let list = points(&f.succeeds(&format!("points {field}")));
        let report = f.json(&format!("render {field} -o wind.png {size}"));
        let image = Image::read(&f, "wind.png");
        let told = [&report["width"], &report["height"]].map(Value::as_u64);
        assert_eq!(told, [image.width, image.height].map(|n| Some(n as u64)));
        let (panel, marks) = (&report["panels"][0], marks(&report["panels"][0]));
        assert_eq!(marks.values().map(|m| m.1).sum::<u64>(), list.len() as u64);
        assert!(marks.values().all(|m| m.1 == m.2), "{marks:?}");
        let placed: Vec<_> = list.iter().map(|p| (p.x / dx, p.y / dy, marks[&*label(&p.kind)].0)).collect();
        let free = free_marks(&image, panel, &placed, &[], 0.0);
        assert!(free > 60, "{size}: {free}");
    }
}

#[test]
fn a_part_of_a_field_is_enlarged() {
    let f = Folder::with_field("part", "wind_global");
    let list = points(&f.succeeds("points u.f32 v.f32 --dims 360x181"));
    let report = f.json("render u.f32 v.f32 --dims 360x181 -o part.png --zoom 100,40,60,30");
    let (image, marks) = (Image::read(&f, "part.png"), marks(&report["panels"][0]));
    let window = serde_json::json!([100.0, 40.0, 160.0, 70.0]);
    assert_eq!((&report["panels"][0]["outlined"], &report["panels"][1]["window"]), (&window, &window));
    let inside = |p: &&Point| p.x > 100.0 && p.x < 160.0 && p.y > 40.0 && p.y < 70.0;
    for (panel, fewest) in [(0, 1), (1, 20)] {
        let placed = list.iter().filter(inside).map(|p| (p.x, p.y, marks[&*label(&p.kind)].0));
        let free = free_marks(&image, &report["panels"][panel], &placed.collect::<Vec<_>>(), &[], 0.0);
        assert!(free >= fewest, "panel {panel}: {free}");
    }
    // The outline is white, inside a black one.
    let (left, top) = pixel(&report["panels"][0], 100.0, 70.0);
    let colours: Vec<[u8; 3]> = (1..6).map(|k| image.at((left - k as f64, top + 20.0))).collect();
    assert!(colours.contains(&[255; 3]) && colours.contains(&[0; 3]), "{colours:?}");
}

#[test]
fn fates_are_marked_and_listed() {
    let f = Folder::with_field("fates", "wind_global");
    f.succeeds("compress u.f32 v.f32 -o w.fz --dims 360x181 --rel 1e-3 --preserve none");
    let out = f.factz("diff u.f32 v.f32 w.fz");
    assert_eq!(out.status.code(), Some(1));
    let list = text(&out.stdout);
    let cells: Vec<Vec<&str>> = list.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let count = |fate: &str| cells.iter().filter(|c| c[0] == fate).count() as u64;
    let verified: Value = serde_json::from_slice(&f.factz("verify u.f32 v.f32 w.fz --json").stdout).unwrap();
    let fates = [("lost", "lost_points"), ("spurious", "spurious_points"), ("changed", "changed_types")];
    for (fate, counted) in fates {
        assert_eq!(Some(count(fate)), verified["comparison"][counted].as_u64(), "{fate}");
    }
    assert!(count("lost") > 20 && count("spurious") > 20 && count("changed") > 2, "{list}");
    assert!(cells
        .iter()
        .all(|c| c[7].is_empty() == (c[0] == "spurious") && c[8].is_empty() == (c[0] == "lost")));
    let as_json: Value =
        serde_json::from_slice(&f.factz("diff u.f32 v.f32 w.fz --format json").stdout).unwrap();
    assert_eq!(as_json.as_array().unwrap().len(), cells.len());
    assert_eq!(as_json[0]["x"].to_string().parse(), cells[0][1].parse::<f64>());

    let report = f.json("render --compare u.f32 v.f32 w.fz -o c.png --width 2400 --zoom 20,30,60,30");
    let image = Image::read(&f, "c.png");
    // The left panels have lost points, the right ones spurious points.
    let kept = verified["comparison"]["critical_points"].as_u64().unwrap() - count("lost") - count("changed");
    for (panel, own, other) in [(0, "lost", "spurious"), (1, "spurious", "lost")] {
        let marks = marks(&report["panels"][panel]);
        let counts = [("kept", kept), ("type or index changed", count("changed")), (own, count(own))];
        assert!(counts.iter().all(|(label, count)| marks[label].1 == *count), "{marks:?}");
        assert!(!marks.contains_key(other), "{marks:?}");
    }
    let words = [
        format!("kept {kept}"),
        format!("type or index changed {}", count("changed")),
        format!("lost {} (left)", count("lost")),
        format!("spurious {} (right)", count("spurious")),
    ];
    assert_eq!(legend(&report)[..4].join("; ").replace(',', ""), words.join("; "));
    let [before, after] =
        ["u.f32 v.f32 --dims 360x181", "w.fz"].map(|field| points(&f.succeeds(&format!("points {field}"))));
    for (panel, own, others) in
        [(0, "lost", &before), (1, "spurious", &after), (2, "lost", &before), (3, "spurious", &after)]
    {
        let panel = &report["panels"][panel];
        let mark = panel["marks"].as_array().unwrap().iter().find(|mark| mark["label"] == own).unwrap();
        let beside = if mark["shape"] == "ring" { 0.8 * mark["radius"].as_f64().unwrap() } else { 0.0 };
        let colour = marks(panel)[own].0;
        let placed = |c: &Vec<&str>| (c[1].parse().unwrap(), c[2].parse().unwrap(), colour);
        let [x0, y0, x1, y1] = [0, 1, 2, 3].map(|k| panel["window"][k].as_f64().unwrap());
        let shown = |p: &(f64, f64, [u8; 3])| p.0 > x0 && p.0 < x1 && p.1 > y0 && p.1 < y1;
        let all: Vec<_> = cells.iter().filter(|c| c[0] == own).map(placed).filter(shown).collect();
        assert!(!all.is_empty() && free_marks(&image, panel, &all, others, beside) > 0, "{own}");
    }
    assert_eq!(report["panels"][2]["window"], serde_json::json!([20.0, 30.0, 80.0, 60.0]));
    assert_eq!(f.succeeds("diff u.f32 v.f32 u.f32 v.f32 --dims 360x181").lines().count(), 1);
    // Values may come back as the fill value, and are data all the same.
    f.succeeds("compress u.f32 v.f32 -o w.fz --dims 360x181 --rel 1e-2 --mode speculative --fill-value 0");
    assert_eq!(f.succeeds("diff u.f32 v.f32 w.fz").lines().count(), 1);
}

/// Both reconstructions of a sweep have all points, and counts of their own.
#[test]
fn lost_and_spurious_points_at_one_place_are_both_visible() {
    let f = Folder::with_field("both", "wind_global");
    let field = "u.f32 v.f32 --dims 360x181";
    let swept = f.json(&format!("sweep {field} -o r --bounds 1e-2 --repeat 1 --no-peers"));
    let report = &swept["pictures"]["comparison.png"];
    let run =
        |codec: &str| swept["runs"].as_array().unwrap().iter().find(|run| run["codec"] == codec).unwrap();
    let plain = run("factz --preserve none");
    let words = legend(report).join("; ");
    for name in ["lost", "spurious"] {
        let count = plain[format!("{name}_points")].as_u64().unwrap();
        assert!(count > 0 && words.contains(&format!("{name} 0 left, {count} right")), "{words}");
        let counts = [0, 1].map(|panel| marks(&report["panels"][panel])[name].1);
        assert_eq!(counts, [0, count], "{name}");
    }
    // A point that moves into the next triangle is lost in its own and spurious in that.
    f.succeeds(&format!("compress {field} -o w.fz --rel 1e-2 --preserve none"));
    let list = text(&f.factz("diff u.f32 v.f32 w.fz").stdout);
    let panel = &report["panels"][3];
    let [lost, spurious] = ["lost", "spurious"].map(|fate| {
        let cells = list.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let place = |c: Vec<&str>| pixel(panel, c[1].parse().unwrap(), c[2].parse().unwrap());
        cells.filter(|c| c[0] == fate).map(place).collect::<Vec<_>>()
    });
    let radius = panel["mark_radius"].as_f64().unwrap();
    let side = |name: &str| panel[name].as_f64().unwrap();
    let (left, top) = (side("left"), side("top"));
    let is_inside = |&(x, y): &(f64, f64)| {
        let reach = 3.0 * radius;
        let within = |at: f64, from: f64, length: f64| from + reach < at && at < from + length - reach;
        within(x, left, side("width")) && within(y, top, side("height"))
    };
    let image = Image::read(&f, "r/comparison.png");
    let mut pairs = 0;
    for &(x, y) in lost.iter().filter(|place| is_inside(place)) {
        let away = |&&(x1, y1): &&(f64, f64)| (x - x1).hypot(y - y1);
        let near = |reach: f64| {
            let others = lost.iter().filter(|p| away(p) > 0.0).chain(&spurious);
            others.filter(|p| away(p) < reach).count()
        };
        // One spurious point, and nothing else in the neighbourhood.
        if spurious.iter().filter(|p| away(p) < radius).count() != 1 || near(4.0 * radius) != 1 {
            continue;
        }
        pairs += 1;
        let reach = (2.0 * radius) as i64;
        let pixels =
            (-reach..=reach).flat_map(|j| (-reach..=reach).map(move |i| (x + i as f64, y + j as f64)));
        let colours: Vec<[u8; 3]> = pixels.map(|place| image.at(place)).collect();
        for name in ["lost", "spurious"] {
            let colour = marks(panel)[name].0;
            let count = colours.iter().filter(|c| **c == colour).count();
            assert!(count as f64 > 0.4 * radius * radius, "{name} at {x}, {y}: {count} pixels");
        }
    }
    assert!(pairs > 1, "{pairs}");
}

/// Values without any order: every second triangle or so has a critical point.
fn write_noise(f: &Folder, seed: u64, n: usize) {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    for name in ["u", "v"] {
        let values: Vec<f32> = (0..n * n).map(|_| next()).collect();
        f.write(name, &bytes_of(&values));
    }
}

#[test]
fn many_points_share_marks() {
    let f = Folder::new("many");
    write_noise(&f, 1, 256);
    // Some vertices of a copy change their sign: few points are not kept.
    let mut values = f.values("u");
    values.iter_mut().step_by(8191).for_each(|value| *value = -*value);
    f.write("u1", &bytes_of(&values));
    for width in [300, 800, 1600] {
        let alone = f.json(&format!("render u v --dims 256x256 -o p.png --width {width}"));
        let compared = f.json(&format!("render --compare u v u1 v --dims 256x256 -o c.png --width {width}"));
        for (report, name, title) in [(&alone, "p.png", "1 mark = "), (&compared, "c.png", "kept points")] {
            let words = legend(report).join(" ");
            assert!(words.contains(title), "{words}");
            let (image, panel) = (Image::read(&f, name), &report["panels"][0]);
            let [left, top, columns, rows] =
                ["left", "top", "width", "height"].map(|name| panel[name].as_u64().unwrap());
            let pixels =
                (0..columns * rows).map(|k| ((left + k % columns) as f64, (top + k / columns) as f64));
            let marks = marks(panel);
            let marked =
                pixels.filter(|p| marks.values().any(|(colour, ..)| *colour == image.at(*p))).count();
            assert!((marked as u64) < columns * rows / 4, "{name}, {width}: {marked} of {columns} x {rows}");
        }
        let panel = &alone["panels"][0];
        let every = panel["marks"][0]["points_per_mark"].as_u64().unwrap();
        assert!(every > 1 && legend(&alone).contains(&&*format!("1 mark = {every} points")));
        let counts = marks(panel);
        assert!(counts.values().map(|m| m.1).sum::<u64>() > 20_000, "{counts:?}");
        assert!(counts.values().all(|m| m.2 == m.1.div_ceil(every)), "{counts:?}");
        // Points that are not kept are drawn before others.
        let counts = marks(&compared["panels"][0]);
        assert!(counts["lost"].1 > 5 && counts["lost"].1 == counts["lost"].2, "{counts:?}");
        assert!(10 * counts["kept"].2 < counts["kept"].1, "{counts:?}");
    }
}

/// A field of two speeds, side by side.
fn write_speeds(f: &Folder, speeds: [f32; 2]) {
    let values: Vec<f32> = (0..40 * 20).map(|k| speeds[usize::from(k % 40 >= 20)]).collect();
    f.write("u", &bytes_of(&values));
    f.write("zero", &bytes_of(&vec![0f32; values.len()]));
}

#[test]
fn the_scale_is_as_given_and_tells_what_is_beyond_it() {
    let f = Folder::new("scale");
    write_speeds(&f, [1.0, 10.0]);
    let render = "render u zero --dims 40x20 -o p.png --no-arrows";
    // The mean share of green in green and blue: it grows with the place on the scale.
    let green = |options: &str| {
        let report = f.json(&format!("{render} {options}"));
        let (image, panel) = (Image::read(&f, "p.png"), &report["panels"][0]);
        let share = [10.0, 30.0].map(|x| {
            let (x, y) = pixel(panel, x, 10.0);
            let colours = (0..400).map(|k| image.at((x + (k % 20) as f64, y + (k / 20) as f64)));
            let [green, blue] = colours.fold([0.0; 2], |sum, c| [sum[0] + c[1] as f64, sum[1] + c[2] as f64]);
            green / (green + blue)
        });
        (report, share)
    };
    let (linear, [slow, fast]) = green("--speed-range 0,10");
    assert_eq!(linear["top_speed"], 10.0);
    assert!(slow < 0.4 && fast > 0.8, "{slow}, {fast}");
    // On a logarithmic scale 1 is in the middle of 0.1 and 10.
    let (log, [middle, top]) = green("--speed-range 0.1,10 --log");
    assert!((middle - 0.51).abs() < 0.03 && (top - fast).abs() < 0.02, "{middle}, {top}");
    assert_eq!((&log["scale"]["low"], &log["scale"]["log"]), (&serde_json::json!(0.1), &Value::Bool(true)));
    let (beyond, [low, high]) = green("--speed-range 2,8");
    assert!(low < slow && (high - fast).abs() < 0.02, "{low}, {high}");
    // Both ends of the bar have a tip.
    let tips = |options: &str| {
        f.succeeds(&format!("{render} {options}"));
        let (image, panel) = (Image::read(&f, "p.png"), &beyond["panels"][0]);
        let right = panel["left"].as_f64().unwrap() + panel["width"].as_f64().unwrap();
        let [top, height] = ["top", "height"].map(|name| panel[name].as_f64().unwrap());
        let inked = |y: f64| (0..60).filter(|x| image.at((right + 8.0 + *x as f64, y)) != [255; 3]).count();
        // Rows from the title of the scale to its lower end that have less ink than the bar is wide.
        let rows: Vec<usize> = (0..height as usize + 20).map(|y| inked(top + 30.0 + y as f64)).collect();
        let bar = |row: &usize| *row >= 20;
        let (first, last) = (rows.iter().position(bar).unwrap(), rows.iter().rposition(bar).unwrap());
        [rows[..first].last().copied(), rows.get(last + 1).copied()].map(|row| row.is_some_and(|row| row > 0))
    };
    assert_eq!([tips("--speed-range 2,8"), tips("--speed-range 0,8")], [[true, true], [true, false]]);
    assert_eq!([tips("--speed-range 2,10.5"), tips("--speed-range 0,10.5")], [[false, true], [false, false]]);
    let notes = legend(&beyond).join(" ");
    assert!(notes.contains("begins at 2; 49 % of the area is slower, down to 1"), "{notes}");
    assert!(notes.contains("ends at 8; 49 % of the area is faster, up to 10"), "{notes}");
    for (options, parts) in [
        ("--speed-range 5", ["--speed-range", "LOW,HIGH"]),
        ("--speed-range -1,5", ["--speed-range", "0 or more"]),
        ("--speed-range 5,inf", ["--speed-range", "finite"]),
        ("--speed-range 5,5", ["'5,5'", "LOW is not below HIGH"]),
        ("--log --speed-range 0,5", ["--speed-range 0,5 --log", "cannot begin at 0"]),
    ] {
        f.fails(&format!("{render} {options}"), &parts);
        f.fails(&format!("sweep u zero --dims 40x20 -o r {options}"), &parts);
    }
}

/// The scale with its numbers, the axes and the legend end inside the picture.
#[test]
fn nothing_is_cut_in_narrow_pictures() {
    let f = Folder::with_field("narrow", "wind_global");
    for (exponent, name) in [(-38, "tiny"), (5, "large")] {
        for component in ["u", "v"] {
            let scaled: Vec<f32> =
                f.values(&format!("{component}.f32")).iter().map(|x| x * 10f32.powi(exponent)).collect();
            f.write(&format!("{name}.{component}"), &bytes_of(&scaled));
        }
    }
    for field in ["u.f32 v.f32", "tiny.u tiny.v", "large.u large.v"] {
        for command in [format!("render {field}"), format!("render --compare {field} {field}")] {
            for width in [300, 400, 800] {
                let report = f.json(&format!("{command} --dims 360x181 -o p.png --width {width} --log"));
                let image = Image::read(&f, "p.png");
                let bottom = image.height as f64 - 1.0;
                let border = (0..image.height)
                    .flat_map(|y| [(0.0, y as f64), (width as f64 - 1.0, y as f64)])
                    .chain((0..width).flat_map(|x| [(x as f64, 0.0), (x as f64, bottom)]));
                let inked: Vec<_> = border.filter(|place| image.at(*place) != [255; 3]).collect();
                assert!(inked.is_empty(), "{command} {width}: {inked:?}");
                let notes = legend(&report).join(" ");
                assert!(notes.contains("% of the area is faster, up to "), "{notes}");
            }
        }
    }
}

#[test]
fn arrows_show_the_direction_of_the_flow() {
    let f = Folder::new("arrows");
    let is_missing = |k: usize| k % 60 < 20;
    let component = |value: f32| -> Vec<f32> {
        (0..60 * 40).map(|k| if is_missing(k) { f32::NAN } else { value }).collect()
    };
    f.write("u", &bytes_of(&component(2.0)));
    f.write("v", &bytes_of(&component(1.0)));
    for (options, up) in [
        ("", 1.0),
        ("--north-first", 1.0),
        ("--origin top", -1.0),
        ("--spacing -1,1", 1.0),
        ("--spacing 3,-3", 1.0),
    ] {
        for width in [300, 1000] {
            let render = format!("render u v --dims 60x40 --width {width} {options}");
            let report = f.json(&format!("{render} -o p.png"));
            let (image, panel) = (Image::read(&f, "p.png"), &report["panels"][0]);
            f.succeeds(&format!("{render} -o without.png --no-arrows"));
            let without = Image::read(&f, "without.png");
            let arrows = panel["arrows"].as_array().unwrap();
            assert!(arrows.len() > 5, "{options} {width}: {}", arrows.len());
            let coast = pixel(panel, 19.5, 0.0).0;
            for arrow in arrows {
                let [x0, y0, x1, y1] = [0, 1, 2, 3].map(|k| arrow[k].as_f64().unwrap());
                let (dx, dy) = (x1 - x0, y0 - y1);
                assert!((dy / dx - 0.5 * up).abs() < 0.05 && dx > 5.0, "{options}: {arrow}");
                assert!(x0.min(x1) >= coast || panel["column_0"] == "right", "{options}: {arrow}");
                let middle = (0.5 * (x0 + x1), 0.5 * (y0 + y1));
                let difference = |(x, y): (f64, f64)| -> u32 {
                    let [with, without] = [&image, &without].map(|image| image.at((x, y)));
                    with.iter().zip(without).map(|(a, b)| a.abs_diff(b) as u32).sum()
                };
                let around = (0..9).map(|k| (middle.0 + (k % 3 - 1) as f64, middle.1 + (k / 3 - 1) as f64));
                assert!(around.map(difference).sum::<u32>() > 200, "{options}: {arrow}");
            }
        }
    }
}

/// Vertex (x, y) lies at (x dx, y dy), and y grows upwards.
#[test]
fn y_grows_upwards() {
    let f = Folder::new("upwards");
    // Rows 0 to 9 and columns 0 to 4 hold no data.
    let values: Vec<f32> = (0..60 * 40).map(|k| if k / 60 < 10 || k % 60 < 5 { 0.0 } else { 1.0 }).collect();
    f.write("u", &bytes_of(&values));
    f.succeeds("compress u u -o north.fz --dims 60x40 --abs 0.1 --north-first");
    let dims = "u u --dims 60x40";
    for (source, row_0, column_0, axes) in [
        (dims.to_owned(), "bottom", "left", ["column", "row"]),
        (format!("{dims} --north-first"), "top", "left", ["column", "row"]),
        ("north.fz".to_owned(), "top", "left", ["column", "row"]),
        ("north.fz --origin bottom".to_owned(), "bottom", "left", ["column", "row"]),
        (format!("{dims} --origin top"), "top", "left", ["column", "row"]),
        (format!("{dims} --spacing -1,0.5"), "bottom", "right", ["column", "y = 0.5 · row"]),
        (format!("{dims} --spacing 2,-3"), "top", "left", ["x = 2 · column", "y = -3 · row"]),
    ] {
        let report = f.json(&format!("render {source} -o p.png --width 600"));
        let (image, panel) = (Image::read(&f, "p.png"), &report["panels"][0]);
        assert_eq!(
            (&panel["row_0"], &panel["column_0"]),
            (&Value::from(row_0), &Value::from(column_0)),
            "{source}"
        );
        assert_eq!(panel["axes"], serde_json::json!(axes), "{source}");
        let side = |name: &str| panel[name].as_f64().unwrap();
        let (left, top, width, height) = (side("left"), side("top"), side("width"), side("height"));
        let land: Vec<u8> =
            report["land_colour"].as_array().unwrap().iter().map(|c| c.as_u64().unwrap() as u8).collect();
        let is_land =
            |across: f64, down: f64| image.at((left + across * width, top + down * height)) == land[..];
        assert_eq!([is_land(0.5, 0.1), is_land(0.5, 0.9)], [row_0 == "top", row_0 == "bottom"], "{source}");
        assert_eq!(
            [is_land(0.04, 0.5), is_land(0.96, 0.5)],
            [column_0 == "left", column_0 == "right"],
            "{source}"
        );
    }
}

#[test]
fn lists_have_eigenvalues_in_every_format() {
    let f = Folder::with_field("lists", "wind_global");
    let list = points(&f.succeeds("points u.f32 v.f32 --dims 360x181 --spacing 1,2"));
    // The types are exact, the eigenvalues rounded: they agree unless one is close to 0.
    let agrees = |p: &Point| {
        let [real, imaginary, other, _] = p.eigenvalues;
        match &*p.kind {
            "saddle" => imaginary == 0.0 && real > 0.0 && other < 0.0,
            "attracting_node" => imaginary == 0.0 && real < 0.0 && other < 0.0,
            "repelling_node" => imaginary == 0.0 && real > 0.0 && other > 0.0,
            "attracting_focus" => imaginary > 0.0 && real < 0.0,
            "repelling_focus" => imaginary > 0.0 && real > 0.0,
            _ => imaginary > 0.0,
        }
    };
    assert!(list.iter().all(agrees));
    f.succeeds("points u.f32 v.f32 --dims 360x181 --spacing 1,2 -o p.json");
    f.succeeds("points u.f32 v.f32 --dims 360x181 --spacing 1,2 -o p.vtp");
    let objects: Vec<Value> = serde_json::from_slice(&f.read("p.json")).unwrap();
    assert_eq!(objects.len(), list.len());
    for (object, p) in objects.iter().zip(&list) {
        assert_eq!((object["x"].as_f64(), object["point_type"].as_str()), (Some(p.x), Some(&*p.kind)));
        assert_eq!(object["eigenvalues_real"][1].as_f64(), Some(p.eigenvalues[2]));
    }
    let vtp = text(&f.read("p.vtp"));
    let values = |name: &str| -> Vec<f64> {
        let from = vtp.find(&format!("Name=\"{name}\"")).unwrap_or_else(|| panic!("{name}"));
        let (_, array) = vtp[from..].split_once('>').unwrap();
        array.split_once('<').unwrap().0.split_whitespace().map(|v| v.parse().unwrap()).collect()
    };
    let places: Vec<f64> = list.iter().flat_map(|p| [p.x, p.y, 0.0]).collect();
    let imaginary: Vec<f64> = list.iter().flat_map(|p| [p.eigenvalues[1], p.eigenvalues[3]]).collect();
    assert!(values("Points") == places && values("eigenvalues_imaginary") == imaginary);
    assert_eq!(values("offsets"), (1..=list.len()).map(|k| k as f64).collect::<Vec<_>>());
    let saddles = values("point_type").iter().filter(|&&kind| kind == 0.0).count();
    assert_eq!(saddles, list.iter().filter(|p| p.kind == "saddle").count());
}

#[test]
fn any_field_gives_a_picture_or_a_sentence() {
    let f = Folder::new("any-picture");
    let cases: [(&str, &[f32]); 4] =
        [("nan", &[f32::NAN; 12]), ("zero", &[0.0; 12]), ("ones", &[1.0; 12]), ("large", &[3e38; 12])];
    for (name, values) in cases {
        f.write(name, &bytes_of(values));
        for dims in ["12x1", "1x12", "4x3"] {
            for command in ["render", "render --compare"] {
                let fields = if command == "render" { 2 } else { 4 };
                let files = vec![name; fields].join(" ");
                let report = f.json(&format!("{command} {files} --dims {dims} -o p.png --width 300"));
                assert_eq!(Image::read(&f, "p.png").width, 300);
                assert_eq!(
                    marks(&report["panels"][0]).values().map(|m| m.1).sum::<u64>(),
                    0,
                    "{name} {dims}"
                );
            }
        }
        assert_eq!(text(&f.factz(&format!("points {name} {name} --dims 4x3 --format json")).stdout), "[]\n");
    }
    let image = Image::read(&f, "p.png");
    assert!(image.height > 20 && image.height < 3000);
    f.fails("render ones ones ones --dims 4x3 -o p.png", &["nz = 1 makes no volume"]);
    f.fails("render ones ones ones ones --dims 4x3 -o p.png", &["number of files is 4", "--compare"]);
    f.fails("render ones ones --dims 4x3 -o p.png --width 10", &["300 to 10000"]);
    f.fails("render ones ones -o p.png", &["--dims"]);
    for (name, advice) in [
        ("p.JPG", "other programs"),
        ("p.pdf", "other programs"),
        ("p.vtp", "`factz points`"),
        ("p.csv", "`factz points`"),
        ("p.json", "`factz points`"),
        ("p.fz", "`factz compress`"),
        ("p.npy", "`factz decompress`"),
        ("p.txt", "is a PNG"),
    ] {
        f.fails(&format!("render ones ones --dims 4x3 -o {name}"), &[name, ".png", advice]);
    }
    f.fails("demo --picture p.svg", &["--picture p.svg", ".png"]);
    f.succeeds("render ones ones --dims 4x3 -o p.PNG --width 300");
    f.fails("render ones ones --dims 4x3 -o ones", &["-o ones", "is an input"]);
    assert!(f.read("ones") == bytes_of(&[1.0f32; 12]));
    f.fails(
        "render --compare ones ones ones ones --dims 4x3 -o p.png --zoom 2,0,2,1",
        &["--zoom", "3 x 2 cells"],
    );
    f.fails("render --compare ones ones ones ones --dims 4x3 -o p.png --zoom 1,1", &["--zoom", "X,Y,NX,NY"]);
    f.fails("diff ones ones ones ones --dims 4x3 --format vtp", &["'vtp'", "csv, json"]);
    f.fails("diff ones ones ones ones --dims 4x3 -o d.vtp", &["d.vtp", "csv or json"]);
    f.succeeds("compress ones ones --dims 4x3 --abs 0.1 -o ones.fz");
    for command in ["render -o p.png --compare", "diff", "verify"] {
        f.fails(&format!("{command} ones.fz ones.fz"), &["ones.fz", "is a stream, not an array"]);
    }
}
