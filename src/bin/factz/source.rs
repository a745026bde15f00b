//! A file or standard input: its first bytes, its length, and what follows the bytes that are wanted.

use crate::failure::{failure, input_name, is_dash, Failure};
use crate::{foreign, standard};
use factz::stream::header::{HEADER_BYTES, MAGIC};
use std::fs::{File, Metadata};
use std::io::{IsTerminal, Read, Result as Done, Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::Path;

/// How long a writer that has sent all that is wanted may be silent until its input counts as ended.
const PATIENCE_MS: i32 = 200;

pub struct Source {
    /// For messages.
    pub name: String,
    file: File,
    /// Bytes that were looked at, and how many of them are read.
    start: Vec<u8>,
    taken: usize,
    /// The first byte and the number of bytes from there on, known of regular files.
    extent: Option<Extent>,
    /// Bytes read in all.
    read: u64,
    is_device: bool,
    /// Whether a pipe is waited for until its writer closes it.
    to_the_end: bool,
}

/// The part of a regular file from its position on, which standard input has moved in some cases.
#[derive(Clone, Copy)]
struct Extent {
    first: u64,
    length: u64,
}

impl Source {
    pub fn open(path: &Path) -> Result<Source, Failure> {
        let name = input_name(path);
        let cannot = |e| failure!("{name}: cannot be read: {e}");
        let file = match is_dash(path) {
            true => {
                refuse_terminal(&name)?;
                standard::refuse_closed(0, &name, "(< FILE, or PROGRAM |), or name a file")?;
                File::from(std::io::stdin().as_fd().try_clone_to_owned().map_err(cannot)?)
            }
            false => File::open(path).map_err(|e| failure!("{name}: cannot be opened: {e}"))?,
        };
        if file.metadata().map_err(cannot)?.is_dir() {
            let what = foreign::of_input(path, &[]);
            return Err(failure!("{name}: {}", what.unwrap_or("is a directory, not a file".into())));
        }
        Source::of_file(name, file)
    }

    /// An open file, from its position on.
    pub fn of_file(name: String, file: File) -> Result<Source, Failure> {
        let metadata = file.metadata().map_err(|e| failure!("{name}: cannot be read: {e}"))?;
        let (extent, kind) = (extent(&file, &metadata), metadata.file_type());
        let is_device = kind.is_char_device() || kind.is_block_device();
        let (start, taken, read, to_the_end) = (Vec::new(), 0, 0, false);
        Ok(Source { name, file, start, taken, extent, read, is_device, to_the_end })
    }

    /// Waits for a pipe until its writer closes it, however long the writer is silent.
    pub fn wait_for_the_end(&mut self) {
        self.to_the_end = true;
    }

    /// The next bytes, as many as asked for where there are so many; they are not read yet. Waits for them.
    pub fn peek(&mut self, count: usize) -> Result<&[u8], Failure> {
        self.start.drain(..std::mem::take(&mut self.taken));
        let more = count.saturating_sub(self.start.len()) as u64;
        let looked = self.file.by_ref().take(more).read_to_end(&mut self.start);
        looked.map_err(|e| self.cannot(e))?;
        Ok(&self.start)
    }

    pub fn cannot(&self, e: std::io::Error) -> Failure {
        failure!("{}: cannot be read: {e}", self.name)
    }

    /// Bytes in all, known of regular files.
    pub fn length(&self) -> Option<u64> {
        self.extent.map(|extent| extent.length)
    }

    /// Bytes that were read or passed over.
    pub fn position(&self) -> u64 {
        self.read
    }

    /// Bytes that are left, known of regular files.
    pub fn left(&self) -> Option<u64> {
        self.length().map(|length| length.saturating_sub(self.read))
    }

    /// The first byte, from a place of a regular file on, where a stream begins that the file has whole.
    /// Looks at so many bytes that it takes seconds at most.
    pub fn next_stream(&self, from: u64) -> Option<u64> {
        const REACH: u64 = 1 << 30;
        const PART: usize = 1 << 20;
        let Extent { first, length } = self.extent?;
        let mut bytes = vec![0; PART + HEADER_BYTES];
        for at in (from..length.min(from.saturating_add(REACH))).step_by(PART) {
            let there = bytes.len().min((length - at) as usize);
            self.file.read_exact_at(&mut bytes[..there], first + at).ok()?;
            let begins = |&k: &usize| {
                let left = length - at - k as u64;
                bytes[k..there].starts_with(&MAGIC)
                    && factz::inspect(&bytes[k..there]).is_ok_and(|info| info.stream_bytes <= left)
            };
            if let Some(k) = (0..there.min(PART)).find(begins) {
                return Some(at + k as u64);
            }
        }
        None
    }

    pub fn is_device(&self) -> bool {
        self.is_device
    }

    /// Passes over bytes, as many as asked for where there are so many.
    pub fn skip(&mut self, count: u64) -> Done<u64> {
        let Some(left) = self.left() else {
            return std::io::copy(&mut self.take(count), &mut std::io::sink());
        };
        let count = count.min(left);
        let looked = (self.start.len() - self.taken) as i64;
        self.file.seek(SeekFrom::Current(count as i64 - looked))?;
        self.taken = self.start.len();
        self.read += count;
        Ok(count)
    }

    /// Goes back, or ahead, to a byte of a regular file.
    pub fn go_to(&mut self, position: u64) -> Done<()> {
        let Extent { first, .. } = self.extent.expect("a regular file");
        self.file.seek(SeekFrom::Start(first + position))?;
        self.start.clear();
        (self.taken, self.read) = (0, position);
        Ok(())
    }

    /// Whether bytes follow those that were read. A device ends where its reader does, and a pipe where its
    /// writer is silent.
    pub fn goes_on(&mut self) -> Result<bool, Failure> {
        if let Some(left) = self.left() {
            return Ok(left > 0);
        }
        let unread = self.taken < self.start.len();
        if self.is_device || !(unread || self.to_the_end || self.is_ready()) {
            return Ok(false);
        }
        Ok(!self.peek(1)?.is_empty())
    }

    /// Whether there is something to read, or the end, before long.
    fn is_ready(&self) -> bool {
        let mut poll = libc::pollfd { fd: self.file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, which is open.
        unsafe { libc::poll(&mut poll, 1, PATIENCE_MS) > 0 }
    }

    /// The whole file, from its first byte on.
    pub fn into_file(mut self) -> Done<File> {
        let looked = self.start.len() as i64;
        self.file.seek(SeekFrom::Current(-looked))?;
        Ok(self.file)
    }
}

/// The part of a regular file from its position to its end. Files of the kernel say 0 and have more.
fn extent(mut file: &File, metadata: &Metadata) -> Option<Extent> {
    let first = file.stream_position().unwrap_or(0);
    let known = metadata.is_file() && metadata.len() > 0;
    known.then(|| Extent { first, length: metadata.len().saturating_sub(first) })
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> Done<usize> {
        let mut looked = &self.start[self.taken..];
        let n = match looked.is_empty() {
            true => self.file.read(buffer)?,
            false => {
                let n = looked.read(buffer)?;
                self.taken += n;
                n
            }
        };
        self.read += n as u64;
        Ok(n)
    }
}

/// Nobody types binary values.
fn refuse_terminal(name: &str) -> Result<(), Failure> {
    match std::io::stdin().is_terminal() {
        true => Err(failure!("{name}: is a terminal: redirect it (< FILE, or PROGRAM |), or name a file")),
        false => Ok(()),
    }
}
