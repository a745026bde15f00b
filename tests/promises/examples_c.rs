//! The C and C++ programs of examples-c compile without warnings, hold what they check, and are clean under
//! valgrind, with the shared and with the static library, and run without any shared library. The headers are
//! valid on their own, and what they cannot accept they refuse at compile time with a sentence. The examples of
//! docs/linking.md compile.

use crate::support::{
    both, examples_of, fresh_folder, holds, linkings, refuses, root, run, valgrind, STRICT_C, STRICT_CPP,
};
use std::process::Command;

fn compile_and_run(source: &str, expected: &str) {
    let folder = fresh_folder(&format!("examples_c-{source}"));
    let (compiler, strict) =
        if source.ends_with(".cpp") { ("g++", &STRICT_CPP[..]) } else { ("gcc", &STRICT_C[..]) };
    for linking in linkings(&folder) {
        let source = format!("examples-c/{source}");
        let program = linking.compile(compiler, &[strict, &["-g"]].concat(), &[source.as_ref()]);
        let out = run(&mut Command::new(&program));
        assert!(both(&out).contains(expected), "{}", both(&out));
        assert!(out.stderr.is_empty(), "the library printed something");
        if linking.suits_valgrind() {
            valgrind(&program);
        }
    }
}

#[test]
fn roundtrip() {
    needs!("gcc", "g++", "valgrind");
    compile_and_run("roundtrip.c", "everything holds");
}

#[test]
#[ignore = "make test-all"]
fn the_other_programs() {
    needs!("gcc", "g++", "valgrind");
    compile_and_run("critical_points.c", "saddle");
    compile_and_run("ghost_layers.c", "everything holds");
    compile_and_run("roundtrip.cpp", "everything holds");
}

/// A program that was built with the first header, in which later fields are still reserved, works as before.
#[test]
#[ignore = "make test-all"]
fn an_old_caller_of_a_later_library() {
    needs!("gcc", "g++", "valgrind");
    let folder = fresh_folder("examples_c-old");
    for linking in linkings(&folder) {
        let program = linking.compile("gcc", &STRICT_C, &["tests/old_caller/old.c".as_ref()]);
        holds(&mut Command::new(program));
    }
}

#[test]
fn the_headers_are_valid_on_their_own() {
    needs!("gcc", "g++", "valgrind");
    let include = root().join("include");
    run(Command::new("gcc").args(STRICT_C).args(["-fsyntax-only", "-x", "c"]).arg(include.join("factz.h")));
    // Every standard, twice in one source.
    let twice = fresh_folder("examples_c-headers").join("twice.c");
    std::fs::write(&twice, "#include <factz.h>\n#include <factz.h>\nint main(void) { return 0; }\n").unwrap();
    for (language, standard) in
        [("c", "c89"), ("c", "c99"), ("c", "gnu17"), ("c++", "c++98"), ("c++", "c++11"), ("c++", "c++20")]
    {
        run(Command::new("gcc")
            .args(["-x", language, &format!("-std={standard}"), "-fsyntax-only"])
            .args(["-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-I"])
            .args([&include, &twice]));
    }
    for header in ["factz.h", "factz.hpp"] {
        for standard in ["-std=c++17", "-std=c++20"] {
            run(Command::new("g++")
                .args(STRICT_CPP)
                .args([standard, "-Wshadow", "-Wsign-conversion", "-fsyntax-only", "-x", "c++"])
                .arg(include.join(header)));
        }
    }
}

#[test]
fn wrong_types_are_refused_by_the_compiler_with_advice() {
    needs!("gcc", "g++", "valgrind");
    let folder = fresh_folder("examples_c-refused");
    let cases = [
        ("int x[4]; factz::dense(x, x, 2, 2);", "convert other element types first"),
        (
            "const float x[4] = {}; factz::decompress(s, factz::dense(x, x, 2, 2));",
            "decompression writes: the field must not be const",
        ),
        (
            "float x[4]; double y[4]; \
             factz::compare(factz::dense(x, x, 2, 2), factz::dense(y, y, 2, 2), factz::absolute_bound(0));",
            "convert one of them first",
        ),
        (
            "float x[24]; double y[24]; \
             factz::compare(factz::triple(x, 2, 2, 2), factz::triple(y, 2, 2, 2), factz::absolute_bound(0));",
            "only volumes of the same element type can be compared",
        ),
        ("std::vector<int> n; factz::inspect(n);", "a stream is a container of bytes"),
    ];
    for (statement, advice) in cases {
        let source = folder.join("refused.cpp");
        let text = format!(
            "#include <factz.hpp>\nvoid f(const std::vector<std::byte> &s) {{ (void)s; {statement} }}\n"
        );
        std::fs::write(&source, text).unwrap();
        let mut compiler = Command::new("g++");
        compiler.args(["-std=c++17", "-fsyntax-only", "-I"]).arg(root().join("include")).arg(&source);
        refuses(&mut compiler, advice);
    }
}

#[test]
fn the_examples_of_the_page_about_linking_compile() {
    needs!("gcc", "g++");
    let folder = fresh_folder("examples_c-page");
    let [c, cpp] = ["c", "cpp"].map(|language| examples_of("docs/linking.md", language).join("\n"));
    assert!(c.contains("read_window(") && cpp.contains("factz::critical_points("), "{c}{cpp}");
    let cpp = format!(
        "#include <factz.hpp>\nvoid page(const float* u, const float* v, const float* w, float* u2, \
         float* v2, float* w2, std::uint64_t nx, std::uint64_t ny, std::uint64_t nz) {{\n{cpp}\n}}\n"
    );
    for (compiler, strict, name, text) in
        [("gcc", &STRICT_C[..], "page.c", c), ("g++", &STRICT_CPP[..], "page.cpp", cpp)]
    {
        let source = folder.join(name);
        std::fs::write(&source, text).unwrap();
        // An example ends with its results.
        let options = ["-Wno-unused-but-set-variable", "-fsyntax-only", "-I"];
        let mut compiler = Command::new(compiler);
        run(compiler.args(strict).args(options).arg(root().join("include")).arg(&source));
    }
}

