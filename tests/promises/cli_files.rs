//! Files of the command line survive interrupts, a lack of memory and limits: what was there stays, nothing else is
//! left, and the program ends in order.

use crate::support::cli::{field, succeeds, text, Folder};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_factz"))
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn send(child: &Child, signal: i32) {
    // SAFETY: a signal to a child that was not waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

/// A stream of 600 x 500 values and its reconstruction.
fn stream(f: &Folder) -> (String, [Vec<u8>; 2]) {
    let wave = |k: usize, a: f32, b: f32| (a * (k % 600) as f32).sin() * (b * (k / 600) as f32).cos();
    let component = |a, b| (0..300_000).flat_map(|k| wave(k, a, b).to_le_bytes()).collect::<Vec<u8>>();
    let (u, v) = (f.write("u.f32", &component(0.031, 0.043)), f.write("v.f32", &component(0.037, 0.029)));
    let [stream, u1, v1] = ["s.fz", "u1", "v1"].map(|n| f.path(n));
    succeeds(&["compress", &u, &v, "-o", &stream, "--dims", "600x500", "--rel", "1e-3"]);
    succeeds(&["decompress", &stream, &u1, &v1]);
    let decoded = [&u1, &v1].map(|p| std::fs::read(p).unwrap());
    (stream, decoded)
}

/// The second output is a pipe without a reader: the program waits there, with the first one in its temporary file.
#[test]
fn a_signal_leaves_no_temporary_file_and_ends_the_program_as_usual() {
    let f = Folder::new("signals");
    let (stream, _) = stream(&f);
    let pipe = std::ffi::CString::new(f.path("pipe")).unwrap();
    // SAFETY: a C string.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    let u1 = f.write("u1", b"precious");
    let before = f.names();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGXCPU] {
        let mut child = start(&["decompress", &stream, &u1, &f.path("pipe"), "--backend", "cpu"]);
        let begin = Instant::now();
        while !f.names().iter().any(|n| n.starts_with(".factz-")) {
            assert!(begin.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(2));
        }
        send(&child, signal);
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(signal), "{status}");
        assert_eq!(f.names(), before, "signal {signal} left something");
        assert_eq!(std::fs::read(&u1).unwrap(), b"precious");
    }
}

/// Killed at any time, both files are the old ones or both the new ones.
#[test]
fn killed_at_any_time_both_files_are_old_or_both_are_new() {
    let f = Folder::new("killed");
    let (stream, decoded) = stream(&f);
    let [u1, v1] = ["u1", "v1"].map(|n| f.path(n));
    let arguments = ["decompress", &stream, &u1, &v1, "--backend", "cpu"];
    let begin = Instant::now();
    assert!(start(&arguments).wait().unwrap().success());
    let whole = begin.elapsed();
    let before = f.names();
    let mut killed = 0;
    for k in 0..60u32 {
        for name in [&u1, &v1] {
            std::fs::write(name, b"precious").unwrap();
        }
        let mut child = start(&arguments);
        std::thread::sleep(whole * k / 50);
        send(&child, if k % 2 == 0 { libc::SIGTERM } else { libc::SIGINT });
        let status = child.wait().unwrap();
        killed += status.signal().is_some() as u32;
        assert!(status.success() || status.signal().is_some(), "{status}");
        let now = [&u1, &v1].map(|p| std::fs::read(p).unwrap());
        let old = now.iter().all(|n| n == b"precious");
        assert!(
            old || now == decoded,
            "after {k}/50 of the time the files are neither old nor new: {status}"
        );
        assert!(old || status.signal().is_none() || k > 0);
        assert_eq!(f.names(), before, "after {k}/50 of the time something is left: {status}");
    }
    assert!(killed > 5, "only {killed} were killed");
}

