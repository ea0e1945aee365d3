"""What a writing query knows of its last batch, in a file beside Spark's checkpoint.

Laws:

1. The file has the events of a batch before the first of them is published, the publisher, and the number of
   the first one. So a batch that is run twice publishes what the first run had, whatever rows Spark makes.
2. A file is there whole or not at all: it is written under another name, and renamed.
"""

from typing import Final
from uuid import uuid4

import cbor2
import pyarrow as pa
from attrs import frozen
from pyarrow import fs

from broker.spark.columns import OutgoingEvent

_FILE: Final = "batch.cbor"


@frozen
class BatchRecord:
    """A batch: who publishes it, from which number on, and its events; none of them when `is_done`."""

    batch: int
    publisher: str
    first: int
    events: tuple[OutgoingEvent, ...]
    is_done: bool = False


class RecordFile:
    """The record of one query, in a directory on any file system that Arrow reads."""

    def __init__(self, place: str) -> None:
        self._fs, folder = _file_system(place)
        self._path = f"{folder.rstrip('/')}/{_FILE}"

    def read(self) -> BatchRecord | None:
        """Return the record of the last batch, or None before the first."""
        try:
            with self._fs.open_input_stream(self._path) as file:
                batch, publisher, first, events, is_done = cbor2.loads(file.read())
        except FileNotFoundError:
            return None
        return BatchRecord(batch, publisher, first, tuple(map(_event, events)), is_done)

    def write(self, record: BatchRecord) -> None:
        """Replace the record."""
        content = [record.batch, record.publisher, record.first, record.events, record.is_done]
        self._fs.create_dir(self._path.rpartition("/")[0])
        aside = f"{self._path}.{uuid4().hex}"
        with self._fs.open_output_stream(aside) as file:
            file.write(cbor2.dumps(content))
        self._fs.move(aside, self._path)


def _event(content: tuple[object, ...]) -> OutgoingEvent:
    attributes, payload, is_ordered = content
    assert isinstance(attributes, dict)
    assert isinstance(payload, bytes)
    return attributes, payload, bool(is_ordered)


def _file_system(place: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a place and the path in it; a path without a scheme is of this machine."""
    if "://" not in place and not place.startswith("file:"):
        return fs.LocalFileSystem(), place
    path = place.removeprefix("file:")
    if path != place and not path.startswith("//"):
        return fs.LocalFileSystem(), path
    try:
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(place)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"state: {place!r} is no place where a record can be kept: {error}") from error
    return found
