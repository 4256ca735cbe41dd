"""The installed Chromium: browsers that Playwright downloads are not pinned by the lock files."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from tests.peers import Unavailable
from tests.timing import PATIENCE

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",  # root cannot use the sandbox, and every page here is ours
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str:
    """The path of the first Chromium that is installed."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise Unavailable("chromium", f"none of {', '.join(NAMES)} is on the path")
    return found


@contextmanager
def launched() -> Iterator[Browser]:
    """A headless browser. While it is open, this thread cannot run another event loop."""
    path = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=PATIENCE * 1000)
        yield browser
        browser.close()
