"""The way in: which systems are served here, as a page for people at `/` and as JSON for programs at `/api`."""

import re
from collections.abc import Iterable
from html import escape
from typing import Any

import msgspec

from partita.rest.api import Api
from partita.rest.pages.html import asset, html_page

PATHS = frozenset({b"/", b"/api", b"/api/"})

_STYLE = asset("home.css")
_is_host = re.compile(r"[A-Za-z0-9.:\[\]_-]+\Z").match  # what may stand in a line that somebody puts into a shell


def api_list(apis: Iterable[Api[Any]]) -> bytes:
    """Each system with its sentence and the way to its documentation."""
    return msgspec.json.encode(
        [
            {
                "name": api.name,
                "title": api.title,
                "about": api.about,
                "docs": f"/api/{api.name}/docs",
                "openapi": f"/api/{api.name}/openapi.json",
            }
            for api in apis
        ]
    )


def home_page(apis: Iterable[Api[Any]], scheme: str, host: str) -> str:
    """The page in HTML; `scheme` and `host` are those by which the reader has come."""
    listed = "".join(
        f"<li><h2><a href='/api/{escape(api.name)}/docs'>{escape(api.title)}</a></h2><p>{escape(api.about)}</p>"
        f"<p class=ways><code class=faint>/api/{escape(api.name)}/</code>"
        f"<a href='/api/{escape(api.name)}/docs'>docs</a>"
        f"<a href='/api/{escape(api.name)}/openapi.json'>openapi.json</a></p></li>\n"
        for api in apis
    )
    address = f"{scheme}://{host if _is_host(host) else 'localhost:8000'}"
    return html_page(
        "Partita",
        _STYLE,
        "<main><h1>Partita</h1>\n<p>These systems are served here over REST. Each has a page where all its operations "
        "can be read and tried, and an OpenAPI description; "
        f"<a href='/api'>/api</a> lists them as JSON.</p>\n<ul class=systems>{listed}</ul>\n"
        "<h2>DynamoDB on the same port</h2>\n<p>The tables of these systems can be reached at this very address, with "
        "any SDK or with the AWS CLI:</p>\n"
        "<pre tabindex=0>aws dynamodb list-tables --no-sign-request --region us-east-1 "
        f"--endpoint-url {escape(address)}</pre>\n"
        "<h2>Is it well?</h2>\n<p><a href='/health'>/health</a> says so, in plain text; <code>/</code> says the same "
        "to whoever does not ask for HTML.</p></main>\n",
    )
