"""The language of patterns: `A as a then B as b where a.id == b.id within 5s`.

Theory of operation: a filter goes from where a step begins to `as`, which no filter has; so filters need no
brackets, whatever they contain. A bracket at the beginning of a step groups steps if there is an `as` in it,
and belongs to the filter otherwise.

    pattern    = steps { "not" FILTER "as" NAME "between" } [ "where" CONDITIONS ] "within" SPAN [ "by" PATH ]
    steps      = choice { "then" choice }
    choice     = all { "or" all }
    all        = step { "and" step }
    step       = "(" steps ")" | FILTER "as" NAME [ "times" COUNT ]

Law: every error has the column where it is, from 1, and says what to write instead.
"""

import re
from collections.abc import Callable
from itertools import takewhile
from typing import Final

from attrs import define, field, frozen

from broker.filters import NAME_LIMIT_BYTES, FilterError, parse
from broker.patterns.conditions import PatternError, conditions_of
from broker.patterns.pattern import (
    Condition,
    FirstOf,
    InAnyTurn,
    InTurn,
    NamedFilter,
    Pattern,
    Step,
    named_filters,
)
from broker.quantities import read_span

FORM: Final = "FILTER as a then FILTER as b where a.id == b.id within 5s"

SIZE_LIMIT: Final = 16 * 1024
"""Characters of a pattern: two filters of full size."""

NAMES_LIMIT: Final = 16
"""Filters with a name in one pattern."""

TIMES_LIMIT: Final = 64
"""How often a step may be repeated."""

LEVELS_LIMIT: Final = 16
"""Brackets around steps within each other."""

NS_PER_S: Final = 1_000_000_000

_TOKEN: Final = re.compile(
    r"""
      (?P<text> '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
    | (?P<word> [^\W\d][\w.]* )
    | (?P<number> \d[\w.]* )
    | (?P<other> \S )
    """,
    re.VERBOSE | re.DOTALL,
)
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
_AFTER_FILTERS: Final = frozenset({"then", "where", "between"})


@frozen
class _Word:
    """A piece of the text, and how many brackets are open before it."""

    text: str
    at: int
    depth: int

    @property
    def end(self) -> int:
        return self.at + len(self.text)


def parse_pattern(text: str) -> Pattern:
    """Return the pattern that a text describes.

    Raises:
        PatternError: it is none; the error has the column.
    """
    if len(text) > SIZE_LIMIT:
        raise PatternError(
            SIZE_LIMIT + 1, f"the pattern has {len(text)} characters, {SIZE_LIMIT} are allowed"
        )
    return _Parser(text, _words(text)).pattern()


def _words(text: str) -> list[_Word]:
    words: list[_Word] = []
    depth = 0
    for token in _TOKEN.finditer(text):
        piece = token.group()
        depth -= piece in _CLOSING
        words.append(_Word(piece, token.start(), depth))
        depth += piece in _OPENING
    return words


