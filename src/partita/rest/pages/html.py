"""HTML pages: a common style, and a content security policy under which a page loads nothing from other hosts.

A page is one HTML document that contains its style and its script. The policy names both by their digests, so a browser
runs no other script, and none at all on a page without one.
"""

from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files


def asset(name: str) -> str:
    """The text of a style sheet or a script in this folder."""
    return files("partita.rest.pages").joinpath(name).read_text("utf-8")


_STYLE = asset("html.css")


def html_page(title: str, style: str, body: str, script: str = "") -> str:
    """A whole page; `style` follows the common style."""
    whole = _STYLE + style
    return (
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width,initial-scale=1'>"
        f'<meta http-equiv=Content-Security-Policy content="{_policy(whole, script)}"><link rel=icon href="data:,">'
        f"<title>{escape(title)}</title><style>{whole}</style></head>\n<body>{body}"
        f"{f'<script>{script}</script>' if script else ''}</body></html>\n"
    )


def _policy(style: str, script: str) -> str:
    scripts = f"script-src {_digest(script)}; connect-src 'self'; " if script else ""
    return (
        f"default-src 'none'; style-src {_digest(style)}; {scripts}img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
