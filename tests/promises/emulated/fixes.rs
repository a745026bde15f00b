//! Fixes: the kernels make and apply those of the library, and refuse what it refuses.

use super::*;
use crate::support::fields::{bytes_of, Random, Volume};
use crate::support::fixes::FixCase;
use factz::stream::checksum::seal;
use factz::FixReport;
use std::io::Write;

/// Shapes of planes and of volumes, with whole tiles, ends of one vertex and of two, and thin ones.
const PLANES: [[u64; 3]; 5] = [[70, 33, 1], [32, 64, 1], [40, 34, 2], [5, 1, 1], [37, 65, 1]];
const VOLUMES: [[u64; 3]; 5] = [[33, 18, 17], [16, 16, 16], [7, 20, 3], [2, 2, 2], [19, 5, 34]];

fn case<T: Real>(k: usize) -> FixCase<T> {
    match k % 2 {
        0 => FixCase::new(k / 2, PLANES[k / 2 % 5], false),
        _ => FixCase::new(k / 2, VOLUMES[k / 2 % 5], true),
    }
}

fn files<T: Real>(folder: &Path, name: &str, components: &Volume<T>) -> [String; 3] {
    [0, 1, 2].map(|k| written(folder, &format!("{name}{k}"), &bytes_of(&components[k])))
}

/// The lines that the emulator prints for a call on a fix. The list of the data that they use goes into a file of the
/// folder.
fn told(program: &Path, what: &str, folder: &Path, arguments: &[&dyn ToString]) -> Vec<String> {
    let mut command = Command::new(program);
    command.arg(what).args(arguments.iter().map(|argument| argument.to_string()));
    let out = run(command.env("FACTZ_LIST_DATA", "1"));
    if !out.stderr.is_empty() {
        let mut file = fs::File::options().create(true).append(true).open(folder.join("said"));
        let written = file.as_mut().map(|file| file.write_all(&out.stderr));
        written.expect("the folder is writable").expect("the folder is writable");
    }
    String::from_utf8_lossy(&out.stdout).split_whitespace().map(str::to_owned).collect()
}

/// As the emulator prints a report.
fn words_of(report: &FixReport) -> Vec<String> {
    let counts = [
        report.fix_bytes,
        report.required_bytes,
        report.repaired_vertices,
        report.exact_vertices,
        report.violated_triangles,
        report.rounds,
    ];
    let reals = [report.bound, report.max_error].map(|x| x.to_bits());
    let status = report.status as i32 as u64;
    [&[status][..], &counts, &reals, &[0, 0]].concat().iter().map(u64::to_string).collect()
}

/// The words of the report, and the fix that the kernels make of a case in a buffer of `capacity` bytes.
fn made<T: Real>(
    program: &Path,
    case: &FixCase<T>,
    order: u32,
    folder: &Path,
    capacity: usize,
) -> (Vec<String>, Vec<u8>) {
    let c = &case.config;
    let (originals, others) = (files(folder, "u", &case.original), files(folder, "other", &case.other));
    let (fill, fix) = (fill_bits::<T>(c), folder.join("made"));
    let _ = fs::remove_file(&fix);
    let grid: [&dyn ToString; 9] = [
        &order,
        &(c.dtype as u32),
        &case.components(),
        &c.nx,
        &c.ny,
        &c.nz,
        &c.plane_rows,
        &(c.bound_kind as u32),
        &c.bound,
    ];
    let choices: [&dyn ToString; 9] =
        [&(c.preserve as u32), &(c.ties as u32), &c.halo, &c.pin, &c.periodic, &c.dx, &c.dy, &c.dz, &fill];
    let files: [&dyn ToString; 10] = [
        &originals[0],
        &originals[1],
        &originals[2],
        &case.first,
        &c.u.pitch,
        &others[0],
        &others[1],
        &others[2],
        &capacity,
        &fix.display(),
    ];
    let words = told(program, "protect", folder, &[&grid[..], &choices, &files].concat());
    (words, fs::read(fix).unwrap_or_default())
}

