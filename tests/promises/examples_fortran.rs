//! The Fortran module compiles without warnings, the programs of examples-fortran hold what they check with
//! the shared and with the static library and are clean under valgrind; arrays of wrong kinds are refused by
//! the compiler.

use crate::support::{
    both, fresh_folder, holds, linkings, output, refuses, root, run, valgrind, STRICT_FORTRAN,
};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles the module into a folder.
fn module(folder: &Path) -> PathBuf {
    let object = folder.join("factz.o");
    // The standard that the source states is the one that the compiler checks.
    let source = std::fs::read_to_string(root().join("include/factz.f90")).unwrap();
    assert!(source.contains("as source in Fortran 2018") && STRICT_FORTRAN.contains(&"-std=f2018"));
    run(Command::new("gfortran")
        .args(STRICT_FORTRAN)
        .args(["-g", "-c"])
        .arg(root().join("include/factz.f90"))
        .arg("-o")
        .arg(&object)
        .current_dir(folder));
    object
}

fn compile_and_run(name: &str, under_valgrind: bool) {
    let folder = fresh_folder(&format!("examples_fortran-{name}"));
    let object = module(&folder);
    for linking in linkings(&folder) {
        let source = format!("examples-fortran/{name}.f90");
        let program = linking.compile("gfortran", &STRICT_FORTRAN, &[source.as_ref(), &object]);
        holds(Command::new(&program).current_dir(&folder));
        if under_valgrind && linking.suits_valgrind() {
            valgrind(&program);
        }
    }
}

#[test]
#[ignore = "make test-all"]
fn the_programs() {
    needs!("gcc", "gfortran", "valgrind");
    compile_and_run("roundtrip", true);
    // Not under valgrind, where the solver would take minutes.
    compile_and_run("shallow_water", false);
}

/// Compiles a program with these statements, after declarations of arrays.
fn compiler(folder: &Path, statements: &str) -> Command {
    let source = folder.join("program.f90");
    let text = format!(
        "program wrong\n  use factz\n  implicit none\n  real(real32) :: a(4, 4), line(4)\n  \
         real(real64) :: b(4, 4)\n  integer :: k(4, 4)\n  integer(int8), allocatable :: stream(:)\n  \
         type(factz_config) :: config\n  a = 0\n  b = 0\n  k = 0\n  line = 0\n  \
         config = factz_absolute_bound(0.1_real64)\n{statements}\nend program wrong\n"
    );
    std::fs::write(&source, text).unwrap();
    let mut compiler = Command::new("gfortran");
    compiler.args(["-std=f2018", "-fsyntax-only"]).arg(&source).current_dir(folder);
    compiler
}

#[test]
#[ignore = "make test-all"]
fn wrong_kinds_and_ranks_are_refused_by_the_compiler() {
    needs!("gcc", "gfortran", "valgrind");
    let folder = fresh_folder("examples_fortran-refused");
    module(&folder);
    run(&mut compiler(&folder, "call factz_compress(a, a, config, stream)"));
    for arguments in ["a, b", "k, k", "line, line", "a(:, 1), a(:, 2)"] {
        let statement = format!("call factz_compress({arguments}, config, stream)");
        refuses(&mut compiler(&folder, &statement), "There is no specific subroutine");
    }
    // An expression and a section with a vector of indices cannot receive values.
    let copy = output(&mut compiler(&folder, "call factz_decompress(stream, a([4, 3, 2, 1], :), a)"));
    assert!(!copy.status.success(), "a copy would have received the values");
}

/// Without stat= an error stops the program with the reason.
#[test]
#[ignore = "make test-all"]
fn errors_that_are_not_asked_for_stop_the_program() {
    needs!("gcc", "gfortran", "valgrind");
    let folder = fresh_folder("examples_fortran-stop");
    let object = module(&folder);
    let source = folder.join("stops.f90");
    let text = "program stops\n  use factz\n  real(real32) :: a(4, 4)\n  integer(int8), allocatable :: stream(:)\n  \
                type(factz_config) :: config\n  a = 0\n  config = factz_relative_bound(1e-2_real64)\n  \
                config%halo = FACTZ_SIDE_X_MIN\n  call factz_compress(a, a, config, stream)\nend program stops\n";
    std::fs::write(&source, text).unwrap();
    let [shared, ..] = linkings(&folder);
    let program = shared.compile("gfortran", &[], &[&source, &object]);
    refuses(&mut Command::new(program), "pass the whole arrays with their ghost layers");
}

/// Device pointers and streams pass as type(c_ptr), each in its place: with one of them null the message
/// names it.
#[test]
#[ignore = "make test-all"]
fn device_functions_get_their_arguments_in_order() {
    needs!("gcc", "gfortran", "valgrind");
    let folder = fresh_folder("examples_fortran-device");
    let object = module(&folder);
    let source = folder.join("device.f90");
    let text = r#"program device
  use factz
  use, intrinsic :: iso_c_binding, only: c_intptr_t
  implicit none
  integer, parameter :: room = 131072
  real(real32), target :: u(8, 8), v(8, 8)
  integer(int64), target, save :: dst(room), work(room), report(64)
  type(c_ptr) :: p(5)
  type(factz_config) :: config
  integer(c_int32_t) :: status
  integer :: k
  config = factz_relative_bound(1e-2_real64)
  config%nx = 8
  config%ny = 8
  do k = 1, 5
    p = [c_loc(u), c_loc(v), aligned(dst), aligned(work), c_loc(report)]
    p(k) = c_null_ptr
    status = factz_compress_device(p(1), p(2), 64_c_size_t, config, p(3), 8_c_size_t * (room - 32), p(4), &
        8_c_size_t * (room - 32), p(5), c_null_ptr)
    print '(i0,1x,a)', status, factz_last_error()
  end do
contains
  type(c_ptr) function aligned(memory)
    integer(int64), target :: memory(:)
    integer(c_intptr_t) :: address
    address = transfer(c_loc(memory(1)), address)
    aligned = c_loc(memory(1 + modulo(-address / 8, 32_c_intptr_t)))
  end function aligned
end program device
"#;
    std::fs::write(&source, text).unwrap();
    let [shared, ..] = linkings(&folder);
    let program = shared.compile("gfortran", &STRICT_FORTRAN, &[&source, &object]);
    let out = run(&mut Command::new(&program));
    let text = both(&out);
    for (line, name) in text.lines().zip(["u", "v", "dst", "workspace", "report"]) {
        assert!(line.starts_with(&format!("1 {name} is null")), "{name}: {line}");
    }
    assert_eq!(text.lines().count(), 5, "{text}");
}
