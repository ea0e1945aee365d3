"""Every limit on what peers can make a broker keep or do, with its default and the reason for it.

Law: everything that a peer can make grow has a limit here, per connection, per user or per broker. Requests
beyond it are refused with a text that names the limit, or are not read; other peers do not notice. Metrics
show how much of each limit is used.
"""

from typing import Final

from attrs import field, frozen, validators

KIB: Final = 1024
MIB: Final = 1024 * KIB


def _bound(default: int, least: int = 1) -> int:
    bound: int = field(default=default, validator=validators.ge(least))
    return bound


@frozen(kw_only=True)
class NodeLimits:
    """What peers may make one broker keep. Sizes in bytes."""

    connections: int = _bound(4096)
    """Connections at a time, links included. Each costs some tens of kilobytes and a descriptor."""

    ungreeted: int = _bound(256)
    """Connections that have not greeted yet, and handshakes of TLS. All clients of a broker
    that restarts reconnect at once, and each greets within a round trip. Beyond it the oldest one ends of
    the address with most."""

    address_connections: int = _bound(1024)
    """Connections from one address: a quarter of what there may be, more than programs behind one have."""

    user_connections: int = _bound(1024)
    """Clients of one user at a time, where users are known; each may leave `outbox_bytes` unread."""

    changes_per_s: int = _bound(500)
    """Advertisements and subscriptions of one connection a second; all `requests` at once. Each is
    announced to every broker that it concerns, where it costs a fraction of a millisecond."""

    user_changes_per_s: int = _bound(2000)
    """The same of one user; all `user_requests` at once."""

    requests: int = _bound(10_000)
    """Publishers and subscriptions of one connection; each costs a few kilobytes here and everywhere."""

    user_requests: int = _bound(50_000)
    """The same of one user, over all of its connections."""

    broker_requests: int = _bound(500_000)
    """The same of one broker."""

    filter_bytes: int = _bound(8 * MIB)
    """Text of filters of one connection: 10,000 of the usual hundreds of bytes, or a thousand of the largest.
    """

    user_filter_bytes: int = _bound(32 * MIB)
    """The same of one user."""

    broker_filter_bytes: int = _bound(128 * MIB)
    """The same of one broker. Every filter is announced to the whole overlay at each attachment."""

    durable: int = _bound(1000)
    """Durable subscriptions of one user: each may fill its whole queue while it has no reader."""

    broker_durable: int = _bound(10_000)
    """The same of one broker."""

    questions: int = _bound(16)
    """Questions of one connection to the overlay that are not answered yet: each goes to many brokers."""

    broker_questions: int = _bound(256)
    """The same of one broker."""

    watches: int = _bound(16)
    """Watches of one connection of what is on offer: every advertisement that comes or goes anywhere is
    compared with each, and an unread snapshot keeps 8 bytes for each advertisement."""

    user_watches: int = _bound(64)
    """The same of one user, over all of its connections."""

    broker_watches: int = _bound(256)
    """The same of one broker."""

    replays: int = _bound(32)
    """Subscriptions of one connection that are being replayed to: each holds back live events."""

    broker_replays: int = _bound(256)
    """The same of one broker."""

    kept_bytes: int = _bound(256 * MIB)
    """Deliveries that are queued for one user's subscriptions or sent and not confirmed, all together."""

    broker_kept_bytes: int = _bound(1024 * MIB)
    """The same of one broker. Beyond it the policy of the subscription that would keep more applies."""

    unconfirmed_bytes: int = _bound(32 * MIB, least=MIB)
    """Sent to one subscription and not confirmed. The product's own client keeps 4 MiB, or 8 large events;
    beyond it deliveries wait in the queue, under its bound. A client confirms every 512 KiB, so that with
    less than two of these it would wait."""

    outbox_bytes: int = _bound(1 * MIB)
    """Answers and deliveries that a client does not read. Beyond it nothing more is read from that client."""

    link_backlog_bytes: int = _bound(256 * MIB)
    """The queue of one neighbour. Publications are bounded by credit long before; a neighbour that takes no
    messages about routes for so long is better declared lost."""

    step_units: int = _bound(2000)
    """Work of one step for one connection, in publications. What was read beyond it waits, and nothing more
    is read from that connection until its next turn."""
