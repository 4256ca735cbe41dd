"""Validation of DIDs, handles, slugs, subdomains and site configs; names that nobody can take."""

import re
from typing import Any
from unicodedata import normalize

import msgspec

from partita import InvalidValue
from partita_systems.nbhd.ports import domain
from partita_systems.nbhd.reserved_names import RESERVED

MAX_LABEL_LENGTH = 63  # of a DNS label; slugs have the same limit
MAX_CONFIG_BYTES = 256 * 1024  # as JSON; DynamoDB counts at most half as much again, so the item stays below 400 KB
MAX_CONFIG_DEPTH = 30  # DynamoDB allows 32 levels, including the item and the attribute

_DID = re.compile(r"did:[a-z0-9]+:[A-Za-z0-9._:%-]{1,200}")
_HANDLE = re.compile(r"[^\s@#]+(@[^\s@#]+)?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")


def checked_did(did: str, field: str) -> str:
    """A decentralized identifier, such as `did:plc:abc123`."""
    if not _DID.fullmatch(did):
        raise InvalidValue("User", f"{did!r} is not a valid DID, such as did:plc:abc123", field)
    return did


def checked_handle(handle: str) -> str:
    """A Bluesky handle, with or without its leading `@`: `alice.bsky.social`, `alice@bsky.social`."""
    name = canonical_handle(handle)
    if first_label(name) in RESERVED:
        raise InvalidValue("User", f"{handle!r} begins with a reserved name", "bluesky_handle", value=handle)
    return name


def first_label(handle: str) -> str:
    return re.split("[.@]", handle.casefold(), maxsplit=1)[0]


def canonical_handle(handle: str) -> str:
    """A handle as it is stored; reserved names are accepted."""
    name = normalize("NFC", handle.strip().removeprefix("@"))
    if not _HANDLE.fullmatch(name) or "." not in name or len(name) > 253:
        raise InvalidValue(
            "User", f"{handle!r} is not a valid handle, such as alice.bsky.social", "bluesky_handle", value=handle
        )
    return name


def slug_of(name: str) -> str:
    """The slug of a name: its words in lower case, joined by hyphens.

    >>> slug_of("Downtown Collective"), slug_of("Café 거리")
    ('downtown-collective', 'café-거리')
    """
    folded = normalize("NFC", normalize("NFC", name).casefold())
    slug = "-".join(re.findall(r"[^\W_]+", folded))
    if not slug or len(slug) > MAX_LABEL_LENGTH:
        raise InvalidValue(
            "Neighborhood", f"{name!r} does not give a slug of 1 to {MAX_LABEL_LENGTH} characters", "slug"
        )
    return slug


def checked_slug(slug: str | None, name: str) -> str:
    """The slug of a new neighborhood, or of its name if it has none of its own; reserved names are rejected."""
    found = slug_of(slug or name)
    if found in RESERVED:
        raise InvalidValue("Neighborhood", f"{found!r} is a reserved name", "slug" if slug else "name")
    return found


def checked_subdomain(subdomain: str) -> str:
    """A DNS label, in lower case; reserved names are rejected, and labels that look like encoded ones (`xn--`)."""
    label = canonical_subdomain(subdomain)
    if label in RESERVED or label[2:4] == "--":
        raise InvalidValue("Site", f"{label!r} is a reserved name", "subdomain")
    return label


def canonical_subdomain(subdomain: str) -> str:
    """A subdomain as it is stored; reserved names are accepted."""
    label = subdomain.strip().lower()
    if not _SUBDOMAIN.fullmatch(label) or len(label) > MAX_LABEL_LENGTH:
        raise InvalidValue(
            "Site", f"{subdomain!r} is not valid; use 1 to {MAX_LABEL_LENGTH} of a-z, 0-9 and -", "subdomain"
        )
    return label


def public_url(subdomain: str) -> str:
    return f"https://{subdomain}.{domain()}"


def checked_config(config: dict[str, Any]) -> dict[str, Any]:
    """The config, or InvalidValue if it does not fit into an item."""
    try:
        size = len(msgspec.json.encode(config))
        depth = _depth(config)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidValue("Site", str(error), "config") from None
    if size > MAX_CONFIG_BYTES:
        raise InvalidValue("Site", f"{size:,} bytes of JSON; the limit is {MAX_CONFIG_BYTES:,}", "config")
    if depth > MAX_CONFIG_DEPTH:
        raise InvalidValue("Site", f"nested {depth} levels deep; the limit is {MAX_CONFIG_DEPTH}", "config")
    return config


def _depth(value: Any) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else None
    return 0 if inside is None else 1 + max(map(_depth, inside), default=0)
