"""The home page in a browser: links to every system, on every screen, without scripts or other hosts."""

import subprocess

import pytest
from playwright.sync_api import expect

from partita_systems import SYSTEMS
from tests.browser.conftest import Served, Visiting
from tests.browser.measures import LEAST_CONTRAST, TOO_WIDE
from tests.rest.test_serve import ENVIRONMENT
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow


def test_page_links_every_system_and_loads_nothing_from_elsewhere(served: Served, visit: Visiting) -> None:
    for name in SYSTEMS:
        api = SYSTEMS[name].api
        seen = visit(f"{served.endpoint}/", scripts=False)
        expect(seen.page.get_by_text(api.about)).to_be_visible()
        assert seen.fetched == [f"{served.endpoint}/"]
        seen.page.get_by_role("link", name=api.title, exact=True).click()
        expect(seen.page.get_by_role("heading", level=1)).to_have_text(api.title)
        assert seen.page.url == served.docs(name)
        assert seen.complaints == []


def test_aws_cli_command_on_the_page_works(served: Served, visit: Visiting) -> None:
    line = visit(f"{served.endpoint}/").page.locator("pre").inner_text()
    done = subprocess.run(
        ["sh", "-ec", line], env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert next(iter(SYSTEMS.values())).design.tables[0].name in done.stdout


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_page_is_readable_on_every_screen(served: Served, visit: Visiting, *, dark: bool) -> None:
    page = visit(f"{served.endpoint}/", dark=dark).page
    assert page.evaluate(LEAST_CONTRAST) >= 4.5
    for width in (320, 390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(TOO_WIDE) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_post_to_the_home_page_is_dynamodbs_protocol(served: Served, visit: Visiting) -> None:
    page = visit(f"{served.endpoint}/").page
    reply = page.request.post(f"{served.endpoint}/", headers={"accept": "text/html"}, data="{}")
    assert reply.headers["content-type"] == "application/x-amz-json-1.0"


def test_keyboard_leads_to_the_first_system(served: Served, visit: Visiting) -> None:
    page = visit(f"{served.endpoint}/").page
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name=next(iter(SYSTEMS.values())).api.title, exact=True)).to_be_focused()
