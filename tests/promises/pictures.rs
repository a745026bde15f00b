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
        let eigenvalues = [8, 10, 9, 11].map(|k| number(cells[k]));
        Point { x: number(cells[0]), y: number(cells[1]), kind: cells[5].to_owned(), eigenvalues }
    };
    list.lines().skip(1).map(line).collect()
}

/// The place of a grid position on a panel.
fn pixel(panel: &Value, x: f64, y: f64) -> (f64, f64) {
    let number = |value: &Value| value.as_f64().unwrap();
    let [x0, y0, x1, y1] = [0, 1, 2, 3].map(|k| number(&panel["window"][k]));
    let (across, down) = ((x - x0) / (x1 - x0), (y - y0) / (y1 - y0));
    let down = if panel["y_up"] == true { 1.0 - down } else { down };
    let [left, top, width, height] = ["left", "top", "width", "height"].map(|name| number(&panel[name]));
    (left + across * width, top + down * height)
}

/// The colours of the marks by their labels, and how many there are.
fn marks(report: &Value) -> HashMap<&str, ([u8; 3], u64)> {
    let colour = |mark: &Value| [0, 1, 2].map(|c| mark["colour"][c].as_u64().unwrap() as u8);
    let entry = |mark: &'_ Value| (colour(mark), mark["count"].as_u64().unwrap());
    let all = report["marks"].as_array().unwrap().iter();
    all.map(|mark| (mark["label"].as_str().unwrap(), entry(mark))).collect()
}

fn label(kind: &str) -> String {
    kind.replace('_', " ").replace("center", "centre")
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

/// Counts the marks that nothing else touches; all of them have the colour of their point in their middle.
fn free_marks(image: &Image, panel: &Value, placed: &[(f64, f64, [u8; 3])]) -> usize {
    let reach = 3.2 * panel["mark_radius"].as_f64().unwrap();
    let places: Vec<(f64, f64)> = placed.iter().map(|p| pixel(panel, p.0, p.1)).collect();
    let near = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).hypot(a.1 - b.1) < reach;
    let free = |k: &usize| {
        !is_outlined(panel, places[*k], reach)
            && !places.iter().enumerate().any(|(j, &place)| j != *k && near(place, places[*k]))
    };
    let free: Vec<usize> = (0..places.len()).filter(free).collect();
    for &k in &free {
        assert_eq!(image.at(places[k]), placed[k].2, "at {}, {}", placed[k].0, placed[k].1);
    }
    free.len()
}

#[test]
fn marks_are_where_the_points_are() {
    let f = Folder::with_field("marks", "wind_global");
    for (size, spacing) in
        [("--width 1000", [1.0, 1.0]), ("--width 3000 --y-up", [1.0, 1.0]), ("", [1.0, 0.5])]
    {
        // Types depend on the spacing.
        let [dx, dy] = spacing;
        let field = format!("u.f32 v.f32 --dims 360x181 --spacing {dx},{dy}");
        let list = points(&f.succeeds(&format!("points {field}")));
        let report = f.json(&format!("render {field} -o wind.png {size}"));
        let image = Image::read(&f, "wind.png");
        let told = [&report["width"], &report["height"]].map(Value::as_u64);
        assert_eq!(told, [image.width, image.height].map(|n| Some(n as u64)));
        let (panel, marks) = (&report["panels"][0], marks(&report));
        assert_eq!(marks.values().map(|m| m.1).sum::<u64>(), list.len() as u64);
        let placed: Vec<_> = list.iter().map(|p| (p.x / dx, p.y / dy, marks[&*label(&p.kind)].0)).collect();
        let free = free_marks(&image, panel, &placed);
        assert!(free > 60, "{size}: {free}");
    }
}

