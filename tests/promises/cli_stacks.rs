//! Stacks of planes and periodic axes on the command line: every order of an array gives the same stream,
//! planes are read alone, and all commands on fields take them.

use crate::support::cli::{npy, Folder};

const PLANE: usize = 360 * 181;
const PLANES: usize = 3;

/// The wind of data/ in planes, each turned further to the east.
struct Stack {
    folder: Folder,
    /// Bytes of u and v, plane after plane.
    components: [Vec<u8>; 2],
}

impl std::ops::Deref for Stack {
    type Target = Folder;
    fn deref(&self) -> &Folder {
        &self.folder
    }
}

impl Stack {
    fn new(name: &str) -> Stack {
        let folder = Folder::with_field(name, "wind_global");
        let components = ["u.f32", "v.f32"].map(|file| {
            let plane = folder.read(file);
            let turned = |k: usize| {
                let row = |row: &[u8]| [&row[4 * 31 * k..], &row[..4 * 31 * k]].concat();
                plane.chunks(4 * 360).flat_map(row).collect::<Vec<u8>>()
            };
            let stack: Vec<u8> = (0..PLANES).flat_map(turned).collect();
            folder.write(file, &stack);
            stack
        });
        Stack { folder, components }
    }

    /// The bytes of some planes of a component.
    fn planes(values: &[u8], first: usize, count: usize) -> &[u8] {
        &values[4 * PLANE * first..][..4 * PLANE * count]
    }
}

const DIMS: &str = "--dims 360x181x3";

#[test]
fn every_order_of_an_array_gives_the_same_stream() {
    let s = Stack::new("stack-orders");
    let [u, v] = &s.components;
    let pairs: Vec<u8> =
        (0..PLANES).flat_map(|k| [u, v].map(|c| Stack::planes(c, k, 1).to_vec()).concat()).collect();
    let mixed: Vec<u8> = u.chunks(4).zip(v.chunks(4)).flat_map(|(u, v)| [u, v].concat()).collect();
    let shape = "(3, 181, 360)";
    s.write("u.npy", &npy("<f4", shape, u));
    s.write("v.npy", &npy("<f4", shape, v));
    s.write("both", &[&u[..], v].concat());
    s.write("both.npy", &npy("<f4", "(2, 3, 181, 360)", &[&u[..], v].concat()));
    s.write("pairs.npy", &npy("<f4", "(3, 2, 181, 360)", &pairs));
    s.write("mixed.npy", &npy("<f4", "(3, 181, 360, 2)", &mixed));
    s.succeeds(&format!("compress u.f32 v.f32 -o wind.fz {DIMS} --abs 0.1"));
    let expected = s.read("wind.fz");
    for files in [&format!("both {DIMS}"), "u.npy v.npy", "u.npy v.f32", "both.npy", "pairs.npy", "mixed.npy"]
    {
        s.succeeds(&format!("compress {files} -o other.fz --abs 0.1"));
        assert!(s.read("other.fz") == expected, "{files}");
    }
    // Out again: two files, one file, and each format.
    s.succeeds("decompress wind.fz u2.f32 v2.f32");
    let (u2, v2) = (s.read("u2.f32"), s.read("v2.f32"));
    for (files, expected) in [
        ("a.npy b.npy", npy("<f4", shape, &u2)),
        ("a.npy", npy("<f4", "(2, 3, 181, 360)", &[&u2[..], &v2].concat())),
        ("a.f32", [&u2[..], &v2].concat()),
    ] {
        s.succeeds(&format!("decompress wind.fz {files}"));
        let name = files.split(' ').next().unwrap();
        assert!(s.read(name).ends_with(&expected[128..]), "{files}");
    }
    s.succeeds("decompress wind.fz a.npz");
    s.succeeds("compress a.npz -o again.fz --abs 0.2");
    assert_eq!(s.json("info again.fz")["nz"], 3);
    s.succeeds("verify u.f32 v.f32 a.npz --dims 360x181x3 --abs 0.1");
}

