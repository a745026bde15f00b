//! Fixes through the C interface and on the command line.

use crate::protect::{applied, example};
use factz::{inspect_fix, Config};

// ---------------------------------------------------------------- the C interface

mod c {
    use super::*;
    use crate::support::capi::{config_of, expect, ok};
    use factz::capi::config::*;
    use factz::capi::protect::*;
    use factz::capi::status::*;
    use std::ffi::c_void;
    use std::mem::MaybeUninit;
    use std::ptr::{null, null_mut};

    /// Interleaved originals, a dense reconstruction, and a frame of ghosts around the result.
    #[test]
    fn layouts_and_answers_are_those_of_the_library() {
        let (config, field, other, expected) = example();
        let (nx, ny, n) = (config.nx as usize, config.ny as usize, field.len());
        let dense = config_of(nx, ny, FACTZ_BOUND_ABSOLUTE, config.bound);
        let interleaved: Vec<f32> = field.vertices().flatten().collect();
        let strided = factz_config { u_stride: 2, v_stride: 2, ..dense };
        let [u1, v1] = other.components.each_ref().map(|c| c.as_ptr().cast::<c_void>());
        let mut report = MaybeUninit::<factz_fix_report>::uninit();
        let mut protect = |dst: &mut [u8], n: usize, threads: i32| {
            let (u, v) = (interleaved.as_ptr(), interleaved[1..].as_ptr());
            let target = if dst.is_empty() { null_mut() } else { dst.as_mut_ptr().cast() };
            // SAFETY: all pointers are those of live arrays of this size.
            let status = unsafe {
                factz_protect_host(
                    u.cast(),
                    v.cast(),
                    n,
                    &strided,
                    u1,
                    v1,
                    &dense,
                    target,
                    dst.len(),
                    report.as_mut_ptr(),
                    threads,
                )
            };
            // SAFETY: every call writes the report.
            (status, unsafe { report.assume_init() })
        };
        let (status, found) = protect(&mut [], n, 1);
        expect(status, FACTZ_ERROR_BUFFER_TOO_SMALL, "dst_bytes = 0 is too small");
        assert_eq!((found.required_bytes, found.fix_bytes), (expected.len() as u64, 0));
        let mut fix = vec![0; found.required_bytes as usize];
        let (status, found) = protect(&mut fix, n, 2);
        ok(status);
        assert!(fix == expected && found.fix_bytes == fix.len() as u64 && found.violated_triangles > 0);
        expect(protect(&mut fix, n + 1, 1).0, FACTZ_ERROR_INVALID_ARGUMENT, "is not nx * ny");
        expect(protect(&mut fix, n, -1).0, FACTZ_ERROR_INVALID_ARGUMENT, "threads = -1");

        let mut info = factz_fix_info::default();
        // SAFETY: the pointers are those of live values.
        ok(unsafe { factz_inspect_fix_host(fix.as_ptr().cast(), fix.len(), &mut info) });
        assert_eq!((info.nx, info.ny), (config.nx, config.ny));
        assert_eq!(info.repaired_vertices, found.repaired_vertices);
        assert_eq!((info.max_error, info.absolute_bound), (found.max_error, config.bound));
        // SAFETY: as above.
        let status = unsafe { factz_inspect_fix_host(fix.as_ptr().cast(), 100, &mut info) };
        expect(status, FACTZ_ERROR_CORRUPT_STREAM, "less than a header");
        assert_eq!((info.status, info.nx), (FACTZ_ERROR_CORRUPT_STREAM, 0));

        // In place, inside wider rows.
        let pitch = nx + 3;
        let wide = factz_config { u_pitch: pitch as u64, v_pitch: pitch as u64, ..dense };
        let [mut u, mut v] = other.components.each_ref().map(|component| {
            let rows = component.chunks(nx).flat_map(|row| [row, &[7.0; 3]].concat());
            rows.collect::<Vec<f32>>()
        });
        let mut apply = |fix: &[u8]| {
            let mut report = MaybeUninit::<factz_fix_report>::uninit();
            let (u, v) = (u.as_mut_ptr().cast(), v.as_mut_ptr().cast());
            // SAFETY: all pointers are those of live arrays of this size.
            unsafe {
                factz_apply_host(fix.as_ptr().cast(), fix.len(), &wide, u, v, n, report.as_mut_ptr(), 1)
            }
        };
        expect(apply(&fix[..fix.len() - 4]), FACTZ_ERROR_CORRUPT_STREAM, "its header says");
        ok(apply(&fix));
        expect(apply(&fix), FACTZ_ERROR_INVALID_ARGUMENT, "another reconstruction");
        let after = applied(&config, &fix, &other);
        for (found, expected) in [u, v].iter().zip(&after.components) {
            for (row, expected) in found.chunks(pitch).zip(expected.chunks(nx)) {
                assert_eq!(&row[..nx], expected);
                assert_eq!(row[nx..], [7.0; 3]);
            }
        }
    }

