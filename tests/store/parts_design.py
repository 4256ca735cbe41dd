"""A design with vector indexes: parts and needs with embeddings, which are searched by category, type and status."""

import enum
from datetime import UTC, datetime
from typing import Annotated

from partita import (
    AUTO,
    CreatedAt,
    Dimensions,
    Entity,
    Expires,
    F,
    Item,
    Keys,
    Nearest,
    Table,
    Vector,
    VectorIndex,
    Version,
    View,
    collection,
    pattern,
    prove,
)

DIMENSIONS = 4


class Status(enum.Enum):
    ACTIVE = "active"
    RETIRED = "retired"


class PartName(View):
    """What a list of parts shows."""

    part_id: str
    category: str
    name: str
    by_name = Keys("Names", "{category}")


parts = Table(
    "parts",
    "PK",
    "SK",
    type_attribute="type",
    ttl="ttl",
    vector_indexes=(
        VectorIndex("ByMeaning", "embedding", pk="VPK", filters=("type", "color", "size")),
        VectorIndex("Names", "embedding", pk="NPK", distance="EUCLIDEAN", project=(PartName, "ttl")),
        VectorIndex("Everything", "embedding", filters=("type", "size"), distance="DOT_PRODUCT"),
    ),
)


class Part(PartName, Entity, table=parts, key=("PART#{part_id}", "PART")):
    color: str = "grey"
    size: int = 1
    status: Status = Status.ACTIVE
    embedding: Annotated[Vector, Dimensions(DIMENSIONS)] | None = None
    created_at: Annotated[datetime, CreatedAt()] = AUTO
    expires_at: datetime | None = None
    version: Annotated[int, Version()] = AUTO
    by_meaning = Keys("ByMeaning", "{category}", when=F.status == Status.ACTIVE)
    everything = Keys("Everything")
    expires = Expires("expires_at")


class Need(Entity, table=parts, key=("NEED#{need_id}", "NEED")):
    need_id: str
    category: str
    size: int = 1
    embedding: Annotated[Vector, Dimensions(DIMENSIONS)]
    by_meaning = Keys("ByMeaning", "{category}")
    everything = Keys("Everything")


class Note(Entity, table=parts, key=("NOTE#{note_id}", "NOTE")):
    """It has no embedding, so it is in no vector index."""

    note_id: str
    category: str
    size: int = 1


@pattern
def part(part_id: str) -> Item[Part]: ...


@pattern
def need(need_id: str) -> Item[Need]: ...


@pattern(Part.by_meaning.nearest(3).or_scan(60))
def similar_parts(embedding: Vector, category: str) -> Nearest[Part]: ...


@pattern(Part.by_meaning.nearest(100).or_scan(60))
def similar_of_size(category: str, size: int, embedding: Vector) -> Nearest[Part]: ...


@pattern
def similar_red(embedding: Vector, category: str) -> Nearest[Part]:
    return Part.by_meaning.nearest(100, embedding=embedding, category=category, color="red").or_scan(60)


@pattern(collection(Part.by_meaning, Need.by_meaning).nearest(100).or_scan(60))
def similar(embedding: Vector, category: str) -> Nearest[Part | Need]: ...


@pattern(PartName.by_name.nearest(5).or_scan(60))
def similar_names(embedding: Vector, category: str) -> Nearest[PartName]: ...


@pattern(Need.everything.nearest(7).or_scan(60))
def needs_everywhere(embedding: Vector) -> Nearest[Need]: ...


design = prove("parts", parts)
LATER = datetime(2100, 1, 1, tzinfo=UTC)
