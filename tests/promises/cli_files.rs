//! Files of the command line survive interrupts, a lack of memory and limits: what was there stays, nothing
//! else is left, and the program ends in order.

use crate::support::cli::{text, Folder};
use crate::support::run;
use std::os::unix::fs::{chown, MetadataExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
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

#[test]
fn the_file_behind_a_link_is_made() {
    let f = folder("links");
    std::fs::create_dir(f.0.join("other")).unwrap();
    for (link, to) in [
        ("near.fz", "made1.fz"),
        ("far.fz", "other/made2.fz"),
        ("first.fz", "other/second.fz"),
        ("other/second.fz", "../made3.fz"),
        ("round.fz", "trip.fz"),
        ("trip.fz", "round.fz"),
        ("lost.fz", "no/such/made.fz"),
    ] {
        std::os::unix::fs::symlink(to, f.0.join(link)).unwrap();
    }
    let compress = |name: &str| format!("compress u.f32 v.f32 -o {name} --dims 600x500 --rel 1e-3");
    let stream = f.read("s.fz");
    for (link, made) in [("near.fz", "made1.fz"), ("far.fz", "other/made2.fz"), ("first.fz", "made3.fz")] {
        f.succeeds(&compress(link));
        let is_link = |name: &str| std::fs::symlink_metadata(f.0.join(name)).unwrap().is_symlink();
        assert!(is_link(link) && !is_link(made) && f.read(made) == stream, "{link}");
    }
    // A link of an open file leads to no name.
    let out = f.limited("exec 3>&2", &format!("{} --quiet", compress("/dev/fd/3")));
    assert!(out.status.success() && out.stderr == stream);
    f.fails(&compress("round.fz"), &["round.fz: cannot be written", "symbolic links"]);
    f.fails(&compress("lost.fz"), &["lost.fz: cannot be written", "there is no directory ./no/such"]);
    f.fails(&compress("new/folder/x.fz"), &["new/folder/x.fz", "there is no directory new/folder"]);
    f.fails(&compress("u.f32/x.fz"), &["u.f32/x.fz: cannot be written", "u.f32 is no directory"]);
}

#[test]
fn closed_standard_streams_lose_nothing() {
    let f = folder("closed");
    for (closed, line) in [
        ("exec >&-", "compress u.f32 v.f32 -o - --dims 600x500 --rel 1e-3"),
        ("exec >&-", "decompress s.fz -"),
        ("exec >&-", "points u.f32 v.f32 --dims 600x500"),
        ("exec >&-", "h5args --abs 1"),
        ("exec >&-", "info s.fz"),
        ("exec >&-", "test s.fz --json"),
        ("exec >&-", "compress u.f32 v.f32 -o out.fz --dims 600x500 --rel 1e-3"),
        ("exec >&-", "--help"),
        ("exec >&-", "info --help"),
        ("exec <&-", "compress - -o out.fz --dims 600x500 --rel 1e-3"),
        ("exec <&-", "info -"),
    ] {
        let out = f.limited(closed, line);
        let error = text(&out.stderr);
        assert!(out.status.code() == Some(2) && error.contains("is closed: redirect it"), "{line}: {error}");
    }
    assert!(!f.0.join("out.fz").exists());
    // A report need not be wanted, and /dev/null is a place like any other.
    let out = f.limited("exec >&- <&-", "compress u.f32 v.f32 -o out.fz --dims 600x500 --rel 1e-3 --quiet");
    assert!(out.status.success() && f.read("out.fz") == f.read("s.fz"));
    assert!(f.limited("exec <>/dev/null >&0", "decompress s.fz -").status.success());
}

/// Whatever the standard streams do, the exit status is one of those that the manual has.
#[test]
fn full_standard_streams_are_told_of_and_never_a_panic() {
    let f = folder("full");
    let lines = [
        "info s.fz",
        "test s.fz",
        "points s.fz",
        "verify u.f32 v.f32 s.fz",
        "diff u.f32 v.f32 s.fz",
        "bench u.f32 v.f32 --dims 600x500 --bounds 1e-1 --repeat 1 --threads 1 --mode block",
        "sweep u.f32 v.f32 --dims 600x500 -o r --bounds 1e-1 --repeat 1 --no-peers",
        "h5args --abs 1",
        "completions bash",
        "--help",
        "--version",
    ];
    for line in lines {
        let out = f.limited("exec >/dev/full", line);
        let error = text(&out.stderr);
        assert!(out.status.code() == Some(2) && error.contains("cannot be written"), "{line}: {error}");
        assert_eq!(f.limited("exec >/dev/full 2>&1", line).status.code(), Some(2), "{line}");
    }
    for error in ["2>/dev/full", "2>&-"] {
        for (line, status) in [
            ("info nowhere.fz", 2),
            ("info", 2),
            ("test u.f32", 1),
            ("compress u.f32 v.f32 -o - --dims 600x500 --rel 1e-3", 0),
            ("points s.fz -o - --north-first", 0),
        ] {
            assert_eq!(
                f.limited(&format!("exec {error}"), line).status.code(),
                Some(status),
                "{line} {error}"
            );
        }
    }
    // A note on standard error that nobody reads any more.
    let mut child = f
        .command("sweep u.f32 v.f32 --dims 600x500 -o r --bounds 1e-1 --repeat 1 --python ./none")
        .spawn()
        .unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

fn is_root() -> bool {
    // SAFETY: asks for a number.
    unsafe { libc::geteuid() == 0 }
}

/// Runs as a user without privileges.
#[test]
fn folders_and_files_that_may_not_be_written_are_named() {
    let f = folder("rights");
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    for name in ["u.f32", "v.f32"] {
        std::fs::copy(f.0.join(name), at(name)).unwrap();
    }
    // Not by this process: a test beside it may start a program while the file is open.
    run(Command::new("cp").arg(env!("CARGO_BIN_EXE_factz")).arg(at("factz")));
    for folder in ["locked", "open"] {
        std::fs::create_dir(at(folder)).unwrap();
        std::fs::write(at(folder).join("old.fz"), b"old").unwrap();
    }
    let set = |name: &str, mode| std::fs::set_permissions(at(name), PermissionsExt::from_mode(mode)).unwrap();
    for (name, mode) in
        [("", 0o755), ("open", 0o777), ("open/old.fz", 0o644), ("locked/old.fz", 0o666), ("locked", 0o555)]
    {
        set(name, mode);
    }
    let compress = |output: &str| {
        let mut command = Command::new(at("factz"));
        let line = format!("compress u.f32 v.f32 -o {output} --dims 600x500 --rel 1e-3 --backend cpu");
        command.args(line.split_whitespace()).current_dir(place.path());
        if is_root() {
            command.uid(65534).gid(65534);
        }
        let out = command.output().unwrap();
        (out.status.code(), text(&out.stderr))
    };
    for output in ["locked/new.fz", "locked/old.fz"] {
        let (status, error) = compress(output);
        let said = format!("{output}: cannot be written: its directory locked is not writable");
        assert!(status == Some(2) && error.contains(&said), "{error}");
    }
    assert_eq!(std::fs::read(at("locked/old.fz")).unwrap(), b"old");
    if is_root() {
        let (status, error) = compress("open/old.fz");
        assert!(status == Some(2) && error.contains("open/old.fz: exists and is read-only"), "{error}");
        chown(at("open/old.fz"), Some(65534), Some(65534)).unwrap();
        assert_eq!(compress("open/old.fz").0, Some(0));
    }
    set("locked", 0o755);
}

#[test]
fn a_replaced_file_hands_down_its_owner_and_permissions() {
    let f = folder("owner");
    let path = f.0.join("out.fz");
    std::fs::write(&path, b"old").unwrap();
    let own = std::fs::metadata(&path).map(|m| (m.uid(), m.gid())).unwrap();
    let owners = if is_root() { vec![own, (65534, 65533)] } else { vec![own] };
    for mode in [0o640, 0o604, 0o666] {
        for &(uid, gid) in &owners {
            chown(&path, Some(uid), Some(gid)).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            f.succeeds("compress u.f32 v.f32 -o out.fz --dims 600x500 --rel 1e-3");
            let now = std::fs::metadata(&path).unwrap();
            assert_eq!((now.uid(), now.gid(), now.mode() & 0o777), (uid, gid, mode));
        }
    }
}
