r"""Text fields of requests and entities that several systems share.

Their patterns also work in JavaScript, so that clients can check them by the OpenAPI description: `(?![\s\S])` is the
end of the text (`$` in Python also matches before a final newline).
"""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from partita import convert, describe_pattern

_SPACES = r" \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_INVISIBLE = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0"
)
_BLANK = _SPACES + _INVISIBLE
# Overrides of the writing direction (U+202A to U+202E) change how the text around a line is shown.
_NOT_IN_LINES = r"\x00-\x1f\x7f-\x9f\u2028-\u202e"
_NOT_IN_TEXTS = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_END = r"(?![\s\S])"
_HOST = r"[^\s\x00-\x20/?#\\@:<>\"'`|^{}%.\[\]]+"
_REST = r"(?::[0-9]{1,5})?(?:[/?#][^\s\x00-\x20\x7f-\x9f\\<>\"`^{}|]*)?"
_ADDRESS = rf"://(?:{_HOST}(?:\.{_HOST})*\.?|\[[0-9A-Fa-f:.]+\]){_REST}{_END}"

LINE = describe_pattern(
    rf"^[{_BLANK}]*[^{_BLANK}{_NOT_IN_LINES}][^{_NOT_IN_LINES}]*{_END}",
    "must be one line of text: not blank, without line breaks and control characters",
)
PARAGRAPHS = describe_pattern(
    rf"^[\t\n\r\u2028\u2029{_BLANK}]*[^\t\n\r\u2028\u2029{_BLANK}{_NOT_IN_TEXTS}][^{_NOT_IN_TEXTS}]*{_END}",
    "must be text: not blank, without control characters other than line breaks and tabs",
)
FREE_TEXT = describe_pattern(
    rf"^[^{_NOT_IN_TEXTS}]*{_END}", "must not contain control characters other than line breaks and tabs"
)
HTTP_URL = describe_pattern(
    rf"^[Hh][Tt][Tt][Pp][Ss]?{_ADDRESS}", "must be a web address such as https://example.com/page"
)
HTTP_URL_OR_PATH = describe_pattern(
    rf"^(?:[Hh][Tt][Tt][Pp][Ss]?{_ADDRESS}|/(?!/)[^\s\x00-\x20\x7f-\x9f\\<>\"`^{{}}|]*{_END})",
    "must be a web address such as https://example.com/page, or a path on this server such as /page",
)
HTTPS_URL = describe_pattern(
    rf"^[Hh][Tt][Tt][Pp][Ss]{_ADDRESS}",
    "must be a web address that begins with https://, such as https://example.com/page",
)
EMAIL = describe_pattern(
    rf"^[^@\s{_NOT_IN_LINES}]+@[^@\s{_NOT_IN_LINES}]+{_END}", "must be an e-mail address such as ana@example.com"
)

Line = Annotated[str, Meta(min_length=1, pattern=LINE)]
"""One line that is not blank: a name, a title, an id."""
Paragraphs = Annotated[str, Meta(min_length=1, pattern=PARAGRAPHS)]
"""Text that is not blank, in any number of lines: a comment, an article."""
FreeText = Annotated[str, Meta(pattern=FREE_TEXT)]
"""Text in any number of lines that may be empty: a summary, a biography."""
HttpUrl = Annotated[str, Meta(max_length=2_000, pattern=HTTP_URL)]
"""An address with http:// or https://, without a user name; `javascript:` and `data:` addresses are rejected."""
HttpUrlOrPath = Annotated[str, Meta(max_length=2_000, pattern=HTTP_URL_OR_PATH)]
"""An address with http:// or https://, or an absolute path on the same server."""
HttpsUrl = Annotated[str, Meta(max_length=2_000, pattern=HTTPS_URL)]
"""An address with https://."""
Email = Annotated[str, Meta(min_length=3, max_length=254, pattern=EMAIL)]
"""An e-mail address: a name, @, and a host."""


def check_texts(value: Any, entity: str, *path: str | int) -> None:
    """Checks the texts and names in an untyped value, at any depth; raises InvalidValue that names the place.

    >>> check_texts({"size": ["10 mm", "\\x00"]}, "Part", "data")
    Traceback (most recent call last):
    partita.errors.InvalidValue: Part.data.size[1]: must not contain control characters other than line breaks and tabs
    """
    match value:
        case str():
            convert(value, _FREE_TEXT, entity, *path)
        case list():
            for number, each in enumerate(value):
                check_texts(each, entity, *path, number)
        case Mapping():
            for name, each in value.items():
                convert(name, _LINE, entity, *path)
                check_texts(each, entity, *path, name)


_LINE: Any = Line
_FREE_TEXT: Any = FreeText
