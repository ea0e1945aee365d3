"""The file of users that `--auth` names."""

import tomllib
from pathlib import Path

from broker.node.access import Access, AuthError, read_access
from broker.server.settings import Tls


def load_access(path: Path | None, tls: Tls) -> Access:
    """Read the file of users; without one, certificates say who may do what, if they are asked for."""
    if path is None:
        asks = tls.serves and tls.authority is not None
        return Access(asks_for_certificates=asks, broker_names=frozenset(tls.brokers))
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise AuthError(f"--auth {path}: {error.strerror}") from error
    except ValueError as error:
        # Beside what TOML forbids: bytes that are no UTF-8, and numbers of thousands of digits.
        raise AuthError(f"--auth {path}: {error}") from error
    except RecursionError as error:
        raise AuthError(f"--auth {path}: nested too deeply to be read") from error
    try:
        return read_access(content)
    except AuthError as error:
        raise AuthError(f"--auth {path}: {error}") from error