/// Runs under limits of the shell.
fn limited(limit: &str, arguments: &[&str]) -> Output {
    Command::new("sh")
        .arg("-c")
        .arg(format!("{limit} && exec \"$0\" \"$@\""))
        .arg(env!("CARGO_BIN_EXE_factz"))
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn a_file_above_the_limit_is_an_error() {
    let f = Folder::new("file-limit");
    let (stream, _) = stream(&f);
    let u1 = f.write("u1", b"precious");
    let before = f.names();
    let out = limited("ulimit -f 100", &["decompress", &stream, &u1, &f.path("v1")]);
    assert_eq!(out.status.code(), Some(2), "{}", out.status);
    assert!(text(&out.stderr).contains("u1: cannot be written"), "{}", text(&out.stderr));
    assert_eq!((std::fs::read(&u1).unwrap().as_slice(), f.names()), (&b"precious"[..], before));
}

/// A library that says on standard error when a thread is started or a file brought to the disk.
fn witness(f: &Folder) -> String {
    let source = f.write(
        "witness.c",
        b"#include <errno.h>\n#include <pthread.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n\
          int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x)\n\
          { (void)t; (void)a; (void)f; (void)x; (void)!write(2, \"thread\\n\", 7); return EAGAIN; }\n\
          int fsync(int fd) { (void)!write(2, \"fsync\\n\", 6); return (int)syscall(SYS_fsync, fd); }\n",
    );
    let library = f.path("witness.so");
    let built = Command::new("gcc").args(["-shared", "-fPIC", "-o", &library, &source]).output();
    let built = built.unwrap_or_else(|e| panic!("cannot run gcc ({e}): `make packages` installs it"));
    assert!(built.status.success(), "{}", text(&built.stderr));
    library
}

fn witnessed(library: &str, arguments: &[&str]) -> String {
    let out = Command::new(env!("CARGO_BIN_EXE_factz"))
        .args(arguments)
        .env("LD_PRELOAD", library)
        .output()
        .unwrap();
    assert!(out.status.success(), "{arguments:?}: {}{}", text(&out.stdout), text(&out.stderr));
    text(&out.stderr)
}

/// One thread is the program's own, and none can be started.
#[test]
fn one_thread_starts_none() {
    let f = Folder::new("threads");
    let (stream, _) = stream(&f);
    let library = witness(&f);
    let path = |name: &str| f.path(name);
    let [u, v, u1, v1, out] = ["u.f32", "v.f32", "u1", "v1", "out.fz"].map(path);
    let shape = ["--dims", "600x500"];
    let commands = [
        [&["compress", &u, &v, "-o", &out, "--rel", "1e-3"], &shape[..]].concat(),
        vec!["decompress", &stream, &u1, &v1],
        vec!["test", &stream],
        [&["verify", &u, &v, &u1, &v1, "--rel", "1e-3"], &shape[..]].concat(),
        [&["points", &u, &v], &shape[..]].concat(),
    ];
    for command in commands {
        let said = witnessed(&library, &[&command[..], &["--backend", "cpu", "--threads", "1"]].concat());
        assert!(!said.contains("thread"), "{command:?} starts a thread");
    }
    // The witness is not blind: without the option there are more, if there are more processors.
    if std::thread::available_parallelism().is_ok_and(|n| n.get() > 1) {
        let run = ["decompress", &stream, &u1, &v1, "--backend", "cpu", "--threads", "2"];
        let out = Command::new(env!("CARGO_BIN_EXE_factz")).args(run).env("LD_PRELOAD", &library).output();
        assert!(text(&out.unwrap().stderr).contains("thread"));
    }
}

/// Both files and the directory are on the disk before the program says that it is done.
#[test]
fn outputs_are_brought_to_the_disk() {
    let f = Folder::new("fsync");
    let (stream, _) = stream(&f);
    let library = witness(&f);
    let said =
        witnessed(&library, &["decompress", &stream, &f.path("new-u"), &f.path("new-v"), "--threads", "1"]);
    assert!(said.matches("fsync").count() >= 3, "{said}");
}

/// From too little to enough address space: a command succeeds or says that memory is short, and leaves no file.
#[test]
fn too_little_memory_is_said_and_never_an_abort() {
    let f = Folder::new("memory");
    let (stream, _) = stream(&f);
    let [u, v, u1, v1, out, csv] = ["u.f32", "v.f32", "u1", "v1", "out.fz", "out.csv"].map(|n| f.path(n));
    let tiny = field("tiny2x2_cp");
    assert!(Path::new(&tiny[0]).exists());
    let shape = ["--dims", "600x500"];
    let commands = [
        [&["compress", &u, &v, "-o", &out, "--rel", "1e-3"], &shape[..]].concat(),
        vec!["decompress", &stream, &u1, &v1],
        vec!["test", &stream],
        vec!["info", &stream],
        [&["verify", &u, &v, &u1, &v1, "--rel", "1e-3"], &shape[..]].concat(),
        [&["points", &u, &v, "-o", &csv], &shape[..]].concat(),
    ];
    // Memory of the program itself, before it looks at a file.
    let starts = |kib: u64| limited(&format!("ulimit -v {kib}"), &["--version"]).status.success();
    let least = (1..).map(|k| 2048 + 256 * k).find(|&kib| starts(kib) && starts(kib + 256)).unwrap() + 256;
    for command in commands {
        let command = [
            &command[..],
            if command[0] == "info" { &[] } else { &["--backend", "cpu", "--threads", "1"][..] },
        ]
        .concat();
        let (mut short, mut done) = (0, 0);
        let mut kib = least;
        while done < 3 {
            assert!(kib < 4 << 20, "{command:?} never succeeds");
            let out = limited(&format!("ulimit -v {kib}"), &command);
            let said = text(&out.stderr);
            match out.status.code() {
                Some(0) => done += 1,
                Some(2) => {
                    let known = ["memory", "MEMORY"].iter().any(|w| said.contains(w));
                    assert!(known && said.lines().count() == 1, "{command:?} in {kib} KiB: {said}");
                    short += 1;
                }
                _ => panic!("{command:?} in {kib} KiB: {} {said}", out.status),
            }
            kib += 256;
        }
        assert!(short > 0 || command[0] == "info", "{command:?} takes no memory");
        assert!(!f.names().iter().any(|n| n.starts_with('.')), "{:?}", f.names());
    }
}
