"""The file of users that `--auth` names."""

from pathlib import Path

from broker.node.access import Access, AuthError, read_access
from broker.server.settings import Tls
from broker.toml_files import TomlError, load


def load_access(path: Path | None, tls: Tls) -> Access:
    """Read the file of users; without one, certificates say who may do what, if they are asked for."""
    if path is None:
        asks = tls.serves and tls.authority is not None
        return Access(asks_for_certificates=asks, broker_names=frozenset(tls.brokers))
    try:
        return read_access(load(path))
    except (TomlError, AuthError) as error:
        raise AuthError(f"--auth {path}: {error}") from error
