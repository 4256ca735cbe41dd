"""A day of the blog, told with the requests that it takes."""

from collections.abc import Callable
from itertools import count
from typing import Protocol

from partita import NotFound, Store
from partita_systems.blog import design as d
from partita_systems.blog.service import Blog


class Narrator(Protocol):
    """Who writes the story down: sentences, the store whose requests are shown, and what somebody sees."""

    @property
    def db(self) -> Store: ...
    def __call__(self, sentence: str) -> None: ...
    def passes(self, *, minutes: float = ..., days: float = ...) -> None: ...
    def shows(self, found: object) -> None: ...


def tell(say: Narrator) -> None:
    blog = Blog(say.db, _numbers())
    subcategory_id = _opening(say, blog)
    post_id = _publishing(say, blog, subcategory_id)
    _thread(say, blog, post_id)
    _likes(say, blog, post_id)
    _reading(say, blog, post_id)
    _order(say, blog)


def _numbers() -> Callable[[int], int]:
    """Chance that only counts, so that the ids are the same in every telling."""
    numbers = count(1)
    return lambda bits: next(numbers)


def _opening(say: Narrator, blog: Blog) -> str:
    say("Ana registers. Her token says that she is in the group AUTHOR.")
    blog.register("sub-ana", "Ana Conceição", groups=["AUTHOR"])
    say("The blog gets a category, Música, and under it Samba: the category, its link, and the parent's count at once.")
    root = blog.categories.add("Música")
    subcategory = blog.categories.add("Samba", root.category_id)
    return subcategory.category_id


def _publishing(say: Narrator, blog: Blog, subcategory_id: str) -> str:
    say("Ana writes a draft. Its text lies in an item of its own, so that likes need not rewrite it.")
    post = blog.write(
        "sub-ana", "A roda não para", "Cheguei às seis; o pandeiro já chorava.", subcategory_id=subcategory_id
    )
    say("Bia wants to like it, but to readers a draft is not there.")
    try:
        blog.like("sub-bia", post.post_id)
    except NotFound as refusal:
        say.shows(refusal)
    say.passes(minutes=30)
    say("Ana publishes. The post leaves her drafts, enters its category, and the category counts it.")
    blog.publish(post.post_id)
    say("Whoever opens Samba finds it.")
    say.shows([each.title for each in blog.db(d.posts_by_category(subcategory_id)).page().items])
    return post.post_id


def _thread(say: Narrator, blog: Blog, post_id: str) -> None:
    say.passes(minutes=5)
    say("Bia comments; the post's count moves with it.")
    comment = blog.threads.comment(post_id, "sub-bia", "Que saudade dessa roda! 🥁")
    say.passes(minutes=5)
    say("Ana answers, and Caio answers Ana: the thread stays two levels deep.")
    reply = blog.threads.reply(comment.comment_id, "sub-ana", "Volta sexta!")
    say.passes(minutes=1)
    blog.threads.reply(reply.reply_id, "sub-caio", "Eu vou.")
    say("Bia takes her comment back. It has answers, so it stays without its words.")
    blog.threads.delete(comment.comment_id)
    say("The whole thread is one Query.")
    say.shows([each.content or "(removido)" for each in blog.db(d.thread(post_id))])


def _likes(say: Narrator, blog: Blog, post_id: str) -> None:
    say("Bia likes the post: the like, its guard and the count are one transaction.")
    blog.like("sub-bia", post_id)
    say.passes(minutes=1)
    say("She taps again. The guard is there, so nothing happens.")
    say.shows(blog.like("sub-bia", post_id))
    say("Has Bia liked it? One GetItem.")
    say.shows(blog.db(d.has_liked("sub-bia", post_id)) is not None)
    say("She takes it back.")
    say.shows(blog.unlike("sub-bia", post_id))


def _reading(say: Narrator, blog: Blog, post_id: str) -> None:
    say("Caio keeps the post for Sunday.")
    blog.bookmark("sub-caio", post_id)
    say.passes(days=4)
    say("On Sunday he looks at what he kept, and reads it: the post and its text are one Query.")
    (kept,) = blog.db(d.bookmarks_of_user("sub-caio"))
    post, text = blog.read(kept.post_id)
    say.shows(f"{post.title}: {text.content} ({post.comment_count} comentários, {post.bookmark_count} favorito)")


def _order(say: Narrator, blog: Blog) -> None:
    say("Choro joins Samba under Música, and is put first: each place is told twice and changes once.")
    (root,) = blog.db(d.root_categories())
    first = next(iter(blog.db(d.subcategories(root.category_id))))
    second = blog.categories.add("Choro", root.category_id)
    blog.categories.reorder(root.category_id, [second.category_id, first.category_id])
    say.shows([each.name for each in blog.db(d.subcategories(root.category_id))])
    say("Whoever opens Música finds the posts of all its subcategories: one Query each, merged.")
    say.shows([each.title for each in blog.categories.posts(root.category_id).items])
