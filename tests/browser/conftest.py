"""A browser, a server with demo data, and a page that records its requests and console messages."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from partita.cli.token import issuer_beside
from tests.browser.chromium import launched
from tests.peers import Unavailable, started
from tests.timing import PATIENCE

PARTITA = Path(sys.executable).with_name("partita")

expect.set_options(timeout=PATIENCE * 1000)  # contexts have a timeout of their own


class Served(NamedTuple):
    """A server of all five systems, and its database file."""

    endpoint: str
    file: Path

    def token(self, subject: str, *groups: str) -> str:
        return issuer_beside(str(self.file)).token(subject, groups)

    def docs(self, system: str, operation: str = "") -> str:
        return f"{self.endpoint}/api/{system}/docs{operation and '#'}{operation}"


class Visit(NamedTuple):
    """A page, the addresses that it requested, and the messages in its console."""

    page: Page
    fetched: list[str]
    complaints: list[str]


Visiting = Callable[..., Visit]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for each module: other modules run event loops of their own."""
    try:
        with launched() as browser:
            yield browser
    except Unavailable as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def served(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Depends on the browser, so that no server is started without one."""
    file = tmp_path_factory.mktemp("served") / "demo.db"
    with started(lambda port: [PARTITA, "serve", "--port", str(port), "--on", file, "--scale", "0.1"]) as running:
        yield Served(running.endpoint, file)


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visiting]:
    """`visit(address, width=390, dark=True, scripts=False)`: a page in a new browser context."""
    contexts: list[BrowserContext] = []

    def visited(address: str, *, width: int = 1280, dark: bool = False, scripts: bool = True) -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
        )
        contexts.append(context)
        context.set_default_timeout(PATIENCE * 1000)
        seen = Visit(context.new_page(), [], [])
        seen.page.on("request", lambda request: seen.fetched.append(request.url))
        seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        seen.page.on(
            "console",
            lambda said: seen.complaints.append(said.text) if said.type in ("error", "warning") else None,
        )
        seen.page.goto(address)
        return seen

    yield visited
    for context in contexts:
        context.close()
