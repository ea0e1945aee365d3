"""Metrics for Prometheus, in its text format over a few lines of HTTP.

Law: nothing is counted for this module alone. A scrape is rare, and reads the counters that the shell and the
core have anyway.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import trio
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from broker.addresses import Address
from broker.node.newcomers import Newcomers
from broker.server.commit import Commit
from broker.server.server import Server
from broker.server.settings import SettingsError

if TYPE_CHECKING:
    from broker.server.websocket import WebSockets

REQUEST_BYTES_MAX: Final = 8 * 1024
"""A scrape's request is a few hundred bytes."""

SCRAPES_MAX: Final = 16
"""Scrapes at a time; beyond that the oldest ends. A Prometheus server has one."""

REQUEST_TIMEOUT_S: Final = 5.0
"""The timeout of a scrape's request."""


Row = tuple[str, str, float]
"""A metric's name without what all names begin with, what it counts, and how much there is."""


def _counters(*rows: Row) -> Iterator[Metric]:
    for name, text, value in rows:
        yield CounterMetricFamily(f"concord_{name}", text, value=value)


def _gauges(*rows: Row) -> Iterator[Metric]:
    for name, text, value in rows:
        yield GaugeMetricFamily(f"concord_{name}", text, value=value)


def _labelled(name: str, text: str, label: str, values: Iterable[tuple[str, float]]) -> Metric:
    table = GaugeMetricFamily(f"concord_{name}", text, labels=[label])
    for each, value in values:
        table.add_metric([each], value)
    return table


