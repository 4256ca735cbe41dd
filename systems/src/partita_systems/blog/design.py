"""The design of the blog: users, posts in a tree of categories, comments, likes, bookmarks and notifications."""

from collections.abc import Sequence
from datetime import datetime
from os import environ
from typing import Annotated

from msgspec import Meta, field

from partita import (
    AUTO,
    CountOf,
    CreatedAt,
    Entity,
    F,
    Index,
    InKey,
    Internal,
    Item,
    Items,
    Keys,
    Limit,
    OpenEnum,
    Ordered,
    References,
    StoredAs,
    Table,
    Untracked,
    UpdatedAt,
    View,
    collection,
    fan_out,
    get,
    pattern,
    prove,
    query,
)
from partita_systems.fields import FreeText, Line, Paragraphs

MAX_CHILDREN = 24  # bounds the merged query over a root category, and the transaction that reorders its children


class Role(OpenEnum):
    READER = "READER"
    AUTHOR = "AUTHOR"
    EDITOR = "EDITOR"
    ADMIN = "ADMIN"


class PostStatus(OpenEnum):
    DRAFT = "DRAFT"
    PUBLISHED = "PUBLISHED"
    REMOVING = "REMOVING"


class NotificationType(OpenEnum):
    LIKE = "LIKE"
    COMMENT = "COMMENT"
    REPLY = "REPLY"


blog = Table(
    f"{environ.get('BLOG_STACK', 'partita')}-{environ.get('BLOG_ENVIRONMENT', 'dev')}-blog",
    pk="PK",
    sk="SK",
    naming="camel",
    type_attribute="entityType",
    type_naming="upper",
    stream="NEW_AND_OLD_IMAGES",
    indexes=(Index("GSI1", "GSI1PK", "GSI1SK"), Index("GSI2", "GSI2PK", "GSI2SK")),
)

PUBLISHED = F.status == PostStatus.PUBLISHED
UNPUBLISHED = F.status.is_in(PostStatus.DRAFT, PostStatus.REMOVING)
NOT_DELETED = F.deleted_at.is_absent()
ROOT = {"comment_id": "parent_id", "created_at": "parent_created_at"}  # the comment that a reply belongs to

ROOTS = "ROOTS"  # the parent of root categories in the key of their CategorySequence
MAX_ORDER = 9999

Id = Annotated[str, Meta(min_length=1)]
Title = Annotated[Line, Meta(max_length=200)]
Tags = Annotated[list[Annotated[Line, Meta(max_length=40)]], Meta(max_length=10)]
Order = Annotated[int, Ordered(0, MAX_ORDER)]
Message = Annotated[Paragraphs, Meta(max_length=5_000)]


class Times(View, naming="camel"):
    created_at: Annotated[datetime, CreatedAt()] = AUTO
    updated_at: Annotated[datetime, UpdatedAt()] = AUTO


# 1. Users
class User(Times, Entity, table=blog, key=("USER#{user_id}", "PROFILE#{user_id}")):
    user_id: Annotated[str, StoredAs("cognitoSub")]
    name: Title = ""  # not in the document; where the default does not fit the type, new items must have a value
    role: Role = Role.READER
    bio: Annotated[FreeText, Meta(max_length=1_000)] = ""
    removing_since: Annotated[datetime | None, Untracked(), Internal()] = None

    by_sub = Keys("GSI1", "USER#{user_id}", "PROFILE")
    by_role = Keys("GSI2", "ROLE#{role}", "USER#{user_id}", when=F.removing_since.is_absent())
    removals = Keys("GSI2", "USER_REMOVAL", "USER#{user_id}", when=F.removing_since.exists())


# 2. Posts
class Post(Times, Entity, table=blog, key=("POST#{post_id}", "POST#{post_id}")):
    post_id: str
    author_id: str
    subcategory_id: Annotated[Id | None, References(lambda: Category)] = None
    title: Title = ""
    summary: Annotated[FreeText, Meta(max_length=500)] = ""
    tags: Tags = field(default_factory=list)
    content: Annotated[str | None, Untracked()] = None  # other code stores the text here; ours is in PostText
    minutes_to_read: int = 1
    text_version: Annotated[int, Internal()] = 0  # goes up with every edit of the text: the ETag of the post changes
    status: PostStatus = PostStatus("")  # absent in items of other code: derived from `published_at`
    published_at: datetime | None = None
    like_count: Annotated[int, CountOf(lambda: Like)] = 0
    bookmark_count: Annotated[int, CountOf(lambda: Bookmark)] = 0
    comment_count: Annotated[int, CountOf(lambda: Comment, when=NOT_DELETED), CountOf(lambda: Reply)] = 0

    in_category = Keys("GSI1", "CATEGORY#{subcategory_id}", "POST#{published_at}#{post_id}", when=PUBLISHED)
    of_author = Keys("GSI2", "AUTHOR#{author_id}", "POST#{published_at}#{post_id}", when=PUBLISHED)
    drafts = Keys("GSI2", "DRAFT#{author_id}", "POST#{updated_at}#{post_id}", when=UNPUBLISHED)

    def __post_init__(self) -> None:
        self.status = self.status or (PostStatus.PUBLISHED if self.published_at else PostStatus.DRAFT)