#[test]
fn planes_are_read_alone() {
    let s = Stack::new("stack-planes");
    s.succeeds(&format!("compress u.f32 v.f32 -o wind.fz {DIMS} --abs 0.1"));
    s.succeeds("decompress wind.fz u0 v0");
    let (u, v, length) = (s.read("u0"), s.read("v0"), s.read("wind.fz").len());
    for (text, first, count) in
        [("0", 0, 1), ("-1", 2, 1), ("1:3", 1, 2), (":2", 0, 2), ("-2:", 1, 2), (":", 0, 3)]
    {
        let answer = s.json(&format!("decompress wind.fz u1 v1 --planes {text}"));
        assert_eq!(s.read("u1"), Stack::planes(&u, first, count), "{text}");
        assert_eq!(s.read("v1"), Stack::planes(&v, first, count), "{text}");
        assert_eq!((&answer["nz"], &answer["planes"]["z"]), (&count.into(), &first.into()), "{answer}");
        let read = answer["read_bytes"].as_u64().unwrap() as usize;
        assert!(count == 3 || read < length * (count + 1) / (PLANES + 1), "{read} of {length}");
    }
    let said = s.succeeds("decompress wind.fz u1 v1 --planes 1 --region 300,150,60x31");
    assert!(said.contains("from column 300, row 150 and plane 1 on: "), "{said}");
    let plane = Stack::planes(&u, 1, 1);
    let row = |y: usize| &plane[4 * (y * 360 + 300)..][..240];
    assert_eq!(s.read("u1"), (150..181).flat_map(row).copied().collect::<Vec<u8>>());
    s.succeeds("decompress wind.fz u1 v1 --region 0,0,2x1");
    assert_eq!(
        s.read("u1"),
        (0..PLANES).flat_map(|k| Stack::planes(&u, k, 1)[..8].to_vec()).collect::<Vec<u8>>()
    );
    for (line, parts) in [
        ("--planes 3", &["--planes 3", "not inside the field of wind.fz", "360x181x3 values"][..]),
        ("--planes 2:2", &["--planes 2:2"]),
        ("--planes -4:", &["--planes -4:"]),
        ("--planes one", &["or A:B"]),
        ("--planes 1 --backend cuda", &["--planes 1: is decompressed on the processor"]),
        ("--region 0,0,2x1x2", &["X,Y,WxH"]),
    ] {
        s.fails(&format!("decompress wind.fz a b {line}"), parts);
    }
}

