//! No kernel depends on a floating-point mode: a device has none that a program could set, each instruction
//! says how it rounds and what it does with subnormal numbers. The code that nvcc makes with the flags of the
//! build has only instructions that round to nearest and keep subnormal numbers, but for those that are named
//! here with a reason.

use crate::support::{fresh_folder, root, run, skip};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// The oldest architecture and one with everything that newer ones have: the sources differ between them.
const ARCHITECTURES: [u32; 2] = [75, 90];

/// Instructions on floating-point values that may occur, besides comparisons, choices and moves.
const ALLOWED: [(&str, &str); 13] = [
    ("add.rn", "to nearest"),
    ("sub.rn", "to nearest"),
    ("mul.rn", "to nearest; with its rounding said, the assembler fuses it with nothing"),
    ("div.rn", "to nearest"),
    ("rcp.rn", "to nearest: 1 / x"),
    ("sqrt.rn", "to nearest"),
    ("fma.rn", "to nearest; only where the source asks for it (Real::fma), since -fmad=false"),
    ("cvt.rn", "to nearest: integers and doubles to floats"),
    ("cvt.rzi", "toward zero: the integer of a float, as C and Rust convert"),
    ("cvt.rm.f32.f64", "float_down (nearness.cuh): a distance that must not be larger than it is"),
    ("cvt.f64.f32", "exact"),
    ("cvt.rmi.f64.f64", "floor, exact: the cell of a refinement, as on the host"),
    ("min max abs neg", "exact; .NaN gives NaN where one of both is"),
];

/// An estimate of 2^32 / x for whole numbers from 1 to 2^23, none of which is subnormal, that is too small by
/// a known part; what takes it corrects the quotient exactly (reciprocal_below in ptx.cuh).
const ESTIMATE: [&str; 4] = ["cvt.rn.f32.u32", "rcp.approx.ftz.f32", "mul.rz.f32", "cvt.rzi.u32.f32"];

/// Instructions that compute nothing.
const MOVES: [&str; 11] =
    ["mov", "ld", "st", "ldu", "selp", "slct", "setp", "set", "shfl", "testp", "copysign"];

fn is_allowed(opcode: &str) -> bool {
    let parts: Vec<&str> = opcode.split('.').collect();
    if parts.iter().any(|part| matches!(*part, "ftz" | "approx" | "full" | "sat")) {
        return false;
    }
    if MOVES.contains(&parts[0]) {
        return true;
    }
    ALLOWED.iter().any(|(allowed, _)| match allowed.split(' ').collect::<Vec<_>>()[..] {
        [one] => opcode == one || opcode.strip_prefix(one).is_some_and(|rest| rest.starts_with('.')),
        ref several => {
            several.contains(&parts[0]) && parts[1..].iter().all(|p| ["NaN", "f32", "f64"].contains(p))
        }
    })
}

/// The instructions of a line: inline assembly has several.
fn opcodes(line: &str) -> impl Iterator<Item = &str> {
    let statements = line.trim().trim_matches(['{', '}']).split(';');
    statements.filter_map(|statement| {
        let mut words = statement.split_whitespace();
        let first = words.next()?;
        let opcode = if first.starts_with('@') { words.next()? } else { first };
        let types = ["f16", "bf16", "f32", "f64", "f16x2"];
        let is_instruction = opcode.starts_with(|c: char| c.is_ascii_lowercase());
        (is_instruction && opcode.split('.').any(|part| types.contains(&part))).then_some(opcode)
    })
}

/// Minima and maxima of integers with an operand that was negated just before. The assembler of CUDA 13.0 loses
/// the minus where it makes one instruction of two of them (VIMNMX3 of sm_90).
fn negated_extrema(code: &str) -> Vec<&str> {
    let (mut negated, mut found) = (BTreeSet::new(), Vec::new());
    for line in code.lines() {
        if line.contains(".entry") || line.contains(".func") {
            negated.clear();
        }
        let words: Vec<&str> = line.split_whitespace().skip_while(|word| word.starts_with('@')).collect();
        let operand = |k: usize| words.get(k).map_or("", |word| word.trim_end_matches([',', ';']));
        let opcode = operand(0);
        if opcode == "neg.s32" {
            negated.insert(operand(1));
        } else if ["min.s32", "max.s32", "min.u32", "max.u32"].contains(&opcode)
            && [2, 3].iter().any(|&k| negated.contains(operand(k)))
        {
            found.push(line.trim());
        }
    }
    found
}

