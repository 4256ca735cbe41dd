"""The `url` of a check, and the `attributes` of the check types that are part of the system."""

import re
from decimal import Decimal
from ipaddress import ip_address
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from partita import InvalidValue
from partita_systems import fields

PRICE_LIMIT = 10**12
_NETLOC = re.compile(r"(?P<host>\[[^\[\]]+\]|[^\[\]:]+)(:[0-9]*)?")
_MAX_NAME_LENGTH = 253
_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?", re.ASCII | re.IGNORECASE)


class AvailabilityAttributes(msgspec.Struct):
    """The page must answer, and contain the keyword if there is one."""

    keyword: Annotated[fields.Line, msgspec.Meta(max_length=1000)] | None = None


class EbayAttributes(msgspec.Struct, rename="camel"):
    """The listing must be available, for at most `maxPrice` if there is one."""

    max_price: Decimal | None = None

    def __post_init__(self) -> None:
        price = self.max_price
        if price is not None and not (price.is_finite() and 0 <= price < PRICE_LIMIT):
            wrong = f"{price} is not a valid price; use a number from 0 to below {PRICE_LIMIT:,}"
            raise InvalidValue("Check", wrong, "attributes", "maxPrice")


def checked_url(url: str) -> str:
    """The address, or InvalidValue if it cannot be fetched: http or https, a valid host, no password."""
    if not url.isprintable() or " " in url or not _is_fetchable(url):
        raise InvalidValue("Check", f"{url!r} is not a valid http or https address", "url")
    if "@" in urlsplit(url).netloc:
        raise InvalidValue("Check", "a name and password in an address are not sent; remove them", "url")
    return url


def _is_fetchable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        netloc = _NETLOC.fullmatch(parts.netloc.rpartition("@")[2])
        return parts.scheme in ("http", "https") and netloc is not None and parts.port != 0 and _is_host(netloc["host"])
    except ValueError:
        return False


def _is_host(host: str) -> bool:
    """Whether it is an IP address, or a valid DNS name in its ASCII form."""
    if host.startswith("["):
        return bool(ip_address(host[1:-1]))
    name = host.encode("idna").decode()
    return len(name) <= _MAX_NAME_LENGTH and _NAME.fullmatch(name) is not None
