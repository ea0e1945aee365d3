"""A scenario: an overlay, its links, publishers, subscribers, their filters, and faults.

Every class is a table of the scenario file and every field a key, see `harness.scenarios.keys`.
"""

from collections.abc import Mapping
from typing import Final

import attrs

from harness.scenarios.keys import (
    choice,
    flag,
    number,
    numbers_by_name,
    table,
    text,
    texts,
    texts_by_name,
    whole,
)

BROKERS_MAX: Final = 500
"""A broker is a process of about 30 megabytes; more than this is no longer an overlay on one machine."""

CLIENTS_MAX: Final = 20_000
"""Connections on one machine; beyond this the system runs out of ports before brokers run out of time."""

_MIB: Final = 1024 * 1024


@attrs.frozen
class Overlay:
    """The brokers, and their uplinks."""

    shape: str = choice(
        "chain",
        ("chain", "star", "tree", "list"),
        "core brokers in a chain with edge brokers at each; a hub with edge brokers; a random tree; "
        "or the brokers of `uplinks`",
    )
    cores: int = whole(3, 1, BROKERS_MAX, "chain: how many core brokers; the one in the middle is the root")
    edges_per_core: int = whole(5, 0, BROKERS_MAX, "chain: how many edge brokers each core broker has")
    brokers: int = whole(8, 1, BROKERS_MAX, "star and tree: how many brokers")
    uplinks: Mapping[str, str] = texts_by_name(
        'list: the uplink of each broker, `edge-1 = "core-1"`; the root has ""'
    )
    fallbacks: int = whole(
        0,
        0,
        8,
        "how many further uplinks each broker may fall back to: the uplinks of its uplink; below the root, "
        "its siblings",
    )
    link_timeout_s: float = number(10.0, 0.1, 3600, "seconds of silence after which a connection is dead")


@attrs.frozen
class Links:
    """What links between brokers are like. Left at 0, brokers speak to each other directly."""

    delay_ms: float = number(0.0, 0, 10_000, "delay of every link, one way")
    bandwidth_mbit: float = number(
        0.0, 0, 100_000, "bandwidth of every link in each direction, in megabits per second; 0 is no limit"
    )
    delays_ms: Mapping[str, float] = numbers_by_name(
        0, 10_000, "other delays for single links, named by their lower end: `edge-3 = 80`"
    )
    bandwidths_mbit: Mapping[str, float] = numbers_by_name(
        0, 100_000, "other bandwidths for single links, named by their lower end"
    )


@attrs.frozen
class Publishers:
    """The publishers, their rates and payloads."""

    count: int = whole(12, 1, CLIENTS_MAX, "how many publishers, assigned to brokers in turn")
    at: tuple[str, ...] = texts((), "at which brokers; none means all brokers without children")
    rate: str = choice(
        "steady",
        ("steady", "random", "bursts", "flood"),
        "at equal distances; at random ones; several at once; as fast as credit allows",
    )
    per_second: float = number(1.0, 0.0001, 1_000_000, "publications of each publisher per second")
    burst: int = whole(10, 1, 1_000_000, "bursts: how many publications at once")
    payload_bytes: int = whole(100, 0, _MIB, "size of the payload")
    payload_bytes_max: int = whole(
        0, 0, _MIB, "if larger than payload_bytes: sizes are drawn between the two"
    )
    ordered_percent: float = number(100.0, 0, 100, "how many publications are ordered")


@attrs.frozen
class Subscribers:
    """The subscribers."""

    count: int = whole(12, 1, CLIENTS_MAX, "how many subscriptions, assigned to brokers in turn")
    at: tuple[str, ...] = texts((), "at which brokers; none means all brokers without children")
    per_connection: int = whole(1, 1, 1000, "how many subscriptions of a broker share a connection")
    ordered_percent: float = number(100.0, 0, 100, "how many subscriptions are ordered")
    policy: str = choice(
        "disconnect",
        ("disconnect", "drop"),
        "what happens to one that is too slow, see docs/reference/client.md",
    )
    bound_bytes: int = whole(8 * _MIB, 64 * 1024, 256 * _MIB, "queue of a subscription at its broker")


@attrs.frozen
class Filters:
    """The filters of publishers and subscribers."""

    kind: str = choice(
        "overlap",
        ("overlap", "market"),
        "brokers in groups, whose subscriptions match all that the group publishes; or symbols of "
        "skewed popularity with price ranges",
    )
    overlap_percent: float = number(
        100.0,
        1,
        100,
        "overlap: how many of all subscriptions a publication matches; 100 divided by a whole number",
    )
    symbols: int = whole(50, 1, 1_000, "market: how many symbols")
    skew: float = number(1.0, 0, 5, "market: how much more popular the first are; 0 is not at all")


@attrs.frozen
class Clients:
    """How clients run."""

    per_process: int = whole(200, 1, 2000, "how many clients share a process")


@attrs.frozen
class Scenario:
    """Everything about one run but its ordering's name, which may be given on the command line."""

    about: str = text("", "what the scenario is for", "one line of text")
    seed: int = whole(1, 0, 2**63 - 1, "the seed of everything that is drawn")
    duration_s: float = number(5.0, 0.1, 86_400, "how long publishers publish")
    drain_s: float = number(10.0, 0, 3600, "how long to wait at most for the last deliveries")
    ordering: str = text("pairwise", "the ordering plugin", "an ordering plugin's name")
    ordering_options: Mapping[str, str] = texts_by_name("options of the ordering plugin")
    orderings: tuple[str, ...] = texts(
        ("pairwise", "fifo", "sequencer", "published"),
        "the orderings that `compare` runs by default",
    )
    routing: str = text(
        "",
        "the routing strategies of all brokers; none means what the orderings that are compared can all have",
        "a text as `concord broker --routing` takes it",
    )
    faults: tuple[str, ...] = texts((), "what goes wrong and when: `concord harness faults` lists the forms")
    journal: bool = flag("brokers write a journal, and a restarted one recovers its state", default=False)
    matches: str = choice(
        "auto",
        ("auto", "yes", "no"),
        "whether to compute by brute force what should be delivered; auto: if that is affordable",
    )
    overlay: Overlay = table(Overlay)  # noqa: RUF009 - a field
    links: Links = table(Links)  # noqa: RUF009 - a field
    publishers: Publishers = table(Publishers)  # noqa: RUF009 - a field
    subscribers: Subscribers = table(Subscribers)  # noqa: RUF009 - a field
    filters: Filters = table(Filters)  # noqa: RUF009 - a field
    clients: Clients = table(Clients)  # noqa: RUF009 - a field
