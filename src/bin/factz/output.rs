//! Files that appear under their names only when they are complete, and standard output.

use crate::failure::{failure, is_dash, output_name, Failure};
use crate::foreign::Product;
use crate::{litter, standard};
use std::ffi::CString;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{BufWriter, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{fchown, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// A file that is removed unless it is renamed, also when a signal ends the program.
#[derive(Debug)]
struct Temporary {
    path: TempPath,
    _entry: Option<litter::Entry>,
}

impl Temporary {
    /// A free name beside `target`, which `make` brings into being. No signal may come between that and the
    /// entry.
    fn beside<R>(
        target: &Path,
        mut make: impl FnMut(&Path) -> std::io::Result<R>,
    ) -> std::io::Result<(R, Temporary)> {
        let (mut entry, mut cause) = (None, None);
        let made =
            tempfile::Builder::new().prefix(".factz-").suffix(".tmp").make_in(folder_of(target), |path| {
                let made = make(path).inspect_err(|e| cause = e.raw_os_error())?;
                entry = litter::Entry::new(path);
                Ok(made)
            });
        match made {
            Ok(made) => {
                let (made, path) = made.into_parts();
                Ok((made, Temporary { path, _entry: entry }))
            }
            // Without the temporary name, which says nothing to the user.
            Err(e) => Err(cause.map_or(e, std::io::Error::from_raw_os_error)),
        }
    }
}

/// The directory that a file is in.
pub fn folder_of(target: &Path) -> &Path {
    target.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The content goes to a temporary file in the same directory, which [`Output::commit`] renames.
/// Targets that are no regular files (a pipe, `/dev/null`) are written directly, as is standard output.
#[derive(Debug)]
pub struct Output {
    /// For messages.
    name: String,
    target: PathBuf,
    temporary: Option<Temporary>,
    /// Whether the target must not exist.
    is_new: bool,
    replaced: bool,
    writer: BufWriter<File>,
}

impl Output {
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let name = output_name(path);
        let cannot = |e| failure!("{name}: cannot be written: {e}");
        if is_standard(path) {
            standard::refuse_closed(1, &name, "(> FILE, or | PROGRAM), or name a file")?;
            let file = std::io::stdout().as_fd().try_clone_to_owned().map_err(cannot)?;
            return Ok(Self::direct(name, path, file.into()));
        }
        let target = behind_links(path).map_err(cannot)?;
        if let Ok(metadata) = target.metadata() {
            if metadata.is_dir() {
                return Err(failure!("{name}: is a directory: give the name of a file"));
            }
            if !metadata.is_file() {
                let file = OpenOptions::new().write(true).open(&target).map_err(cannot)?;
                return Ok(Self::direct(name, &target, file));
            }
            if metadata.permissions().readonly() || !is_writable(&target) {
                return Err(failure!("{name}: exists and is read-only: remove it, or give another name"));
            }
        }
        if target.file_name().is_none() {
            return Err(failure!("{name}: is not the name of a file"));
        }
        let create = |path: &Path| OpenOptions::new().write(true).create_new(true).open(path);
        let (file, temporary) = litter::undisturbed(|| Temporary::beside(&target, create))
            .map_err(|e| no_room(&name, folder_of(&target), e))?;
        Ok(Output { temporary: Some(temporary), ..Self::direct(name, &target, file) })
    }

    fn direct(name: String, target: &Path, file: File) -> Self {
        let writer = BufWriter::with_capacity(1 << 16, file);
        Output { name, target: target.into(), temporary: None, is_new: false, replaced: false, writer }
    }

    /// A file that another program makes meanwhile is not replaced.
    pub fn create_new(path: &Path) -> Result<Self, Failure> {
        Ok(Output { is_new: true, ..Output::create(path)? })
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.writer.write_all(bytes).map_err(|e| self.cannot(e))
    }

    /// Whether one may go back in it, as a regular file allows.
    pub fn can_seek(&self) -> bool {
        self.temporary.is_some()
    }

    /// For writers of formats.
    pub fn writer(&mut self) -> &mut BufWriter<File> {
        &mut self.writer
    }

    pub fn cannot(&self, e: std::io::Error) -> Failure {
        match e.kind() {
            ErrorKind::BrokenPipe => failure!("{}: the reader went away before the end", self.name),
            _ => failure!("{}: cannot be written: {e}", self.name),
        }
    }

    /// Brings everything to the disk; the target is still untouched.
    fn finish(&mut self) -> Result<(), Failure> {
        let done = self.writer.flush().and_then(|()| match &self.temporary {
            Some(temporary) => {
                if let Ok(former) = self.target.metadata() {
                    inherit(self.writer.get_ref(), &temporary.path, &former);
                }
                self.writer.get_ref().sync_all()
            }
            None => Ok(()),
        });
        done.map_err(|e| self.cannot(e))
    }

    /// Puts complete files in their places. All are complete and on the disk before the first is renamed;
    /// where a later one cannot be, the earlier ones get their former content back.
    pub fn commit(mut outputs: Vec<Output>) -> Result<(), Failure> {
        for output in &mut outputs {
            output.finish()?;
        }
        litter::undisturbed(|| replace(&mut outputs))?;
        for output in &outputs {
            // The names are on the disk when their directory is. Some file systems have no such request.
            if output.replaced {
                let _ = File::open(folder_of(&output.target)).and_then(|folder| folder.sync_all());
            }
        }
        Ok(())
    }
}

/// The failure to make a file in a folder.
fn no_room(name: &str, folder: &Path, e: std::io::Error) -> Failure {
    let folder_name = folder.display();
    let advice = match e.kind() {
        ErrorKind::NotFound if folder.is_dir() => {
            format!("the directory {folder_name} takes no new files: name another")
        }
        ErrorKind::NotFound => format!("there is no directory {folder_name}: make it, or name another"),
        ErrorKind::NotADirectory => format!("{folder_name} is no directory: name another"),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => format!(
            "its directory {folder_name} is not writable, and a file is made there before it gets its name: choose \
             another one, or make it writable"
        ),
        _ => format!("a file in {folder_name}: {e}"),
    };
    failure!("{name}: cannot be written: {advice}")
}

/// The file behind a link is replaced, or made, not the link.
fn behind_links(path: &Path) -> std::io::Result<PathBuf> {
    const MOST_LINKS: usize = 40;
    if path.exists() {
        // The links of open files, such as /dev/fd/3, lead to no name.
        let target = if path.is_symlink() { path.canonicalize() } else { Ok(path.into()) };
        return Ok(target.unwrap_or_else(|_| path.into()));
    }
    let mut target = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match std::fs::read_link(&target) {
            Ok(link) => target = folder_of(&target).join(link),
            Err(_) => return Ok(target),
        }
    }
    Err(std::io::Error::from_raw_os_error(libc::ELOOP))
}

/// Whether the user may write to a file.
fn is_writable(target: &Path) -> bool {
    let name = CString::new(target.as_os_str().as_bytes());
    // SAFETY: a C string.
    name.is_ok_and(|name| unsafe {
        libc::faccessat(libc::AT_FDCWD, name.as_ptr(), libc::W_OK, libc::AT_EACCESS) == 0
    })
}

/// Gives a new file the owner, group and permissions of that which it replaces, as far as the user may. A group
/// that the file cannot have lends it no permissions.
fn inherit(file: &File, path: &Path, former: &Metadata) {
    let Ok(new) = file.metadata() else { return };
    let group = new.gid() == former.gid() || fchown(file, None, Some(former.gid())).is_ok();
    if new.uid() != former.uid() {
        let _ = fchown(file, Some(former.uid()), None);
    }
    let mode = former.mode() & 0o777;
    let mode = if group { mode } else { mode & !0o070 | (mode & 0o007) << 3 };
    let _ = std::fs::set_permissions(path, Permissions::from_mode(mode));
}

/// How a replaced file gets its former content back.
enum Former {
    /// There was no file.
    Absent,
    /// A second name of the former file.
    Kept(Temporary),
    /// The file system has no second names.
    Lost,
}

impl Former {
    fn of(target: &Path) -> Former {
        if !target.exists() {
            return Former::Absent;
        }
        match Temporary::beside(target, |name| std::fs::hard_link(target, name)) {
            Ok(((), kept)) => Former::Kept(kept),
            Err(_) => Former::Lost,
        }
    }

    fn restore(self, target: &Path) -> bool {
        match self {
            Former::Absent => std::fs::remove_file(target).is_ok(),
            Former::Kept(kept) => kept.path.persist(target).is_ok(),
            Former::Lost => false,
        }
    }
}

fn replace(outputs: &mut [Output]) -> Result<(), Failure> {
    let mut done: Vec<(&Path, Former)> = Vec::new();
    let several = outputs.iter().filter(|o| o.temporary.is_some()).count() > 1;
    for output in outputs {
        let Some(temporary) = output.temporary.take() else { continue };
        let former = if several { Former::of(&output.target) } else { Former::Lost };
        let renamed = match output.is_new {
            true => temporary.path.persist_noclobber(&output.target),
            false => temporary.path.persist(&output.target),
        };
        if let Err(e) = renamed {
            let mut text = match e.error.kind() {
                ErrorKind::AlreadyExists => {
                    format!("{}: was made by another program meanwhile: give the command again", output.name)
                }
                _ => format!("{}: cannot be replaced: {}", output.name, e.error),
            };
            for (target, former) in done.into_iter().rev() {
                if !former.restore(target) {
                    text += &format!("; {} has its new content already", target.display());
                }
            }
            return Err(Failure::new(text));
        }
        output.replaced = true;
        done.push((&output.target, former));
    }
    Ok(())
}

/// Whether an output is standard output: `-`, or a name of the same file or pipe, `/dev/stdout` above all. A
/// device such as `/dev/null` is not, since nothing mixes there; a terminal is.
pub fn is_standard(path: &Path) -> bool {
    let same = |a: &Metadata, b: &Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    let stdout = || File::from(std::io::stdout().as_fd().try_clone_to_owned()?).metadata();
    is_dash(path)
        || match (path.metadata(), stdout()) {
            (Ok(a), Ok(b)) => {
                same(&a, &b) && (!a.file_type().is_char_device() || std::io::stdout().is_terminal())
            }
            _ => false,
        }
}

/// Refuses bytes on a terminal.
pub fn refuse_terminal(path: &Path) -> Result<(), Failure> {
    let terminal = match is_standard(path) {
        true => std::io::stdout().is_terminal(),
        // Opening a device or a pipe may have effects: only a terminal's name is looked at.
        false => {
            path.metadata().is_ok_and(|m| m.file_type().is_char_device()) && path == Path::new("/dev/tty")
        }
    };
    match terminal {
        true => Err(failure!(
            "{}: is a terminal, which cannot show a binary file: redirect it (> FILE, or | PROGRAM), or give the \
             name of a file",
            output_name(path)
        )),
        false => Ok(()),
    }
}

/// Makes a directory, and those above it, where they are missing.
pub fn make_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|e| failure!("{}: the directory cannot be made: {e}", folder.display()))
}

