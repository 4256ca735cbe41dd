"""The studio in a browser: every page, both themes, phone and desktop, the keyboard alone, and hostile data."""

import os
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from partita import Store, connect
from partita.cli.open_systems import open_system
from partita.cli.seed import seed_system
from partita.dynamodb.requests import PutItem
from partita.studio.site import ROUTES, matching_route, no_page
from partita_systems import SYSTEMS
from tests.browser.conftest import PARTITA, Visit, Visiting
from tests.peers import started
from tests.store import parts_design
from tests.studio import no_entities, reacting_cards
from tests.studio.shop import NOON, Address, Customer, customer, design, fill, order
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow

TOKEN = "a-token-of-the-browser-tests"
ROOT = Path(__file__).parent.parent.parent
IMAGES = ROOT / "docs" / "images"
HOSTILE = '"><img src=x onerror="alert(1)"><script>alert(2)</script>'
RIGHT_TO_LEFT = "مرحبا \u202e txt.exe"
HANGUL = "한국어 텍스트 가나다"
# Elements beyond the window, but those in parts that scroll by themselves.
TOO_WIDE = """
[...document.querySelectorAll('body, body *')]
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
  .filter((each) => !each.closest('.grid, .map, pre, .skip, .side ul, dialog'))
  .map((each) => each.outerHTML.slice(0, 120))
"""
AXE = """
async () => {
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
  const found = await axe.run(document, { runOnly: { type: 'tag', values: tags }, resultTypes: ['violations'] })
  const where = (each) => each.nodes.map((node) => `${node.target} ${node.html}`).slice(0, 3)
  return found.violations.map((each) => `${each.id}: ${where(each)}`)
}
"""
AXE_SOURCE = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
ORDER = '{"PK":{"S":"CUSTOMER#c1"},"SK":{"S":"ORDER#2025-05-01T12:00:00.000000Z#o0"}}'
LARGE = '{"PK":{"S":"LARGE"},"SK":{"S":"ITEM"}}'
PART = '{"PK":{"S":"PART#a"},"SK":{"S":"PART"}}'
NOTHING = '{"PK":{"S":"none"},"SK":{"S":"none"}}'


def _of(page: str, key: str, design: str = "shop", **more: str) -> str:
    return f"/studio/{design}/{page}?{urlencode({'table': design, 'key': key, **more})}"


PAGES = (
    "/studio",
    "/studio/shop",
    "/studio/shop/map?entity=Order",
    "/studio/eecar/map",
    "/studio/eecar/map?index=GSI1&table=eecar-parts-table",
    "/studio/shop/patterns",
    "/studio/shop/patterns/orders_of?arg.customer_id=c1&run=1&size=5",
    "/studio/parts/patterns/similar_parts?fill=1&run=1",
    "/studio/shop/items",
    "/studio/shop/items?pk0=CUSTOMER%23c1&f0=note&f0op=attribute_exists",
    _of("item", ORDER),
    _of("item", LARGE),
    _of("edit", ORDER),
    _of("delete", ORDER),
    _of("history", ORDER),
    "/studio/shop/new?entity=Order",
    "/studio/shop/staged",
    "/studio/shop/import",
    "/studio/shop/export",
    "/studio/eecar/vectors",
    _of("vectors", PART, "parts", index="ByMeaning"),
    "/studio/perfectit/text?text=wood",
    "/studio/cards/text?text=oak",
    "/studio/shop/search",
    "/studio/shop/partiql?statement=SELECT+*+FROM+shop",
    "/studio/shop/partiql?statement=DELETE+FROM+shop+WHERE+PK%3D%27a%27+AND+SK%3D%27b%27",
    "/studio/shop/stream",
    "/studio/shop/health?check=doctor",
    "/studio/cards/health",
    "/studio/empty",
    "/studio/empty/map",
    "/studio/empty/patterns",
    "/studio/empty/items",
)
WRONG = (
    "/studio/shop/nothing",
    "/studio/nothing",
    _of("item", NOTHING),
    "/studio/shop/items?sk0=ORDER",
    "/studio/shop/patterns/order?run=1&arg.placed_at=x",
    "/studio/shop/partiql?statement=SELECT",
    "/studio/cards/text?text=oak&equal.level=x",
)
VIEWS = ((360, "dark", True), (1440, "light", True), (1920, "dark", False))
"""Width and theme, and whether axe looks at them: what it checks depends on the theme, and little on the width."""


