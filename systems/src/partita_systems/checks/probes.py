"""Running a check: what each type looks for in a page, and what it says of it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from html.parser import HTMLParser
from typing import Any

from partita import InvalidValue
from partita_systems.checks.check_attributes import Availability, Ebay, options_of
from partita_systems.checks.design import Check, CheckType, Outcome
from partita_systems.checks.fetching import Fetcher, NotFetched, Page


@dataclass(frozen=True)
class Prober:
    """`Prober()(check)` fetches the check's page and judges it; it never raises for what a page or host does."""

    fetcher: Fetcher = field(default_factory=Fetcher)

    def __call__(self, check: Check) -> Outcome:
        try:
            options = options_of(check.check_type, check.attributes)
            page = self.fetcher.fetch(check.url)
        except (NotFetched, InvalidValue) as refusal:
            return Outcome(status="DOWN", reason=str(refusal))
        if page.status >= 400:
            return Outcome(status="DOWN", response_time=page.milliseconds, reason=f"HTTP status {page.status}")
        if check.check_type == CheckType.EBAY:
            return listing_outcome(page, options)
        return page_outcome(page, options)


def page_outcome(page: Page, options: Availability) -> Outcome:
    """Up if it answered and holds the keyword, where there is one."""
    if options.keyword is None:
        return Outcome(status="UP", response_time=page.milliseconds)
    found = options.keyword in page.body.decode("utf-8", "replace")
    reason = None if found else f"{options.keyword!r} is not on the page"
    return Outcome(
        status="UP" if found else "DOWN", response_time=page.milliseconds, keyword_found=found, reason=reason
    )


def listing_outcome(page: Page, options: Ebay) -> Outcome:
    """Up if the listing offers it in stock for no more than the highest price."""
    offer = next(offers(page.body.decode("utf-8", "replace")), None)
    if offer is None:
        return Outcome(status="DOWN", response_time=page.milliseconds, reason="the page holds no offer")
    price = _price(offer)
    reason = None
    if not str(offer.get("availability", "")).endswith("InStock"):
        reason = "not in stock"
    elif options.max_price is not None and (price is None or price > options.max_price):
        reason = f"the price is {price}, above {options.max_price}" if price is not None else "the offer has no price"
    status = "UP" if reason is None else "DOWN"
    shown = None if price is None else str(price)
    return Outcome(status=status, response_time=page.milliseconds, price=shown, reason=reason)


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
    given = offer.get("price", offer.get("lowPrice"))
    try:
        price = Decimal(str(given))
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
