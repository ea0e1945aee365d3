from hypothesis import given
from hypothesis import strategies as st

from broker.node.credit import FIRST_BYTES, SHARE_BYTES_MAX, SHARE_BYTES_MIN, CreditBatch, CreditWindow, Share

FRAME_BYTES_MAX = 1_000_000


def window_of(share: Share) -> CreditWindow:
    return CreditWindow(share, FRAME_BYTES_MAX)


def publishing_window(share: Share) -> CreditWindow:
    window = window_of(share)
    window.join()
    window.first()
    return window


@given(sizes=st.lists(st.integers(1, 60_000), max_size=60), keep=st.lists(st.booleans(), max_size=60))
def test_credit_and_what_is_held_never_exceed_the_window(sizes: list[int], keep: list[bool]) -> None:
    share = Share()
    window = publishing_window(share)
    held = []
    for place, size_bytes in enumerate(sizes):
        if window.available_bytes <= 0:
            break
        assert window.receive(size_bytes)
        held.append(CreditBatch(window, size_bytes))
        if place < len(keep) and not keep[place]:
            held.pop().release()
        window.grant()
        assert window.available_bytes + window.held_bytes <= share.size_bytes


@given(sizes=st.lists(st.integers(1, 2_000_000), min_size=1, max_size=30))
def test_all_credit_but_less_than_a_quarter_is_granted_again_when_all_is_handed_on(sizes: list[int]) -> None:
    share = Share()
    window = publishing_window(share)
    for size_bytes in sizes:
        assert window.available_bytes > 0
        window.receive(size_bytes)
        CreditBatch(window, size_bytes).release()
        window.grant()
        assert window.available_bytes > share.size_bytes * 3 / 4


def test_a_sender_that_goes_on_without_credit_is_noticed_after_one_frame() -> None:
    window = publishing_window(Share())
    assert window.receive(window.available_bytes + FRAME_BYTES_MAX - 1)
    assert not window.receive(1)


def test_the_credit_of_a_batch_is_free_when_its_last_holder_releases_it() -> None:
    class Session:
        granted = 0

        def grant(self) -> None:
            self.granted += window.grant()

    session = Session()
    window = CreditWindow(Share(), FRAME_BYTES_MAX, session)
    window.join()
    size_bytes = window.first()
    window.receive(size_bytes)
    batch = CreditBatch(window, size_bytes)
    batch.hold()
    batch.release()
    assert (window.held_bytes, session.granted) == (size_bytes, 0)
    batch.release()
    assert (window.held_bytes, session.granted) == (0, size_bytes)


def test_the_more_publish_the_smaller_is_each_window() -> None:
    share = Share()
    windows = [window_of(share) for _ in range(1000)]
    sizes = []
    for window in windows:
        window.join()
        sizes.append(share.size_bytes)
    assert sizes == sorted(sizes, reverse=True)
    assert (sizes[0], sizes[-1]) == (SHARE_BYTES_MAX, SHARE_BYTES_MIN)
    for window in windows:
        window.close()
    assert share.size_bytes == SHARE_BYTES_MAX


def test_a_window_that_became_smaller_gives_nothing_until_it_has_shrunk() -> None:
    share = Share()
    window = publishing_window(share)
    for _ in range(100):
        window_of(share).join()
    window.receive(1000)
    CreditBatch(window, 1000).release()
    assert window.grant() == 0
    window.receive(window.available_bytes)
    assert window.grant() == 0
    window.give_back(window.held_bytes)
    assert window.grant() == share.size_bytes


def test_a_client_that_has_not_advertised_gets_its_first_credit_only() -> None:
    window = window_of(Share())
    assert window.first() == FIRST_BYTES
    window.receive(FIRST_BYTES)
    window.give_back(FIRST_BYTES)
    assert window.grant() == 0
    window.join()
    assert window.grant() == SHARE_BYTES_MAX