class ServedStudio(NamedTuple):
    """A studio of the shop, three systems and three small designs, and its database file."""

    endpoint: str
    file: Path

    def at(self, path: str) -> str:
        return f"{self.endpoint}{path}{'&' if '?' in path else '?'}token={TOKEN}"


@pytest.fixture(scope="module")
def studio(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedStudio]:
    file = tmp_path_factory.mktemp("studio") / "shop.db"
    with connect(file) as backend:
        fill(Store(backend, design), 12)
        _add_hostile_items(Store(backend, design))
        blog = open_system(backend, SYSTEMS["blog"])
        seed_system(blog, 0.2, 1, lambda *_: None)
        open_system(backend, SYSTEMS["eecar"])
        open_system(backend, SYSTEMS["perfectit"])
        reacting_cards.fill(Store(backend, reacting_cards.design))
        Store(backend, no_entities.design).create_tables()
        parts = Store(backend, parts_design.design)
        parts.create_tables()
        parts.create(parts_design.Part(part_id="a", category="b", name=HOSTILE, embedding=[1.0, 0.0, 0.0, 0.0]))
    environment = {"PARTITA_STUDIO_TOKEN": TOKEN, "PYTHONPATH": str(ROOT)}
    command: list[str | Path] = [
        "env",
        "-C",
        file.parent,
        PARTITA,
        "studio",
        "tests.studio.shop",
        "blog",
        "eecar",
        "perfectit",
        "tests.studio.reacting_cards",
        "tests.studio.no_entities",
        "tests.store.parts_design",
        "--write",
    ]
    options = ["--on", file.name, "--port"]  # a relative path, which is shown
    with started(lambda port: [*command, *options, str(port)], answers=_is_healthy, environment=environment) as running:
        yield ServedStudio(running.endpoint, file)


def _is_healthy(endpoint: str) -> bool:
    with urlopen(f"{endpoint}/health", timeout=PATIENCE) as reply:  # noqa: S310 - our own server
        return bool(reply.status == 200)


def _add_hostile_items(db: Store) -> None:
    for number, text in enumerate((HOSTILE, RIGHT_TO_LEFT, HANGUL)):
        db.create(
            Customer(customer_id=f"h{number}", email=f"{number}{text}", name=text * 20, address=Address(text, text))
        )
    item = {"PK": {"S": "LARGE"}, "SK": {"S": "ITEM"}, "text": {"S": f"{HOSTILE} ".ljust(399_000, "x")}}
    db.backend.call(PutItem(table_name="shop", item=item))


def _answering(page: Page) -> list[str]:
    """Accepts every dialog of a page; returns the list of what they ask."""
    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.accept()

    page.on("dialog", answer)
    return asked


def _quiet(seen: Visit) -> list[str]:
    return [each for each in seen.complaints if "favicon" not in each]


def _looked_at(page: Page) -> list[str]:
    """What is wrong with a page, in each theme and on each screen."""
    found: list[str] = []
    page.evaluate(AXE_SOURCE)
    for width, theme, by_axe in VIEWS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        found += [f"too wide at {width}: {each}" for each in page.evaluate(TOO_WIDE)]
        found += [f"{theme} {each}" for each in page.evaluate(AXE)] if by_axe else []
    return found


def _make_a_key_hot(studio: ServedStudio) -> None:
    """Reads an item until the server has seen it: 64 of 4,096 requests are looked at, at random."""

    def read(path: str) -> bytes:
        request = Request(studio.endpoint + path, headers={"Authorization": f"Bearer {TOKEN}"})  # noqa: S310
        with urlopen(request, timeout=PATIENCE) as reply:  # noqa: S310 - our own server
            return bytes(reply.read())

    while b"CUSTOMER#c1" not in read("/studio/shop/health.json"):
        for _ in range(64):
            read(_of("item", ORDER))


