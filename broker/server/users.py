"""The file of users that `--auth` names."""

import tomllib
from pathlib import Path

from broker.node.access import Access, AuthError, read_access

__all__ = ["load_access"]


def load_access(path: Path | None) -> Access:
    """Read the file of users; without one, everybody may do everything."""
    if path is None:
        return Access()
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise AuthError(f"--auth {path}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise AuthError(f"--auth {path}: {error}") from error
    try:
        return read_access(content)
    except AuthError as error:
        raise AuthError(f"--auth {path}: {error}") from error
