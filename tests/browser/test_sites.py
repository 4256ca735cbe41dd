"""Sites of nbhd.city in a browser: readable on every screen, and without any way out of their page."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Error

from partita import Store, connect
from partita_systems.nbhd import design as d
from partita_systems.nbhd.building.build import packed
from partita_systems.nbhd.site_files import build_key
from tests.browser.conftest import Served, Visiting
from tests.browser.measures import LEAST_CONTRAST, TOO_WIDE
from tests.peers import wait_until

pytestmark = pytest.mark.slow

HOSTILE = b"""<!doctype html><title>calm</title><h1>Hello</h1>
<script>document.title = 'script'</script><img src=x onerror="document.title = 'handler'">
<style>h1 { color: rgb(1, 2, 3) }</style><iframe src="/api/nbhd/docs"></iframe>
<form action="/api/nbhd/users" method=post><button>Send</button></form>
<a href="javascript:document.title = 'link'">Click</a>"""


@pytest.fixture(scope="module")
def db(served: Served) -> Iterator[Store]:
    with connect(served.file, d.design) as store:
        yield store


@pytest.fixture(scope="module")
def sites(db: Store) -> list[d.Site]:
    """The published sites, once the builder of the server has built them."""

    def built() -> list[d.Site]:
        found = [each for each in db.scan(d.Site) if each.shelf == d.Shelf.SITE]
        return [each for each in found if each.status == d.SiteStatus.PUBLISHED]

    wait_until(lambda: len(built()) >= 2)
    return built()


def at(served: Served, site: d.Site) -> str:
    return served.endpoint.replace("127.0.0.1", f"{site.subdomain}.localhost")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_site_is_readable_on_every_screen(
    served: Served, sites: list[d.Site], visit: Visiting, *, dark: bool
) -> None:
    seen = visit(f"{at(served, sites[0])}/", dark=dark)
    assert seen.page.title() == sites[0].title
    assert seen.page.evaluate(LEAST_CONTRAST) >= 4.5
    for width in (320, 390, 1280):
        seen.page.set_viewport_size({"width": width, "height": 900})
        assert seen.page.evaluate(TOO_WIDE) == []
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.complaints == []
    assert all(each.startswith(at(served, sites[0])) for each in seen.fetched)


def test_a_post_opens_and_leads_back(served: Served, sites: list[d.Site], visit: Visiting) -> None:
    for here in (at(served, sites[0]), f"{served.endpoint}/sites/{sites[0].subdomain}"):
        page = visit(f"{here}/").page
        page.locator("main a").first.click()
        page.wait_for_load_state()
        assert "/posts/" in page.url
        assert page.evaluate("getComputedStyle(document.body).display") == "flex"  # the style sheet was loaded
        page.get_by_role("link", name="←").click()
        assert page.url.endswith("/index.html")


def test_a_page_of_a_stranger_runs_nothing_and_has_no_origin(
    served: Served, db: Store, sites: list[d.Site], visit: Visiting
) -> None:
    """The builder writes no such page; if one got there all the same, it could still do nothing."""
    site = sites[1]
    assert site.build_id is not None
    objects = Path(os.environ["XDG_DATA_HOME"], "partita", "nbhd", db.one(d.object_space()).space)
    (objects / build_key(site.site_id, site.build_id)).write_bytes(packed({"index.html": HOSTILE}))
    page = visit(f"{served.endpoint}/sites/{site.subdomain}/").page
    page.get_by_role("link").click()
    page.get_by_role("button").click()
    assert page.title() == "calm"
    assert page.url.endswith(f"/sites/{site.subdomain}/")
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") != "rgb(1, 2, 3)"
    assert page.evaluate("self.origin") == "null"
    with pytest.raises(Error, match="sandboxed"):
        page.evaluate("localStorage.length")
    assert page.evaluate("fetch('/api/nbhd/templates').then(() => 'sent', () => 'blocked')") == "blocked"
