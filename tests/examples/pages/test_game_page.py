from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as NotYetError

from tests.examples.pages.conftest import Demo, Visitor, running

FRAME = "window.concord.frame"
PLACE = """name => {
    const view = window.concord.frame.views.find(each => each.name === name);
    for (const [, players] of Object.values(view.regions))
        for (const [who, x, y] of players) if (who === name) return [x, y];
    return null;
}"""
KEYS = {(0, -1): "ArrowUp", (0, 1): "ArrowDown", (-1, 0): "ArrowLeft", (1, 0): "ArrowRight"}


@pytest.fixture(scope="module")
def busy() -> Iterator[Demo]:
    with running("game", "--pace", "0.15") as demo:
        yield demo


@pytest.fixture(scope="module")
def calm() -> Iterator[Demo]:
    with running("game", "--no-bots", "--players", "4", "--pace", "0.1") as demo:
        yield demo


def frame(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(FRAME)
    return found


def view(page: Page, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in frame(page)["views"] if each["name"] == name)
    return found


def take(page: Page, number: int, name: str) -> None:
    page.wait_for_function(f"() => ({PLACE})('{name}')")
    page.keyboard.press(str(number))
    page.wait_for_function(f"() => {FRAME}.you === '{name}'")


def step(page: Page, name: str) -> None:
    """One step towards the nearest gem, by keyboard; over when it has been seen to be made."""
    x, y = page.evaluate(PLACE, name)
    gems = [gem for gems, _ in view(page, name)["regions"].values() for gem in gems]
    gem_x, gem_y = min(gems, key=lambda gem: abs(gem[0] - x) + abs(gem[1] - y))
    dx = (gem_x > x) - (gem_x < x)
    dy = 0 if dx else (gem_y > y) - (gem_y < y)
    if not (dx or dy):
        dx = 1 if x < frame(page)["map"]["width"] - 1 else -1
    page.keyboard.press(KEYS[dx, dy])
    try:
        page.wait_for_function(f"at => String(({PLACE})('{name}')) !== at", arg=f"{x},{y}", timeout=1000)
    except NotYetError:
        return  # What lies there is not known yet, or the step crossed a tag.


def score(page: Page, name: str) -> None:
    """Play until the score has grown."""
    before = view(page, name)["score"]
    while view(page, name)["score"] == before:
        step(page, name)


def test_the_page_loads_from_the_package_alone_and_without_complaints(busy: Demo, visitor: Visitor) -> None:
    page = visitor.open(busy)
    page.wait_for_selector("article.view canvas")
    assert page.locator("article.view").count() == 4
    assert page.title() == "Who has the gem? · Concord"
    assert all(address.startswith((busy.address, "data:")) for address in visitor.addresses)
    assert visitor.complaints == []


def test_without_order_players_come_to_differ_and_with_it_they_do_not(busy: Demo, visitor: Visitor) -> None:
    page = visitor.open(busy)
    page.wait_for_function(f"() => {FRAME}.counts.fifo.disputed > 4 && {FRAME}.counts.pairwise.shared > 60")
    assert frame(page)["counts"]["pairwise"]["disputed"] == 0
    assert frame(page)["counts"]["pairwise"]["twice"] == 0


def test_the_switch_shows_the_other_overlay(busy: Demo, visitor: Visitor) -> None:
    page = visitor.open(busy)
    assert page.locator("input[value=pairwise]").is_checked()
    page.locator("input[value=pairwise]").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"() => {FRAME}.ordering === 'fifo'")
    page.wait_for_selector("article.view.differs")
    page.wait_for_selector("#calls li.disputed")
    page.locator("label[data-ordering=pairwise]").click()
    page.wait_for_function(f"() => {FRAME}.ordering === 'pairwise'")
    page.wait_for_selector("#calls:has(li):not(:has(.disputed))")
    assert page.locator("label[data-ordering=pairwise] .count").inner_text() == "0"


def test_a_person_moves_and_scores_by_keyboard(calm: Demo, visitor: Visitor) -> None:
    page = visitor.open(calm)
    take(page, 1, "Ada")
    score(page, "Ada")
    page.keyboard.press("Escape")
    page.wait_for_function(f"() => {FRAME}.you === ''")
    assert visitor.complaints == []


def moved(page: Page, name: str) -> None:
    """A step has been made: what was pressed before it has reached the demo."""
    before = page.evaluate(PLACE, name)
    while page.evaluate(PLACE, name) == before:
        assert frame(page)["you"] == name
        step(page, name)


