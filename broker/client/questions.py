"""Questions of a client to its broker, each answered once; asked again on the next connection. No I/O."""

import json
from collections.abc import Callable

from attrs import define, field

from broker import messages as m
from broker.addresses import is_address
from broker.errors import ConcordError, RefusedError
from broker.move_messages import Move
from broker.page_limits import ANSWER_BYTES_MAX

UNKNOWN = "unknown"
"""The code of `Refused` for a durable subscription that is not there."""


BROKERS = "brokers"
"""Asks where the brokers of the overlay are."""


@define(eq=False)
class Question:
    """Asks the broker what waits, what it keeps, or for the way of one publication; `lines` is the answer.

    The answer comes in pages; `failure` says that it was more than a client keeps.
    """

    publisher: str
    sequence: int
    about: str = "waiting"
    lines: tuple[str, ...] | None = None
    failure: ConcordError | None = None
    _pages: list[str] = field(factory=list, init=False)
    _size_bytes: int = field(default=0, init=False)

    @property
    def is_answered(self) -> bool:
        """Whether the answer has come."""
        return self.lines is not None or self.failure is not None

    def ask(self, number: int) -> m.Explain:
        """Make the message that asks under this number; what came of an earlier answer does not count."""
        self._pages, self._size_bytes = [], 0
        return m.Explain(number, self.publisher, self.sequence, self.about)

    def put(self, page: m.Explained) -> None:
        """Take a page of the answer, which may be the last."""
        self._pages += page.lines
        self._size_bytes += sum(map(len, page.lines))
        if self._size_bytes > ANSWER_BYTES_MAX:
            text = f"the answer has more than the {ANSWER_BYTES_MAX} bytes that are taken"
            self.failure = ConcordError(text)
        elif not page.more:
            self.lines = tuple(self._pages)

    def refused(self, refusal: m.Refused) -> None:
        """Take a refusal."""
        self.failure = RefusedError(f"the broker does not explain that: {refusal.text}", refusal.code)

    def answers(self) -> list[dict[str, object]]:
        """Read the answer: one entry for each line."""
        return [json.loads(line) for line in self.lines or ()]

    def addresses(self) -> tuple[str, ...]:
        """Return the addresses of the answer that can be dialled."""
        return tuple(text for each in self.answers() if is_address(text := str(each.get("address"))))


@define(eq=False)
class Forgetting:
    """Asks the broker to end a durable subscription; `failure` says why it cannot."""

    durable: str
    is_answered: bool = False
    failure: ConcordError | None = None
    _asked_count: int = 0

    def ask(self, number: int) -> m.Forget:
        """Make the message that asks under this number."""
        self._asked_count += 1
        return m.Forget(number, self.durable)

    def refused(self, refusal: m.Refused) -> None:
        """Take a refusal: an error, unless an earlier request may have ended the subscription."""
        self.is_answered = True
        if self._asked_count == 1 or refusal.code != UNKNOWN:
            self.failure = RefusedError(f"cannot forget {self.durable!r}: {refusal.text}", refusal.code)


@define(eq=False)
class Moving:
    """Asks for a move of a broker; the last answer is the `outcome`, those before it are progress."""

    broker: str
    uplink: str
    method: str
    _on_progress: Callable[[str], None]
    outcome: dict[str, object] = field(factory=dict, init=False)
    failure: ConcordError | None = field(default=None, init=False)

    @property
    def is_answered(self) -> bool:
        """Whether the move is over, or has been refused."""
        return bool(self.outcome) or self.failure is not None

    def ask(self, number: int) -> Move:
        """Make the message that asks under this number."""
        return Move(number, self.broker, self.uplink, self.method)

    def put(self, page: m.Explained) -> None:
        """Take progress, or the outcome."""
        for answer in map(json.loads, page.lines):
            if page.more:
                self._on_progress(answer["text"])
            else:
                self.outcome = answer

    def refused(self, refusal: m.Refused) -> None:
        """Take the refusal of this client's own broker."""
        self.failure = RefusedError(f"cannot move {self.broker}: {refusal.text}", refusal.code)


Asked = Question | Forgetting | Moving
