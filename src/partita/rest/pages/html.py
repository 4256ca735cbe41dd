"""What every page has around its text: one style, and a content policy that lets it fetch nothing from elsewhere.

A page is one HTML text that holds its style and its script; the policy names both by their digests, so that a browser
takes no other, and a page without a script may run none.
"""

from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files


def asset(name: str) -> str:
    """The text of a style or a script that lies in this folder."""
    return files("partita.rest.pages").joinpath(name).read_text("utf-8")


_STYLE = asset("html.css")


def html_page(title: str, style: str, body: str, script: str = "") -> str:
    """The page in HTML; `style` comes after the one that all pages share."""
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