@pytest.mark.parametrize("focus", ["click", "focus"])
def test_the_space_bar_is_the_games_while_a_button_has_the_focus(
    calm: Demo, visitor: Visitor, focus: str
) -> None:
    page = visitor.open(calm)
    page.wait_for_function(f"() => ({PLACE})('Ada')")
    button = page.locator("article[data-player=Ada] footer button")
    button.click()
    page.wait_for_function(f"() => {FRAME}.you === 'Ada'")
    if focus == "focus":
        button.focus()
    page.keyboard.press("Space")
    moved(page, "Ada")
    assert frame(page)["you"] == "Ada"
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_function(f"() => {FRAME}.you === ''")


def test_an_arrow_after_a_click_on_the_switch_does_not_flip_it(calm: Demo, visitor: Visitor) -> None:
    page = visitor.open(calm)
    for _ in range(2):  # The second click changes nothing, and gives the focus to the switch as well.
        page.locator("label[data-ordering=fifo]").click()
        page.keyboard.press("ArrowLeft")
        assert page.locator("input[value=fifo]").is_checked()
    page.locator("input[value=fifo]").focus()
    take(page, 1, "Ada")
    for key in ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
        assert page.locator("input[value=fifo]").is_checked()
    moved(page, "Ada")
    assert frame(page)["ordering"] == "fifo"


def test_two_tabs_agree_on_every_region_that_both_see(calm: Demo, visitor: Visitor) -> None:
    one, other = visitor.open(calm), visitor.open(calm)
    take(one, 2, "Ben")
    take(other, 3, "Cleo")
    for page, name in ((one, "Ben"), (other, "Cleo"), (one, "Ben")):
        score(page, name)
    for _ in range(2):
        step(other, "Cleo")
    agreed = """() => {
        const known = name => window.concord.frame.views.find(each => each.name === name).regions;
        const [ben, cleo] = [known("Ben"), known("Cleo")];
        const common = Object.keys(ben).filter(region => region in cleo);
        return common.every(region => JSON.stringify(ben[region]) === JSON.stringify(cleo[region]));
    }"""
    for page in (one, other):
        page.wait_for_function(agreed)
        assert frame(page)["counts"]["pairwise"]["disputed"] == 0
    while frame(one)["board"] != frame(other)["board"]:  # The frames of two tabs are not of one moment.
        for page in (one, other):
            page.wait_for_function(f"at => {FRAME}.at !== at", arg=frame(page)["at"])


def test_a_seat_that_a_person_has_cannot_be_taken_by_another(calm: Demo, visitor: Visitor) -> None:
    one, other = visitor.open(calm), visitor.open(calm)
    take(one, 4, "Dan")
    other.wait_for_function(f"() => {FRAME}.views.find(each => each.name === 'Dan').person")
    assert other.locator("article[data-player=Dan] button").is_disabled()
    one.close()
    other.wait_for_function(f"() => !{FRAME}.views.find(each => each.name === 'Dan').person")


@pytest.mark.parametrize(("broker", "player"), [("New York", "Ben"), ("Frankfurt", "Ada")])
def test_players_of_a_killed_broker_reconnect_and_still_agree(
    busy: Demo, visitor: Visitor, broker: str, player: str
) -> None:
    page = visitor.open(busy)
    page.locator(f"li[data-broker='{broker}'] button").click()
    page.wait_for_selector(f"article[data-player={player}].away")
    page.wait_for_selector(f"article[data-player={player}]:not(.away)")
    shared = frame(page)["counts"]["pairwise"]["shared"]
    page.wait_for_function(f"() => {FRAME}.counts.pairwise.shared > {shared + 40} && ({PLACE})('{player}')")
    assert frame(page)["counts"]["pairwise"]["disputed"] == 0
    assert visitor.complaints == []


def test_a_phone_has_no_sideways_scrolling_and_a_pad_to_play_with(calm: Demo, visitor: Visitor) -> None:
    page = visitor.open(calm)
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    take(page, 1, "Ada")
    page.wait_for_selector("#pad button:visible")


AGREED = """() => {
    const { own, frame } = window.concord;
    const seen = frame.views.flatMap(view => Object.entries(view.regions));
    const common = seen.filter(([name]) => own.regions.has(name));
    const is_same = ([name, [gems, players]]) => {
        const region = own.regions.get(name);
        return String(gems) === String([region.cell(0), region.cell(1)])
            && players.every(([who, ...at]) => String(region.players.get(who)) === String(at));
    };
    const is_seen = common.some(([, [, players]]) => players.some(([who]) => who === own.name));
    return is_seen && common.every(is_same);
}"""


def test_a_page_plays_at_a_broker_with_nobody_between(calm: Demo, visitor: Visitor) -> None:
    page = visitor.open(calm)
    page.wait_for_function(f"() => ({PLACE})({FRAME}.views[0].name)")
    page.locator("#join").click()
    page.wait_for_function("() => window.concord.own && !window.concord.own.isOut")
    for key in ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
    page.wait_for_function(AGREED)
    page.locator("#join").click()
    page.wait_for_function("() => !window.concord.own")
    assert visitor.complaints == []
