//! The HDF5 examples of examples-c: files that they write, in situ chunk by chunk or with parallel HDF5, are
//! read by h5py and by h5dump to the same values, in which an independent program finds every critical point.

use super::hdf5::plugin;
use crate::support::checker::Checker;
use crate::support::fields::Field;
use crate::support::{
    bless_if_missing, both, fresh_folder, holds, linkings, mpirun, output, python_of_plugins, refuses, root,
    run, STRICT_C,
};
use factz::BoundKind;
use std::path::{Path, PathBuf};
use std::process::Command;

const BOUND: f64 = 1e-2;

/// How h5cc and h5pcc link HDF5.
const LINKED: [&[&str]; 2] = [&[], &["-shlib"]];

/// An example, the filter, and Python with h5py.
struct Example {
    program: PathBuf,
    filter: PathBuf,
    python: PathBuf,
}

impl Example {
    /// `linked` are options of the compiler: h5cc of Debian links a static HDF5 unless it is -shlib.
    fn new(test: &str, compiler: &str, linked: &[&str], source: &str) -> Option<Self> {
        let python = python_of_plugins(&["h5py"])?;
        let folder = fresh_folder(&format!("hdf5_examples-{test}{}", linked.concat()));
        let [shared, ..] = linkings(&folder);
        let program = shared.compile(compiler, &[linked, &STRICT_C].concat(), &[source.as_ref()]);
        Some(Example { program, filter: plugin(&folder), python })
    }
    fn file(&self, name: &str) -> PathBuf {
        self.program.with_file_name(name)
    }
    fn with_filter<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("HDF5_PLUGIN_PATH", &self.filter).current_dir(self.program.parent().unwrap())
    }
    /// The values of the dataset, as h5py and as h5dump read them.
    fn values(&self, file: &Path) -> Vec<u8> {
        let read = "import h5py, sys; h5py.File(sys.argv[1])['uv'][...].astype('<f4').tofile('values')";
        run(self.with_filter(Command::new(&self.python).args(["-B", "-c", read]).arg(file)));
        let values = std::fs::read(self.file("values")).unwrap();
        let mut dump = Command::new("h5dump");
        dump.args(["-d", "uv", "-b", "LE", "-o", "dumped"]).arg(file);
        run(self.with_filter(&mut dump));
        assert!(values == std::fs::read(self.file("dumped")).unwrap(), "h5py and h5dump read other values");
        values
    }
    /// Every field of the file, one after the other.
    fn check(&self, test: &str, file: &Path, nx: u64, ny: u64, steps: u64) {
        let values = self.values(file);
        let bytes = 8 * (nx * ny) as usize;
        assert_eq!(values.len(), steps as usize * bytes);
        let mut checker = Checker::new(&format!("hdf5_examples-{test}"));
        for (step, after) in values.chunks(bytes).enumerate() {
            let before = checker.write(&vortices(nx, ny, step as u64));
            let paths = ["u", "v"].map(|name| self.file(name));
            for (path, component) in paths.iter().zip(after.chunks(bytes / 2)) {
                std::fs::write(path, component).unwrap();
            }
            let after = Field::<f32>::read(nx, ny, paths);
            checker.add(&before, &after, &after.config(BoundKind::Absolute, BOUND), &[("violations", 0)]);
        }
        assert!(
            checker.check().iter().all(|counts| counts["critical_points"].as_u64() > Some(0)),
            "nothing is shown"
        );
    }
}

/// The field that the examples compute.
fn vortices(nx: u64, ny: u64, step: u64) -> Field<f32> {
    let wave = |phase: u64| {
        let (place, sign) = ((phase % 64) as i64, if phase / 64 % 2 == 0 { 1 } else { -1 });
        sign * place * (64 - place)
    };
    Field::new(nx, ny, |x, y| {
        let (a, b) = (5 * x + 3 * y + 2 * step, 7 * y + 2 * x);
        [wave(a) * wave(b + 32) + 40000, 30001 - wave(a + 32) * wave(b)].map(|w| w as f64 / 1048576.0)
    })
}

#[test]
#[ignore = "make test-all"]
fn chunks_that_were_compressed_elsewhere() {
    needs!("gcc", "h5cc", "h5dump");
    LINKED.into_iter().for_each(chunks_of);
}

