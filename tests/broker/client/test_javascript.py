"""The JavaScript client: its own tests in Node, beside the Python client, and in pages of a browser."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final

import pytest
from attrs import define, field
from playwright.sync_api import Browser, Page, sync_playwright

from concord.sync import connect
from tests.broker.client.drawn import drawn
from tests.harness.report.browser import browser as chromium
from tests.sources import ROOT

PACKAGE: Final = ROOT / "clients" / "javascript"
NODE_TIMEOUT_S: Final = 50
DRAWN_COUNT: Final = 200
PAGE_TIMEOUT_MS: Final = 45_000

OPTIONS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--host-resolver-rules=MAP evil.example 127.0.0.1",
)

NO_NODE: Final = (
    "these tests run JavaScript in Node, and there is none: install the system's package nodejs (20 or newer)"
)

PLAY: Final = """async (address) => {
  const { connect } = await import("/concord-pubsub/index.js");
  const states = [];
  const client = await connect(address, { name: "page", onState: ({ state }) => states.push(state) });
  const deliveries = await client.subscribe("number > 0", { durable: "page", ack: "manual", maxOpen: 50 });
  const publisher = await client.advertise("number > 0");
  window.numbers = [];
  const reading = (async () => {
    for await (const delivery of deliveries) {
      if (delivery.attributes.isLast) break;
      window.numbers.push(delivery.attributes.number);
      delivery.ack();
    }
  })();
  window.done = (async () => {
    let number = 0;
    while (!window.isOver) {
      number += 1;
      await publisher.publish({ number }, { payload: "x".repeat(100), confirm: number % 20 === 0 });
    }
    await publisher.publish({ number: number + 1, isLast: true });
    await reading;
    await client.close();
    return [number, window.numbers, states];
  })();
}"""
"""A page that publishes until it `isOver`, and keeps what it got in `numbers`."""

CONNECT: Final = """async (address) => {
  const { connect } = await import("/concord-pubsub/index.js");
  try {
    const client = await connect(address, { name: "page" });
    await client.close();
    return "connected";
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
}"""


def node() -> str:
    found = shutil.which("node")
    assert found is not None, NO_NODE
    return found


def command(*words: str) -> list[str]:
    """A program of ours that ends with this process."""
    return [sys.executable, "-m", "harness.leash", *words]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT), "CONCORD_COMMAND": " ".join(command("broker"))}


def test_the_package_passes_its_own_tests() -> None:
    tests = sorted(map(str, (PACKAGE / "test").glob("*.test.js")))
    ran = subprocess.run(  # noqa: S603 - our own program
        [node(), "--test", *tests],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=NODE_TIMEOUT_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    assert re.search(r"^# fail 0$", ran.stdout, re.MULTILINE)


def test_its_machine_says_what_that_of_python_says(tmp_path: Path) -> None:
    dialogues = tmp_path / "dialogues.jsonl"
    dialogues.write_text(
        "".join(f"{json.dumps(drawn(seed))}\n" for seed in range(DRAWN_COUNT)), encoding="utf-8"
    )
    ran = subprocess.run(  # noqa: S603 - our own program
        [node(), PACKAGE / "test" / "perform.js", dialogues],
        capture_output=True,
        text=True,
        timeout=NODE_TIMEOUT_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


@define
class PageBroker:
    """A broker with a journal that listens for pages, and can be killed and started again."""

    journal: Path
    address: str = "127.0.0.1:0"
    pages: str = "127.0.0.1:0"
    _process: "subprocess.Popen[str]" = field(init=False)

    def start(self) -> None:
        listen = ("--listen", self.address, "--listen-ws", self.pages, "--journal", str(self.journal))
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            command("broker", "broker", "--name", "B1", *listen),
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        lines = [self._process.stdout.readline() for _ in range(2)]
        self.address, self.pages = (re.sub(r"^listening on (ws://)?", "", line).strip() for line in lines)

    def kill(self) -> None:
        with self._process:
            self._process.kill()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[PageBroker]:
    broker = PageBroker(tmp_path)
    broker.start()
    yield broker
    broker.kill()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(OPTIONS))
        yield browser
        browser.close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""


@define
class Site:
    """A web server on this machine for a folder, with the modules of the package in it."""

    folder: Path
    port: int


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "concord-pubsub").symlink_to(PACKAGE / "src")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder)) as server:
        Thread(target=server.serve_forever).start()
        yield Site(folder, server.server_port)
        server.shutdown()


def opened(browser: Browser, address: str) -> Page:
    page = browser.new_page()
    page.set_default_timeout(PAGE_TIMEOUT_MS)
    page.goto(address)
    return page


def test_a_page_loses_nothing_when_its_broker_is_killed(
    browser: Browser, broker: PageBroker, site: Site
) -> None:
    page = opened(browser, f"http://127.0.0.1:{site.port}/")
    page.evaluate(PLAY, f"ws://{broker.pages}")
    page.wait_for_function("window.numbers.length > 300")
    broker.kill()
    broker.start()
    page.evaluate("window.isOver = true")
    count, numbers, states = page.evaluate("window.done")
    assert numbers == list(range(1, count + 1))
    assert states == ["connected", "reconnecting", "connected"]
    page.close()


def test_a_page_of_another_site_is_refused(browser: Browser, broker: PageBroker, site: Site) -> None:
    page = opened(browser, f"http://evil.example:{site.port}/")
    said = page.evaluate(CONNECT, f"ws://{broker.pages}")
    assert said.startswith("ConnectionFailedError: cannot connect to ws://127.0.0.1")
    assert "the broker's log says why" in said
    said = page.evaluate(CONNECT, broker.address)
    assert f"give the broker's WebSocket, ws://{broker.address}" in said
    page.close()


def test_the_page_of_the_guide_shows_what_is_published(
    browser: Browser, broker: PageBroker, site: Site
) -> None:
    guide = (ROOT / "docs" / "how-to" / "browsers.md").read_text(encoding="utf-8")
    (page_text,) = re.findall(r"^```html\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    shown = f"<body>{page_text.replace('127.0.0.1:7413', broker.pages)}"
    (site.folder / "guide.html").write_text(shown, encoding="utf-8")
    with connect(broker.address) as client, client.advertise("price > 0") as publisher:
        publisher.publish({"symbol": "IBM", "price": 101.5}, confirm=True)
        page = opened(browser, f"http://127.0.0.1:{site.port}/guide.html")
        page.wait_for_selector("text=IBM 101.5")
        publisher.publish({"symbol": "SAP", "price": 202.5})
        page.wait_for_selector("text=SAP 202.5")
        assert page.title() == "connected"
        page.close()