class PostText(Times, Entity, table=blog, key=("POST#{post_id}", "POST#{post_id}#TEXT")):
    """The text in a separate item, so that a like does not rewrite it in the table and two indexes."""

    post_id: str
    content: Annotated[Paragraphs, Meta(max_length=100_000)]


# 3. Categories
class Category(Times, Entity, table=blog, key=("CATEGORY#{category_id}", "CATEGORY#{category_id}")):
    category_id: str
    parent_id: Annotated[Id | None, References(lambda: Category)] = None
    name: Title = ""
    order: Order
    child_count: Annotated[int, CountOf(lambda: CategoryChild, via={"category_id": "parent_id"})] = 0
    post_count: Annotated[int, CountOf(lambda: Post, when=PUBLISHED, via={"category_id": "subcategory_id"})] = 0

    under = Keys("GSI1", "CATEGORY#{parent_id}", "CATEGORY#{order}#{category_id}", when=F.parent_id.exists())
    roots = Keys("GSI1", "CATEGORY_ROOT", "CATEGORY#{order}#{category_id}", when=F.parent_id.is_absent())
    bounded = Limit(F.child_count <= MAX_CHILDREN)


class CategoryChild(
    Times,
    Entity,
    table=blog,
    key=("CATEGORY#{parent_id}", "CHILD#{child_id}#{order}"),
    old_keys=[("CATEGORY#{parent_id}", "CHILD#{child_id}#{order:plain}")],
):
    """The link from a root to its subcategory. All its values are in its key; the old key has no leading zeros."""

    parent_id: Annotated[str, InKey()]
    child_id: Annotated[str, InKey()]
    order: Annotated[Order, InKey()]


class CategorySequence(Times, Entity, table=blog, key=("CATEGORY_SEQUENCE#{parent_id}", "NEXT")):
    """The next order under a parent, greater than every order there: concurrent additions get different ones."""

    parent_id: Annotated[str, InKey()]  # ROOTS for root categories
    next_order: int


# 4. Comments
class Comment(Times, Entity, table=blog, key=("POST#{post_id}", "COMMENT#{comment_id}#{created_at}")):
    """A comment on a post. A deleted comment that has replies stays as a tombstone without its author and text."""

    post_id: str
    comment_id: str
    author_id: str | None = None
    content: Message | None = None
    deleted_at: datetime | None = None
    reply_count: Annotated[int, CountOf(lambda: Reply, via=ROOT)] = 0

    by_id = Keys("GSI1", "COMMENT#{comment_id}", "POST#{post_id}")
    of_author = Keys("GSI2", "AUTHOR#{author_id}", "COMMENT#{created_at}#{comment_id}", when=NOT_DELETED)


class Reply(Times, Entity, table=blog, key=("POST#{post_id}", "COMMENT#{parent_id}#{reply_id}#{created_at}")):
    """A reply to a comment, or to another reply of the same comment (`answers`)."""

    post_id: str
    parent_id: str
    parent_created_at: Annotated[datetime | None, Internal()] = None
    reply_id: str
    answers: str | None = None
    author_id: str | None = None  # the keys of the document have no author
    content: Message | None = None

    by_id = Keys("GSI1", "COMMENT#{reply_id}", "POST#{post_id}")
    of_author = Keys("GSI2", "AUTHOR#{author_id}", "COMMENT#{created_at}#{reply_id}")


# 5. Likes
class Like(Times, Entity, table=blog, key=("POST#{post_id}", "LIKE#{user_id}#{created_at}")):
    post_id: str
    user_id: str

    of_pair = Keys("GSI1", "LIKE#{user_id}#{post_id}", "LIKE")
    of_user = Keys("GSI2", "AUTHOR#{user_id}", "LIKE#{created_at}")


class LikeGuard(Entity, table=blog, key=("LIKE#{user_id}#{post_id}", "LIKE")):
    """One for each like, in no index: it makes likes unique and stores the time in the like's key."""

    user_id: Annotated[str, InKey()]
    post_id: Annotated[str, InKey()]
    created_at: datetime


# 6. Bookmarks
class Bookmark(Times, Entity, table=blog, key=("USER#{user_id}", "BOOKMARK#{post_id}#{created_at}")):
    user_id: str
    post_id: str

    of_user = Keys("GSI1", "BOOKMARK#{user_id}", "BOOKMARK#{created_at}#{post_id}")
    of_post = Keys("GSI2", "POST#{post_id}", "BOOKMARK#{user_id}")


class BookmarkGuard(Entity, table=blog, key=("BOOKMARK#{user_id}#{post_id}", "BOOKMARK")):
    user_id: Annotated[str, InKey()]
    post_id: Annotated[str, InKey()]
    created_at: datetime


