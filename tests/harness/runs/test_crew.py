"""A publisher's ledger follows its publications through changes of its id."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from harness.runs.crew import Ledger
from harness.traces import PUBLICATIONS

CHANGES = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 8)), min_size=1, max_size=5)


@given(CHANGES)
def test_every_publication_is_known_by_the_last_id_and_number_it_had(changes: list[tuple[int, int]]) -> None:
    rows = PUBLICATIONS.writer(Path("unused"), "x")
    ledger = Ledger("B1", rows)
    truth: list[tuple[str, int]] = []
    sent = 0
    for turn, (count, resent) in enumerate(changes):
        again = min(resent, len(truth)) if turn else 0
        publisher = f"pub@B1/{turn}"
        truth[len(truth) - again :] = [(publisher, number) for number in range(1, again + 1)]
        for number in range(again + 1, again + count + 1):
            truth.append((publisher, number))
            ledger.note(publisher, number, len(truth), ordered=True)
        sent += again + count
    assert list(ledger.identities()) == truth
    assert list(ledger.times_ns) == list(range(1, len(truth) + 1))
    pending = rows.take()
    assert pending is not None
    assert len(pending.rows) == sent
    assert len({row[:2] for row in pending.rows}) == sent
