"""Shared by all templates: the frame of a page, dates, the addresses of posts."""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from partita import InvalidValue
from partita_systems.nbhd.building.html import Child, Html, document, element, joined
from partita_systems.nbhd.building.prose import excerpt, prose
from partita_systems.nbhd.building.site_config import Post, SiteConfig
from partita_systems.nbhd.validation import slug_of

MAX_NAME = 60  # characters of a file name that come from a title


class SitePages(NamedTuple):
    """What a template renders: a site with its config, on a day."""

    title: str
    config: SiteConfig
    today: date

    @property
    def addressed_posts(self) -> list[tuple[str, Post]]:
        """The posts with their paths; two posts never share one."""
        taken: set[str] = set()
        return [(_path_of(post, taken), post) for post in self.config.posts]


class PageHead(NamedTuple):
    """The title and description of a page; `base` leads from the page to the root of the site."""

    title: str
    description: str
    base: str = ""


def page(site: SitePages, head: PageHead, *body: Child) -> str:
    """A complete page: the header and footer are those of the site."""
    config, base = site.config, head.base
    return document(
        element(
            "html",
            element(
                "head",
                element("meta", charset="utf-8"),
                element("meta", name="viewport", content="width=device-width, initial-scale=1"),
                element("title", head.title),
                element("meta", name="description", content=head.description),
                element("meta", property="og:title", content=head.title),
                element("meta", property="og:description", content=head.description),
                element("meta", name="color-scheme", content="light dark"),
                element("link", rel="icon", href=f"{base}icon.svg", type="image/svg+xml"),
                element("link", rel="stylesheet", href=f"{base}style.css"),
            ),
            element(
                "body",
                element("a", "Skip to content", href="#content", class_="skip"),
                _header(site, base),
                element("main", *body, id="content"),
                _footer(site, base),
            ),
            lang=config.language,
        )
    )


def _header(site: SitePages, base: str) -> Html:
    config = site.config
    is_home = not base
    name = element("a", site.title, href=f"{base}index.html", class_="name")
    return element(
        "header",
        element("div", element("h1" if is_home else "p", name, class_="site"), _tagline(config), class_="wide"),
        class_="top" if is_home else "top small",
    )


def _tagline(config: SiteConfig) -> Html | None:
    text = config.tagline or config.author
    return element("p", text, class_="tagline") if text else None


def _footer(site: SitePages, base: str) -> Html:
    config = site.config
    links = [element("li", element("a", each.label, href=each.url, rel="me noopener")) for each in config.links]
    fields = [joined(element("dt", name), element("dd", text)) for name, text in config.shown_fields.items()]
    about = element("div", prose(config.about), class_="about") if config.about.strip() else None
    return element(
        "footer",
        element(
            "div",
            about,
            element("dl", *fields) if fields else None,
            element("ul", *links, class_="links") if links else None,
            element(
                "p",
                element("a", site.title, href=f"{base}index.html"),
                f" · {config.author}" if config.author else None,
                " · a site on nbhd.city",
                class_="colophon",
            ),
            class_="wide",
        ),
    )


def post_page(site: SitePages, post: Post, label: str) -> str:
    """The page of one post; `label` names the way back."""
    head = PageHead(f"{post.title} · {site.title}", excerpt(post.text) or post.title, "../")
    return page(
        site,
        head,
        element(
            "article",
            element("p", when(post, site.config.language), place(post), class_="meta") if post.date else None,
            element("h1", post.title),
            image(post),
            element("div", prose(post.text), class_="prose"),
            element("p", element("a", host_of(post.url), href=post.url, rel="noopener")) if post.url else None,
            element("p", element("a", f"← {label}", href="../index.html"), class_="back"),
            class_="post",
        ),
    )


def image(post: Post, *, lazy: bool = False) -> Html | None:
    if post.image is None:
        return None
    return element("img", src=post.image, alt=post.image_text or "", loading="lazy" if lazy else None, decoding="async")


def when(post: Post, language: str) -> Html | None:
    """The date of a post, written as its language does."""
    if post.date is None:
        return None
    return element("time", shown_date(post.date, language), datetime=post.date.isoformat())


def place(post: Post) -> Html | None:
    return element("span", post.place, class_="place") if post.place else None


def shown_date(day: date, language: str) -> str:
    """A date in the order of a language, with numbers where its months are not known here.

    >>> shown_date(date(2026, 1, 10), "en"), shown_date(date(2026, 1, 10), "ko"), shown_date(date(2026, 1, 10), "de")
    ('10 January 2026', '2026년 1월 10일', '2026-01-10')
    """
    family = language.partition("-")[0]
    if family == "ko":
        return f"{day.year}년 {day.month}월 {day.day}일"
    months: dict[str, Sequence[str]] = {"en": MONTHS, "pt": MESES}
    if family not in months:
        return day.isoformat()
    name, of = months[family][day.month - 1], " de " if family == "pt" else " "
    return f"{day.day}{of}{name}{of}{day.year}"


MONTHS = "January February March April May June July August September October November December".split()
MESES = "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro".split()


def host_of(url: str) -> str:
    return url.split("://", 1)[1].split("/", 1)[0]


def newest_first(posts: Sequence[tuple[str, Post]]) -> list[tuple[str, Post]]:
    """Posts by date; those without one stay at the end, in their order."""
    return sorted(posts, key=lambda each: each[1].date or date.min, reverse=True)


def _path_of(post: Post, taken: set[str]) -> str:
    try:
        name = slug_of(post.title[:MAX_NAME])
    except InvalidValue:  # a title without letters and digits
        name = "post"
    number = next(count for count in range(1, len(taken) + 2) if _numbered(name, count) not in taken)
    taken.add(_numbered(name, number))
    return f"posts/{_numbered(name, number)}.html"


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"
