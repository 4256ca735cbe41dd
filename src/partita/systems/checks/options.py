"""What each type of check may be told in its `attributes` map."""

from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import msgspec

from partita import ValueRefused
from partita.systems.checks.design import CheckType


class Availability(msgspec.Struct, forbid_unknown_fields=True):
    """The page answers, and holds the keyword where one is given."""

    keyword: str | None = None


class Ebay(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The listing is available, at no more than `maxPrice` where one is given."""

    max_price: Decimal | None = None


OPTIONS: dict[CheckType, type[msgspec.Struct]] = {CheckType.AVAILABILITY: Availability, CheckType.EBAY: Ebay}


def options_of(check_type: CheckType, attributes: dict[str, Any]) -> Any:
    """The typed options of a check, or an error that names the field."""
    kind = OPTIONS.get(check_type)
    if kind is None:
        known = ", ".join(each.value for each in OPTIONS)
        raise ValueRefused("Check.checkType", f"{check_type.value!r} is none of {known}")
    try:
        return msgspec.convert(attributes, kind)
    except msgspec.ValidationError as refusal:
        raise ValueRefused("Check.attributes", str(refusal)) from None


def checked_url(url: str) -> str:
    """An http or https address with a host."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueRefused("Check.url", f"{url!r} is no http or https address")
    return url
