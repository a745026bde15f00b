//! A stream at the end of a file of streams.

use crate::failure::{failure, output_name, Failure};
use crate::litter::{self, Growth};
use crate::output::is_standard;
use crate::source::Source;
use crate::steps::Steps;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A file of whole streams, or an empty one.
pub struct Appended<'a> {
    path: &'a Path,
    file: File,
}

/// The place of a stream that was added.
#[derive(Clone, Copy, Default)]
pub struct Added {
    pub number: u64,
    pub offset: u64,
}

impl Appended<'_> {
    /// Looks at the file that `--append` names; none if there is no such file.
    pub fn open(path: &Path) -> Result<Option<Appended<'_>>, Failure> {
        let name = output_name(path);
        if is_standard(path) {
            return Err(failure!(
                "--append: {name} cannot be looked at: name a file with -o, or append by the shell, \
                 `-o - >> FILE`"
            ));
        }
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|e| failure!("{name}: cannot be opened to append: {e}"))?,
        };
        if !file.metadata().is_ok_and(|m| m.is_file()) {
            return Err(failure!("--append: {name} is no regular file: leave --append out"));
        }
        let appended = Appended { path, file };
        appended.end()?;
        Ok(Some(appended))
    }

    /// Where the next stream goes: behind whole streams alone.
    fn end(&self) -> Result<Added, Failure> {
        let name = output_name(self.path);
        let cannot = |e| failure!("{name}: cannot be read: {e}");
        let length = self.file.metadata().map_err(cannot)?.len();
        if length == 0 {
            return Ok(Added::default());
        }
        let mut copy = self.file.try_clone().map_err(cannot)?;
        std::io::Seek::rewind(&mut copy).map_err(cannot)?;
        let mut steps = Steps::over(Source::of_file(name.clone(), copy)?, self.path)?;
        match steps.fault.take() {
            Some(fault) => Err(fault.failure),
            None => Ok(Added { number: steps.found.len() as u64, offset: length }),
        }
    }

    /// Writes bytes at a place. A signal that comes meanwhile waits for the end of a part: no part is written
    /// after the signal has cut the file.
    fn write(&self, bytes: &[u8], offset: u64) -> std::io::Result<()> {
        const PART: usize = 1 << 24;
        let mut places = (offset..).step_by(PART);
        bytes
            .chunks(PART)
            .zip(&mut places)
            .try_for_each(|(part, place)| litter::undisturbed(|| self.file.write_all_at(part, place)))
    }

    /// Writes a stream behind the others and brings it to the disk. An error and a signal cut the file back
    /// to what it held. Programs that append at the same time wait for each other.
    pub fn add(self, stream: &[u8]) -> Result<Added, Failure> {
        let name = output_name(self.path);
        litter::lock(&self.file);
        let added = self.end()?;
        let growth = Growth::of(&self.file, added.offset);
        let written = self.write(stream, added.offset).and_then(|()| self.file.sync_all());
        if let Err(e) = written {
            let cut = self.file.set_len(added.offset).and_then(|()| self.file.sync_all());
            let state = match cut {
                Ok(()) => "it holds what it held before".into(),
                Err(_) => format!("`truncate -s {} FILE` makes it what it was before", added.offset),
            };
            return Err(failure!("{name}: cannot be written: {e}; {state}"));
        }
        litter::undisturbed(|| drop(growth));
        Ok(added)
    }
}
