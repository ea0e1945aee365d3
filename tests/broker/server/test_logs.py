"""What a broker logs: one line per event that names it, and tracebacks that stay small."""

import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

import pytest
import structlog

from broker.server import logs
from tests.sources import ROOT

BIG: Final = "x" * 1_000_000
LARGEST: Final = 40_000
"""Characters of any line: a traceback within its bounds, and the rest of the event."""


@pytest.fixture(autouse=True)
def _default_again() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def raised(error: BaseException) -> BaseException:
    """The error with a traceback whose variables are large."""
    large = [BIG] * 100
    try:
        _deep(100, error)
    except BaseException as caught:  # noqa: BLE001 - whatever was given
        assert large
        return caught


def _deep(depth: int, error: BaseException) -> NoReturn:
    large = {depth: BIG}
    if large and depth:
        _deep(depth - 1, error)
    raise error


def chained(length: int) -> BaseException:
    error: BaseException = ValueError("the innermost")
    for number in range(length):
        outer = raised(RuntimeError(f"failure {number}"))
        outer.__cause__ = error
        error = outer
    return error


def nested(depth: int) -> BaseException:
    error: BaseException = raised(ValueError("the innermost"))
    for _ in range(depth):
        error = raised(BaseExceptionGroup("group", [error] * 30))
    return error


ERRORS: Final[list[Callable[[], BaseException]]] = [
    lambda: raised(AssertionError("a law is broken")),
    lambda: raised(ValueError(BIG)),
    lambda: chained(40),
    lambda: nested(2),
]


def logged(monkeypatch: pytest.MonkeyPatch, form: str, **values: Any) -> str:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    logs.configure("info", form, broker="B1")
    structlog.get_logger().warning("something happened", **values)
    return out.getvalue()


def test_every_line_names_its_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    assert json.loads(logged(monkeypatch, "json", neighbour="B2"))["broker"] == "B1"
    assert "broker=B1" in logged(monkeypatch, "console")


@pytest.mark.parametrize("form", logs.FORMATS)
@pytest.mark.parametrize("error", ERRORS)
def test_a_traceback_is_short_and_shows_no_values(
    monkeypatch: pytest.MonkeyPatch, form: str, error: Callable[[], BaseException]
) -> None:
    found = error()
    text = logged(monkeypatch, form, exc_info=found)
    assert type(found).__name__ in text
    assert "_deep" in text
    assert "xxxx" not in text or BIG in str(found)
    assert len(text) < LARGEST


def test_a_traceback_in_json_has_types_texts_and_places(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = json.loads(logged(monkeypatch, "json", exc_info=nested(1)))["exception"]
    assert (found["exc_type"], found["exceptions_count"]) == ("ExceptionGroup", 30)
    ((inner,), *_) = found["exceptions"]
    assert (inner["exc_type"], inner["exc_value"]) == ("ValueError", "the innermost")
    assert len(inner["frames"]) == logs.FRAMES_MAX
    assert set(inner["frames"][-1]) == {"filename", "lineno", "name"}


def test_a_log_that_nobody_can_read_stops_nothing() -> None:
    program = (
        "import os, structlog; from broker.server.logs import configure; configure('info', 'console');"
        "reading, writing = os.pipe(); os.dup2(writing, 2); os.close(reading);"
        "structlog.get_logger().info('nobody reads this'); print('still here')"
    )
    ended = subprocess.run(  # noqa: S603 - the interpreter that runs this test, on a program written here
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ended.stdout, ended.returncode) == ("still here\n", 0)
