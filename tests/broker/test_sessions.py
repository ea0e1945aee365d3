"""Both ends of a session, over connections that are cut anywhere and resumed at any time."""

from collections import deque

from attrs import Factory, define
from hypothesis import given
from hypothesis import strategies as st

from broker.sessions import Missing, Retained

steps = st.lists(
    st.tuples(
        st.sampled_from(("send", "send", "arrive", "arrive", "cut", "resume", "acknowledge")),
        st.sampled_from((0, 1)),
        st.integers(1, 4),
    ),
    max_size=60,
)


@define
class End:
    """One end of a session."""

    received: int = 0
    outgoing: Retained[int] = Factory(Retained)

    def resume(self, received: int) -> list[int]:
        """The other end has received so many; return what it gets next."""
        self.outgoing.acknowledge(received)
        again: list[int] = []
        for batch in self.outgoing.after(received):
            assert not isinstance(batch, Missing)
            again += batch
        return again


@define
class Ends:
    """Two ends, what each got, and the newest connection, one queue per direction; None while it is cut."""

    sessions: tuple[End, End] = Factory(lambda: (End(), End()))
    got: tuple[list[int], list[int]] = Factory(lambda: ([], []))
    wires: tuple[deque[int], deque[int]] | None = Factory(lambda: (deque(), deque()))

    def send(self, end: int, count: int) -> None:
        outgoing = self.sessions[end].outgoing
        batch = list(range(outgoing.sent + 1, outgoing.sent + count + 1))
        outgoing.add(batch)
        if self.wires is not None:
            self.wires[end].extend(batch)

    def arrive(self, end: int, count: int) -> None:
        """What the other end sent comes to this end."""
        if self.wires is not None:
            for _ in range(min(count, len(self.wires[1 - end]))):
                self.got[end].append(self.wires[1 - end].popleft())
                self.sessions[end].received += 1

    def cut(self) -> None:
        self.wires = None

    def resume(self) -> None:
        """Let an end dial again, perhaps while the old connection still works; that one counts no more."""
        one, other = self.sessions
        self.wires = (deque(one.resume(other.received)), deque(other.resume(one.received)))

    def acknowledge(self, end: int, count: int) -> None:
        """This end says how much it received, late or now."""
        self.sessions[1 - end].outgoing.acknowledge(max(0, self.sessions[end].received - count + 1))

    def do(self, verb: str, end: int, count: int) -> None:
        if verb in {"cut", "resume"}:
            getattr(self, verb)()
        else:
            getattr(self, verb)(end, count)


@given(steps)
def test_any_cutting_and_any_resuming_gives_each_end_the_sequence_once(
    drawn: list[tuple[str, int, int]],
) -> None:
    ends = Ends()
    for step in drawn:
        ends.do(*step)
    ends.resume()
    for end in (0, 1):
        ends.arrive(end, 10_000)
        assert ends.got[end] == list(range(1, ends.sessions[1 - end].outgoing.sent + 1))
