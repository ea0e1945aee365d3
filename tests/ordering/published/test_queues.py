from attrs import frozen

from ordering.published.queues import Flight, Queues, the_free_prefix, when_all_are_free

HERE, THERE, LINK, OTHER = 1, 2, 4, 8


@frozen
class Event:
    publisher: str
    sequence: int
    ordered: bool = True


def flight(name: str, *awaited: int) -> Flight:
    made = Flight(Event(name[0], int(name[1:])), 0)
    for hop in awaited:
        made.await_from(HERE, hop)
    return made


def names(flights: list[Flight]) -> list[str]:
    return [f"{each.event.publisher}{each.event.sequence}" for each in flights]


def test_nothing_waits_where_nothing_is_awaited() -> None:
    queues = Queues()
    assert not queues.take(HERE, flight("p1"))
    assert queues.take(HERE, flight("p2", LINK))
    assert queues.take(HERE, flight("p3"))
    assert not queues.take(THERE, flight("p3"))
    assert queues.waiting_count == 2


def test_progressive_delivers_the_acknowledged_part_before_the_first_that_is_not_sorted_by_id() -> None:
    queues = Queues()
    waiting = [flight("q1", LINK), flight("p1"), flight("p2", LINK), flight("a1")]
    for each in waiting:
        queues.take(HERE, each)
    assert queues.deliver(HERE, the_free_prefix) == []
    assert waiting[0].acknowledged(LINK) == [HERE]
    assert names(queues.deliver(HERE, the_free_prefix)) == ["p1", "q1"]
    waiting[2].acknowledged(LINK)
    assert names(queues.deliver(HERE, the_free_prefix)) == ["a1", "p2"]
    assert queues.waiting_count == 0


def test_basic_delivers_everything_or_nothing_so_a_steady_stream_starves_it() -> None:
    progressive, basic = Queues(), Queues()
    delivered = {the_free_prefix: 0, when_all_are_free: 0}
    before = flight("p1", LINK)
    for queues in (progressive, basic):
        queues.take(HERE, before)
    for number in range(2, 50):
        after = flight(f"p{number}", LINK)
        for queues in (progressive, basic):
            queues.take(HERE, after)
        before.acknowledged(LINK)
        delivered[the_free_prefix] += len(progressive.deliver(HERE, the_free_prefix))
        delivered[when_all_are_free] += len(basic.deliver(HERE, when_all_are_free))
        before = after
    assert delivered == {the_free_prefix: 48, when_all_are_free: 0}
    assert basic.waiting_count == 49
    before.acknowledged(LINK)
    assert len(basic.deliver(HERE, when_all_are_free)) == 49


def test_a_hop_is_free_when_the_last_acknowledgement_is_in() -> None:
    waiting = flight("p1", LINK, OTHER)
    assert waiting.acknowledged(LINK) == []
    assert waiting.acknowledged(OTHER) == [HERE]
    assert waiting.acknowledged(OTHER) == []


def test_theorem_10_what_a_lost_link_owes_is_awaited_for_ever() -> None:
    queues = Queues()
    waiting = flight("p1", LINK, OTHER)
    queues.take(HERE, waiting)
    waiting.forget(LINK)
    assert waiting.acknowledged(OTHER) == []
    assert queues.deliver(HERE, the_free_prefix) == []
    assert not waiting.is_free(HERE)
    queues.forget(HERE)
    assert queues.waiting_count == 0