    #[test]
    fn pointers_are_checked() {
        let (config, field, _, fix) = example();
        let c = config_of(config.nx as usize, config.ny as usize, FACTZ_BOUND_ABSOLUTE, config.bound);
        let n = field.len();
        let [mut u, mut v] = field.components.clone();
        let (pu, pv): (*mut c_void, *mut c_void) = (u.as_mut_ptr().cast(), v.as_mut_ptr().cast());
        let mut report = MaybeUninit::<factz_fix_report>::uninit();
        // SAFETY: the pointers are null or those of live arrays of this size.
        unsafe {
            let mut apply = |fix: *const c_void, bytes, u, v| {
                factz_apply_host(fix, bytes, &c, u, v, n, report.as_mut_ptr(), 1)
            };
            expect(apply(null(), 5, pu, pv), FACTZ_ERROR_INVALID_ARGUMENT, "fix is null (fix_bytes = 5)");
            let (start, length) = (fix.as_ptr().cast(), fix.len());
            expect(apply(start, length, null_mut(), pv), FACTZ_ERROR_INVALID_ARGUMENT, "u is null");
            expect(apply(start, length, pu, pu), FACTZ_ERROR_INVALID_ARGUMENT, "share values");
            expect(apply(pu, fix.len().min(4 * n), pu, pv), FACTZ_ERROR_INVALID_ARGUMENT, "overlaps");
            let mut protect = |dst: *mut c_void, bytes, other: *const factz_config| {
                let report = report.as_mut_ptr();
                factz_protect_host(pu, pv, n, &c, pu, pv, other, dst, bytes, report, 1)
            };
            expect(protect(null_mut(), 4, null()), FACTZ_ERROR_INVALID_ARGUMENT, "dst is null");
            expect(protect(pu, 4 * n, null()), FACTZ_ERROR_INVALID_ARGUMENT, "overlaps");
            let other = config_of(3, 3, FACTZ_BOUND_ABSOLUTE, 1.0);
            let mut room = vec![0u8; 128 + 8 * n];
            let (dst, bytes) = (room.as_mut_ptr().cast(), room.len());
            expect(protect(dst, bytes, &other), FACTZ_ERROR_INVALID_ARGUMENT, "other_config describes 3 x 3");
            ok(protect(dst, bytes, null()));
        }
    }

    #[test]
    fn the_report_says_where_a_reconstruction_leaves_the_bound() {
        let (config, field, mut other, fix) = example();
        let c = config_of(config.nx as usize, config.ny as usize, FACTZ_BOUND_ABSOLUTE, config.bound);
        let n = field.len();
        for vertex in [n / 2, n - 1] {
            other.components[1][vertex] += 1.0 + 3.0 * config.bound as f32;
        }
        let mut room = vec![0u8; fix.len() + 128 + 8 * n];
        let mut report = MaybeUninit::<factz_fix_report>::uninit();
        let [[u, v], [u1, v1]] =
            [&field, &other].map(|f| f.components.each_ref().map(|c| c.as_ptr().cast::<c_void>()));
        let (dst, bytes) = (room.as_mut_ptr().cast(), room.len());
        // SAFETY: the pointers are those of live arrays of this size.
        let status =
            unsafe { factz_protect_host(u, v, n, &c, u1, v1, null(), dst, bytes, report.as_mut_ptr(), 1) };
        expect(status, FACTZ_ERROR_INVALID_ARGUMENT, "leaves the bound");
        // SAFETY: every call writes the report.
        let report = unsafe { report.assume_init() };
        assert_eq!((report.status, report.fix_bytes), (FACTZ_ERROR_INVALID_ARGUMENT, 0));
        assert_eq!((report.vertices_outside, report.first_outside), (2, n as u64 / 2));
    }
}

// ---------------------------------------------------------------- the command line

#[cfg(feature = "cli")]
mod command_line {
    use super::*;
    use crate::support::cli::{npy, text, Folder};

    /// A folder with the example: the original in u.f32 and v.f32, the reconstruction in u1.f32 and v1.f32.
    fn folder(name: &str) -> (Folder, Config, Vec<u8>) {
        let (config, field, other, fix) = example();
        let f = Folder::new(name);
        for (suffix, field) in [("", &field), ("1", &other)] {
            for (component, bytes) in ["u", "v"].iter().zip(field.bytes()) {
                f.write(&format!("{component}{suffix}.f32"), &bytes);
            }
        }
        (f, config, fix)
    }