/// The device part of factz.hpp needs no CUDA header, and hands every argument on: a null pointer is refused
/// by name.
#[test]
#[ignore = "make test-all"]
fn device_functions_in_cpp_get_their_arguments() {
    needs!("gcc", "g++", "valgrind");
    let folder = fresh_folder("examples_c-device");
    let source = folder.join("device.cpp");
    let text = r#"#include <factz.hpp>
#include <cstdio>
template <class F> void names(F &&call)
{
    try {
        call();
        std::puts("accepted");
    } catch (const factz::error &e) {
        std::puts(e.what());
    }
}
int main()
{
    alignas(512) static float u[64], v[64];
    alignas(512) static std::byte dst[65536], work[1 << 20];
    static factz_report report;
    static factz_comparison comparison;
    static std::uint64_t count;
    static factz_info info;
    float *null = nullptr;
    const auto config = factz::relative_bound(1e-2);
    const auto field = factz::dense(u, v, 8, 8), other = factz::dense(u, null, 8, 8);
    const factz::bytes d(dst, sizeof dst), w(work, sizeof work), none(nullptr, sizeof work);
    names([&] { factz::enqueue_compress(factz::dense(null, v, 8, 8), config, d, w, &report, nullptr); });
    names([&] { factz::enqueue_compress(field, config, none, w, &report, nullptr); });
    names([&] { factz::enqueue_compress(field, config, d, none, &report, nullptr); });
    names([&] { factz::enqueue_compress(field, config, d, w, nullptr, nullptr); });
    names([&] { factz::enqueue_decompress({nullptr, 65536}, field, config, w, &report, nullptr); });
    names([&] { factz::enqueue_decompress({dst, sizeof dst}, other, config, w, &report, nullptr); });
    names([&] { factz::enqueue_inspect({nullptr, 65536}, &info, nullptr); });
    names([&] { factz::enqueue_critical_points(field, config, nullptr, 7, &count, w, nullptr); });
    names([&] { factz::enqueue_critical_points(field, config, nullptr, 0, nullptr, w, nullptr); });
    names([&] { factz::enqueue_compare(field, other, config, w, &comparison, nullptr); });
    names([&] { factz::enqueue_compare(field, field, config, w, nullptr, nullptr); });
    const auto volume = factz::dense(u, u + 8, v, 2, 2, 2), no_w = factz::dense(u, v, null, 2, 2, 2);
    names([&] { factz::enqueue_compress(no_w, config, d, w, &report, nullptr); });
    names([&] { factz::enqueue_compress(volume, config, none, w, &report, nullptr); });
    names([&] { factz::enqueue_compress(volume, config, d, none, &report, nullptr); });
    names([&] { factz::enqueue_decompress({nullptr, 65536}, volume, config, w, &report, nullptr); });
    names([&] { factz::enqueue_decompress({dst, sizeof dst}, no_w, config, w, &report, nullptr); });
    names([&] { factz::enqueue_decompress({dst, sizeof dst}, volume, config, w, nullptr, nullptr); });
    static factz_fix_report fix_report;
    const factz::const_bytes fix(dst, sizeof dst);
    names([&] { factz::enqueue_protect(field, other, config, d, w, &fix_report, nullptr); });
    names([&] { factz::enqueue_protect(field, field, config, none, w, &fix_report, nullptr); });
    names([&] { factz::enqueue_protect(no_w, volume, config, d, w, &fix_report, nullptr); });
    names([&] { factz::enqueue_protect(volume, volume, config, d, none, &fix_report, nullptr); });
    names([&] { factz::enqueue_apply({nullptr, 65536}, field, w, &fix_report, nullptr); });
    names([&] { factz::enqueue_apply(fix, other, w, &fix_report, nullptr); });
    names([&] { factz::enqueue_apply(fix, no_w, w, &fix_report, nullptr); });
    names([&] { factz::enqueue_apply(fix, volume, w, nullptr, nullptr); });
    const factz_sizes to = factz::compress_sizes(volume, config), from = factz::decompress_sizes(volume);
    const auto made = factz::protect_sizes(field, config), of_volume = factz::protect_sizes(volume, config);
    const bool less = factz::apply_sizes(field).workspace_bytes < made.workspace_bytes &&
        factz::apply_sizes(volume).workspace_bytes < of_volume.workspace_bytes;
    std::printf("sizes %d\n", less && to.workspace_bytes > from.workspace_bytes);
}
"#;
    std::fs::write(&source, text).unwrap();
    let [shared, ..] = linkings(&folder);
    let program = shared.compile("g++", &STRICT_CPP, &[&source]);
    let text = both(&run(&mut Command::new(&program)));
    let names =
        "u dst workspace report src v src points count other_v comparison w dst workspace src w report \
         other_v dst w workspace fix v w report";
    let (text, sizes) = text.trim_end().rsplit_once('\n').expect("lines");
    assert_eq!(sizes, "sizes 1");
    let names: Vec<_> = names.split(' ').collect();
    assert_eq!(text.lines().count(), names.len(), "{text}");
    for (line, name) in text.lines().zip(names) {
        assert!(line.contains(&format!("invalid argument: {name} is null")), "{name}: {line}");
    }
}
