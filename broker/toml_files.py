"""Files in TOML from users: read within limits, and refused with one reason.

Law: reading takes time in proportion to the file. Python's reader takes time in the square of the parts of a
dotted key, so a line has at most `DOTS_MAX` dots.
"""

import tomllib
from pathlib import Path
from typing import Final

from broker.errors import ConcordError

DOTS_MAX: Final = 4096
"""Of one line: half of what the longest filter could have."""


class TomlError(ConcordError):
    """A file cannot be read as TOML; the text says why, and not which file."""


def load(path: Path) -> dict[str, object]:
    """Return what is in the file. Raises `TomlError`."""
    try:
        content = path.read_text(encoding="utf-8")
        for number, line in enumerate(content.splitlines(), 1):
            if line.count(".") > DOTS_MAX:
                raise TomlError(f"line {number}: more than {DOTS_MAX} dots")
        return tomllib.loads(content)
    except OSError as error:
        raise TomlError(error.strerror or str(error)) from error
    except ValueError as error:
        # Beside what TOML forbids: bytes that are no UTF-8, and numbers of thousands of digits.
        raise TomlError(str(error)) from error
    except RecursionError as error:
        raise TomlError("nested too deeply to be read") from error