    #[test]
    fn protect_apply_and_verify_go_together() {
        let (f, config, fix) = folder("protect");
        let options = format!("--dims {}x{} --abs {:e}", config.nx, config.ny, config.bound);
        let made = f.json(&format!("protect u.f32 v.f32 u1.f32 v1.f32 -o flow.fix {options}"));
        assert!(f.read("flow.fix") == fix);
        let info = inspect_fix(&fix).unwrap();
        for (name, number) in [
            ("fix_bytes", fix.len() as u64),
            ("repaired_vertices", info.repaired_vertices),
            ("exact_vertices", info.exact_vertices),
        ] {
            assert_eq!(made[name].as_u64(), Some(number), "{name}");
        }
        let files = "u.f32 v.f32 u1.f32 v1.f32";
        let said = f.succeeds(&format!("protect {files} -o again.fix {options} --threads 1"));
        assert!(said.contains("repaired") && said.contains("round") && f.read("again.fix") == fix, "{said}");
        assert_eq!(f.factz(&format!("verify u.f32 v.f32 u1.f32 v1.f32 {options}")).status.code(), Some(1));
        f.succeeds("apply flow.fix u1.f32 v1.f32 u2.f32 v2.f32");
        let kept = f.succeeds(&format!("verify u.f32 v.f32 u2.f32 v2.f32 {options}"));
        assert!(kept.starts_with("Kept"), "{kept}");
        // A file with both components, and the reconstruction replaced in place.
        f.succeeds("apply flow.fix u1.f32 v1.f32 both.npz --quiet");
        let shown = f.json("info flow.fix");
        assert_eq!(shown["fix"], true);
        assert_eq!(shown["repaired_vertices"].as_u64(), Some(info.repaired_vertices));
        let text = f.succeeds("info flow.fix");
        assert!(text.contains("fix for") && text.contains("format version  1"), "{text}");
        f.succeeds("apply flow.fix u1.f32 v1.f32 u1.f32 v1.f32");
        assert!(f.read("u1.f32") == f.read("u2.f32") && f.read("v1.f32") == f.read("v2.f32"));
    }

    #[test]
    fn mistakes_are_told() {
        let (f, config, _) = folder("protect-mistakes");
        let dims = format!("--dims {}x{}", config.nx, config.ny);
        let options = format!("{dims} --abs {:e}", config.bound);
        f.succeeds(&format!("protect u.f32 v.f32 u1.f32 v1.f32 -o flow.fix {options}"));
        let files = "u.f32 v.f32 u1.f32 v1.f32";
        f.fails(&format!("protect {files} -o x.fix {dims}"), &["a bound is missing"]);
        f.fails(&format!("protect {files} -o x.fix {dims} --abs 1e-9"), &["leaves the bound", "at vertex ("]);
        f.fails(&format!("protect {files} -o u1.f32 {options}"), &["-o u1.f32: is an input"]);
        f.fails("apply flow.fix u.f32 v.f32 u2.f32 v2.f32", &["flow.fix", "another reconstruction"]);
        f.fails("apply flow.fix u1.f32", &["required"]);
        f.fails(
            "apply flow.fix u1.f32 v1.f32 u1.f32 u2.f32 v2.f32 u3.f32",
            &["the number of files is 6", "flow.fix belongs to planes", "U1 V1 U2 V2"],
        );
        f.fails("apply u.f32 u1.f32 v1.f32 u2.f32 v2.f32", &["u.f32", "FCTR"]);
        f.fails("decompress flow.fix u2.f32 v2.f32", &["is a fix", "no factz stream"]);
        f.fails(&format!("compress flow.fix v.f32 -o x.fz {options}"), &["is a fix", "factz apply"]);
        let mut damaged = f.read("flow.fix");
        *damaged.last_mut().unwrap() ^= 1;
        f.write("damaged.fix", &damaged);
        f.fails("apply damaged.fix u1.f32 v1.f32 u2.f32 v2.f32", &["damaged.fix", "checksum"]);
        // The fix tells shape and type: no option does.
        let (nx, ny) = (config.nx, config.ny);
        let of_fix = format!("flow.fix belongs to {nx}x{ny} values of f32: give the reconstruction");
        let both = [f.read("u1.f32"), f.read("v1.f32")].concat();
        f.write("both", &both);
        f.write("four", &both.repeat(2));
        f.write("both.npy", &npy("<f4", &format!("(2, {nx}, {ny})"), &both));
        f.write("wide.npy", &npy("<f8", &format!("({ny}, {nx})"), &both));
        for (files, part) in [
            ("both both u2.f32 v2.f32", format!("both: has {} bytes", both.len())),
            ("four u2.f32", format!("four: has {} bytes", 2 * both.len())),
            ("both.npy u2.f32", format!("both.npy: holds {ny}x{nx} values of f32, and ")),
            ("wide.npy wide.npy u2.f32 v2.f32", format!("wide.npy: holds {nx}x{ny} values of f64, and ")),
        ] {
            let line = format!("apply flow.fix {files}");
            f.fails(&line, &[&part, &of_fix]);
            let error = text(&f.factz(&line).stderr);
            assert!(!error.contains("--d"), "apply has no --dims and no --dtype: {error}");
        }
        f.write("volume.npy", &npy("<f4", "(3, 4, 5, 6)", &[0; 1440]));
        f.fails(
            "apply flow.fix volume.npy u2.f32",
            &["volume.npy: holds three components", "flow.fix belongs to two"],
        );
        assert!(!f.names().contains(&"u2.f32".to_owned()) && !f.names().contains(&"x.fix".to_owned()));
    }
}
