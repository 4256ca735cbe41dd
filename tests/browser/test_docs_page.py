"""The documentation page of an API in a browser: complete, navigable, and requests can be sent with a token."""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any
from urllib.request import urlopen

import pytest
from playwright.sync_api import Locator, Page, expect

from partita_systems import SYSTEMS
from tests.browser.conftest import Served, Visiting
from tests.browser.measures import LEAST_CONTRAST, TOO_WIDE
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow

every_system = pytest.mark.parametrize("system", SYSTEMS)
every_scheme = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])

OPEN_ALL = "document.querySelectorAll('details').forEach((each) => { each.open = true })"


def _described(served: Served, system: str) -> Iterator[tuple[str, str, str]]:
    """(id, method, path) of every operation."""
    with urlopen(f"{served.endpoint}/api/{system}/openapi.json", timeout=PATIENCE) as reply:  # noqa: S310 - our own server
        paths: dict[str, dict[str, Any]] = json.load(reply)["paths"]
    for path, methods in paths.items():
        for method, operation in methods.items():
            yield operation["operationId"], method.upper(), path


def _operation(page: Page, name: str) -> Locator:
    return page.locator(f"details#{name}")


@every_system
def test_page_has_every_operation_and_loads_nothing_from_elsewhere(
    served: Served, visit: Visiting, system: str
) -> None:
    seen = visit(served.docs(system))
    assert sorted(_shown(seen.page)) == sorted(f"{method} {path}" for _, method, path in _described(served, system))
    seen.page.evaluate(OPEN_ALL)
    assert _levels_are_a_tree(seen.page)
    assert seen.fetched == [served.docs(system)]
    assert seen.complaints == []


def _shown(page: Page) -> list[str]:
    """Method and path of every visible operation."""
    texts = "all => all.filter((each) => each.checkVisibility()).map((each) => each.textContent)"
    return [" ".join(text.split()) for text in page.locator(".operation > summary h3").evaluate_all(texts)]


def _levels_are_a_tree(page: Page) -> bool:
    """Whether there is one h1, and no heading skips a level."""
    levels = page.locator("h1, h2, h3, h4").evaluate_all("all => all.map((each) => Number(each.tagName[1]))")
    return levels.index(1) == 0 and levels.count(1) == 1 and all(then - now <= 1 for now, then in pairwise(levels))


