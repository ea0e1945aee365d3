r"""A look at a filter before Python's parser sees it, so that hostile text fails here, quickly.

Laws:

* What comes through has a bounded size, a bounded depth of brackets, names of bounded length and one line.
* Only what Python's own parser would reject, misread or be slow about is decided here; the rest is the
  parser's.
"""

import keyword
import re

from broker.filters.errors import LEVELS, LITERAL, NAME, SIZE, SYNTAX, FilterError
from broker.filters.limits import LEVELS_LIMIT, NAME_LIMIT_BYTES, SIZE_LIMIT_BYTES

_TOKEN = re.compile(
    r"""
      (?P<formatted> (?<!\w) (?: [fF][rR]? | [rR][fF] ) (?=['"]) )
    | (?P<text> '{3} (?: [^\\] | \\. )*? '{3} | "{3} (?: [^\\] | \\. )*? "{3}
              | ' (?: [^'\\\n] | \\. )* '     | " (?: [^"\\\n] | \\. )* " )
    | (?P<number> (?<![\w.]) \d[\w]* )
    | (?P<name> [^\W\d]\w* (?: \s*\.\s* [^\W\d]\w* )* )
    | (?P<opening> [(\[{] )
    | (?P<closing> [)\]}] )
    | (?P<line> [\n\r\t\f\v] )
    | (?P<foreign> \# | && | \|\| | !(?!=) | <> | ; | (?<![=!<>:])=(?!=) )
    """,
    re.VERBOSE | re.DOTALL,
)

_LANGUAGE = frozenset(("and", "or", "not", "in", "is", "True", "False", "None"))
_RESERVED = frozenset(keyword.kwlist) - _LANGUAGE

DIGITS_LIMIT = 400
"""More than the largest constant has; Python is slow to read numbers of thousands of digits."""

_INSTEAD = {
    "#": "a filter has no comments; leave it out",
    "&&": "write 'and'",
    "||": "write 'or'",
    "!": "write 'not'",
    "<>": "write '!='",
    ";": "a filter is one expression; leave it out",
    "=": "write '==' to compare",
}


def scanned(text: str) -> str:
    """Return the text on one line, or raise `FilterError` for what must not reach the parser."""
    _check_size(text)
    characters = list(text)
    depth = 0
    for token in _TOKEN.finditer(text):
        column = token.start() + 1
        match token.lastgroup:
            case "opening":
                depth += 1
                if depth > LEVELS_LIMIT:
                    raise FilterError(
                        LEVELS,
                        column,
                        f"more than {LEVELS_LIMIT} levels of brackets; write the filter flatter",
                    )
            case "closing":
                depth -= 1
            case "line":
                characters[token.start()] = " "
            case "text" | "name" | "number" | "formatted" | "foreign":
                _check_token(token.lastgroup, token.group(), column)
    return "".join(characters)


def _check_size(text: str) -> None:
    try:
        size_bytes = len(text.encode())
    except UnicodeEncodeError as error:
        raise FilterError(
            SYNTAX, error.start + 1, "half of a surrogate pair is no character; remove it"
        ) from None
    if size_bytes > SIZE_LIMIT_BYTES:
        within = text.encode()[:SIZE_LIMIT_BYTES].decode(errors="ignore")
        raise FilterError(
            SIZE,
            len(within) + 1,
            f"the filter has {size_bytes} bytes, {SIZE_LIMIT_BYTES} are allowed; split it in several",
        )
    if not text.strip():
        raise FilterError(SYNTAX, 1, "the filter is empty; write True to match every event")
    if "\0" in text:
        raise FilterError(
            SYNTAX, text.index("\0") + 1, r"a zero character cannot stand here; write '\0' in a text"
        )


def _check_token(kind: str, token: str, column: int) -> None:
    if kind == "foreign":
        raise FilterError(SYNTAX, column, f"{token!r} is not part of the language; {_INSTEAD[token]}")
    if kind == "formatted":
        raise FilterError(LITERAL, column, "a formatted text is not allowed; write the text itself")
    if kind == "text" and "\n" in token:
        raise FilterError(LITERAL, column, r"a text must end on its line; write '\n' for a new line in it")
    if kind == "number" and len(token) > DIGITS_LIMIT:
        raise FilterError(LITERAL, column, f"a number has at most {DIGITS_LIMIT} digits; write it as 1e99")
    if kind == "name":
        _check_name(token, column)


def _check_name(token: str, column: int) -> None:
    words = token.replace(".", " ").split()
    size_bytes = len(".".join(words).encode())
    if size_bytes > NAME_LIMIT_BYTES:
        raise FilterError(
            NAME, column, f"an attribute name has at most {NAME_LIMIT_BYTES} bytes; this one has {size_bytes}"
        )
    for word in words:
        if word in _RESERVED:
            raise FilterError(
                NAME,
                column,
                f"{word!r} is a reserved word and cannot be in a name; call the attribute otherwise",
            )
