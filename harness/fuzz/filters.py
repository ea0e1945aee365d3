"""Throws texts at the filter language: `python -m harness.fuzz.filters --seconds 60 --seed 1`.

A case is two texts and a few events. Each text has to be a filter or a `FilterError` with a message that
people can read, for no more than `COST_LIMIT` steps. Filters have to be the same when they are printed and
parsed; to cover and overlap themselves; to be merged into one that matches what either matches; and to be
found by the matching index exactly where they match. What two filters say of each other must be borne out by
the events.

A case follows from the seed and its number alone: `--case NUMBER` shows one again. A case that hangs ends the
process with all stacks.
"""

import faulthandler
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import count, islice, pairwise
from pathlib import Path
from random import Random
from typing import Final

import click
from attrs import define, frozen

from broker.filters import SIZE_LIMIT_BYTES, Filter, FilterError, parse
from broker.filters.constraints import NumberRange, NumberSet, TextPattern, TextSet, Value
from broker.filters.errors import UNREADABLE
from broker.matching import MatchingIndex
from harness.fuzz.filter_texts import text_of

COST_LIMIT: Final = 400_000
"""Steps for one text: 60,000 for what is multiplied and 30,000 for one multiplication too many, and what is
in proportion to 8 KiB."""

MESSAGE_LIMIT: Final = 1000
"""Characters of an error and of an explanation."""

SLOW_LIMIT_S: Final = 2.0
"""Of processor time for one case, which takes some milliseconds: far above what a busy machine adds."""

HANG_LIMIT_S: Final = 60.0
"""No case takes a second; if `WATCHED_CASES` take this long, one of them never ends."""

WATCHED_CASES: Final = 64
"""The watch is wound up once for so many cases: it starts a thread each time."""

_EVENTS: Final = 6
_VALUES: Final[tuple[Value, ...]] = (
    0,
    1,
    -1,
    0.5,
    2**61,
    float("nan"),
    float("inf"),
    "",
    "a",
    "ab",
    True,
    False,
)
_STANDARD_ERROR: Final = 2


@define
class Tally:
    """What became of the texts."""

    filters: int = 0
    errors: int = 0
    dearest: int = 0


@frozen
class Case:
    """Two texts, and the seed of the events they are tried on."""

    texts: tuple[str, str]
    seed: str


class Crash(Exception):  # noqa: N818 - it is what this program looks for
    """A case in which the filters did what they must never do."""


def case_of(seed: int, number: int, corpus: tuple[str, ...] = ()) -> Case:
    """The case of a number; the same for ever."""
    random = Random(f"{seed}/{number}")  # noqa: S311 - it has to be repeatable, not secret
    return Case((text_of(random, corpus), text_of(random, corpus)), f"{seed}/{number}/events")


def run_case(case: Case, tally: Tally) -> None:
    """Judge one case.

    Raises:
        Crash: the filters did what they must never do.
    """
    started_s = time.process_time()
    try:
        parsed = [judged(text, tally) for text in case.texts]
        found = [each for each in parsed if each is not None]
        events = list(_events(Random(case.seed), found))  # noqa: S311 - it has to be repeatable, not secret
        for each in found:
            _check_alone(each, events)
        for one, other in pairwise(found):
            _check_pair(one, other, events)
        _check_index(found, events)
    except Crash:
        raise
    except Exception as unexpected:
        raise Crash(f"{type(unexpected).__name__}: {unexpected}") from unexpected
    if time.process_time() - started_s > SLOW_LIMIT_S:
        raise Crash(f"it took {time.process_time() - started_s:.1f} s")


def judged(text: str, tally: Tally) -> Filter | None:
    """Parse a text and check what comes out; return the filter, if it is one."""
    try:
        found = parse(text)
    except FilterError as error:
        _check_message(str(error))
        _require(error.code != UNREADABLE, f"an error that nobody foresaw: {error.__cause__!r}")
        _require(1 <= error.column <= len(text) + 1, f"column {error.column} of {len(text)}")
        cost, tally.errors = error.cost, tally.errors + 1
        tally.dearest = max(tally.dearest, cost)
        _require(cost <= COST_LIMIT, f"it costs {cost} steps to refuse")
        return None
    tally.filters += 1
    tally.dearest = max(tally.dearest, found.cost)
    _require(found.cost <= COST_LIMIT, f"it costs {found.cost} steps")
    return found


def _check_alone(one: Filter, events: Sequence[dict[str, Value]]) -> None:
    _check_printed(one)
    _require(one.covers(one), "it does not cover itself")
    _require(one.overlaps(one) == bool(one.conjunctions), "it overlaps itself unless nothing matches it")
    for event in events:
        why = one.failing(event)
        _require((why == "") == one.match(event), f"{event} matches, and fails for {why!r}")
        if why:
            _check_message(why)


def _check_printed(one: Filter) -> None:
    written = str(one)
    _require(len(written.encode()) <= SIZE_LIMIT_BYTES, f"it is printed in {len(written)} characters")
    again = parse(written)
    _require(again == one and hash(again) == hash(one), f"it is printed as {written!r}, which is another")
    _require(str(again) == written, f"it is printed differently the second time: {again}")


