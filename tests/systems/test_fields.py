"""The shared text fields: blank lines, control characters and addresses that are not of the web are rejected."""

import re
from typing import Any

import msgspec
import pytest

from partita import InvalidValue, convert
from partita_systems import fields
from tests.timing import thread_seconds

GOOD_LINES = [
    "a",
    "  a ",
    "Receitas de família",
    "한국어",
    "👩‍👩‍👧",
    "ⵣ",
    "a\u200db",
    "\u2066\u05d0\u05d1\u2069",
    "0",
    "<b>",
]
BLANK = ["", " ", "\u00a0\u3000", "\u200b", "\u2800", "\ufeff", "\u3164\u115f", "\u00ad", "\u200e \u200f"]
BROKEN_LINES = ["a\nb", "a\n", "\na", "a\tb", "a\x00", "\x7f", "a\x85b", "a\u2028b", "a\u202eb", "\x1b[31ma"]
GOOD_TEXTS = ["a\nb", "\n\ta\r\n", "a\u2028b", *GOOD_LINES]
BROKEN_TEXTS = ["a\x00b", "\x08a", "a\x1b", "a\x9f", "a\x0b"]
WEB = [
    "https://example.com",
    "HTTP://example.com:8080/a/b?c=d#e",
    "https://bücher.example/ä?q=서울",
    "http://[::1]:8000/",
    "https://example.com./x;y=(1)!$&'*+,~%20@home",
    "http://localhost",
]
NOT_WEB = [
    "javascript:alert(1)",
    " javascript:alert(1)",
    "data:text/html,x",
    "ftp://example.com",
    "https:/example.com",
    "https://",
    "https:///a",
    "//example.com",
    "not a url",
    "https://a b",
    "https://user:password@example.com",
    "https://example.com/\n",
    "https://exa\tmple.com",
    "https:\\\\example.com",
    "https://example.com\\@evil.example",
    "https://example.com/<script>",
    'https://example.com/"onload="',
    "https://example..com",
    "https://example.com:port/",
    "",
]


def accepts(kind: Any, value: str) -> bool:
    try:
        return bool(convert(value, kind, "Post", "title") == value)
    except InvalidValue:
        return False


@pytest.mark.parametrize("value", GOOD_LINES)
def test_a_line_in_any_script_is_accepted(value: str) -> None:
    assert accepts(fields.Line, value)


@pytest.mark.parametrize("value", [*BLANK, *BROKEN_LINES])
def test_a_blank_or_broken_line_is_rejected(value: str) -> None:
    assert not accepts(fields.Line, value)


@pytest.mark.parametrize("value", GOOD_TEXTS)
def test_paragraphs_may_have_line_breaks_and_tabs(value: str) -> None:
    assert accepts(fields.Paragraphs, value)
    assert accepts(fields.FreeText, value)


@pytest.mark.parametrize("value", [*BLANK, "\n\t\r\n", "\u2028", *BROKEN_TEXTS])
def test_blank_paragraphs_and_control_characters_are_rejected(value: str) -> None:
    assert not accepts(fields.Paragraphs, value)


@pytest.mark.parametrize("value", BROKEN_TEXTS)
def test_free_text_may_be_empty_but_has_no_control_characters(value: str) -> None:
    assert not accepts(fields.FreeText, value)
    assert accepts(fields.FreeText, "")


@pytest.mark.parametrize("value", WEB)
def test_an_address_of_the_web_is_accepted(value: str) -> None:
    assert accepts(fields.HttpUrl, value)
    assert accepts(fields.HttpsUrl, value) == value.lower().startswith("https:")


@pytest.mark.parametrize("value", NOT_WEB)
def test_another_address_is_rejected(value: str) -> None:
    assert not accepts(fields.HttpUrl, value)
    assert not accepts(fields.HttpsUrl, value)


@pytest.mark.parametrize("value", ["ana", "@b.example", "a@", "a@b@c", "a b@c", "a@b\n", "a\x00@b", "a\u202e@b"])
def test_an_email_address_has_a_name_and_a_host(value: str) -> None:
    assert accepts(fields.Email, "ana@example.com")
    assert not accepts(fields.Email, value)


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        (fields.Line, "a\nb", "must be one line of text: not blank, without line breaks and control characters"),
        (fields.Paragraphs, "\x00", "must be text: not blank, without control characters other than line breaks"),
        (fields.FreeText, "\x00", "must not contain control characters other than line breaks and tabs"),
        (fields.HttpUrl, "javascript:x", "must be a web address such as https://example.com/page"),
        (fields.HttpsUrl, "http://x.example", "must be a web address that begins with https://"),
    ],
)
def test_the_error_says_the_rule_instead_of_the_pattern(kind: Any, value: str, reason: str) -> None:
    with pytest.raises(InvalidValue, match=re.escape(f"Post.title: {reason}")):
        convert(value, kind, "Post", "title")


@pytest.mark.parametrize("kind", ["Line", "Paragraphs", "FreeText", "HttpUrl", "HttpsUrl", "Email"])
@pytest.mark.parametrize("unit", [" ", "a", "a ", ".", "a.", "\u200b", "/", ":1"])
def test_a_long_value_is_checked_in_linear_time(kind: str, unit: str) -> None:
    """A pattern that backtracks would need hours for this."""
    (pattern,) = (each.pattern for each in getattr(fields, kind).__metadata__ if isinstance(each, msgspec.Meta))
    assert thread_seconds(lambda: re.search(pattern or "", "https://" + unit * 200_000 + "\x00")) < 10
