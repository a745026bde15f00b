//! Pictures and lists of critical points: marks are where the points are, and every format holds the same
//! list.

use crate::support::cli::{text, Folder};
use crate::support::fields::bytes_of;
use serde_json::Value;
use std::collections::HashMap;

/// An image of 8-bit RGB.
struct Image {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Image {
    fn read(f: &Folder, name: &str) -> Image {
        let bytes = f.read(name);
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
        Image { width: info.width as usize, height: info.height as usize, pixels }
    }

    fn at(&self, (x, y): (f64, f64)) -> [u8; 3] {
        let at = 3 * (y as usize * self.width + x as usize);
        self.pixels[at..at + 3].try_into().unwrap()
    }
}

/// A line of a list.
struct Point {
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
fn pixel(panel: &Value, x: f64, y: f64) -> (f64, f64) {
    let number = |value: &Value| value.as_f64().unwrap();
    let [x0, y0, x1, y1] = [0, 1, 2, 3].map(|k| number(&panel["window"][k]));
    let turned = |part: f64, turns: bool| if turns { 1.0 - part } else { part };
    let across = turned((x - x0) / (x1 - x0), panel["column_0"] == "right");
    let down = turned((y - y0) / (y1 - y0), panel["row_0"] == "bottom");
    let [left, top, width, height] = ["left", "top", "width", "height"].map(|name| number(&panel[name]));
    (left + across * width, top + down * height)
}

/// The colours of the marks of a panel by their labels, with the numbers of points and of marks drawn.
fn marks(panel: &Value) -> HashMap<&str, ([u8; 3], u64, u64)> {
    let colour = |mark: &Value| [0, 1, 2].map(|c| mark["colour"][c].as_u64().unwrap() as u8);
    let number = |mark: &Value, name: &str| mark[name].as_u64().unwrap();
    let entry = |mark: &'_ Value| (colour(mark), number(mark, "count"), number(mark, "drawn"));
    let all = panel["marks"].as_array().unwrap().iter();
    all.map(|mark| (mark["label"].as_str().unwrap(), entry(mark))).collect()
}

fn label(kind: &str) -> String {
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
fn free_marks(
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

/// Three smooth components, x fastest.
fn write_volume(f: &Folder, [nx, ny, nz]: [usize; 3]) {
    let waves = [[0.61, 0.40, 0.91], [0.43, -0.77, 0.63], [-0.51, 0.37, 1.09]];
    for (k, name) in ["u.f32", "v.f32", "w.f32"].into_iter().enumerate() {
        let value = |i: usize| {
            let place = [i % nx, i / nx % ny, i / nx / ny].map(|n| n as f32);
            let angle = |wave: &[f32; 3]| wave.iter().zip(place).map(|(k, x)| k * x).sum::<f32>();
            angle(&waves[k]).sin() + 0.7 * (angle(&waves[(k + 1) % 3]) + 0.3).cos()
        };
        f.write(name, &bytes_of(&(0..nx * ny * nz).map(value).collect::<Vec<f32>>()));
    }
}

/// The names of the axes that go through planes, and the axes to the right and upwards in them.
const PLANES: [(&str, [usize; 3]); 3] = [("x", [1, 2, 0]), ("y", [0, 2, 1]), ("z", [0, 1, 2])];

/// Each point of a volume is in the picture of the nearest plane, at its place and with the colour of its type.
#[test]
fn planes_of_volumes_show_the_points_nearest_to_them() {
    let f = Folder::new("slices");
    let spacing = [
        ("--spacing -2,0.5 --dz -3", [-2.0, 0.5, -3.0]),
        ("--periodic xyz", [1.0, 1.0, 1.0]),
        ("", [1.0, 1.0, 1.0]),
    ];
    for ((axis, [right, up, through]), (options, distances)) in PLANES.into_iter().zip(spacing) {
        let mut sizes = [5; 3];
        (sizes[right], sizes[up]) = (31, 25);
        write_volume(&f, sizes);
        let [nx, ny, nz] = sizes;
        let volume = format!("u.f32 v.f32 w.f32 --dims {nx}x{ny}x{nz} {options}");
        let list = f.succeeds(&format!("points {volume}"));
        let mut of_plane: HashMap<usize, Vec<(f64, f64, String)>> = HashMap::new();
        for line in list.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let at = |axis: usize| cells[axis].parse::<f64>().unwrap() / distances[axis];
            let place = (at(right), at(up), label(cells[8]));
            of_plane.entry((at(through) + 0.5).floor() as usize % 5).or_default().push(place);
        }
        assert!(of_plane.len() == 5 && list.lines().count() > 100, "{list}");
        let (mut free, mut shown) = (0, 0);
        for (number, points) in &of_plane {
            let plane = format!("--plane {axis}:{number}");
            let report = f.json(&format!("render {volume} {plane} --width 800 -o z.png"));
            let (image, panel) = (Image::read(&f, "z.png"), &report["panels"][0]);
            let marks = marks(panel);
            assert_eq!(marks.values().map(|m| m.1).sum::<u64>(), points.len() as u64, "{options} {plane}");
            for (label, (_, count, drawn)) in &marks {
                let expected = points.iter().filter(|p| p.2 == *label).count() as u64;
                assert_eq!((*count, *drawn), (expected, expected), "{options} {plane}: {label}");
            }
            // Where an axis is periodic, points far behind the last vertex are drawn before the first one.
            let wrapped = |at: f64, size: f64| if at > size - 0.5 { at - size } else { at };
            let placed = points.iter().map(|p| (wrapped(p.0, 31.0), wrapped(p.1, 25.0), marks[&*p.2].0));
            free += free_marks(&image, panel, &placed.collect::<Vec<_>>(), &[], 0.0);
            shown += points.len();
        }
        assert_eq!(shown, list.lines().count() - 1);
        assert!(free > 60, "{options} {axis}: {free} of {shown}");
    }
}

/// The picture of a plane is that of the two components in it, as fields of their own, but for the marks.
#[test]
fn planes_of_volumes_show_the_flow_in_them() {
    let f = Folder::new("slices-flow");
    let (sizes, distances) = ([31, 25, 19], [-2.0, 0.5, -3.0]);
    write_volume(&f, sizes);
    let labels = ["x = -2 · column", "y = 0.5 · row", "z = -3 · plane"];
    let look = "--no-arrows --width 500";
    let components = ["u.f32", "v.f32", "w.f32"].map(|name| f.values(name));
    for (axis, [right, up, through]) in PLANES {
        let [columns, rows] = [right, up].map(|axis| sizes[axis]);
        for (name, component) in [("right", right), ("up", up)] {
            let steps = [1, sizes[0], sizes[0] * sizes[1]];
            let at = |k: usize| k % columns * steps[right] + k / columns * steps[up] + 7 * steps[through];
            let values: Vec<f32> = (0..columns * rows).map(|k| components[component][at(k)]).collect();
            f.write(name, &bytes_of(&values));
        }
        let spacing = "--spacing -2,0.5 --dz -3";
        let volume = format!("u.f32 v.f32 w.f32 --dims 31x25x19 {spacing} --plane {axis}:7");
        let of_volume = f.json(&format!("render {volume} {look} -o z.png"));
        let spacing = format!("--spacing {},{}", distances[right], distances[up]);
        let plane = f.json(&format!("render right up --dims {columns}x{rows} {spacing} {look} -o p.png"));
        assert_eq!(of_volume["scale"], plane["scale"], "{axis}");
        let [panel, other] = [of_volume, plane].map(|report| report["panels"][0].clone());
        for name in ["left", "top", "width", "height", "window", "row_0", "column_0"] {
            assert_eq!(panel[name], other[name], "{axis}: {name}");
        }
        assert_eq!(panel["axes"], serde_json::json!([labels[right], labels[up]]));
        let [image, other] = ["z.png", "p.png"].map(|name| Image::read(&f, name));
        let [left, top, width, height] =
            ["left", "top", "width", "height"].map(|name| panel[name].as_u64().unwrap());
        let pixels = (0..width * height).map(|k| ((left + k % width) as f64, (top + k / width) as f64));
        let same = pixels.filter(|place| image.at(*place) == other.at(*place)).count() as u64;
        assert!(3 * same > 2 * width * height, "{axis}: {same} of {width} x {height}");
    }
    // An axis whose vertices are one unit apart is named as well.
    let report = f.json("render u.f32 v.f32 w.f32 --dims 31x25x19 --plane x:-1 --width 500 -o z.png");
    assert_eq!(report["panels"][0]["axes"], serde_json::json!(["y (row)", "z (plane)"]));
    assert!(report["panels"][0]["title"].as_str().unwrap().contains("plane x:30 of 31"), "{report}");
    // Without an axis planes are those of z, and a stream tells shape, spacing and periodic axes.
    let volume = "u.f32 v.f32 w.f32 --dims 31x25x19 --spacing 1,-0.5 --dz -3 --periodic z";
    f.succeeds(&format!("compress {volume} --abs 0 -o flow.fz"));
    let panel = |source: &str| f.json(&format!("render {source} -o z.png"))["panels"][0].clone();
    let [of_stream, of_arrays] =
        [panel("flow.fz --plane -1"), panel(&format!("{volume} --plane z:18 --width 1600"))];
    for name in ["marks", "arrows", "axes", "row_0"] {
        assert_eq!(of_stream[name], of_arrays[name], "{name}");
    }
}

#[test]
fn planes_of_volumes_are_grey_where_a_component_is_missing() {
    let f = Folder::new("slices-missing");
    let grey = |plane: &str, fill: &str, [right, up]: [f64; 2]| {
        let files = "u.f32 v.f32 w.f32 --dims 31x25x5";
        let report =
            f.json(&format!("render {files} {fill} --plane {plane} --no-arrows --width 400 -o z.png"));
        let land = [0, 1, 2].map(|k| report["land_colour"][k].as_u64().unwrap() as u8);
        Image::read(&f, "z.png").at(pixel(&report["panels"][0], right, up)) == land
    };
    let fill = "--fill-value=-99";
    for name in ["u.f32", "v.f32", "w.f32"] {
        write_volume(&f, [31, 25, 5]);
        let mut values = f.values(name);
        for (y, x) in (5..12).flat_map(|y| (8..20).map(move |x| (y, x))) {
            values[(3 * 25 + y) * 31 + x] = if x < 14 { f32::NAN } else { -99.0 };
        }
        f.write(name, &bytes_of(&values));
        let [west, east] = [[10.5, 8.0], [16.5, 8.0]];
        assert!(grey("3", fill, west) && grey("3", fill, east) && grey("3", "", west), "{name}");
        assert!(!grey("3", "", east) && !grey("2", fill, west) && !grey("4", fill, west), "{name}");
        for (plane, place) in [("y:8", [16.5, 3.0]), ("x:16", [8.5, 3.0])] {
            assert!(grey(plane, fill, place) && !grey(plane, "", place), "{name}, {plane}");
        }
        assert!(!grey("y:4", fill, [16.5, 3.0]) && !grey("x:20", fill, [8.5, 3.0]), "{name}");
    }
    // Vertices at rest are grey, those that flow through the plane alone are not.
    write_volume(&f, [31, 25, 5]);
    for name in ["u.f32", "v.f32", "w.f32"] {
        let mut values = f.values(name);
        for (y, x) in (5..12).flat_map(|y| (8..20).map(move |x| (y, x))) {
            values[(3 * 25 + y) * 31 + x] = if name == "w.f32" && x >= 14 { 2.0 } else { 0.0 };
        }
        f.write(name, &bytes_of(&values));
    }
    assert!(grey("3", "", [10.5, 8.0]) && !grey("3", "", [16.5, 8.0]));
}

/// A fill value of zero is the zero of its sign alone, as for the library.
#[test]
fn zeros_of_the_other_sign_are_drawn_as_data() {
    let f = Folder::new("negative-zeros");
    let sizes = [31, 25, 5];
    write_volume(&f, sizes);
    for name in ["u.f32", "w.f32"] {
        let mut values = f.values(name);
        for (z, y, x) in (0..5).flat_map(|z| (5..12).flat_map(move |y| (4..20).map(move |x| (z, y, x)))) {
            values[(z * sizes[1] + y) * sizes[0] + x] = if x < 12 { 0.0 } else { -0.0 };
        }
        f.write(name, &bytes_of(&values));
        let is_land = |files: &str, column: f64| {
            let report =
                f.json(&format!("render {files} --dims 31x25x5 --plane 3 --no-arrows --width 400 -o z.png"));
            let land = [0, 1, 2].map(|k| report["land_colour"][k].as_u64().unwrap() as u8);
            Image::read(&f, "z.png").at(pixel(&report["panels"][0], column, 8.5)) == land
        };
        // Planes do not see w.
        let files =
            if name == "u.f32" { &["u.f32 v.f32", "u.f32 v.f32 w.f32"][..] } else { &["u.f32 v.f32 w.f32"] };
        for files in files {
            for (fill, expected) in [("0", [true, false]), ("-0", [false, true])] {
                let found =
                    [7.5, 15.5].map(|column| is_land(&format!("{files} --fill-value {fill}"), column));
                assert_eq!(found, expected, "{files} {fill}");
            }
        }
        write_volume(&f, sizes);
    }
}

/// A point of a volume: its simplex, its type and index, and its grid position.
type VolumePoint = (String, String, [f64; 3]);

fn volume_points(f: &Folder, source: &str, distances: [f64; 3]) -> Vec<VolumePoint> {
    let point = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let place = [0, 1, 2].map(|axis| cells[axis].parse::<f64>().unwrap() / distances[axis]);
        (cells[3..7].join(","), cells[8..].join(","), place)
    };
    f.succeeds(&format!("points {source}")).lines().skip(1).map(point).collect()
}

/// The fate of a point, and its place in the original and in the reconstruction.
type Fate = (&'static str, [Option<[f64; 3]>; 2]);

fn fates(before: &[VolumePoint], after: &[VolumePoint]) -> Vec<Fate> {
    let mut new: HashMap<&str, &VolumePoint> = after.iter().map(|p| (&*p.0, p)).collect();
    let mut all: Vec<Fate> = Vec::new();
    for (simplex, kind, place) in before {
        let after = new.remove(&**simplex);
        let fate = after.map_or("lost", |p| if p.1 == *kind { "kept" } else { "type or index changed" });
        all.push((fate, [Some(*place), after.map(|p| p.2)]));
    }
    all.extend(new.into_values().map(|p| ("spurious", [None, Some(p.2)])));
    all
}

/// A panel of a comparison has these points, and the marks that touch no other have the colour of their fate.
/// Returns how many of those there are.
fn marked_fates(image: &Image, panel: &Value, fates: [&str; 3], points: &[(&str, f64, f64)]) -> usize {
    let marks = marks(panel);
    assert_eq!(marks.len(), 3);
    let reach = 3.2 * panel["mark_radius"].as_f64().unwrap();
    let place = |p: &(&str, f64, f64)| pixel(panel, p.1, p.2);
    let near = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).hypot(a.1 - b.1) < reach;
    let is_alone = |p: &&_| points.iter().filter(|q| near(place(p), place(q))).count() == 1;
    let of_fate = |fate: &str| {
        let all = points.iter().filter(|p| p.0 == fate);
        assert_eq!(marks[fate].1, all.clone().count() as u64, "{fate}: {panel}");
        let placed: Vec<_> = all.filter(is_alone).map(|p| (p.1, p.2, marks[fate].0)).collect();
        let mark = panel["marks"].as_array().unwrap().iter().find(|mark| mark["label"] == fate).unwrap();
        let ring = 0.8 * mark["radius"].as_f64().unwrap();
        free_marks(image, panel, &placed, &[], if mark["shape"] == "ring" { ring } else { 0.0 })
    };
    fates.map(of_fate).iter().sum()
}

/// The planes of an axis together show each point once: in the plane next to the original's, with its fate, in each
/// panel where it is in that field.
#[test]
fn volumes_are_drawn_beside_their_reconstructions() {
    let f = Folder::new("slices-compared");
    let options = "--spacing -2,0.5 --dz -3";
    let (mut moved, mut free) = (0, 0);
    for (axis, [right, up, through]) in PLANES {
        let mut sizes = [5; 3];
        (sizes[right], sizes[up]) = (31, 25);
        write_volume(&f, sizes);
        let volume = format!("u.f32 v.f32 w.f32 --dims {}x{}x{} {options}", sizes[0], sizes[1], sizes[2]);
        f.succeeds(&format!("compress {volume} --abs 0.2 --preserve none -o flow.fz"));
        let lists = [&*volume, "flow.fz"].map(|source| volume_points(&f, source, [-2.0, 0.5, -3.0]));
        let all = fates(&lists[0], &lists[1]);
        let count = |fate: &str| all.iter().filter(|p| p.0 == fate).count() as u64;
        let out = f.factz("verify u.f32 v.f32 w.f32 flow.fz --json");
        let verified = &serde_json::from_slice::<Value>(&out.stdout).unwrap()["comparison"];
        let counts = ["lost_points", "spurious_points", "changed_types"].map(|name| verified[name].as_u64());
        let [lost, spurious, changed] = ["lost", "spurious", "type or index changed"].map(count);
        assert_eq!(counts, [lost, spurious, changed].map(Some), "{axis}");
        assert!(count("kept") > 10 && lost > 10 && spurious > 10, "{verified}");
        let slab = |place: [f64; 3]| (place[through] + 0.5).floor() as usize;
        moved += all.iter().filter(|p| matches!(p.1, [Some(a), Some(b)] if slab(a) != slab(b))).count();
        for number in 0..5 {
            let compare = format!("--compare u.f32 v.f32 w.f32 flow.fz --plane {axis}:{number}");
            let report = f.json(&format!("render {compare} -o c.png"));
            let image = Image::read(&f, "c.png");
            let is_here = |[before, after]: [Option<[f64; 3]>; 2]| slab(before.or(after).unwrap()) == number;
            for (k, name, own) in [(0, "original", "lost"), (1, "reconstruction", "spurious")] {
                let point = |p: &Fate| p.1[k].map(|place| (p.0, place[right], place[up]));
                let points: Vec<_> = all.iter().filter(|p| is_here(p.1)).filter_map(point).collect();
                let panel = &report["panels"][k];
                free += marked_fates(&image, panel, ["kept", "type or index changed", own], &points);
                let title = format!("{name}, plane {axis}:{number} of 5, {} critical point", points.len());
                assert!(panel["title"].as_str().unwrap().starts_with(&title), "{panel}");
            }
        }
    }
    assert!(moved > 2 && free > 100, "{moved}, {free}");
}

/// Vertices without data are those of the original; a reconstruction may have the fill value elsewhere.
#[test]
fn gaps_of_volumes_are_those_of_the_original() {
    let f = Folder::new("slices-gaps");
    write_volume(&f, [31, 25, 5]);
    for name in ["u", "v", "w"] {
        f.write(&format!("{name}1.f32"), &f.read(&format!("{name}.f32")));
    }
    let write = |name: &str, columns: std::ops::Range<usize>| {
        let mut values = f.values(name);
        for (y, x) in (5..12).flat_map(|y| columns.clone().map(move |x| (y, x))) {
            values[(2 * 25 + y) * 31 + x] = -9.0;
        }
        f.write(name, &bytes_of(&values));
    };
    write("w.f32", 3..12);
    write("u1.f32", 18..27);
    let volumes = "u.f32 v.f32 w.f32 u1.f32 v1.f32 w1.f32 --dims 31x25x5 --fill-value -9";
    let verified: Value =
        serde_json::from_slice(&f.factz(&format!("verify {volumes} --json")).stdout).unwrap();
    let (mut lost, mut spurious) = (0, 0);
    for z in 0..5 {
        let report = f.json(&format!("render --compare {volumes} --plane {z} --no-arrows -o c.png"));
        let [left, right] = [0, 1].map(|panel| &report["panels"][panel]);
        (lost, spurious) = (lost + marks(left)["lost"].1, spurious + marks(right)["spurious"].1);
        let land = [0, 1, 2].map(|k| report["land_colour"][k].as_u64().unwrap() as u8);
        let image = Image::read(&f, "c.png");
        let is_land = |panel: &Value, x: f64| image.at(pixel(panel, x, 8.5)) == land;
        let grey = [left, right].map(|panel| [7.5, 22.5].map(|x| is_land(panel, x)));
        assert_eq!(grey, [[z == 2, false]; 2], "plane {z}");
    }
    let counts = ["lost_points", "spurious_points"].map(|name| verified["comparison"][name].as_u64());
    assert!(lost > 0);
    assert_eq!(counts, [Some(lost), Some(spurious)]);
    // A stream gives the picture of its arrays.
    f.succeeds("compress u.f32 v.f32 w.f32 --dims 31x25x5 --abs 0.1 --dz -2 -o flow.fz");
    f.succeeds("decompress flow.fz u1.f32 v1.f32 w1.f32");
    let volumes = "u.f32 v.f32 w.f32 u1.f32 v1.f32 w1.f32 --dims 31x25x5 --dz -2";
    f.succeeds(&format!("render --compare {volumes} --plane y:9 -o arrays.png"));
    f.succeeds("render --compare u.f32 v.f32 w.f32 flow.fz --plane y:9 -o stream.png");
    assert!(f.read("arrays.png") == f.read("stream.png"));
}

#[test]
fn pictures_of_volumes_that_do_not_exist_are_refused() {
    let f = Folder::new("slices-refused");
    write_volume(&f, [9, 8, 7]);
    f.succeeds("compress u.f32 v.f32 w.f32 --dims 9x8x7 --abs 0.1 -o flow.fz");
    let three = "u.f32 v.f32 w.f32";
    for (line, part) in [
        (format!("{three} --dims 9x8x7 --plane 7"), "--plane 7: the field has 9x8x7 values: give 0 to 6"),
        (
            format!("{three} --dims 9x8x7 --plane x:9"),
            "--plane x:9: the field has 9x8x7 values: give x:0 to x:8",
        ),
        ("flow.fz --plane y:-9".into(), "--plane y:-9: the field has 9x8x7 values: give y:0 to y:7, or y:-1"),
        ("flow.fz --plane a:1".into(), "'a:1' for '--plane <[AXIS:]K>': give K, x:K, y:K or z:K"),
        ("flow.fz --plane x:".into(), "'x:' for '--plane <[AXIS:]K>': give K, x:K, y:K or z:K"),
        (
            "u.f32 v.f32 --dims 9x8x7 --plane x:2".into(),
            "--plane x:2: a stack has planes of constant z alone",
        ),
        (
            format!("--compare {three} {three} --dims 9x8x7 --plane y:8"),
            "--plane y:8: the field has 9x8x7 values",
        ),
        (format!("--compare {three} {three} --dims 9x8x7 --step 0"), "--step 0: chooses a stream of a file"),
        (format!("--compare {three} flow.fz --dims 9x7x8"), "flow.fz: holds 9x8x7 values"),
        ("--compare u.f32 v.f32 flow.fz --dims 9x8x7".into(), "give its original, U0 V0 W0"),
        (format!("{three} --dims 9x8"), "u.f32"),
        (format!("{three} --dims 9x8x7 --zoom 0,0,9,2"), "--zoom 0,0,9,2: reaches beyond the field"),
        (format!("{three} --dims 9x8x7 --dz 0"), "other than 0"),
        ("u.f32 v.f32 --dims 9x56 --dz 2".into(), "--dz 2: planes have no axis z"),
    ] {
        f.fails(&format!("render {line} -o x.png"), &[part]);
    }
    assert!(!f.names().contains(&"x.png".to_owned()));
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
