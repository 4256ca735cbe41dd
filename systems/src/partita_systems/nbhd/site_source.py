"""A site as a text that can be kept under version control: the same site gives the same bytes."""

from typing import Annotated, Any

import msgspec

from partita_systems.fields import Line
from partita_systems.nbhd import design as d

FORMAT = 1


class SiteSource(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What an owner decides about a site; everything else follows from it, or from builds."""

    format: Annotated[int, msgspec.Meta(ge=FORMAT, le=FORMAT)] = FORMAT
    title: d.Name
    template: d.Name
    subdomain: Annotated[Line, msgspec.Meta(max_length=63)]
    config: dict[str, Any]


def source_of(site: d.Site) -> SiteSource:
    return SiteSource(title=site.title, template=site.template, subdomain=site.subdomain, config=site.config)


def written(value: object) -> bytes:
    """JSON with sorted members, a member a line, and a newline at the end.

    >>> print(written({"title": "봄", "config": {"b": 1, "a": []}}).decode(), end="")
    {
      "config": {
        "a": [],
        "b": 1
      },
      "title": "봄"
    }
    """
    encoder = msgspec.json.Encoder(order="sorted", decimal_format="number")
    return msgspec.json.format(encoder.encode(value), indent=2) + b"\n"
