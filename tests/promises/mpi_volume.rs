//! Across the borders of MPI ranks every critical point of a volume is kept: one that any number of ranks
//! compressed in blocks, and any other number read back, has no lost, new or retyped critical point, with halos
//! and with pinned borders, says an independent program in exact arithmetic. Without either, the same comparison
//! sees what is lost at the borders.
//!
//! The program is examples-c/mpi_volume.c.

use crate::mpi::{compile, streams};
use crate::protect_volumes::bytes_of;
use crate::support::fields::dtype_name;
use crate::support::{both, fresh_folder, mpirun, refuses, run};
use crate::volumes::{assert_kept, counts, with_solids, Volume};
use factz::{inspect, Real, StreamInfo};
use std::path::PathBuf;

/// A volume, in files for the program.
struct Case<T> {
    name: String,
    program: PathBuf,
    volume: Volume<T>,
}

const INPUTS: [&str; 3] = ["u.raw", "v.raw", "w.raw"];
const OUTPUTS: [&str; 3] = ["u.back", "v.back", "w.back"];

impl<T: Real> Case<T> {
    fn new(test: &str, volume: Volume<T>) -> Self {
        let name = format!("mpi-volume-{test}");
        let case = Case { program: compile(&fresh_folder(&name), "mpi_volume"), name, volume };
        let bytes = bytes_of(&case.volume);
        for (name, values) in INPUTS.iter().zip(bytes.chunks(bytes.len() / 3)) {
            std::fs::write(case.file(name), values).unwrap();
        }
        case
    }
    fn file(&self, name: &str) -> PathBuf {
        self.program.with_file_name(name)
    }
    fn dims(&self) -> String {
        self.volume.sizes.map(|n| n.to_string()).join("x")
    }
    /// Every one of `ranks` compresses its block into one file. Returns the headers.
    fn write(&self, ranks: usize, borders: &str, relative: f64) -> Vec<StreamInfo> {
        let relative = relative.to_string();
        let options = ["--dtype", dtype_name::<T>(), "--rel", &relative, "--borders", borders];
        let out = run(mpirun(&self.program, ranks)
            .args(["write", "blocks"])
            .args(INPUTS)
            .args(["--dims", &self.dims()])
            .args(options));
        assert!(both(&out).contains(&format!("wrote {ranks} blocks")), "{}", both(&out));
        let file = std::fs::read(self.file("blocks")).unwrap();
        streams(&file).into_iter().map(|stream| inspect(stream).unwrap()).collect()
    }
    /// Other ranks read the file back.
    fn read_back(&self, ranks: usize) -> Volume<T> {
        for name in OUTPUTS {
            let _ = std::fs::remove_file(self.file(name));
        }
        run(mpirun(&self.program, ranks)
            .args(["read", "blocks"])
            .args(OUTPUTS)
            .args(["--dims", &self.dims()]));
        let components = OUTPUTS.map(|name| {
            let bytes = std::fs::read(self.file(name)).unwrap();
            let bits = |x: &[u8]| x.iter().rev().fold(0, |bits, &byte| bits << 8 | byte as u64);
            bytes.chunks(T::BYTES).map(|x| T::from_bits64(bits(x))).collect()
        });
        Volume { sizes: self.volume.sizes, components }
    }
    /// Halo and pins, and each number of writers with its readers.
    fn keeps_everything(self, relative: f64, ranks: &[(usize, &[usize])]) {
        for borders in ["halo", "pin"] {
            for &(writers, readers) in ranks {
                let blocks = self.write(writers, borders, relative);
                assert!(blocks.iter().all(|info| info.components == 3), "{blocks:?}");
                let bound = blocks[0].bound;
                assert!(blocks.iter().all(|info| info.bound == bound), "one bound: {blocks:?}");
                let first = self.read_back(readers[0]);
                let config = self.volume.config(relative);
                let name = format!("{}-{borders}-{writers}", self.name);
                let counts = assert_kept(&name, [&self.volume, &first], &config, bound);
                assert!(counts["points"] > 0, "a volume that shows nothing");
                for &more in &readers[1..] {
                    assert!(bytes_of(&self.read_back(more)) == bytes_of(&first), "{name}, {more} read");
                }
            }
        }
    }
}

/// 8 ranks have neighbours on three sides each, 27 on up to six; 21 x 23 x 25 vertices make uneven blocks.
#[test]
#[ignore = "make test-all"]
fn waves() {
    needs!("mpicc", "mpirun");
    let ranks: [(usize, &[usize]); 4] = [(8, &[1, 3]), (27, &[4]), (3, &[2]), (1, &[5])];
    Case::<f32>::new("waves", Volume::waves([21, 23, 25], 9.0, 4)).keeps_everything(5e-2, &ranks);
}

