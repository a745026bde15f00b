//! Files of the command line survive interrupts, a lack of memory and limits: what was there stays, nothing
//! else is left, and the program ends in order.

use crate::support::cli::{text, Folder};
use crate::support::run;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

fn send(child: &Child, signal: i32) {
    // SAFETY: a signal to a child that was not waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

/// A folder with 600 x 500 values in u.f32 and v.f32, and their stream s.fz.
fn folder(name: &str) -> Folder {
    let f = Folder::new(name);
    let wave = |k: usize, a: f32, b: f32| (a * (k % 600) as f32).sin() * (b * (k / 600) as f32).cos();
    for (name, a, b) in [("u.f32", 0.031, 0.043), ("v.f32", 0.037, 0.029)] {
        f.write(name, &(0..300_000).flat_map(|k| wave(k, a, b).to_le_bytes()).collect::<Vec<u8>>());
    }
    f.succeeds("compress u.f32 v.f32 -o s.fz --dims 600x500 --rel 1e-3");
    f
}

/// The second output is a pipe without a reader: the program waits there, with the first one in its temporary
/// file.
#[test]
fn a_signal_leaves_no_temporary_file_and_ends_the_program_as_usual() {
    let f = folder("signals");
    let pipe = std::ffi::CString::new(f.0.join("pipe").into_os_string().into_encoded_bytes()).unwrap();
    // SAFETY: a C string.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    f.write("u1", b"precious");
    let before = f.names();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGXCPU] {
        let mut child = f.command("decompress s.fz u1 pipe --backend cpu").spawn().unwrap();
        let begin = Instant::now();
        while !f.names().iter().any(|n| n.starts_with(".factz-")) {
            assert!(begin.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(2));
        }
        send(&child, signal);
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(signal), "{status}");
        assert_eq!(f.names(), before, "signal {signal} left something");
        assert_eq!(f.read("u1"), b"precious");
    }
}

#[test]
fn killed_at_any_time_both_files_are_old_or_both_are_new() {
    let f = folder("killed");
    let decompress = || f.command("decompress s.fz u1 v1 --backend cpu").spawn().unwrap();
    let outputs = || ["u1", "v1"].map(|name| f.read(name));
    let begin = Instant::now();
    assert!(decompress().wait().unwrap().success());
    let whole = begin.elapsed();
    let (decoded, before) = (outputs(), f.names());
    let mut killed = 0;
    for k in 0..60u32 {
        f.write("u1", b"precious");
        f.write("v1", b"precious");
        let mut child = decompress();
        std::thread::sleep(whole * k / 50);
        send(&child, if k % 2 == 0 { libc::SIGTERM } else { libc::SIGINT });
        let status = child.wait().unwrap();
        killed += status.signal().is_some() as u32;
        assert!(status.success() || status.signal().is_some(), "{status}");
        let now = outputs();
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

#[test]
fn a_file_above_the_limit_is_an_error() {
    let f = folder("file-limit");
    f.write("u1", b"precious");
    let before = f.names();
    let out = f.limited("ulimit -f 100", "decompress s.fz u1 v1");
    assert_eq!(out.status.code(), Some(2), "{}", out.status);
    assert!(text(&out.stderr).contains("u1: cannot be written"), "{}", text(&out.stderr));
    assert_eq!((f.read("u1").as_slice(), f.names()), (&b"precious"[..], before));
}

/// Runs with a library that says on standard error when a thread is started (none is) or a file brought to
/// the disk.
fn witnessed(f: &Folder, line: &str) -> String {
    f.write(
        "witness.c",
        b"#include <errno.h>\n#include <pthread.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n\
          int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x)\n\
          { (void)t; (void)a; (void)f; (void)x; (void)!write(2, \"thread\\n\", 7); return EAGAIN; }\n\
          int fsync(int fd) { (void)!write(2, \"fsync\\n\", 6); return (int)syscall(SYS_fsync, fd); }\n",
    );
    run(Command::new("gcc").args(["-shared", "-fPIC", "-o", "witness.so", "witness.c"]).current_dir(&f.0));
    let out = run(f.command(line).env("LD_PRELOAD", f.0.join("witness.so")));
    text(&out.stderr)
}

/// One thread is the program's own, and none can be started.
#[test]
fn one_thread_starts_none() {
    let f = folder("threads");
    for command in [
        "compress u.f32 v.f32 -o out.fz --rel 1e-3 --dims 600x500",
        "decompress s.fz u1 v1",
        "test s.fz",
        "verify u.f32 v.f32 u1 v1 --rel 1e-3 --dims 600x500",
        "points u.f32 v.f32 --dims 600x500",
        "render u.f32 v.f32 -o p.png --dims 600x500 --width 500",
    ] {
        let said = witnessed(&f, &format!("{command} --backend cpu --threads 1"));
        assert!(!said.contains("thread"), "{command} starts a thread");
    }
    // The witness is not blind: without the option there are more, if there are more processors.
    if std::thread::available_parallelism().is_ok_and(|n| n.get() > 1) {
        assert!(witnessed(&f, "decompress s.fz u1 v1 --backend cpu --threads 2").contains("thread"));
    }
}

/// Both files and the directory are on the disk before the program says that it is done.
#[test]
fn outputs_are_brought_to_the_disk() {
    let said = witnessed(&folder("fsync"), "decompress s.fz new-u new-v --threads 1");
    assert!(said.matches("fsync").count() >= 3, "{said}");
}

/// From too little to enough address space: a command succeeds or says that memory is short, and leaves no
/// file.
#[test]
fn too_little_memory_is_said_and_never_an_abort() {
    let f = folder("memory");
    // Memory of the program itself, before it looks at a file.
    let starts = |kib: u64| f.limited(&format!("ulimit -v {kib}"), "--version").status.success();
    let least = (1..).map(|k| 2048 + 256 * k).find(|&kib| starts(kib) && starts(kib + 256)).unwrap() + 256;
    for command in [
        "compress u.f32 v.f32 -o out.fz --rel 1e-3 --dims 600x500 --backend cpu --threads 1",
        "decompress s.fz u1 v1 --backend cpu --threads 1",
        "test s.fz --backend cpu --threads 1",
        "info s.fz",
        "verify u.f32 v.f32 u1 v1 --rel 1e-3 --dims 600x500 --backend cpu --threads 1",
        "points u.f32 v.f32 -o out.csv --dims 600x500 --backend cpu --threads 1",
        "render u.f32 v.f32 -o out.png --dims 600x500 --backend cpu --threads 1 --width 600",
    ] {
        let (mut short, mut done) = (0, 0);
        for kib in (least..).step_by(256) {
            assert!(kib < 4 << 20, "{command} never succeeds");
            let out = f.limited(&format!("ulimit -v {kib}"), command);
            let said = text(&out.stderr);
            match out.status.code() {
                Some(0) => done += 1,
                Some(2) => {
                    let known = ["memory", "MEMORY"].iter().any(|w| said.contains(w));
                    assert!(known && said.lines().count() == 1, "{command} in {kib} KiB: {said}");
                    short += 1;
                }
                _ => panic!("{command} in {kib} KiB: {} {said}", out.status),
            }
            if done == 3 {
                break;
            }
        }
        assert!(short > 0 || command.starts_with("info"), "{command} takes no memory");
        assert!(!f.names().iter().any(|n| n.starts_with('.')), "{:?}", f.names());
    }
}
