"""HTML that is escaped by construction: text becomes markup only through `element`.

>>> element("a", "<Ben & Jo>", href="https://example.com/?a=1&b=2", class_="name")
'<a href="https://example.com/?a=1&amp;b=2" class="name">&lt;Ben &amp; Jo&gt;</a>'
>>> element("a", "click", href="javascript:alert(1)")
Traceback (most recent call last):
ValueError: 'javascript:alert(1)' is not an address that a page may have
"""

import re
from html import escape
from typing import Literal

VOID = frozenset({"br", "img", "link", "meta"})
_ADDRESSES = ("href", "src")
# A web address, a mail address, or a relative path: a name without a colon before its first slash.
_is_address = re.compile(r"(?i:https?://|mailto:)[^\s\\]+|(?!//)[^\s\\:]*").fullmatch


class Html(str):
    """Markup. Only `element`, `joined` and `document` create it."""

    __slots__ = ()


Child = str | Html | None
Attribute = str | Literal[True] | None


def element(tag: str, *children: Child, **attributes: Attribute) -> Html:
    """An element; text in it is escaped, None is left out. `class_` is `class`, `aria_label` is `aria-label`."""
    begin = f"<{tag}{''.join(_attribute(name, value) for name, value in attributes.items())}>"
    return Html(begin if tag in VOID else f"{begin}{joined(*children)}</{tag}>")


def joined(*children: Child) -> Html:
    """Several children, one after the other."""
    return Html("".join(each if isinstance(each, Html) else escape(each) for each in children if each is not None))


def document(root: Html) -> str:
    """A complete file of HTML."""
    return f"<!doctype html>\n{root}\n"


def _attribute(name: str, value: Attribute) -> str:
    if value is None:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    if name in _ADDRESSES and _is_address(value) is None:
        raise ValueError(f"{value!r} is not an address that a page may have")
    if name == "style" or name.startswith("on"):
        raise ValueError(f"a page may not have the attribute {name}")
    return f' {name}="{escape(value)}"'