@define
class _Parser:
    """A walk over the words, from the first to the last."""

    _text: str
    _words: list[_Word]
    _at: int = 0
    _names: dict[str, None] = field(factory=dict)

    def pattern(self) -> Pattern:
        """Read a whole pattern."""
        steps = self._steps(0)
        absent = self._absent()
        conditions = self._conditions(steps, absent)
        self._expect("within", "say how soon all has to happen; write within 5s")
        within_ns = self._span()
        time = self._path() if self._takes("by") else ""
        if self._at < len(self._words):
            raise self._error(f"the pattern ends before {self._here!r}; write {FORM}")
        return Pattern(steps, absent, conditions, within_ns, time)

    # --- words ---

    @property
    def _here(self) -> str:
        return self._words[self._at].text if self._at < len(self._words) else ""

    def _error(self, reason: str, word: _Word | None = None) -> PatternError:
        if word is None and self._at < len(self._words):
            word = self._words[self._at]
        return PatternError((len(self._text.rstrip()) if word is None else word.at) + 1, reason)

    def _takes(self, word: str) -> bool:
        is_here = self._here == word
        self._at += is_here
        return is_here

    def _expect(self, word: str, otherwise: str) -> None:
        if not self._takes(word):
            raise self._error(otherwise)

    def _next(self, otherwise: str) -> _Word:
        if self._at == len(self._words):
            raise self._error(otherwise)
        self._at += 1
        return self._words[self._at - 1]

    # --- steps ---

    def _steps(self, level: int) -> Step:
        if level > LEVELS_LIMIT:
            raise self._error(f"more than {LEVELS_LIMIT} levels of brackets around steps")
        return self._joined("then", InTurn, lambda: self._choice(level))

    def _choice(self, level: int) -> Step:
        return self._joined("or", FirstOf, lambda: self._all(level))

    def _all(self, level: int) -> Step:
        return self._joined("and", InAnyTurn, lambda: self._step(level))

    def _joined(self, word: str, kind: Callable[[tuple[Step, ...]], Step], part: Callable[[], Step]) -> Step:
        parts = [part()]
        while self._takes(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else kind(tuple(parts))

    def _step(self, level: int) -> Step:
        if self._here == "(" and self._groups_steps():
            self._at += 1
            found = self._steps(level + 1)
            self._expect(")", "close the bracket around the steps")
            return found
        return self._named(self._filter_end())

    def _groups_steps(self) -> bool:
        """Return whether there is a filter with a name in the bracket that opens here."""
        depth = self._words[self._at].depth
        inside = takewhile(lambda each: each.depth > depth, self._words[self._at + 1 :])
        return any(each.text == "as" for each in inside)

    def _filter_end(self) -> int:
        """Return the position of the `as` behind the filter that begins here."""
        if self._at == len(self._words):
            raise self._error(f"here a filter is missing; write {FORM}")
        depth = self._words[self._at].depth
        for at in range(self._at, len(self._words)):
            word = self._words[at]
            if word.depth < depth or (word.depth == depth and word.text in _AFTER_FILTERS):
                raise self._error(f"the filter before {word.text!r} has no name; write FILTER as NAME", word)
            if word.depth == depth and word.text == "as":
                return at
        raise self._error("this filter has no name; write FILTER as NAME")

    def _named(self, end: int) -> NamedFilter:
        """Read a filter that ends there, and its name."""
        first, behind = self._words[self._at], self._words[end]
        if first is behind:
            raise self._error("here a filter is missing before 'as'")
        try:
            content = parse(self._text[first.at : behind.at])
        except FilterError as error:
            raise PatternError(first.at + error.column, error.reason) from None
        self._at = end + 1
        name = self._name()
        times = self._count() if self._takes("times") else 1
        return NamedFilter(name, content, times)

    def _name(self) -> str:
        word = self._next("here a name is missing; write FILTER as NAME")
        if not word.text.isidentifier():
            raise self._error(f"{word.text!r} is no name; a name is a word without dots", word)
        if word.text in self._names:
            raise self._error(f"two filters are called {word.text!r}; give each a name of its own", word)
        if len(self._names) == NAMES_LIMIT:
            raise self._error(f"a pattern has at most {NAMES_LIMIT} filters", word)
        self._names[word.text] = None
        return word.text

    def _count(self) -> int:
        word = self._next("say how often; write times 3")
        if not word.text.isdecimal() or not 1 <= int(word.text[:9]) <= TIMES_LIMIT:
            raise self._error(f"a step happens 1 to {TIMES_LIMIT} times; write times 3", word)
        return int(word.text)

    # --- what follows the steps ---

    def _absent(self) -> tuple[NamedFilter, ...]:
        found: list[NamedFilter] = []
        while self._takes("not"):
            word = self._words[self._at - 1]
            found.append(self._named(self._filter_end()))
            if found[-1].times > 1:
                raise self._error("what must not happen between has no times", word)
            self._expect("between", "write not FILTER as NAME between")
        return tuple(found)

    def _conditions(self, steps: Step, absent: tuple[NamedFilter, ...]) -> tuple[Condition, ...]:
        if not self._takes("where"):
            return ()
        depth = self._words[self._at - 1].depth
        start = self._words[self._at - 1].end
        first = self._at
        while self._at < len(self._words) and (
            self._here != "within" or self._words[self._at].depth != depth
        ):
            self._at += 1
        end = self._words[self._at].at if self._at < len(self._words) else len(self._text)
        conditions = conditions_of(self._text[start:end], start + 1, self._names)
        self._check_absent(steps, absent, conditions, self._words[first])
        return conditions

    def _check_absent(
        self, steps: Step, absent: tuple[NamedFilter, ...], conditions: tuple[Condition, ...], where: _Word
    ) -> None:
        """Refuse to compare what must not happen with what comes later: it would not be known in time."""
        first = steps.parts[0] if isinstance(steps, InTurn) else steps
        known = {first.name} if isinstance(first, NamedFilter) else set[str]()
        unwanted = {each.name for each in absent}
        for each in conditions:
            others = each.names - unwanted
            if each.names & unwanted and (len(each.names & unwanted) > 1 or not others <= known):
                name = min(each.names & unwanted)
                first_name = next(named_filters(first)).name
                raise self._error(
                    f"what must not happen can only be compared with the first event; compare {name} with"
                    f" {first_name}" + ("" if known else ", and let it be the first step alone"),
                    where,
                )

    def _span(self) -> int:
        word = self._next("say how soon; write within 5s")
        try:
            seconds = read_span(word.text)
        except ValueError as error:
            raise self._error(str(error), word) from None
        if seconds <= 0:
            raise self._error("the span of time must be more than nothing", word)
        return round(seconds * NS_PER_S)

    def _path(self) -> str:
        word = self._next("name the attribute with the time in seconds; write by at")
        if not all(part.isidentifier() for part in word.text.split(".")) or len(word.text) > NAME_LIMIT_BYTES:
            raise self._error(f"{word.text!r} is no attribute", word)
        return word.text
