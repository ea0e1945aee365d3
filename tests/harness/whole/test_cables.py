from random import Random

from attrs import define, field

from harness.whole.cables import Cable, CableEnd, CableShape
from harness.whole.clock import Clock

SHAPE = CableShape(
    latency_s=0.01, slow_part=0.0, slow_factor=1.0, cuts=0.5, crumbs=0.2, partial=0.5, capacity_bytes=50
)
CONTENT = bytes(range(200))
LONG_S = 1000.0


@define(eq=False)
class Listener:
    """Keeps what arrives at one end."""

    content: bytearray = field(factory=bytearray)
    endings: list[str | None] = field(factory=list)
    written_count: int = 0

    def received(self, end: CableEnd, content: bytes) -> None:
        del end
        self.content += content

    def ended(self, end: CableEnd, reason: str | None) -> None:
        del end
        self.endings.append(reason)

    def written(self, end: CableEnd) -> None:
        del end
        self.written_count += 1


def cable() -> tuple[Clock, Cable, Listener, Listener]:
    clock, one, other = Clock(), Listener(), Listener()
    return clock, Cable.between(clock, Random(1), SHAPE, one, other), one, other


def test_everything_arrives_in_order_and_then_the_end() -> None:
    clock, made, one, other = cable()
    assert not made.ends[0].send(CONTENT)
    clock.run(LONG_S)
    made.ends[0].close()
    clock.run(2 * LONG_S)
    assert bytes(other.content) == CONTENT
    assert one.written_count == 1
    assert other.endings == [None]


def test_a_paused_end_receives_nothing_and_blocks_the_sender() -> None:
    clock, made, one, other = cable()
    made.ends[1].pause()
    made.ends[0].send(CONTENT)
    clock.run(LONG_S)
    assert not other.content
    assert not one.written_count
    made.ends[1].resume()
    clock.run(2 * LONG_S)
    assert bytes(other.content) == CONTENT


def test_a_reset_loses_the_end_of_what_is_in_flight_and_both_learn_of_it() -> None:
    clock, made, one, other = cable()
    made.ends[0].send(CONTENT)
    made.reset()
    clock.run(LONG_S)
    assert CONTENT.startswith(bytes(other.content))
    assert len(other.content) < len(CONTENT)
    assert [len(one.endings), len(other.endings)] == [1, 1]


def test_a_half_open_connection_says_so_to_one_end_alone() -> None:
    clock, made, one, other = cable()
    made.half_open(knows=0)
    made.ends[0].send(CONTENT)
    made.ends[1].send(CONTENT)
    clock.run(LONG_S)
    assert len(one.endings) == 1
    assert not other.endings
    assert not other.content