/// Solids, where all components are zero, and missing values on both sides of borders.
#[test]
#[ignore = "make test-all"]
fn solids_and_missing_values_in_double_precision() {
    needs!("mpicc", "mpirun");
    let mut volume = with_solids::<f64>([18, 19, 17], 6);
    for (k, missing) in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].into_iter().enumerate() {
        for place in (k * 61..volume.components[k].len()).step_by(397) {
            volume.components[k][place] = missing;
        }
    }
    Case::new("solids", volume).keeps_everything(1e-1, &[(8, &[2]), (12, &[12])]);
}

/// The test is not blind: without halo and pins critical points between the ranks are lost.
#[test]
#[ignore = "make test-all"]
fn without_halo_and_pins_the_borders_lose_points() {
    needs!("mpicc", "mpirun");
    let case = Case::<f32>::new("none", Volume::waves([21, 23, 25], 9.0, 4));
    let blocks = case.write(8, "none", 1e-1);
    let folder = fresh_folder("mpi-volume-none-counts");
    let config = case.volume.config(1e-1);
    let found = counts(&folder, [&case.volume, &case.read_back(2)], &config, blocks[0].bound);
    assert!(found["lost"] + found["spurious"] > 0 && found["bound_exceeded"] == 0, "{found:?}");
}

/// Damage is an error and never a wrong volume, and wrong arguments are told what would be right.
#[test]
#[ignore = "make test-all"]
fn damaged_files_and_wrong_arguments_are_refused_with_advice() {
    needs!("mpicc", "mpirun");
    let case = Case::<f32>::new("refused", Volume::waves([9, 8, 7], 5.0, 8));
    let program = &case.program;
    case.write(4, "halo", 1e-1);
    let bytes = std::fs::read(case.file("blocks")).unwrap();
    let (all, last) = (streams(&bytes), bytes.len() - 5);
    // Blocks of 4 planes and of 3.
    let swapped = [all[2], all[1], all[0], all[3]].concat();
    let shape = "the blocks are not those of a domain of --dims NXxNYxNZ";
    let damages: [(&str, Vec<u8>); 7] = [
        ("the checksum does not match", [&bytes[..last], &[bytes[last] ^ 1], &bytes[last + 1..]].concat()),
        ("stream 3, from byte", bytes[..last].to_vec()),
        ("damaged: stream 0, from byte 0: a stream is cut off", bytes[..100].to_vec()),
        (shape, bytes[..bytes.len() - all[3].len()].to_vec()),
        (shape, [&bytes[..], all[0]].concat()),
        (shape, swapped),
        ("does not begin with the mark FCTZ", b"something else altogether".repeat(9)),
    ];
    let read = |file: &str, dims: &str| {
        let mut command = mpirun(program, 2);
        command.args(["read", file]).args(OUTPUTS).args(["--dims", dims]);
        command
    };
    for (advice, damaged) in damages {
        std::fs::write(case.file("damaged"), damaged).unwrap();
        refuses(&mut read("damaged", "9x8x7"), advice);
    }
    refuses(&mut read("blocks", "7x8x9"), shape);
    refuses(&mut read("blocks", "9x8"), "unknown option or value");
    let write = |ranks, dims: &str| {
        let mut command = mpirun(program, ranks);
        command.args(["write", "blocks"]).args(INPUTS).args(["--dims", dims]);
        command
    };
    refuses(&mut write(1, "9x8x8"), "another size than --dims and --dtype say");
    refuses(&mut write(27, "5x5x5"), "less than 2 vertices along an axis: use fewer ranks");
    refuses(mpirun(program, 1).args(["read", "blocks"]), "expected: write FILE U V W --dims NXxNYxNZ");
    refuses(mpirun(program, 1).args(["--borders", "open"]), "unknown option or value");
}

/// As it stands at the top of the program, for a user who tries it.
#[test]
#[ignore = "make test-all"]
fn the_demonstration() {
    needs!("mpicc", "mpirun");
    let program = compile(&fresh_folder("mpi-volume-demonstration"), "mpi_volume");
    for (ranks, arguments) in [
        (8, &[][..]),
        (6, &["--dtype", "f64", "--borders", "pin", "--rel", "1e-1"]),
        (18, &["--rel", "1e-1"]),
    ] {
        let said = both(&run(mpirun(&program, ranks).args(arguments)));
        for part in ["everything holds", "486 critical points, 0 lost, 0 new, 0 of another type"] {
            assert!(said.contains(part), "{said}");
        }
    }
    let said = both(&run(mpirun(&program, 8).args(["--borders", "none", "--rel", "1e-1"])));
    assert!(said.contains("critical points were lost or changed at the borders between ranks"), "{said}");
    assert!(!said.contains("everything holds") && !said.contains(", 0 lost"), "{said}");
}
