"""Lines of JSON are read the same however they arrive, and every reader of JSON takes those printed."""

import json
import os
from collections.abc import Mapping
from math import inf, nan
from pathlib import Path

import click
import pytest
import trio

from broker.commands import lines
from broker.commands.lines import object_batches, to_json
from tests.sources import product_files


async def read(path: Path) -> tuple[list[Mapping[str, object]], str]:
    """Return all batches that were yielded, and the error at the end."""
    found: list[Mapping[str, object]] = []
    descriptor = os.open(path, os.O_RDONLY)
    try:
        async for batch in object_batches(descriptor, trio.lowlevel.checkpoint):
            found += [each for _, each in batch]
    except click.ClickException as error:
        return found, error.message
    finally:
        os.close(descriptor)
    return found, ""


@pytest.mark.parametrize("read_bytes", [1, 5, 1000])
@pytest.mark.parametrize(
    ("end", "complaint"),
    [
        (b"{", "line 3: not JSON"),
        (b"{\n{", "line 3: not JSON"),
        (b"[" * 20, "line 3: longer than 10 bytes"),
        (b"[" * 20 + b"\n", "line 3: longer than 10 bytes"),
    ],
)
async def test_the_lines_before_a_bad_one_are_yielded_however_they_were_read(
    end: bytes, complaint: str, read_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "READ_BYTES", read_bytes)
    monkeypatch.setattr(lines, "LINE_BYTES_MAX", 10)
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"x": 1}\n\n' + end)
    found, said = await read(path)
    assert found == [{"x": 1}]
    assert said.startswith(complaint)


async def test_a_number_of_a_thousand_digits_is_not_repeated(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"x": ' + b"9" * 1000 + b".5}")
    found, said = await read(path)
    assert found == []
    assert "larger than any floating number" in said
    assert len(said) < 200


def test_numbers_that_json_does_not_have_are_null() -> None:
    value = {"a": nan, "b": [inf, -inf, 1.5], "c": {"d": (nan, "NaN", True)}}
    assert to_json(value) == '{"a": null, "b": [null, null, 1.5], "c": {"d": [null, "NaN", true]}}'


@pytest.mark.parametrize("value", [None, {"price": 1e308, "name": "händler"}, [1, 2.5, "x"]])
def test_everything_else_is_printed_as_python_prints_it(value: object) -> None:
    assert to_json(value) == json.dumps(value, ensure_ascii=False)


def test_every_command_prints_json_in_this_one_way() -> None:
    commands = [source for source in product_files() if source.path.parts[1] == "commands"]
    assert len(commands) > 15
    own = {"broker/commands/lines.py"}
    assert {str(each.path) for each in commands if "json.dumps" in each.text} == own
