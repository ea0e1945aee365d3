"""Texts for the filter fuzzer: by grammar, by damage, and by repetition up to the limit of size.

What is hostile about a filter is mostly that something in it occurs often. So a third of the texts repeats
one piece as often as fits, another third joins what the grammar allows, and damage to either gives the rest.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

from broker.filters import SIZE_LIMIT_BYTES

NAMES: Final = ("x", "y", "z", "a.b")
NUMBERS: Final = ("0", "1", "-1", "-2", "1.0", "0.5", "2", "1e308", "-1e308", "9007199254740993", "1e-320")
TEXTS: Final = (
    *("''", "'a'", "'ab'", "'b'", "'aba'", "'a\\0'", "'\\0'", "'\U0010ffff'", "'b\U0010ffff'", "'é'"),
)
CHANGING: Final = (
    "{0}",
    "-{0}",
    "{0}.5",
    "{1}",
    "'{0}'",
    "'{0:03}'",
    "'a{0}'",
    "'{0}a'",
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa{0}'",
    "'\\0{0}'",
)
"""Constants that differ at each place: its number, and a whole number that Python hashes to it."""

BETWEEN: Final = (("{0}", "{0}.5"), ("{0}", "1000"), ("-{0}", "{0}"), ("'{0}'", "'{0}z'"), ("'a'", "'a{0}'"))
"""Bounds of ranges: apart, nested, or with a start in common."""

CALLS: Final = (
    *("in_network({0}, '10.0.0.0/8')", "in_network({0}, '::/0', '10.1.0.0/16')", "in_network({0}, {3})"),
    *("version({0}, '>=1.2,<2')", "version({0}, '^1', '==2.0.0-a')", "version({0}, {3}, '*')"),
    *("within({0}, 0, 0, 10, 10)", "within({0}, -5, 170, 5, -170)", "within({0}, 0, {1}, 1, {2})"),
    *("near({0}, 5, 5, 1000)", "near({0}, {1}, {2}, 10)", "near({0})", "nowhere({0}, {3})"),
)
"""Calls of constraint types, with a name, two constants and a text."""

VARIABLES: Final = ("i", "j", "x")
SIGNS: Final = ("<", "<=", ">", ">=", "==", "!=")
OPENINGS: Final = (
    *("{name} in (", "{name} not in (", "{name}.startswith((", "not {name}.startswith(("),
    *("{name}.endswith((", "not {name}.endswith(("),
)
ODD_PIECES: Final = (
    *("(", ")", "[", "{", "}", "'", '"', "'''", "\\", "\n", "\0", "\ud800", "\u2028", "#", "**1", "+1"),
    *("-", "~", "not ", " and ", " or ", " if 1 else ", "lambda: ", "(y := 1)", "f'{x}'", "b'a'", "1j"),
    *("None", "...", "*x", "x for x in y", "[0]", ".a", "()", ".z()", "is", ",", ":", "@", "==", "<"),
    *("9" * 401, "0x" + "f" * 300, "1e999", "99999999999999999999", "\u00aa", "\ufb03", "True"),
)

RARELY: Final = 0.15


def text_of(random: Random, corpus: tuple[str, ...] = ()) -> str:
    """Draw a text."""
    kind = random.randrange(6)
    if kind < 2:  # noqa: PLR2004 - a third
        return expression(random, random.choice((1, 2, 4, 8, 16, 40)))
    if kind < 4:  # noqa: PLR2004 - another
        return repeated(random)
    if kind == 4:  # noqa: PLR2004 - a sixth
        return "".join(random.choice((*ODD_PIECES, *NAMES, *TEXTS)) for _ in range(random.randrange(30)))
    return damaged(random, random.choice(corpus) if corpus and random.getrandbits(1) else text_of(random))


def expression(random: Random, size: int) -> str:
    """Join so many predicates."""
    if size == 1:
        return predicate(random, random.randrange(20))
    left = random.randint(1, size - 1)
    one, other = expression(random, left), expression(random, size - left)
    joined = f"{one} {random.choice(('and', 'or'))} {other}"
    return random.choice(("{}", "({})", "({})", "not ({})")).format(joined)


def predicate(random: Random, place: int, names: Sequence[str] = NAMES) -> str:
    """Write one predicate; its constants may depend on its place."""
    if random.random() < RARELY / 5:
        return random.choice(("True", "False", "x", "x == y", "1", "x.y()", "x == x.y", "1 < 2", "x < True"))
    name = random.choice(names)
    if random.getrandbits(2) == 0:
        return _on_list(random, place, name)
    one, other = constant(random, place), constant(random, place + random.randint(-3, 9))
    text = random.choice((*TEXTS, *(each.format(place) for each in CHANGING[4:])))
    listed = ", ".join(constant(random, place * 3 + step) for step in range(random.choice((0, 1, 2, 3, 20))))
    return random.choice(
        (
            f"{name} {random.choice(SIGNS)} {one}",
            f"{one} {random.choice(SIGNS)} {name} {random.choice(SIGNS)} {other}",
            f"{name} {random.choice(('in', 'not in'))} ({listed},)" if listed else f"{name} in ()",
            f"{text} {random.choice(('in', 'not in'))} {name}",
            f"{random.choice(('', 'not '))}{name}.{random.choice(('startswith', 'endswith'))}({text})",
            f"exists({name})",
            f"{name} == {random.choice(('True', 'False'))}",
            f"{random.choice(('', 'not '))}{random.choice(CALLS).format(name, one, other, text)}",
        )
    )


def _on_list(random: Random, place: int, name: str) -> str:
    """Write a predicate on a list, or on null."""
    one, other = constant(random, place), constant(random, place + random.randint(-3, 9))
    return random.choice(
        (
            f"{one} {random.choice(('in', 'not in'))} {name}",
            f"{random.choice(('', 'not '))}{name} & {{{one}, {other}}}",
            f"{random.choice(('', 'not '))}{{{one}, {other}}} <= {name}",
            f"{random.choice(('', 'not '))}{name} <= {{{one}, {other}}}",
            f"len({name}) {random.choice(SIGNS)} {random.choice(NUMBERS)}",
            f"{name} {random.choice(('is', 'is not'))} None",
            _quantified(random, place, name),
            _quantified(random, place, name),
        )
    )


def _quantified(random: Random, place: int, name: str) -> str:
    """Write a condition on the elements of a list; conditions within it are rarer the deeper they are."""
    variable = random.choice(VARIABLES)
    names = tuple(variable + path for path in ("", ".x", ".y", ".a.b"))
    parts = [predicate(random, place, names) for _ in range(random.choice((1, 1, 1, 2, 3)))]
    condition = random.choice((" and ", " or ")).join(parts)
    return (
        f"{random.choice(('', 'not '))}{random.choice(('any', 'all'))}({condition} for {variable} in {name})"
    )


def constant(random: Random, place: int) -> str:
    """Write a constant that is the same everywhere, or one for its place."""
    if random.getrandbits(1):
        return random.choice((*NUMBERS, *TEXTS))
    return _changing(random.choice(CHANGING), place)


def _changing(pattern: str, place: int) -> str:
    return pattern.format(place, place * (2**61 - 1) + 1)


def repeated(random: Random) -> str:
    """Repeat a piece as often as fits, or a smaller number of times."""
    limit = random.choice((100, 1000, 3000, SIZE_LIMIT_BYTES, SIZE_LIMIT_BYTES + 200))
    if random.random() < RARELY:
        piece = random.choice(ODD_PIECES)
        return f"x == 1{piece * (limit // len(piece.encode('utf-8', 'replace')))}"[:limit]
    if random.getrandbits(1):
        opening = random.choice(OPENINGS).format(name=random.choice(NAMES))
        pattern = random.choice(CHANGING[4:] if "with" in opening else CHANGING)
        head = "" if random.getrandbits(1) else expression(random, 4) + " and "
        return _filled(head + opening, [pattern + ", "], ")" * opening.count("("), "", limit)
    parts = [_template(random) for _ in range(random.choice((1, 1, 2, 3)))]
    glue, inner = random.choice(((" or ", " and "), (" and ", " or "), (" or ", " or "), (" and ", " and ")))
    piece = inner.join(parts)
    return _filled("", [f"({piece})" if inner == " or " else piece], "", glue, limit)


def _template(random: Random) -> str:
    """Write a predicate with places for numbers."""
    name, pattern = random.choice((*NAMES, "n{0}")), random.choice(CHANGING)
    text, (low, high) = random.choice(CHANGING[4:]), random.choice(BETWEEN)
    return random.choice(
        (
            f"{name} {random.choice(SIGNS)} {pattern}",
            f"{low} {random.choice(SIGNS)} {name} {random.choice(SIGNS)} {high}",
            f"{text} {random.choice(('in', 'not in'))} {name}",
            f"{random.choice(('', 'not '))}{name}.{random.choice(('startswith', 'endswith'))}({text})",
            f"{name} {random.choice(('in', 'not in'))} ({pattern}, {pattern}, 'a', 1)",
            f"{random.choice(('', 'not '))}{name} & {{{{{pattern}, {text}}}}}",
            f"{{{{{pattern}, {text}}}}} <= {name}",
            f"len({name}) {random.choice(SIGNS)} {{0}}",
            f"{random.choice(('any', 'all'))}(i.x {random.choice(SIGNS)} {pattern} for i in {name})",
            f"any(i.n{{0}} == {pattern} and {text} in i.y for i in {name})",
        )
    )


def _filled(head: str, pieces: list[str], tail: str, glue: str, limit: int) -> str:
    text, place = head, 0
    while True:
        piece = (glue if place else "") + _changing(pieces[place % len(pieces)], place)
        if len(text) + len(piece) + len(tail) > limit:
            return text + tail
        text += piece
        place += 1


def damaged(random: Random, text: str) -> str:
    """Damage a text in one to three places."""
    for _ in range(random.choice((1, 1, 2, 3))):
        first, last = sorted(random.randint(0, len(text)) for _ in range(2))
        match random.randrange(4):
            case 0:
                text = text[:first] + text[last:]
            case 1:
                text = text[:first] + text[first:last] * random.choice((2, 3, 50)) + text[last:]
            case 2:
                text = text[:first] + random.choice(ODD_PIECES) + text[first:]
            case _:
                text = text[:first] + random.choice(ODD_PIECES) + text[first + 1 :]
        text = text[: SIZE_LIMIT_BYTES + 200]
    return text
