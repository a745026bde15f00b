//! Raw values that are probably something else than they are read as, by their number of bytes or by their values.

use crate::array::{Dims, Element};
use crate::failure::{failure, Failure};
use crate::intake::Intake;
use crate::shell::{python, shell_name};
use factz::{Dtype, Real};
use std::path::Path;

/// Advice on raw values of u, v and w, one behind the other.
const OF_RAW_VOLUME: &str =
    "`factz compress` takes it with --mode repair, other commands take three files or one .npy";

/// Contents that the size of a file allows, and the option or the files that say so.
type Reading = (String, String);

/// Bytes around a record of a sequential file of Fortran: its length, twice.
const RECORD_MARKS: u64 = 8;

impl<T: Element> Intake<T> {
    /// Advice where a shape does not fit.
    pub fn advice(&self) -> String {
        let options = || format!("check --dims ({}) and --dtype", self.dims.order());
        self.told.clone().unwrap_or_else(options)
    }

    /// The failure of a file with another number of bytes, which begins with `start`.
    pub fn wrong_length(&self, bytes: u64, start: &[u8]) -> Failure {
        let (name, what, dtype, expected) = (&self.name, self.what(), T::DTYPE.name(), self.expected_bytes());
        let record = start.first_chunk().map_or(0, |&word| u32::from_le_bytes(word)) as u64;
        let hint = if record > 0 && bytes % (record + RECORD_MARKS) == 0 {
            format!(
                "it looks like a sequential file of Fortran, with marks around records of {record} bytes: write it with \
                 access='stream', or cut them off: `tail -c +5 FILE | head -c {record} > NEW` is the first record"
            )
        } else {
            self.readings_text(bytes)
        };
        failure!("{name}: has {bytes} bytes of values, but {what} of {dtype} take {expected}: {hint}")
    }

    /// All contents that a number of bytes allows, each with the option that says so.
    fn readings_text(&self, bytes: u64) -> String {
        let (readings, behind) = match self.told {
            Some(_) => (self.single_component(bytes), vec![]),
            None => (self.readings(bytes), self.multiples(bytes)),
        };
        let advice = self.advice();
        match (&readings[..], &behind[..]) {
            ([], []) => advice,
            ([(what, do_this)], []) => format!("it has {what}: {do_this}"),
            _ => {
                let of_any = |(what, do_this): &Reading| format!("if it has {what}, {do_this}");
                let all: Vec<String> = readings.iter().chain(&behind).map(of_any).collect();
                let otherwise =
                    if behind.is_empty() { String::new() } else { format!("; otherwise {advice}") };
                all.join("; ") + &otherwise
            }
        }
    }

    /// One component, where all are expected.
    fn single_component(&self, bytes: u64) -> Vec<Reading> {
        let is_one = self.components() > 1 && bytes == self.expected_bytes() / self.components();
        Vec::from_iter(is_one.then(|| ("one component".into(), format!("give {} too", self.other_files()))))
    }

