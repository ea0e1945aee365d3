"""Which connections go through the shaper, and the shaper's process.

Only links that have a delay or a bandwidth, or that a fault is about, pay for the way through another
process.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import trio
from attrs import define, field

from harness.faults import LinkTarget
from harness.processes import START_TIMEOUT_S, ProcessError, ProgramProcess, start
from harness.runs.plan import HOST, Plan

_BYTES_PER_MBIT: Final = 1e6 / 8


@define(eq=False)
class Wiring:
    """The addresses of all links, and the means to cut and shape them."""

    plan: Plan
    ports: Mapping[str, int] = field(factory=dict)
    _shaper: ProgramProcess | None = None
    _cut: dict[LinkTarget, None] = field(factory=dict)

    def address(self, lower: str, upper: str) -> str:
        """Return where a broker or client dials to reach a broker."""
        port = self.ports.get(LinkTarget(lower, upper).name)
        return self.plan.address(upper) if port is None else f"{HOST}:{port}"

    async def cut(self, link: LinkTarget) -> None:
        """Reset it until it is restored."""
        self._cut[link] = None
        await self._order({"cut": link.name})

    async def restore(self, link: LinkTarget) -> None:
        """Let it work again."""
        self._cut.pop(link, None)
        await self._order({"restore": link.name})

    def cut_links(self) -> list[LinkTarget]:
        """Return the links that have been cut and not restored."""
        return list(self._cut)

    async def shape(self, link: LinkTarget, delay_s: float | None, mbit: float | None) -> None:
        """Give it another delay and bandwidth, or its own again."""
        own_delay_s, own_bytes_per_s = _own(self.plan, link)
        await self._order(
            {
                "shape": link.name,
                "delay_s": own_delay_s if delay_s is None else delay_s,
                "bytes_per_s": own_bytes_per_s if mbit is None else mbit * _BYTES_PER_MBIT,
            }
        )

    async def _order(self, order: Mapping[str, object]) -> None:
        assert self._shaper is not None, "faults about links have the shaper started"
        await self._shaper.write_line(json.dumps(order))


def _own(plan: Plan, link: LinkTarget) -> tuple[float, float]:
    """The delay and bandwidth that the scenario gives a link; a client's connection has neither."""
    if link.lower not in plan.uplinks:
        return 0.0, 0.0
    links = plan.scenario.links
    delay_ms = links.delays_ms.get(link.lower, links.delay_ms)
    mbit = links.bandwidths_mbit.get(link.lower, links.bandwidth_mbit)
    return delay_ms / 1000, mbit * _BYTES_PER_MBIT


def _links(plan: Plan) -> Iterable[LinkTarget]:
    """Every link between brokers that may come to be."""
    for lower, upper in plan.uplinks.items():
        if upper is not None:
            yield from (LinkTarget(lower, each) for each in (upper, *plan.fallbacks(lower)))


async def open_wiring(nursery: trio.Nursery, plan: Plan, spoilt: Collection[LinkTarget]) -> Wiring:
    """Start the shaper if a link needs it; `spoilt` are the links that faults are about."""
    shaped = sorted(
        {*spoilt} | {link for link in _links(plan) if any(_own(plan, link))}, key=lambda link: link.name
    )
    if not shaped:
        return Wiring(plan)
    shaper = await start(nursery, "the shaper of links", "harness.runs.shaper", ())
    asked = [
        {
            "name": link.name,
            "port": plan.ports[link.upper],
            "delay_s": _own(plan, link)[0],
            "bytes_per_s": _own(plan, link)[1],
        }
        for link in shaped
    ]
    await shaper.write_line(json.dumps({"links": asked}))
    with trio.move_on_after(START_TIMEOUT_S):
        return Wiring(plan, json.loads(await shaper.read_line())["ports"], shaper)
    raise ProcessError(f"the shaper of links is not ready after {START_TIMEOUT_S:.0f} s")
