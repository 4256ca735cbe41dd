"""The config of a site as the templates read it. A config is any JSON; a build says what does not fit, and where."""

import datetime as dt
from decimal import Decimal
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from partita import convert, describe_pattern
from partita_systems.fields import FreeText, HttpsUrl, HttpUrl, Line

MAX_POSTS = 200

Color = Annotated[
    str,
    Meta(
        pattern=describe_pattern(r"^#(?:[0-9A-Fa-f]{3}){1,2}(?![\s\S])", "must be a color such as #007bff"),
        examples=["#007bff"],
    ),
]
Language = Annotated[
    str,
    Meta(pattern=describe_pattern(r"^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*(?![\s\S])", "must be a language such as pt-BR")),
]
Short = Annotated[Line, Meta(max_length=200)]


class Post(Struct):
    """A post, a work or an event, as the template shows it."""

    title: Short
    date: dt.date | None = None
    text: FreeText = ""
    image: HttpsUrl | None = None
    image_text: Short | None = None
    place: Short | None = None
    url: HttpUrl | None = None


class Link(Struct):
    label: Short
    url: HttpUrl


class SiteConfig(Struct):
    """The members that the templates know; others are ignored."""

    author: Short | None = None
    accent_color: Color = "#2f6f5e"
    tagline: Short | None = None
    about: FreeText = ""
    language: Language = "en"
    links: Annotated[list[Link], Meta(max_length=12)] = field(default_factory=list)
    posts: Annotated[list[Post], Meta(max_length=MAX_POSTS)] = field(default_factory=list)
    custom_fields: dict[Short, Any] = field(default_factory=dict)

    @property
    def shown_fields(self) -> dict[str, str]:
        """The custom fields that are one line: texts, numbers, yes or no."""
        return {name: _shown(value) for name, value in self.custom_fields.items() if _is_scalar(value)}


def site_config(config: dict[str, Any]) -> SiteConfig:
    """The config; InvalidValue that names the place where it does not fit."""
    kind: Any = SiteConfig
    read: SiteConfig = convert({name: value for name, value in config.items() if value is not None}, kind, "config")
    return read


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float | Decimal) and len(str(value)) <= 500


def _shown(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
