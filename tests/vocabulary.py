"""The words that the product never uses, and how often it still does.

Identifiers, comments and docstrings use one word for one concept: the word of the field. `INSTEAD` lists the
words that have no good meaning here, and what to say. `vocabulary.toml` has how often each package may still
use each of them; a count may fall and never rise. To lower the numbers after some are gone:

    python -m tests.vocabulary > tests/vocabulary.toml

`python -m tests.vocabulary tell patience` prints every line that uses one of these words.
"""

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from tests.sources import PACKAGES, Source, product_files

INSTEAD: Final = {
    "come back": "reconnect, resume, return",
    "hand out": "deliver, return, issue",
    "hear": "receive, learn",
    "held up": "pending, blocked by",
    "hull": "aggregate, merged filter; the term belongs to the filter algebra",
    "in its stead": "its replacement",
    "mend": "repair, reconnect",
    "patience": "timeout, limit",
    "picture": "snapshot; figure if it is drawn",
    "sink": "hop",
    "somebody": "the noun: a client, a subscriber, a broker",
    "stand for": "cover, represent, mean",
    "tell": "announce, forward, deliver, notify, report",
    "whoever": "the noun: the client, the broker, the caller",
    "wish": "subscription, route",
    "written down": "recorded, journaled",
}
"""The words without a good meaning here, and what to say instead."""

_FORMS: Final = {
    "come back": r"(?:come|comes|came|coming) back",
    "hand out": r"(?:hand|hands|handed|handing) out",
    "hear": r"hear|hears|heard|hearing|unheard",
    "hull": r"hulls?",
    "mend": r"mend|mends|mended|mending",
    "picture": r"pictures?|pictured",
    "sink": r"sinks?",
    "stand for": r"(?:stand|stands|stood|standing) for",
    "tell": r"tell|tells|told|telling|teller|retold|untold",
    "wish": r"wish|wishes|wished",
}
_PATTERNS: Final = {word: re.compile(rf"\b(?:{_FORMS.get(word, word)})\b", re.IGNORECASE) for word in INSTEAD}
_ANY: Final = re.compile("|".join(pattern.pattern for pattern in _PATTERNS.values()), re.IGNORECASE)
_GOOD: Final = {"hull": ("broker/filters/", "broker/routing/")}
"""Where a word is the exact term."""

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")
_TABLE: Final = Path(__file__).with_suffix(".toml")

Counts = dict[str, dict[str, int]]


@cache
def _words_in(identifier: str) -> str:
    return _HUMP.sub(" ", identifier)


def _texts(source: Source) -> Iterator[tuple[int, str]]:
    """Yield identifiers, docstrings, comments and the module's own name, each with its line."""
    yield 1, _words_in(source.path.stem)
    for node in ast.walk(source.tree()):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.lineno, " ".join(str(node.value.value).split())
        elif not isinstance(node, ast.Constant):
            line = getattr(node, "lineno", 1)
            yield from (
                (line, _words_in(value)) for _, value in ast.iter_fields(node) if isinstance(value, str)
            )
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def uses(source: Source) -> Iterator[tuple[int, str]]:
    """Yield every use of a word that is never used, with its line."""
    for line, text in _texts(source):
        if _ANY.search(text):
            for word, pattern in _PATTERNS.items():
                if not str(source.path).startswith(_GOOD.get(word, ("//",))):
                    yield from ((line, word) for _ in pattern.finditer(text))


def counted(sources: Iterable[Source]) -> Counts:
    """Return how often each package uses each of the words."""
    counts: dict[str, Counter[str]] = {package: Counter() for package in sorted(PACKAGES)}
    for source in sources:
        counts[source.path.parts[0]].update(word for _, word in uses(source))
    return {package: dict(sorted(words.items())) for package, words in counts.items()}


def allowed() -> Counts:
    """Return the table of what may still occur."""
    return tomllib.loads(_TABLE.read_text(encoding="utf-8"))


def too_many(counts: Counts, limits: Counts) -> list[str]:
    """Return a complaint for every word that a package uses more often than it may."""
    return [
        f"{package}: {word!r} occurs {count} times, {limit} allowed; say {INSTEAD[word]}"
        f" (python -m tests.vocabulary {word!r})"
        for package, words in counts.items()
        for word, count in words.items()
        for limit in [limits.get(package, {}).get(word, 0)]
        if count > limit
    ]


def _table(counts: Counts) -> Iterator[str]:
    yield "# How often each package may still use a word; written by `python -m tests.vocabulary`."
    for package, words in counts.items():
        yield f"\n[{package}]"
        yield from (f'"{word}" = {count}' for word, count in words.items())


def main(words: list[str]) -> None:
    """Print the table as it would be now or, given words, every line that uses one of them."""
    places = (
        source.at(line, word) for source in product_files() for line, word in uses(source) if word in words
    )
    lines = places if words else _table(counted(product_files()))
    sys.stdout.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main(sys.argv[1:])
