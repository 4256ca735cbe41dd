"""Request bodies of EECAR's API; categories may be given by any alias."""

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct, structs

from partita_systems.eecar import design as d
from partita_systems.eecar.categories import MAX_LENGTH, Category
from partita_systems.eecar.proposals import Answer

PART = ("name", "manufacturer", "model", "year", "condition", "price", "quantity", "description", "images")
USAGE = ("industry", "application", "requirements", "success_case", "description")
NEED = ("company_name", "industry", "production_process", "target_application", "priority")
"""The fields that PATCH can change."""

CategoryWord = Annotated[str, Meta(min_length=1, max_length=MAX_LENGTH, examples=["배터리"])]
Line = Annotated[str, Meta(min_length=1, max_length=200, examples=["배터리 모듈"])]
Manufacturer = Annotated[Line, Meta(examples=["현대모비스"])]
CarModel = Annotated[Line, Meta(examples=["아이오닉 5"])]
Industry = Annotated[Line, Meta(examples=["에너지 저장"])]
Application = Annotated[Line, Meta(examples=["가정용 ESS"])]
ModelName = Annotated[Line, Meta(examples=["multilingual-e5"])]
S3Key = Annotated[Line, Meta(examples=["vectors/p_01.bin"])]
Year = Annotated[int, Meta(ge=1900, le=2100, examples=[2024])]
Email = Annotated[str, Meta(min_length=3, max_length=200, examples=["buyer@example.com"])]
Phone = Annotated[str, Meta(min_length=1, max_length=200, examples=["010-1234-5678"])]


class NewSpec(Struct, forbid_unknown_fields=True, rename="camel"):
    material_composition: d.Materials | None = None
    dimensions: d.Dimensions | None = None
    weight: d.Measure | None = None
    electrical_props: d.ElectricalProps | None = None
    chemical_props: dict[str, Any] = {}
    thermal_props: dict[str, Any] = {}
    recycling_info: dict[str, Any] = {}

    def entity(self) -> d.Spec:
        return d.Spec(**structs.asdict(self))


class NewUsage(Struct, forbid_unknown_fields=True, rename="camel"):
    industry: Industry
    application: Application
    requirements: dict[str, Any] = {}
    success_case: bool = False
    description: d.Text = ""

    def entity(self) -> d.Usage:
        return d.Usage(**structs.asdict(self))


class NewPart(Struct, forbid_unknown_fields=True, rename="camel"):
    name: Line
    category: CategoryWord
    manufacturer: Manufacturer
    model: CarModel
    year: Year
    condition: d.PartCondition
    price: d.Won
    quantity: d.Count
    description: d.Text = ""
    images: d.Images = []
    spec: NewSpec | None = None
    usages: Annotated[list[NewUsage], Meta(max_length=20)] = []

    def entity(self, seller_id: str) -> d.Part:
        fields = structs.asdict(self)
        del fields["spec"], fields["usages"]
        return d.Part(**fields | {"category": Category(self.category)}, seller_id=seller_id)


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
    max_price: d.Won | None = None
    material_preferences: list[d.Line] = []

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


class NewCriteria(Struct, forbid_unknown_fields=True, rename="camel"):
    category: CategoryWord | None = None
    min_specs: dict[str, Any] = {}
    max_price: d.Won | None = None

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
    part_ids: Annotated[list[Annotated[str, Meta(min_length=1, max_length=100)]], Meta(min_length=1, max_length=100)]
    proposal_type: d.ProposalType
    quantity: d.Quantity
    price_offer: d.Won
    message: d.Text = ""
    terms: dict[str, Any] = {}

    def entity(self, from_company_id: str) -> d.Proposal:
        return d.Proposal(**structs.asdict(self), from_company_id=from_company_id)


class NewAnswer(Struct, forbid_unknown_fields=True):
    """An answer to the offer of this version."""

    answer: Answer
    version: int


class NewOffer(Struct, forbid_unknown_fields=True, rename="camel"):
    """Replaces the offer of this version."""

    version: int
    quantity: d.Quantity
    price_offer: d.Won


class NewNotification(Struct, forbid_unknown_fields=True, rename="camel"):
    recipient_id: d.Party
    type: d.NotificationType
    title: Annotated[Line, Meta(examples=["새 제안이 도착했습니다"])]
    message: d.Text
    data: dict[str, Any] = {}

    def entity(self, now: datetime) -> d.Notification:
        return d.Notification(**structs.asdict(self), sent_at=now)


def _with_category(fields: dict[str, Any]) -> dict[str, Any]:
    word = fields["category"]
    return fields | {"category": Category(word) if word is not None else None}
