//! Both libraries define exactly the functions of tests/symbols.txt, which are those of the header, for the
//! other objects of a program. The static one needs the C library and the unwinder alone, and fits beside
//! other libraries written in Rust.

use crate::bindings::header;
use crate::support::{
    both, built_folder, fresh_folder, linkings, output, refuses, root, run, static_library,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn listed() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("tests/symbols.txt")).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The names that nm prints, without versions.
fn symbols(options: &[&str], library: &Path) -> Vec<String> {
    let out = run(Command::new("nm").args(["--format=posix"]).args(options).arg(library));
    let text = String::from_utf8(out.stdout).unwrap();
    let named = text.lines().filter(|line| line.contains(' '));
    let mut found: Vec<_> = named.map(|l| l.split([' ', '@']).next().unwrap().to_owned()).collect();
    found.sort();
    found
}

#[test]
#[cfg(target_os = "linux")]
fn exported_symbols_are_those_listed() {
    needs!("nm", "readelf");
    assert_eq!(symbols(&["-D", "--defined-only"], &built_folder().join("libfactz.so")), listed());
}

#[test]
#[cfg(target_os = "linux")]
fn the_static_library_defines_what_is_listed_and_needs_the_c_library_alone() {
    needs!("gcc", "nm", "readelf");
    let library = static_library();
    assert_eq!(symbols(&["-g", "--defined-only"], &library), listed());
    let mut provided = BTreeSet::new();
    for name in ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "libpthread.so.0", "libdl.so.2", "ld-linux"] {
        let file = match name {
            // The dynamic linker, which has names of its own, is that of the system's programs.
            "ld-linux" => interpreter(),
            name => both(&run(Command::new("gcc").arg(format!("-print-file-name={name}")))).trim().into(),
        };
        if file.is_absolute() {
            provided.extend(symbols(&["-D", "--defined-only"], &file));
        }
    }
    let weak = ["__cxa_thread_atexit_impl", "__dso_handle", "_GLOBAL_OFFSET_TABLE_", "gettid", "statx"];
    let needed = symbols(&["-u"], &library);
    let others: Vec<_> =
        needed.iter().filter(|n| !provided.contains(*n) && !weak.contains(&n.as_str())).collect();
    assert!(others.is_empty() && needed.contains(&"malloc".to_owned()), "{others:?}");
    let sections = both(&run(Command::new("readelf").args(["--wide", "--sections"]).arg(&library)));
    // Constructors are there, the stack is not executable, and sections stay apart for --gc-sections.
    for name in [".fini_array ", ".note.GNU-stack ", ".text.factz_version "] {
        assert!(sections.contains(name), "{name}: {sections}");
    }
    for name in [".debug_", ".llvmbc", " GROUP "] {
        assert!(!sections.contains(name), "{name}: {sections}");
    }
}

/// The dynamic linker that this test asks for.
#[cfg(target_os = "linux")]
fn interpreter() -> PathBuf {
    let headers = both(&run(Command::new("readelf").arg("-lW").arg(std::env::current_exe().unwrap())));
    let line = headers.lines().find(|l| l.contains("program interpreter")).expect("a dynamic program");
    line.split(": ").nth(1).unwrap().trim_end_matches(']').into()
}

/// A library of another project, with a runtime of its own: as rustc makes it, and with hidden symbols too.
#[cfg(target_os = "linux")]
const OTHER: &str = r#"
use std::cell::Cell;
thread_local!(static COUNT: Cell<i32> = const { Cell::new(0) });
/// 3 where a panic is caught, on a thread with variables of its own.
#[unsafe(no_mangle)]
pub extern "C" fn factz_other() -> i32 {
    std::panic::set_hook(Box::new(|_| ()));
    COUNT.set(2);
    let thread = std::thread::spawn(|| {
        COUNT.set(1);
        let caught = std::panic::catch_unwind(|| assert!(std::env::args().count() == 77));
        COUNT.get() + caught.is_ok() as i32
    });
    thread.join().unwrap() + COUNT.get()
}
"#;

