"""The templates of sites: each is a style sheet and functions from a site to pages.

A template is registered here. All of them read the same config, so a site can change its template at any time.
"""

from collections.abc import Callable, Mapping
from datetime import date
from itertools import groupby
from typing import NamedTuple

from partita import InvalidValue
from partita_systems.nbhd.building.html import Html, element, joined
from partita_systems.nbhd.building.layout import (
    MONTHS,
    PageHead,
    SitePages,
    image,
    newest_first,
    page,
    place,
    post_page,
    when,
)
from partita_systems.nbhd.building.prose import excerpt
from partita_systems.nbhd.building.site_config import Post


class Template(NamedTuple):
    """`first_page` renders the content of the first page, `back` is how other pages lead to it."""

    name: str
    about: str
    first_page: Callable[[SitePages], Html]
    back: str


def render(template: Template, site: SitePages) -> dict[str, str]:
    """The pages of a site, by path."""
    head = PageHead(site.title, site.config.tagline or excerpt(site.config.about) or site.title)
    pages = {"index.html": page(site, head, template.first_page(site))}
    return pages | {path: post_page(site, post, template.back) for path, post in site.addressed_posts}


# blog: one column of posts, newest first


def _blog(site: SitePages) -> Html:
    posts = newest_first(site.addressed_posts)
    if not posts:
        return _empty("Nothing has been written yet.")
    return element("div", *(_entry(path, post, site) for path, post in posts), class_="entries")


def _entry(path: str, post: Post, site: SitePages) -> Html:
    return element(
        "article",
        element("p", when(post, site.config.language), place(post), class_="meta") if post.date else None,
        element("h2", element("a", post.title, href=path)),
        image(post, lazy=True),
        element("p", excerpt(post.text), class_="excerpt") if post.text.strip() else None,
        class_="entry",
    )


# portfolio: a grid of works


def _portfolio(site: SitePages) -> Html:
    if not site.config.posts:
        return _empty("No work is shown yet.")
    return element("ul", *(_work(path, post) for path, post in site.addressed_posts), class_="works")


def _work(path: str, post: Post) -> Html:
    shown = image(post, lazy=True) or element("span", post.title[:1], class_="tile", aria_hidden="true")
    year = element("span", str(post.date.year), class_="meta") if post.date else None
    return element(
        "li",
        element("a", shown, element("span", element("strong", post.title), year, class_="caption"), href=path),
        class_="work",
    )


# events: what comes, by month, and what was


def _events(site: SitePages) -> Html:
    dated = sorted((each for each in site.addressed_posts if each[1].date), key=lambda each: each[1].date or date.min)
    coming = [each for each in dated if each[1].date and each[1].date >= site.today]
    past = [each for each in dated if each[1].date and each[1].date < site.today][::-1]
    undated = [each for each in site.addressed_posts if each[1].date is None]
    if not site.config.posts:
        return _empty("Nothing is planned yet.")
    return joined(
        _section("Coming up", coming, site) if coming else _empty("Nothing is planned yet."),
        _section("Any time", undated, site) if undated else None,
        _section("Past", past, site) if past else None,
    )


def _section(title: str, posts: list[tuple[str, Post]], site: SitePages) -> Html:
    months = groupby(posts, key=lambda each: each[1].date and (each[1].date.year, each[1].date.month))
    return element(
        "section",
        element("h2", title),
        *(element("ol", *(_event(path, post) for path, post in group), class_="month") for _, group in months),
        class_=f"events {title.split(maxsplit=1)[0].lower()}",
    )


def _event(path: str, post: Post) -> Html:
    day = post.date
    stub = None
    if day is not None:
        month, number = element("span", MONTHS[day.month - 1][:3]), element("b", str(day.day))
        stub = element("time", month, number, element("span", str(day.year)), datetime=day.isoformat(), class_="stub")
    text = element("p", excerpt(post.text, 140), class_="excerpt") if post.text.strip() else None
    about = element("div", element("h3", element("a", post.title, href=path)), place(post), text)
    return element("li", stub, about, class_="event")


def _empty(text: str) -> Html:
    return element("p", text, class_="empty")


TEMPLATES: Mapping[str, Template] = {
    each.name: each
    for each in (
        Template("blog", "posts in one column, newest first", _blog, "All posts"),
        Template("portfolio", "works in a grid, in the order of the config", _portfolio, "All works"),
        Template("events", "events by date, the next one first, and those of the past", _events, "All events"),
    )
}


def checked_template(name: str) -> str:
    """The name of a template that the builder has."""
    if name not in TEMPLATES:
        raise InvalidValue("Site", f"{name!r} is not a template; use {', '.join(TEMPLATES)}", "template")
    return name
