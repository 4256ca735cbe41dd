"""Parts: what is offered, its specification, usages and meaning, and who sells it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec

from partita import (
    AUTO,
    CreatedAt,
    Entity,
    InKey,
    Internal,
    Item,
    Items,
    Keys,
    Nearest,
    OpenEnum,
    Owns,
    References,
    UpdatedAt,
    Vector,
    View,
    fan_out,
    pattern,
)
from partita_systems.eecar.categories import MAX_ALIASES, Category
from partita_systems.eecar.design.table import table
from partita_systems.eecar.design.values import (
    BEST,
    NEW,
    SCANNED,
    Count,
    Embedding,
    Images,
    Line,
    Measure,
    Party,
    Text,
    Won,
    whole,
)
from partita_systems.eecar.measures import LENGTH_UNIT


class PartCondition(OpenEnum):
    NEW = "신품"
    USED = "중고"
    RECONDITIONED = "재생"


class PartSummary(View, naming="camel"):
    part_id: Annotated[str, InKey()] = NEW
    name: Line
    category: Category
    manufacturer: Line
    model: Line
    year: Annotated[int, msgspec.Meta(ge=1900, le=2100)]
    condition: PartCondition
    price: Won
    quantity: Count
    seller_id: Party
    created_at: Annotated[datetime, CreatedAt()] = AUTO
    updated_at: Annotated[datetime, UpdatedAt()] = AUTO

    in_category = Keys("GSI1", "CATEGORY#{category:plain}", "CREATED_AT#{created_at}")

    def __post_init__(self) -> None:
        self.price = whole(self.price)


class Part(PartSummary, Entity, table=table, key=("PART#{part_id}", "METADATA")):
    description: Text = ""
    images: Images = msgspec.field(default_factory=list)

    parts = Owns(lambda: (SellerEntry, Spec, VectorReference, Usage))


class SellerEntry(Entity, table=table, key=("PART#{part_id}", "SELLER")):
    """Finds the parts of a seller. Small, and exists as long as its part: references to a part check this item."""

    part_id: Annotated[str, InKey(), References(lambda: Part)]
    seller_id: Party
    created_at: datetime

    by_seller = Keys("GSI1", "SELLER#{seller_id}", "CREATED_AT#{created_at}")


class Materials(msgspec.Struct, kw_only=True, rename="camel"):
    primary: Line
    secondary: list[Line] = []


class Dimensions(msgspec.Struct, kw_only=True, rename="camel"):
    length: Measure
    width: Measure
    height: Measure
    unit: Annotated[str, msgspec.Meta(pattern=LENGTH_UNIT, examples=["mm"])] = "mm"


class ElectricalProps(msgspec.Struct, kw_only=True, rename="camel"):
    voltage: Measure | None = None
    capacity: Measure | None = None
    power: Measure | None = None


class Spec(Entity, table=table, key=("PART#{part_id}", "SPEC")):
    part_id: Annotated[str, InKey(), References(lambda: SellerEntry)] = NEW
    material_composition: Materials | None = None
    dimensions: Dimensions | None = None
    weight: Measure | None = None
    electrical_props: ElectricalProps | None = None
    chemical_props: dict[str, Any] = msgspec.field(default_factory=dict)
    thermal_props: dict[str, Any] = msgspec.field(default_factory=dict)
    recycling_info: dict[str, Any] = msgspec.field(default_factory=dict)


class PartMeaning(View, naming="camel"):
    """A part among those that a search by meaning finds."""

    part_id: Annotated[str, InKey()]
    embedding_model: Line
    category: Category | None = None
    condition: PartCondition | None = None

    by_meaning = Keys("ByMeaning", "CATEGORY#{category:plain}")


class VectorReference(PartMeaning, Entity, table=table, key=("PART#{part_id}", "VECTOR")):
    """The vector of a part, and where it is archived; written after the object that it names.

    A vector is found while its part is: `category` and `condition` are those of the part.
    """

    part_id: Annotated[str, InKey(), References(lambda: SellerEntry)]
    s3_key: Line
    dimension: Annotated[int, msgspec.Meta(ge=1)]
    created_at: datetime
    embedding: Annotated[Embedding | None, Internal()] = None


class Usage(Entity, table=table, key=("PART#{part_id}", "USAGE#{usage_id}")):
    part_id: Annotated[str, InKey(), References(lambda: SellerEntry)] = NEW
    usage_id: Annotated[str, InKey()] = NEW
    industry: Line
    application: Line
    requirements: dict[str, Any] = msgspec.field(default_factory=dict)
    success_case: bool = False
    description: Text = ""


@pattern(PartSummary.in_category.newest_first())
def parts_in_category(category: Category) -> Items[PartSummary]:
    """1. Parts of a category, newest first."""


@pattern
def parts_in_categories(categories: Sequence[Category]) -> Items[PartSummary]:
    """1. Parts of a category under all its words, newest first: other code stores aliases until they are adopted."""
    return PartSummary.in_category.query(fan_out(categories, limit=MAX_ALIASES)).newest_first()


@pattern
def part(part_id: str) -> Item[Part]: ...


@pattern
def whole_part(part_id: str) -> Items[Part | SellerEntry | Spec | Usage | VectorReference]:
    """A part with its specification, usages and vector reference."""


@pattern
def spec(part_id: str) -> Item[Spec]: ...


@pattern
def vector(part_id: str) -> Item[VectorReference]: ...


@pattern
def usage(part_id: str, usage_id: str) -> Item[Usage]: ...


@pattern
def usages(part_id: str) -> Items[Usage]: ...


@pattern(SellerEntry.by_seller.newest_first())
def parts_of_seller(seller_id: str) -> Items[SellerEntry]: ...


@pattern(PartMeaning.by_meaning.nearest(BEST).or_scan(SCANNED))
def parts_by_meaning(embedding: Vector, category: Category, embedding_model: str) -> Nearest[PartMeaning]: ...


@pattern(PartMeaning.by_meaning.nearest(BEST).or_scan(SCANNED))
def parts_by_meaning_in(
    embedding: Vector, category: Category, embedding_model: str, condition: PartCondition
) -> Nearest[PartMeaning]: ...
