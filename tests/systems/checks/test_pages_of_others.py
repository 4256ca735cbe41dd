"""Pages as others write them: any markup, charset and compression; every address form that leads to a private host."""

import gzip
import ipaddress
import socket
import threading
import zlib
from contextlib import suppress
from decimal import Decimal
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita_systems.checks.check_attributes import AvailabilityAttributes, EbayAttributes
from partita_systems.checks.design import Check, CheckType
from partita_systems.checks.fetching import FetchedPage, Fetcher, FetchError, is_public
from partita_systems.checks.probes import Prober, listing_outcome, offers, page_outcome
from tests.timing import PATIENCE

SCRIPT = '<script type="application/ld+json">%s</script>'
LISTING = SCRIPT % '{"@type": "Offer", "price": "5", "availability": "InStock"}'


def offer(price: int, availability: str) -> str:
    return f'{{"@type": "Offer", "price": {price}, "availability": "{availability}"}}'


def page(body: str | bytes, content_type: str = "") -> FetchedPage:
    return FetchedPage(200, body.encode() if isinstance(body, str) else body, 1, content_type)


def judged(body: str, max_price: str | None = None) -> tuple[str | None, str | None]:
    found = listing_outcome(page(body), EbayAttributes(max_price=None if max_price is None else Decimal(max_price)))
    return found.status, found.price


@pytest.mark.parametrize(
    "broken",
    [
        "<![foo[",
        "<!doctype [",
        "<!",
        "<?php",
        "</",
        "<script",
        "<script>",
        "<!-- <script type='application/ld+json'>",
        "\x00\ufffd<a b='",
        "<![CDATA[<script>",
    ],
)
def test_broken_markup_before_an_offer_does_not_end_the_run(broken: str) -> None:
    assert listing_outcome(page(broken), EbayAttributes()).status == "DOWN"
    assert listing_outcome(page(LISTING + broken), EbayAttributes()).status == "UP"


@given(st.text(alphabet=st.sampled_from("<>!-[]\"'/= script@type{}:,application/ld+json\n"), max_size=300))
def test_any_page_is_judged(text: str) -> None:
    assert listing_outcome(page(text), EbayAttributes()).status in ("UP", "DOWN")


def test_many_unclosed_scripts_are_read_in_one_pass() -> None:
    text = '<script type="application/ld+json">' * 20_000
    assert list(offers(text)) == []


def test_offer_in_a_comment_is_not_one() -> None:
    assert judged(f"<!-- {LISTING} -->")[0] == "DOWN"


@pytest.mark.parametrize(
    ("json_ld", "expected"),
    [
        ('{"@type": ["Product", "Offer"], "price": 7, "availability": "http://schema.org/InStock"}', ("UP", "7")),
        ('{"@type": "Offer", "price": 7, "availability": "https://schema.org/LimitedAvailability"}', ("UP", "7")),
        ('{"@type": "Offer", "price": 7, "availability": "https://schema.org/SoldOut"}', ("DOWN", "7")),
        ('{"@type": "Offer", "price": 7, "availability": ["InStock"]}', ("UP", "7")),
        ('{"@type": "https://schema.org/Offer", "price": 7, "availability": "InStock"}', ("UP", "7")),
        ('{"@type": "Offer", "price": 7, "availability": "NotInStock"}', ("DOWN", "7")),
        (f"[{offer(9, 'InStock')}, {offer(4, 'SoldOut')}, {offer(6, 'InStock')}]", ("UP", "6")),
        ('{"@type": "schema:Offer", "price": 7, "availability": "schema:InStock"}', ("UP", "7")),
        ('{"@type": "Offer", "price": 7, "availability": {"@id": "https://schema.org/InStock"}}', ("UP", "7")),
        ('{"@type": "Offer", "priceSpecification": {"price": "7"}, "availability": "InStock"}', ("UP", "7")),
        ('{"@type": "Offer", "priceSpecification": [1, {"minPrice": 7}], "availability": "InStock"}', ("UP", "7")),
        ('{"@type": "Offer", "price": null, "lowPrice": 7, "availability": "InStock"}', ("UP", "7")),
        ('{"@type": "Offer", "price": -7, "availability": "InStock"}', ("UP", None)),
        ('{"@type": "Offer", "price": {"@value": 7}, "availability": "InStock"}', ("UP", None)),
        ('{"@graph": [{"@type": "AggregateOffer", "lowPrice": 3, "availability": "InStock"}]}', ("UP", "3")),
    ],
)
def test_every_offer_of_a_listing_counts(json_ld: str, expected: tuple[str, str]) -> None:
    assert judged(SCRIPT % json_ld) == expected


