"""What people may call themselves, their neighborhoods and their sites, and how large a site's config may be."""

import re
from typing import Any
from unicodedata import normalize

import msgspec

from partita import InvalidValue

LONGEST_LABEL = 63  # a subdomain is a label of DNS; slugs keep to the same
LARGEST_CONFIG = 256 * 1024  # of JSON: at most half as much again in DynamoDB, so the item stays under its 400 KB
DEEPEST_CONFIG = 30  # DynamoDB nests 32 levels, the item and the attribute among them

_DID = re.compile(r"did:[a-z0-9]+:[A-Za-z0-9._:%-]{1,200}")
_HANDLE = re.compile(r"[^\s@#]+(@[^\s@#]+)?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")


def checked_did(did: str, field: str) -> str:
    """A decentralized identifier, such as `did:plc:abc123`."""
    if not _DID.fullmatch(did):
        raise InvalidValue("User", f"{did!r} is no DID", field)
    return did


def checked_handle(handle: str) -> str:
    """A Bluesky handle, with or without its leading `@`: `alice.bsky.social`, `alice@bsky.social`."""
    name = normalize("NFC", handle.strip().removeprefix("@"))
    if not _HANDLE.fullmatch(name) or "." not in name or len(name) > 253:
        raise InvalidValue("User", f"{handle!r} is no handle; write alice.bsky.social", "bluesky_handle", value=handle)
    return name


def slug_of(name: str) -> str:
    """The words of a name, in lower case, with hyphens between them.

    >>> slug_of("Downtown Collective"), slug_of("Café 거리")
    ('downtown-collective', 'café-거리')
    """
    folded = normalize("NFC", normalize("NFC", name).casefold())
    slug = "-".join(re.findall(r"[^\W_]+", folded))
    if not slug or len(slug) > LONGEST_LABEL:
        raise InvalidValue("Neighborhood", f"{name!r} gives no slug of 1 to {LONGEST_LABEL} characters", "slug")
    return slug


def checked_subdomain(subdomain: str) -> str:
    """A label of DNS, in lower case."""
    label = subdomain.strip().lower()
    if not _SUBDOMAIN.fullmatch(label) or len(label) > LONGEST_LABEL:
        raise InvalidValue("Site", f"{subdomain!r} is not 1 to {LONGEST_LABEL} of a-z, 0-9 and -", "subdomain")
    return label


def public_url(subdomain: str) -> str:
    return f"https://{subdomain}.nbhd.city"


def checked_config(config: dict[str, Any]) -> dict[str, Any]:
    """A config that one item can hold."""
    try:
        size = len(msgspec.json.encode(config))
        depth = _depth(config)
    except (TypeError, ValueError, OverflowError, RecursionError) as refusal:
        raise InvalidValue("Site", str(refusal), "config") from None
    if size > LARGEST_CONFIG:
        raise InvalidValue("Site", f"{size:,} bytes of JSON, and a site holds {LARGEST_CONFIG:,}", "config")
    if depth > DEEPEST_CONFIG:
        raise InvalidValue("Site", f"nested {depth} levels deep, and a site holds {DEEPEST_CONFIG}", "config")
    return config


def _depth(value: Any) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else None
    return 0 if inside is None else 1 + max(map(_depth, inside), default=0)
