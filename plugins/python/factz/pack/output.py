"""An output file that appears under its name when it is complete."""

import os
import shutil
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Optional

from . import stopping
from .failure import PackError


def check_paths(source: str, target: str, force: bool) -> None:
    """Refuses paths that cannot work, before the work begins."""
    if not os.path.exists(source):
        raise PackError("%s: there is no such file" % source)
    if os.path.exists(target):
        if os.path.samefile(source, target):
            raise PackError("%s is input and output: give the output another name" % target)
        if not force:
            raise PackError("%s exists: give another name, or --force (force=True) to replace it" % target)
        if not os.path.isfile(target):
            raise PackError("%s is no file: give another name" % target)
    folder = os.path.dirname(os.path.realpath(target))
    if not os.path.isdir(folder):
        raise PackError("%s: there is no folder %s: make it first" % (target, folder))


@contextmanager
def finished_file(target: str, force: bool, beginning: Optional[str] = None) -> Iterator[str]:
    """The path of a temporary file in the folder of the target, which takes its name at the end.

    If the work fails or is interrupted, the temporary file is removed, and the target is what it was.

    Args:
        force: whether an older file may be replaced; it hands down its permissions.
        beginning: a file that the new one begins as a copy of.
    """
    final = os.path.realpath(target)
    partial = str(Path(final).with_name(".%s.%d.partial" % (os.path.basename(final), os.getpid())))
    try:
        _make(partial, target)
        if beginning is not None:
            shutil.copyfile(beginning, partial)
        yield partial
        _to_disk(partial)
        stopping.check()
        _publish(partial, final, force)
        _to_disk(os.path.dirname(final))
    except FileExistsError as error:
        raise PackError(
            "%s exists by now: give another name, or --force to replace it" % error.filename
        ) from None
    finally:
        if os.path.exists(partial):
            os.unlink(partial)


def _make(partial: str, target: str) -> None:
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except FileExistsError:
        raise
    except OSError as error:
        raise PackError(
            "%s cannot be written: the folder %s takes no new files (%s)"
            % (target, os.path.dirname(partial), error.strerror)
        ) from None


def _to_disk(path: str) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _publish(partial: str, final: str, force: bool) -> None:
    if force and os.path.exists(final):
        os.chmod(partial, stat.S_IMODE(os.stat(final).st_mode))
        os.replace(partial, final)
        return
    try:
        # Unlike a rename, a link does not replace a file that appeared in the meantime.
        os.link(partial, final)
    except FileExistsError:
        raise FileExistsError(0, "exists", final) from None
    except OSError:  # a file system without links
        os.replace(partial, final)
