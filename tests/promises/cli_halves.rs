//! Streams of one component on the command line: split, joined to the same bytes, decompressed to one array,
//! listed and tested. Commands that need both components say how to get them.

use crate::support::cli::{npy, text, Folder};
use std::process::Stdio;

const SHAPE: &str = "(181, 360)";
const BYTES: usize = 4 * 360 * 181;

/// a.fz and b.fz, streams of two fields; both of them in all.fz; the halves u.fz, v.fz of a.fz.
fn streams(name: &str) -> Folder {
    let f = Folder::with_field(&format!("halves-{name}"), "wind_global");
    f.succeeds("compress u.f32 v.f32 -o a.fz --dims 360x181 --rel 1e-2");
    f.succeeds("compress v.f32 u.f32 -o b.fz --dims 360x181 --abs 0.1 --predictor lorenzo --coder huffman");
    f.write("all.fz", &[f.read("a.fz"), f.read("b.fz")].concat());
    f.succeeds("split a.fz u.fz v.fz");
    f.succeeds("decompress a.fz u1.f32 v1.f32");
    f
}

#[test]
fn halves_are_joined_to_the_same_bytes() {
    let f = streams("join");
    f.succeeds("join u.fz v.fz -o joined.fz --threads 1");
    assert_eq!(f.read("joined.fz"), f.read("a.fz"));
    // All streams of a file, and one of them.
    assert!(f.succeeds("split all.fz us.fz vs.fz --threads 2").contains("2 streams of "));
    f.succeeds("join us.fz vs.fz -o joined.fz");
    assert_eq!(f.read("joined.fz"), f.read("all.fz"));
    for (step, name) in [("0", "a.fz"), ("1", "b.fz"), ("-1", "b.fz")] {
        f.succeeds(&format!("split all.fz u1.fz v1.fz --step {step}"));
        f.succeeds("join u1.fz v1.fz -o joined.fz");
        assert_eq!(f.read("joined.fz"), f.read(name));
        f.succeeds(&format!("join us.fz vs.fz -o joined.fz --step {step}"));
        assert_eq!(f.read("joined.fz"), f.read(name));
    }
    let told = f.json("split all.fz us.fz vs.fz");
    assert_eq!(told["streams"][1]["offset"], f.read("a.fz").len());
    assert_eq!(told["streams"][1]["stream_bytes"], f.read("b.fz").len());
    let halves = [0, 1].map(|k| told["streams"][k]["u_bytes"].as_u64().unwrap());
    assert_eq!(halves.iter().sum::<u64>(), f.read("us.fz").len() as u64);
}

#[test]
fn standard_input_and_output() {
    let f = streams("standard");
    let piped = |line: &str, input: &str| {
        let file = std::fs::File::open(f.0.join(input)).unwrap();
        let out = f.command(line).stdin(Stdio::from(file)).output().unwrap();
        assert!(out.status.success(), "{line}: {}", text(&out.stderr));
        out.stdout
    };
    assert_eq!(piped("split - - v2.fz", "a.fz"), f.read("u.fz"));
    assert_eq!(f.read("v2.fz"), f.read("v.fz"));
    assert_eq!(piped("join u.fz - -o -", "v.fz"), f.read("a.fz"));
    assert_eq!(piped("decompress - -", "u.fz"), f.read("u1.f32"));
    f.fails("split a.fz - -", &["standard output: is given for two outputs"]);
    f.fails("join - - -o x.fz", &["- is given for U and for V"]);
}

#[test]
fn a_half_is_decompressed_to_one_array() {
    let f = streams("decompress");
    for name in ["u", "v"] {
        let expected = f.read(&format!("{name}1.f32"));
        let said = f.succeeds(&format!("decompress {name}.fz out.f32"));
        assert!(said.starts_with("out.f32: 360x181 values of f32; decompressed"), "{said}");
        assert_eq!(f.read("out.f32"), expected);
        f.succeeds(&format!("decompress {name}.fz out.npy --backend cpu --threads 1"));
        assert_eq!(f.read("out.npy"), npy("<f4", SHAPE, &expected));
        f.succeeds(&format!("decompress {name}.fz out.npz"));
        let archive = f.read("out.npz");
        let holds = |entry: &str| archive.windows(entry.len()).any(|part| part == entry.as_bytes());
        assert_eq!([holds("u.npy"), holds("v.npy")], [name == "u", name == "v"]);
        f.succeeds(&format!("decompress {name}.fz part.npy --region 10,20,30x5"));
        let rows = (20..25).flat_map(|y| expected[4 * (360 * y + 10)..][..120].to_vec());
        assert_eq!(f.read("part.npy"), npy("<f4", "(5, 30)", &rows.collect::<Vec<u8>>()));
        let told = f.json(&format!("decompress {name}.fz out.f32"));
        assert_eq!(told["component"], name);
        assert_eq!(told["output_bytes"], BYTES);
        assert_eq!(told[name], "out.f32");
        assert!(told[if name == "u" { "v" } else { "u" }].is_null());
        f.fails(
            &format!("decompress {name}.fz x y"),
            &["component", "alone: give one output file", "factz join"],
        );
        f.fails(&format!("decompress {name}.fz x --backend cuda"), &["--backend cuda"]);
    }
    f.succeeds("split all.fz us.fz vs.fz");
    f.fails("decompress us.fz x", &["us.fz: holds 2 streams: give --step K"]);
    f.succeeds("decompress us.fz out.f32 --step 0");
    assert_eq!(f.read("out.f32"), f.read("u1.f32"));
    assert!(!f.names().contains(&"x".to_owned()));
}