/// The words of the report, and the components that the kernels make of a fix.
fn applied<T: Real>(
    program: &Path,
    case: &FixCase<T>,
    fix: &[u8],
    order: u32,
    folder: &Path,
) -> (Vec<String>, Vec<Vec<u8>>) {
    let (c, others) = (&case.config, files(folder, "applied", &case.other));
    let fix = written(folder, "fix", fix);
    let (dtype, components) = (c.dtype as u32, case.components());
    let arguments: [&dyn ToString; 10] =
        [&order, &dtype, &components, &c.nx, &c.ny, &c.nz, &fix, &others[0], &others[1], &others[2]];
    let words = told(program, "apply", folder, &arguments);
    (words, others[..components].iter().map(|path| fs::read(path).expect("the output is there")).collect())
}

fn check<T: Real>(k: usize, folder: &Path) {
    let (case, order) = (case::<T>(k), ORDERS[k / 2 % 2]);
    let (report, fix) = case.fix().unwrap_or_else(|e| panic!("case {k}: {e}"));
    let (words, found) = made(emulator(), &case, order, folder, fix.len());
    assert_eq!(words, words_of(&report), "case {k}: {:?}", case.config);
    assert!(found == fix, "case {k}: another fix: {:?}", case.config);
    if k % 7 == 0 {
        // Of a fix that does not fit, its length is told.
        let (words, _) = made(emulator(), &case, order, folder, 128.max(fix.len() - 4));
        let short = FixReport { status: Status::BufferTooSmall, fix_bytes: 0, ..report };
        assert!(fix.len() <= 128 || words == words_of(&short), "case {k}: {words:?}");
    }
    let (report, values) = case.applied(&fix).expect("an intact fix");
    let (words, found) = applied(emulator(), &case, &fix, order, folder);
    assert_eq!(words, words_of(&report), "case {k}");
    let expected: Vec<_> = values[..case.components()].iter().map(|c| bytes_of(c)).collect();
    assert!(found == expected, "case {k}: other values: {:?}", case.config);
}

/// Lets kernels make and apply fixes of planes and of volumes: with ghosts and a relative bound, with many
/// rounds of repair, with zeros. Returns what they say of themselves.
pub fn use_of_data(program: &Path, folder: &Path) -> String {
    fn make_and_apply<T: Real>(program: &Path, folder: &Path, case: FixCase<T>, order: u32) {
        let (words, fix) = made(program, &case, order, folder, 1 << 20);
        assert_eq!(words[0], "0", "{words:?}: {:?}", case.config);
        let (words, _) = applied(program, &case, &fix, order, folder);
        assert_eq!(words[0], "0", "{words:?}: {:?}", case.config);
    }
    let said = folder.join("said");
    let _ = fs::remove_file(&said);
    for (k, is_volume) in [4, 37, 25, 3].into_iter().flat_map(|k| [(k, false), (k, true)]) {
        let (shape, order) = ([PLANES[0], VOLUMES[0]][is_volume as usize], ORDERS[k % 2]);
        match k % 2 {
            0 => make_and_apply(program, folder, FixCase::<f32>::new(k, shape, is_volume), order),
            _ => make_and_apply(program, folder, FixCase::<f64>::new(k, shape, is_volume), order),
        }
    }
    fs::read_to_string(said).expect("what was said")
}

/// The kernels make the library's fixes, and apply them as it does.
#[test]
fn fixes_are_made_and_applied() {
    make_and_apply("fixes_are_made_and_applied", (0..30).filter(|k| k % 5 < 2));
}

#[test]
#[ignore = "make test-all"]
fn more_fixes_are_made_and_applied() {
    make_and_apply("more_fixes", (0..30).filter(|k| k % 5 >= 2));
}

fn make_and_apply(name: &str, cases: impl Iterator<Item = usize>) {
    needs!("g++");
    let folder = fresh_folder(name);
    for k in cases {
        if k / 10 % 2 == 1 {
            check::<f64>(k, &folder);
        } else {
            check::<f32>(k, &folder);
        }
    }
    reconstructions_outside_the_bound_are_refused(&folder);
}

