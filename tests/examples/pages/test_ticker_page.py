from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.examples.pages.conftest import Demo, Visitor, running

FRAME = "window.concord.frame"
OWN = "[...window.concord.own.followers.values()]"


@pytest.fixture(scope="module")
def market() -> Iterator[Demo]:
    with running("ticker", "--day", "10") as demo:
        yield demo


def counts(page: Page, ordering: str) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(f"{FRAME}.counts.{ordering}")
    return found


def test_the_page_loads_from_the_package_alone_and_without_complaints(market: Demo, visitor: Visitor) -> None:
    page = visitor.open(market)
    page.wait_for_selector("article.book tbody tr")
    assert page.locator("article.book").count() == 3
    assert all(address.startswith((market.address, "data:")) for address in visitor.addresses)
    assert visitor.complaints == []


def test_without_order_auditors_find_other_decisions_and_with_it_the_same(
    market: Demo, visitor: Visitor
) -> None:
    page = visitor.open(market)
    page.wait_for_function(f"() => {FRAME}.counts.fifo.disputed > 5 && {FRAME}.counts.pairwise.shared > 300")
    assert counts(page, "fifo")["displaced"] > 0
    assert counts(page, "fifo")["money"] > 0
    pairwise = counts(page, "pairwise")
    assert (pairwise["disputed"], pairwise["displaced"], pairwise["money"]) == (0, 0, 0)


def test_a_key_switches_the_overlay_and_its_disagreements_are_marked(market: Demo, visitor: Visitor) -> None:
    page = visitor.open(market)
    page.keyboard.press("2")
    page.wait_for_function(f"() => {FRAME}.ordering === 'fifo'")
    page.wait_for_selector("tr.displaced")
    page.wait_for_selector("#findings li.disputed")
    page.keyboard.press("1")
    page.wait_for_selector("#findings:has(li):not(:has(.disputed))")
    assert page.locator("tr.displaced").count() == 0


def test_a_killed_broker_costs_time_and_no_agreement(market: Demo, visitor: Visitor) -> None:
    page = visitor.open(market)
    page.locator("li[data-broker=Singapore] button").click()
    page.wait_for_selector("text=reconnecting …")
    page.wait_for_function(
        f"() => {FRAME}.investors.every(each => each.sides.every(side => side.open && side.connected))"
    )
    shared = counts(page, "pairwise")["shared"]
    page.wait_for_function(f"() => {FRAME}.counts.pairwise.shared > {shared + 100}")
    assert counts(page, "pairwise")["disputed"] == 0
    # The page follows by itself, at that broker too, and keeps the same books.
    page.wait_for_function(f"() => {OWN}.length === 3 && {OWN}.every(each => each.agreed > 10)")
    assert page.evaluate(f"{OWN}.map(each => each.differed)") == [0, 0, 0]
    assert page.locator("text=this page keeps the same book").count() == 3
