//! The Fortran module compiles without warnings, the programs of examples-fortran hold what they check with
//! the shared and with the static library and are clean under valgrind; arrays of wrong kinds are refused by
//! the compiler. Integers may have any kind, and errors name the arguments of Fortran. The examples of docs/linking.md
//! compile.

use crate::support::{
    both, examples_of, fresh_folder, holds, linkings, output, refuses, root, run, valgrind, STRICT_FORTRAN,
};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles the module into a folder.
fn module(folder: &Path) -> PathBuf {
    module_with(folder, &[])
}

fn module_with(folder: &Path, options: &[&str]) -> PathBuf {
    let object = folder.join("factz.o");
    // The standard that the source states is the one that the compiler checks.
    let source = std::fs::read_to_string(root().join("include/factz.f90")).unwrap();
    assert!(source.contains("as source in Fortran 2018") && STRICT_FORTRAN.contains(&"-std=f2018"));
    run(Command::new("gfortran")
        .args(STRICT_FORTRAN)
        .args(options)
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

/// Declarations of all examples come first, and the arrays that they use.
#[test]
fn the_examples_of_the_page_about_linking_compile() {
    needs!("gcc", "gfortran");
    let folder = fresh_folder("examples_fortran-page");
    module(&folder);
    let mut lines = examples_of("docs/linking.md", "fortran");
    lines.retain(|line| line != "use factz");
    let (declared, calls): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.contains("::"));
    assert!(calls.iter().any(|line| line.contains("factz_find_range")), "{calls:?}");
    let source = folder.join("page.f90");
    let text = format!(
        "program page\nuse factz\nimplicit none\n{}\n\
         real(real32), dimension(4, 4, 4) :: u, v, w, u2, v2, w2\n\
         real(real32), dimension(4, 4, 4) :: planes_u, planes_v, box_u, box_v, box_w\n\
         real(real32), dimension(4, 4) :: window_u, window_v\n\
         u = 0\nv = 0\nw = 0\n{}\nend program page\n",
        declared.join("\n"),
        calls.join("\n")
    );
    std::fs::write(&source, text).unwrap();
    run(Command::new("gfortran").args(STRICT_FORTRAN).arg("-fsyntax-only").arg(&source).current_dir(&folder));
}

/// The module and its users need not agree on the kind of a default integer.
#[test]
fn integers_have_any_kind_and_errors_name_their_arguments() {
    needs!("gcc", "gfortran");
    let folder = fresh_folder("examples_fortran-kinds");
    let source = folder.join("kinds.f90");
    let text = r#"program kinds
  use factz
  use, intrinsic :: iso_fortran_env, only: int16, int32
  implicit none
  real(real32) :: whole(12, 14), block(10, 12), u(10, 12), v(10, 12), volume(7, 6, 8)
  integer(int8), allocatable :: stream(:)
  type(factz_config) :: config
  type(factz_comparison) :: comparison
  type(factz_volume_comparison) :: of_volume
  type(factz_volume_point), allocatable :: points(:)
  type(factz_range) :: range
  character(400) :: reason
  integer :: default_kind
  integer(int8) :: one
  integer(int16) :: two
  integer(int32) :: four
  integer(int64) :: eight
  call random_number(whole)
  whole = whole - 0.5
  block = whole(2:11, 2:13)
  config = factz_absolute_bound(0.25_real64)
  call factz_compress(whole, whole(:, :), config, stream, ghosts=1, threads=2_int64, stat=default_kind)
  call factz_decompress(stream, u, v, ghosts=0_int8, threads=1_int16, stat=one)
  call factz_find_range(whole, whole, config, range, ghosts=1_int16, stat=two)
  call factz_compare(whole, whole, block, block, config, comparison, ghosts=1_int64, stat=eight)
  call factz_compare(whole, whole, block, block, config, comparison, ghosts=1_int32, other_ghosts=0_int16, &
      threads=4294967297_int64, stat=four)
  print '(5(i0,1x))', default_kind, one, two, four, eight
  call factz_compare(whole, whole, whole, whole, config, comparison, ghosts=1, stat=default_kind, errmsg=reason)
  print '(i0,1x,a)', default_kind, trim(reason)
  call factz_compare(block, block, whole, whole, config, comparison, other_ghosts=-1, stat=one, errmsg=reason)
  print '(i0,1x,a)', one, trim(reason)
  call factz_compress(block, transpose(reshape(block, [12, 10])), config, stream, stat=one, errmsg=reason)
  print '(i0,1x,a)', one, trim(reason)
  config%halo = FACTZ_SIDE_X_MAX
  call factz_compare(whole, whole, whole, whole, config, comparison, ghosts=1, stat=two, errmsg=reason)
  print '(i0,1x,a)', two, trim(reason)
  config%nx = 3
  call factz_compress(whole, whole, config, stream, ghosts=1, stat=four, errmsg=reason)
  print '(i0,1x,a)', four, trim(reason)
  config = factz_absolute_bound(0.25_real64)
  call factz_compress(whole, whole, config, stream, ghosts=1.0, stat=four, errmsg=reason)
  print '(i0,1x,a)', four, trim(reason)
  call factz_compare(block, block, block, block, config, comparison, other_ghosts='1', stat=four, errmsg=reason)
  print '(i0,1x,a)', four, trim(reason)
  call factz_find_range(block, block, config, range, threads=.true., stat=four, errmsg=reason)
  print '(i0,1x,a)', four, trim(reason)
  call random_number(volume)
  call factz_compare(volume, volume, volume, volume, volume, volume, config, of_volume, ghosts=1_int8, &
      other_ghosts=1_int64, threads=2_int16, stat=two)
  call factz_critical_points(volume - 0.5, volume, volume - 0.5, config, points, ghosts=0_int16, stat=eight)
  print '(3(i0,1x))', two, eight, of_volume%violations
  call factz_compare(volume, volume, volume, volume, volume, volume, config, of_volume, other_ghosts=2, &
      stat=default_kind, errmsg=reason)
  print '(i0,1x,a)', default_kind, trim(reason)
  call factz_compare(volume, volume, volume, volume, volume, volume(:, :, :3), config, of_volume, stat=two, &
      errmsg=reason)
  print '(i0,1x,a)', two, trim(reason)
  call factz_critical_points(volume, volume, volume, config, points, ghosts=3, stat=one, errmsg=reason)
  print '(i0,1x,a)', one, trim(reason)
  config%halo = FACTZ_SIDE_Z_MIN
  call factz_compare(volume, volume, volume, volume, volume, volume, config, of_volume, stat=four, &
      errmsg=reason)
  print '(i0,1x,a)', four, trim(reason)
  call factz_compare(volume, volume, volume, volume, volume, volume, config, of_volume, ghosts=1, &
      other_ghosts=1_int8, stat=four)
  call factz_critical_points(volume, volume, volume, config, points, ghosts=1_int64, stat=one)
  print '(2(i0,1x))', four, one
end program kinds
"#;
    std::fs::write(&source, text).unwrap();
    let expected = [
        "0 0 0 0 0",
        "1 factz_compare: invalid argument: u has 10 x 12 vertices with ghosts = 1 but other_u has 12 x 14 with \
         other_ghosts = 0: ",
        "1 factz_compare: invalid argument: other_ghosts = -1 must not be negative",
        "1 factz_compress: invalid argument: v is a transposed array, whose neighbours along x are 12 elements \
         apart and those along y 1: pass a copy of it",
        "1 factz_compare: invalid argument: config%halo = 2 names sides with ghost vertices but other_ghosts = 0",
        "1 factz_compress: invalid argument: the configuration is for 3 x 0 vertices but u has 10 x 12 with \
         ghosts = 1",
        "1 factz_compress: invalid argument: ghosts is no integer",
        "1 factz_compare: invalid argument: other_ghosts is no integer",
        "1 factz_find_range: invalid argument: threads is no integer",
        "0 0 0",
        "1 factz_compare: invalid argument: u has 7 x 6 x 8 vertices with ghosts = 0 but other_u has 3 x 2 \
         x 4 with other_ghosts = 2: ",
        "1 factz_compare: invalid argument: other_u has 7 x 6 x 8 vertices but other_w has 7 x 6 x 3",
        "1 factz_critical_points: invalid argument: u has the shape (7, 6), which leaves no vertex inside \
         ghost layers of width 3",
        "1 factz_compare: invalid argument: config%halo = 16 names sides with ghost vertices but ghosts = 0",
        "0 0",
    ];
    let [shared, ..] = linkings(&folder);
    for of_module in [&[][..], &["-fdefault-integer-8"]] {
        let object = module_with(&folder, of_module);
        for of_program in [&[][..], &["-fdefault-integer-8"]] {
            let program =
                shared.compile("gfortran", &[&STRICT_FORTRAN, of_program].concat(), &[&source, &object]);
            let text = both(&run(&mut Command::new(&program)));
            assert_eq!(text.lines().count(), expected.len(), "{text}");
            for (line, start) in text.lines().zip(expected) {
                assert!(line.starts_with(start), "{of_module:?} {of_program:?}: {line}");
            }
        }
    }
}

/// A stat that is no integer stops the program, which cannot be told otherwise.
#[test]
#[ignore = "make test-all"]
fn a_stat_that_is_no_integer_is_refused() {
    needs!("gcc", "gfortran", "valgrind");
    let folder = fresh_folder("examples_fortran-stat");
    let object = module(&folder);
    let source = folder.join("stat.f90");
    let text = "program stat\n  use factz\n  type(factz_config) :: config\n  real(real32) :: status\n  \
                call factz_config_from_string('abs=1', config, stat=status)\nend program stat\n";
    std::fs::write(&source, text).unwrap();
    let [shared, ..] = linkings(&folder);
    let program = shared.compile("gfortran", &[], &[&source, &object]);
    refuses(&mut Command::new(program), "the argument stat is no integer");
}

/// With stat= memory that cannot be had is a status, also where it is that of a result. The program's own memory runs
/// out: that of the linked library does not.
#[test]
fn memory_that_cannot_be_had_is_a_status() {
    needs!("gcc", "gfortran");
    let folder = fresh_folder("examples_fortran-memory");
    let object = module(&folder);
    let (wrapper, wrapped) = (folder.join("memory.c"), folder.join("memory.o"));
    let text = "#include <stddef.h>\n#include <stdint.h>\nvoid *__real_malloc(size_t);\nstatic size_t least = -1, most;\n\
                void refuse(int64_t a, int64_t b) { least = a, most = b; }\n\
                void *__wrap_malloc(size_t bytes) {\n  \
                return bytes >= least && bytes <= most ? NULL : __real_malloc(bytes);\n}\n";
    std::fs::write(&wrapper, text).unwrap();
    run(Command::new("gcc").arg("-c").arg(&wrapper).arg("-o").arg(&wrapped));
    let source = folder.join("memory.f90");
    let text = r#"program memory
  use factz
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  interface
    subroutine refuse(least, most) bind(c)
      import :: c_int64_t
      integer(c_int64_t), value :: least, most
    end subroutine refuse
  end interface
  real(real32) :: u(60, 50), v(60, 50), x(20, 18, 16), y(20, 18, 16), z(20, 18, 16)
  real(real32) :: u1(60, 50), v1(60, 50), x1(20, 18, 16), y1(20, 18, 16), z1(20, 18, 16)
  integer(int8), allocatable :: stream(:), fix(:)
  type(factz_config) :: config
  type(factz_report) :: report
  type(factz_fix_report) :: fix_report
  type(factz_critical_point), allocatable :: points(:)
  type(factz_volume_point), allocatable :: of_volume(:)
  integer(int64) :: lengths(4), sizes(2)
  integer :: stat, k
  character(200) :: reason
  config = factz_absolute_bound(0.11_real64)
  call random_number(u)
  call random_number(v)
  call random_number(x)
  call random_number(y)
  call random_number(z)
  u = u - 0.5
  v = v - 0.5
  x = x - 0.5
  y = y - 0.5
  z = z - 0.5
  u1 = 0.2 * nint(u / 0.2)
  v1 = 0.2 * nint(v / 0.2)
  x1 = 0.2 * nint(x / 0.2)
  y1 = 0.2 * nint(y / 0.2)
  z1 = 0.2 * nint(z / 0.2)
  call factz_compress(u, v, config, stream)
  lengths(1) = size(stream)
  call factz_compress(x, y, z, config, stream)
  lengths(2) = size(stream)
  call factz_protect(u, v, u1, v1, config, fix)
  lengths(3) = size(fix)
  call factz_protect(x, y, z, x1, y1, z1, config, fix)
  lengths(4) = size(fix)
  call factz_critical_points(u, v, config, points)
  sizes(1) = size(points) * storage_size(points, int64) / 8
  call factz_critical_points(x, y, z, config, of_volume)
  sizes(2) = size(of_volume) * storage_size(of_volume, int64) / 8
  do k = 1, 2
    ! The result alone, then the buffer that holds the largest one as well.
    if (k == 1) call refuse(lengths(1), lengths(1))
    if (k == 2) call refuse(9000_int64, huge(1_int64))
    call factz_compress(u, v, config, stream, report, stat=stat, errmsg=reason)
    call told(lengths(1), allocated(stream), report%status)
    if (k == 1) call refuse(lengths(2), lengths(2))
    call factz_compress(x, y, z, config, stream, report, stat=stat, errmsg=reason)
    call told(lengths(2), allocated(stream), report%status)
    if (k == 1) call refuse(lengths(3), lengths(3))
    call factz_protect(u, v, u1, v1, config, fix, fix_report, stat=stat, errmsg=reason)
    call told(lengths(3), allocated(fix), fix_report%status)
    if (k == 1) call refuse(lengths(4), lengths(4))
    call factz_protect(x, y, z, x1, y1, z1, config, fix, fix_report, stat=stat, errmsg=reason)
    call told(lengths(4), allocated(fix), fix_report%status)
  end do
  call refuse(sizes(1), sizes(1))
  call factz_critical_points(u, v, config, points, stat=stat, errmsg=reason)
  call told(0_int64, allocated(points), stat)
  call refuse(sizes(2), sizes(2))
  call factz_critical_points(x, y, z, config, of_volume, stat=stat, errmsg=reason)
  call told(0_int64, allocated(of_volume), stat)
  call refuse(huge(1_int64), 0_int64)
  call factz_compress(u, v, config, stream)
  if (size(stream) /= lengths(1)) error stop 'another stream than before'
  print '(a)', 'everything holds'
contains
  subroutine told(length, is_allocated, of_report)
    integer(int64), intent(in) :: length
    logical, intent(in) :: is_allocated
    integer, intent(in) :: of_report
    character(20) :: digits
    write (digits, '(i0)') length
    if (stat /= FACTZ_ERROR_OUT_OF_MEMORY .or. of_report /= stat .or. is_allocated) error stop 'no status'
    if (index(reason, ': out of memory: no memory for ') == 0) error stop 'no reason'
    if (k == 1 .and. index(reason, ' '//trim(digits)//' bytes, the ') == 0) error stop 'another reason'
  end subroutine told
end program memory
"#;
    std::fs::write(&source, text).unwrap();
    let [shared, ..] = linkings(&folder);
    let flags = [&STRICT_FORTRAN[..], &["-Wl,--wrap=malloc"]].concat();
    let program = shared.compile("gfortran", &flags, &[&source, &object, &wrapped]);
    holds(&mut Command::new(program));
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