@every_system
def test_navigation_leads_to_every_operation(served: Served, visit: Visiting, system: str) -> None:
    page = visit(served.docs(system)).page
    names = [name for name, _, _ in _described(served, system)]
    links = page.locator("nav li a")
    assert sorted(links.evaluate_all("all => all.map((each) => each.getAttribute('href'))")) == sorted(
        f"#{name}" for name in names
    )
    for at in (0, len(names) // 2, len(names) - 1):
        link = links.nth(at)
        name = (link.get_attribute("href") or "").removeprefix("#")
        link.click()
        expect(_operation(page, name)).to_have_attribute("open", "")
        expect(_operation(page, name).locator("> summary")).to_be_in_viewport()
        page.wait_for_url(f"**/*#{name}")


def test_link_to_an_operation_opens_it_also_a_second_time(served: Served, visit: Visiting) -> None:
    page = visit(served.docs("nbhd", "finishBuild")).page
    operation = _operation(page, "finishBuild")
    expect(operation).to_have_attribute("open", "")
    expect(operation.locator("> summary")).to_be_in_viewport()
    operation.locator("> summary").click()
    expect(operation).not_to_have_attribute("open", "")
    page.locator("nav a[href='#finishBuild']").click()
    expect(operation).to_have_attribute("open", "")


def test_policy_blocks_requests_to_other_hosts(served: Served, visit: Visiting) -> None:
    seen = visit(served.docs("blog"))
    asked = "fetch('http://localhost:9/').then(() => 'asked', (error) => error.name)"
    with seen.page.expect_console_message(lambda said: "Content Security Policy" in said.text):
        assert seen.page.evaluate(asked) == "TypeError"
    assert "Content Security Policy" in seen.complaints[0]


@every_system
def test_page_fits_the_width_of_the_screen(served: Served, visit: Visiting, system: str) -> None:
    page = visit(served.docs(system), width=390).page
    assert page.evaluate(TOO_WIDE) == []
    page.evaluate(OPEN_ALL)
    for width in (320, 390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(TOO_WIDE) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@every_scheme
def test_every_text_has_enough_contrast(served: Served, visit: Visiting, *, dark: bool) -> None:
    page = visit(served.docs("perfectit"), dark=dark).page
    page.evaluate(OPEN_ALL)
    assert page.evaluate(LEAST_CONTRAST) >= 4.5


def test_page_can_be_used_with_the_keyboard(served: Served, visit: Visiting) -> None:
    page = visit(served.docs("checks")).page
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the operations")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/*#the-operations")
    page.keyboard.press("Tab")
    first = page.locator(".operation").first
    expect(first.locator("> summary")).to_be_focused()
    page.keyboard.press("Enter")
    expect(first).to_have_attribute("open", "")


def test_filter_shows_the_operations_with_every_word(served: Served, visit: Visiting) -> None:
    page = visit(served.docs("blog")).page
    filter_ = page.get_by_label("Filter operations")
    filter_.fill("delete UNBOOKMARK")
    assert _shown(page) == ["DELETE /api/blog/users/{userId}/bookmarks/{postId}"]
    assert page.locator("nav li:visible").count() == 1
    assert page.locator("h2:visible").all_text_contents() == ["users"]
    filter_.fill("zebra")
    expect(page.get_by_text("No operation matches the filter")).to_be_visible()
    filter_.fill("")
    assert len(_shown(page)) == page.locator(".operation").count()


def _send(page: Page, name: str, values: Mapping[str, str] = {}) -> tuple[str, str]:
    """Presses the button; returns the status and the text of the reply."""
    operation = _operation(page, name)
    if operation.get_attribute("open") is None:
        operation.locator("> summary").click()
    for field, value in values.items():
        operation.get_by_label(field, exact=True).fill(value)
    operation.get_by_role("button", name="Send").click()
    status = operation.get_by_role("status")
    expect(status).to_have_text(re.compile(r"^\d{3} .* ms$|^No response"))
    return status.inner_text(), operation.locator(".reply pre").text_content() or ""


def test_list_can_be_requested(served: Served, visit: Visiting) -> None:
    seen = visit(served.docs("perfectit"))
    status, text = _send(seen.page, "listTopVoted", {"limit": "2"})
    assert status.startswith("200 ")
    assert text.startswith("ETag: ")
    assert len(json.loads(text.partition("\n\n")[2])["items"]) == 2
    assert seen.fetched[-1] == f"{served.endpoint}/api/perfectit/cards/top?limit=2"


def test_token_shows_its_user_and_stays_after_a_reload(served: Served, visit: Visiting) -> None:
    page = visit(served.docs("perfectit")).page
    days = {"since": "2025-01-01", "until": "2030-01-01"}
    assert _send(page, "listMetricsBetween", days)[0].startswith("401 ")
    page.get_by_label("Bearer token for the requests below").fill(served.token("제나", "admin"))
    expect(page.get_by_text("Token of 제나, valid until")).to_be_visible()
    assert _send(page, "listMetricsBetween", days)[0].startswith("200 ")
    page.reload()
    assert _send(page, "listMetricsBetween", days)[0].startswith("200 ")
    page.get_by_label("Bearer token for the requests below").fill("nonsense")
    expect(page.get_by_text("This is not a JSON Web Token.")).to_be_visible()


def test_korean_example_is_accepted_unchanged(served: Served, visit: Visiting) -> None:
    page = visit(served.docs("eecar", "offerPart")).page
    page.get_by_label("Bearer token for the requests below").fill(served.token("seller"))
    status, text = _send(page, "offerPart")
    assert status.startswith("201 ")
    head, _, body = text.partition("\n\n")
    made = json.loads(body)
    assert made["name"] == "배터리 모듈"
    assert f"Location: /api/eecar/parts/{made['partId']}" in head
    assert json.loads(_send(page, "getPart", {"partId": made["partId"]})[1].partition("\n\n")[2]) == made


def test_portuguese_example_is_accepted_and_an_outdated_etag_is_rejected(served: Served, visit: Visiting) -> None:
    page = visit(served.docs("blog", "register")).page
    page.get_by_label("Bearer token for the requests below").fill(served.token("conceição"))
    status, text = _send(page, "register")
    assert status.startswith("201 ")
    assert "Conceição Araújo" in text
    assert "conceição" in text
    status, text = _send(page, "changeProfile", {"userId": "conceição", "If-Match": '"older"'})
    assert status.startswith("412 ")
    assert json.loads(text)["type"] == "urn:partita:problem:precondition-failed"
    status, text = _send(page, "removeUser", {"userId": "conceição"})
    assert (status[:4], text) == ("204 ", "")


def test_missing_path_parameter_is_reported_before_a_request(served: Served, visit: Visiting) -> None:
    seen = visit(served.docs("checks", "getCheck"))
    operation = _operation(seen.page, "getCheck")
    operation.get_by_role("button", name="Send").click()
    expect(operation.get_by_label("checkId")).to_be_focused()
    assert seen.fetched == [served.docs("checks")]


def test_unreachable_server_is_reported(served: Served, visit: Visiting) -> None:
    page = visit(served.docs("perfectit")).page
    page.route("**/cards/top*", lambda route: route.abort())
    assert _send(page, "listTopVoted")[0].startswith("No response: ")


def test_curl_command_sends_the_same_request(served: Served, visit: Visiting) -> None:
    page = visit(served.docs("blog", "register")).page
    token = served.token("o'brien")
    page.get_by_label("Bearer token for the requests below").fill(token)
    operation = _operation(page, "register")
    operation.get_by_label("Request body").fill('{"name": "Seán O\'Brien", "bio": "não"}')
    operation.get_by_role("button", name="Show curl command").click()
    line = operation.locator(".reply pre").text_content() or ""
    assert token not in line
    done = subprocess.run(
        ["sh", "-ec", line.replace("curl -i", "curl -sS")],
        env=os.environ | {"TOKEN": token},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert json.loads(done.stdout)["name"] == "Seán O'Brien"


def test_page_can_be_read_without_scripts(served: Served, visit: Visiting) -> None:
    page = visit(served.docs("nbhd"), scripts=False).page
    first = _operation(page, "register")
    first.locator("> summary").click()
    expect(first.get_by_text("Request body")).to_be_visible()
    assert page.locator("input:visible, button:visible, select:visible").count() == 0


def test_ids_of_demo_data_are_filled_in_and_the_reply_is_marked_as_live(served: Served, visit: Visiting) -> None:
    page = visit(served.docs("perfectit", "getCard")).page
    operation = _operation(page, "getCard")
    assert operation.get_by_label("cardId").input_value().startswith("c_")
    operation.get_by_role("button", name="Send").click()
    expect(operation.get_by_role("heading", name="Live response")).to_be_visible()
    expect(operation.get_by_role("status")).to_have_text(re.compile("^200 "))
    expect(operation.get_by_role("heading", name=re.compile("^Example response: 200"))).to_be_visible()


def test_demo_token_is_filled_in_on_demand(served: Served, visit: Visiting) -> None:
    page = visit(served.docs("perfectit", "getMe")).page
    operation = _operation(page, "getMe")
    operation.get_by_role("button", name="Send").click()
    expect(operation.get_by_role("status")).to_have_text(re.compile("^401 "))
    page.get_by_role("button", name="Use the demo token").click()
    expect(page.locator("#the-whose")).to_have_text(re.compile("^Token of "))
    operation.get_by_role("button", name="Send").click()
    expect(operation.get_by_role("status")).to_have_text(re.compile("^200 "))
