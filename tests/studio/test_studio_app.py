"""The shell: who may see a page, what a page may load, and what an error looks like."""

from urllib.parse import unquote

import pytest
from msgspec.structs import replace

from partita import ConfigurationError
from partita.studio.sessions import MAX_SESSIONS, Sessions
from partita.studio.site import ROUTES
from partita.studio.studio_app import StudioApplication
from partita.studio.write_policy import DataPlace
from tests.studio.browser_client import ORIGIN, TOKEN, StudioClient, signed_in

PAGES = [
    each.path.replace("{design}", "shop") for each in ROUTES if each.method == "GET" and "{pattern}" not in each.path
]


@pytest.mark.parametrize("path", ["", "/shop", "/shop/items", "/nothing"])
def test_page_without_a_session_asks_for_the_token(studio: StudioApplication, path: str) -> None:
    stranger = StudioClient(studio, {})
    reply = stranger.get(f"/studio{path}")
    assert reply.status == 401
    assert "Open the studio" in reply.text
    assert "shop" not in reply.text
    assert stranger.get(f"/studio{path}", {"accept": "application/json"}).json["status"] == 401


def test_wrong_token_and_wrong_cookie_are_rejected(studio: StudioApplication) -> None:
    stranger = StudioClient(studio, {})
    assert stranger.get("/studio", token="wrong").status == 401
    assert stranger.get("/studio/shop", {"cookie": "partita-studio-8001=wrong"}).status == 401
    assert stranger.get("/studio/shop", {"cookie": '\x80"=;;=;'}).status == 401
    assert stranger.get("/studio/shop", {"authorization": "Bearer wrong"}).status == 401


def test_token_opens_a_session_and_leaves_the_address(studio: StudioApplication) -> None:
    reply = StudioClient(studio, {}).get("/studio/shop/items", token=TOKEN, entity="Order")
    assert reply.status == 303
    assert reply.headers["location"] == "/studio/shop/items?entity=Order"
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Path=/studio" in cookie
    assert signed_in(studio).get("/studio/shop").status == 200


@pytest.mark.parametrize("path", ["shop/a%0D%0ASet-Cookie:x=1", "%ED%95%9C", "%25%3F%23", "a%20b"])
def test_address_with_a_token_leads_to_the_same_page(studio: StudioApplication, path: str) -> None:
    reply = StudioClient(studio, {}).get(f"/studio/{path}", token=TOKEN)
    assert (reply.status, unquote(reply.headers["location"])) == (303, unquote(f"/studio/{path}"))
    assert set(reply.headers["location"]) <= set(map(chr, range(33, 127)))


def test_sessions_are_bounded() -> None:
    sessions = Sessions()
    values = [sessions.start()[0] for _ in range(MAX_SESSIONS + 1)]
    assert sessions.find(values[0]) is None
    assert sessions.find(values[-1]) is not None


def test_short_token_is_rejected() -> None:
    with pytest.raises(ConfigurationError, match="at least 16"):
        Sessions("short")


@pytest.mark.parametrize("path", PAGES)
def test_every_response_forbids_inline_code_and_other_hosts(client: StudioClient, path: str) -> None:
    if path.endswith(("/events", "/lines")):
        return
    reply = client.get(f"/studio{path}")
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert " style=" not in reply.text
    assert " onclick" not in reply.text
    assert "http://" not in reply.text.replace("http://127.0.0.1:8000", "").replace("http://www.w3.org/2000/svg", "")


def test_form_of_another_origin_or_session_is_rejected(studio: StudioApplication) -> None:
    browser = signed_in(studio)
    token = browser.get("/studio/shop/new", entity="Customer").form_token
    fields = {"form_token": token, "edits": "1"}
    assert browser.post("/studio/shop/discard", {"origin": ORIGIN}, **fields).status == 303
    assert browser.post("/studio/shop/discard", {"origin": "http://127.0.0.1:3000"}, **fields).status == 403
    assert browser.post("/studio/shop/discard", {"origin": "null"}, **fields).status == 403
    assert browser.post("/studio/shop/discard", **fields).status == 403
    assert browser.post("/studio/shop/discard", {"origin": ORIGIN}, form_token="wrong").status == 403
    assert signed_in(studio).post("/studio/shop/discard", {"origin": ORIGIN}, **fields).status == 403


