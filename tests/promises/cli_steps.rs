//! Files of several streams on the command line: each can be read, none vanishes without a word, and what is
//! no stream is named with its place. A stream that is added leaves the others as they are, also where that
//! fails.

use crate::support::cli::{text, Folder};
use serde_json::Value;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A folder with u.f32, v.f32 of 40 x 30 values, their streams a.fz, b.fz, c.fz of three bounds, and all of
/// them in steps.fz.
struct Series {
    folder: Folder,
    streams: [Vec<u8>; 3],
}

const BOUNDS: [&str; 3] = ["1e-1", "1e-2", "1e-3"];
const NAMES: [&str; 3] = ["a.fz", "b.fz", "c.fz"];

impl Series {
    fn new(name: &str) -> Series {
        let f = Folder::new(&format!("steps-{name}"));
        let wave = |k: usize, a: f32, b: f32| (a * (k % 40) as f32).sin() * (b * (k / 40) as f32).cos();
        for (name, a, b) in [("u.f32", 0.31, 0.43), ("v.f32", 0.37, 0.29)] {
            f.write(name, &(0..1200).flat_map(|k| wave(k, a, b).to_le_bytes()).collect::<Vec<u8>>());
        }
        let streams = [0, 1, 2].map(|k| {
            f.succeeds(&compress(NAMES[k], BOUNDS[k]));
            f.read(NAMES[k])
        });
        f.write("steps.fz", &streams.concat());
        Series { folder: f, streams }
    }

    /// The first byte of a stream in steps.fz; of number 3, its length.
    fn offset(&self, number: usize) -> usize {
        self.streams[..number].concat().len()
    }