#[test]
fn planes_of_a_half() {
    let f = Folder::new("halves-planes");
    let wave = |k: usize, a: f32| (a * (k % 50) as f32).sin() + (a * (k / 50) as f32).cos();
    for (name, a) in [("u.f32", 0.31), ("v.f32", 0.23)] {
        f.write(name, &(0..6000).flat_map(|k| wave(k, a).to_le_bytes()).collect::<Vec<u8>>());
    }
    f.succeeds("compress u.f32 v.f32 -o s.fz --dims 50x40x3 --abs 0.01");
    f.succeeds("decompress s.fz u1.f32 v1.f32");
    f.succeeds("split s.fz u.fz v.fz");
    f.succeeds("decompress v.fz out.npy");
    assert_eq!(f.read("out.npy"), npy("<f4", "(3, 40, 50)", &f.read("v1.f32")));
    f.succeeds("decompress v.fz out.f32 --planes 1:3");
    assert_eq!(f.read("out.f32"), f.read("v1.f32")[8000..]);
    f.succeeds("join u.fz v.fz -o joined.fz");
    assert_eq!(f.read("joined.fz"), f.read("s.fz"));
}

#[test]
fn halves_are_listed_and_tested() {
    let f = streams("list");
    assert!(f.succeeds("info u.fz").contains("component       u alone (`factz join`"));
    assert_eq!(f.json("info v.fz")["component"], "v");
    assert!(f.json("info a.fz")["component"].is_null());
    let ratio = BYTES as f64 / f.read("u.fz").len() as f64;
    assert_eq!(f.json("info u.fz")["ratio"], ratio);
    f.write("mixed.fz", &[f.read("u.fz"), f.read("a.fz")].concat());
    let list = f.succeeds("info mixed.fz");
    assert!(list.contains("360x181 f32 of u") && list.contains("360x181 f32  "), "{list}");
    let tested = f.succeeds("test u.fz mixed.fz");
    assert!(tested.starts_with("u.fz: good, 360x181 values of f32 of u, "), "{tested}");
    assert_eq!(tested.lines().count(), 3);
    let mut damaged = f.read("u.fz");
    *damaged.last_mut().unwrap() ^= 1;
    f.write("bad.fz", &damaged);
    let out = f.factz("test bad.fz");
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stderr));
    f.fails("join bad.fz v.fz -o x.fz", &["bad.fz, v.fz: the stream of u: the checksum does not match"]);
    f.fails("decompress bad.fz x", &["bad.fz: the checksum"]);
}

#[test]
fn what_needs_both_components_says_how_to_join_them() {
    let f = streams("both");
    for command in [
        "points u.fz",
        "render u.fz -o x.png",
        "verify u.f32 v.f32 u.fz",
        "diff u.f32 v.f32 u.fz",
        "render --compare u.f32 v.f32 u.fz -o x.png",
    ] {
        f.fails(command, &["u.fz: holds component u alone, and both are needed: `factz join U V -o STREAM`"]);
    }
    let before = f.names();
    f.succeeds("split b.fz u2.fz v2.fz");
    f.succeeds("split all.fz us.fz vs.fz");
    for (command, parts) in [
        ("split u.fz x y", &["u.fz: the stream holds component u alone: there is nothing to split"][..]),
        ("join v.fz u.fz -o x", &["v.fz, u.fz: the stream of u holds component v: give that of u first"]),
        ("join u.fz v2.fz -o x", &["u.fz, v2.fz", "split from different streams"]),
        ("join a.fz v.fz -o x", &["the stream of u holds both components"]),
        ("join us.fz v.fz -o x", &["v.fz: holds 1 stream, and us.fz holds more", "--step K"]),
        ("join u.fz v.fz -o ./u.fz", &["./u.fz: is an input and an output"]),
        ("split a.fz ./a.fz y", &["./a.fz: is an input and an output"]),
        ("split a.fz x x", &["x: is given for two outputs: give two names"]),
        ("split a.fz x.npy y", &["x.npy: is the name of a NumPy .npy file"]),
        ("split u.f32 x y", &["u.f32: is no factz stream"]),
        ("split none.fz x y", &["none.fz: cannot be opened"]),
        ("split all.fz x y --step 2", &["--step 2: all.fz holds 2 streams"]),
        ("split a.fz x", &["<V>"]),
        ("join u.fz v.fz", &["--output <OUT>"]),
    ] {
        f.fails(command, parts);
    }
    let after = f.names();
    assert!(after.iter().all(|name| before.contains(name) || name.ends_with(".fz")), "{after:?}");
    assert!(!["x", "y", "x.png"].iter().any(|name| after.contains(&(*name).to_owned())), "{after:?}");
}
