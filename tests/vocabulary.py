"""The words that the product never uses.

Identifiers, comments and docstrings use one word for one concept: the word of the field. `INSTEAD` lists the
words that have no good meaning here, and what to say. `python -m tests.vocabulary` prints every use.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from typing import Final

from tests.sources import Source, python_files

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


def words(source: Source) -> list[str]:
    """Nothing is called by a word that the field does not use."""
    return [
        source.at(line, f"{word!r}; say {instead}")
        for line, text in _texts(source)
        if _ANY.search(text)
        for word, instead in INSTEAD.items()
        if not str(source.path).startswith(_GOOD.get(word, ("//",)))
        for _ in _PATTERNS[word].finditer(text)
    ]


if __name__ == "__main__":
    sys.stdout.writelines(f"{complaint}\n" for source in python_files() for complaint in words(source))
