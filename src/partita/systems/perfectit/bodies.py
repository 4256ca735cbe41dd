"""What clients send to PerfectIt: what is new, and what is changed."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from partita.systems.perfectit import design as d

Username = Annotated[str, Meta(min_length=3, max_length=30, pattern=r"^[\w.-]{3,30}$", examples=["ana.costa"])]
Line = Annotated[str, Meta(min_length=1, max_length=120, examples=["Weekend repairs"])]
CategoryId = Annotated[str, Meta(min_length=1, max_length=60, pattern=r"^[\w-]{1,60}$", examples=["kitchen"])]
Remark = Annotated[str, Meta(min_length=1, max_length=2_000, examples=["Worked at once 👍"])]
Sorted = Annotated[int, Meta(ge=-99_999, le=99_999)]


class NewUser(Struct, forbid_unknown_fields=True, rename="camel"):
    username: Username
    display_name: Annotated[Line, Meta(examples=["Ana Costa"])]


class NewUsername(Struct, forbid_unknown_fields=True):
    username: Username


class NewComment(Struct, forbid_unknown_fields=True):
    text: Remark


class ChangedComment(Struct, forbid_unknown_fields=True):
    text: Remark | UnsetType = UNSET


class NewVote(Struct, forbid_unknown_fields=True, rename="camel"):
    vote_type: d.VoteType


class NewCollection(Struct, forbid_unknown_fields=True):
    name: Line


class NewCategory(Struct, forbid_unknown_fields=True, rename="camel"):
    id: CategoryId
    name: Line
    parent_id: CategoryId = d.ROOT
    sort_order: Sorted = 0


class ChangedCategory(Struct, forbid_unknown_fields=True, rename="camel"):
    """What is left out stays as it is; the parent `ROOT` stands for none."""

    name: Line | UnsetType = UNSET
    parent_id: CategoryId | UnsetType = UNSET
    sort_order: Sorted | UnsetType = UNSET
