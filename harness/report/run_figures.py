"""The figures of a report about runs: functions from the runs to a figure, or to nothing without data.

Adding one is adding a function, and a line to `FIGURES`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from harness.report.charts import Bars, Chart, ChartAxis, ChartLine, Mark, draw, drawn_bars
from harness.report.figures import Figure, same_scenario, style, swept
from harness.report.results import Result

A_THOUSAND: Final = 1_000
_UNMOVED: Final = "0"

NAMED_MAX: Final = 8
"""Names of faults that are distinguishable over one line of time."""

_ENDS: Final = frozenset({"started again", "mended", "as before", "SIGCONT"})
"""The words in a run's dataset for the end of a fault."""

_TRAFFIC: Final = (("publications", "c0"), ("acknowledgements", "c1"), ("control", "c2"))


def _latency_over_subscriptions(results: Sequence[Result]) -> Figure | None:
    """The paper's figures 7, 5d and 6c: the median at the publisher's own broker, as it measures it."""
    lines, rows = swept(results, "subscriptions", lambda each: each.number("latency_same_broker_ms", "p50"))
    if not lines:
        lines, rows = swept(results, "subscriptions", lambda each: each.number("latency_ms", "p50"))
    if not lines:
        return None
    return Figure(
        "latency-over-subscriptions",
        "Latency over subscriptions",
        "The median from just before publishing to the subscriber, at the broker that the event was "
        "published at: there order costs most, since without it one broker is all there is.",
        draw(Chart(lines, ChartAxis("subscriptions", least=0), ChartAxis("median latency, ms", least=0))),
        ("ordering", "run", "subscriptions", "p50_ms"),
        rows,
        "Figure 7: grows linearly with subscriptions and advertisements for every ordering; the pairwise "
        "solution is highest, about ten times per-publisher order.",
    )


def _latency_distribution(results: Sequence[Result]) -> Figure | None:
    """Show the part of all deliveries that took longer than a time: a curve per ordering, tails in nines."""
    lines, rows = [], []
    for each in same_scenario(results):
        curve = [(float(str(part)), float(str(ms))) for part, ms in each.rows("series", "latency")]
        if curve:
            # A part of 0.99 stands at 2: one nine more is one step more.
            lines.append(ChartLine(each.line, [(1 / (1 - part), ms) for part, ms in curve], style(each)))
            rows += [(each.line, each.name, part, ms) for part, ms in curve]
    if not lines:
        return None
    across = ChartAxis("of all deliveries", is_log=True, least=1, tick=_nines)
    return Figure(
        "latency-distribution",
        "Latency, distribution",
        "All deliveries, whatever their way. Each step to the right leaves out a tenth of what was left: "
        "the slowest in ten, in a hundred, in a thousand.",
        draw(Chart(lines, across, ChartAxis("took at most, ms", is_log=True))),
        ("ordering", "run", "part", "ms"),
        rows,
        "At most 10 s with pairwise order, below 200 ms without and with a sequencer: fifty times.",
    )


def _nines(inverse: float) -> str:
    return f"{100 * (1 - 1 / inverse):.5g} %"


def _throughput_over_publishers(results: Sequence[Result]) -> Figure | None:
    """Deliveries a second, over the middle of each run: where the sequencer's knee is."""
    lines, rows = swept(results, "publishers", lambda each: each.throughput)
    if not lines:
        return None
    return Figure(
        "throughput-over-publishers",
        "Throughput over publishers",
        "Deliveries a second while everybody publishes. Where a line bends, something is full.",
        draw(Chart(lines, ChartAxis("publishers", least=0), ChartAxis("deliveries a second", least=0))),
        ("ordering", "run", "publishers", "deliveries_s"),
        rows,
        "The sequencer is saturated at 130 publishers, what more of them send is discarded; pairwise "
        "order takes all 240.",
    )


def _latency_over_brokers(results: Sequence[Result]) -> Figure | None:
    """The paper's figure 8: one line per ordering, the mean over all deliveries."""
    lines, rows = swept(results, "brokers", lambda each: each.number("latency_ms", "mean"))
    if not lines:
        return None
    return Figure(
        "latency-over-brokers",
        "Latency over brokers",
        "The mean over all deliveries, as the overlay grows and clients with it.",
        draw(Chart(lines, ChartAxis("brokers", least=0), ChartAxis("mean latency, ms", least=0))),
        ("ordering", "run", "brokers", "mean_ms"),
        rows,
        "Figure 8: below 250 ms with 20 brokers, where a group communication system takes 700 s; ten times "
        "per-publisher order.",
    )


def _displacement(results: Sequence[Result]) -> Figure | None:
    """A bar per ordering: how many of a thousand common publications two subscribers place differently."""
    bars, rows = [], []
    for each in same_scenario(results):
        histogram = each.part("displacement")
        if isinstance(histogram, Mapping) and histogram:
            total = sum(histogram.values())
            moved = total - histogram.get(_UNMOVED, 0)
            bars.append((each.line, [("", A_THOUSAND * moved / total, style(each))]))
            rows += [
                (each.line, each.name, places, count, each.number("ordering_degree"))
                for places, count in histogram.items()
            ]
    if not bars:
        return None
    return Figure(
        "displacement",
        "Order of delivery",
        "Two subscribers, what both delivered: how many of a thousand publications stand at another "
        "place at the one than at the other, over all pairs of subscribers. Nothing is the promise of "
        "pairwise order.",
        drawn_bars(Bars(bars, "of a thousand, out of place")),
        ("ordering", "run", "places", "publications", "ordering_degree"),
        rows,
        "Without order a conflict every 14 publications, displaced by at most 2, a normalised degree of "
        "0.9952; with pairwise order 1.",
    )


