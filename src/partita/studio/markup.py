"""HTML and SVG by construction: text is escaped, and nothing else than elements of this module is markup.

`el("a", "A & B", href="/x", cls="wide")` is `<a href="/x" class="wide">A &amp; B</a>`. A page has a strict content
security policy, so inline scripts, handlers and styles are errors here, and so are links that leave the studio.
"""

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "wbr"})
_LINKS = frozenset({"href", "src", "action", "formaction"})
_RAW_TEXT = frozenset({"script", "style"})


class Markup:
    """A piece of a page, escaped already."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


Child: TypeAlias = "Markup | str | int | Iterable[Child] | None"
Value: TypeAlias = str | int | float | bool | None

NOTHING = Markup("")


def el(name: str, /, *children: Child, **attributes: Value) -> Markup:
    """An element; `cls` is its class, and an underscore in the name of an attribute is a hyphen.

    An attribute that is None or False is left out. The URL of a link begins with `/`, `?`, `#` or `data:,`.

    >>> str(el("p", "1 < 2", el("br"), hidden=True, data_x=1, title=None))
    '<p hidden data-x="1">1 &lt; 2<br></p>'
    """
    opening = f"<{name}{''.join(_attribute(each, value) for each, value in attributes.items())}>"
    if name in VOID:
        return Markup(opening)
    if name in _RAW_TEXT and children:
        raise ValueError(f"<{name}> has a file of its own: the policy of the page forbids inline code")
    return Markup(f"{opening}{join(children)}</{name}>")


def join(children: Child, separator: str = "") -> Markup:
    """Several pieces as one.

    >>> str(join(["<", el("b", "x")], ", "))
    '&lt;, <b>x</b>'
    """
    if isinstance(children, Markup):
        return children
    if children is None:
        return NOTHING
    if isinstance(children, str | int):
        return Markup(escape(_visible(str(children))))
    return Markup(escape(separator).join(str(join(each)) for each in children))


def _visible(text: str) -> str:
    """Text that UTF-8 can hold, without the characters that HTML forbids."""
    if text.isprintable():
        return text
    return "".join("\ufffd" if "\ud800" <= each <= "\udfff" or each == "\0" else each for each in text)


def _attribute(name: str, value: Value) -> str:
    if value is None or value is False:
        return ""
    name = "class" if name == "cls" else name.rstrip("_").replace("_", "-")
    if name == "style" or name.startswith("on"):
        raise ValueError(f"the attribute {name} is inline code, which the policy of the page forbids")
    if value is True:
        return f" {name}"
    text = str(value)
    if (name in _LINKS and not text.startswith(("/", "?", "#", "data:,"))) or text.startswith("//"):
        raise ValueError(f"{name}={text!r} leads out of the studio")
    return f' {name}="{escape(_visible(text))}"'
