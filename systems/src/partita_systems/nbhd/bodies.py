"""Request bodies of nbhd.city's API."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from partita_systems.nbhd import design as d

Handle = Annotated[str, Meta(min_length=3, max_length=253, examples=["alice.bsky.social"])]
Line = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"\S", examples=["Repair Café"])]
Template = Annotated[Line, Meta(examples=["blog"])]
Key = Annotated[str, Meta(min_length=1, max_length=1_000)]
Text = Annotated[str, Meta(max_length=2_000)]
Label = Annotated[str, Meta(min_length=1, max_length=63, examples=["bread-without-hurry"])]
Config = Annotated[dict[str, Any], Meta(examples=[{"author": "Léa", "posts": [{"title": "봄 시장"}]}])]


class NewUser(Struct, forbid_unknown_fields=True):
    bluesky_handle: Handle
    display_name: Annotated[Line, Meta(examples=["Alice Martin"])]
    bluesky_did: Annotated[str, Meta(max_length=250, examples=["did:plc:abc123"])] | None = None
    avatar_url: Text | None = None
    bio: Text | None = None


class NewHandle(Struct, forbid_unknown_fields=True):
    bluesky_handle: Handle


class NewNeighborhood(Struct, forbid_unknown_fields=True):
    name: Line
    slug: Label | None = None
    description: Text = ""
    privacy: d.Privacy = d.Privacy.PUBLIC
    settings: d.Settings | None = None


class ChangedSettings(Struct, forbid_unknown_fields=True):
    """Fields that are left out stay unchanged."""

    allow_site_creation: bool | UnsetType = UNSET
    require_email_verification: bool | UnsetType = UNSET


class ChangedNeighborhood(Struct, forbid_unknown_fields=True):
    """Fields that are left out stay unchanged."""

    name: Line | UnsetType = UNSET
    slug: Label | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    privacy: d.Privacy | UnsetType = UNSET
    settings: ChangedSettings | UnsetType = UNSET


class NewRole(Struct, forbid_unknown_fields=True):
    role: d.Role


class NewSite(Struct, forbid_unknown_fields=True):
    title: Line
    template: Template
    subdomain: Label
    config: Config = {}
    neighborhood_id: Key | None = None


class ChangedSite(Struct, forbid_unknown_fields=True):
    """Fields that are left out stay unchanged."""

    title: Line | UnsetType = UNSET
    template: Template | UnsetType = UNSET
    subdomain: Label | UnsetType = UNSET
    config: Config | UnsetType = UNSET


class BuildEnd(Struct, forbid_unknown_fields=True):
    """The end of a build; without an error it was successful."""

    error: Text | None = None
    log_url: Text | None = None
