"""The owner of a journal's directory: written once, locked while a broker uses it.

Laws:

1. A directory belongs to one broker, by name, and to one broker at a time. The lock is the system's: it goes
   with the process, however that ends. It is on the directory itself, so deleting a file does not remove
   it; and on a file in it, which names the process that has it. Over a network neither may mean anything.
2. A directory is taken for a new journal only if it holds no file of any other kind.
3. The journal's id is the broker's incarnation: it lasts as long as its memory.
"""

import contextlib
import fcntl
import json
import os
import secrets
from pathlib import Path
from typing import Final

from attrs import frozen

from broker.journal.errors import JournalError, explained, shown
from broker.journal.files import Files
from broker.journal.layout import FORMAT

ABOUT: Final = "about.json"
LOCK: Final = "lock"

SPARE_SUFFIX: Final = ".new"
"""What is being written has this name until it is whole; a crash may leave it, and it is not needed then."""

_ID_BYTES: Final = 16
_INCARNATION_BYTES: Final = 4
_IGNORED: Final = frozenset({LOCK, "lost+found"})
_LOCK_BYTES_MAX: Final = 32
_ABOUT_BYTES_MAX: Final = 64 * 1024
_FORMAT_MAX: Final = 10**6
_DIRECTORY_MODE: Final = 0o700


@frozen
class Identity:
    """The content of `about.json`."""

    broker: str
    id: bytes

    @property
    def incarnation(self) -> str:
        """The incarnation that the broker sends to peers, so that they know whether it has its memory."""
        return self.id[:_INCARNATION_BYTES].hex()

    def text(self, errors: str = "strict") -> bytes:
        """Return the file's content."""
        fields = {"format": FORMAT, "broker": self.broker, "id": self.id.hex()}
        return json.dumps(fields, indent=2, ensure_ascii=False).encode(errors=errors) + b"\n"


def made(path: Path) -> None:
    """Make the directory unless it is there. Raises `JournalError`."""
    try:
        path.mkdir(mode=_DIRECTORY_MODE, exist_ok=True)
    except OSError as error:
        raise explained(error, path, "cannot make the journal's directory") from error


def lock(path: Path, directory: int) -> int:
    """Lock the directory for this process; return the descriptor of the lock file. Raises `JournalError`."""
    try:
        descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise explained(error, path, "cannot lock the journal") from error
    try:
        for locked in (descriptor, directory):
            fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = shown(os.pread(descriptor, _LOCK_BYTES_MAX, 0).decode(errors="replace").strip())
        os.close(descriptor)
        raise JournalError(
            f"{path}: another process{f' ({owner})' if owner else ''} uses this "
            "journal: stop it first, or give each broker a directory of its own",
            str(path),
        ) from None
    except OSError as error:
        os.close(descriptor)
        raise explained(error, path, "cannot lock the journal") from error
    # Who cannot write this for want of room can still read, and that is worth starting for.
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()}\n".encode(), 0)
    return descriptor


def write_aside(files: Files, name: str, parts: list[bytes]) -> None:
    """Write a whole file so that after a crash it is there as it was before, or as it should be."""
    aside = name + SPARE_SUFFIX
    try:
        file = files.create(aside)
        try:
            file.write(0, parts)
            file.sync()
        finally:
            file.close()
        files.rename(aside, name)
        files.sync()
    except OSError:
        with contextlib.suppress(OSError):
            files.remove(aside)
        raise


def identify(files: Files, broker: str, fresh_id: bytes | None = None) -> Identity:
    """Return the identity of this broker's journal; write it if there is none. Raises `JournalError`."""
    names = [name for name in files.names() if name not in _IGNORED and not name.endswith(SPARE_SUFFIX)]
    if ABOUT in names:
        return _read(files, broker)
    if names:
        raise JournalError(
            f"{files.path}: is no journal: it has {shown(names[0])} and no {ABOUT}; give an empty directory, "
            "or one that a broker has made",
            str(files.path),
        )
    identity = Identity(broker, fresh_id or secrets.token_bytes(_ID_BYTES))
    write_aside(files, ABOUT, [identity.text()])
    return identity


def _read(files: Files, broker: str) -> Identity:
    path = files.path / ABOUT
    file = files.open(ABOUT)
    try:
        content = file.read(0, _ABOUT_BYTES_MAX)
    finally:
        file.close()
    identity = _parse(content, path)
    if identity.broker != broker:
        raise JournalError(
            f"{files.path}: is the journal of broker '{shown(identity.broker)}', not of {broker!r}: give "
            "each broker a directory of its own",
            str(files.path),
        )
    return identity


def _parse(content: bytes, path: Path) -> Identity:
    try:
        fields = json.loads(content)
        version, broker, journal_id = fields["format"], fields["broker"], bytes.fromhex(fields["id"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged(path) from error
    if type(version) is int and 0 < version <= _FORMAT_MAX and version != FORMAT:
        raise JournalError(
            f"{path}: the journal has format {version}, and this release reads and writes format {FORMAT}: "
            "use the release that made it, or move the directory away and start with an empty one",
            str(path),
        )
    if not isinstance(broker, str) or len(journal_id) != _ID_BYTES:
        raise _damaged(path)
    identity = Identity(broker, journal_id)
    # Written back it must be the same: whatever else has changed in it is damage too.
    if identity.text(errors="replace") != content:
        raise _damaged(path)
    return identity


def _damaged(path: Path) -> JournalError:
    return JournalError(
        f"{path}: is damaged: it should be the few lines of JSON that the broker has written there; restore "
        "this one file from a copy, or move the directory away and start with an empty one",
        str(path),
    )