def _traffic(results: Sequence[Result]) -> Figure | None:
    """The paper's figures 5c and 6b: a stack per ordering, for each publication, whatever a run's length."""
    bars, rows = [], []
    for each in same_scenario(results):
        published = each.number("publications")
        counts = [(kind, each.number("traffic", kind), colour) for kind, colour in _TRAFFIC]
        if published and any(count is not None for _, count, _ in counts):
            bars.append(
                (each.line, [(kind, (count or 0) / published, colour) for kind, count, colour in counts])
            )
            totals = (count for _, count, _ in counts)
            rows.append((each.line, each.name, published, *totals, each.number("traffic", "bytes")))
    if not bars:
        return None
    return Figure(
        "traffic",
        "Traffic",
        "Messages that all brokers send together, for each publication.",
        drawn_bars(Bars(bars, "messages per publication")),
        ("ordering", "run", "published", "publications", "acknowledgements", "control", "bytes"),
        rows,
        "Figures 5c and 6b: acknowledgements make up the growth, in proportion to how many publications "
        "conflict.",
    )


def _detection(results: Sequence[Result]) -> Figure | None:
    """The paper's figures 5a, 5b and 6a: over subscriptions if they are swept, else a bar per ordering."""
    lines, rows = swept(results, "subscriptions", _detection_us)
    if lines:
        svg = draw(
            Chart(lines, ChartAxis("subscriptions", least=0), ChartAxis("mean, microseconds", least=0))
        )
    else:
        runs = [(each, _detection_us(each)) for each in same_scenario(results)]
        bars = [(each.line, [("", mean, style(each))]) for each, mean in runs if mean is not None]
        rows = [(each.line, each.name, each.parameter("subscriptions"), mean) for each, mean in runs]
        if not bars:
            return None
        svg = drawn_bars(Bars(bars, "mean, microseconds"))
    return Figure(
        "detection",
        "Detection",
        "The time a broker takes to find out whether a publication has to wait for another, for each "
        "publication.",
        svg,
        ("ordering", "run", "subscriptions", "mean_us"),
        rows,
        "Up to 10 s at 300 subscriptions and advertisements (figure 5a); below 0.8 ms with fast "
        "detection (figure 6a).",
    )


def _detection_us(result: Result) -> float | None:
    return result.number("detection_us", "mean")


def _timeline(results: Sequence[Result]) -> Figure | None:
    """Deliveries over time: one line per ordering, and the faults of the first run that had any."""
    lines, rows = [], []
    runs = same_scenario([each for each in results if each.rows("faults")]) or same_scenario(results)
    for each in runs:
        points = [
            tuple(float(str(point[name])) for name in ("at_s", "deliveries_s", "max_ms"))
            for point in each.objects("series", "timeline")
        ]
        if len(points) > 1:
            rates = [(at, rate) for at, rate, _ in points]
            lines.append(ChartLine(each.line, rates, style(each), is_step=True))
            rows += [(each.line, each.name, *point) for point in points]
    if not lines:
        return None
    marks = _marks(next((each.objects("faults") for each in runs if each.rows("faults")), []))
    words = "Deliveries a second, all subscribers together."
    if marks:
        words += " Upright lines are injected faults and their ends; the table of faults names them."
    return Figure(
        "timeline",
        "Timeline",
        words,
        draw(Chart(lines, ChartAxis("seconds"), ChartAxis("deliveries a second", least=0), marks)),
        ("ordering", "run", "at_s", "deliveries_s", "max_ms"),
        rows,
    )


def _marks(faults: Sequence[Mapping[str, object]]) -> list[Mark]:
    """A line for each fault and each end of one. Faults alone have names, where there is room for them."""
    begins = [str(each.get("detail", "")) not in _ENDS for each in faults]
    has_room = sum(begins) <= NAMED_MAX
    return [
        Mark(
            float(str(each["at_s"])),
            f"{each['kind']} {each['target']}".strip() if has_room and is_begin else "",
        )
        for each, is_begin in zip(faults, begins, strict=True)
    ]


FIGURES: Final[tuple[tuple[str, Callable[[Sequence[Result]], Figure | None]], ...]] = (
    ("Latency over subscriptions", _latency_over_subscriptions),
    ("Latency, distribution", _latency_distribution),
    ("Throughput over publishers", _throughput_over_publishers),
    ("Latency over brokers", _latency_over_brokers),
    ("Order of delivery", _displacement),
    ("Traffic", _traffic),
    ("Detection", _detection),
    ("Timeline", _timeline),
)
"""In the order of the page; names without a figure are figures left out."""
