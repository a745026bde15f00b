//! Fixes of volumes through the C interface and on the command line.

use crate::protect_volumes::{applied, example};
use crate::volumes::Volume;

/// The components of every vertex in turn.
fn interleaved(volume: &Volume<f32>) -> Vec<f32> {
    let [u, v, w] = &volume.components;
    (0..u.len()).flat_map(|k| [u[k], v[k], w[k]]).collect()
}

// ---------------------------------------------------------------- the C interface

mod c {
    use super::*;
    use crate::support::capi::{expect, ok};
    use factz::capi::config::*;
    use factz::capi::protect::*;
    use factz::capi::protect_volume::*;
    use factz::capi::status::*;
    use factz::capi::volume::{factz_compress_volume_host, factz_volume_stream_bytes};
    use std::ffi::c_void;
    use std::mem::MaybeUninit;
    use std::ptr::{null, null_mut};

    fn config_of([nx, ny, nz]: [u64; 3], bound: f64) -> factz_config {
        let mut config = MaybeUninit::uninit();
        // SAFETY: the pointer is that of a struct.
        ok(unsafe { factz_config_init_volume(config.as_mut_ptr(), nx, ny, nz, FACTZ_BOUND_ABSOLUTE, bound) });
        // SAFETY: the call filled it.
        unsafe { config.assume_init() }
    }

    /// Addresses of u, v and w that lie between each other.
    fn first_three(values: &[f32]) -> [*const c_void; 3] {
        [0, 1, 2].map(|c| values[c..].as_ptr().cast())
    }

    #[test]
    fn layouts_and_answers_are_those_of_the_library() {
        let (config, volume, other, expected) = example();
        let n = volume.components[0].len();
        let dense = config_of(volume.sizes, config.bound);
        let original = interleaved(&volume);
        let strided = factz_config { u_stride: 3, v_stride: 3, w_stride: 3, ..dense };
        let [u, v, w] = first_three(&original);
        let [u1, v1, w1] = other.components.each_ref().map(|c| c.as_ptr().cast::<c_void>());
        let mut most = 0;
        // SAFETY: the pointers are those of live values.
        ok(unsafe { factz_volume_stream_bytes(&dense, &mut most) });
        assert!(most >= expected.len() as u64);
        let mut report = MaybeUninit::<factz_fix_report>::uninit();
        let mut protect = |dst: &mut [u8], n: usize, threads: i32| {
            let (bytes, report) = (dst.len(), report.as_mut_ptr());
            let dst = if bytes == 0 { null_mut() } else { dst.as_mut_ptr().cast() };
            // SAFETY: all pointers are those of live arrays of this size, and the call writes the report.
            unsafe {
                let status = factz_protect_volume_host(
                    u, v, w, n, &strided, u1, v1, w1, &dense, dst, bytes, report, threads,
                );
                (status, *report)
            }
        };
        let (status, found) = protect(&mut [], n, 1);
        expect(status, FACTZ_ERROR_BUFFER_TOO_SMALL, "dst_bytes = 0 is too small");
        assert_eq!((found.required_bytes, found.fix_bytes), (expected.len() as u64, 0));
        let mut fix = vec![0; most as usize];
        let (status, found) = protect(&mut fix, n, 2);
        ok(status);
        fix.truncate(found.fix_bytes as usize);
        assert!(fix == expected && found.violated_triangles > 0);
        expect(protect(&mut fix, n + 1, 1).0, FACTZ_ERROR_INVALID_ARGUMENT, "is not nx * ny * nz");
        expect(protect(&mut fix, n, -1).0, FACTZ_ERROR_INVALID_ARGUMENT, "threads = -1");

        let mut info = factz_fix_info::default();
        // SAFETY: the pointers are those of live values.
        ok(unsafe { factz_inspect_fix_host(fix.as_ptr().cast(), 136, &mut info) });
        assert_eq!([info.nx, info.ny, info.nz], volume.sizes);
        assert_eq!((info.components, info.dz, info.repaired_vertices), (3, 1.0, found.repaired_vertices));
        // SAFETY: as above.
        let status = unsafe { factz_inspect_fix_host(fix.as_ptr().cast(), 130, &mut info) };
        expect(status, FACTZ_ERROR_CORRUPT_STREAM, "less than a header of 136");

        // In place, between each other.
        let mut values = interleaved(&other);
        let mut apply = |fix: &[u8]| {
            let mut report = MaybeUninit::<factz_fix_report>::uninit();
            let u = values.as_mut_ptr();
            let [u, v, w] = [0, 1, 2].map(|c| u.wrapping_add(c).cast::<c_void>());
            let report = report.as_mut_ptr();
            // SAFETY: all pointers are those of live arrays of this size.
            unsafe {
                factz_apply_volume_host(fix.as_ptr().cast(), fix.len(), &strided, u, v, w, n, report, 1)
            }
        };
        expect(apply(&fix[..fix.len() - 4]), FACTZ_ERROR_CORRUPT_STREAM, "its header says");
        ok(apply(&fix));
        expect(apply(&fix), FACTZ_ERROR_INVALID_ARGUMENT, "another reconstruction");
        assert!(values == interleaved(&applied(&config, &fix, &other)));
    }

