"""The words of a fault: what goes wrong, with whom, when, for how long.

    crash edge-3 at 10s
    kill random every 3s from 5s until 60s

First the kind, one or two words; then its targets; then clauses, each a word and a value, in any order. An
error says which word it is about, and what may stand there.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import attrs

from broker.errors import ConcordError

RANDOM: Final = "random"
"""As a target: whichever chance, from the scenario's seed, points to."""

_SECONDS: Final[Mapping[str, float]] = {"ms": 1e-3, "s": 1.0, "m": 60.0}
_NUMBER: Final = re.compile(r"(\d+(?:\.\d+)?)([a-z/]*)")


class FaultError(ConcordError):
    """A fault that cannot be read; the text shows the word."""


@attrs.frozen
class Clause:
    """A clause that a kind knows: its unit as it is read, and its value if it is left out."""

    unit: str
    default: float | None = None


@attrs.frozen
class Form:
    """What a kind's fault looks like: how many targets it may have, and which clauses beside the time."""

    words: tuple[str, ...]
    targets: tuple[int, int]
    clauses: Mapping[str, Clause] = attrs.field(factory=dict)


@attrs.frozen
class Fault:
    """A fault as it was asked for. It happens at one time, or every so often between two."""

    text: str
    words: tuple[str, ...]
    targets: tuple[str, ...]
    at_s: float | None
    every_s: float | None
    from_s: float
    until_s: float | None
    values: Mapping[str, float | None]

    def value(self, clause: str) -> float | None:
        """Return what a clause says, or what it says if it is left out."""
        return self.values[clause]


def _seconds(word: str) -> float | None:
    found = _NUMBER.fullmatch(word)
    if found is None or found[2] not in _SECONDS:
        return None
    return float(found[1]) * _SECONDS[found[2]]


def _measured(unit: str) -> Callable[[str], float | None]:
    def read(word: str) -> float | None:
        found = _NUMBER.fullmatch(word)
        return float(found[1]) if found is not None and found[2] == unit else None

    return read


_UNITS: Final[Mapping[str, tuple[Callable[[str], float | None], str]]] = {
    "seconds": (_seconds, "a time such as 10s, 500ms or 2m"),
    "mbit": (_measured("mbit"), "a bandwidth such as 1mbit"),
    "rate": (_measured("/s"), "a rate such as 10/s"),
}
_TIMES: Final[Mapping[str, Clause]] = {name: Clause("seconds") for name in ("at", "every", "from", "until")}


def parse(text: str, forms: Sequence[Form]) -> Fault:
    """Read a fault. Raises `FaultError`."""
    words = text.split()
    form = _form(text, words, forms)
    clauses = {**_TIMES, **form.clauses}
    place = len(form.words)
    targets: list[str] = []
    while place < len(words) and words[place] not in clauses and len(targets) < form.targets[1]:
        targets.append(words[place])
        place += 1
    if len(targets) < form.targets[0]:
        raise _error(text, words, place, "expected a name")
    values = _clauses(text, words, place, clauses)
    _check_times(text, words, values)
    return Fault(
        text,
        form.words,
        tuple(targets),
        values.get("at"),
        values.get("every"),
        values.get("from", 0.0),
        values.get("until"),
        {name: values.get(name, clause.default) for name, clause in form.clauses.items()},
    )


def _form(text: str, words: Sequence[str], forms: Sequence[Form]) -> Form:
    for form in forms:
        if tuple(words[: len(form.words)]) == form.words:
            return form
    known = ", ".join(" ".join(form.words) for form in forms)
    begun = [form for form in forms if words and form.words[0] == words[0]]
    raise _error(text, words, 1 if begun else 0, f"expected one of: {known}")


def _clauses(text: str, words: Sequence[str], place: int, clauses: Mapping[str, Clause]) -> dict[str, float]:
    values: dict[str, float] = {}
    while place < len(words):
        name = words[place]
        if name not in clauses:
            raise _error(text, words, place, f"expected one of: {', '.join(clauses)}")
        if name in values:
            raise _error(text, words, place, f"expected {name!r} only once")
        read, allowed = _UNITS[clauses[name].unit]
        value = read(words[place + 1]) if place + 1 < len(words) else None
        if value is None:
            raise _error(text, words, place + 1, f"expected {allowed}")
        values[name] = value
        place += 2
    return values


def _check_times(text: str, words: Sequence[str], values: Mapping[str, float]) -> None:
    if ("at" in values) == ("every" in values):
        raise _error(text, words, len(words), "expected either 'at' or 'every' with a time")
    if values.get("every") == 0:
        raise _error(text, words, words.index("every") + 1, "expected a time of more than 0")
    for name in ("from", "until"):
        if name in values and "at" in values:
            raise _error(text, words, words.index(name), f"{name!r} belongs to 'every', not to 'at'")


def _error(text: str, words: Sequence[str], place: int, expected: str) -> FaultError:
    found = f"word {place + 1}, {words[place]!r}" if place < len(words) else "the end"
    return FaultError(f"fault {text!r}: at {found}: {expected}")