    fn other_files(&self) -> &'static str {
        match self.components() {
            2 => "the file of the other one",
            _ => "the files of the other ones",
        }
    }

    /// Other types and numbers of components of the same vertices.
    fn readings(&self, bytes: u64) -> Vec<Reading> {
        let mut found = self.single_component(bytes);
        let count = self.dims.count();
        let (one, other) = (count * T::BYTES as u64, if T::BYTES == 4 { Dtype::F64 } else { Dtype::F32 });
        let (name, one_of_other) = (other.name(), count * other.bytes());
        let mut add =
            |is_so: bool, what: String, do_this: String| found.extend(is_so.then_some((what, do_this)));
        match self.components() {
            1 => {
                add(bytes == one_of_other, format!("values of {name}"), format!("give --dtype {name}"));
                let alone = "give it alone, in place of U and V";
                add(bytes == 2 * one && !self.of_volume, "u and then v".into(), alone.into());
            }
            components => {
                let files = self.other_files();
                add(
                    bytes == one_of_other,
                    format!("one component of {name}"),
                    format!("give {files} too, and --dtype {name}"),
                );
                let all = ["u and v", "u, v and w"][components as usize - 2];
                let is_other = bytes == components * one_of_other;
                add(is_other, format!("{all} of {name}"), format!("give --dtype {name}"));
                if components == 2 && self.dims.has_cubes() {
                    let what = "u, v and w of a volume";
                    add(bytes == 3 * one, what.into(), OF_RAW_VOLUME.into());
                    let with_type = format!("give --dtype {name}; {OF_RAW_VOLUME}");
                    add(bytes == 3 * one_of_other, format!("{what} of {name}"), with_type);
                }
            }
        }
        found
    }

    /// Several planes or fields in place of one.
    fn multiples(&self, bytes: u64) -> Vec<Reading> {
        let (expected, Dims { nx, ny, nz }) = (self.expected_bytes(), self.dims);
        if bytes <= expected || bytes % expected != 0 {
            return vec![];
        }
        let (times, planes) = (bytes / expected, nz * (bytes / expected));
        let stack = format!("give --dims {nx}x{ny}x{planes}");
        let fields = || {
            let cut = format!("tail -c +{} FILE | head -c {expected} > NEW", expected + 1);
            (format!("{times} fields one behind the other"), format!("cut one out: `{cut}` is the second"))
        };
        match self.components() {
            1 => vec![(format!("{planes} planes (steps, levels)"), stack)],
            2 => vec![(format!("u of {planes} planes (steps, levels) and then v of these"), stack), fields()],
            _ => vec![fields()],
        }
    }

    /// Refuses one component of f64, as large as u and v of f32, where no option tells the type: as f32 the lower
    /// halves of its values, and only these, are wild or end in many zeros.
    pub fn refuse_f64(&self) -> Result<(), Failure> {
        let [u, v] = &self.values[..] else { return Ok(()) };
        if self.has_type || T::BYTES != 4 || !holds_f64([u, v]) {
            return Ok(());
        }
        Err(failure!(
            "{}: has the size of u and v of f32 and looks like one component of f64: give the file of the other one too, \
             and --dtype f64; --dtype f32 reads it as u and then v all the same",
            self.name
        ))
    }

    /// Refuses values of the other byte order: they are wild as they stand, and tame the other way round.
    pub fn refuse_big_endian(&self, path: &Path) -> Result<(), Failure> {
        if !self.values.iter().any(|values| is_swapped(values)) {
            return Ok(());
        }
        let together = Some(self.components()).filter(|&count| count > 1);
        let sizes: Vec<String> =
            together.into_iter().chain(self.dims.shape()).map(|n| n.to_string()).collect();
        let shape = sizes.join(", ");
        let program = format!(
            "import numpy; numpy.save('NEW.npy', numpy.fromfile('{}', '>f{}').reshape({shape}))",
            shell_name(path),
            T::BYTES
        );
        Err(failure!(
            "{}: looks like big-endian values, and raw values are little-endian; {} makes a file that tells its byte order",
            self.name,
            python(&program)
        ))
    }
}

/// Different words of a field, of so many that `word` gives, as a sample.
fn sample(count: usize, word: impl Fn(usize) -> u64) -> Vec<u64> {
    // Spread without a period, as the columns of a field have one.
    let mut words: Vec<u64> = (0..count.min(4096)).map(|k| word((k * 1_000_003) % count)).collect();
    // Many a field has one value for land.
    words.sort_unstable();
    words.dedup();
    words
}

fn is_tame(x: f64) -> bool {
    x == 0.0 || (1e-12..1e12).contains(&x.abs())
}

/// Whether u and v of f32 are the halves of as many values of f64.
fn holds_f64<T: Real>([u, v]: [&[T]; 2]) -> bool {
    let half = |k: usize| u.get(k).unwrap_or_else(|| &v[k - u.len()]).to_bits64();
    let words = sample(u.len(), |k| half(2 * k) | half(2 * k + 1) << 32);
    // Values of f64 that once were of f32 have 29 zeros at the end.
    let is_lower = |half: u64| half.trailing_zeros() >= 29 || !is_tame(T::from_bits64(half).to_f64());
    let lower = words.iter().filter(|&&word| is_lower(word & u32::MAX as u64)).count();
    let upper = words.iter().filter(|&&word| is_lower(word >> 32)).count();
    words.len() >= 16 && 2 * lower > words.len() && 4 * upper <= words.len()
}

/// Whether values are numbers of usual size only in the other byte order.
fn is_swapped<T: Real>(values: &[T]) -> bool {
    let words = sample(values.len(), |k| values[k].to_bits64());
    let tame = |word: u64| is_tame(T::from_bits64(word).to_f64());
    let swapped = |word: u64| word.swap_bytes() >> (64 - 8 * T::BYTES);
    let count = |tame: &dyn Fn(u64) -> bool| words.iter().filter(|&&word| tame(word)).count();
    words.len() >= 16
        && 2 * count(&tame) < words.len()
        && 16 * count(&|word| tame(swapped(word))) >= 15 * words.len()
}
