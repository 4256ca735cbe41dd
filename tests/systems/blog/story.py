"""A day of the blog, with the requests that it sends."""

from partita_systems.blog import design as d
from partita_systems.blog.service import Blog
from partita_systems.errors import NotPublished
from tests.systems.story_recorder import StoryRecorder, counted_ids


def record(story: StoryRecorder) -> None:
    blog = Blog(story.db, counted_ids())
    subcategory_id = _opening(story, blog)
    post_id = _publishing(story, blog, subcategory_id)
    _thread(story, blog, post_id)
    _likes(story, blog, post_id)
    _reading(story, blog, post_id)
    _order(story, blog)
    _leaving(story, blog, post_id)


def _opening(story: StoryRecorder, blog: Blog) -> str:
    story("Ana registers. Her token has the group AUTHOR.")
    blog.register("sub-ana", "Ana Conceição", groups=["AUTHOR"])
    story("An editor adds the category Música with the subcategory Samba: category, link and count in one transaction.")
    root = blog.categories.add("Música")
    subcategory = blog.categories.add("Samba", root.category_id)
    return subcategory.category_id


def _publishing(story: StoryRecorder, blog: Blog, subcategory_id: str) -> str:
    story("Ana writes a draft. Its text is stored in a separate item, so that a like does not rewrite it.")
    post = blog.write(
        "sub-ana", "A roda não para", "Cheguei às seis; o pandeiro já chorava.", subcategory_id=subcategory_id
    )
    story("Bia tries to like it. Readers cannot see a draft.")
    story.show_error(lambda: blog.like("sub-bia", post.post_id), NotPublished)
    story.advance(minutes=30)
    story("Ana publishes the post. It leaves her drafts, enters its category, and the category counts it.")
    blog.publish(post.post_id)
    story("The category Samba lists it.")
    story.show([each.title for each in blog.db(d.posts_by_category(subcategory_id)).page().items])
    return post.post_id


def _thread(story: StoryRecorder, blog: Blog, post_id: str) -> None:
    story.advance(minutes=5)
    story("Bia comments. The comment and the post's counter change in one transaction.")
    comment = blog.comments.add(post_id, "sub-bia", "Que saudade dessa roda! 🥁")
    story.advance(minutes=5)
    story("Ana replies, and Caio replies to Ana. The thread stays two levels deep.")
    reply = blog.comments.reply(comment.comment_id, "sub-ana", "Volta sexta!")
    story.advance(minutes=1)
    blog.comments.reply(reply.reply_id, "sub-caio", "Eu vou.")
    story("Bia deletes her comment. It has replies, so a tombstone without text stays.")
    blog.comments.delete(comment.comment_id)
    story("One Query reads the whole thread.")
    story.show([each.content or "(removido)" for each in blog.db(d.thread(post_id))])


def _likes(story: StoryRecorder, blog: Blog, post_id: str) -> None:
    story("Bia likes the post: like, guard and counter in one transaction.")
    blog.like("sub-bia", post_id)
    story.advance(minutes=1)
    story("She likes it again. The guard exists, so nothing changes.")
    story.show(blog.like("sub-bia", post_id))
    story("Has Bia liked it? One GetItem.")
    story.show(blog.db(d.has_liked("sub-bia", post_id)) is not None)
    story("She removes the like.")
    story.show(blog.unlike("sub-bia", post_id))


def _reading(story: StoryRecorder, blog: Blog, post_id: str) -> None:
    story("Caio bookmarks the post.")
    blog.bookmark("sub-caio", post_id)
    story.advance(days=4)
    story("Four days later he opens his bookmarks and reads the post: one Query returns the post and its text.")
    (bookmark,) = blog.db(d.bookmarks_of_user("sub-caio"))
    post = blog.whole_post(bookmark.post_id)
    story.show(f"{post.title}: {post.content} ({post.comment_count} comentários, {post.bookmark_count} favorito)")


def _order(story: StoryRecorder, blog: Blog) -> None:
    story("Choro is added under Música and moved before Samba: category and link change in one transaction.")
    (root,) = blog.db(d.root_categories())
    first = next(iter(blog.db(d.subcategories(root.category_id))))
    second = blog.categories.add("Choro", root.category_id)
    blog.categories.reorder(root.category_id, [second.category_id, first.category_id])
    story.show([each.name for each in blog.db(d.subcategories(root.category_id))])
    story("The posts of Música and all its subcategories: one Query each, merged.")
    story.show([each.title for each in blog.categories.posts(root.category_id).items])


def _leaving(story: StoryRecorder, blog: Blog, post_id: str) -> None:
    story("Caio registers, and a notification tells him of a reply. It is unread until he has opened the list.")
    blog.register("sub-caio", "Caio")
    blog.notify("sub-caio", d.NotificationType.REPLY, "sub-ana", post_id)
    story.show(blog.unread("sub-caio"))
    blog.mark_all_read("sub-caio")
    story("Caio deletes his account: the profile is marked, his bookmark, reply and notification go, then the profile.")
    blog.remove_user("sub-caio")
    story.show([each.content or "(removido)" for each in blog.db(d.thread(post_id))])