    /// Ghosts in a frame around the original are read, and are part of what outputs must not overlap.
    #[test]
    fn ghosts_are_read_where_halo_says() {
        let (config, volume, _, _) = example();
        let [nx, ny, nz] = volume.sizes;
        let inner = [nx - 2, ny - 2, nz - 2];
        let other = volume.part([1; 3], inner);
        let n = other.components[0].len();
        let dense = config_of(inner, config.bound);
        let framed = factz_config {
            u_pitch: nx,
            v_pitch: nx,
            w_pitch: nx,
            plane_rows: ny,
            halo: FACTZ_SIDES_ALL_OF_VOLUME,
            ..dense
        };
        let first = ((ny + 1) * nx + 1) as usize;
        let [u, v, w] = volume.components.each_ref().map(|c| c[first..].as_ptr().cast::<c_void>());
        let [u1, v1, w1] = other.components.each_ref().map(|c| c.as_ptr().cast::<c_void>());
        let mut report = MaybeUninit::<factz_fix_report>::uninit();
        let mut room = vec![0u8; 176 + 12 * n];
        let mut compressed = MaybeUninit::uninit();
        // SAFETY: all pointers are those of live arrays of this size.
        unsafe {
            let mut protect = |dst: *mut c_void, bytes, other: *const factz_config| {
                let report = report.as_mut_ptr();
                factz_protect_volume_host(u, v, w, n, &framed, u1, v1, w1, other, dst, bytes, report, 1)
            };
            ok(protect(room.as_mut_ptr().cast(), room.len(), &dense));
            // The first and the last ghost of u are no place for the fix.
            let all = &volume.components[0];
            for ghost in [&all[0], &all[all.len() - 1]] {
                let dst = std::ptr::from_ref(ghost).cast::<c_void>().cast_mut();
                expect(protect(dst, 4, &dense), FACTZ_ERROR_INVALID_ARGUMENT, "overlaps");
                let report = compressed.as_mut_ptr();
                let status = factz_compress_volume_host(u, v, w, n, &framed, dst, 4, report, 1);
                expect(status, FACTZ_ERROR_INVALID_ARGUMENT, "overlaps");
            }
            let (dst, bytes) = (room.as_mut_ptr().cast(), room.len());
            ok(factz_compress_volume_host(u, v, w, n, &framed, dst, bytes, compressed.as_mut_ptr(), 1));
        }
    }