#[test]
#[cfg(target_os = "linux")]
#[ignore = "make test-all"]
fn other_libraries_written_in_rust_are_no_obstacle() {
    needs!("gcc", "nm", "rustc");
    let folder = fresh_folder("symbols-other");
    let [source, open, closed, program] =
        ["other.rs", "libother.a", "libclosed.a", "program.c"].map(|name| folder.join(name));
    std::fs::write(&source, OTHER).unwrap();
    run(Command::new("rustc").args(["-O", "--crate-type=staticlib", "-o"]).args([&open, &source]));
    run(Command::new(root().join("cmake/static_library.sh")).args([&open, &closed]));
    std::fs::write(
        &program,
        "#include <factz.h>\n#include <stdio.h>\nint factz_other(void);\n\
         void rust_eh_personality(void);\nvoid rust_eh_personality(void) {}\n\
         int main(void)\n{\n    factz_config c;\n    int status = factz_config_from_string(\"abs=x\", &c);\n\
         printf(\"%d %d %s\", factz_other(), status, factz_last_error());\n    return 0;\n}\n",
    )
    .unwrap();
    for linking in &linkings(&folder)[1..] {
        // Without its own personality the program takes that of the other library.
        for (other, define) in [(&open, "-Drust_eh_personality=unused"), (&closed, "-DX")] {
            for first in [true, false] {
                let sources: &[&Path] = if first { &[&program, other] } else { &[&program] };
                let mut linking = linking.clone();
                if !first {
                    linking.arguments.insert(1, other.into());
                }
                let program = linking.compile("gcc", &["-w", define], sources);
                let said = both(&run(&mut Command::new(program)));
                assert_eq!(said, "3 2 abs=x is no number, such as 1e-3", "{} {define} {first}", linking.name);
            }
        }
    }
}

/// A missing tool that the static library needs when it is made is named.
#[test]
#[cfg(target_os = "linux")]
fn missing_tools_of_the_static_library_are_named() {
    needs!("gcc", "nm", "ar");
    let folder = fresh_folder("symbols-tools");
    let (library, made) = (static_library(), folder.join("libfactz.a"));
    let script = || {
        let mut command = Command::new(root().join("cmake/static_library.sh"));
        command.args([&library, &made]);
        command
    };
    refuses(
        script().env("OBJCOPY", "no-objcopy"),
        "no-objcopy is missing: install GNU binutils, or set OBJCOPY",
    );
    refuses(script().env("LD", "cat"), "cat is not GNU ld 2.30 or later");
    let empty = folder.join("empty.a");
    run(Command::new("ar").arg("rc").arg(&empty));
    let mut other = Command::new(root().join("cmake/static_library.sh"));
    refuses(other.args([&empty, &made]), "has no function factz_*");
    assert!(!made.exists());
    // A finished one stays as it is.
    run(&mut script());
    assert_eq!(symbols(&["-g", "--defined-only"], &made), listed());
    let left = output(Command::new("ls").arg(&folder));
    assert_eq!(both(&left).split_whitespace().collect::<Vec<_>>(), ["empty.a", "libfactz.a"]);
}

#[test]
#[cfg(target_os = "linux")]
fn the_soname_carries_the_abi_version_and_cuda_is_not_linked() {
    needs!("nm", "readelf");
    let library = built_folder().join("libfactz.so");
    let out = run(Command::new("readelf").args(["-d", "-W"]).arg(&library));
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.contains("Library soname: [libfactz.so.0]"), "{text}");
    assert!(!text.to_lowercase().contains("cuda"), "{text}");
}

#[test]
fn the_header_declares_what_is_listed() {
    let declared: Vec<_> = header().functions.into_keys().collect();
    assert_eq!(declared, listed());
}
