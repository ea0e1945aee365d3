"""What a kind of fault is: how it is written, whom it may hit, and what it does to a running overlay."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol

import attrs

from harness.faults.grammar import Clause, Fault, Form

__all__ = ["BROKER", "CLIENT", "FOR_S", "LINK", "SUBSCRIPTION", "Field", "Kind", "Link"]

BROKER: Final = "broker"
LINK: Final = "link"
CLIENT: Final = "client"
SUBSCRIPTION: Final = "subscription"

FOR_S: Final = Clause("seconds")
"""`for 2s`; left out, it lasts to the end of the run."""


@attrs.frozen
class Link:
    """A link that faults can be done to: from the lower end, a broker or a client, to the upper one."""

    lower: str
    upper: str

    @property
    def name(self) -> str:
        """As the trace and the shaper know it."""
        return f"{self.lower}>{self.upper}"


class Field(Protocol):
    """What faults may do to a run. Every action is noted in the trace with its time."""

    async def sleep(self, seconds: float | None) -> None:
        """Wait so long; for None, for ever."""
        ...

    async def kill(self, broker: str, kind: str, detail: str) -> bool:
        """End a broker as a crash does; False if it is not running."""
        ...

    async def start(self, broker: str, kind: str) -> None:
        """Start a broker again."""
        ...

    async def pause(self, broker: str) -> None:
        """Stop a broker where it is."""
        ...

    async def resume(self, broker: str) -> None:
        """Let a stopped broker go on."""
        ...

    async def cut(self, link: Link, kind: str, target: str) -> None:
        """Reset the connections of a link, now and until it is mended."""
        ...

    async def mend(self, link: Link, kind: str, target: str) -> None:
        """Let a cut link work again."""
        ...

    async def shape(self, link: Link, delay_s: float | None, mbit: float | None) -> None:
        """Change a link's delay and bandwidth; None for both makes it again what the scenario says."""
        ...

    async def slow(self, subscription: str, per_second: float, for_s: float | None) -> None:
        """Let a subscriber read so slowly."""
        ...


Inject = Callable[[Field, Fault, "str | Link"], Awaitable[None]]


@attrs.frozen
class Kind:
    """One kind of fault. `target` says what it hits, `example` is a whole fault."""

    words: tuple[str, ...]
    about: str
    example: str
    target: str
    inject: Inject = attrs.field(repr=False)
    clauses: Mapping[str, Clause] = attrs.field(factory=dict)

    @property
    def form(self) -> Form:
        """How it is written. A link may be named by both its ends."""
        return Form(self.words, (1, 2 if self.target == LINK else 1), self.clauses)

    @property
    def usage(self) -> str:
        """How it is written, for people."""
        targets = {
            BROKER: "BROKER",
            LINK: "BROKER [BROKER]",
            CLIENT: "CLIENT",
            SUBSCRIPTION: "SUBSCRIPTION",
        }
        values = {"seconds": "TIME", "mbit": "N'mbit'", "rate": "N/s"}
        words = [*self.words, targets[self.target], "at TIME"]
        return " ".join([*words, *(f"[{name} {values[each.unit]}]" for name, each in self.clauses.items())])