#[test]
fn minima_of_negated_numbers_are_found() {
    let code = ".func f(\nneg.s32 \t%r2, %r1;\nmin.s32 \t%r3, %r4, %r2;\n@%p1 max.s32 %r5, %r2, %r4;\n\
                max.s32 %r6, %r3, %r4;\n.func g(\nmin.s32 %r3, %r4, %r2;";
    assert_eq!(negated_extrema(code), ["min.s32 \t%r3, %r4, %r2;", "@%p1 max.s32 %r5, %r2, %r4;"]);
}

#[test]
fn what_is_allowed() {
    for good in "add.rn.f32 cvt.rm.f32.f64 max.NaN.f32 cvt.rzi.s32.f64 setp.lt.f32 fma.rn.f64".split(' ') {
        assert!(is_allowed(good), "{good}");
    }
    let bad = "add.f32 mul.f64 fma.rz.f32 div.approx.f32 div.full.f32 add.rn.ftz.f32 setp.lt.ftz.f32 \
               cvt.rz.f32.f64 cvt.rm.f64.s64 min.ftz.f32 sqrt.approx.f32 ex2.approx.f32 cvt.rni.f32.f32";
    for bad in bad.split(' ') {
        assert!(!is_allowed(bad), "{bad}");
    }
    let line = "\t@%p3 fma.rn.f32 %f1, %f2, %f3, %f4;";
    assert_eq!(opcodes(line).collect::<Vec<_>>(), ["fma.rn.f32"]);
    assert_eq!(
        opcodes("{.reg .f32 q; rcp.approx.ftz.f32 q, q;}").collect::<Vec<_>>(),
        ["rcp.approx.ftz.f32"]
    );
}

#[test]
#[ignore = "make test-all"]
fn kernels_round_to_nearest_and_keep_subnormal_numbers() {
    let (Some(nvcc), Some(arithmetic)) =
        (option_env!("FACTZ_TEST_NVCC"), option_env!("FACTZ_TEST_ARITHMETIC"))
    else {
        skip("no nvcc");
        return;
    };
    let flags: BTreeSet<&str> = arithmetic.split(' ').collect();
    for flag in ["-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true"] {
        assert!(flags.contains(flag), "{flag} is not among {arithmetic}");
    }
    let folder = fresh_folder("kernel_modes");
    for architecture in ARCHITECTURES {
        let code = folder.join(format!("{architecture}.ptx"));
        run(Command::new(nvcc)
            .current_dir(root())
            .args(["-ptx", "-std=c++17", "-O3", "-Ikernels"])
            .args(&flags)
            .arg(format!("-gencode=arch=compute_{architecture},code=compute_{architecture}"))
            .arg("kernels/factz.cu")
            .arg("-o")
            .arg(&code));
        check(&code);
    }
}

fn check(code: &Path) {
    let text = std::fs::read_to_string(code).expect("nvcc wrote it");
    let (mut counts, mut estimates) = (BTreeMap::<&str, u64>::new(), 0);
    for line in text.lines() {
        let found: Vec<&str> = opcodes(line).collect();
        if found == ESTIMATE {
            estimates += 1;
            continue;
        }
        for opcode in found {
            *counts.entry(opcode).or_default() += 1;
        }
    }
    println!("{}: {counts:#?}, {estimates} estimates", code.display());
    let negated = negated_extrema(&text);
    assert!(negated.is_empty(), "{}: {negated:?}", code.display());
    let other: Vec<_> = counts.keys().filter(|opcode| !is_allowed(opcode)).collect();
    assert!(other.is_empty(), "{}: {other:?}", code.display());
    // It was read rightly: this much there is.
    assert!(counts["mul.rn.f64"] > 500 && counts["add.rn.f32"] > 300 && estimates > 0, "{counts:?}");
}
