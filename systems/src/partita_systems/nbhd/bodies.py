"""Request bodies of nbhd.city's API."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from partita_systems.fields import HttpUrl, HttpUrlOrPath, Line
from partita_systems.nbhd import design as d

Handle = Annotated[Line, Meta(max_length=253, examples=["alice.bsky.social"])]
Name = Annotated[d.Name, Meta(examples=["Repair Café"])]
Template = Annotated[Name, Meta(examples=["blog"])]
Key = Annotated[Line, Meta(max_length=1_000)]
Label = Annotated[Line, Meta(max_length=63, examples=["bread-without-hurry"])]
Config = Annotated[dict[str, Any], Meta(examples=[{"author": "Léa", "posts": [{"title": "봄 시장"}]}])]


class NewUser(Struct, forbid_unknown_fields=True):
    bluesky_handle: Handle
    display_name: Annotated[Name, Meta(examples=["Alice Martin"])]
    bluesky_did: Annotated[str, Meta(max_length=250, examples=["did:plc:abc123"])] | None = None
    avatar_url: HttpUrl | None = None
    bio: d.Text | None = None


class NewHandle(Struct, forbid_unknown_fields=True):
    bluesky_handle: Handle


class NewNeighborhood(Struct, forbid_unknown_fields=True):
    name: Name
    slug: Label | None = None
    description: d.Text = ""
    privacy: d.Privacy = d.Privacy.PUBLIC
    settings: d.Settings | None = None


class ChangedSettings(Struct, forbid_unknown_fields=True):
    """Fields that are left out stay unchanged."""

    allow_site_creation: bool | UnsetType = UNSET
    require_email_verification: bool | UnsetType = UNSET


class ChangedNeighborhood(Struct, forbid_unknown_fields=True):
    """Fields that are left out stay unchanged."""

    name: Name | UnsetType = UNSET
    slug: Label | UnsetType = UNSET
    description: d.Text | UnsetType = UNSET
    privacy: d.Privacy | UnsetType = UNSET
    settings: ChangedSettings | UnsetType = UNSET


class NewRole(Struct, forbid_unknown_fields=True):
    role: d.Role


class NewSite(Struct, forbid_unknown_fields=True):
    title: Name
    template: Template
    subdomain: Label
    config: Config = {}
    neighborhood_id: Key | None = None


class ChangedSite(Struct, forbid_unknown_fields=True):
    """Fields that are left out stay unchanged."""

    title: Name | UnsetType = UNSET
    template: Template | UnsetType = UNSET
    subdomain: Label | UnsetType = UNSET
    config: Config | UnsetType = UNSET


class BuildEnd(Struct, forbid_unknown_fields=True):
    """The end of a build; without an error it was successful."""

    error: d.Text | None = None
    log_url: HttpUrlOrPath | None = None


class KnownTemplate(Struct):
    name: Template
    about: str


class Templates(Struct):
    templates: list[KnownTemplate]