    #[test]
    fn pointers_and_configurations_are_checked() {
        let (config, volume, _, fix) = example();
        let c = config_of(volume.sizes, config.bound);
        let n = volume.components[0].len();
        let [mut u, mut v, mut w] = volume.components.clone();
        let [pu, pv, pw] = [&mut u, &mut v, &mut w].map(|c| c.as_mut_ptr().cast::<c_void>());
        let mut report = MaybeUninit::<factz_fix_report>::uninit();
        // SAFETY: the pointers are null or those of live arrays of this size.
        unsafe {
            let mut apply =
                |fix: *const c_void, bytes, [u, v, w]: [*mut c_void; 3], c: *const factz_config| {
                    factz_apply_volume_host(fix, bytes, c, u, v, w, n, report.as_mut_ptr(), 1)
                };
            let all = [pu, pv, pw];
            expect(apply(null(), 5, all, &c), FACTZ_ERROR_INVALID_ARGUMENT, "fix is null (fix_bytes = 5)");
            let (start, length) = (fix.as_ptr().cast(), fix.len());
            let missing = apply(start, length, [pu, pv, null_mut()], &c);
            expect(missing, FACTZ_ERROR_INVALID_ARGUMENT, "w is null");
            expect(apply(start, length, [pu, pv, pu], &c), FACTZ_ERROR_INVALID_ARGUMENT, "share values");
            expect(apply(pw, 4 * n, all, &c), FACTZ_ERROR_INVALID_ARGUMENT, "overlaps");
            let planes = factz_config { components: 2, mode: 0, ..c };
            expect(apply(start, length, all, &planes), FACTZ_ERROR_INVALID_CONFIG, "components = 2");
            let mut protect = |dst: *mut c_void, bytes, other: *const factz_config| {
                let report = report.as_mut_ptr();
                factz_protect_volume_host(pu, pv, pw, n, &c, pu, pv, pw, other, dst, bytes, report, 1)
            };
            expect(protect(null_mut(), 4, null()), FACTZ_ERROR_INVALID_ARGUMENT, "dst is null");
            expect(protect(pw, 4 * n, null()), FACTZ_ERROR_INVALID_ARGUMENT, "overlaps");
            let other = config_of([3, 3, 3], 1.0);
            let mut room = vec![0u8; 136 + 12 * n];
            let (dst, bytes) = (room.as_mut_ptr().cast(), room.len());
            expect(
                protect(dst, bytes, &other),
                FACTZ_ERROR_INVALID_ARGUMENT,
                "other_config describes 3 x 3 x 3",
            );
            ok(protect(dst, bytes, null()));
            // The report says where a reconstruction leaves the bound.
            let mut other = volume.components[2].clone();
            other[n - 2] += 1.0 + 3.0 * config.bound as f32;
            let (w1, report) = (other.as_ptr().cast(), report.as_mut_ptr());
            let status =
                factz_protect_volume_host(pu, pv, pw, n, &c, pu, pv, w1, null(), dst, bytes, report, 1);
            expect(status, FACTZ_ERROR_INVALID_ARGUMENT, "leaves the bound");
            assert_eq!(((*report).vertices_outside, (*report).first_outside), (1, n as u64 - 2));
        }
    }
}

// ---------------------------------------------------------------- the command line

#[cfg(feature = "cli")]
mod command_line {
    use super::*;
    use crate::protect_volumes::bytes_of;
    use crate::support::cli::{npy, Folder};
    use crate::volumes::assert_kept;
    use factz::{inspect_fix, Config, PERIODIC_Z};

    /// A folder with the example: the original in u.f32 to w.f32, the reconstruction in u1.f32 to w1.f32.
    fn folder(name: &str) -> (Folder, Config, Volume<f32>, Vec<u8>) {
        let (config, volume, other, fix) = example();
        let f = Folder::new(name);
        for (suffix, volume) in [("", &volume), ("1", &other)] {
            let bytes = bytes_of(volume);
            for (component, bytes) in ["u", "v", "w"].iter().zip(bytes.chunks(bytes.len() / 3)) {
                f.write(&format!("{component}{suffix}.f32"), bytes);
            }
        }
        (f, config, volume, fix)
    }

    /// The volume in three files.
    fn read(f: &Folder, names: [&str; 3], sizes: [u64; 3]) -> Volume<f32> {
        let components = names.map(|name| {
            let bytes = f.read(name);
            bytes.chunks(4).map(|x| f32::from_le_bytes(x.try_into().unwrap())).collect()
        });
        Volume { sizes, components }
    }

    const FILES: &str = "u.f32 v.f32 w.f32 u1.f32 v1.f32 w1.f32";

    #[test]
    fn protect_and_apply_go_together() {
        let (f, config, volume, fix) = folder("protect-volume");
        let options = format!("--dims {}x{}x{} --abs {:e}", config.nx, config.ny, config.nz, config.bound);
        let made = f.json(&format!("protect {FILES} -o flow.fix {options}"));
        assert!(f.read("flow.fix") == fix);
        let info = inspect_fix(&fix).unwrap();
        assert_eq!(made["repaired_vertices"].as_u64(), Some(info.repaired_vertices));
        let said = f.succeeds(&format!("protect {FILES} -o again.fix {options} --threads 1"));
        assert!(said.contains("tetrahedra changed") && f.read("again.fix") == fix, "{said}");
        f.succeeds("apply flow.fix u1.f32 v1.f32 w1.f32 u2.f32 v2.f32 w2.f32");
        let after = read(&f, ["u2.f32", "v2.f32", "w2.f32"], volume.sizes);
        assert_kept("cli-fix", [&volume, &after], &config, config.bound);
        let shown = f.json("info flow.fix");
        assert_eq!((shown["components"].as_u64(), shown["dz"].as_f64()), (Some(3), Some(1.0)));
        let text = f.succeeds("info flow.fix");
        assert!(text.contains("a volume, u, v and w") && text.contains("1, 1, 1"), "{text}");
        for name in ["u1", "v1", "w1"] {
            f.write(&format!("{name}.old"), &f.read(&format!("{name}.f32")));
        }
        // The reconstruction replaced in place.
        let applied = f.json("apply flow.fix u1.f32 v1.f32 w1.f32 u1.f32 v1.f32 w1.f32");
        assert_eq!(applied["repaired_vertices"].as_u64(), Some(info.repaired_vertices));
        assert!(f.read("w1.f32") == f.read("w2.f32"));
        // One file with all components.
        let all = bytes_of(&after);
        f.write("all1.f32", &[f.read("u1.old"), f.read("v1.old"), f.read("w1.old")].concat());
        let applied = f.json("apply flow.fix all1.f32 all2.f32");
        assert!(f.read("all2.f32") == all && applied["u"] == "all2.f32" && applied["w"].is_null());
        f.succeeds("apply flow.fix all1.f32 all2.npz");
        f.succeeds("compress all2.npz -o all2.fz --mode repair --abs 0");
        f.succeeds("decompress all2.fz all3.f32");
        assert!(f.read("all3.f32") == all);
    }

