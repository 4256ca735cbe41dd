"""Building a site is a pure function: any config gives pages that are escaped, or an error that names the place."""

import json
import random
from datetime import date
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita import InvalidValue
from partita_systems.nbhd.building.build import build, content_type, packed, unpacked
from partita_systems.nbhd.building.colors import READABLE, accent
from partita_systems.nbhd.building.html import element
from partita_systems.nbhd.building.templates import TEMPLATES, checked_template

TODAY = date(2026, 11, 18)
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><script>alert(1)</script>",
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "]]><!--",
    "&lt;b&gt;",
    "봄 시장",
)
SAFE_TAGS = set(
    "html head meta title link body a header div h1 p main article h2 h3 time span img ul li ol footer dl dt dd "
    "section strong br b".split()
)
SAFE_ATTRIBUTES = set(
    "charset name content property rel href type lang class id src alt loading decoding datetime aria-hidden".split()
)


class _Markup(HTMLParser):
    """Everything that a browser would see in a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.text += data


def config_of(text: str) -> dict[str, Any]:
    """A config with the same text wherever a text is allowed."""
    post = {"title": text, "text": f"{text}\n\n- {text}", "place": text, "image_text": text, "date": "2026-11-20"}
    return {
        "author": text,
        "tagline": text,
        "about": text,
        "links": [{"label": text, "url": "https://example.com/?a=1&b='2'"}],
        "posts": [post, post | {"image": "https://example.com/a.jpg"}, {"title": text}],
        "custom_fields": {text: text, "number": 3, "yes": True, "nested": {"a": 1}},
    }


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_a_config_are_shown_and_never_markup(template: str, text: str) -> None:
    done = build(text, template, config_of(text), TODAY)
    assert done.error is None
    for path, data in done.files.items():
        if path.endswith(".html"):
            markup = _Markup(data.decode())
            assert markup.tags <= SAFE_TAGS
            assert markup.attributes <= SAFE_ATTRIBUTES
            assert all(not each.lower().startswith(("javascript", "data", "//")) for each in markup.addresses)
            assert text in markup.text
    assert "alert" not in done.files["style.css"].decode()


@given(st.text(min_size=1, max_size=40), st.sampled_from(sorted(TEMPLATES)))
def test_any_text_builds_safely_or_is_an_error(text: str, template: str) -> None:
    done = build("Title", template, config_of(text), TODAY)
    if done.error is not None:
        assert done.error.startswith("config")
        assert done.files == {}
        return
    for path, data in done.files.items():
        assert ".." not in path.split("/")
        assert content_type(path)
        if path.endswith(".html"):
            markup = _Markup(data.decode())
            assert markup.tags <= SAFE_TAGS
            assert markup.attributes <= SAFE_ATTRIBUTES


@pytest.mark.parametrize(
    ("config", "where"),
    [
        ({"posts": [{"title": "a", "url": "javascript:alert(1)"}]}, "config.posts[0].url"),
        ({"posts": [{"title": "a"}, {"title": "b", "image": "data:text/html,x"}]}, "config.posts[1].image"),
        ({"links": [{"label": "a", "url": "//evil.example"}]}, "config.links[0].url"),
        ({"accent_color": "red;} body{background:url(//evil)}"}, "config.accent_color"),
        ({"accent_color": "expression(alert(1))"}, "config.accent_color"),
        ({"language": 'en" onload="x'}, "config.language"),
        ({"posts": "none"}, "config.posts"),
        ({"posts": [{"title": "a", "date": "soon"}]}, "config.posts[0].date"),
        ({"posts": [{"title": "a"}] * 201}, "config.posts"),
        ({"posts": [{"title": ""}]}, "config.posts[0].title"),
    ],
)
def test_a_config_that_does_not_fit_fails_and_names_the_place(config: dict[str, Any], where: str) -> None:
    done = build("Title", "blog", config, TODAY)
    assert done.error is not None
    assert done.error.startswith(f"{where}: ")
    assert done.log[-1] == f"failed: {done.error}"


def test_an_unknown_template_is_rejected_naming_the_field() -> None:
    with pytest.raises(InvalidValue, match=r"Site.template: 'shop' is not a template; use blog, portfolio, events"):
        checked_template("shop")
    assert "'shop' is not a template" in (build("Title", "shop", {}, TODAY).error or "")


def test_the_log_says_what_was_built_and_what_was_ignored() -> None:
    config = {"posts": [{"title": "One"}], "theme": "dark", "custom_fields": {"list": [1]}}
    assert [line.partition(":")[0] for line in build("T", "blog", config, TODAY).log] == [
        *("template blog", "config", "config.theme", "config.custom_fields.list"),
        *("index.html", "posts/one.html", "style.css", "icon.svg", "built 4 files"),
    ]


def test_posts_with_the_same_title_have_pages_of_their_own() -> None:
    titles = ["A", "a", "A-2", "!!!", "../../etc/passwd", "봄 시장", "x" * 200]
    done = build("T", "blog", {"posts": [{"title": each} for each in titles]}, TODAY)
    pages = [path for path in done.files if path.startswith("posts/")]
    assert pages[:6] == [
        *("posts/a.html", "posts/a-2.html", "posts/a-2-2.html", "posts/post.html", "posts/etc-passwd.html"),
        "posts/봄-시장.html",
    ]
    assert len(pages) == 7


def test_events_of_the_past_come_after_those_that_come() -> None:
    posts = [{"title": day, "date": day} for day in ("2026-11-17", "2026-11-18", "2027-01-01", "2025-01-01")]
    page = build("T", "events", {"posts": posts}, TODAY).files["index.html"].decode()
    places = [page.index(f">{day}</a>") for day in ("2026-11-18", "2027-01-01", "2026-11-17", "2025-01-01")]
    assert places == sorted(places)


def test_the_same_site_gives_the_same_bytes_and_archives_open_again() -> None:
    first, second = (build("T", "portfolio", config_of("x"), TODAY).files for _ in range(2))
    assert packed(first) == packed(second)
    assert unpacked(packed(first)) == first


def test_an_element_refuses_addresses_and_attributes_that_run_code() -> None:
    for bad in ("javascript:x", "JAVASCRIPT:x", " javascript:x", "data:text/html,x", "//evil", "java\nscript:x", "a:b"):
        with pytest.raises(ValueError, match="not an address"):
            element("a", href=bad)
    for attribute in ("onclick", "style"):
        with pytest.raises(ValueError, match="may not have"):
            element("a", **{attribute: "x"})


def test_accents_can_be_read_on_light_and_dark_pages() -> None:
    def luminance(color: str) -> float:
        parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(one: str, other: str) -> float:
        low, high = sorted((luminance(one), luminance(other)))
        return (high + 0.05) / (low + 0.05)

    choice = random.Random(5)
    for _ in range(200):
        shades = accent(f"#{choice.randrange(2**24):06x}")
        assert contrast(shades.on_light, "#ffffff") >= READABLE - 0.05
        assert contrast(shades.on_dark, "#14171a") >= READABLE - 0.05
        assert contrast(shades.on_plain, shades.plain) >= READABLE


def test_a_config_of_the_largest_size_builds() -> None:
    config = {"posts": [{"title": f"Post {number}", "text": "word " * 240} for number in range(200)]}
    assert len(json.dumps(config)) < 256 * 1024
    assert build("T", "blog", config, TODAY).error is None
