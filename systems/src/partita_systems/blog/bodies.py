"""Request bodies of the blog's API."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from partita_systems.blog import design as d

Content = Annotated[str, Meta(min_length=1, max_length=100_000, pattern=r"\S", examples=["Era uma vez…"])]
Id = Annotated[str, Meta(min_length=1, max_length=1_000)]
Name = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"\S", examples=["Receitas de família"])]
Summary = Annotated[str, Meta(max_length=500, examples=["Em poucas palavras"])]
Tags = Annotated[list[Annotated[str, Meta(min_length=1, max_length=40)]], Meta(max_length=10)]


class Profile(Struct, forbid_unknown_fields=True):
    name: Annotated[Name, Meta(examples=["Conceição Araújo"])]
    bio: Annotated[str, Meta(max_length=1_000)] = ""


class NewRole(Struct, forbid_unknown_fields=True):
    role: d.Role


class NewPost(Struct, forbid_unknown_fields=True, rename="camel"):
    title: Name
    content: Content
    subcategory_id: Id | None = None
    summary: Summary = ""
    tags: Tags = []


class ChangedPost(Struct, forbid_unknown_fields=True, rename="camel"):
    """Fields that are left out stay unchanged."""

    title: Name | UnsetType = UNSET
    content: Content | UnsetType = UNSET
    subcategory_id: Id | UnsetType = UNSET
    summary: Summary | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET


class Message(Struct, forbid_unknown_fields=True):
    content: Annotated[str, Meta(min_length=1, max_length=5_000, examples=["Que beleza! 👏"])]


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
