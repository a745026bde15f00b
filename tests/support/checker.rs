//! The independent checker of results, in exact arithmetic (tests/exact_verify.py).

use super::fields::{dtype_name, Field};
use super::{fresh_folder, python, root, run};
use factz::{BoundKind, Comparison, Config, Real};
use serde_json::{json, Value};
use std::path::PathBuf;

/// The counts of the library's comparison by the names that the checker has for them.
pub fn counts(c: &Comparison) -> [(&'static str, u64); 18] {
    [
        ("lost_points", c.lost_points),
        ("spurious_points", c.spurious_points),
        ("changed_types", c.changed_types),
        ("lost_zeros", c.lost_zeros),
        ("spurious_zeros", c.spurious_zeros),
        ("changed_indices", c.changed_indices),
        ("critical_points", c.critical_points),
        ("other_critical_points", c.other_critical_points),
        ("zero_vertices", c.zero_vertices),
        ("changed_zero_vertices", c.changed_zero_vertices),
        ("ties", c.ties),
        ("changed_ties", c.changed_ties),
        ("new_ties", c.new_ties),
        ("changed_missing", c.changed_missing),
        ("filled_vertices", c.filled_vertices),
        ("nonfinite_vertices", c.nonfinite_vertices),
        ("bound_exceeded", c.bound_exceeded),
        ("violations", c.violations()),
    ]
}

/// Pairs of fields to compare, and the counts that the checker must come to.
pub struct Checker {
    folder: PathBuf,
    files: usize,
    /// Whether the answers list the isolated zeros.
    lists: bool,
    cases: Vec<Value>,
    expected: Vec<Vec<(&'static str, u64)>>,
}

impl Checker {
    pub fn new(name: &str) -> Self {
        let folder = fresh_folder(&format!("checker-{name}"));
        Checker { folder, files: 0, lists: false, cases: Vec::new(), expected: Vec::new() }
    }

    /// As [`Checker::new`]; the answers list the isolated zeros.
    pub fn with_lists(name: &str) -> Self {
        Checker { lists: true, ..Checker::new(name) }
    }

    /// The components of a field, written down.
    pub fn write<T: Real>(&mut self, field: &Field<T>) -> [PathBuf; 2] {
        self.files += 1;
        let paths = ["u", "v"].map(|name| self.folder.join(format!("{name}{}", self.files)));
        for (path, bytes) in paths.iter().zip(field.bytes()) {
            std::fs::write(path, bytes).expect("the folder is writable");
        }
        paths
    }

    /// Bound, spacing, fill value and ties are those of `config`.
    pub fn add<T: Real>(
        &mut self,
        before: &[PathBuf; 2],
        after: &Field<T>,
        config: &Config,
        expected: &[(&'static str, u64)],
    ) {
        let files = [&before[..], &self.write(after)].concat();
        let bound = match config.bound_kind {
            BoundKind::Absolute => "bound",
            BoundKind::Relative => "relative",
        };
        // JSON has no number that is NaN.
        let fill = config.fill_value.map(|x| if x.is_nan() { json!("nan") } else { json!(x) });
        self.cases.push(json!({
            "nx": after.nx, "ny": after.ny, "dtype": dtype_name::<T>(), "files": files, bound: config.bound,
            "spacing": [config.dx, config.dy], "fill": fill, "ties": config.ties.name(), "list": self.lists,
        }));
        self.expected.push(expected.to_vec());
    }

    /// The answers of the checker, one for each case, when it has come to the counts.
    pub fn check(self) -> Vec<Value> {
        let list = self.folder.join("cases.json");
        std::fs::write(&list, json!(self.cases).to_string()).expect("the folder is writable");
        let out = run(python().arg("-B").arg(root().join("tests/exact_verify.py")).arg(&list));
        let results: Vec<Value> = serde_json::from_slice(&out.stdout).expect("JSON");
        assert_eq!(results.len(), self.cases.len());
        for ((found, expected), case) in results.iter().zip(&self.expected).zip(&self.cases) {
            for &(key, count) in expected {
                assert_eq!(found[key].as_u64(), Some(count), "{key} of {case}: {found}");
            }
        }
        std::fs::remove_dir_all(&self.folder).expect("the folder can go");
        results
    }
}