#[test]
fn all_commands_take_stacks() {
    let s = Stack::new("stack-commands");
    let places = format!("u.f32 v.f32 {DIMS} --north-first");
    let plain =
        s.json(&format!("compress {places} -o none.fz --rel 1e-1 --mode speculative --preserve none"));
    assert_eq!((&plain["nz"], &plain["periodic"]), (&3.into(), &"none".into()));
    let made = s.json(&format!("compress {places} -o wind.fz --rel 1e-1 --mode speculative --periodic x"));
    assert_eq!(made["periodic"], "x");
    let info = s.json("info wind.fz");
    assert_eq!((&info["nz"], &info["periodic"]), (&3.into(), &"x".into()));
    assert_eq!(info["field_bytes"], 2 * 4 * (PLANE * PLANES) as u64);
    let said = s.succeeds("info wind.fz");
    assert!(said.contains("360 x 181 x 3 values of f32 (columns x rows x planes)"), "{said}");
    assert!(said.contains("periodic        x"), "{said}");
    assert!(s.succeeds("test wind.fz").contains("good, 360x181x3 values of f32"));

    // The seam counts where the stream or an option says so, and four points of each plane lie in it.
    let [closed, open] = ["", "--periodic none"].map(|option| {
        let verified = s.json(&format!("verify u.f32 v.f32 wind.fz {option}"));
        assert_eq!(verified["violations"], 0, "{verified}");
        verified["comparison"]["critical_points"].as_u64().unwrap()
    });
    assert_eq!((closed, made["critical_points"].as_u64().unwrap()), (3 * 1398, closed));
    assert!(open < closed);
    let list = s.succeeds("points u.f32 v.f32 --dims 360x181x3 --north-first --periodic x");
    let cells: Vec<Vec<&str>> = list.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert_eq!(cells.len() as u64, closed);
    for plane in ["0", "1", "2"] {
        assert_eq!(cells.iter().filter(|cell| cell[4] == plane).count(), 1398);
    }
    assert_eq!(cells.iter().filter(|cell| cell[2] == "359").count() as u64, closed - open);
    s.succeeds("points wind.fz -o p.json");
    let points: serde_json::Value = serde_json::from_slice(&s.read("p.json")).unwrap();
    assert_eq!(points.as_array().unwrap().last().unwrap()["cell_z"], 2);

    // Differences of a stream that keeps nothing are those that verify counts.
    let out = s.factz("verify u.f32 v.f32 none.fz --preserve types --json");
    let verified: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let out = s.factz("diff u.f32 v.f32 none.fz --json -o d.csv");
    let counted: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(counted["lost_points"], verified["comparison"]["lost_points"]);
    assert!(counted["lost_points"].as_u64().unwrap() > 100, "{counted}");
    let list = String::from_utf8(s.read("d.csv")).unwrap();
    assert!(list.starts_with("fate,x,y,cell_x,cell_y,cell_z,simplex,"), "{list}");
    assert!(["0", "1", "2"].iter().all(|z| list.lines().any(|line| line.split(',').nth(5) == Some(z))));

    let bench = s.json(&format!(
        "bench {places} --periodic x --bounds 1e-1 --threads 1 --repeat 1 --mode block --predictor lorenzo --coder ans"
    ));
    assert_eq!((&bench["nz"], &bench["runs"][0]["violations"]), (&3.into(), &0.into()));
    let d = s.json(&format!("sweep {places} -o report --bounds 1e-2 --repeat 1 --no-peers"));
    assert_eq!([d["nz"].as_u64().unwrap(), d["critical_points"].as_u64().unwrap()], [3, open]);
    let block = &d["runs"][0];
    assert!(block["preserves"] == true && block["lost_points"] == 0, "{block}");
    assert_eq!(d["files"].as_array().unwrap().len(), 5);
    s.fails(
        &format!("compress {places} -o x.fz --abs 1 --periodic z"),
        &["--periodic z", "planes have no axis z"],
    );
    s.fails("compress u.f32 v.f32 -o x.fz --abs 1 --dims 2x97740 --periodic x", &["nx = 2 is less than 3"]);
}

/// A picture shows one plane, with the points in its seam.
#[test]
fn pictures_show_a_plane() {
    let s = Stack::new("stack-pictures");
    s.succeeds(&format!("compress u.f32 v.f32 -o wind.fz {DIMS} --north-first --rel 1e-2 --periodic x"));
    let marks = |line: &str| {
        let drawn = s.json(&format!("render {line} -o p.png"));
        let marks = drawn["panels"][0]["marks"].as_array().unwrap().clone();
        (drawn["nz"].clone(), marks.iter().map(|mark| mark["count"].as_u64().unwrap()).sum::<u64>())
    };
    // Every point of the plane is inside the picture.
    assert_eq!(marks("wind.fz --plane -1"), (1.into(), 1398));
    let first = s.read("p.png");
    s.succeeds("render wind.fz -o q.png --plane 2");
    assert_eq!(first, s.read("q.png"));
    s.succeeds("render wind.fz -o q.png");
    assert_ne!(first, s.read("q.png"));
    assert!(String::from_utf8(s.factz("render wind.fz -o q.png").stderr).unwrap().contains("plane 0 of 3"));
    assert_eq!(marks("--compare u.f32 v.f32 wind.fz --plane 1"), (1.into(), 1398));
    s.fails("render wind.fz -o q.png --plane 3", &["--plane 3", "give 0 to 2"]);
}
