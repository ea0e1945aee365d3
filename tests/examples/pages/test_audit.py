from typing import TYPE_CHECKING, cast

from attrs import asdict, frozen

from examples.pages.audit import Audit
from examples.ticker.investor import Book, PriceTick, Rules

if TYPE_CHECKING:
    from broker import Delivery

BELL = PriceTick(kind="bell", exchange="FRA", day=1)
QUOTE = PriceTick(kind="quote", exchange="FRA", symbol="SAP", price=100, bid=99.99, ask=100.01)
TRADES = [
    PriceTick(kind="trade", exchange="FRA", symbol="SAP", price=price, size=10) for price in (100, 97, 99)
]


@frozen
class FakeDelivery:
    tick: PriceTick
    sequence: int
    publisher: str = "FRA"

    @property
    def attributes(self) -> dict[str, str | int | float]:
        return asdict(self.tick)


def deliver(audit: Audit, name: str, order: list[int], day: int = 1) -> None:
    book = Book(Rules(drop=0.02, limits={}))
    for tick in (BELL, QUOTE):
        book.take(tick)
    book.day = day
    for place in order:
        tick = TRADES[place]
        delivery = cast("Delivery", FakeDelivery(tick, place + 1))
        audit.record(name, delivery, tick, book.take(tick), book)


def audited(investor: list[int], auditor: list[int]) -> Audit:
    audit = Audit()
    audit.add("Ada", "Ada's auditor", "symbol == 'SAP'")
    deliver(audit, "Ada", investor)
    deliver(audit, "Ada's auditor", auditor)
    return audit


def test_the_same_tape_gives_the_same_decisions() -> None:
    audit = audited([0, 1, 2], [0, 1, 2])
    assert (audit.shared_count, audit.disputed_count, audit.displaced_count) == (3, 0, 0)
    assert audit.money == 0
    assert [finding.is_disputed for finding in audit.findings] == [False, False]


def test_opposite_orders_are_out_of_place_and_may_decide_otherwise() -> None:
    audit = audited([0, 1, 2], [1, 0, 2])
    assert audit.displaced_count == 2
    assert audit.disputed_count == 2
    assert audit.money > 0


def test_a_later_view_is_not_wrong() -> None:
    audit = audited([0, 1, 2], [0])
    assert (audit.shared_count, audit.disputed_count, audit.displaced_count) == (1, 0, 0)


def test_a_closed_book_is_not_compared() -> None:
    audit = Audit()
    audit.add("Ada", "Ada's auditor", "symbol == 'SAP'")
    deliver(audit, "Ada", [0, 1, 2])
    deliver(audit, "Ada's auditor", [2, 1, 0], day=0)
    assert (audit.shared_count, audit.displaced_count) == (0, 0)


def test_tapes_of_different_filters_are_compared_in_what_they_have_in_common() -> None:
    audit = Audit()
    audit.add("Ada", "Ada's auditor", "symbol == 'SAP'")
    audit.add("Ben", "Ben's auditor", "price >= 99")
    deliver(audit, "Ada", [0, 1, 2])
    deliver(audit, "Ben", [0, 2])
    assert audit.displaced_count == 0
    deliver(audit, "Ben's auditor", [2, 0])
    assert audit.displaced_count == 4
