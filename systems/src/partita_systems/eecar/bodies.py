"""Request bodies of EECAR's API; categories may be given by any alias."""

from datetime import datetime
from typing import Annotated, Any, Literal, get_args

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from partita_systems import fields
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import MAX_LENGTH, Category
from partita_systems.eecar.conditions import ConditionWord, condition_of
from partita_systems.eecar.matching import MAX_RESULTS, Wanted
from partita_systems.eecar.parts import NewPart as PartWithSpec
from partita_systems.eecar.proposals import Answer

NEED = ("company_name", "industry", "production_process", "target_application", "priority")
"""The fields that PATCH can change."""

CategoryWord = Annotated[fields.Line, Meta(max_length=MAX_LENGTH, examples=["배터리"])]
Line = Annotated[d.Line, Meta(examples=["배터리 모듈"])]
Manufacturer = Annotated[Line, Meta(examples=["현대모비스"])]
CarModel = Annotated[Line, Meta(examples=["아이오닉 5"])]
Industry = Annotated[Line, Meta(examples=["에너지 저장"])]
Application = Annotated[Line, Meta(examples=["가정용 ESS"])]
ModelName = Annotated[Line, Meta(examples=["multilingual-e5"])]
S3Key = Annotated[Line, Meta(examples=["vectors/p_01.bin"])]
Year = Annotated[int, Meta(ge=1900, le=2100, examples=[2024])]
Email = Annotated[fields.Email, Meta(examples=["buyer@example.com"])]
Phone = Annotated[d.Line, Meta(examples=["010-1234-5678"])]
PartId = Annotated[fields.Line, Meta(max_length=100)]
Price = Annotated[int, Meta(ge=0, le=10**12, examples=[4_500_000])]
MinSpecs = Annotated[
    dict[str, Any],
    Meta(
        description="The least measure of each property: a number, or text with a unit of the property.",
        examples=[{"voltage": 600, "capacity": "70 kWh"}],
    ),
]
ProposalFilter = Annotated[
    Literal["open", "closed", "pending", "negotiating", "accepted", "rejected"],
    Meta(description="`open` is pending or negotiating, `closed` is accepted or rejected."),
]
NeedFilter = Annotated[
    Literal["open", "closed", "active", "fulfilled", "cancelled"],
    Meta(description="`open` is active, `closed` is fulfilled or cancelled."),
]
WatchFilter = Annotated[
    Literal["open", "closed", "active", "triggered", "cancelled"],
    Meta(description="`open` is active, `closed` is triggered or cancelled."),
]
PROPOSAL_STATUSES: dict[str, tuple[d.ProposalStatus, ...]] = {
    **{each: (each,) for each in get_args(d.ProposalStatus)},
    "open": d.OPEN,
    "closed": ("accepted", "rejected"),
}
NEED_STATUSES: dict[str, tuple[d.NeedStatus, ...]] = {
    **{each: (each,) for each in get_args(d.NeedStatus)},
    "open": ("active",),
    "closed": ("fulfilled", "cancelled"),
}
WATCH_STATUSES: dict[str, tuple[d.WatchStatus, ...]] = {
    **{each: (each,) for each in get_args(d.WatchStatus)},
    "open": ("active",),
    "closed": ("triggered", "cancelled"),
}


class NewDimensions(Struct, forbid_unknown_fields=True):
    length: d.Measure
    width: d.Measure
    height: d.Measure
    unit: Literal["mm", "cm"] = "mm"


class NewSpec(Struct, forbid_unknown_fields=True, rename="camel"):
    material_composition: d.Materials | None = None
    dimensions: NewDimensions | None = None
    weight: d.Measure | None = None
    electrical_props: d.ElectricalProps | None = None
    chemical_props: dict[str, Any] = {}
    thermal_props: dict[str, Any] = {}
    recycling_info: dict[str, Any] = {}

    def entity(self, *path: str | int) -> d.Spec:
        for name in ("chemical_props", "thermal_props", "recycling_info"):
            fields.check_texts(getattr(self, name), "Spec", *path, _SPEC_NAMES[name])
        size = None if self.dimensions is None else d.Dimensions(**structs.asdict(self.dimensions))
        return d.Spec(**structs.asdict(self) | {"dimensions": size})


_SPEC_NAMES = {each.name: each.encode_name for each in structs.fields(NewSpec)}