# 7. Notifications
class Notification(Times, Entity, table=blog, key=("USER#{user_id}", "NOTIFICATION#{notification_id}#{created_at}")):
    user_id: str
    notification_id: str
    type: NotificationType = NotificationType("")  # this and the following fields are not in the document
    actor_id: Id = ""
    post_id: Id = ""
    comment_id: Id | None = None
    read: Annotated[bool, Untracked()] = False

    of_user = Keys("GSI1", "NOTIFICATION#{user_id}", "NOTIFICATION#{created_at}#{notification_id}")
    unread = Keys("GSI2", "UNREAD#{user_id}", "NOTIFICATION#{created_at}#{notification_id}", when=F.read.is_in(False))


# Access patterns --------------------------------------------------------------------------------------------------


@pattern
def profile(user_id: str) -> Item[User]:
    return get(User, user_id)


@pattern(User.removals)
def removals() -> Items[User]:
    """Users whose removal has begun and not ended."""


@pattern
def posts_by_category(category_id: str) -> Items[Post]:
    return Post.in_category.query(category_id).newest_first().page(10)


@pattern
def posts_by_categories(category_ids: Sequence[str]) -> Items[Post]:
    return Post.in_category.query(fan_out(category_ids, 1 + MAX_CHILDREN)).newest_first().page(10)


@pattern
def posts_of_author(user_id: str) -> Items[Post]:
    return Post.of_author.query(user_id).newest_first()


@pattern
def drafts_of_author(user_id: str) -> Items[Post]:
    return Post.drafts.query(user_id).newest_first()


@pattern
def post(post_id: str) -> Item[Post]: ...
@pattern
def post_text(post_id: str) -> Item[PostText]: ...
@pattern
def whole_post(post_id: str) -> Items[Post | PostText]: ...
@pattern
def thread(post_id: str) -> Items[Comment | Reply]:
    """The comments of a post, each followed by its replies."""


@pattern
def comment_with_replies(post_id: str, comment_id: str) -> Items[Comment | Reply]:
    """One comment, followed by its replies."""


@pattern(collection(Comment.by_id, Reply.by_id))
def comment_by_id(comment_id: str) -> Items[Comment | Reply]: ...
@pattern
def comments_of_user(user_id: str) -> Items[Comment | Reply]:
    return collection(Comment.of_author, Reply.of_author)(user_id).newest_first()


@pattern
def comment(post_id: str, comment_id: str, created_at: datetime) -> Item[Comment]: ...
@pattern
def reply(post_id: str, parent_id: str, reply_id: str, created_at: datetime) -> Item[Reply]: ...
@pattern(User.by_role)
def users_by_role(role: Role) -> Items[User]: ...
@pattern
def category(category_id: str) -> Item[Category]: ...
@pattern(Category.roots.smallest_first("order"))
def root_categories() -> Items[Category]: ...
@pattern
def subcategories(category_id: str) -> Items[Category]:
    return Category.under.query(category_id).smallest_first("order")


@pattern
def category_sequence(parent_id: str) -> Item[CategorySequence]: ...
@pattern
def children(parent_id: str) -> Items[CategoryChild]: ...
@pattern
def child(parent_id: str, child_id: str, order: int) -> Item[CategoryChild]: ...
@pattern
def has_liked(user_id: str, post_id: str) -> Item[LikeGuard]:
    """Exists if the user likes the post."""


@pattern
def like(post_id: str, user_id: str, created_at: datetime) -> Item[Like]: ...
@pattern
def likes_of_post(post_id: str) -> Items[Like]: ...
@pattern(Like.of_user.newest_first())
def likes_of_user(user_id: str) -> Items[Like]: ...
@pattern
def has_bookmarked(user_id: str, post_id: str) -> Item[BookmarkGuard]:
    """Exists if the user has bookmarked the post."""


@pattern
def bookmark(user_id: str, post_id: str, created_at: datetime) -> Item[Bookmark]: ...
@pattern(Bookmark.of_user.newest_first())
def bookmarks_of_user(user_id: str) -> Items[Bookmark]: ...
@pattern
def stored_bookmarks_of_user(user_id: str) -> Items[Bookmark]:
    """The bookmarks of a user from the table, which does not lag."""
    return query(Bookmark, user_id)


@pattern(Bookmark.of_post)
def bookmarks_of_post(post_id: str) -> Items[Bookmark]: ...
@pattern
def notification(user_id: str, notification_id: str, created_at: datetime) -> Item[Notification]: ...
@pattern
def notification_by_id(user_id: str, notification_id: str) -> Items[Notification]: ...
@pattern
def stored_notifications(user_id: str) -> Items[Notification]:
    """The notifications of a user from the table, in the order of their ids."""
    return query(Notification, user_id)


@pattern(Notification.of_user.newest_first())
def notifications(user_id: str) -> Items[Notification]: ...
@pattern(Notification.unread.newest_first())
def unread_notifications(user_id: str) -> Items[Notification]: ...


design = prove("blog", blog)
