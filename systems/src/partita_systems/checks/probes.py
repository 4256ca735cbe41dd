"""Running a check: its type turns a page into an outcome. AVAILABILITY and EBAY are registered here."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from html.parser import HTMLParser
from typing import Any

from partita import InvalidValue
from partita_systems.checks.check_attributes import AvailabilityAttributes, EbayAttributes
from partita_systems.checks.check_types import CheckKind, Probe, kind_of, register, typed_attributes
from partita_systems.checks.design import Check, CheckType, Outcome
from partita_systems.checks.fetching import FetchedPage, Fetcher, FetchError


@dataclass(frozen=True)
class Prober:
    """`Prober()(check)` fetches the page of a check and returns the outcome; errors of the page or host become DOWN."""

    fetcher: Fetcher = field(default_factory=Fetcher)

    def __call__(self, check: Check) -> Outcome:
        try:
            attributes = typed_attributes(check.check_type, check.attributes)
            return kind_of(check.check_type).probe(check, attributes, self.fetcher)
        except (FetchError, InvalidValue) as error:
            return Outcome(status="DOWN", reason=str(error))


def page_probe(outcome: Callable[[FetchedPage, Any], Outcome]) -> Probe:
    """A probe that fetches the page of the check and judges it; a status from 400 on is DOWN."""

    def probe(check: Check, attributes: Any, fetcher: Fetcher) -> Outcome:
        page = fetcher.fetch(check.url)
        if page.status >= 400:
            return Outcome(status="DOWN", response_time=page.milliseconds, reason=f"HTTP status {page.status}")
        return outcome(page, attributes)

    return probe


def page_outcome(page: FetchedPage, attributes: AvailabilityAttributes) -> Outcome:
    """UP if the page answered and contains the keyword, if there is one."""
    if attributes.keyword is None:
        return Outcome(status="UP", response_time=page.milliseconds)
    found = attributes.keyword in page.body.decode("utf-8", "replace")
    reason = None if found else f"{attributes.keyword!r} is not on the page"
    return Outcome(
        status="UP" if found else "DOWN", response_time=page.milliseconds, keyword_found=found, reason=reason
    )


def listing_outcome(page: FetchedPage, attributes: EbayAttributes) -> Outcome:
    """UP if the listing has an offer in stock for at most the maximum price."""
    offer = next(offers(page.body.decode("utf-8", "replace")), None)
    if offer is None:
        return Outcome(status="DOWN", response_time=page.milliseconds, reason="the page contains no offer")
    price = _price(offer)
    reason = None
    if not str(offer.get("availability", "")).endswith("InStock"):
        reason = "not in stock"
    elif attributes.max_price is not None and (price is None or price > attributes.max_price):
        reason = (
            f"the price is {price}, above {attributes.max_price}" if price is not None else "the offer has no price"
        )
    status = "UP" if reason is None else "DOWN"
    price_text = None if price is None else str(price)
    return Outcome(status=status, response_time=page.milliseconds, price=price_text, reason=reason)


def offers(html: str) -> Iterator[dict[str, Any]]:
    """The schema.org offers in a page's JSON-LD."""
    reader = _JsonLd()
    reader.feed(html)
    for text in reader.found:
        try:
            yield from _offers_in(json.loads(text))
        except (ValueError, RecursionError):
            continue


def _offers_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for each in value:
            yield from _offers_in(each)
    elif isinstance(value, dict):
        if value.get("@type") in ("Offer", "AggregateOffer"):
            yield value
        for each in value.values():
            yield from _offers_in(each)


def _price(offer: dict[str, Any]) -> Decimal | None:
    try:
        price = Decimal(str(offer.get("price", offer.get("lowPrice"))))
    except InvalidOperation:
        return None
    return price if price.is_finite() else None


class _JsonLd(HTMLParser):
    """Collects the text of `<script type="application/ld+json">`."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag == "script" and ("type", "application/ld+json") in attrs
        if self._inside:
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.found[-1] += data


AVAILABILITY = register(CheckKind(CheckType.AVAILABILITY.value, AvailabilityAttributes, page_probe(page_outcome)))
EBAY = register(CheckKind(CheckType.EBAY.value, EbayAttributes, page_probe(listing_outcome)))
