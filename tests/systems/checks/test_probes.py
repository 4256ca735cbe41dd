"""Checks are really run: against a small server of our own, with pages and hosts of every kind."""

import ipaddress
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from partita_systems.checks.design import Check, CheckType
from partita_systems.checks.fetching import Address, Fetcher, is_public
from partita_systems.checks.probes import Prober

OFFER = """<html><script type="application/ld+json">{"@type": "Product", "offers": {"@type": "Offer",
"price": "19.90", "availability": "https://schema.org/%s"}}</script></html>"""
paths: list[str] = []
hosts: list[str] = []
HOME = ipaddress.ip_address("127.0.0.1")


def at_home(address: Address) -> bool:
    return address == HOME


class Pages(BaseHTTPRequestHandler):
    released = threading.Event()

    def do_GET(self) -> None:
        paths.append(self.path)
        hosts.append(self.headers["Host"])
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path[4:] if "//" in self.path else "/page")
            self.end_headers()
            return
        if self.path == "/round":
            self.send_response(302)
            self.send_header("Location", "/round")
            self.end_headers()
            return
        if self.path == "/slow":
            self.released.wait(5)
        self.send_response(503 if self.path == "/broken" else 200)
        self.end_headers()
        try:
            self.wfile.write(_body(self.path))
        except OSError:
            return

    def log_message(self, *_: Any) -> None:
        """Untracked."""


def _body(path: str) -> bytes:
    if path == "/large":
        return b"x" * 5_000_000 + b"needle"
    if path.startswith("/offer"):
        return (OFFER % path.rpartition("/")[2]).encode()
    return "Willkommen, Example: café".encode()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        Pages.released.set()
        running.shutdown()
        thread.join()


def check(url: str, kind: CheckType = CheckType.AVAILABILITY, **attributes: Any) -> Check:
    now = datetime(2025, 1, 1, tzinfo=UTC)
    return Check(check_id="c", userid="u", url=url, check_type=kind, delay_ms=60_000, attributes=attributes, due_at=now)


@pytest.fixture
def probe() -> Prober:
    return Prober(Fetcher(allowed=at_home))


def test_a_page_that_answers_is_up_with_its_time(server: str, probe: Prober) -> None:
    outcome = probe(check(f"{server}/page"))
    assert outcome.status == "UP"
    assert outcome.response_time is not None
    assert outcome.keyword_found is None


def test_a_keyword_is_looked_for(server: str, probe: Prober) -> None:
    assert probe(check(f"{server}/page", keyword="café")).keyword_found is True
    missing = probe(check(f"{server}/page", keyword="absent"))
    assert (missing.status, missing.keyword_found) == ("DOWN", False)
    assert missing.reason == "'absent' is not on the page"


def test_an_error_status_is_down(server: str, probe: Prober) -> None:
    assert probe(check(f"{server}/broken")).reason == "HTTP status 503"


def test_a_redirect_is_followed(server: str, probe: Prober) -> None:
    assert probe(check(f"{server}/to/page", keyword="Example")).status == "UP"


def test_an_address_in_any_script_is_fetched_as_http_writes_it(server: str, probe: Prober) -> None:
    assert probe(check(f"{server}/상태?q=é", keyword="Example")).status == "UP"
    assert paths[-1] == "/%EC%83%81%ED%83%9C?q=%C3%A9"
    named = Prober(Fetcher(allowed=at_home, resolve=lambda host, port: ["127.0.0.1"]))
    outcome = named(check(server.replace("127.0.0.1", "한국.example")))
    assert outcome.status == "UP"
    assert hosts[-1].startswith("xn--3e0b707e.example:")


@pytest.mark.parametrize("location", ["http://[::1", "http://h:abc/", "ftp://h/"])
def test_a_redirect_to_no_address_is_down(server: str, probe: Prober, location: str) -> None:
    assert probe(check(f"{server}/to/{location}")).status == "DOWN"


def test_redirects_without_end_are_given_up(server: str, probe: Prober) -> None:
    assert probe(check(f"{server}/round")).reason == "more than 5 redirects"


def test_a_redirect_into_the_house_is_refused(server: str, probe: Prober) -> None:
    assert probe(check(f"{server}/to/http://127.0.0.2/")).reason == "127.0.0.2 is at an address that is not public"
    assert probe(check(f"{server}/to/http://localhost.localdomain.invalid/")).status == "DOWN"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_our_own_addresses_are_refused_unless_the_operator_allows_them(server: str, host: str) -> None:
    outcome = Prober()(check(server.replace("127.0.0.1", host)))
    assert outcome.status == "DOWN"
    assert outcome.reason is not None
    assert outcome.reason.endswith("is at an address that is not public")


@pytest.mark.parametrize(
    "address",
    ["10.0.0.1", "172.16.5.4", "192.168.1.1", "127.8.8.8", "169.254.169.254", "0.0.0.1", "224.0.0.1", "100.64.0.1",
     "::1", "fe80::1", "fc00::1", "::ffff:10.0.0.1", "ff02::1"],
)  # fmt: skip
def test_addresses_inside_are_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:220:1:248:1893:25c8:1946"])
def test_addresses_outside_are_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


def test_a_host_with_one_private_address_among_others_is_refused() -> None:
    fetcher = Fetcher(resolve=lambda host, port: ["93.184.215.14", "10.0.0.1"])
    assert Prober(fetcher)(check("http://two.example/")).reason == "two.example is at an address that is not public"


def test_a_host_is_resolved_once_for_judging_and_connecting(server: str) -> None:
    asked: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    outcome = Prober(Fetcher(allowed=at_home, resolve=resolve))(check(server.replace("127.0.0.1", "name.example")))
    assert outcome.status == "UP"
    assert asked == ["name.example"]


def test_a_body_is_read_no_further_than_its_bound(server: str, probe: Prober) -> None:
    assert probe(check(f"{server}/large", keyword="needle")).keyword_found is False


def test_a_host_that_does_not_answer_is_given_up(server: str) -> None:
    slow = Prober(Fetcher(allowed=at_home, seconds=0.05))
    assert slow(check(f"{server}/slow")).reason == "no answer within 0.05 seconds"


def test_nobody_listening_is_down(probe: Prober) -> None:
    outcome = probe(check("http://127.0.0.1:1/"))
    assert outcome.reason is not None
    assert outcome.reason.startswith("ConnectionRefusedError")


@pytest.mark.parametrize(
    ("path", "attributes", "status", "reason"),
    [
        ("/offer/InStock", {}, "UP", None),
        ("/offer/InStock", {"maxPrice": 20}, "UP", None),
        ("/offer/InStock", {"maxPrice": 15}, "DOWN", "the price is 19.90, above 15"),
        ("/offer/OutOfStock", {}, "DOWN", "not in stock"),
        ("/page", {}, "DOWN", "the page holds no offer"),
    ],
)
def test_a_listing_is_judged_by_its_offer(
    server: str, probe: Prober, path: str, attributes: dict[str, Any], status: str, reason: str | None
) -> None:
    outcome = probe(check(f"{server}{path}", CheckType.EBAY, **attributes))
    assert (outcome.status, outcome.reason) == (status, reason)
    assert outcome.price == (None if path == "/page" else "19.90")


def test_a_check_of_an_unknown_type_is_down_and_says_why(server: str, probe: Prober) -> None:
    assert probe(check(server, CheckType("FAX"))).reason == "Check.checkType: 'FAX' is none of AVAILABILITY, EBAY"
