"""The home page: a list of the APIs that are served, as HTML for browsers and as JSON for programs."""

import re
from collections.abc import Iterable
from html import escape
from typing import Any

import msgspec

from partita.rest.api import Api
from partita.rest.pages.html import asset, html_page

_STYLE = asset("home.css")
_is_address = re.compile(r"https?://[A-Za-z0-9.:\[\]_-]+\Z").match  # safe in a command that is pasted into a shell


def api_list(apis: Iterable[Api[Any]], base: str) -> bytes:
    """Each API with its description and the addresses of its documentation; they are all below `base`."""
    return msgspec.json.encode(
        [
            {
                "name": api.name,
                "title": api.title,
                "about": api.about,
                "docs": f"{base}/{api.name}/docs",
                "openapi": f"{base}/{api.name}/openapi.json",
            }
            for api in apis
        ]
    )


def home_page(
    apis: Iterable[Api[Any]], root: str, prefix: str, dynamodb: str | None = None, *, studio: bool = False
) -> str:
    """The page in HTML; `dynamodb` is the address of DynamoDB's protocol, where it is served on the same port.

    `studio` is whether the studio is served there, too.
    """
    base = escape(f"{root}{prefix}")
    listed = "".join(
        f"<li><h2><a href='{base}/{name}/docs'>{escape(api.title)}</a></h2><p>{escape(api.about)}</p>"
        f"<p class=ways><code class=faint>{base}/{name}/</code>"
        f"<a href='{base}/{name}/docs'>Documentation</a>"
        f"<a href='{base}/{name}/openapi.json'>OpenAPI</a></p></li>\n"
        for api in apis
        for name in [escape(api.name)]
    )
    return html_page(
        "Partita",
        _STYLE,
        "<main><h1>Partita</h1>\n<p>REST APIs on this server. Each has a documentation page, where every operation can "
        f"be tried, and an OpenAPI description. <a href='{base or '/'}'>{base or '/'}</a> is this list as JSON.</p>\n"
        f"<ul class=systems>{listed}</ul>\n{_studio(root) if studio else ''}{_dynamodb(dynamodb)}</main>\n",
    )


def _studio(root: str) -> str:
    return (
        f"<h2>Studio</h2>\n<p><a href='{escape(root)}/studio'>The studio</a> shows the designs and their data. "
        "It asks for the token that the server has printed.</p>\n"
    )


def _dynamodb(address: str | None) -> str:
    if address is None:
        return ""
    shown = address if _is_address(address) else "http://localhost:8000"
    return (
        "<h2>DynamoDB</h2>\n<p>The tables behind these APIs are served on the same port over DynamoDB's protocol. Use "
        "any AWS SDK, or the AWS CLI:</p>\n"
        "<pre tabindex=0>aws dynamodb list-tables --no-sign-request --region us-east-1 "
        f"--endpoint-url {escape(shown)}</pre>\n"
        "<h2>Health check</h2>\n<p><a href='/health'>/health</a> responds with 200 and plain text. So does "
        "<code>/</code> to a client that does not accept HTML.</p>\n"
    )