class BrokerCollector(Collector):
    """The metrics of one broker."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._exchange = server.exchange

    def collect(self) -> Iterator[Metric]:
        """Return all metrics as of now."""
        yield from self._totals()
        yield SummaryMetricFamily(
            "concord_matching_seconds",
            "What matching one publication takes, of a sample of them.",
            count_value=self._exchange.totals.matched,
            sum_value=self._exchange.totals.matching_s,
        )
        yield from self._ordering()
        yield from self._links()
        yield from self._uplink()
        yield from self._subscriptions()
        yield from self._replays()
        if self._server.websockets is not None:
            yield from _websockets(self._server.websockets)
        if self._server.commit is not None:
            yield from _journal(self._server.commit)
        core = self._exchange.core
        sizes = core.counts().items()
        yield _labelled("table_size", "Entries of each table of the core.", "table", sizes)
        yield from self._budgets()
        absent = len(self._exchange.reconnect_timeouts)
        yield from _gauges(
            ("absent", "Links, publishers and subscriptions that wait for a connection.", absent),
            ("waiting", "Items that the ordering plugin keeps.", core.waiting_count),
        )

    def _totals(self) -> Iterator[Metric]:
        totals = self._exchange.totals
        yield from _counters(
            ("publications_in", "Publications read from clients and links.", totals.publications_in),
            ("deliveries", "Publications sent to subscriptions of clients.", totals.deliveries),
            ("dropped", "Deliveries dropped at a subscription's bound.", totals.dropped),
            ("lost_links", "Links declared lost.", totals.lost_links),
            ("gaps", "Gaps delivered to subscribers because something was lost.", totals.gaps),
            ("slow_subscriptions", "Times a subscription was found slow.", totals.slow),
            ("ended_slow_subscriptions", "Subscriptions ended at their bound.", totals.ended_slow),
            ("refused", "Connections, links and requests refused.", totals.refused),
            ("rested", "Advertisements and subscriptions after which a client had to rest.", totals.rested),
            ("defects", "Defects that ended one connection and hurt nothing else.", totals.defects),
            ("connections", "Connections accepted.", totals.connections),
            ("core_seconds", "Time spent matching, ordering and routing.", totals.core_s),
        )

    def _budgets(self) -> Iterator[Metric]:
        """Return the limits for all peers together, and how much of each is used."""
        broker = self._exchange.budgets.broker
        limits = {resource.name.lower(): (broker.used[resource], n) for resource, n in broker.limits.items()}
        used = ((name, used) for name, (used, _) in limits.items())
        allowed = ((name, limit) for name, (_, limit) in limits.items())
        yield _labelled("budget_used", "What peers have of a resource.", "resource", used)
        yield _labelled("budget_limit", "What they may have of it.", "resource", allowed)
        connections = self._server.node.connections
        paused = sum(1 for each in connections.values() if each.is_paused)
        yield from _gauges(
            (
                "paused_connections",
                "Connections that are not read now, because their peer is behind.",
                paused,
            ),
            ("open_connections", "Connections now.", len(connections)),
        )

    def _ordering(self) -> Iterator[Metric]:
        measures = self._exchange.core.measures
        yield from _counters(
            ("ordering_requests", "Publications sent that ask a neighbour for an answer.", measures.requests),
            ("ordering_acknowledgements", "Answers given to neighbours.", measures.acknowledgements),
            ("ordering_deferred", "Publications that had to wait.", measures.deferred),
            (
                "ordering_waiting_seconds",
                "How long publications have waited, all together.",
                self._exchange.totals.waiting_s,
            ),
            ("ordering_refused", "Publications dropped at the ordering plugin's bound.", measures.refused),
            (
                "ordering_metadata_bytes",
                "What publications carried beyond their mark.",
                measures.metadata_bytes,
            ),
        )

    def _links(self) -> Iterator[Metric]:
        links = sorted(self._exchange.links.items())
        for way, text in (
            ("in", "Publications read from a link."),
            ("out", "Publications sent over a link."),
        ):
            counter = CounterMetricFamily(f"concord_link_publications_{way}", text, labels=["hop"])
            for name, link in links:
                counter.add_metric([name], link.publications_in if way == "in" else link.publications_out)
            yield counter
        queued = ((name, link.queue.queued_bytes) for name, link in links)
        credit = ((name, link.queue.credit_bytes) for name, link in links)
        yield _labelled("link_queue_bytes", "Bytes that wait for a link.", "hop", queued)
        yield _labelled("link_credit_bytes", "Bytes a neighbour still takes.", "hop", credit)

    def _uplink(self) -> Iterator[Metric]:
        core, search = self._exchange.core, self._exchange.search
        above = [] if core.uplink is None else [(core.uplink.name, 1)]
        candidates = len(search.candidates(core.roster, core.below))
        yield _labelled("uplink", "The broker above this one.", "hop", above)
        yield from _counters(("uplink_moves", "Times this broker was attached to an uplink.", search.moves))
        yield from _gauges(
            (
                "uplink_candidates",
                "Brokers that would be dialled if the uplink were lost now.",
                candidates,
            ),
            ("known_brokers", "Brokers this one knows.", len(core.roster)),
        )

    def _replays(self) -> Iterator[Metric]:
        core = self._exchange.core
        yield from _gauges(
            ("replay_cache_bytes", "Publications kept for replays, in bytes.", core.cache.size_bytes),
            ("replay_cache_publications", "Publications kept for replays.", core.cache.count),
        )
        yield from _counters(
            ("replays", "Subscriptions here that asked for the past.", core.replays.asked_count),
            ("replayed_publications", "Publications replayed to them.", core.replays.played_count),
        )

    def _subscriptions(self) -> Iterator[Metric]:
        """All together: one label per subscription would be more than a Prometheus server likes."""
        sizes = [each.queue.queued_bytes for each in self._exchange.subscribers.values()]
        longest, waiting = max(sizes, default=0), sum(1 for size in sizes if size)
        yield from _gauges(
            ("subscription_queue_bytes", "Bytes that wait for subscribers, all together.", sum(sizes)),
            ("subscription_queue_bytes_max", "Bytes in the longest queue of a subscription.", longest),
            ("subscription_queues", "Subscriptions for which something waits.", waiting),
        )


def _websockets(websockets: "WebSockets") -> Iterator[Metric]:
    yield from _counters(
        ("websockets_accepted", "Connections that became WebSockets.", websockets.accepted_count),
        ("websockets_refused", "Requests for a WebSocket that were refused.", websockets.refused_count),
    )
    yield from _gauges(("open_websockets", "WebSockets now.", websockets.open_count))


def _journal(commit: Commit) -> Iterator[Metric]:
    store = commit.store
    yield SummaryMetricFamily(
        "concord_journal_sync_seconds",
        "What writing and syncing one batch takes.",
        count_value=commit.syncs,
        sum_value=commit.sync_s,
    )
    yield from _counters(
        ("journal_records", "Inputs on disk; divide by the syncs for a batch.", commit.records),
        ("journal_written_bytes", "Bytes written to segments.", store.written_bytes),
        ("journal_snapshots", "Snapshots written.", store.snapshots),
    )
    yield from _gauges(
        ("journal_size_bytes", "What the journal's directory holds.", store.size_bytes),
        ("journal_room_bytes", "What is reserved for more.", store.room_bytes),
        ("journal_full", "1 while the disk is full and publications are refused, else 0.", store.is_full),
        ("journal_snapshot_age_seconds", "How old the last snapshot is.", store.snapshot_age_s),
    )


async def serve_metrics(
    endpoint: Address,
    server: Server,
    *,
    task_status: trio.TaskStatus[list[trio.SocketListener]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Answer scrapes for ever."""
    registry = CollectorRegistry()
    registry.register(BrokerCollector(server))
    try:
        listeners = await trio.open_tcp_listeners(endpoint.port, host=endpoint.host)
    except OSError as error:
        raise SettingsError(f"--metrics {endpoint}: {error.strerror or error}") from error
    task_status.started(listeners)
    scrapes: Newcomers[trio.CancelScope] = Newcomers(SCRAPES_MAX)

    async def answer(stream: trio.SocketStream) -> None:
        with trio.move_on_after(REQUEST_TIMEOUT_S) as scope:
            scrapes.add("", scope)
            if (oldest := scrapes.pop_surplus()) is not None:
                oldest.cancel()
            try:
                await _answer(stream, registry)
            except (OSError, trio.BrokenResourceError):
                pass  # A scraper that leaves in the middle comes again.
            finally:
                scrapes.discard("", scope)
                await trio.aclose_forcefully(stream)

    await trio.serve_listeners(answer, listeners)


async def _answer(stream: trio.SocketStream, registry: CollectorRegistry) -> None:
    request = b""
    while b"\r\n\r\n" not in request and len(request) < REQUEST_BYTES_MAX:
        received = await stream.receive_some(REQUEST_BYTES_MAX)
        if not received:
            return
        request += received
    method, _, rest = request.partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0]
    if method != b"GET":
        await stream.send_all(_response("405 Method Not Allowed", b"only GET is answered here\n"))
    elif path != b"/metrics":
        await stream.send_all(_response("404 Not Found", b"metrics are at /metrics\n"))
    else:
        await stream.send_all(_response("200 OK", generate_latest(registry)))
    await stream.send_eof()


def _response(status: str, body: bytes) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
