"""The laws of constraint types, tried on calls and values that `concord.testing` draws.

Law: what is found depends on the calls and values alone; the words name the law, the calls and the value.
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import product
from typing import Final

from attrs import frozen

from broker.filters.constraint_types import Call
from broker.filters.installed import AnyConstraintType, InstalledType
from broker.filters.own import call_pattern, is_of_kind
from broker.filters.values import Value

LENGTHENED: Final = 16
"""How many times as long as it was written a call may be printed."""


class LawBrokenError(AssertionError):
    """A constraint type breaks a law; the text says which, and on what."""


@frozen
class _Seen:
    """A value, and what it is to the type."""

    value: Value
    subject: object


def check_laws(own: AnyConstraintType, calls: Sequence[Call], values: Sequence[Value]) -> None:
    """Try all laws on these calls, in pairs, and on these values.

    Raises:
        LawBrokenError: one is broken.
    """
    contents = [own.everything]
    for predicate, arguments in calls:
        content = own.parse(predicate, arguments)
        if content is not None:
            _check_written(own, (predicate, arguments), content)
            contents.append(content)
    seen = [
        _Seen(value, subject)
        for value in [*values, *(each for content in contents for each in own.examples(content))]
        if is_of_kind(value, own.kind) and (subject := own.read(value)) is not None
    ]
    for content in contents:
        _check_alone(own, content, seen)
    for one, other in product(contents, contents):
        _check_pair(own, one, other, seen)
    _check_joined(own, contents, seen)


def _require(own: AnyConstraintType, law: str, contents: Sequence[Hashable], *, holds: bool) -> None:
    if not holds:
        written = " and ".join(f"{name}{arguments!r}" for name, arguments in map(own.printed, contents))
        raise LawBrokenError(f"{type(own).__name__}: {law}: {written}")


def _check_written(own: AnyConstraintType, call: Call, content: Hashable) -> None:
    printed = own.printed(content)
    _require(
        own, "a content is parsed again as it is printed", [content], holds=own.parse(*printed) == content
    )
    again = own.parse(*call)
    is_equal = again == content and hash(again) == hash(content)
    _require(own, "equal calls have equal contents, with equal hashes", [content], holds=is_equal)
    is_short = len(repr(printed)) <= LENGTHENED * len(repr(call))
    _require(
        own, f"it is printed at most {LENGTHENED} times as long as it was written", [content], holds=is_short
    )


def _check_alone(own: AnyConstraintType, content: Hashable, seen: Sequence[_Seen]) -> None:
    _require(own, "a content covers itself", [content], holds=own.covers(content, content))
    _require(own, "a content overlaps itself", [content], holds=own.overlaps(content, content))
    _require(own, "everything covers it", [content], holds=own.covers(own.everything, content))
    _require(own, "the weight is 1 or more", [content], holds=own.weight(content) >= 1)
    cells = set(own.cells(content))
    for each in seen:
        if own.match(content, each.subject):
            is_found = not cells.isdisjoint(own.cells_of(each.subject))
            _require(
                own, f"{each.value!r} is found in a cell of what it satisfies", [content], holds=is_found
            )
        elif content == own.everything:
            _require(own, f"{each.value!r} satisfies everything", [content], holds=False)


def _check_pair(own: AnyConstraintType, one: Hashable, other: Hashable, seen: Sequence[_Seen]) -> None:
    pair = [one, other]
    covers, overlaps = own.covers(one, other), own.overlaps(one, other)
    _require(own, "overlapping goes both ways", pair, holds=overlaps == own.overlaps(other, one))
    _require(own, "what one covers it overlaps", pair, holds=overlaps or not covers)
    for each in seen:
        first, second = own.match(one, each.subject), own.match(other, each.subject)
        shown = f"{each.value!r}"
        _require(
            own,
            f"{shown} satisfies what covers what it satisfies",
            pair,
            holds=first or not (covers and second),
        )
        _require(own, f"what {shown} satisfies overlaps", pair, holds=overlaps or not (first and second))
    if not overlaps:
        return
    both, either = own.intersect(one, other), own.merge(one, other)
    _check_made(own, "intersect", (one, other, both), seen, lambda first, second: first and second)
    _check_made(own, "merge", (one, other, either), seen, lambda first, second: first or second)
    if not own.covers(other, one):
        rest = own.subtract(one, other)
        _check_made(own, "subtract", (one, other, rest), seen, lambda first, second: first and not second)


def _check_made(
    own: AnyConstraintType,
    operation: str,
    contents: tuple[Hashable, Hashable, Hashable | None],
    seen: Sequence[_Seen],
    wanted: Callable[[bool, bool], bool],
) -> None:
    one, other, made = contents
    if made is None:
        return
    for each in seen:
        is_wanted = wanted(own.match(one, each.subject), own.match(other, each.subject))
        law = f"{operation} is exact, as {each.value!r} shows"
        _require(own, law, [one, other, made], holds=own.match(made, each.subject) == is_wanted)
    predicate, arguments = own.printed(made)
    law = f"what {operation} makes is parsed again as it is printed"
    _require(own, law, [one, other], holds=own.parse(predicate, arguments) == made)


def _check_joined(own: AnyConstraintType, contents: Sequence[Hashable], seen: Sequence[_Seen]) -> None:
    """Try what filters do with contents: negate them, and join them in any order."""
    installed = InstalledType("tried", own)
    for one, other in product(contents, contents):
        wanted = call_pattern(installed, one, negated=False)
        unwanted = call_pattern(installed, other, negated=True)
        if wanted is None or unwanted is None:
            continue
        both, again = wanted.intersect(unwanted), unwanted.intersect(wanted)
        _require(own, "joining goes in any order", [one, other], holds=both == again)
        for each in seen:
            holds = own.match(one, each.subject) and not own.match(other, each.subject)
            accepted = both is not None and both.accepts(each.value)
            law = f"{each.value!r} satisfies the one and not the other where both are joined"
            _require(own, law, [one, other], holds=holds == accepted)