class NewUsage(Struct, forbid_unknown_fields=True, rename="camel"):
    industry: Industry
    application: Application
    requirements: dict[str, Any] = {}
    success_case: bool = False
    description: d.Text = ""

    def entity(self, *path: str | int) -> d.Usage:
        fields.check_texts(self.requirements, "Usage", *path, "requirements")
        return d.Usage(**structs.asdict(self))


class ChangedUsage(Struct, forbid_unknown_fields=True, rename="camel"):
    """Fields that are left out stay unchanged."""

    industry: Industry | UnsetType = UNSET
    application: Application | UnsetType = UNSET
    requirements: dict[str, Any] | UnsetType = UNSET
    success_case: bool | UnsetType = UNSET
    description: d.Text | UnsetType = UNSET

    def apply(self, usage: d.Usage) -> None:
        fields.check_texts(self.requirements, "Usage", "requirements")
        for name, value in structs.asdict(self).items():
            if value is not UNSET:
                setattr(usage, name, value)


class NewPart(Struct, forbid_unknown_fields=True, rename="camel"):
    name: Line
    category: CategoryWord
    manufacturer: Manufacturer
    model: CarModel
    year: Year
    condition: ConditionWord
    price: Price
    quantity: d.Count
    description: d.Text = ""
    images: d.Images = []
    spec: NewSpec | None = None
    usages: Annotated[list[NewUsage], Meta(max_length=20)] = []

    def parts(self, seller_id: str, *path: str | int) -> PartWithSpec:
        values = structs.asdict(self) | {"category": Category(self.category), "condition": condition_of(self.condition)}
        del values["spec"], values["usages"]
        spec = None if self.spec is None else self.spec.entity(*path, "spec")
        usages = [each.entity(*path, "usages", number) for number, each in enumerate(self.usages)]
        return PartWithSpec(d.Part(**values, seller_id=seller_id), spec, usages)


class NewParts(Struct, forbid_unknown_fields=True):
    parts: Annotated[list[NewPart], Meta(min_length=1, max_length=50)]


class Parts(Struct):
    items: list[d.Part]


class ChangedPart(Struct, forbid_unknown_fields=True, rename="camel"):
    """Fields that are left out stay unchanged."""

    name: Line | UnsetType = UNSET
    manufacturer: Manufacturer | UnsetType = UNSET
    model: CarModel | UnsetType = UNSET
    year: Year | UnsetType = UNSET
    condition: ConditionWord | UnsetType = UNSET
    price: Price | UnsetType = UNSET
    quantity: d.Count | UnsetType = UNSET
    description: d.Text | UnsetType = UNSET
    images: d.Images | UnsetType = UNSET

    def apply(self, part: d.Part) -> None:
        for name, value in structs.asdict(self).items():
            if value is not UNSET:
                setattr(part, name, condition_of(value) if name == "condition" else value)


class CategoryWords(Struct):
    """A category as it is stored, and its aliases."""

    category: Category
    aliases: list[str]


class Categories(Struct):
    items: list[CategoryWords]


class NewCategory(Struct, forbid_unknown_fields=True):
    category: CategoryWord


class NewSeller(Struct, forbid_unknown_fields=True, rename="camel"):
    seller_id: d.Party


class NewVector(Struct, forbid_unknown_fields=True, rename="camel"):
    s3_key: S3Key
    embedding_model: ModelName
    dimension: Annotated[int, Meta(ge=1, le=100_000)]


class NewRequiredSpecs(Struct, forbid_unknown_fields=True, rename="camel"):
    category: CategoryWord | None = None
    min_quantity: d.Count | None = None
    max_price: Price | None = None
    material_preferences: Annotated[list[d.Line], Meta(max_length=50)] = []

    def entity(self) -> d.RequiredSpecs:
        return d.RequiredSpecs(**_with_category(structs.asdict(self)))


class NewNeed(Struct, forbid_unknown_fields=True, rename="camel"):
    company_name: Annotated[Line, Meta(examples=["그린에너지"])]
    industry: Industry
    required_specs: NewRequiredSpecs
    target_application: Application
    production_process: d.Text = ""
    priority: d.Priority = d.Priority.MEDIUM
    expires_at: Annotated[datetime, Meta(tz=True, examples=["2030-01-01T00:00:00Z"])] | None = None

    def entity(self, company_id: str) -> d.Need:
        fields = structs.asdict(self) | {"required_specs": self.required_specs.entity()}
        return d.Need(**fields, company_id=company_id)


