"""Request bodies of PerfectIt's API."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from partita_systems import fields
from partita_systems.perfectit import design as d
from partita_systems.perfectit.cards import Content

# Names are normalised to NFC, where up to four characters become one: the limits allow for decomposed input.
Username = Annotated[
    fields.Line,
    Meta(
        max_length=120,
        description="3 to 30 letters, digits, `.`, `_` and `-` after NFC normalisation.",
        examples=["ana.costa"],
    ),
]
Line = Annotated[d.Line, Meta(examples=["Weekend repairs"])]
CategoryId = Annotated[
    fields.Line,
    Meta(
        max_length=240,
        description="1 to 60 letters, digits, `_` and `-` after NFC normalisation.",
        examples=["kitchen"],
    ),
]
CommentText = Annotated[d.Text, Meta(examples=["Worked at once 👍"])]
SortOrder = Annotated[int, Meta(ge=-99_999, le=99_999)]
Id = Annotated[fields.Line, Meta(max_length=200)]
Count = Annotated[int, Meta(ge=0, le=10**12)]


class NewUser(Struct, forbid_unknown_fields=True, rename="camel"):
    username: Username
    display_name: Annotated[Line, Meta(examples=["Ana Costa"])]


class NewUsername(Struct, forbid_unknown_fields=True):
    username: Username


class NewComment(Struct, forbid_unknown_fields=True):
    text: CommentText


class ChangedComment(Struct, forbid_unknown_fields=True):
    text: CommentText | UnsetType = UNSET


class NewVote(Struct, forbid_unknown_fields=True, rename="camel"):
    vote_type: d.VoteType


class NewCards(Struct, forbid_unknown_fields=True):
    cards: Annotated[list[Content], Meta(min_length=1, max_length=25)]


class Cards(Struct):
    items: list[d.PerfectionCard]


class NewEntries(Struct, forbid_unknown_fields=True, rename="camel"):
    card_ids: Annotated[list[Id], Meta(min_length=1, max_length=25)]


class Entries(Struct):
    items: list[d.CardInCollection]


class NewCollection(Struct, forbid_unknown_fields=True):
    name: Line


class NewCategory(Struct, forbid_unknown_fields=True, rename="camel"):
    category_id: CategoryId
    name: Line
    parent_id: CategoryId = d.ROOT
    sort_order: SortOrder = 0


class ChangedCategory(Struct, forbid_unknown_fields=True, rename="camel"):
    """Fields that are left out stay unchanged; the parent `ROOT` means the top level."""

    name: Line | UnsetType = UNSET
    parent_id: CategoryId | UnsetType = UNSET
    sort_order: SortOrder | UnsetType = UNSET


class NewNotification(Struct, forbid_unknown_fields=True, rename="camel"):
    notification_type: d.NotificationType
    actor_id: Annotated[Id, Meta(examples=["u_01JGGHFQM00000000000000001"])]
    card_id: Annotated[Id, Meta(examples=["c_01JGGHFQM00000000000000004"])]


class NewTrend(Struct, forbid_unknown_fields=True):
    score: Annotated[int, Meta(ge=-9_999_999_999, le=9_999_999_999, examples=[42])]


class NewViews(Struct, forbid_unknown_fields=True):
    views: Annotated[int, Meta(ge=1, le=1_000_000, examples=[250])]


class NewMetrics(Struct, forbid_unknown_fields=True):
    """Fields that are left out are 0."""

    cards: Count = 0
    comments: Count = 0
    votes: Count = 0
    views: Count = 0
