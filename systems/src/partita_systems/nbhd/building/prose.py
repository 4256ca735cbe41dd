"""The text of a post as HTML: paragraphs, lists and addresses; everything else is shown as it is.

>>> print(prose("Two loaves.\\n\\n- flour\\n- water"))
<p>Two loaves.</p><ul><li>flour</li><li>water</li></ul>
"""

import re

from partita_systems.nbhd.building.html import Html, element, joined

_ITEM = re.compile(r"[-*•] +([^ ].*)")
_ADDRESS = re.compile(r"https?://[^\s<>\"'`\\]*[^\s<>\"'`\\.,;:!?)\]]")


def prose(text: str) -> Html:
    """Paragraphs are separated by blank lines; lines that begin with `- ` are a list."""
    return joined(*(_block(block.splitlines()) for block in re.split(r"\n\s*\n", text.strip()) if block.strip()))


def excerpt(text: str, length: int = 180) -> str:
    """The first paragraph of a text in one line, cut at a word.

    >>> excerpt("One two three", 9), excerpt("One.\\n\\nTwo.")
    ('One two …', 'One.')
    """
    line = " ".join(re.split(r"\n\s*\n", text.strip(), maxsplit=1)[0].split())
    if len(line) <= length:
        return line
    return f"{line[:length].rsplit(' ', 1)[0]} …"


def _block(lines: list[str]) -> Html:
    items = [_ITEM.fullmatch(line.strip()) for line in lines]
    if all(items):
        return element("ul", *(element("li", _linked(item[1])) for item in items if item))
    broken = [part for line in lines for part in (element("br"), _linked(line.strip()))][1:]
    return element("p", *broken)


def _linked(line: str) -> Html:
    """The line, with its addresses as links."""
    parts: list[str | Html] = []
    end = 0
    for found in _ADDRESS.finditer(line):
        shown = found[0].split("://", 1)[1].rstrip("/")
        parts += [line[end : found.start()], element("a", shown, href=found[0], rel="nofollow noopener")]
        end = found.end()
    return joined(*parts, line[end:])
