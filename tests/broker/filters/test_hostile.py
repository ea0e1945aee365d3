"""Filters of hostile peers: no text ends or stalls a process that parses it, compares it, or reports it.

Work is counted in calls, which are the same on every machine, and not in time.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType

import pytest

from broker.filters import (
    CONJUNCTIONS_LIMIT,
    EXPANDING_STEPS,
    SIZE_LIMIT_BYTES,
    Filter,
    FilterError,
    cost_of_text,
    language,
    parse,
)
from broker.filters.constraints import (
    Constraint,
    NumberRange,
    NumberSet,
    TextPattern,
    covers,
    intersect,
    overlaps,
)
from broker.filters.disjunctions import unite
from broker.filters.errors import (
    CONJUNCTIONS,
    LEVELS,
    LITERAL,
    NAME,
    PARTS,
    PREDICATE,
    SIZE,
    STEPS,
    SYNTAX,
    UNREADABLE,
)

CALLS_LIMIT = 250_000
"""Of Python and C functions in one operation; the longest texts that people write take half as many."""

PAIR_CALLS_LIMIT = 40_000
"""Likewise in one operation on two constraints, which may list a thousand constants each."""

MESSAGE_LIMIT = 1000
COLLIDING = 2**61 - 1
"""Multiples of it have one hash."""


def calls_of(action: Callable[[], object]) -> int:
    """Count the calls that an action makes."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(before)
    return calls


def error_of(text: str) -> FilterError:
    with pytest.raises(FilterError) as raised:
        parse(text)
    return raised.value


def listed(pattern: str, count: int) -> str:
    return ", ".join(pattern.format(place) for place in range(count))


def texts(count: int, pattern: str = "{}") -> str:
    return listed(f"'{pattern}'", count)


def joined(pattern: str, count: int, glue: str) -> str:
    return glue.join(pattern.format(place, place * COLLIDING) for place in range(count))


REFUSED = {
    "powers in a call": ("(1" + "**1" * 2600 + ").z()", PREDICATE),
    "powers in a comparison": ("x == (1" + "**1" * 2600 + ")", PREDICATE),
    "powers in a tuple": ("x in (1" + "**1" * 2600 + ",)", PREDICATE),
    "sums": ("x" + "+1" * 4000, LEVELS),
    "signs": ("x == " + "-" * 8000 + "1", LEVELS),
    "inverted signs": ("~" * 8000 + "x", LEVELS),
    "calls": ("x" + "()" * 4000, LEVELS),
    "subscripts": ("x" + "[0]" * 2600, PREDICATE),
    "attributes of a call": ("x()" + ".a" * 4000, NAME),
    "attributes": ("x" + ".a" * 4000, NAME),
    "not": ("not " * 2000 + "x == 1", LEVELS),
    "brackets": ("(" * 4000 + "1" + ")" * 4000, LEVELS),
    "ternaries": ("1 if 1 else " * 600 + "1", NAME),
    "lambdas": ("lambda: " * 1000 + "1", NAME),
    "lambda in brackets": ("x == (lambda: 1)", NAME),
    "walrus": ("(x := 1) == 1", PREDICATE),
    "comprehension": ("x in [y for y in z]", PREDICATE),
    "formatted text": ("x == f'{y}'", LITERAL),
    "formatted text after a name": ("x in 'a' f'{y!r:>{z}}'", LITERAL),
    "stars": ("x in (*y, *z)", PREDICATE),
    "dictionary": ("x in {1: 1}", PREDICATE),
    "8000 digits": ("x == " + "9" * 8000, LITERAL),
    "8000 digits after the point, infinite": ("x == 9." + "9" * 8000 + "e999", LITERAL),
    "hexadecimal": ("x == 0x" + "f" * 8000, LITERAL),
    "zero character": ("x == 1\0", SYNTAX),
    "half of a pair": ("x == '\udc80'", SYNTAX),
    "half of a pair, escaped": ("x == '\\udc80'", LITERAL),
    "unknown escape": ("x == '\\N{no such}'", SYNTAX),
    "cut escape": ("x == '\\x1'", SYNTAX),
    "line separator": ("x == 1 \u2028 or y == 1", SYNTAX),
    "no text at all": ("x == '" * 1300, SYNTAX),
    "too long": ("x" * 9000, SIZE),
}


@pytest.mark.parametrize("which", REFUSED)
def test_a_hostile_text_is_refused_in_one_short_line(which: str) -> None:
    text, code = REFUSED[which]
    error = error_of(text)
    assert error.code == code, error
    assert 1 <= error.column <= len(text) + 1
    assert len(str(error)) <= MESSAGE_LIMIT
    assert str(error).isprintable()