@pytest.mark.parametrize("body", [b"\xff\xfe", b"[1]", b"{", b"a=" + b"b" * (9 * 1024 * 1024)])
def test_malformed_body_is_an_error_page(client: StudioClient, body: bytes) -> None:
    reply = client.send("POST", "/studio/shop/commit", body, {"content-type": "application/json"})
    assert reply.status in (400, 413)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/studio/nothing", 404),
        ("/studio/shop/nothing", 404),
        ("/studio/shop/patterns/nothing", 404),
        ("/studio/shop/items?table=nothing", 404),
        ("/studio/shop/items?index=nothing", 404),
        ("/studio/shop/items?entity=nothing", 404),
        ("/studio/shop/items?size=0", 422),
        ("/studio/shop/items?size=x", 422),
        ("/studio/shop/items?start=x", 422),
        ("/studio/shop/items?sort_op=x", 422),
        ("/studio/shop/items?f0=a&f0op=x", 422),
        ("/studio/shop/items?f0=a&f0type=N&f0value=x", 422),
        ("/studio/shop/items?start=%7B%22PK%22%3A%7B%22S%22%3A%22x%22%7D%7D", 422),
        ("/studio/shop/item", 422),
        ("/studio/shop/item?key=%7B%7D", 422),
        ("/studio/shop/item?key=%7B%22PK%22%3A%7B%22S%22%3A%22x%22%7D%2C%22SK%22%3A%7B%22S%22%3A%22x%22%7D%7D", 404),
        ("/studio/shop/item?key=%7B%22PK%22%3A%7B%22X%22%3A%22x%22%7D%2C%22SK%22%3A%7B%7D%7D", 422),
        ("/studio/shop/edit?key=%7B%22PK%22%3A%7B%22S%22%3A%22x%22%7D%2C%22SK%22%3A%7B%22S%22%3A%22x%22%7D%7D", 404),
        ("/studio/shop/new?entity=nothing", 404),
        ("/studio/shop/partiql?statement=SELECT+*+FROM+nothing", 422),
    ],
)
def test_malformed_request_is_an_error_page_and_never_a_500(client: StudioClient, path: str, status: int) -> None:
    reply = client.get(path)
    assert reply.status == status
    assert "Traceback" not in reply.text
    as_json = client.get(path.replace("?", ".json?") if "?" in path else f"{path}.json")
    assert as_json.status == status
    assert as_json.headers["content-type"] == "application/json"


def test_unexpected_error_is_logged_and_not_shown(
    client: StudioClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("partita.studio.overview.about_of", lambda model: model.nothing)
    reply = client.get("/studio/shop")
    assert reply.status == 500
    assert "AttributeError" not in reply.text
    assert "AttributeError" in caplog.text


def test_static_files_are_named_by_their_content(client: StudioClient) -> None:
    page = client.get("/studio/shop").text
    address = page.partition('href="/studio/static/studio.css')[2].partition('"')[0]
    reply = StudioClient(client.application, {}).get(f"/studio/static/studio.css{address}")
    assert reply.status == 200
    assert "immutable" in reply.headers["cache-control"]
    assert client.get("/studio/static/studio.css").headers["cache-control"] == "no-cache"
    assert client.get("/studio/static/../studio_app.py").status == 404


def test_theme_cookie_is_part_of_the_page(client: StudioClient) -> None:
    assert 'data-theme="dark"' in client.get("/studio/shop", {"cookie": "partita-theme=dark"}).text
    assert 'data-theme="x' not in client.get("/studio/shop", {"cookie": "partita-theme=x"}).text


def test_one_design_is_opened_at_once_and_several_are_listed(studio: StudioApplication) -> None:
    assert StudioClient(studio).get("/studio").headers["location"] == "/studio/shop"
    other = replace(studio.designs["shop"], name="other")
    several = StudioApplication({**studio.designs, "other": other}, DataPlace("memory:"), TOKEN)
    assert [each["name"] for each in StudioClient(several).view("/studio/")["designs"]] == ["shop", "other"]
    assert "4 access patterns" in StudioClient(several).get("/studio").text


def test_overview_lists_tables_entities_and_patterns(client: StudioClient) -> None:
    view = client.view("/studio/shop")
    assert view["tables"][0]["items"] == 5  # a customer, its guard, three orders
    assert {each["name"]: each["sort_key"] for each in view["entities"]} == {
        "Customer": "PROFILE",
        "Order": "ORDER#{placed_at}#{order_id}",
    }
    assert "orders_with" in client.get("/studio/shop").text


def _fetched_from(site: str, mode: str, dest: str) -> dict[str, str]:
    return {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest}


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_page_of_another_origin_can_lead_here_but_not_spend_capacity(studio: StudioApplication, site: str) -> None:
    browser = signed_in(studio)
    followed = _fetched_from(site, "navigate", "document")
    run = "/studio/shop/patterns/customer?arg.customer_id=c1&run=1"
    assert browser.get(run, followed).status == 200  # a link in a chat
    for how in (("no-cors", "image"), ("cors", "empty"), ("navigate", "iframe"), ("no-cors", "script")):
        assert browser.get(run, _fetched_from(site, *how)).status == 403
        assert browser.get("/studio/shop/export/lines", _fetched_from(site, *how)).status == 403
    for path in ("/studio/shop/export/lines", "/studio/shop/health?check=doctor", "/studio/shop/health?check=plan"):
        assert browser.get(path, followed).status == 403
        assert browser.get(path, _fetched_from("same-origin", "navigate", "document")).status == 200
        assert browser.get(path, _fetched_from("none", "navigate", "document")).status == 200
    assert browser.get("/studio/shop/health", followed).status == 200


def test_head_reads_no_further_than_the_head(studio: StudioApplication, client: StudioClient) -> None:
    for path in ("/studio/shop/export/lines", "/studio/shop/stream/events"):
        reply = client.send("HEAD", path, b"", {})
        assert (reply.status, reply.text) == (200, "")
