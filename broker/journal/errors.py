"""The errors of a journal, and the meaning of the system's errors for it."""

import errno
from pathlib import Path
from typing import Final

from broker.errors import ConcordError

ROOM_ERRORS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""The disk, the quota or the limit on a file's size is used up: it may have room again later."""

_WHAT_TO_DO: Final = {
    errno.EACCES: "give the user that runs the broker the right to write there, or choose another directory",
    errno.EPERM: "give the user that runs the broker the right to write there, or choose another directory",
    errno.EROFS: "the file system is mounted read-only: mount it for writing, or choose another directory",
    errno.ENOTDIR: "a journal is a directory: give the path of one, or of one that can be made",
    errno.EEXIST: "a journal is a directory: give the path of one, or of one that can be made",
    errno.EISDIR: "a directory is where a file of the journal should be: move it away",
    errno.ENOENT: "the directory above it is not there: make it first",
    errno.EIO: (
        "the disk does not work as it should: look at the system's log; what was acknowledged is on it if it "
        "can still be read"
    ),
    errno.EMFILE: "the broker has too many files and connections open: raise the limit (ulimit -n)",
    errno.ENFILE: "the system has too many files open: raise its limit (fs.file-max)",
    **dict.fromkeys(ROOM_ERRORS, "there is no room for it: free some space"),
}


_SHOWN_MAX: Final = 100
"""Enough of a name to know it again."""


class JournalError(ConcordError):
    """A journal cannot be opened or written. `path` is the file or directory concerned."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message, path)
        self.path = path


def shown(name: str) -> str:
    """Return a name from an untrusted source as text for one line."""
    text = ascii(name) if not name.isprintable() else name
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}..."


def explained(error: OSError, path: Path, doing: str) -> JournalError:
    """Return the text of a system error: its meaning for the journal, and what to do about it."""
    advice = _WHAT_TO_DO.get(error.errno or 0, "see what the system says about it")
    return JournalError(f"{path}: {doing}: {error.strerror or error}; {advice}", str(path))
