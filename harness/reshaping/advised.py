"""Nine real brokers under load, before and after the moves that `concord explain --advise` has for them."""

from collections.abc import Mapping, Sequence

from broker.addresses import parse_address
from broker.advice import CHILDREN, Advice
from broker.commands.advising import Survey, advice_on, surveyed
from broker.commands.connecting import Connecting
from harness.processes import ProcessError
from harness.reshaping.load import Load, as_row, quantile
from harness.reshaping.overlay import loaded

Figures = Mapping[str, float]


async def run(
    command: Sequence[str], seconds: float, per_second: float
) -> tuple[Figures, Figures, Advice, Mapping[str, float]]:
    """Count for so long, move as advised, count again; return both, the advice, and the verdict on all."""
    async with loaded(command, per_second) as (overlay, load, client):
        address = parse_address(overlay.servers["B1"].address)
        asking = Connecting((address,), "advice", None, None, retry=False, learn=False)
        survey, before = await _counted(asking, load, seconds)
        advice = advice_on(survey, CHILDREN, keeps_root=True)
        for step in advice.steps:
            if not await overlay.move(client, step.broker, step.uplink):
                raise ProcessError(f"{step.broker} did not move below {step.uplink}")
        _, after = await _counted(asking, load, seconds)
    return before, after, advice, as_row(load)


async def _counted(asking: Connecting, load: Load, seconds: float) -> tuple[Survey, Figures]:
    """Return what brokers count meanwhile, and how late events are for clients."""
    marks = load.marks()
    survey = await surveyed(asking, seconds)
    late_ms = load.late_ms(marks)
    published = sum(each.published for each in survey.traffic)
    waited_s = sum(each.waiting_s for each in survey.traffic)
    return survey, {
        "events": published,
        "deferred per event": sum(each.deferred for each in survey.traffic) / published,
        "waited ms per event": 1000 * waited_s / published,
        "late ms, mean": sum(late_ms) / len(late_ms),
        "late ms, p50": quantile(late_ms, 0.5),
        "late ms, p99": quantile(late_ms, 0.99),
    }