fn chunks_of(linked: &[&str]) {
    let Some(example) = Example::new("chunks", "h5cc", linked, "examples-c/hdf5_chunks.c") else { return };
    let run_with = |arguments: &[&str]| {
        let mut program = Command::new(&example.program);
        holds(example.with_filter(program.args(arguments)));
    };
    run_with(&["block.h5", "--dims", "211x97", "--steps", "2"]);
    example.check("block", &example.file("block.h5"), 211, 97, 2);
    run_with(&["speculative.h5", "--mode", "speculative", "--dims", "97x65", "--steps", "3"]);
    example.check("speculative", &example.file("speculative.h5"), 97, 65, 3);

    // A writer without the filter stores the same words and streams; the filter is optional then.
    let mut alone = Command::new(&example.program);
    alone.args(["alone.h5", "--dims", "97x65", "--steps", "3"]).env("HDF5_PLUGIN_PATH", "/nonexistent");
    let said = both(&run(alone.current_dir(example.program.parent().unwrap())));
    assert!(said.contains("not read back: HDF5_PLUGIN_PATH names no folder with libh5zfactz.so"), "{said}");
    example.check("alone", &example.file("alone.h5"), 97, 65, 3);
    let words =
        "import h5py, sys; print(h5py.File(sys.argv[1])['uv'].id.get_create_plist().get_filter(0)[2])";
    let words =
        |name: &str| both(&run(Command::new(&example.python).args(["-c", words]).arg(example.file(name))));
    run_with(&["with.h5", "--dims", "97x65", "--steps", "3"]);
    assert_eq!(words("alone.h5"), words("with.h5"));

    let refused =
        |arguments: &[&str], advice: &str| refuses(Command::new(&example.program).args(arguments), advice);
    refused(&["x.h5", "--device"], "compile this program with -DWITH_CUDA");
    for steps in ["0", "-1", "2x", "4294967296", ""] {
        refused(&["x.h5", "--steps", steps], "--steps: unknown option or value");
    }
    for dims in ["-1x8", "8x-8", "8x8junk", "8x", "x8", "8", "0x8", "8x0", "8 x8", "4294967296x1"] {
        refused(&["x.h5", "--dims", dims], "--dims: unknown option or value");
    }
    refused(&[], "FILE: name the file to write");
}

#[test]
#[ignore = "make test-all"]
fn four_ranks_write_one_dataset() {
    needs!("gcc", "h5pcc", "mpirun", "h5dump");
    LINKED.into_iter().for_each(ranks_of);
}

fn ranks_of(linked: &[&str]) {
    let Some(example) = Example::new("parallel", "h5pcc", linked, "examples-c/hdf5_parallel.c") else {
        return;
    };
    let ranks = |arguments: &[&str]| {
        let mut command = mpirun(&example.program, 4);
        command.args(arguments);
        command
    };
    // Chunks that match the ranks' rows, chunks that do not, and a rank without rows.
    for (name, dims, chunk, nx, ny) in [
        ("even", "200x160", "100x40", 200, 160),
        ("odd", "211x103", "64x40", 211, 103),
        ("few", "150x3", "40x2", 150, 3),
    ] {
        let file = format!("{name}.h5");
        let said = both(&run(example.with_filter(&mut ranks(&[&file, "--dims", dims, "--chunk", chunk]))));
        assert!(said.contains("everything holds") && said.contains("4 ranks wrote"), "{said}");
        example.check(name, &example.file(&file), nx, ny, 1);
    }
    let mut without = ranks(&["x.h5"]);
    refuses(without.env("HDF5_PLUGIN_PATH", "/nonexistent"), "must name the folder of libh5zfactz.so");
    refuses(&mut ranks(&["x.h5", "--rows", "3"]), "--rows: unknown option or value");
    refuses(&mut ranks(&["x.h5", "--chunk", "-1x8"]), "--chunk: unknown option or value");
    refuses(&mut ranks(&["x.h5", "--dims", "8x8junk"]), "--dims: unknown option or value");
    let out = output(&mut ranks(&[]));
    assert!(!out.status.success() && both(&out).contains("name the file to write"), "{}", both(&out));
}

/// A file of hdf5_chunks.c, first written on a GPU with --device, which makes the same chunks.
#[test]
#[ignore = "make test-all"]
fn a_golden_file_stays_readable() {
    needs!("gcc", "h5cc", "h5dump");
    let Some(example) = Example::new("golden", "h5cc", &[], "examples-c/hdf5_chunks.c") else { return };
    let golden = root().join("tests/golden/hdf5/in-situ.h5");
    bless_if_missing(&golden, || {
        let options = ["--dims", "97x65", "--steps", "3", "--mode", "speculative"];
        holds(example.with_filter(Command::new(&example.program).arg(&golden).args(options)));
    });
    example.check("golden", &golden, 97, 65, 3);
}
