"""Looks at a page in a real browser, without a window."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import attrs
from playwright.sync_api import Page, sync_playwright

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_OPTIONS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
)

_VISIBLE: Final = (
    "[...document.querySelectorAll('svg.chart')].filter(e => e.getBoundingClientRect().width > 0)"
)
_LETTERS: Final = f"""Math.min(...{_VISIBLE}.map(e =>
    parseFloat(getComputedStyle(e.querySelector('text')).fontSize)
    * e.getBoundingClientRect().width / e.viewBox.baseVal.width))"""


@attrs.frozen
class Seen:
    """What a reader of the page gets to see."""

    width: int
    content_width: int
    complaints: list[str]
    requests: list[str]
    figures: int
    visible_charts: int
    smallest_letters_px: float
    background: str
    links: list[str]


def browser() -> str:
    """Where Chromium is; says what to install where there is none."""
    named = os.environ.get("CHROMIUM")
    found = named or next(filter(None, map(shutil.which, NAMES)), None)
    assert found, (
        "these tests look at pages in Chromium, and there is none: install the system's package chromium, "
        "or set CHROMIUM to where it is"
    )
    return found


def look(path: Path, *, width: int, is_dark: bool) -> Seen:
    """Open a page from the disk, in a thread of its own: other tests may have a browser open in this one."""
    with ThreadPoolExecutor(max_workers=1) as threads:
        return threads.submit(_look, path, width, is_dark).result()


def _look(path: Path, width: int, is_dark: bool) -> Seen:  # noqa: FBT001 - named where it is called from
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser(), args=list(_OPTIONS))
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if is_dark else "light"
        )
        page = context.new_page()
        complaints: list[str] = []
        requests: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        seen = _seen(page, width, complaints, [url for url in requests if not url.startswith("data:")])
        chromium.close()
    return seen


def _seen(page: Page, width: int, complaints: list[str], requests: list[str]) -> Seen:
    return Seen(
        width=width,
        content_width=page.evaluate("document.documentElement.scrollWidth"),
        complaints=complaints,
        requests=requests,
        figures=page.evaluate("document.querySelectorAll('figure').length"),
        visible_charts=page.evaluate(f"{_VISIBLE}.length"),
        smallest_letters_px=page.evaluate(_LETTERS),
        background=page.evaluate("getComputedStyle(document.body).backgroundColor"),
        links=page.evaluate("[...document.querySelectorAll('a')].map(e => e.getAttribute('href'))"),
    )
