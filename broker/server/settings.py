"""The settings of a broker, checked before anything is opened."""

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Final

from attrs import field, frozen

from broker.addresses import Address
from broker.errors import ConcordError
from broker.filters.installed import announced as constraint_types
from broker.leases import REFRESHES, Terms
from broker.node import NodeConfig
from broker.node.access import Access
from broker.node.greeting import NAME_BYTES_MAX
from broker.node.limits import NodeLimits
from broker.replay import Bounds
from broker.routing import DEFAULT, Routing
from broker.server.origins import Origins, read_origins
from ordering.plugins import notes_version

DEFAULT_LINK_TIMEOUT_S: Final = 10.0
"""Longer than a busy or swapping machine is silent, short enough that dead routes go soon."""

DEFAULT_ORDERING: Final = "pairwise"
"""The ordering plugin that is used if none is named."""

DEFAULT_REPLAY_CACHE_BYTES: Final = 16 * 1024 * 1024
"""The cache of local publications for replays: about 100,000 small events."""

DEFAULT_REPLAY_COUNT: Final = 100_000
"""Small publications that come alone take three times their size in memory."""

DEFAULT_REPLAY_AGE_S: Final = 3600.0
"""Longer retention is the task of a database."""


class SettingsError(ConcordError):
    """A broker cannot be started like this; the text names the option."""


@frozen
class Tls:
    """Files in PEM format: our certificate with its key, and the authority to check peers' against.

    `brokers` are the names in certificates of those who may be brokers, where no file of users says so.
    """

    certificate: Path | None = None
    key: Path | None = None
    authority: Path | None = None
    brokers: tuple[str, ...] = ()

    @property
    def serves(self) -> bool:
        """Return whether accepted connections use TLS."""
        return self.certificate is not None

    @property
    def dials(self) -> bool:
        """Return whether the connection to the uplink uses TLS."""
        return self.certificate is not None or self.authority is not None


def _or_none_at_all(seconds: float | None) -> float:
    return seconds or 0.0


