"""The page of the blog is correct: its example runs, and its units are measured."""

import re
from collections.abc import Callable
from pathlib import Path

from partita import Store
from partita.describe.design_page import page
from partita_systems.blog import design as d
from partita_systems.blog.service import Blog
from tests.store.clocks import Clock
from tests.systems.blog.conftest import ANA, BIA, published
from tests.systems.cost import put_unchecked

PAGE = Path(d.__file__).with_name("page.md").read_text(encoding="utf-8")
CELLS = 4


def documented_units() -> dict[str, str]:
    """The units of each operation."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines()]
    return {row[0]: row[2] for row in rows if len(row) == CELLS}


def test_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(example, "page.md", "exec"), {})  # noqa: S102


def test_documented_units_equal_the_measured_units(blog: Blog, db: Store, clock: Clock) -> None:
    root = blog.categories.add("Música").category_id
    samba, _ = (blog.categories.add(name, root).category_id for name in ("Samba", "Choro"))
    draft = blog.write(ANA, "Rascunho", "Ainda não.", subcategory_id=samba).post_id
    post = [published(blog, samba) for _ in range(10)][-1].post_id
    comment = blog.comments.add(post, BIA, "Oi").comment_id
    long = published(blog, samba).post_id
    put_unchecked(
        db,
        (
            d.Comment(
                post_id=long, comment_id=f"c_{number:03}", author_id=BIA, content="Que saudade dessa roda! 🥁" * 4
            )
            for number in range(200)
        ),
    )
    operations: dict[str, Callable[[], object]] = {
        "get a profile, a category, a post without its text, or whether a user likes a post": lambda: db(d.post(post)),
        "read a post with its text": lambda: blog.read(post),
        "list ten posts of a category": lambda: db(d.posts_by_category(samba)).page(),
        "list posts of a root with two subcategories": lambda: blog.categories.posts(root),
        "read a thread of 200 comments of 100 characters": lambda: list(db(d.thread(long))),
        "write a draft": lambda: blog.write(ANA, "Rascunho", "Ainda não.", subcategory_id=samba),
        "publish": lambda: blog.publish(draft),
        "comment": lambda: blog.comments.add(post, BIA, "Oi"),
        "reply": lambda: blog.comments.reply(comment, ANA, "Olá"),
        "like": lambda: blog.like(BIA, post),
        "unlike": lambda: blog.unlike(BIA, post),
        "bookmark": lambda: blog.bookmark(BIA, post),
    }
    units = documented_units()
    assert units.keys() - operations.keys() == {"Operation", "---"}
    for name, act in operations.items():
        with db.measure() as used:
            act()
        measured = [f"{used.reads:g} read"] * bool(used.reads) + [f"{used.writes:g} write"] * bool(used.writes)
        assert units[name] == ", ".join(measured), name


def test_generated_page_has_every_entity_and_pattern() -> None:
    printed = page(d.design, PAGE)
    for name in (model.name for model in d.design.models):
        assert f"### {name}\n" in printed
    for name in d.design.patterns:
        assert f"### `{name}(" in printed
