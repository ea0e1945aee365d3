"""The options of a stream, as users give them to Spark: texts under names that ignore case."""

import json
import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal, cast

from attrs import field, frozen

from broker.client.blocking import Client, connect
from broker.client.limits import BOUND_BYTES, Limits
from broker.filters import parse

NAME: Final = "spark"
"""The client's name, unless the user gives another one."""

EVENTS_OF_BATCH: Final = 10_000
"""The default for the events of one subscription in a batch: a fraction of a second's work."""

BYTES_OF_BATCH: Final = 4 << 20
"""The default for their bytes. A batch travels with its tasks, which Spark limits to 128 MiB together."""

BYTES_OF_BATCH_MOST: Final = 32 << 20
"""More is not allowed for one subscription: a broker sends no more without an acknowledgement."""

GapPolicy = Literal["fail", "rows", "log"]
"""What happens at a gap: the query fails, a row says so, or the log does."""

_GAPS: Final = ("fail", "rows", "log")
_TRUE: Final = frozenset({"true", "1", "yes"})
_FALSE: Final = frozenset({"false", "0", "no", ""})


@frozen
class BrokerAccess:
    """Where the broker is, and who the client is there."""

    addresses: tuple[str, ...]
    name: str
    token: str | None = field(repr=False)
    tls: bool
    tls_ca: str | None
    tls_cert: str | None
    tls_key: str | None
    retry: bool

    @staticmethod
    def of(options: Mapping[str, str]) -> "BrokerAccess":
        """Read the options that reading and writing share.

        Raises:
            ValueError: one is missing or cannot be; the message says which.
        """
        addresses = tuple(filter(None, (each.strip() for each in needed(options, "broker").split(","))))
        certificate, key = options.get("tls_cert"), options.get("tls_key")
        if (certificate is None) != (key is None):
            raise ValueError("tls_cert and tls_key belong together: give both or neither")
        return BrokerAccess(
            addresses,
            options.get("name", NAME),
            options.get("token"),
            truth(options, "tls"),
            options.get("tls_ca"),
            certificate,
            key,
            truth(options, "retry"),
        )

    @contextmanager
    def open(self, limits: Limits | None = None) -> Iterator[Client]:
        """Connect, with the token of the environment's CONCORD_TOKEN if no option gives one."""
        token = self.token or os.environ.get("CONCORD_TOKEN")
        with connect(
            self.addresses,
            name=self.name,
            token=token,
            tls=self._context(),
            retry=self.retry,
            limits=limits or Limits(),
        ) as client:
            yield client

    def _context(self) -> ssl.SSLContext | None:
        if not (self.tls or self.tls_ca or self.tls_cert):
            return None
        context = ssl.create_default_context(cafile=self.tls_ca)
        if self.tls_cert is not None:
            context.load_cert_chain(self.tls_cert, self.tls_key)
        return context


@frozen
class SourceOptions:
    """What a source reads: a durable subscription for each filter, by its durable name."""

    access: BrokerAccess
    filters: Mapping[str, str]
    ordered: bool
    bound_bytes: int
    age_s: float
    gaps: GapPolicy
    max_events: int
    max_bytes: int

    @staticmethod
    def of(options: Mapping[str, str]) -> "SourceOptions":
        """Read the options of a source.

        Raises:
            ValueError: one is missing or cannot be; the message says which.
        """
        gaps = options.get("gaps", "fail")
        if gaps not in _GAPS:
            raise ValueError(f"gaps: expected one of {', '.join(_GAPS)}, got {gaps!r}")
        return SourceOptions(
            BrokerAccess.of(options),
            _filters(options),
            truth(options, "ordered", default=True),
            whole(options, "bound_bytes", BOUND_BYTES),
            float(options.get("age_s", "0")),
            cast("GapPolicy", gaps),
            whole(options, "max_events", EVENTS_OF_BATCH),
            whole(options, "max_bytes", BYTES_OF_BATCH, BYTES_OF_BATCH_MOST),
        )


def _filters(options: Mapping[str, str]) -> dict[str, str]:
    """Return the filter of each durable subscription."""
    durable = needed(options, "durable")
    if ("filter" in options) == ("filters" in options):
        raise ValueError("give either filter, or filters: a list of filters in JSON, for a task each")
    if "filter" in options:
        found = {durable: options["filter"]}
    else:
        found = {f"{durable}-{number}": each for number, each in enumerate(_listed(options["filters"]), 1)}
    for each in found.values():
        parse(each)
    return found


def _listed(text: str) -> list[str]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, list) or not found or not all(isinstance(each, str) for each in found):
        raise ValueError(f"filters: expected a list of filters in JSON, got {text!r}")
    return found


def needed(options: Mapping[str, str], name: str) -> str:
    """Return an option that must be given.

    Raises:
        ValueError: it is not.
    """
    text = options.get(name, "").strip()
    if not text:
        raise ValueError(f"the option {name!r} is missing")
    return text


def whole(options: Mapping[str, str], name: str, default: int, most: int | None = None) -> int:
    """Return an option that is a whole number, 1 or more.

    Raises:
        ValueError: it is none, or too large.
    """
    text = options.get(name, str(default))
    if not text.isdecimal() or not 1 <= int(text) <= (most or int(text)):
        limit = "" if most is None else f" and {most} or less"
        raise ValueError(f"{name}: expected a whole number, 1 or more{limit}, got {text!r}")
    return int(text)


def truth(options: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    """Return an option that is true or false.

    Raises:
        ValueError: it is neither.
    """
    text = options.get(name, str(default)).lower()
    if text not in _TRUE | _FALSE:
        raise ValueError(f"{name}: expected true or false, got {text!r}")
    return text in _TRUE
