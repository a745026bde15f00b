//! A progress bar on stderr: only on a terminal, and only when the work takes longer than a moment. It is
//! drawn by the threads that work; none is started for it.

use crate::say::Voice;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const SILENT: Duration = Duration::from_millis(700);
const STEPS: u64 = 1000;

pub struct Progress {
    message: &'static str,
    start: Instant,
    terminal: bool,
    bar: Mutex<Option<ProgressBar>>,
}

impl Progress {
    pub fn new(message: &'static str, voice: &Voice) -> Self {
        let terminal = std::io::stderr().is_terminal() && !voice.is_quiet();
        Progress { message, start: Instant::now(), terminal, bar: Mutex::new(None) }
    }

    /// `done` goes from 0 to 1. May be called from any thread.
    pub fn report(&self, done: f64) {
        if !self.terminal || self.start.elapsed() < SILENT {
            return;
        }
        // A thread that finds the bar busy leaves it to the other one.
        if let Ok(mut bar) = self.bar.try_lock() {
            let bar = bar.get_or_insert_with(|| {
                let style = ProgressStyle::with_template("{msg} [{bar:40}] {percent}% {eta}")
                    .unwrap_or_else(|_| ProgressStyle::default_bar())
                    .progress_chars("=> ");
                ProgressBar::new(STEPS).with_message(self.message).with_style(style)
            });
            let position = (done.clamp(0.0, 1.0) * STEPS as f64) as u64;
            if position > bar.position() {
                bar.set_position(position);
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Ok(mut bar) = self.bar.lock() {
            if let Some(bar) = bar.take() {
                bar.finish_and_clear();
            }
        }
    }
}