@frozen(kw_only=True)
class Settings:
    """All settings of `concord broker`. Raises `SettingsError` if they contradict each other."""

    name: str
    listen: Address
    listen_shared: Address | None = None
    listen_ws: Address | None = None
    ws_origins: tuple[str, ...] = ()
    advertise_address: Address | None = None
    uplinks: tuple[Address, ...] = ()
    ordering: str = DEFAULT_ORDERING
    ordering_options: Mapping[str, str] = field(factory=dict)
    routing: Routing = DEFAULT
    journal: Path | None = None
    link_timeout_s: float = DEFAULT_LINK_TIMEOUT_S
    lease_s: float = field(default=0.0, converter=_or_none_at_all)
    lease_refresh_s: float = field(default=0.0, converter=_or_none_at_all)
    metrics: Address | None = None
    trace: Path | None = None
    tls: Tls = field(factory=Tls)
    auth: Path | None = None
    token: str = field(default="", repr=False)
    is_insecure: bool = False
    replay_cache_bytes: int = DEFAULT_REPLAY_CACHE_BYTES
    replay_count: int = DEFAULT_REPLAY_COUNT
    replay_age_s: float = DEFAULT_REPLAY_AGE_S
    limits: NodeLimits = field(factory=NodeLimits)

    def __attrs_post_init__(self) -> None:
        if not self.name or len(self.name.encode()) > NAME_BYTES_MAX or not self.name.isprintable():
            raise SettingsError(
                f"--name {self.name!r}: a broker's name is 1 to {NAME_BYTES_MAX} bytes of printable text"
            )
        if self.link_timeout_s <= 0:
            raise SettingsError(f"--link-timeout {self.link_timeout_s}: must be more than 0 seconds")
        for option, seconds in (
            ("link-timeout", self.link_timeout_s),
            ("lease", self.lease_s),
            ("lease-refresh", self.lease_refresh_s),
        ):
            if not isfinite(seconds):
                raise SettingsError(f"--{option} {seconds}: must be a number of seconds that ends")
        if self.lease_refresh_s and not self.lease_s:
            raise SettingsError("--lease-refresh is of use only together with --lease")
        _ = self.terms
        if (self.tls.certificate is None) != (self.tls.key is None):
            raise SettingsError("--tls-cert and --tls-key belong together: give both or neither")
        if self.advertise_address is not None and not self.advertise_address.is_dialable:
            raise SettingsError(
                f"--advertise-address {self.advertise_address}: nobody can dial that; give a host and a port"
            )
        if self.ws_origins and self.listen_ws is None:
            raise SettingsError("--ws-origin is of use only together with --listen-ws")
        _ = self.origins
        self._check_reach()

    @property
    def terms(self) -> Terms | None:
        """The times of leases, or None if there are none. Raises `LeaseError` if they cannot work.

        What is on its way over a link is kept while its connection is broken, so it may take as long as a
        link is kept without one.
        """
        if not self.lease_s:
            return None
        refresh_s = self.lease_refresh_s or self.lease_s / REFRESHES
        return Terms(self.lease_s, self.link_timeout_s, refresh_s=refresh_s)

    @property
    def origins(self) -> Origins:
        """The pages that may connect over WebSocket. Raises `SettingsError` for what is no origin."""
        try:
            allowed = read_origins(self.ws_origins)
        except ValueError as error:
            raise SettingsError(f"--ws-origin {error}") from error
        known = (self.listen, self.listen_ws, self.advertise_address)
        return Origins(allowed, frozenset(each.host.lower() for each in known if each is not None))

    @property
    def manner(self) -> str:
        """Every setting that two neighbours must share, in words: they agree if these are equal.

        Raises `UnknownOrderingError` if the ordering plugin is not installed, `ConstraintTypeError` if a
        constraint type cannot be used.
        """
        options = [f"{key}={value}" for key, value in sorted(self.ordering_options.items())]
        terms = self.terms
        lease = "none" if terms is None else f"{terms.lease_s:g} s, renewed every {terms.refresh_s:g} s"
        return ", ".join(
            (
                f"ordering {' '.join([self.ordering, *options])}",
                f"notes version {notes_version(self.ordering)}",
                f"routing {self.routing}",
                f"link timeout {self.link_timeout_s:g} s",
                f"lease {lease}",
                f"constraint types {constraint_types()}",
            )
        )

    def node_config(self, access: Access) -> NodeConfig:
        """Return the configuration of the node."""
        return NodeConfig(
            name=self.name,
            manner=self.manner,
            uplinks=tuple(map(str, self.uplinks)),
            token=self.token,
            link_timeout_s=self.link_timeout_s,
            terms=self.terms,
            access=access,
            replays=Bounds(self.replay_cache_bytes, self.replay_count),
            replay_age_s=self.replay_age_s,
            limits=self.limits,
            has_journal=self.journal is not None,
            shares_address=self.listen_shared is not None,
        )

    def reached_at(self, port: int) -> Address | None:
        """Return the address at which others dial this broker, listening on that port; None if not set."""
        if self.advertise_address is not None:
            return self.advertise_address
        return None if self.listen.is_wildcard else Address(self.listen.host, port)

    def _check_reach(self) -> None:
        if self.is_insecure:
            return
        self._check_listening("--listen", self.listen)
        if self.listen_shared is not None:
            self._check_listening("--listen-shared", self.listen_shared)
        if self.listen_ws is not None:
            self._check_listening("--listen-ws", self.listen_ws)
        if self.metrics is not None and not self.metrics.is_loopback:
            raise SettingsError(
                f"--metrics {self.metrics}: is spoken without TLS; listen on 127.0.0.1, "
                "or say --insecure if the network is trusted"
            )

    def _check_listening(self, option: str, endpoint: Address) -> None:
        """Raise `SettingsError` where anybody could connect from other machines."""
        if endpoint.is_loopback:
            return
        if not self.tls.serves:
            raise SettingsError(
                f"{option} {endpoint}: others could read and write everything; give --tls-cert and "
                "--tls-key, or say --insecure if the network is trusted"
            )
        if self.auth is None and self.tls.authority is None:
            raise SettingsError(
                f"{option} {endpoint}: TLS alone keeps nobody out; give --auth FILE, or "
                "--tls-ca to ask for certificates, or say --insecure if everybody may do everything"
            )