class NewExpiry(Struct, forbid_unknown_fields=True, rename="camel"):
    """When the need expires; null for never."""

    expires_at: Annotated[datetime, Meta(tz=True, examples=["2030-01-01T00:00:00Z"])] | None


class NewMatch(Struct, forbid_unknown_fields=True, rename="camel"):
    query: Annotated[Line, Meta(examples=["가정용 ESS에 쓸 배터리 모듈"])]
    query_embedding: S3Key
    matched_parts: Annotated[list[d.MatchedPart], Meta(max_length=100)]
    model_used: ModelName
    catalogue: Annotated[dict[str, d.Count], Meta(max_length=100)] = {}

    def entity(self, query_hash: str, now: datetime) -> d.Match:
        return d.Match(**structs.asdict(self), query_hash=query_hash, created_at=now)


class NewQuery(Struct, forbid_unknown_fields=True, rename="camel"):
    """A query in Korean or English. All conditions are hard, but for the preferred materials."""

    query: Annotated[fields.FreeText, Meta(min_length=1, max_length=1000, examples=["ESS용 중고 배터리"])]
    category: CategoryWord | None = None
    condition: ConditionWord | None = None
    max_price: Price | None = None
    min_quantity: d.Count | None = None
    min_specs: MinSpecs = {}
    material_preferences: Annotated[list[d.Line], Meta(max_length=50)] = []
    limit: Annotated[int, Meta(ge=1, le=MAX_RESULTS)] = 10

    def wanted(self) -> Wanted:
        return Wanted(**structs.asdict(self) | {"material_preferences": tuple(self.material_preferences)})


class SimilarQuery(Struct, rename="camel"):
    query_hash: str
    query: str
    similarity: float
    hit_count: int


class SimilarQueries(Struct):
    items: list[SimilarQuery]


class NewCriteria(Struct, forbid_unknown_fields=True, rename="camel"):
    category: CategoryWord | None = None
    min_specs: MinSpecs = {}
    max_price: Price | None = None

    def entity(self) -> d.Criteria:
        return d.Criteria(**_with_category(structs.asdict(self)))


class NewWatch(Struct, forbid_unknown_fields=True, rename="camel"):
    criteria: NewCriteria
    email: Email | None = None
    phone: Phone | None = None
    once: bool = False

    def entity(self, buyer_id: str) -> d.Watch:
        return d.Watch(**structs.asdict(self) | {"criteria": self.criteria.entity()}, buyer_id=buyer_id)


class NewContact(Struct, forbid_unknown_fields=True):
    """At least one of them is required."""

    email: Email | None = None
    phone: Phone | None = None


class NewTrigger(Struct, forbid_unknown_fields=True, rename="camel"):
    match_score: d.Score


class NewProposal(Struct, forbid_unknown_fields=True, rename="camel"):
    to_company_id: d.Party
    part_ids: Annotated[list[PartId], Meta(min_length=1, max_length=d.MAX_PARTS)]
    proposal_type: d.ProposalType
    quantity: d.Quantity
    price_offer: Price
    message: d.Text = ""
    terms: dict[str, Any] = {}

    def entity(self, from_company_id: str) -> d.Proposal:
        fields.check_texts(self.terms, "Proposal", "terms")
        return d.Proposal(**structs.asdict(self), from_company_id=from_company_id)


class NewAnswer(Struct, forbid_unknown_fields=True):
    """An answer to the offer of this version."""

    answer: Answer
    version: int


class NewOffer(Struct, forbid_unknown_fields=True, rename="camel"):
    """Replaces the offer of this version."""

    version: int
    quantity: d.Quantity
    price_offer: Price


class NewSettings(Struct, forbid_unknown_fields=True):
    """The language of notifications."""

    language: d.Language

    def entity(self, party_id: str) -> d.PartySettings:
        return d.PartySettings(party_id=party_id, language=self.language)


class NewNotification(Struct, forbid_unknown_fields=True, rename="camel"):
    recipient_id: d.Party
    type: d.NotificationType
    title: Annotated[Line, Meta(examples=["새 제안이 도착했습니다"])]
    message: d.Text
    data: dict[str, Any] = {}

    def entity(self, now: datetime) -> d.Notification:
        fields.check_texts(self.data, "Notification", "data")
        return d.Notification(**structs.asdict(self), sent_at=now)


def _with_category(fields: dict[str, Any]) -> dict[str, Any]:
    word = fields["category"]
    return fields | {"category": Category(word) if word is not None else None}
