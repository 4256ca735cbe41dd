"""Probes against a local HTTP server: pages, redirects, limits, and addresses that are not public."""

import ipaddress
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from partita import ConfigurationError
from partita_systems.checks.design import Check, CheckType
from partita_systems.checks.fetching import Address, Fetcher, is_public
from partita_systems.checks.probes import Prober
from tests.timing import PATIENCE

OFFER = """<html><script type="application/ld+json">{"@type": "Product", "offers": {"@type": "Offer",
"price": "19.90", "availability": "https://schema.org/%s"}}</script></html>"""
paths: list[str] = []
hosts: list[str] = []
LOCAL = ipaddress.ip_address("127.0.0.1")


def is_local(address: Address) -> bool:
    return address == LOCAL


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
            self.released.wait(PATIENCE)
        self.send_response(503 if self.path == "/broken" else 200)
        self.end_headers()
        try:
            self.wfile.write(_body(self.path))
        except OSError:
            return

    def log_message(self, *_: Any) -> None:
        """No log."""


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
    return Check(
        check_id="c", user_id="u", url=url, check_type=kind, delay_ms=60_000, attributes=attributes, due_at=now
    )


@pytest.fixture
def probe() -> Prober:
    return Prober(Fetcher(allowed=is_local, seconds=PATIENCE))


def test_a_page_that_answers_is_up_with_its_response_time(server: str, probe: Prober) -> None:
    outcome = probe(check(f"{server}/page"))
    assert outcome.status == "UP"
    assert outcome.response_time is not None
    assert outcome.keyword_found is None


def test_a_missing_keyword_is_down(server: str, probe: Prober) -> None:
    assert probe(check(f"{server}/page", keyword="café")).keyword_found is True
    missing = probe(check(f"{server}/page", keyword="absent"))
    assert (missing.status, missing.keyword_found) == ("DOWN", False)
    assert missing.reason == "'absent' is not on the page"


def test_an_error_status_is_down(server: str, probe: Prober) -> None:
    assert probe(check(f"{server}/broken")).reason == "HTTP status 503"


def test_a_redirect_is_followed(server: str, probe: Prober) -> None:
    assert probe(check(f"{server}/to/page", keyword="Example")).status == "UP"


def test_an_address_in_any_script_is_fetched_in_its_ascii_form(server: str, probe: Prober) -> None:
    assert probe(check(f"{server}/상태?q=é", keyword="Example")).status == "UP"
    assert paths[-1] == "/%EC%83%81%ED%83%9C?q=%C3%A9"
    named = Prober(Fetcher(allowed=is_local, resolve=lambda host, port: ["127.0.0.1"], seconds=PATIENCE))
    outcome = named(check(server.replace("127.0.0.1", "한국.example")))
    assert outcome.status == "UP"
    assert hosts[-1].startswith("xn--3e0b707e.example:")


@pytest.mark.parametrize("location", ["http://[::1", "http://h:abc/", "ftp://h/"])
def test_a_redirect_to_an_invalid_address_is_down(server: str, probe: Prober, location: str) -> None:
    assert probe(check(f"{server}/to/{location}")).status == "DOWN"


def test_endless_redirects_are_down(server: str, probe: Prober) -> None:
    assert probe(check(f"{server}/round")).reason == "more than 5 redirects"


def test_a_redirect_to_a_private_address_is_rejected(server: str, probe: Prober) -> None:
    assert probe(check(f"{server}/to/http://127.0.0.2/")).reason == "127.0.0.2 is at an address that is not public"
    assert probe(check(f"{server}/to/http://localhost.localdomain.invalid/")).status == "DOWN"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_loopback_addresses_are_rejected_unless_the_operator_allows_them(server: str, host: str) -> None:
    outcome = Prober()(check(server.replace("127.0.0.1", host)))
    assert outcome.status == "DOWN"
    assert outcome.reason is not None
    assert outcome.reason.endswith("is at an address that is not public")


@pytest.mark.parametrize("networks", ["127.0.0.0/8", "10.0.0.0/8, 127.0.0.1", "::1/128,127.0.0.0/8"])
def test_operator_allows_networks_by_a_setting(server: str, monkeypatch: pytest.MonkeyPatch, networks: str) -> None:
    assert Prober()(check(server)).status == "DOWN"
    monkeypatch.setenv("CHECKS_ALLOWED_NETWORKS", networks)
    assert Prober()(check(server)).status == "UP"
    allowed = Fetcher().allowed
    assert allowed(ipaddress.ip_address("::ffff:127.0.0.1"))
    assert allowed(ipaddress.ip_address("93.184.215.14"))
    assert not allowed(ipaddress.ip_address("192.168.1.1"))


def test_setting_that_is_not_a_network_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHECKS_ALLOWED_NETWORKS", "10.0.0.0/8,home")
    with pytest.raises(ConfigurationError, match="CHECKS_ALLOWED_NETWORKS: 'home' is not a network; use networks such"):
        Fetcher()


@pytest.mark.parametrize(
    "address",
    ["10.0.0.1", "172.16.5.4", "192.168.1.1", "127.8.8.8", "169.254.169.254", "0.0.0.1", "224.0.0.1", "100.64.0.1",
     "::1", "fe80::1", "fc00::1", "::ffff:10.0.0.1", "ff02::1"],
)  # fmt: skip
def test_private_and_reserved_addresses_are_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:220:1:248:1893:25c8:1946"])
def test_global_addresses_are_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


def test_a_host_with_one_private_address_among_others_is_rejected() -> None:
    fetcher = Fetcher(resolve=lambda host, port: ["93.184.215.14", "10.0.0.1"])
    assert Prober(fetcher)(check("http://two.example/")).reason == "two.example is at an address that is not public"


def test_a_host_is_resolved_once_for_check_and_connection(server: str) -> None:
    asked: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    probe = Prober(Fetcher(allowed=is_local, resolve=resolve, seconds=PATIENCE))
    outcome = probe(check(server.replace("127.0.0.1", "name.example")))
    assert outcome.status == "UP"
    assert asked == ["name.example"]


def test_a_body_is_truncated_at_its_limit(server: str, probe: Prober) -> None:
    assert probe(check(f"{server}/large", keyword="needle")).keyword_found is False


def test_a_host_that_does_not_answer_times_out(server: str) -> None:
    slow = Prober(Fetcher(allowed=is_local, seconds=0.05))
    assert slow(check(f"{server}/slow")).reason == "no answer within 0.05 seconds"


def test_a_rejected_connection_is_down(probe: Prober) -> None:
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
        ("/page", {}, "DOWN", "the page contains no offer"),
    ],
)
def test_the_outcome_of_a_listing_depends_on_its_offer(
    server: str, probe: Prober, path: str, attributes: dict[str, Any], status: str, reason: str | None
) -> None:
    outcome = probe(check(f"{server}{path}", CheckType.EBAY, **attributes))
    assert (outcome.status, outcome.reason) == (status, reason)
    assert outcome.price == (None if path == "/page" else "19.90")


def test_a_check_of_an_unknown_type_is_down_with_a_reason(server: str, probe: Prober) -> None:
    assert (
        probe(check(server, CheckType("FAX"))).reason
        == "Check.checkType: 'FAX' is not a known type; use AVAILABILITY, EBAY"
    )