#[test]
fn a_part_of_a_field_is_enlarged() {
    let f = Folder::with_field("part", "wind_global");
    let list = points(&f.succeeds("points u.f32 v.f32 --dims 360x181"));
    let report = f.json("render u.f32 v.f32 --dims 360x181 -o part.png --zoom 100,40,60,30");
    let (image, marks) = (Image::read(&f, "part.png"), marks(&report));
    let window = serde_json::json!([100.0, 40.0, 160.0, 70.0]);
    assert_eq!((&report["panels"][0]["outlined"], &report["panels"][1]["window"]), (&window, &window));
    let inside = |p: &&Point| p.x > 100.0 && p.x < 160.0 && p.y > 40.0 && p.y < 70.0;
    for (panel, fewest) in [(0, 1), (1, 20)] {
        let placed = list.iter().filter(inside).map(|p| (p.x, p.y, marks[&*label(&p.kind)].0));
        let free = free_marks(&image, &report["panels"][panel], &placed.collect::<Vec<_>>());
        assert!(free >= fewest, "panel {panel}: {free}");
    }
    // The outline is white, inside a black one.
    let (left, top) = pixel(&report["panels"][0], 100.0, 40.0);
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
        .all(|c| c[6].is_empty() == (c[0] == "spurious") && c[7].is_empty() == (c[0] == "lost")));
    let as_json: Value =
        serde_json::from_slice(&f.factz("diff u.f32 v.f32 w.fz --format json").stdout).unwrap();
    assert_eq!(as_json.as_array().unwrap().len(), cells.len());
    assert_eq!(as_json[0]["x"].to_string().parse(), cells[0][1].parse::<f64>());

    let report = f.json("render --compare u.f32 v.f32 w.fz -o c.png --width 2400 --zoom 20,30,60,30");
    let (image, marks) = (Image::read(&f, "c.png"), marks(&report));
    let label = |fate: &str| if fate == "changed" { "type or index changed" } else { fate }.to_owned();
    for (fate, _) in fates {
        assert_eq!(marks[&*label(fate)].1, count(fate), "{fate}");
    }
    // The left panels have lost points, the right ones spurious points.
    for (panel, own) in [(0, "lost"), (1, "spurious"), (2, "lost"), (3, "spurious")] {
        let panel = &report["panels"][panel];
        let placed = |c: &Vec<&str>| (c[1].parse().unwrap(), c[2].parse().unwrap(), marks[&*label(c[0])].0);
        let [x0, y0, x1, y1] = [0, 1, 2, 3].map(|k| panel["window"][k].as_f64().unwrap());
        let shown = |p: &(f64, f64, [u8; 3])| p.0 > x0 && p.0 < x1 && p.1 > y0 && p.1 < y1;
        let all: Vec<_> = cells.iter().filter(|c| c[0] == own).map(placed).filter(shown).collect();
        assert!(!all.is_empty() && free_marks(&image, panel, &all) > 0, "{own}");
    }
    assert_eq!(report["panels"][2]["window"], serde_json::json!([20.0, 30.0, 80.0, 60.0]));
    assert_eq!(f.succeeds("diff u.f32 v.f32 u.f32 v.f32 --dims 360x181").lines().count(), 1);
    // Values may come back as the fill value, and are data all the same.
    f.succeeds("compress u.f32 v.f32 -o w.fz --dims 360x181 --rel 1e-2 --mode speculative --fill-value 0");
    assert_eq!(f.succeeds("diff u.f32 v.f32 w.fz").lines().count(), 1);
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
                assert_eq!(marks(&report).values().map(|m| m.1).sum::<u64>(), 0, "{name} {dims}");
            }
        }
        assert_eq!(text(&f.factz(&format!("points {name} {name} --dims 4x3 --format json")).stdout), "[]\n");
    }
    let image = Image::read(&f, "p.png");
    assert!(image.height > 20 && image.height < 3000);
    f.fails("render ones ones ones --dims 4x3 -o p.png", &["number of files is 3", "--compare"]);
    f.fails("render ones ones --dims 4x3 -o p.png --width 10", &["300 to 10000"]);
    f.fails("render ones ones -o p.png", &["--dims"]);
    f.fails("render ones ones --dims 4x3 -o p.JPG", &["p.JPG", ".png"]);
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