    /// The device makes the same fix and the same values; without one `--backend cuda` is refused.
    #[test]
    fn backends_give_the_same() {
        let (f, config, _, fix) = folder("protect-volume-backends");
        let options = format!("--dims {}x{}x{} --abs {:e}", config.nx, config.ny, config.nz, config.bound);
        let has_device = factz::device::available().is_ok();
        let made = ["flow.fix", "u2.f32", "v2.f32", "w2.f32"];
        let mut expected = None;
        for backend in ["cpu", "auto", "cuda"] {
            made.iter().for_each(|name| drop(std::fs::remove_file(f.0.join(name))));
            let commands = [
                format!("protect {FILES} -o flow.fix {options} --backend {backend}"),
                format!("apply flow.fix u1.f32 v1.f32 w1.f32 u2.f32 v2.f32 w2.f32 --backend {backend}"),
            ];
            if backend == "cuda" && !has_device {
                f.write("flow.fix", &fix);
                commands.iter().for_each(|command| {
                    f.fails(command, &["--backend cuda", "no CUDA device", "--backend cpu"]);
                });
                continue;
            }
            let place = if has_device && backend != "cpu" { "cuda" } else { "cpu" };
            commands.iter().for_each(|command| assert_eq!(f.json(command)["backend"], place, "{command}"));
            assert!(f.read("flow.fix") == fix, "{backend}");
            let values = made.map(|name| f.read(name));
            assert!(*expected.get_or_insert(values.clone()) == values, "{backend}");
        }
    }

    /// One file with all components takes the place of three, of the original and of the reconstruction.
    #[test]
    fn volumes_in_one_file_are_protected() {
        let (f, config, _, fix) = folder("protect-volume-one-file");
        let [nx, ny, nz] = [config.nx, config.ny, config.nz];
        let (dims, bound) = (format!("--dims {nx}x{ny}x{nz}"), format!("--abs {:e}", config.bound));
        for suffix in ["", "1"] {
            let components = ["u", "v", "w"].map(|name| f.read(&format!("{name}{suffix}.f32")));
            f.write(
                &format!("all{suffix}.npy"),
                &npy("<f4", &format!("(3, {nz}, {ny}, {nx})"), &components.concat()),
            );
            f.succeeds(&format!(
                "compress all{suffix}.npy -o exact{suffix}.fz --mode repair --abs 0 --preserve none"
            ));
            f.succeeds(&format!("decompress exact{suffix}.fz all{suffix}.npz"));
        }
        for files in [
            "all.npy all1.npy".to_owned(),
            "all.npz all1.npy --keys u,v,w".to_owned(),
            "all.npy exact1.fz".to_owned(),
            format!("u.f32 v.f32 w.f32 all1.npz {dims}"),
            "all.npy u1.f32 v1.f32 w1.f32".to_owned(),
        ] {
            f.succeeds(&format!("protect {files} -o one.fix {bound}"));
            assert!(f.read("one.fix") == fix, "{files}");
        }
        f.succeeds("apply one.fix all1.npy all2.npy");
        let kept = f.succeeds(&format!("verify all.npy all2.npy {bound}"));
        assert!(kept.starts_with("Kept: "), "{kept}");
        // Two names are those of planes.
        let planes = f.succeeds(&format!("protect all.npz all1.npz --keys u,v -o planes.fix {bound}"));
        assert!(planes.contains("triangle"), "{planes}");
        f.fails(&format!("protect all.npy u1.f32 v1.f32 -o x.fix {bound}"), &["number of files is 3"]);
        f.fails("protect all.npy all1.npy -o x.fix --abs 1e-9", &["leaves the bound", "at vertex ("]);
    }

