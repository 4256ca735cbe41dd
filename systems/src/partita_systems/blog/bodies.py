"""Request bodies of the blog's API, and replies that are not entities."""

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from partita_systems.blog import design as d
from partita_systems.fields import FreeText, Line, Paragraphs

Content = Annotated[Paragraphs, Meta(max_length=100_000, examples=["Era uma vez…"])]
Id = Annotated[Line, Meta(max_length=1_000)]
Name = Annotated[d.Title, Meta(examples=["Receitas de família"])]
Summary = Annotated[FreeText, Meta(max_length=500, examples=["Em poucas palavras"])]


class Profile(Struct, forbid_unknown_fields=True):
    name: Annotated[Name, Meta(examples=["Conceição Araújo"])]
    bio: Annotated[FreeText, Meta(max_length=1_000)] = ""


class NewRole(Struct, forbid_unknown_fields=True):
    role: d.Role


class NewPost(Struct, forbid_unknown_fields=True, rename="camel"):
    title: Name
    content: Content
    subcategory_id: Id | None = None
    summary: Summary = ""
    tags: d.Tags = []


class ChangedPost(Struct, forbid_unknown_fields=True, rename="camel"):
    """Fields that are left out stay unchanged."""

    title: Name | UnsetType = UNSET
    content: Content | UnsetType = UNSET
    subcategory_id: Id | UnsetType = UNSET
    summary: Summary | UnsetType = UNSET
    tags: d.Tags | UnsetType = UNSET


class Message(Struct, forbid_unknown_fields=True):
    content: Annotated[d.Message, Meta(examples=["Que beleza! 👏"])]


class NewCategory(Struct, forbid_unknown_fields=True, rename="camel"):
    name: Name
    parent_id: Id | None = None


class CategoryPlace(Struct, forbid_unknown_fields=True, rename="camel"):
    """The new parent; null makes the category a root."""

    parent_id: Id | None


class CategoryOrder(Struct, forbid_unknown_fields=True, rename="camel"):
    category_ids: Annotated[list[Id], Meta(max_length=100)]
    parent_id: Id | None = None


class NewNotification(Struct, forbid_unknown_fields=True, rename="camel"):
    type: d.NotificationType
    actor_id: Id
    post_id: Id
    comment_id: Id | None = None


class ChangedNotification(Struct, forbid_unknown_fields=True):
    read: bool


# Replies


class UserLike(Struct, rename="camel"):
    """A like of a user."""

    post_id: str
    user_id: str
    created_at: datetime


class UserBookmark(Struct, rename="camel"):
    """A bookmark of a user."""

    user_id: str
    post_id: str
    created_at: datetime


class LikeState(Struct, rename="camel"):
    """Whether the caller likes a post, and how many users do."""

    post_id: str
    liked: bool
    like_count: int


class BookmarkState(Struct, rename="camel"):
    """Whether the caller has bookmarked a post, and how many users have."""

    post_id: str
    bookmarked: bool
    bookmark_count: int


class CategoryList(Struct):
    """Categories in their order."""

    items: list[d.Category]
