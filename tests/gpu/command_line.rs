//! The program `factz` makes and applies fixes on the device as on the processor: the same files, byte for byte,
//! the same figures and the same errors. `FACTZ_CLI` names the program.

use crate::device::Device;
use crate::support::fields::{bytes_of, dtype_name, volume, Volume};
use crate::{ensure, Check, NOT_RUN};
use factz::Real;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const BACKENDS: [&str; 2] = ["cpu", "cuda"];
/// Figures that depend on where the work is done.
const OF_BACKEND: [&str; 4] = ["backend", "device", "seconds", "mb_per_second"];

/// The program, and a folder in which it runs; removed with its files at the end.
struct Folder {
    program: PathBuf,
    path: PathBuf,
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

impl Folder {
    fn new(program: &Path) -> Check<Self> {
        let path = std::env::temp_dir().join(format!("factz-gpu-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Folder { program: program.to_owned(), path })
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Check {
        Ok(std::fs::write(self.path.join(name), bytes)?)
    }

    fn run(&self, line: &str, backend: &str) -> Check<Output> {
        let words = line.split_whitespace().chain(["--backend", backend, "--json"]);
        Ok(Command::new(&self.program).args(words).current_dir(&self.path).output()?)
    }

    /// The figures of a command that succeeds.
    fn figures(&self, line: &str, backend: &str) -> Check<Value> {
        let out = self.run(line, backend)?;
        let error = String::from_utf8_lossy(&out.stderr);
        ensure!(out.status.success(), "{line} --backend {backend}: {error}");
        Ok(serde_json::from_slice(&out.stdout)?)
    }

    /// Both backends write these files with the same bytes and tell the same figures.
    fn same(&self, line: &str, files: &[&str]) -> Check {
        let mut expected = None;
        for backend in BACKENDS {
            for name in files {
                let _ = std::fs::remove_file(self.path.join(name));
            }
            let mut figures = self.figures(line, backend)?;
            ensure!(figures["backend"] == backend, "{line} --backend {backend}: {figures}");
            let members = figures.as_object_mut().ok_or("the figures are no object")?;
            OF_BACKEND.iter().for_each(|name| drop(members.remove(*name)));
            let read = |name: &&str| std::fs::read(self.path.join(name));
            let written = files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
            let (first_figures, first) = expected.get_or_insert((figures.clone(), written.clone()));
            ensure!(*first == written, "{line} --backend {backend}: {files:?} differ");
            ensure!(*first_figures == figures, "{line} --backend {backend}: {figures}, not {first_figures}");
        }
        Ok(())
    }

    /// Both backends refuse a command with the same words, which have these parts.
    fn refused(&self, line: &str, parts: &[&str]) -> Check {
        let mut expected = None;
        for backend in BACKENDS {
            let out = self.run(line, backend)?;
            let error = String::from_utf8_lossy(&out.stderr).into_owned();
            ensure!(out.status.code() == Some(2), "{line} --backend {backend}: {:?}, {error}", out.status);
            for part in parts {
                ensure!(error.contains(part), "{line} --backend {backend} should say {part:?}: {error}");
            }
            let first = expected.get_or_insert(error.clone());
            ensure!(*first == error, "{line} --backend {backend}: {error:?}, not {first:?}");
        }
        Ok(())
    }

    /// Writes the components of a field under their names with an ending.
    fn write_field<T: Real>(&self, field: &Volume<T>, ending: &str) -> Check {
        for (name, values) in ["u", "v", "w"].iter().zip(field) {
            self.write(&format!("{name}{ending}"), &bytes_of(values))?;
        }
        Ok(())
    }
}

/// Multiples of less than two bounds, with zeros and missing values where the field has them.
fn rounded<T: Real>(field: &Volume<T>, bound: f64) -> Volume<T> {
    let step = 1.98 * bound;
    field.each_ref().map(|values| {
        let value = |x: &T| match x.to_f64() {
            x if x.is_finite() => T::from_f64((x / step).round() * step),
            _ => T::from_f64(7.0),
        };
        values.iter().map(value).collect()
    })
}

/// Fixes of a field of this kind with two or three components, made with these options, and what is refused.
fn check_fixes<T: Real>(f: &Folder, sizes: [u64; 3], kind: usize, options: &str, components: usize) -> Check {
    let (bound, [nx, ny, nz]) = (0.05, sizes);
    let field = volume::<T>(sizes, kind);
    let other = rounded(&field, bound);
    f.write_field(&field, "0")?;
    f.write_field(&other, "1")?;
    let names = |ending: &str| -> String {
        ["u", "v", "w"][..components].iter().map(|name| format!("{name}{ending} ")).collect()
    };
    let [original, before, after] = ["0", "1", "2"].map(names);
    let [before_files, after_files] = [&before, &after].map(|n| n.split_whitespace().collect::<Vec<_>>());
    let shape = format!("--dims {nx}x{ny}x{nz} --dtype {}", dtype_name::<T>());
    let protect = format!("protect {original}{before}-o flow.fix {shape} {options}");
    // A relative bound that is wide enough.
    f.same(&format!("{protect} --rel 0.5"), &["flow.fix"])?;
    f.same(&format!("{protect} --abs {bound}"), &["flow.fix"])?;
    f.same(&format!("apply flow.fix {before}{after}"), &after_files)?;

    f.refused(&format!("{protect} --abs 1e-9"), &["leaves the bound", "at vertex (", "behind it"])?;
    f.refused(&format!("apply flow.fix {original}{after}"), &["flow.fix", "another reconstruction"])?;
    let mut damaged = std::fs::read(f.path.join("flow.fix"))?;
    *damaged.last_mut().ok_or("an empty fix")? ^= 1;
    f.write("damaged.fix", &damaged)?;
    f.refused(&format!("apply damaged.fix {before}{after}"), &["damaged.fix", "checksum"])?;
    // The reconstruction is replaced in place.
    f.figures(&format!("apply flow.fix {before}{before}"), "cuda")?;
    for (a, b) in before_files.iter().zip(&after_files) {
        let [a, b] = [a, b].map(|name| std::fs::read(f.path.join(name)));
        ensure!(a? == b?, "another result in place");
    }
    Ok(())
}

/// Planes, stacks and volumes of both types, with a stream in place of a reconstruction.
pub fn fixes_of_program(_: &Device) -> Check {
    let program = std::env::var_os("FACTZ_CLI").map(PathBuf::from);
    let Some(program) = program.filter(|path| path.is_file()) else {
        return Err(format!("{NOT_RUN}FACTZ_CLI names no program").into());
    };
    let f = Folder::new(&std::path::absolute(program)?)?;
    for (sizes, kind, options, components) in [
        ([300, 200, 1], 0, "", 2),
        ([70, 33, 1], 3, "--north-first --periodic x", 2),
        ([64, 64, 5], 4, "--ties zeros --preserve points", 2),
        ([40, 33, 20], 0, "", 3),
        ([33, 18, 17], 3, "--dz -0.5 --periodic z", 3),
    ] {
        let what = format!("{sizes:?}, kind {kind}, {components} components");
        check_fixes::<f32>(&f, sizes, kind, options, components).map_err(|e| format!("{what}, f32: {e}"))?;
        check_fixes::<f64>(&f, sizes, kind, options, components).map_err(|e| format!("{what}, f64: {e}"))?;
    }
    for (sizes, names, mode) in [([300, 200, 1], "u0 v0", ""), ([40, 33, 20], "u0 v0 w0", "--mode repair")] {
        f.write_field(&volume::<f32>(sizes, 0), "0")?;
        let shape = format!("--dims {}x{}x{}", sizes[0], sizes[1], sizes[2]);
        f.figures(&format!("compress {names} -o none.fz {shape} --abs 0.2 --preserve none {mode}"), "cuda")?;
        let protect = format!("protect {names} none.fz -o flow.fix --abs 0.2");
        f.same(&protect, &["flow.fix"])?;
        let place = &f.figures(&protect, "auto")?["backend"];
        ensure!(*place == "cuda", "--backend auto takes the backend {place}");
    }
    Ok(())
}