    /// A stream that preserves nothing takes the place of the reconstruction; its header says what options do not.
    #[test]
    fn a_stream_is_a_reconstruction() {
        let (f, config, volume, _) = folder("protect-volume-stream");
        let dims = format!("--dims {}x{}x{}", config.nx, config.ny, config.nz);
        let place = "--periodic z --spacing 1,-2 --dz -0.5";
        let none = format!("{dims} {place} --abs 0.4 --preserve none");
        f.succeeds(&format!("compress u.f32 v.f32 w.f32 -o none.fz {none}"));
        f.succeeds("decompress none.fz u3.f32 v3.f32 w3.f32");
        f.succeeds("protect u.f32 v.f32 w.f32 none.fz -o stream.fix --abs 0.4");
        let arrays = "u.f32 v.f32 w.f32 u3.f32 v3.f32 w3.f32";
        f.succeeds(&format!("protect {arrays} -o arrays.fix {dims} {place} --abs 0.4"));
        assert!(f.read("stream.fix") == f.read("arrays.fix"));
        let info = inspect_fix(&f.read("stream.fix")).unwrap();
        assert_eq!((info.dy, info.dz, info.periodic), (-2.0, -0.5, PERIODIC_Z));
        f.succeeds("apply stream.fix u3.f32 v3.f32 w3.f32 u4.f32 v4.f32 w4.f32");
        let after = read(&f, ["u4.f32", "v4.f32", "w4.f32"], volume.sizes);
        assert_kept("cli-fix-stream", [&volume, &after], &Config { dy: -2.0, dz: -0.5, ..config }, 0.4);
    }

    #[test]
    fn mistakes_are_told() {
        let (f, config, _, _) = folder("protect-volume-mistakes");
        let dims = format!("--dims {}x{}x{}", config.nx, config.ny, config.nz);
        f.succeeds(&format!("protect {FILES} -o flow.fix {dims} --abs 0.4"));
        f.fails(&format!("protect {FILES} -o x.fix {dims}"), &["a bound is missing"]);
        f.fails(&format!("protect {FILES} -o x.fix {dims} --abs 1e-9"), &["leaves the bound", "at vertex ("]);
        f.fails(&format!("protect {FILES} -o w1.f32 {dims} --abs 0.4"), &["-o w1.f32: is an input"]);
        f.fails(&format!("protect {FILES} -o x.fix {dims} --abs 0.4 --step 1"), &["--step 1"]);
        f.fails(&format!("protect {FILES} -o x.fix {dims} --abs 0.4 --ties sos"), &["ties = sos"]);
        let five = "u.f32 v.f32 w.f32 u1.f32 v1.f32";
        f.fails(&format!("protect {five} -o x.fix {dims} --abs 0.4"), &["number of files is 5"]);
        f.fails(
            "apply flow.fix u1.f32 v1.f32 u2.f32 v2.f32",
            &["number of files is 4", "U1 V1 W1", "FIELD1 FIELD2"],
        );
        let outputs = "u2.f32 v2.f32 w2.f32";
        f.write("short", &f.read("u1.f32")[4..]);
        f.fails(
            &format!("apply flow.fix u1.f32 short w1.f32 {outputs}"),
            &["short: has", &format!("flow.fix belongs to {} values of f32: give", &dims["--dims ".len()..])],
        );
        f.write("planes.npy", &npy("<f4", "(2, 5, 6)", &[0; 240]));
        f.fails(
            "apply flow.fix planes.npy u2.f32",
            &["planes.npy: holds two components", "flow.fix belongs to three"],
        );
        f.fails(
            &format!("apply flow.fix u.f32 v.f32 w.f32 {outputs}"),
            &["flow.fix", "another reconstruction"],
        );
        let inputs = "u1.f32 v1.f32 w1.f32";
        f.fails(&format!("apply flow.fix {inputs} u2.f32 v2.f32 u2.f32"), &["u2.f32: is given for two"]);
        f.fails(&format!("apply flow.fix {inputs} u2.f32 v2.f32 flow.fix"), &["flow.fix: is an input"]);
        f.fails(
            &format!("apply flow.fix {inputs} u2.f32 v2.f32 w2.npz"),
            &["w2.npz: an archive", "give it alone"],
        );
        f.fails(&format!("apply flow.fix {inputs} u2.f32 v2.f32 w2.h5"), &["w2.h5"]);
        assert!(!f.names().contains(&"u2.f32".to_owned()) && !f.names().contains(&"x.fix".to_owned()));
    }
}
