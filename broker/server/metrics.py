"""Metrics for Prometheus, in its text format over a few lines of HTTP.

Law: nothing is counted for this module's sake. It is asked rarely, and then looks at what the shell and the
core count anyway.
"""

from collections.abc import Iterator
from typing import Final

import trio
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from broker.addresses import Address
from broker.node.newcomers import Newcomers
from broker.server.commit import Commit
from broker.server.server import Server
from broker.server.settings import SettingsError

__all__ = ["BrokerCollector", "serve_metrics"]

REQUEST_BYTES_MAX: Final = 8 * 1024
"""A scrape's request is a few hundred bytes."""

SCRAPES_MAX: Final = 16
"""Scrapes at a time; beyond that the oldest ends. A Prometheus server has one."""

REQUEST_TIMEOUT_S: Final = 5.0
"""A scraper that does not finish its request by then has gone wrong."""


class BrokerCollector(Collector):
    """What Prometheus gets to see of one broker."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._exchange = server.exchange

    def collect(self) -> Iterator[Metric]:
        """Look at everything now."""
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
        if self._server.commit is not None:
            yield from _journal(self._server.commit)
        table = GaugeMetricFamily(
            "concord_table_size", "Entries of each table of the core.", labels=["table"]
        )
        for name, count in self._exchange.core.counts().items():
            table.add_metric([name], count)
        yield table
        yield from self._budgets()
        yield GaugeMetricFamily(
            "concord_absent",
            "Links, publishers and subscriptions that wait for a connection.",
            value=len(self._exchange.absences),
        )
        yield GaugeMetricFamily(
            "concord_waiting",
            "Items that the ordering plugin keeps.",
            value=self._exchange.core.waiting_count,
        )

    def _totals(self) -> Iterator[Metric]:
        totals = self._exchange.totals
        for name, text, value in (
            ("publications_in", "Publications read from clients and links.", totals.publications_in),
            ("deliveries", "Publications sent to subscriptions of clients.", totals.deliveries),
            ("dropped", "Deliveries dropped at a subscription's bound.", totals.dropped),
            ("lost_links", "Links declared lost.", totals.lost_links),
            ("gaps", "Gaps told to subscribers because something was lost.", totals.gaps),
            ("slow_subscriptions", "Times a subscription was found slow.", totals.slow),
            ("ended_slow_subscriptions", "Subscriptions ended at their bound.", totals.ended_slow),
            ("refused", "Connections, links and requests refused.", totals.refused),
            ("rested", "Advertisements and subscriptions after which a client had to rest.", totals.rested),
            ("defects", "Defects that ended one connection and hurt nothing else.", totals.defects),
            ("connections", "Connections accepted.", totals.connections),
            ("core_seconds", "Time spent matching, ordering and routing.", totals.core_s),
        ):
            yield CounterMetricFamily(f"concord_{name}", text, value=value)

    def _budgets(self) -> Iterator[Metric]:
        """What is used of what all peers together may have, and how much that is."""
        broker = self._exchange.budgets.broker
        used = GaugeMetricFamily("concord_budget_used", "What peers have of a resource.", labels=["resource"])
        limit = GaugeMetricFamily("concord_budget_limit", "What they may have of it.", labels=["resource"])
        for resource, count in broker.limits.items():
            used.add_metric([resource.name.lower()], broker.used[resource])
            limit.add_metric([resource.name.lower()], count)
        yield from (used, limit)
        node = self._server.node
        yield GaugeMetricFamily(
            "concord_paused_connections",
            "Connections that are not read now, because their peer is behind.",
            value=sum(1 for each in node.connections.values() if each.is_paused),
        )
        yield GaugeMetricFamily("concord_open_connections", "Connections now.", value=len(node.connections))

    def _ordering(self) -> Iterator[Metric]:
        measures = self._exchange.core.measures
        for name, text, value in (
            ("requests", "Publications sent that ask a neighbour for an answer.", measures.requests),
            ("acknowledgements", "Answers given to neighbours.", measures.acknowledgements),
            ("deferred", "Publications that had to wait.", measures.deferred),
            ("refused", "Publications dropped at the ordering plugin's bound.", measures.refused),
            ("metadata_bytes", "What publications carried beyond their mark.", measures.metadata_bytes),
        ):
            yield CounterMetricFamily(f"concord_ordering_{name}", text, value=value)

    def _links(self) -> Iterator[Metric]:
        hop = ["hop"]
        received = CounterMetricFamily(
            "concord_link_publications_in", "Publications read from a link.", labels=hop
        )
        sent = CounterMetricFamily(
            "concord_link_publications_out", "Publications sent over a link.", labels=hop
        )
        queued = GaugeMetricFamily("concord_link_queue_bytes", "Bytes that wait for a link.", labels=hop)
        credit = GaugeMetricFamily("concord_link_credit_bytes", "Bytes a neighbour still takes.", labels=hop)
        for name, link in sorted(self._exchange.links.items()):
            received.add_metric([name], link.publications_in)
            sent.add_metric([name], link.publications_out)
            queued.add_metric([name], link.queue.queued_bytes)
            credit.add_metric([name], link.queue.credit_bytes)
        yield from (received, sent, queued, credit)

    def _uplink(self) -> Iterator[Metric]:
        exchange = self._exchange
        present = GaugeMetricFamily("concord_uplink", "The broker above this one.", labels=["hop"])
        if exchange.core.uplink is not None:
            present.add_metric([exchange.core.uplink.name], 1)
        yield present
        yield CounterMetricFamily(
            "concord_uplink_moves",
            "Times this broker was attached to an uplink.",
            value=exchange.search.moves,
        )
        yield GaugeMetricFamily(
            "concord_uplink_candidates",
            "Brokers that would be dialled if the uplink were lost now.",
            value=len(exchange.search.candidates(exchange.core.roster, exchange.core.below)),
        )
        yield GaugeMetricFamily(
            "concord_known_brokers", "Brokers this one has heard of.", value=len(exchange.core.roster)
        )

    def _replays(self) -> Iterator[Metric]:
        core = self._exchange.core
        for name, text, value in (
            ("replay_cache_bytes", "Publications kept for replays, in bytes.", core.cache.size_bytes),
            ("replay_cache_publications", "Publications kept for replays.", core.cache.count),
        ):
            yield GaugeMetricFamily(f"concord_{name}", text, value=value)
        for name, text, value in (
            ("replays", "Subscriptions here that asked for the past.", core.replays.asked_count),
            ("replayed_publications", "Publications replayed to them.", core.replays.played_count),
        ):
            yield CounterMetricFamily(f"concord_{name}", text, value=value)

    def _subscriptions(self) -> Iterator[Metric]:
        """All together: one label per subscription would be more than a Prometheus server likes."""
        queues = [each.queue for each in self._exchange.subscribers.values()]
        sizes = [queue.queued_bytes for queue in queues]
        for name, text, value in (
            ("subscription_queue_bytes", "Bytes that wait for subscribers, all together.", sum(sizes)),
            (
                "subscription_queue_bytes_max",
                "Bytes in the longest queue of a subscription.",
                max(sizes, default=0),
            ),
            (
                "subscription_queues",
                "Subscriptions for which something waits.",
                sum(1 for size in sizes if size),
            ),
        ):
            yield GaugeMetricFamily(f"concord_{name}", text, value=value)


def _journal(commit: Commit) -> Iterator[Metric]:
    store = commit.store
    yield SummaryMetricFamily(
        "concord_journal_sync_seconds",
        "What writing and syncing one batch takes.",
        count_value=commit.syncs,
        sum_value=commit.sync_s,
    )
    for name, text, count in (
        ("records", "Inputs on disk; divide by the syncs for a batch.", commit.records),
        ("written_bytes", "Bytes written to segments.", store.written_bytes),
        ("snapshots", "Snapshots written.", store.snapshots),
    ):
        yield CounterMetricFamily(f"concord_journal_{name}", text, value=count)
    for name, text, value in (
        ("size_bytes", "What the journal's directory holds.", store.size_bytes),
        ("room_bytes", "What is reserved for more.", store.room_bytes),
        ("full", "1 while the disk is full and publications are refused, else 0.", store.is_full),
        ("snapshot_age_seconds", "How old the last snapshot is.", store.snapshot_age_s),
    ):
        yield GaugeMetricFamily(f"concord_journal_{name}", text, value=value)


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