/// A reconstruction that leaves the bound is refused, and the report says where.
fn reconstructions_outside_the_bound_are_refused(folder: &Path) {
    for k in [2, 5] {
        let mut case = case::<f32>(k);
        case.config = factz::Config { fill_value: None, ..case.config };
        let (n, bound) = (case.vertices(), case.config.bound as f32);
        let Some(first) = (n / 3..n).find(|&v| case.other[0][v] != 7.0) else {
            panic!("no vertex with data")
        };
        for vertex in [first, n - 1] {
            case.other[1][vertex] += 3.0 * bound + 1.0;
        }
        assert!(case.fix().is_err());
        let (words, _) = made(emulator(), &case, 0, folder, 1 << 20);
        assert_eq!((words[0].as_str(), words[9..].join(" ")), ("1", format!("2 {first}")), "case {k}");
    }
}

/// The kernels accept the damaged fixes that the library does, and change nothing where they refuse one.
#[test]
#[ignore = "make test-all"]
fn damaged_fixes_are_found_out() {
    needs!("g++");
    let folder = fresh_folder("damaged_fixes_are_found_out");
    let mut random = Random(11);
    for k in 0..6 {
        let case = case::<f32>(k);
        let (_, fix) = case.fix().expect("a reconstruction within the bound");
        for damage in 0..40 {
            let mut damaged = fix.clone();
            let end = if damage % 3 == 0 { damaged.len().min(136) } else { damaged.len() };
            let at = random.below(end as u64) as usize;
            damaged[at] ^= 1 << random.below(8);
            if damage % 10 == 8 {
                damaged.truncate(at);
            }
            if damage % 10 != 9 && damaged.len() >= 128 {
                damaged.truncate(damaged.len() / 4 * 4);
                seal(&mut damaged);
            }
            let (words, found) = applied(emulator(), &case, &damaged, ORDERS[damage % 2], &folder);
            let (status, values) = match case.applied(&damaged) {
                Ok((_, values)) => (0, values),
                Err(error) => (error.status as i32, case.other.clone()),
            };
            assert_eq!(words[0], status.to_string(), "case {k}, damage {damage} at byte {at}");
            let expected: Vec<_> = values[..case.components()].iter().map(|c| bytes_of(c)).collect();
            assert!(found == expected, "case {k}, damage {damage} at byte {at}: other values");
        }
    }
}

/// Makes fixes of planes and of volumes by emulators that were built with each of some options.
fn made_with(options: [&str; 2], name: &str, mut each: impl FnMut(FixCase<f32>, Vec<u8>, &str)) {
    let folder = fresh_folder(name);
    for option in options {
        let program = emulator::built(&[option]);
        for k in [0, 1, 4, 5] {
            let case = case::<f32>(k);
            let (words, fix) = made(&program, &case, ORDERS[k % 2], &folder, 1 << 20);
            assert_eq!(words[0], "0", "case {k}: {words:?}");
            each(case, fix, &format!("case {k} with {option}"));
        }
    }
}

/// Where the lists of a round have no room for all its cells, all cells are looked at, and the fix is the same.
#[test]
#[ignore = "make test-all"]
fn rounds_with_small_lists_make_the_same_fix() {
    needs!("g++");
    let mut rounds = 0;
    let options = ["-DFACTZ_MOST_ENTRIES=0u", "-DFACTZ_MOST_ENTRIES=9u"];
    made_with(options, "fixes_with_small_lists", |case, fix, what| {
        let (report, expected) = case.fix().expect("a field within the bound");
        assert!(fix == expected, "{what}");
        rounds += report.rounds;
    });
    assert!(rounds > 16, "{rounds} rounds");
}

/// The rules of later rounds of repair, which few fields reach, settle every triangle and tetrahedron as
/// well.
#[test]
#[ignore = "make test-all"]
fn later_rounds_of_fixes_settle_every_simplex() {
    needs!("g++");
    let options = ["-DFACTZ_FIRST_ROUND=64", "-DFACTZ_FIRST_ROUND=131"];
    made_with(options, "later_rounds_of_fixes", |mut case, fix, what| {
        let (_, values) = case.applied(&fix).expect("an intact fix");
        // The repaired field needs no fix: nothing is violated in it.
        case.other = values;
        let (report, _) = case.fix().expect("a field within the bound");
        assert_eq!(report.violated_triangles, 0, "{what}");
    });
}