def test_every_page_fits_loads_nothing_from_elsewhere_and_is_accessible(studio: ServedStudio, visit: Visiting) -> None:
    _make_a_key_hot(studio)
    seen = visit(studio.at("/studio"))
    dialogs = _answering(seen.page)
    wrong: dict[str, list[str]] = {}
    for path in PAGES:
        reply = seen.page.goto(studio.endpoint + path)
        assert reply is not None
        found = [f"status {reply.status}"] if reply.status != 200 else []
        wrong[path] = found + _looked_at(seen.page)
    assert {path: found for path, found in wrong.items() if found} == {}
    assert dialogs == []
    assert _quiet(seen) == []
    assert {each.split("/studio")[0] for each in seen.fetched} == {studio.endpoint}


def test_every_error_fits_and_is_accessible(studio: ServedStudio, visit: Visiting) -> None:
    seen = visit(f"{studio.endpoint}/studio?token=wrong")
    assert _looked_at(seen.page) == []
    expect(seen.page.get_by_role("alert")).to_have_text("This token is not valid.")
    seen.page.goto(studio.at("/studio"))
    wrong = {}
    for path in WRONG:
        reply = seen.page.goto(studio.endpoint + path)
        assert reply is not None
        wrong[path] = [reply.status // 100, seen.page.get_by_role("alert").count(), *_looked_at(seen.page)]
    assert wrong == {path: [4, 1] for path in WRONG}
    assert [each for each in _quiet(seen) if "the server responded with a status of 4" not in each] == []


def test_pages_of_these_tests_are_all_that_there_are() -> None:
    """Those that answer a GET with a page; the address of the search indexes leads to one of them."""
    found = [matching_route("GET", urlsplit(path).path.removeprefix("/studio")) for path in PAGES]
    pages = {each.path for each in ROUTES if each.method == "GET" and each.render is not no_page}
    assert {each[0].path for each in found if each is not None} == pages


def test_health_shows_hot_keys_dead_letters_and_jobs(studio: ServedStudio, visit: Visiting) -> None:
    _make_a_key_hot(studio)
    page = visit(studio.at("/studio/shop/health")).page
    expect(page.get_by_role("region", name="Most requested partition keys")).to_contain_text("CUSTOMER#c1")
    page.goto(f"{studio.endpoint}/studio/cards/health")
    letters = page.get_by_role("region", name="Dead letters of mails")
    expect(letters).to_contain_text(reacting_cards.HOSTILE)
    expect(page.get_by_role("region", name="Jobs")).to_contain_text("every(hours=1)")
    drops = letters.get_by_role("button", name="Drop")
    before = drops.count()
    questions = _answering(page)
    drops.first.click()
    expect(page.get_by_role("status").first).to_contain_text("forgotten")
    expect(drops).to_have_count(before - 1)
    assert questions == ["Forget this change for good?"]


def test_check_for_no_value_and_a_value_exclude_each_other(studio: ServedStudio, visit: Visiting) -> None:
    page = visit(studio.at(_of("edit", ORDER))).page
    box, text = page.get_by_label("no value for label"), page.locator("[name='field.label']")
    expect(text).to_have_value("AP8=")
    box.check()
    expect(text).to_have_value("")
    box.uncheck()
    expect(text).to_have_value("AP8=")
    box.check()
    text.fill("AAEC")
    expect(box).not_to_be_checked()


def test_keyboard_alone_leads_to_a_result(studio: ServedStudio, visit: Visiting) -> None:
    page = visit(studio.at("/studio/shop")).page
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_be_focused()
    page.keyboard.type("?")
    expect(page.locator("#shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.type("gp")
    page.wait_for_url("**/studio/shop/patterns")
    page.keyboard.press("/")
    page.keyboard.type("orders_w")
    expect(page.locator("#finder-list a").first).to_contain_text("orders_with")
    page.keyboard.press("Enter")
    page.wait_for_url("**/patterns/orders_with")
    page.locator("select[name='arg.status']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("h2", has_text="Results")).to_be_visible()
    assert "arg.status=OPEN" in page.url


def test_keys_can_be_switched_off(studio: ServedStudio, visit: Visiting) -> None:
    page = visit(studio.at("/studio/shop")).page
    page.get_by_role("button", name="Keys").click()
    page.get_by_label("Use these keys").uncheck()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("/")
    expect(page.locator("#finder")).to_be_hidden()


def test_theme_is_remembered(studio: ServedStudio, visit: Visiting) -> None:
    page = visit(studio.at("/studio/shop")).page
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Theme").click()
    chosen = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert chosen != before
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == chosen


def test_edit_is_staged_and_committed_after_a_question(studio: ServedStudio, visit: Visiting) -> None:
    page = visit(studio.at(_of("edit", ORDER))).page
    page.get_by_label("no value for note").uncheck()
    page.locator("[name='field.note']").fill(f"{HANGUL} {HOSTILE}")
    page.get_by_role("button", name="Stage the edit").click()
    page.wait_for_url("**/staged")
    expect(page.locator(".diff .new")).to_have_text(f"{HANGUL} {HOSTILE}")
    questions = _answering(page)
    page.get_by_role("button", name="Commit").click()
    expect(page.get_by_role("status").first).to_contain_text("Committed 1 edit.")
    assert questions == [f"Write 1 edit to {studio.file.name}?"]
    with connect(studio.file, design) as db:
        assert db.one(order("c1", NOON, "o0")).note == f"{HANGUL} {HOSTILE}"


def test_stream_shows_a_change_of_another_process(studio: ServedStudio, visit: Visiting) -> None:
    seen = visit(studio.at("/studio/shop/stream"))
    expect(seen.page.locator("#stream-state")).to_contain_text("Connected")
    with connect(studio.file, design) as db, db.change(customer("c1")) as draft:
        draft.name = "Ana " + HOSTILE
    expect(seen.page.locator("#stream-rows tr")).to_have_count(1)
    expect(seen.page.locator("#stream-rows")).to_contain_text("Customer")
    expect(seen.page.locator("#stream-keys")).to_contain_text("CUSTOMER#c1: 1")
    assert seen.complaints == []


def test_saved_query_leads_back_to_its_results(studio: ServedStudio, visit: Visiting) -> None:
    page = visit(studio.at("/studio/shop/patterns/orders_of?arg.customer_id=c1")).page
    page.on("dialog", lambda dialog: dialog.accept("mine <b>"))
    page.get_by_role("button", name="Save query").click()
    page.goto(f"{studio.endpoint}/studio/shop")
    page.get_by_role("link", name="mine <b>").click()
    expect(page.locator("h2", has_text="Results")).to_be_visible()


def test_pages_work_without_scripts(studio: ServedStudio, visit: Visiting) -> None:
    page = visit(studio.at("/studio/shop/patterns/orders_of?size=5"), scripts=False).page
    page.locator("[name='arg.customer_id']").fill("c1")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("h2", has_text="Results")).to_be_visible()
    page.get_by_role("link", name="Next page").click()
    expect(page.get_by_role("link", name="First page")).to_be_visible()


SHOTS = {
    "studio-map": ("/studio/blog/map?entity=Post", False),
    "studio-patterns": ("/studio/blog/patterns/thread?fill=1&run=1&size=8", False),
    "studio-items": ("/studio/blog/items", True),
    "studio-staged": ("/studio/shop/staged", False),
}


def test_screenshots_of_the_documentation(studio: ServedStudio, visit: Visiting) -> None:
    """`PARTITA_UPDATE=1` writes them."""
    page = visit(studio.at(_of("edit", ORDER))).page
    page.locator("[name='field.status']").select_option("SHIPPED")
    page.get_by_role("button", name="Stage the edit").click()
    for name, (path, dark) in SHOTS.items():
        page.emulate_media(color_scheme="dark" if dark else "light")
        page.set_viewport_size({"width": 1120, "height": 640})
        page.goto(studio.endpoint + path)
        taken = page.screenshot()
        assert taken.startswith(b"\x89PNG")
        if os.environ.get("PARTITA_UPDATE"):
            IMAGES.mkdir(exist_ok=True)
            (IMAGES / f"{name}.png").write_bytes(taken)
        assert (IMAGES / f"{name}.png").is_file()