    /// Runs with the content of a file on standard input, in two pieces with a pause between them.
    fn piped(&self, line: &str, input: &[u8], pause: Duration) -> Output {
        let mut child = self.folder.command(line).stdin(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let (first, rest) = input.split_at(self.streams[0].len().min(input.len()));
        let _ = pipe.write_all(first).and_then(|()| {
            std::thread::sleep(pause);
            pipe.write_all(rest)
        });
        drop(pipe);
        child.wait_with_output().unwrap()
    }
}

fn compress(output: &str, bound: &str) -> String {
    format!("compress u.f32 v.f32 -o {output} --dims 40x30 --rel {bound} --backend cpu")
}

/// Every command that reads a stream, with FILE in its place and the number of the stream to come.
const COMMANDS: [&str; 6] = [
    "decompress FILE u1 v1",
    "verify u.f32 v.f32 FILE",
    "diff u.f32 v.f32 FILE",
    "points FILE",
    "render FILE -o p.png --width 300",
    "render --compare u.f32 v.f32 FILE -o p.png --width 300",
];

#[test]
fn each_stream_of_a_file_can_be_read() {
    let s = Series::new("read");
    let f = &s.folder;
    for (k, alone) in NAMES.iter().enumerate() {
        for step in [k as i64, k as i64 - 3] {
            for command in COMMANDS {
                let of_steps = f.factz(&format!("{} --step {step}", command.replace("FILE", "steps.fz")));
                let of_one = f.factz(&command.replace("FILE", alone));
                let results = [&of_steps, &of_one].map(|out| (out.status.code(), text(&out.stderr)));
                assert_eq!(results[0], results[1], "{command} --step {step}");
                // Times differ, and so does the name of a file.
                if !command.contains("decompress") && !command.contains("render") {
                    assert_eq!(text(&of_steps.stdout), text(&of_one.stdout), "{command} --step {step}");
                }
            }
            f.succeeds(&format!("decompress steps.fz one.npz --step {step}"));
            f.succeeds(&format!("decompress {alone} other.npy"));
            assert_eq!(f.json("verify other.npy one.npz --abs 0")["violations"], 0);
            let info = f.json(&format!("info steps.fz --step {step}"));
            assert_eq!([&info["step"], &info["offset"]], [k, s.offset(k)]);
            assert_eq!(info["bound"], BOUNDS[k].parse::<f64>().unwrap());
            assert!(f.succeeds(&format!("info steps.fz --step {step}")).contains("relative"));
            let tested = f.json(&format!("test steps.fz --step {step}"));
            assert_eq!([&tested["streams"][0]["step"], &tested["streams"][0]["offset"]], [k, s.offset(k)]);
            assert_eq!(f.json(&format!("decompress steps.fz u1 v1 --step {step}"))["step"], k);
        }
    }
    // One stream alone is stream 0, and the last one.
    for step in ["0", "-1"] {
        f.succeeds(&format!("decompress a.fz u1 v1 --step {step}"));
    }
}

#[test]
fn a_stream_of_several_must_be_named() {
    let s = Series::new("named");
    let f = &s.folder;
    for command in COMMANDS {
        let command = command.replace("FILE", "steps.fz");
        f.fails(&command, &["steps.fz: holds 3 streams", "--step K, 0 to 2", "`factz info steps.fz`"]);
        f.fails(&format!("{command} --step 3"), &["--step 3: steps.fz holds 3 streams: give 0 to 2"]);
        f.fails(&format!("{command} --step -4"), &["--step -4", "-3 to -1 from the end"]);
        f.fails(&format!("{command} --step last"), &["'last'", "0 is the first stream, -1 the last one"]);
    }
    f.fails("decompress a.fz u1 v1 --step 1", &["--step 1: a.fz holds one stream"]);
    f.fails("info steps.fz --step 9", &["--step 9"]);
    f.fails("test steps.fz --step 9", &["--step 9"]);
    for command in ["points u.f32 v.f32", "verify u.f32 v.f32 u.f32 v.f32", "render u.f32 v.f32 -o p.png"] {
        let command = format!("{command} --dims 40x30 --step 0");
        f.fails(&command, &["--step 0: chooses a stream of a file, and u.f32 or v.f32", "leave it out"]);
    }
    assert!(!f.0.join("u1").exists() && !f.0.join("p.png").exists());
}

#[test]
fn info_lists_and_test_tests_all_streams() {
    let s = Series::new("list");
    let f = &s.folder;
    let list = f.succeeds("info steps.fz");
    let lines: Vec<Vec<&str>> = list.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(list.starts_with("steps.fz: 3 streams, "), "{list}");
    f.write("empty.fz", b"");
    f.fails("info empty.fz", &["empty.fz: is empty"]);
    assert_eq!(lines[1][..5], ["step", "offset", "bytes", "field", "bound"]);
    let grouped = |n: usize| match n {
        0..1000 => n.to_string(),
        _ => format!("{},{:03}", n / 1000, n % 1000),
    };
    let all = f.json("info steps.fz");
    assert_eq!([&all["file_bytes"], &all["missing_bytes"], &all["surplus_bytes"]], [s.offset(3), 0, 0]);
    assert_eq!(all["streams"].as_array().unwrap().len(), 3);
    for k in 0..3 {
        let (offset, bytes) = (s.offset(k), s.streams[k].len());
        assert_eq!(
            lines[k + 2][..7],
            [&k.to_string(), &grouped(offset), &grouped(bytes), "40x30", "f32", "relative", BOUNDS[k]]
        );
        let listed = &all["streams"][k];
        assert_eq!([&listed["step"], &listed["offset"], &listed["stream_bytes"]], [k, offset, bytes]);
        let alone = f.json(&format!("info {}", NAMES[k]));
        assert_eq!([&alone["nx"], &alone["bound"]], [&listed["nx"], &listed["bound"]]);
        assert_eq!(alone["streams"].as_array().unwrap().len(), 1);
    }
    let tested = f.succeeds("test steps.fz a.fz");
    let good: Vec<&str> = tested.lines().map(|line| line.split(": good").next().unwrap()).collect();
    assert_eq!(good, ["steps.fz, stream 0", "steps.fz, stream 1", "steps.fz, stream 2", "a.fz"]);

    // Damage in the middle is that of one stream.
    let mut damaged = s.streams.concat();
    damaged[s.offset(2) - 8] ^= 1;
    f.write("damaged.fz", &damaged);
    let out = f.factz("test damaged.fz --json");
    let tested: Value = serde_json::from_slice(&out.stdout).unwrap();
    let results: Vec<_> = tested["streams"].as_array().unwrap().iter().map(|s| &s["result"]).collect();
    assert_eq!(
        (out.status.code(), &results[..]),
        (Some(1), &[&"good".into(), &"damaged".into(), &"good".into()][..])
    );
    assert_eq!(tested["streams"][1]["offset"], s.offset(1));
    assert!(tested["streams"][1]["error"]
        .as_str()
        .unwrap()
        .starts_with("damaged.fz, stream 1: the checksum"));
    f.fails("decompress damaged.fz u1 v1 --step 1", &["damaged.fz, stream 1: the checksum"]);
    f.succeeds("decompress damaged.fz u1 v1 --step 2");
}

/// Bytes behind the last stream that are none.
#[test]
fn garbage_is_an_error_that_says_where_it_begins() {
    let s = Series::new("garbage");
    let f = &s.folder;
    for (streams, number) in [(&s.streams[..1], 0), (&s.streams[..], 2)] {
        let whole = streams.concat();
        let end = whole.len();
        f.write("garbage.fz", &[&whole[..], b"what is this"].concat());
        let cut = format!("`head -c {end} garbage.fz > NEW`");
        let what = format!("garbage.fz: has 12 bytes behind stream {number}");
        let place = format!("from byte {end} on, in which no stream begins");
        let parts = [&*what, &place, &cut];
        for command in COMMANDS {
            let command = command.replace("FILE", "garbage.fz");
            for step in ["", " --step -1"] {
                f.fails(&format!("{command}{step}"), &parts);
            }
            reads_first(f, &command);
        }
        // The streams before the fault are listed, and then the error.
        f.fails("info garbage.fz", &parts);
        let listed = f.factz("info garbage.fz --json");
        let info: Value = serde_json::from_slice(&listed.stdout).unwrap();
        assert_eq!([&info["surplus_bytes"], &info["file_bytes"], &info["missing_bytes"]], [12, end + 12, 0]);
        assert_eq!(info["streams"].as_array().unwrap().len(), number + 1);
        let out = f.factz("test garbage.fz --json");
        let tested: Value = serde_json::from_slice(&out.stdout).unwrap();
        let last = &tested["streams"][number];
        assert_eq!(
            (out.status.code(), &last["result"], &last["nx"]),
            (Some(1), &"surplus".into(), &40.into())
        );
        let out = f.factz("test garbage.fz");
        assert!(text(&out.stderr).contains(&cut));
        assert_eq!(text(&out.stdout).matches(": good, ").count(), number + 1);
        f.fails(&format!("{} --append", compress("garbage.fz", "1e-1")), &parts);
        assert_eq!(f.read("garbage.fz").len(), end + 12);
        // The command of the error works.
        let command = cut.trim_matches('`');
        assert!(Command::new("sh").args(["-ec", command]).current_dir(&f.0).status().unwrap().success());
        assert!(f.read("NEW") == whole);
        let out = s.piped("decompress - u1 v1", &f.read("garbage.fz"), Duration::ZERO);
        let error = text(&out.stderr);
        let parts = ["standard input: has more bytes behind", &*place, "in the pipe"];
        assert!(out.status.code() == Some(2) && parts.iter().all(|part| error.contains(part)), "{error}");
    }
    // A header that no stream has.
    let mut odd = s.streams.concat();
    odd[s.offset(1) + 4] = 9;
    f.write("odd.fz", &odd);
    let place = format!("odd.fz: stream 1, which begins at byte {}: ", s.offset(1));
    f.fails("info odd.fz", &[&place, "version 9"]);
    f.fails("decompress odd.fz u3 v3", &[&place]);
    assert!(!f.0.join("u3").exists());
    reads_first(f, "decompress odd.fz u1 v1");
    let rest =
        format!("another stream begins at byte {0}: `head -c {1} odd.fz > NEW`", s.offset(2), s.offset(1));
    f.fails("info odd.fz", &[&rest]);
}

#[test]
fn the_streams_before_one_that_is_cut_off_can_be_read() {
    let s = Series::new("cut");
    let f = &s.folder;
    let (begin, bytes) = (s.offset(2), s.streams[2].len());
    for there in [1, 3, 100, 128, bytes - 1] {
        f.write("cut.fz", &s.streams.concat()[..begin + there]);
        let place = format!("stream 2, which begins at byte {begin}, has {there} bytes");
        let cut = format!("`head -c {begin} cut.fz > NEW`");
        for step in ["", " --step -1", " --step 2"] {
            f.fails(
                &format!("decompress cut.fz u1 v1{step}"),
                &["cut.fz: ", &place, "the end is missing", &cut, "--step"],
            );
        }
        for step in [0, 1] {
            f.succeeds(&format!("decompress cut.fz one.npy --step {step}"));
            f.succeeds(&format!("decompress {} other.npy", NAMES[step]));
            assert!(f.read("one.npy") == f.read("other.npy"));
        }
        let out = f.factz("test cut.fz");
        assert_eq!((out.status.code(), text(&out.stdout).lines().count()), (Some(1), 2));
        assert!(text(&out.stderr).contains(&place));
        f.fails(&format!("{} --append", compress("cut.fz", "1e-1")), &[&place, &cut]);
        assert_eq!(f.read("cut.fz").len(), begin + there);
        let out = f.factz("info cut.fz --json");
        let info: Value = serde_json::from_slice(&out.stdout).unwrap();
        let listed = info["streams"].as_array().unwrap().len();
        f.fails("info cut.fz", &[&place]);
        let list = text(&f.factz("info cut.fz").stdout);
        if there < 128 {
            assert_eq!((out.status.code(), listed), (Some(2), 2));
            assert!(list.starts_with("cut.fz: 2 streams, "), "{list}");
        } else {
            assert_eq!((out.status.code(), listed), (Some(2), 3));
            assert_eq!(info["missing_bytes"], bytes - there);
            assert!(list.starts_with("cut.fz: 3 streams, the last one cut off, "), "{list}");
        }
    }
    f.write("cut.fz", &s.streams[0][..500]);
    let out = f.factz("info cut.fz");
    let expected = format!("file            500 of {} bytes: the end is missing", s.offset(1));
    assert!(out.status.code() == Some(2) && text(&out.stdout).contains(&expected), "{}", text(&out.stdout));
}

/// Reads stream 0 of a file whose other streams are damaged.
fn reads_first(f: &Folder, command: &str) {
    let file = command.split_whitespace().find(|word| word.ends_with(".fz")).unwrap();
    let damaged = f.factz(&format!("{command} --step 0"));
    let alone = f.factz(&command.replace(file, "a.fz"));
    assert_eq!(damaged.status.code(), alone.status.code(), "{command}: {}", text(&damaged.stderr));
}

/// A stream that is cut off before another one, and bytes between two streams: the streams before can be
/// read, and the commands of the error keep those on both sides.
#[test]
fn the_streams_on_both_sides_of_damage_are_found() {
    let s = Series::new("middle");
    let f = &s.folder;
    let [a, b, c] = s.streams.each_ref().map(|stream| &stream[..]);
    let cut = &b[..b.len() - 100];
    for (middle, place) in [
        (cut.to_vec(), format!("byte {}, has {} bytes, its header says {}", a.len(), cut.len(), b.len())),
        (b"none".to_vec(), format!("has 4 bytes behind stream 0, from byte {} on", a.len())),
    ] {
        for before in [1, 0] {
            let begin = [&b""[..], a][before];
            if before == 0 && middle.len() == 4 {
                continue;
            }
            let parts = [begin, &middle, c];
            f.write("middle.fz", &parts.concat());
            let rest = format!("`tail -c +{} middle.fz > NEW`", begin.len() + middle.len() + 1);
            let place = if before == 1 { &*place } else { "the end is missing, and another stream follows" };
            for command in
                ["info middle.fz", "decompress middle.fz u1 v1", "decompress middle.fz u1 v1 --step -1"]
            {
                f.fails(command, &["middle.fz: ", place, &rest]);
            }
            let out = f.factz("test middle.fz");
            assert_eq!((out.status.code(), text(&out.stdout).lines().count()), (Some(1), before));
            assert!(text(&out.stderr).contains(&rest), "{}", text(&out.stderr));
            if before == 1 {
                reads_first(f, "decompress middle.fz u1 v1");
                f.fails("decompress middle.fz u1 v1 --step 1", &[place]);
            }
            let command = rest.trim_matches('`');
            assert!(Command::new("sh").args(["-ec", command]).current_dir(&f.0).status().unwrap().success());
            assert!(f.read("NEW") == c);
        }
    }
}

/// The shape of a stream is no --dims of the user.
#[test]
fn the_original_of_another_stream_is_refused_with_advice() {
    let s = Series::new("shape");
    let f = &s.folder;
    f.write("short.f32", &f.read("u.f32")[..4 * 900]);
    f.succeeds("compress short.f32 short.f32 -o d.fz --dims 30x30 --abs 1");
    f.write("steps.fz", &[&s.streams[0][..], &f.read("d.fz")].concat());
    for command in ["verify", "diff", "render -o p.png --compare"] {
        let command = format!("{command} u.f32 v.f32 steps.fz --step 1");
        for dims in ["", " --dims 40x30"] {
            f.fails(
                &format!("{command}{dims}"),
                &["steps.fz, stream 1", "30x30", "--step K chooses another"],
            );
        }
        assert!(!text(&f.factz(&command).stderr).contains("--dims"));
    }
}

/// Also where the writer pauses between two streams.
#[test]
fn standard_input_is_read_through() {
    let s = Series::new("pipe");
    let (f, all) = (&s.folder, s.streams.concat());
    let pause = Duration::from_millis(700);
    let listed = s.piped("info - --json", &all, pause);
    let info: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!((info["streams"].as_array().unwrap().len(), &info["file_bytes"]), (3, &all.len().into()));
    let out = s.piped("decompress - u1 v1", &all, pause);
    let error = text(&out.stderr);
    assert!(out.status.code() == Some(2) && error.contains("standard input: holds 3 streams"), "{error}");
    for (step, k) in [(0, 0), (1, 1), (2, 2), (-1, 2), (-2, 1), (-3, 0)] {
        let out = s.piped(&format!("decompress - - -q --step {step}"), &all, Duration::ZERO);
        assert!(out.stdout == f.factz(&format!("decompress {} - -q", NAMES[k])).stdout, "--step {step}");
    }
    let last = s.piped("decompress - - -q --step -1", &all, pause);
    assert!(last.stdout == f.factz("decompress c.fz - -q").stdout);
    for (step, part) in [(3, "0 to 2"), (-4, "-3 to -1")] {
        let out = s.piped(&format!("decompress - u1 v1 --step {step}"), &all, Duration::ZERO);
        assert!(text(&out.stderr).contains(part), "{}", text(&out.stderr));
    }
    let out = s.piped("decompress - u1 v1 --step -1", &all[..all.len() - 1], Duration::ZERO);
    assert!(text(&out.stderr).contains("standard input: stream 2, which begins at byte"));
    let out = s.piped("test -", &all, pause);
    assert_eq!((out.status.code(), text(&out.stdout).lines().count()), (Some(0), 3));
    // A file on standard input, from its second stream on.
    let mut file = std::fs::File::open(f.0.join("steps.fz")).unwrap();
    file.seek(SeekFrom::Start(s.offset(1) as u64)).unwrap();
    let out = f.command("decompress - - -q --step 1").stdin(file).output().unwrap();
    assert!(out.stdout == last.stdout, "{}", text(&out.stderr));
}

#[test]
fn streams_are_added_to_a_file() {
    let s = Series::new("append");
    let f = &s.folder;
    f.write("empty.fz", b"");
    for name in ["new.fz", "empty.fz"] {
        for (k, bound) in BOUNDS.iter().enumerate() {
            let report = f.json(&format!("{} --append", compress(name, bound)));
            assert_eq!([&report["step"], &report["offset"]], [k, s.offset(k)]);
            assert!(f.read(name) == s.streams[..=k].concat());
        }
    }
    std::os::unix::fs::symlink("steps.fz", f.0.join("link.fz")).unwrap();
    let said = f.succeeds(&format!("{} --append", compress("link.fz", "1e-1")));
    assert!(said.starts_with("link.fz, stream 3: "), "{said}");
    let four = [&s.streams.concat()[..], &s.streams[0]].concat();
    assert!(f.read("steps.fz") == four);
    assert_eq!(f.json(&compress("a.fz", "1e-1"))["step"], 0);
    assert!(f.read("a.fz") == s.streams[0], "without the option a file is replaced");

    for (output, part) in [
        ("-", "standard output cannot be looked at"),
        ("/dev/null", "/dev/null is no regular file"),
        (".", "cannot be opened to append"),
        ("no/where.fz", "there is no directory no"),
    ] {
        f.fails(&format!("{} --append", compress(output, "1e-1")), &[part]);
    }
    f.write("text.txt.fz", b"some text, long enough to be a header\n");
    f.fails(
        &format!("{} --append", compress("text.txt.fz", "1e-1")),
        &["text.txt.fz: is ", "no factz stream"],
    );
}

/// Several programs at a time lose no stream.
#[test]
fn programs_that_append_wait_for_each_other() {
    let s = Series::new("together");
    let f = &s.folder;
    let line = format!("{} --append --threads 1", compress("steps.fz", "1e-2"));
    let children: Vec<_> = (0..8).map(|_| f.command(&line).spawn().unwrap()).collect();
    for child in children {
        let out = child.wait_with_output().unwrap();
        assert!(out.status.success(), "{}", text(&out.stderr));
    }
    let expected = [&s.streams.concat()[..], &s.streams[1].repeat(8)].concat();
    assert!(f.read("steps.fz") == expected);
    assert!(f.succeeds("test steps.fz").lines().count() == 11);

    // Also where the first of them makes the file.
    let line = format!("{} --append --threads 1", compress("new.fz", "1e-2"));
    let children: Vec<_> = (0..8).map(|_| f.command(&line).spawn().unwrap()).collect();
    for child in children {
        let out = child.wait_with_output().unwrap();
        assert!(out.status.success(), "{}", text(&out.stderr));
    }
    assert!(f.read("new.fz") == s.streams[1].repeat(8));
}

/// A field that compresses to so many bytes that writing them takes some time.
fn large(f: &Folder) {
    let noise = |k: u32| (k.wrapping_mul(2_654_435_761) >> 8) as f32;
    let values = |seed: u32| (0..2_000_000).flat_map(|k| noise(k ^ seed).to_le_bytes()).collect::<Vec<u8>>();
    f.write("large-u", &values(0));
    f.write("large-v", &values(77));
}

const LARGE: &str = "compress large-u large-v -o steps.fz --append --dims 2000x1000 --abs 0 --backend cpu";

#[test]
fn an_append_that_fails_leaves_the_file_as_it_was() {
    let s = Series::new("full");
    let f = &s.folder;
    large(f);
    let (before, names) = (s.streams.concat(), f.names());
    // In blocks of 512 bytes: the first part of the stream has room.
    let out = f.limited("ulimit -f 2000", LARGE);
    let error = text(&out.stderr);
    assert!(out.status.code() == Some(2) && error.contains("steps.fz: cannot be written"), "{error}");
    assert!(error.contains("it holds what it held before"), "{error}");
    assert!(f.read("steps.fz") == before && f.names() == names);
}

#[test]
fn an_append_that_is_interrupted_leaves_the_old_or_the_new_file() {
    let s = Series::new("interrupted");
    let f = &s.folder;
    large(f);
    let before = s.streams.concat();
    let begin = Instant::now();
    f.succeeds(LARGE);
    let (whole, after) = (begin.elapsed(), f.read("steps.fz"));
    assert!(after.starts_with(&before));
    let (mut old, mut cut) = (0, 0);
    for k in 0..30 {
        f.write("steps.fz", &before);
        let mut child = f.command(LARGE).spawn().unwrap();
        let is_longer = || std::fs::metadata(f.0.join("steps.fz")).unwrap().len() > before.len() as u64;
        let mut grows = false;
        if k < 15 {
            std::thread::sleep(whole * k / 14);
        } else {
            // While the stream is written.
            while !grows && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_micros(100));
                grows = is_longer();
            }
        }
        let signal = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP][k as usize % 3];
        // SAFETY: a signal to a child that was not waited for.
        assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
        let status = child.wait().unwrap();
        let now = f.read("steps.fz");
        assert!(status.success() || status.signal() == Some(signal), "{status}");
        assert!(now == before || now == after, "{} bytes after {status}", now.len());
        assert!(now == after || status.signal().is_some());
        old += (now == before) as u32;
        cut += (grows && now == before) as u32;
    }
    assert!(old > 0 && cut > 0, "no append was interrupted, or none while it wrote");

    // Killed, it may leave a part behind the others, which are there.
    for _ in 0..10 {
        f.write("steps.fz", &before);
        let mut child = f.command(LARGE).spawn().unwrap();
        while f.read("steps.fz").len() == before.len() && child.try_wait().unwrap().is_none() {}
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(f.read("steps.fz").starts_with(&before));
        for (step, alone) in NAMES.iter().enumerate() {
            f.succeeds(&format!("decompress steps.fz one.npy --step {step}"));
            f.succeeds(&format!("decompress {alone} other.npy"));
            assert!(f.read("one.npy") == f.read("other.npy"));
        }
    }
}
