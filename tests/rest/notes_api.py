"""A small API for the tests: notes, their lines, and likes."""

from datetime import date, datetime
from typing import Annotated, Any

import msgspec

from partita import (
    AUTO,
    AlreadyExists,
    CountOf,
    Entity,
    Expires,
    F,
    Index,
    Item,
    Items,
    Keys,
    NotFound,
    OpenEnum,
    Owns,
    Page,
    References,
    Store,
    Table,
    Unique,
    Untracked,
    UpdatedAt,
    pattern,
    prove,
)
from partita.rest import Api, Caller, IfMatch, PageSize, caller_is, group, owned_by, public_if, signed_in

table = Table("notes", "PK", "SK", (Index("GSI1", "GSI1PK", "GSI1SK"),), naming="camel", ttl="ttl")


class Mood(OpenEnum):
    CALM = "CALM"
    WILD = "WILD"


class Note(Entity, table=table, key=("NOTE#{note_id}", "NOTE")):
    note_id: str
    owner_id: str
    title: Annotated[str, Unique(), msgspec.Meta(min_length=1, max_length=200)]
    text: Annotated[str, msgspec.Meta(max_length=100_000)] = ""
    mood: Mood = Mood.CALM
    is_open: bool = True
    like_count: Annotated[int, CountOf(lambda: Like)] = 0
    views: Annotated[int, Untracked()] = 0
    gone_at: datetime | None = None
    updated_at: Annotated[datetime, UpdatedAt()] = AUTO

    of_owner = Keys("GSI1", "OWNER#{owner_id}", "NOTE#{note_id}", when=F.is_open.is_in(True))
    ends = Expires("gone_at")
    lines = Owns(lambda: Line)


class Line(Entity, table=table, key=("NOTE#{note_id}", "LINE#{number:6}")):
    note_id: Annotated[str, References(lambda: Note)]
    number: int
    words: Annotated[str, msgspec.Meta(max_length=500)]


class Like(Entity, table=table, key=("LIKE#{note_id}", "{user_id}")):
    note_id: str
    user_id: str


class Plain(Entity, table=table, key=("PLAIN#{plain_id}", "PLAIN")):
    """Nothing depends on it, so it is deleted without a read unless a condition is given."""

    plain_id: str
    words: str = ""


@pattern
def note(note_id: str) -> Item[Note]:
    """A note."""


@pattern
def plain(plain_id: str) -> Item[Plain]: ...
@pattern(Note.of_owner)
def notes_of(owner_id: str) -> Items[Note]: ...
@pattern
def line(note_id: str, number: int) -> Item[Line]: ...
@pattern
def lines(note_id: str) -> Items[Line]: ...
@pattern
def whole(note_id: str) -> Items[Note | Line]: ...
@pattern
def likes(note_id: str) -> Items[Like]: ...


design = prove("notes", table)


class NewNote(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    note_id: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    title: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    text: Annotated[str, msgspec.Meta(max_length=100_000)] = ""
    mood: Mood = Mood.CALM
    is_open: bool = True
    gone_at: datetime | None = None
    extra: dict[str, Any] = {}


class NewLine(msgspec.Struct, forbid_unknown_fields=True):
    number: Annotated[int, msgspec.Meta(ge=0, le=999_999)]
    words: str


class Title(msgspec.Struct, forbid_unknown_fields=True):
    title: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class Notes:
    """The service."""

    def __init__(self, db: Store) -> None:
        self.db = db


api = Api("notes", "Notes", design, service=Notes, about="Notes & lines.")
mine = owned_by("owner_id")
seen = public_if("an open note", lambda found: found.is_open)

api.expose_get("/notes/{note_id}", note, who=seen | mine | group("admin"))
api.expose_patch("/notes/{note_id}", note, "title", "text", "mood", "is_open", who=mine)
api.expose_delete("/notes/{note_id}", note, who=mine)
api.expose_get("/plain/{plain_id}", plain, cache="public, max-age=60")
api.expose_delete("/plain/{plain_id}", plain, who=signed_in)
api.expose_list("/people/{owner_id}/notes", notes_of, who=caller_is("owner_id") | group("admin"))
api.expose_list("/notes/{note_id}/lines", lines)
api.expose_patch("/notes/{note_id}/lines/{number}", line, "words", who=mine, on=note)
api.expose_delete("/notes/{note_id}/lines/{number}", line, who=mine, on=note)
api.expose_list("/notes/{note_id}/whole", whole, who=seen | mine, on=note)


@api.post("/notes", who=signed_in, location="/notes/{note_id}")
def write(service: Notes, caller: Caller, new: NewNote) -> Note:
    """A new note."""
    made = Note(
        note_id=new.note_id,
        owner_id=caller.name,
        title=new.title,
        text=new.text,
        mood=new.mood,
        is_open=new.is_open,
        gone_at=new.gone_at,
    )
    return service.db.create(made)


@api.post("/notes/{note_id}/lines", who=signed_in, status=201)
def add_line(service: Notes, note_id: str, new: NewLine) -> Line:
    """One more line."""
    return service.db.create(Line(note_id=note_id, number=new.number, words=new.words))


@api.put("/notes/{note_id}/likes/{user_id}", who=caller_is("user_id"))
def like(service: Notes, note_id: str, user_id: str) -> None:
    """Like it; twice is once."""
    try:
        service.db.create(Like(note_id=note_id, user_id=user_id))
    except AlreadyExists:
        return


@api.put("/notes/{note_id}/title", who=mine, on=note)
def retitle(service: Notes, note_id: str, new: Title, match: IfMatch) -> Note:
    """Another title, by an operation that knows what If-Match is."""
    with service.db.change(note(note_id), when=match.when(service.db.one(note(note_id), consistent=True))) as draft:
        draft.title = new.title
    return service.db.one(note(note_id), consistent=True)


@api.get("/notes/{note_id}/first")
def first(service: Notes, note_id: str) -> Note | Line:
    """The first line, or the note itself."""
    found = service.db(lines(note_id)).one()
    return found if found is not None else service.db.one(note(note_id))


@api.get("/search")
def search(
    service: Notes, words: str, on: date | None = None, limit: PageSize = 20, cursor: str | None = None
) -> Page[Line]:
    """Lines of a note."""
    if on is not None and on.year < 2000:
        raise NotFound("Line", {"on": on})
    return service.db(lines(words)).page(limit, cursor)


@api.post("/trouble", who=signed_in)
def trouble(service: Notes) -> None:
    """Raises an unexpected error."""
    raise ZeroDivisionError