/// Refuses an output that is one of the inputs; `what` is what it is to be.
pub fn refuse_input(output: &Path, inputs: &[&Path], what: &str) -> Result<(), Failure> {
    match inputs.iter().any(|input| !is_dash(input) && same_file(output, input)) {
        true => Err(failure!("-o {}: is an input; give the {what} another name", output.display())),
        false => Ok(()),
    }
}

/// Writes a whole file.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut output = Output::create(path)?;
    output.write(bytes)?;
    Output::commit(vec![output])
}

/// Whether two paths name the same existing file, or are equal.
pub fn same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(x), Ok(y)) => x == y && x.is_file(),
        _ => a == b,
    }
}

/// Where a list goes: to a file, to standard output, or nowhere.
pub struct ListTarget<'a> {
    path: Option<&'a Path>,
}

impl ListTarget<'_> {
    /// `-o`, or else standard output, unless a JSON object takes that.
    pub fn of<'a>(output: &'a Option<PathBuf>, json: bool) -> Result<ListTarget<'a>, Failure> {
        let path = output.as_deref().or((!json).then_some(Path::new("-")));
        if let Some(path) = path {
            Product::List.refuse_name(path)?;
        }
        Ok(ListTarget { path })
    }

    pub fn path(&self) -> Option<&Path> {
        self.path
    }

    pub fn is_standard(&self) -> bool {
        self.path.is_some_and(is_standard)
    }

    pub fn write(
        &self,
        list: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
    ) -> Result<(), Failure> {
        let Some(path) = self.path else { return Ok(()) };
        let mut output = Output::create(path)?;
        match list(output.writer()) {
            // A reader that went away early, such as head, is no error.
            Err(e) if e.kind() == ErrorKind::BrokenPipe && self.is_standard() => Ok(()),
            Err(e) => Err(output.cannot(e)),
            Ok(()) => Output::commit(vec![output]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names in a directory, with the content of files.
    fn content(folder: &Path) -> Vec<(String, Option<Vec<u8>>)> {
        let entries = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap());
        let mut all: Vec<_> =
            entries.map(|e| (e.file_name().into_string().unwrap(), std::fs::read(e.path()).ok())).collect();
        all.sort();
        all
    }

    fn outputs(names: &[PathBuf]) -> Vec<Output> {
        names
            .iter()
            .map(|name| {
                let mut output = Output::create(name).unwrap();
                output.write(b"new").unwrap();
                output
            })
            .collect()
    }

    #[test]
    fn files_are_replaced_together_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["u", "v"].map(|n| folder.path().join(n));
        let file = |name: &str, bytes: &[u8]| (name.to_owned(), Some(bytes.to_vec()));
        for name in &names {
            std::fs::write(name, b"old").unwrap();
        }
        // Abandoned outputs leave nothing.
        drop(outputs(&names));
        assert_eq!(content(folder.path()), [file("u", b"old"), file("v", b"old")]);
        Output::commit(outputs(&names)).unwrap();
        assert_eq!(content(folder.path()), [file("u", b"new"), file("v", b"new")]);

        // The second file cannot be replaced: where it was, there is a directory now.
        std::fs::write(&names[0], b"old").unwrap();
        let unlucky = outputs(&names);
        std::fs::remove_file(&names[1]).unwrap();
        std::fs::create_dir(&names[1]).unwrap();
        let error = Output::commit(unlucky).unwrap_err();
        assert!(error.message.contains("v: cannot be replaced"), "{error}");
        assert_eq!(content(folder.path()), [file("u", b"old"), ("v".into(), None)]);

        // And where there was no older first file.
        std::fs::remove_file(&names[0]).unwrap();
        std::fs::remove_dir(&names[1]).unwrap();
        let unlucky = outputs(&names);
        std::fs::create_dir(&names[1]).unwrap();
        Output::commit(unlucky).unwrap_err();
        assert_eq!(content(folder.path()), [("v".into(), None)]);
    }
}
