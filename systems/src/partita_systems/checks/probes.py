"""Running a check: its type turns a page into an outcome. AVAILABILITY and EBAY are registered here."""

import json
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from partita import InvalidValue
from partita_systems.checks.check_attributes import PRICE_LIMIT, AvailabilityAttributes, EbayAttributes
from partita_systems.checks.check_types import CheckKind, Probe, kind_of, register, typed_attributes
from partita_systems.checks.design import Check, CheckType, Outcome
from partita_systems.checks.fetching import FetchedPage, Fetcher, FetchError

_OFFERS = {"Offer", "AggregateOffer"}
_AVAILABLE = {"InStock", "LimitedAvailability", "OnlineOnly"}
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
_log = logging.getLogger("partita.checks")


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
        except Exception:  # noqa: BLE001 - whatever a page contains, the other checks go on
            _log.exception("the page of check %s could not be judged", check.check_id)
            return Outcome(status="DOWN", reason="the page could not be judged")


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
    found = attributes.keyword in page.text
    reason = None if found else f"{attributes.keyword!r} is not on the page"
    return Outcome(
        status="UP" if found else "DOWN", response_time=page.milliseconds, keyword_found=found, reason=reason
    )


def listing_outcome(page: FetchedPage, attributes: EbayAttributes) -> Outcome:
    """UP if the listing has an offer that can be bought, for at most the maximum price; the cheapest is recorded."""
    found = list(offers(page.text))
    if not found:
        return Outcome(status="DOWN", response_time=page.milliseconds, reason="the page contains no offer")
    available = [each for each in found if _is_available(each)]
    prices = sorted(price for each in available or found if (price := _price(each)) is not None)
    price = prices[0] if prices else None
    reason = None
    if not available:
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
    for text in _json_ld(html):
        try:
            yield from _offers_in(json.loads(text))
        except (ValueError, RecursionError):
            continue


def _offers_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for each in value:
            yield from _offers_in(each)
    elif isinstance(value, dict):
        kinds = value.get("@type")
        if _OFFERS.intersection(_local_names(kinds)):
            yield value
        for each in value.values():
            yield from _offers_in(each)


def _local_names(value: Any) -> set[str]:
    """The names of schema.org in a value or a list, without their address: `https://schema.org/Offer`, `schema:Offer`.

    A value is a text, or refers to one: `{"@id": "https://schema.org/InStock"}`.
    """
    values = value if isinstance(value, list) else [value]
    texts = [each.get("@id") if isinstance(each, dict) else each for each in values]
    return {re.split("[/#:]", each.rstrip("/"))[-1] for each in texts if isinstance(each, str)}


def _is_available(offer: dict[str, Any]) -> bool:
    return bool(_AVAILABLE.intersection(_local_names(offer.get("availability"))))


def _price(offer: dict[str, Any]) -> Decimal | None:
    """The price of an offer, or else its lowest one; both may be in price specifications."""
    specified = offer.get("priceSpecification")
    of_specifications = specified if isinstance(specified, list) else [specified]
    holders = [offer, *(each for each in of_specifications if isinstance(each, dict))]
    texts = [str(each[name]) for name in ("price", "lowPrice", "minPrice") for each in holders if name in each]
    prices = [price for text in texts if (price := _number(text)) is not None]
    return prices[0] if prices else None


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() and 0 <= number < PRICE_LIMIT else None


def _json_ld(html: str) -> Iterator[str]:
    """The texts of `<script type="application/ld+json">`, outside of comments, in any page, however broken it is."""
    lowered, at = html.translate(_LOWER), 0  # `lower` would make some letters longer
    while (at := lowered.find("<", at)) >= 0:
        if lowered.startswith("<!--", at):
            at = lowered.find("-->", at)
            if at < 0:
                return
        elif lowered.startswith("<script", at):
            head, end = lowered.find(">", at), lowered.find("</script", at)
            if head < 0 or end < 0:
                return
            if "application/ld+json" in lowered[at:head] and head < end:
                yield html[head + 1 : end]
            at = end
        at += 1


AVAILABILITY = register(CheckKind(CheckType.AVAILABILITY.value, AvailabilityAttributes, page_probe(page_outcome)))
EBAY = register(CheckKind(CheckType.EBAY.value, EbayAttributes, page_probe(listing_outcome)))
