"""A design with text indexes: cards in three languages, and notes."""

from enum import Enum

import msgspec

from partita import Entity, F, Item, Table, TextFields, TextIndex, pattern, prove
from partita.search.text_index import TextPlace

table = Table("cards", "PK", "SK", ttl="ttl", stream="NEW_AND_OLD_IMAGES")


class Status(Enum):
    DRAFT = "DRAFT"
    PUBLISHED = "PUBLISHED"


class Step(msgspec.Struct):
    text: str
    minutes: int = 0


class Card(Entity, table=table, key=("CARD#{card_id}", "CARD")):
    card_id: str
    title: str
    tags: list[str] = msgspec.field(default_factory=list)
    steps: list[Step] = msgspec.field(default_factory=list)
    level: int = 1
    status: Status = Status.PUBLISHED


class Note(Entity, table=table, key=("NOTE#{note_id}", "NOTE")):
    note_id: str
    text: str
    level: int = 1


class Other(Entity, table=table, key=("OTHER#{other_id}", "OTHER")):
    other_id: str
    text: str = ""


@pattern
def card(card_id: str) -> Item[Card]: ...
@pattern
def note(note_id: str) -> Item[Note]: ...


design = prove("cards", table)


def card_fields() -> TextFields[Card]:
    return TextFields(
        Card,
        {"title": 3, "tags": 2, "steps.text": 1},
        when=F.status == Status.PUBLISHED,
        filters=("level", "tags", "status"),
    )


def note_fields() -> TextFields[Note]:
    return TextFields(Note, {"text": 1}, filters=("level",))


def new_index(name: str = "search", place: TextPlace | None = None) -> TextIndex[Card | Note]:
    """An index without anything open."""
    return TextIndex(name, card_fields(), note_fields(), language=("pt", "en", "ko"), place=place)
