//! The words of a command: sentences or JSON, on standard output, or on standard error where the data goes
//! there.

use crate::class::Class;
use crate::failure::{failure, Failure};
use crate::options::Talk;
use crate::standard;
use factz::CriticalPoint;
use serde_json::Value;
use std::io::{ErrorKind, Write};

pub struct Voice {
    json: bool,
    quiet: bool,
    aside: bool,
}

impl Voice {
    pub fn new(talk: &Talk) -> Self {
        Voice { json: talk.json, quiet: talk.quiet, aside: false }
    }
    /// `aside`: the data takes standard output.
    pub fn beside_data(talk: &Talk, aside: bool) -> Self {
        Voice { aside, ..Self::new(talk) }
    }
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// One JSON object or a text, as the options ask for.
    pub fn report(&self, json: impl FnOnce() -> Value, text: impl FnOnce() -> String) -> Result<(), Failure> {
        match (self.json, self.quiet) {
            (true, _) => self.write(&format!("{:#}\n", json())),
            (false, false) => self.write(&text()),
            (false, true) => Ok(()),
        }
    }

    /// A remark beside the report, on standard error.
    pub fn note(&self, text: &str) {
        if !self.json && !self.quiet {
            standard::write_error(&format!("note: {text}\n"));
        }
    }

    /// A line of a table: nothing where a JSON object follows.
    pub fn text(&self, text: &str) -> Result<(), Failure> {
        if self.json || self.quiet {
            Ok(())
        } else {
            self.write(text)
        }
    }

    pub fn json(&self, json: impl FnOnce() -> Value) -> Result<(), Failure> {
        self.report(json, String::new)
    }

    fn write(&self, text: &str) -> Result<(), Failure> {
        match self.aside {
            true => standard::write_error(text),
            false => print_result(text.as_bytes())?,
        }
        Ok(())
    }
}

/// Writes to standard output, which must not be closed. A reader that went away early is no error.
pub fn print_result(text: &[u8]) -> Result<(), Failure> {
    standard::refuse_closed(1, "standard output", "(> FILE, or | PROGRAM)")?;
    let mut out = std::io::stdout();
    printed(out.write_all(text).and_then(|()| out.flush()))
}

/// Whether standard output took what was written.
pub fn printed(done: std::io::Result<()>) -> Result<(), Failure> {
    match done {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(failure!("standard output: cannot be written: {e}"))
        }
        _ => Ok(()),
    }
}

/// 1234567 as 1,234,567.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (k, d) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k) % 3 == 0 {
            text.push(',');
        }
        text.push(d);
    }
    text
}

/// A count with its noun.
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

pub fn critical_points_text(n: u64) -> String {
    counted(n, "critical point", "critical points")
}

/// How many points there are, in all and of each class.
pub fn classes_text(points: &[CriticalPoint]) -> String {
    let classes = Class::counts(points).into_iter().filter(|(_, count)| *count > 0);
    let classes: Vec<String> =
        classes.map(|(class, count)| format!("{} {}", class.label(), grouped(count as u64))).collect();
    let all = critical_points_text(points.len() as u64);
    if classes.is_empty() {
        all
    } else {
        format!("{all}: {}", classes.join(", "))
    }
}

pub fn megabytes_per_second(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 / 1e6 / seconds.max(1e-9)
}
