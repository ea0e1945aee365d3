"""JSON as commands read and print it: one value a line.

Objects are read from a file or a pipe as soon as they are there. JSON has no NaN and no infinities: they are
refused when they are read, and printed as null.
"""

import json
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from math import isfinite, isinf
from sys import float_info
from typing import Final, NoReturn

import click
import trio

from broker.filters.constraints import Value

READ_BYTES: Final = 64 * 1024
"""What one read takes at most: reading happens in a thread, and a switch there and back costs like dozens
of lines."""

LINE_BYTES_MAX: Final = 4 * 1024 * 1024
"""Longer than any event may be, however it is escaped; without a bound a file without line ends would be read
whole."""


Numbered = tuple[int, Mapping[str, Value]]


async def object_batches(
    descriptor: int, ready: Callable[[], Awaitable[None]]
) -> AsyncGenerator[list[Numbered], None]:
    """Yield the objects of each read, with the numbers of their lines. Blank lines count, and are skipped.

    Waits for `ready` before each read, and before its objects are yielded.

    Raises:
        click.ClickException: a line is no object; the message names the line. All before it was yielded.
    """
    rest = b""
    number = 1
    await ready()
    while received := await trio.to_thread.run_sync(os.read, descriptor, READ_BYTES, abandon_on_cancel=True):
        *lines, rest = (rest + received).split(b"\n")
        await ready()
        for batch in _objects(number, lines):
            yield batch
        number += len(lines)
        _check_length(number, rest)
        await ready()
    await ready()
    for batch in _objects(number, [rest]):
        yield batch


def _objects(first: int, lines: list[bytes]) -> Iterator[list[Numbered]]:
    """Yield what lines hold; before a line that is no object is refused, all that stands above it."""
    found: list[Numbered] = []
    for number, line in enumerate(lines, first):
        try:
            if line.strip():
                found.append((number, _object(number, line)))
        except click.ClickException:
            yield found
            raise
    yield found


def _check_length(number: int, line: bytes) -> None:
    if len(line) > LINE_BYTES_MAX:
        raise click.ClickException(f"line {number}: longer than {LINE_BYTES_MAX} bytes")


def _object(number: int, line: bytes) -> Mapping[str, Value]:
    _check_length(number, line)
    try:
        found = json.loads(line, parse_constant=_refuse_constant, parse_float=_float)
    except ValueError as error:
        raise click.ClickException(f"line {number}: not JSON: {error}") from None
    except RecursionError:
        raise click.ClickException(f"line {number}: nested too deeply to be read") from None
    if not isinstance(found, dict):
        raise click.ClickException(f"line {number}: expected an object of attributes")
    return found


def _refuse_constant(text: str) -> NoReturn:
    """Refuse NaN and the infinities, which Python would read: JSON has none."""
    raise ValueError(f"{text} is no number in JSON")


def _float(text: str) -> float:
    """Read a number with a point or an exponent; one that would become infinite is refused."""
    number = float(text)
    if isinf(number):
        raise ValueError(f"{text:.30} is larger than any floating number ({float_info.max:.2g})")
    return number


def to_json(value: object) -> str:
    """Return one line of JSON that every reader of JSON takes."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_without_odd_numbers(value), ensure_ascii=False, allow_nan=False)


def _without_odd_numbers(value: object) -> object:
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _without_odd_numbers(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_odd_numbers(each) for each in value]
    return value