def _check_pair(one: Filter, other: Filter, events: Sequence[dict[str, Value]]) -> None:
    matches = [(one.match(event), other.match(event)) for event in events]
    if one.covers(other):
        _require(all(first or not second for first, second in matches), "what it covers goes beyond it")
    if not one.overlaps(other):
        _require(not any(first and second for first, second in matches), "what it does not overlap meets it")
    try:
        union = one.merge(other)
    except FilterError as error:
        _check_message(str(error))
        return
    _check_printed(union)
    _require(union == other.merge(one), "merged the other way round it is another")
    _require(
        [union.match(event) for event in events] == [any(each) for each in matches], "merging changes it"
    )


def _check_index(filters: Sequence[Filter], events: Sequence[dict[str, Value]]) -> None:
    index: MatchingIndex[int] = MatchingIndex()
    for key, each in enumerate(filters):
        index.add(key, each)
    for event in events:
        naive = [key for key, each in enumerate(filters) if each.match(event)]
        _require(sorted(index.match(event)) == naive, f"the index finds {index.match(event)} for {event}")
    for key in range(len(filters)):
        index.remove(key)
    _require(not index.match({}), "something is left in the index")


def _events(random: Random, filters: Sequence[Filter]) -> Iterator[dict[str, Value]]:
    """Draw events from the constants of the filters, and values near them."""
    conjunctions = [each for one in filters for each in one.conjunctions]
    yield {}
    for _ in range(_EVENTS if conjunctions else 0):
        chosen = random.choice(conjunctions)
        event = {name: _value(random, dict(chosen).get(name)) for name, _ in islice(chosen, 20)}
        if event and random.getrandbits(1):
            event[random.choice(sorted(event))] = random.choice(_VALUES)
        yield event


def _value(random: Random, constraint: object) -> Value:
    match constraint:
        case NumberSet(values) | TextSet(values):
            return random.choice(sorted(values))
        case NumberRange():
            bounds = [bound for bound in (constraint.low, constraint.high) if bound is not None] or [0]
            return random.choice(bounds) + random.choice((0, 0, 0.5, -1, 1))
        case TextPattern():
            inside = "".join(sorted(constraint.contains)[:4])
            start = random.choice((constraint.prefix, constraint.low or "", constraint.high or ""))
            return start + random.choice(("", "\0", "a", inside)) + constraint.suffix
    return random.choice(_VALUES)


def _check_message(message: str) -> None:
    _require(len(message) <= MESSAGE_LIMIT, f"a message of {len(message)} characters")
    _require(message.isprintable(), f"a message that is not one line: {message!r}")


def _require(condition: bool, otherwise: str) -> None:  # noqa: FBT001 - it reads like an assertion
    if not condition:
        raise Crash(otherwise)


def run(seed: int, numbers: Iterator[int], corpus: tuple[str, ...], until_s: float) -> tuple[Tally, int]:
    """Judge cases until none is left or the time is over; return what became of them, and how many."""
    tally, cases = Tally(), 0
    for number in numbers:
        if time.monotonic() >= until_s:
            break
        if cases % WATCHED_CASES == 0:
            faulthandler.dump_traceback_later(HANG_LIMIT_S, exit=True, file=_STANDARD_ERROR)
        case = case_of(seed, number, corpus)
        try:
            run_case(case, tally)
        except Crash as crash:
            faulthandler.cancel_dump_traceback_later()
            raise Crash(f"case {number} of seed {seed}: {crash}\n{case.texts!r}") from crash
        cases += 1
    faulthandler.cancel_dump_traceback_later()
    return tally, cases


def corpus_of(path: Path | None) -> tuple[str, ...]:
    """Read texts to damage, a line each, written as Python writes them."""
    if path is None:
        return ()
    return tuple(
        line.encode("latin-1", "backslashreplace").decode("unicode_escape")
        for line in path.read_text().splitlines()
        if line
    )


@click.command()
@click.option("--seconds", default=60.0, show_default=True, help="How long to go on.")
@click.option("--seed", default=1, show_default=True, help="The cases follow from it.")
@click.option("--case", "number", type=int, help="Try only the case of this number, and show it.")
@click.option("--corpus", type=click.Path(path_type=Path, exists=True), help="Texts to damage, a line each.")
def main(seconds: float, seed: int, number: int | None, corpus: Path | None) -> None:
    """Throw texts at the filter language.

    Example: python -m harness.fuzz.filters --seconds 60 --seed 1
    """
    texts = corpus_of(corpus)
    numbers = count() if number is None else iter((number,))
    if number is not None:
        click.echo("\n".join(map(repr, case_of(seed, number, texts).texts)))
    try:
        tally, cases = run(seed, numbers, texts, time.monotonic() + seconds)
    except Crash as crash:
        click.echo(f"crash: {crash}", err=True)
        sys.exit(1)
    click.echo(
        f"{cases} pairs of texts: {tally.filters} filters, {tally.errors} errors; "
        f"the dearest took {tally.dearest:,} steps"
    )


if __name__ == "__main__":
    main()
