"""What a cache keeps: the newest within its bounds, in order, with times that do not go back."""

from hypothesis import given
from hypothesis import strategies as st

from broker.filters import parse
from broker.replay import Cache, Excerpt, Item
from tests.broker.replay.past import kept as kept_in
from tests.broker.replay.past import published

STEPS_MAX = 1000
"""More than any replay here takes."""

_runs = st.lists(
    st.tuples(
        st.sampled_from("PQR"),
        st.lists(st.tuples(st.integers(0, 20), st.sampled_from("ab")), min_size=1, max_size=4),
    ),
    max_size=30,
)


def _found(
    cache: Cache, text: str, since_ns: int, *, newest_first: bool = False, step: int = 3
) -> list[Item]:
    excerpt = Excerpt.of(cache, parse(text), since_ns, newest_first=newest_first)
    items: list[Item] = []
    for _ in range(STEPS_MAX):
        reading = excerpt.read(step)
        if reading.head is not None:
            items.append(reading.take())
        if excerpt.is_over:
            break
    assert excerpt.is_over, "it goes round in circles"
    return items


@given(_runs, st.integers(0, 25), st.booleans(), st.integers(1, 100))
def test_an_excerpt_is_what_matches_in_the_window_in_order(
    runs: list[tuple[str, list[tuple[int, str]]]],
    since_ns: int,
    newest_first: bool,  # noqa: FBT001 - drawn
    step: int,
) -> None:
    cache = Cache(10**6, 10**6)
    expected = [item for items in kept_in(cache, runs) for item in items]
    wanted = [item for item in expected if item[0] >= since_ns and item[3].endswith(b"dkindaa@")]
    found = _found(cache, "kind == 'a'", since_ns, newest_first=newest_first, step=step)
    assert found == sorted(wanted, reverse=newest_first)


@given(_runs, st.integers(0, 12), st.integers(0, 500))
def test_the_newest_runs_are_kept_within_both_bounds(
    runs: list[tuple[str, list[tuple[int, str]]]], count_max: int, size_bytes_max: int
) -> None:
    cache = Cache(size_bytes_max, count_max)
    expected = kept_in(cache, runs)
    assert cache.count <= count_max
    assert cache.size_bytes <= size_bytes_max
    kept: list[list[Item]] = []
    for items in reversed(expected):
        larger = [*kept, items]
        count = sum(map(len, larger))
        size_bytes = sum(len(item[3]) for each in larger for item in each)
        if count > count_max or size_bytes > size_bytes_max:
            break
        kept = larger
    assert cache.count == sum(map(len, kept))
    found = {(publisher, sequence) for _, publisher, sequence, _ in _found(cache, "True", 0)}
    assert found == {(item[1], item[2]) for items in kept for item in items}


@given(_runs, st.integers(0, 25))
def test_a_cache_made_again_of_its_columns_is_the_same(
    runs: list[tuple[str, list[tuple[int, str]]]], before_ns: int
) -> None:
    cache, double = Cache(10**6, 10**6), Cache(10**6, 10**6)
    kept_in(cache, runs)
    double.restore(cache.columns())
    double.size_bytes, double.count = cache.size_bytes, cache.count
    double.next_number = cache.next_number
    cache.forget_before(before_ns)
    double.forget_before(before_ns)
    for each in (cache, double):
        each.keep("P", [published("P", 1000, 3, "a")])
    assert _found(cache, "True", 0) == _found(double, "True", 0)
    assert not cache.has_before(min(before_ns, 3))


def test_what_is_too_old_is_forgotten_of_any_publisher() -> None:
    cache = Cache(10**6, 10**6)
    for publisher, published_ns in (("P", 90), ("Q", 10), ("P", 95), ("Q", 80)):
        cache.keep(publisher, [published(publisher, 1, published_ns, "a")])
    cache.forget_before(85)
    assert [item[:2] for item in _found(cache, "True", 0)] == [(90, "P"), (95, "P")]
    assert cache.count == 2
