"""What each type of check may be told in its `attributes` map."""

import re
from decimal import Decimal
from ipaddress import ip_address
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec

from partita import InvalidValue, convert
from partita_systems.checks.design import CheckType

HIGHEST_PRICE = 10**12
_PLACE = re.compile(r"(?P<host>\[[^\[\]]+\]|[^\[\]:]+)(:[0-9]*)?")
_LONGEST_NAME = 253
_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?", re.ASCII | re.IGNORECASE)


class Availability(msgspec.Struct):
    """The page answers, and holds the keyword where one is given."""

    keyword: Annotated[str, msgspec.Meta(max_length=1000)] | None = None


class Ebay(msgspec.Struct, rename="camel"):
    """The listing is available, at no more than `maxPrice` where one is given."""

    max_price: Decimal | None = None

    def __post_init__(self) -> None:
        price = self.max_price
        if price is not None and not (price.is_finite() and 0 <= price < HIGHEST_PRICE):
            raise InvalidValue(
                "Check", f"{price} is no price from 0 to below {HIGHEST_PRICE:,}", "attributes", "maxPrice"
            )


OPTIONS: dict[CheckType, type[msgspec.Struct]] = {CheckType.AVAILABILITY: Availability, CheckType.EBAY: Ebay}


def options_of(check_type: CheckType, attributes: dict[str, Any]) -> Any:
    """The typed options of a check, or an error that names the field."""
    kind = OPTIONS.get(check_type)
    if kind is None:
        types = ", ".join(each.value for each in OPTIONS)
        raise InvalidValue("Check", f"{check_type.value!r} is none of {types}", "checkType")
    known = [field.encode_name for field in msgspec.structs.fields(kind)]
    for name in attributes:
        if name not in known:
            wrong = f"{check_type.value} has no {name!r}; it has {', '.join(known)}"
            raise InvalidValue("Check", wrong, "attributes", name)
    return convert(attributes, kind, "Check", "attributes")


def checked_url(url: str) -> str:
    """An http or https address that can be fetched: its host one that there can be, and no password."""
    if not url.isprintable() or " " in url or not _is_fetchable(url):
        raise InvalidValue("Check", f"{url!r} is no http or https address", "url")
    if "@" in urlsplit(url).netloc:
        raise InvalidValue("Check", "a name and password in an address are not sent; leave them out", "url")
    return url


def _is_fetchable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        place = _PLACE.fullmatch(parts.netloc.rpartition("@")[2])
        return parts.scheme in ("http", "https") and place is not None and parts.port != 0 and _is_host(place["host"])
    except ValueError:
        return False


def _is_host(host: str) -> bool:
    """Whether it is an IP address, or a name as DNS has them once it is written in ASCII."""
    if host.startswith("["):
        return bool(ip_address(host[1:-1]))
    name = host.encode("idna").decode()
    return len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) is not None
