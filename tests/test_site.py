"""The site builds without a warning, loads nothing from elsewhere, and its search answers users."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

import pytest
from attrs import frozen
from playwright.sync_api import Page, sync_playwright

import concord
import concord.asyncio
import concord.constraints
import concord.detect
import concord.plugins
import concord.sync
import concord.testing
from tests.harness.report.browser import browser
from tests.sources import ROOT

pytestmark = pytest.mark.timeout(
    240
)  # the first test builds the site, which takes a minute on a busy machine

FIRST: Final = 3
"""The pages of an answer that a reader looks at."""

ASKED: Final = "query => Search._performSearch(...Search._parseQuery(query)).reverse().map(found => found[0])"
"""What the site's own search finds, best first: names of pages."""


@frozen
class Question:
    """What a new user asks, two tries in the words that come to mind, and the pages that answer."""

    asked: str
    tries: tuple[str, str]
    pages: Sequence[str]


QUESTIONS: Final = (
    Question("how do I see who lags?", ("who lags", "lag"), ["how-to/see-who-lags"]),
    Question(
        "what happens when the root dies?",
        ("root dies", "failover"),
        ["explanation/guarantees", "explanation/healing"],
    ),
    Question("can I lose events?", ("lose events", "delivery guarantees"), ["explanation/guarantees"]),
    Question(
        "why does my subscriber wait?", ("subscriber wait", "why subscriber waits"), ["how-to/see-who-lags"]
    ),
    Question("what if a consumer is slow?", ("slow consumer", "backpressure"), ["how-to/slow-consumers"]),
    Question(
        "can I read old events?", ("replay", "retention"), ["how-to/replay-and-retention", "reference/replay"]
    ),
    Question("how do I upgrade?", ("upgrade", "rolling upgrade"), ["how-to/upgrade"]),
    Question("is it exactly-once?", ("exactly-once", "at-least-once"), ["explanation/guarantees"]),
    Question(
        "how do I check its health?", ("health check", "alert"), ["how-to/see-who-lags", "reference/metrics"]
    ),
    Question(
        "can I use it with asyncio or in a notebook?",
        ("asyncio", "notebook"),
        ["how-to/asyncio-threads-and-notebooks"],
    ),
    Question("does it speak WebSocket?", ("websocket", "browser"), ["how-to/browsers"]),
    Question("where do bad events go?", ("dead letter", "dead letter queue"), ["explanation/what-it-is-not"]),
    Question(
        "what order do I get?",
        ("ordering guarantee", "order"),
        ["explanation/order", "explanation/guarantees"],
    ),
    Question("how do I let in only my users?", ("security", "tls token"), ["how-to/secure"]),
    Question("how large a machine?", ("sizing", "how much memory"), ["how-to/sizing"]),
)

WORDS: Final = (
    *(
        "backpressure",
        "failover",
        "lag",
        "retention",
        "health check",
        "upgrade",
        "exactly-once",
        "at-least-once",
    ),
    *(
        "WebSocket",
        "slow consumer",
        "dead letter",
        "ordering guarantee",
        "durable",
        "replay",
        "TLS",
        "metrics",
    ),
    *("consumer group", "queue group", "wildcard", "QoS", "JetStream", "snapshot", "root", "R6"),
    *("asyncio", "FastAPI", "Flask", "threads", "Jupyter", "notebook"),
)
"""What users of other systems look for."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    ended = subprocess.run(  # noqa: S603 - our own sources
        [
            sys.executable,
            "-m",
            "sphinx",
            "--quiet",
            "--fail-on-warning",
            "--keep-going",
            "--jobs",
            "2",
            "docs",
            str(folder),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return folder


Search = Callable[[str], list[str]]


@contextmanager
def _searching(site: Path) -> Iterator[Page]:
    """Open the page of the site that searches, in a browser without a network."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=browser(), args=["--no-sandbox", "--disable-gpu"]
        )
        page = chromium.new_page()
        page.goto((site / "search.html").as_uri())
        page.wait_for_function("Search._index !== null")
        yield page
        chromium.close()


@pytest.fixture(scope="module")
def search(site: Path) -> Iterator[Search]:
    """Ask the search of the site: its pages for some words, best first, each once.

    The browser has a thread of its own: other tests may have one open in this one.
    """
    with ThreadPoolExecutor(max_workers=1) as thread:
        searching = _searching(site)
        page = thread.submit(searching.__enter__).result()

        def ask(words: str) -> list[str]:
            names: list[str] = thread.submit(page.evaluate, ASKED, words).result()
            return list(dict.fromkeys(names))

        yield ask
        thread.submit(searching.__exit__, None, None, None).result()


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.asked)
def test_a_new_user_finds_the_answer_in_two_tries(search: Search, question: Question) -> None:
    tries = [search(words)[:FIRST] for words in question.tries]
    assert any(set(each) & set(question.pages) for each in tries), tries


@pytest.mark.parametrize("word", WORDS)
def test_the_words_that_users_type_are_found(search: Search, word: str) -> None:
    assert search(word)


def test_what_is_not_there_is_not_found(search: Search) -> None:
    assert search("xylophone") == []


class References(HTMLParser):
    """What a page loads by itself: scripts, styles, images, and nothing that a reader may click on."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        key = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}.get(tag)
        self.loaded += [value for name, value in attrs if name == key and value]


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        reader = References()
        reader.feed(page.read_text(encoding="utf-8"))
        assert reader.loaded
        assert [each for each in reader.loaded if re.match(r"(https?:)?//", each)] == []
    for style in (site / "_static").rglob("*.css"):
        assert re.findall(r"url\(\s*['\"]?(?:https?:)?//", style.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "module",
    [
        concord,
        concord.asyncio,
        concord.sync,
        concord.constraints,
        concord.detect,
        concord.plugins,
        concord.testing,
    ],
    ids=lambda module: module.__name__,
)
def test_the_reference_has_every_public_name(site: Path, module: object) -> None:
    text = (site / "reference" / "api.html").read_text(encoding="utf-8")
    public: list[str] = getattr(module, "__all__")  # noqa: B009 - a module's, which `object` has not
    constants = {"ALONE", "MARK_LIMIT", "INTERFACE_VERSION", "PARTIALS_LIMIT"}
    aliases = {"Hops", "OrderingFactory", "Call", "Content", "Found", "Kind", "Scalar", "Subject", "Value"}
    assert [name for name in public if name not in constants | aliases and f'.{name}"' not in text] == []


def test_results_say_on_the_site_what_made_them(site: Path) -> None:
    assert "What made this page" in (site / "results" / "performance.html").read_text(encoding="utf-8")