def test_an_error_repeats_the_source_and_not_more_than_a_piece_of_it() -> None:
    assert "'größe.x[0]' cannot be called" in error_of("größe.x[0]('a') and x == 1").reason
    assert "write x in ('é',)" in error_of("é == 1 and x in 'é'").reason
    long_text = error_of(f"x in '{'a' * 8000}'").reason
    assert f"write x in ('{'a' * 36}...,)" in long_text


def test_an_error_is_one_line_of_bounded_length_for_every_text() -> None:
    error = FilterError(SYNTAX, 1, "what\n\udc80\u2028\0" * 1000)
    assert len(str(error)) <= MESSAGE_LIMIT
    assert str(error).isprintable()
    assert str(error).startswith(r"column 1: what\n\udc80\u2028\x00what")


@pytest.mark.parametrize("failure", [RecursionError, MemoryError, ValueError, OverflowError, SyntaxError])
def test_what_nobody_foresaw_is_an_error_of_the_filter(
    failure: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        raise failure

    monkeypatch.setattr(language, "canonical", broken)
    error = error_of("x == 1 or y == 1")
    assert (error.code, error.column) == (UNREADABLE, 1)
    assert failure.__name__ in error.reason


def test_an_explanation_is_one_line_of_bounded_length() -> None:
    wanted = parse(f"x in ({listed('{}', 1400)}) and y == 1 and z == 'a\\n' or {'n' * 255} == 1")
    for value in (10**5000, "a\n" * 10_000, 1e308, True):
        why = wanted.failing({"x": value, "y": value, "z": value, "n" * 255: value})
        assert len(why) <= MESSAGE_LIMIT
        assert why.isprintable()
    many = parse(joined("n{0} == 1", 500, " and "))
    assert "and 496 more" in many.failing({})


PREFIXES_LEFT_OUT = texts(900, "{:03}")
FEWER_LEFT_OUT = texts(600, "{:03}")
ENDINGS = f"x.endswith(({texts(250)}))"

EXPENSIVE = {
    "ranges multiplied": joined("(x < {0} or y < 3{0})", 300, " and "),
    "one disjunction multiplied by itself": joined("(x == 1 or y == 1)", 350, " and "),
    "disjunctions multiplied": joined("(a{0} == 1 or b{0} == 1)", 250, " and "),
    "suffixes multiplied": " and ".join(f"x.endswith(('{each}', '{each}{each}'))" for each in range(200)),
    "suffixes and a set": ENDINGS + " and y in (" + listed("{}", 1200) + ")",
    "suffixes and names": ENDINGS + " and " + joined("n{0} == 1", 390, " and "),
    "suffixes and unwanted texts": f"{ENDINGS} and x not in ({texts(600)})",
    "suffixes and unwanted prefixes": f"{ENDINGS} and not x.startswith(({FEWER_LEFT_OUT}))",
    "suffixes": f"x.endswith(({texts(1000)}))",
    "ranges": joined("{0} < x < {0}.5", 400, " or "),
    "substrings": joined("'{0}.' in x", 400, " or "),
    "required substrings": joined("'{0}.' in x", 500, " and "),
    "unwanted substrings": joined("'{0}.' not in x", 400, " and "),
    "unwanted suffixes": f"not x.endswith(({texts(1000)}))",
    "unwanted prefixes": f"not x.startswith(({PREFIXES_LEFT_OUT}))",
    "unwanted prefixes of all lengths": "not x.startswith(("
    + "".join(f"'{'a' * each}b', " for each in range(120))
    + "))",
    "one long unwanted prefix": f"not x.startswith('{'a' * 8000}')",
    "unwanted texts": joined("x != '{0}'", 500, " and "),
    "comparisons": "1" + " < x < 9" * 1000,
    "boxes": joined("x < {0} and y < 3{0} and z < 2{0}", 200, " or "),
    "texts": joined("'{0}b' < x < '{0}d'", 250, " or "),
    "collisions": joined("x == {1}", 270, " or "),
}


@pytest.mark.parametrize("which", EXPENSIVE)
def test_no_text_takes_more_work_than_its_length_and_the_budget_allow(which: str) -> None:
    text = EXPENSIVE[which]
    outcomes: list[Filter | FilterError] = []
    assert len(text) <= SIZE_LIMIT_BYTES
    assert calls_of(lambda: outcomes.append(outcome_of(text))) < CALLS_LIMIT
    (outcome,) = outcomes
    assert outcome.cost < 7 * cost_of_text("x" * SIZE_LIMIT_BYTES) + 2 * EXPANDING_STEPS
    assert isinstance(outcome, Filter) or outcome.code in (STEPS, CONJUNCTIONS, PARTS)


def outcome_of(text: str) -> Filter | FilterError:
    try:
        return parse(text)
    except FilterError as error:
        return error


@pytest.mark.parametrize(
    ("text", "code", "column", "words"),
    [
        ("x == 1 or " + EXPENSIVE["suffixes and a set"], STEPS, 1, "more than 60000 steps"),
        (
            "x == 1 or " + joined("(a{0} == 1 or b{0} == 1)", 9, " and "),
            CONJUNCTIONS,
            11,
            "256",
        ),
        (
            "y == 1 and " + EXPENSIVE["unwanted suffixes"],
            PARTS,
            16,
            "1000 substrings and unwanted suffixes of x, 64",
        ),
        (
            "y == 1 or " + joined("'{0}' in x", 65, " and "),
            PARTS,
            11,
            "65 substrings and unwanted suffixes of x, 64",
        ),
        ("y == 1 or " + EXPENSIVE["suffixes"], CONJUNCTIONS, 11, "1000 alternatives, 256 are allowed"),
    ],
)
def test_a_limit_of_work_is_named_with_its_place(text: str, code: str, column: int, words: str) -> None:
    error = error_of(text)
    assert (error.code, error.column) == (code, column), error
    assert words in str(error)


PREFIXES = texts(250, "{}.")
SUFFIXES = texts(250, ".{}")

PARTNERS = {
    "nothing else": "z == 1",
    "prefixes": f"x.startswith(({PREFIXES}))",
    "suffixes": f"x.endswith(({SUFFIXES}))",
    "substrings": joined("'{0}.' in x", 250, " or "),
    "pairs of substrings": "("
    + joined("'{0}' in x", 16, " or ")
    + ") and ("
    + joined("'{0}' in y", 16, " or ")
    + ")",
    "required substrings": joined("'{0}.' in x", 64, " and "),
    "unwanted prefixes": f"not x.startswith(({PREFIXES_LEFT_OUT}))",
    "texts": f"x in ({texts(1000)})",
    "unwanted texts": f"x not in ({texts(1000)})",
    "intervals": joined("'{0}b' < x < '{0}d'", 250, " or "),
    "ranges": joined("{0} < x < {0}.5", 250, " or "),
    "boxes": joined("x < {0} and y < 3{0}", 250, " or "),
    "elements": joined("any(i.a == {0} for i in x{0})", 200, " or "),
    "conditions": joined("any(i.a{0} > 1 for i in x)", 32, " and "),
    "alternatives of elements": f"any({joined('i.a{0} > 1', 32, ' or ')} for i in x)",
    "conditions in conditions": f"any(any({joined('i.a{0} > 1', 31, ' or ')} for i in i.x) for i in x)",
    "every element": joined("all(i.a{0} > 1 for i in x)", 32, " and "),
    "collisions": f"x in ({', '.join(str(COLLIDING * each) for each in range(1, 340))})",
}


@pytest.mark.parametrize("which", PARTNERS)
def test_no_two_filters_take_more_work_than_a_budget_allows(which: str) -> None:
    one = parse(PARTNERS[which])
    for other in map(parse, PARTNERS.values()):
        assert calls_of(partial(one.covers, other)) < CALLS_LIMIT
        assert calls_of(partial(one.overlaps, other)) < CALLS_LIMIT
        assert calls_of(partial(merged, one, other)) < CALLS_LIMIT


def merged(one: Filter, other: Filter) -> None:
    # What is beyond a limit is an error, and all else is not.
    with suppress(FilterError):
        assert one.merge(other).conjunctions


LOW_PREFIXES = texts(800, "a{:03}")
HIGH_PREFIXES = texts(800, "c{:03}")

LARGE = {
    "texts": f"x in ({texts(1000)})",
    "unwanted texts": f"x not in ({texts(1000)})",
    "unwanted prefixes": f"not x.startswith(({PREFIXES_LEFT_OUT}))",
    "unwanted of both kinds": f"x not in ({texts(500)}) and not x.startswith(({PREFIXES}))",
    "unwanted prefixes below": f"not x.startswith(({LOW_PREFIXES}))",
    "unwanted prefixes above a bound": f"x >= 'b' and not x.startswith(({HIGH_PREFIXES}))",
    "numbers": f"x in ({listed('{}', 1000)})",
    "unwanted numbers": f"x not in ({listed('{}', 1000)})",
    **{
        name: PARTNERS[name]
        for name in ("required substrings", "conditions", "every element", "conditions in conditions")
    },
}


@pytest.mark.parametrize("which", LARGE)
def test_two_constraints_take_work_in_proportion_to_their_size(which: str) -> None:
    # Routing compares and unites constraints without a budget.
    one = constraint_of(LARGE[which])
    for other in map(constraint_of, LARGE.values()):
        assert calls_of(partial(covers, one, other)) < PAIR_CALLS_LIMIT
        assert calls_of(partial(overlaps, one, other)) < PAIR_CALLS_LIMIT
        assert calls_of(partial(intersect, one, other)) < PAIR_CALLS_LIMIT
        assert calls_of(partial(unite, [one, other])) < PAIR_CALLS_LIMIT


def test_many_constraints_are_united_in_proportion_to_their_number() -> None:
    prefixes = [constraint_of(f"x.startswith('{place}.')") for place in range(250)]
    assert calls_of(partial(unite, prefixes)) < PAIR_CALLS_LIMIT
    assert calls_of(partial(unite, [*prefixes, constraint_of(LARGE["texts"])])) < PAIR_CALLS_LIMIT


def test_a_long_prefix_is_cut_out_of_texts_once() -> None:
    constraint = constraint_of(f"not x.startswith(('{'a' * 7000}', '{'b' * 30}'))")
    assert isinstance(constraint, TextPattern)
    assert constraint.prefix_lengths == (30, 7000)


def constraint_of(text: str) -> Constraint:
    (((_, constraint),),) = parse(text).conjunctions
    return constraint


@pytest.mark.parametrize("which", PARTNERS)
def test_a_filter_that_is_too_dear_to_simplify_is_still_itself(which: str) -> None:
    wanted = parse(PARTNERS[which])
    assert parse(str(wanted)) == wanted
    assert wanted.covers(wanted)
    assert wanted.overlaps(wanted)
    assert len(wanted.conjunctions) <= CONJUNCTIONS_LIMIT


def test_a_dear_filter_may_hold_every_number_or_text_of_an_attribute() -> None:
    # It is written as two ranges, which are one again when it is parsed, although nothing else is simplified.
    fifteen = joined("'{0}' in x", 15, " or "), joined("'{0}' in y", 15, " or ")
    dear = parse(f"({fifteen[0]}) and ({fifteen[1]}) or w != 1 or w == 1")
    assert len(dear.conjunctions) == 15 * 15 + 1
    assert "(w < 0 or w >= 0)" in str(dear)
    assert parse(str(dear)) == dear


def test_comparing_many_conjunctions_stays_exact() -> None:
    boxes = parse(joined("{0} < x < {0}.5 and {0} < y < 3{0}.5", 170, " or "))
    smaller = parse(joined("{0}.1 < x < {0}.4 and {0}.1 < y < {0}.2", 170, " or "))
    apart = parse(joined("{0}.6 < x < {0}.9 and {0}.1 < y < {0}.2", 170, " or "))
    assert boxes.covers(smaller)
    assert not smaller.covers(boxes)
    assert boxes.overlaps(smaller)
    assert not boxes.overlaps(apart)
    names = parse(joined("kind == 'k{0}' and owner == 'o{0}'", 200, " or "))
    assert names.covers(parse(joined("kind == 'k{0}' and owner == 'o{0}' and x == {0}", 150, " or ")))
    assert not names.overlaps(parse(joined("kind == 'k{0}' and owner == 'p{0}'", 200, " or ")))


@pytest.mark.parametrize(
    "pattern", ["x == {1}", "x in ({1}, 'a')", "x != {1}", "x > {1}", "x < {1}", "1 < x < {1}"]
)
def test_numbers_of_one_hash_do_not_make_constraints_of_one_hash(pattern: str) -> None:
    assert len({hash(place * COLLIDING) for place in range(1, 200)}) == 1
    filters = [parse(joined(pattern, place + 1, "\0").rpartition("\0")[2]) for place in range(1, 200)]
    assert len({hash(each) for each in filters}) == 199


@pytest.mark.parametrize("number", [0, 1, -1, 2**53, 2**61, 2**70, 10**400])
def test_equal_numbers_make_constraints_of_one_hash(number: int) -> None:
    alike = float(number) if number < 10**300 else number
    assert NumberSet(frozenset((number,))) == NumberSet(frozenset((alike,)))
    assert hash(NumberSet(frozenset((number,)))) == hash(NumberSet(frozenset((alike,))))
    assert hash(NumberRange(number, excluded=frozenset((number,)))) == hash(
        NumberRange(alike, excluded=frozenset((alike,)))
    )


def test_the_cost_of_a_text_grows_with_its_length_and_a_filter_carries_all_of_it() -> None:
    assert 0 < cost_of_text("x == 1") < cost_of_text("x == 1 or y == 2")
    assert cost_of_text("x" * 10**6) == cost_of_text("x" * SIZE_LIMIT_BYTES)
    for text in ("x == 1", "x == 1 or y == 2", PARTNERS["boxes"]):
        assert parse(text).cost > cost_of_text(text)
    assert error_of("x == y").cost > cost_of_text("x == y")
    assert parse("x == 1").cost < parse(EXPENSIVE["unwanted texts"]).cost / 100
