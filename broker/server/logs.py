"""Structured logs on standard error: one line per event, for people or as JSON.

Laws:

1. Every line names its broker: the lines of many brokers are read together.
2. A traceback is short, whatever failed and however large: no values of variables, the innermost frames of
   each exception, the first exceptions of a group, and a bounded number of characters of each text.
3. A log that cannot be written (a closed terminal, a reader that has left, a full disk) stops no broker.
"""

import logging
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TextIO

import structlog
from attrs import frozen

LEVELS: Final = ("debug", "info", "warning", "error")
FORMATS: Final = ("console", "json")

FRAMES_MAX: Final = 20
"""Of each exception: where it was raised is at the end, and Trio adds a dozen on the way."""

GROUP_MAX: Final = 5
"""Exceptions shown of a group, and groups in groups that are opened: the rest failed with them."""

EXCEPTIONS_MAX: Final = 10
"""Exceptions of one event in JSON: causes and members of groups counted in."""

MESSAGE_MAX: Final = 1_000
"""Characters of the text of one exception, in JSON."""

TRACEBACK_MAX: Final = 16_000
"""Characters of a whole traceback on the console; what is cut is in its middle."""

_CUT: Final = "... (cut)"

_Json = dict[str, object]


@frozen
class _LogLines:
    """Writes lines to a file, and does without the file where that fails (law 3)."""

    file: TextIO

    def write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            self.file.write(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self.file.flush()


@frozen
class _LinesFactory:
    file: TextIO

    def __call__(self, *_: object) -> structlog.PrintLogger:
        return structlog.PrintLogger(_LogLines(self.file))  # type: ignore[arg-type]  # it prints, and nothing else


def configure(level: str, form: str, broker: str = "") -> None:
    """Decide once, at the start of the process, what is logged and how, and which broker every line names."""
    renderers: Sequence[structlog.typing.Processor] = (
        (structlog.processors.ExceptionRenderer(_as_values), structlog.processors.JSONRenderer())
        if form == "json"
        else (
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=_write_traceback),
        )
    )
    structlog.configure(
        processors=[
            _naming(broker),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *renderers,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=_LinesFactory(sys.stderr),
    )


def _naming(broker: str) -> structlog.typing.Processor:
    """Add the broker's name to each line (law 1)."""

    def name(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        if broker:
            event.setdefault("broker", broker)
        return event

    return name


def _write_traceback(out: TextIO, exc_info: structlog.typing.ExcInfo) -> None:
    """Write the traceback as Python prints it, within the bounds (law 2)."""
    kind, error, trace = exc_info
    found = traceback.TracebackException(
        kind, error, trace, limit=-FRAMES_MAX, max_group_width=GROUP_MAX, max_group_depth=GROUP_MAX
    )
    text = "".join(found.format())
    half = TRACEBACK_MAX // 2
    out.write("\n" + (text if len(text) <= TRACEBACK_MAX else f"{text[:half]}\n{_CUT}\n{text[-half:]}"))


_transform = structlog.tracebacks.ExceptionDictTransformer(
    show_locals=False, use_rich=False, max_frames=FRAMES_MAX
)


def _as_values(exc_info: structlog.typing.ExcInfo) -> list[_Json]:
    """Return the traceback as values for JSON, within the bounds (law 2)."""
    return _bounded(_transform(exc_info), iter(range(EXCEPTIONS_MAX)))


def _bounded(stacks: Sequence[Mapping[str, object]], left: Iterator[int]) -> list[_Json]:
    """Return the first exceptions, as long as there is one left of those that may be shown."""
    return [_bounded_stack(stack, left) for stack, _ in zip(stacks, left, strict=False)]


def _bounded_stack(stack: Mapping[str, object], left: Iterator[int]) -> _Json:
    frames, notes, inner = (_list(stack, name) for name in ("frames", "exc_notes", "exceptions"))
    found: _Json = {
        "exc_type": stack.get("exc_type"),
        "exc_value": _short(str(stack.get("exc_value"))),
        "exc_notes": [_short(str(note)) for note in notes[:GROUP_MAX]],
        "is_cause": stack.get("is_cause"),
        "frames": frames[-FRAMES_MAX:],
    }
    if inner:
        found["exceptions_count"] = len(inner)
        found["exceptions"] = [shown for each in inner[:GROUP_MAX] if (shown := _bounded(each, left))]
    return found


def _list(stack: Mapping[str, object], name: str) -> list[Any]:
    found = stack.get(name)
    return found if isinstance(found, list) else []


def _short(text: str) -> str:
    return text if len(text) <= MESSAGE_MAX else f"{text[:MESSAGE_MAX]}{_CUT}"
