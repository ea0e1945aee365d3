"""Filters: the overlap that is asked for is what there is, and publishers may publish what they publish."""

from itertools import islice

from hypothesis import given, settings
from hypothesis import strategies as st

from broker.filters import parse
from harness.runs.plan import publisher_seats, subscriber_seats
from harness.scenarios import Scenario, from_content, interests


def scenario(overlap_percent: float, clients: int, kind: str = "overlap", seed: int = 1) -> Scenario:
    content = {
        "seed": seed,
        "overlay": {"cores": 4, "edges_per_core": 5},
        "publishers": {"count": clients},
        "subscribers": {"count": clients},
        "filters": {"kind": kind, "overlap_percent": overlap_percent},
    }
    return from_content("x", content, "x.toml").first


@given(st.sampled_from([100, 50, 25, 20, 10, 5]), st.integers(1, 6))
@settings(deadline=None)
def test_a_publication_matches_the_asked_part_of_all_subscriptions(percent: int, per_broker: int) -> None:
    asked = scenario(percent, 20 * per_broker)
    wants = interests(asked.filters, asked.seed)
    filters = [parse(wants.wanted(s.name, s.place)) for s in subscriber_seats(asked)]
    for seat in publisher_seats(asked):
        advertised = parse(wants.advertised(seat.name, seat.place))
        overlapping = sum(advertised.overlaps(each) for each in filters)
        for event in islice(wants.events(seat.name, seat.place), 2):
            assert sum(each.match(event) for each in filters) == overlapping == len(filters) * percent / 100


@given(st.sampled_from([100, 50, 25]))
def test_at_one_broker_every_advertisement_matches_every_subscription(percent: int) -> None:
    asked = scenario(percent, 40)
    wants = interests(asked.filters, asked.seed)
    for publisher in publisher_seats(asked):
        event = next(wants.events(publisher.name, publisher.place))
        for subscriber in subscriber_seats(asked):
            if subscriber.broker == publisher.broker:
                assert parse(wants.wanted(subscriber.name, subscriber.place)).match(event)


@given(st.integers(0, 500), st.sampled_from(["overlap", "market"]))
@settings(max_examples=25, deadline=None)
def test_what_is_published_has_been_advertised_and_is_the_same_again(seed: int, kind: str) -> None:
    asked = scenario(100, 3, kind, seed)
    wants = interests(asked.filters, seed)
    for seat in publisher_seats(asked):
        events = list(islice(wants.events(seat.name, seat.place), 20))
        advertised = parse(wants.advertised(seat.name, seat.place))
        assert all(advertised.match(event) for event in events)
        assert events == list(islice(interests(asked.filters, seed).events(seat.name, seat.place), 20))


def test_in_a_market_some_symbols_are_wanted_more_than_others() -> None:
    asked = scenario(100, 400, "market")
    wants = interests(asked.filters, asked.seed)
    texts = [wants.wanted(f"sub-{number}", 0) for number in range(400)]
    first, last = (sum(f"'S{rank}'" in text for text in texts) for rank in (1, 50))
    assert first > 5 * last
    assert any("price" in text for text in texts)