def test_letters_that_grow_in_lower_case_do_not_hide_an_offer() -> None:
    assert "İ".lower() != "i"
    assert judged("İİİ" + LISTING) == ("UP", "5")


def test_cheapest_available_offer_decides_about_the_maximum_price() -> None:
    both = SCRIPT % '{"@type": "Offer", "price": 90, "availability": "InStock"}' + LISTING
    assert judged(both, "5") == ("UP", "5")
    assert judged(both, "4") == ("DOWN", "5")


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("가격 할인".encode("euc-kr"), "text/html; charset=euc-kr"),
        ("가격 할인".encode("euc-kr"), 'text/html; charset="EUC-KR"'),
        (b'<html><meta charset="euc-kr">' + "가격 할인".encode("euc-kr"), "text/html"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=euc-kr">' + "가격 할인".encode("euc-kr"), ""),
        ("가격 할인".encode("utf-8-sig"), "text/html; charset=latin-1"),
        ("가격 할인".encode("utf-16"), ""),
        ("가격 할인".encode(), "text/html; charset=unknown-42"),
        ("가격 할인".encode(), "text/html; charset=hex"),
        ("가격 할인".encode(), "text/html; charset=punycode"),
        ("가격 할인".encode(), "text/html; charset=IDNA"),
        ("가격 할인".encode(), "text/html; charset=unicode-escape"),
    ],
)
def test_keyword_is_found_in_the_charset_of_the_page(body: bytes, content_type: str) -> None:
    outcome = page_outcome(page(body, content_type), AvailabilityAttributes(keyword="할인"))
    assert outcome.keyword_found


@pytest.mark.parametrize(
    "address",
    [
        "64:ff9b::7f00:1",  # NAT64 of 127.0.0.1
        "::ffff:0:7f00:1",  # translated
        "fec0::1",  # site-local
        "64:ff9b::a00:1",
        "64:ff9b:1::a00:1",  # the local prefix of NAT64
        "2002:7f00:1::",  # 6to4 of 127.0.0.1
        "2002:a9fe:a9fe::1",  # of 169.254.169.254
        "::ffff:10.0.0.1",
        "::10.0.0.1",
        "::1",
        "::",
        "2001:0:7f00:1::",  # Teredo
        "fe80::1",
    ],
)
def test_ipv6_forms_of_private_addresses_are_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["64:ff9b::808:808", "2002:808:808::1", "2606:4700::1", "8.8.8.8"])
def test_ipv6_forms_of_public_addresses_are_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


class Reply:
    """The reply of a server, in pieces."""

    def __init__(self, encoding: str, body: bytes) -> None:
        self._encoding, self._body = encoding, body

    def getheader(self, name: str, default: str = "") -> str:
        return self._encoding

    def read1(self, count: int) -> bytes:
        piece, self._body = self._body[:count], self._body[count:]
        return piece


def body_of(encoding: str, body: bytes, max_bytes: int = 1024 * 1024) -> bytes:
    return Fetcher(max_bytes=max_bytes)._body(Reply(encoding, body))  # type: ignore[arg-type]


def test_compressed_bodies_are_read() -> None:
    assert body_of("gzip", gzip.compress(b"keyword")) == b"keyword"
    assert body_of("deflate", zlib.compress(b"keyword")) == b"keyword"
    assert body_of("", b"keyword") == b"keyword"


def test_compressed_body_is_bounded_when_it_grows() -> None:
    bomb = gzip.compress(b"x" * 50_000_000)
    assert len(body_of("gzip", bomb, max_bytes=100_000)) == 100_000


@pytest.mark.parametrize(
    ("begin", "endless"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n"),
    ],
    ids=["interim responses", "trailers"],
)
def test_every_read_counts_against_the_deadline(begin: bytes, endless: bytes) -> None:
    def answer(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.sendall(begin)
            while True:
                connection.sendall(endless * 100)

    reads = count()
    fetcher = Fetcher(allowed=lambda address: True, seconds=PATIENCE, timer=lambda: float(next(reads)))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=answer, args=(listener,))
        server.start()
        with pytest.raises(FetchError, match="no answer within"):
            fetcher.fetch(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        server.join()


def test_probe_that_raises_anything_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(self: Fetcher, url: str) -> FetchedPage:
        raise AssertionError("unknown status keyword 'foo' in marked section")

    monkeypatch.setattr(Fetcher, "fetch", explode)
    check = Check(check_id="c", user_id="u", url="https://example.com/", check_type=CheckType.EBAY, delay_ms=60_000)
    assert Prober()(check).reason == "the page could not be judged"
