import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

import pytest
from attrs import define, field, frozen
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

from tests.harness.report.browser import browser as chromium
from tests.sources import ROOT

QUIET: Final = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
ENDING_TIMEOUT_S: Final = 20
WAITING_TIMEOUT_MS: Final = 45_000
"""Before the time of the test is over: the browser says what it waits for."""


@frozen(eq=False)
class Demo:
    """A demo that runs, in a process of its own."""

    process: "subprocess.Popen[str]"
    address: str

    def end(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(ENDING_TIMEOUT_S)


@define(eq=False, slots=False)
class Visitor:
    """Opens pages, and keeps what should not have happened on them."""

    browser: Browser
    complaints: list[str] = field(factory=list)
    addresses: set[str] = field(factory=set)

    def open(self, demo: Demo) -> Page:
        page = self.browser.new_page()
        page.set_default_timeout(WAITING_TIMEOUT_MS)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._request)
        page.goto(demo.address)
        page.wait_for_function("() => window.concord && window.concord.frame")
        return page

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def _request(self, request: Request) -> None:
        self.addresses.add(request.url)


@contextmanager
def running(*arguments: str) -> Iterator[Demo]:
    command = [sys.executable, "-m", "broker", "demo", *arguments, "--port", "0"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:  # noqa: S603 - our own program
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("open http://127.0.0.1:")
            yield Demo(process, line.split()[1])
        finally:
            if process.poll() is None:
                process.terminate()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Visitor]:
    context = browser.new_context()
    visitor = Visitor(browser)
    yield visitor
    for page in [page for context in browser.contexts for page in context.pages]:
        page.close()
    context.close()


@pytest.fixture(scope="module")
def demos() -> Iterator[ExitStack]:
    """Demos that several tests of a module look at."""
    with ExitStack() as stack:
        yield stack
