"""The design of EECAR: parts of electric cars, needs, watches, matches and proposals. One table, one index.

Companies, buyers, sellers and recipients share one id space. Prices are whole won. The service assigns ids: callers
leave them `NEW`. Cached matches are in one partition, or in CACHE_SHARDS.
"""

import os
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal, get_args

import msgspec

from partita import (
    ALL_SHARDS,
    AUTO,
    CreatedAt,
    Entity,
    Expires,
    F,
    Index,
    InKey,
    Internal,
    Item,
    Items,
    Keys,
    Nearest,
    OpenEnum,
    Owns,
    References,
    Table,
    Transitions,
    Untracked,
    UpdatedAt,
    Vector,
    VectorIndex,
    Version,
    View,
    fan_out,
    pattern,
    prove,
    query,
)
from partita import Dimensions as VectorDimensions
from partita_systems import fields
from partita_systems.eecar.categories import MAX_ALIASES, Category
from partita_systems.eecar.measures import LENGTH_UNIT

KEEP_MATCHES = timedelta(days=7)
KEEP_NOTIFICATIONS = timedelta(days=30)
CACHE_SHARDS = int(os.environ.get("EECAR_CACHE_SHARDS", "1"))
CACHE, EVERY_CACHE = (
    ("CACHE", ()) if CACHE_SHARDS == 1 else (f"CACHE#{{query_hash:shard({CACHE_SHARDS})}}", (ALL_SHARDS,))
)
NEW = ""

BEST = 100  # results of a search by meaning in one category, the most that DynamoDB returns
SCANNED = 20_000  # items that a search may compare on a backend without vector indexes
DIMENSION = int(os.environ.get("EECAR_EMBEDDING_DIMENSION", "256"))
Embedding = Annotated[Vector, VectorDimensions(DIMENSION)]

MAX_PARTS = 90  # of a proposal: accepting it checks each of them, in one transaction of at most 100 actions

Party = Annotated[fields.Line, msgspec.Meta(max_length=64)]
Line = Annotated[fields.Line, msgspec.Meta(max_length=200)]
Text = Annotated[fields.FreeText, msgspec.Meta(max_length=20_000)]
Images = Annotated[list[fields.HttpUrl], msgspec.Meta(max_length=40)]
Count = Annotated[int, msgspec.Meta(ge=0, le=10**12)]
# Whole won. Other code may have stored a fraction, which is read as it is.
Won = Annotated[float, msgspec.Meta(ge=0, le=10**12, multiple_of=1)]
Quantity = Annotated[int, msgspec.Meta(ge=1, le=10**9)]
Measure = Annotated[float, msgspec.Meta(ge=0)]
Score = Annotated[float, msgspec.Meta(ge=0, le=1)]


def whole(amount: float) -> float:
    """The amount as an int, unless it has a fraction."""
    return int(amount) if amount % 1 == 0 else amount


# All attributes but long ones that lists do not show: descriptions, images, embeddings, matched parts.
PROJECTED = (
    "name category manufacturer model year condition price quantity sellerId createdAt updatedAt "
    "companyName industry requiredSpecs productionProcess targetApplication priority status expiresAt "
    "query modelUsed embeddingModel hitCount buyerId email phone criteria once triggeredAt "
    "fromCompanyId toCompanyId partIds proposalType message terms priceOffer version respondedAt "
    "recipientId type title data read sentAt TTL"
)
GSI1 = Index("GSI1", "GSI1PK", "GSI1SK", project=tuple(PROJECTED.split()))
BY_MEANING = VectorIndex(
    "ByMeaning",
    "embedding",
    pk="meaningPK",
    filters=("embeddingModel", "condition"),
    distance="COSINE",
    project=("category", "query", "modelUsed", "createdAt", "hitCount", "TTL"),
)
table = Table(
    "eecar-parts-table",
    pk="PK",
    sk="SK",
    indexes=(GSI1,),
    vector_indexes=(BY_MEANING,),
    naming="camel",
    ttl="TTL",
    stream="NEW_AND_OLD_IMAGES",
)


# 1. Parts ---------------------------------------------------------------------------------------------------------
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


# 2. Company needs -------------------------------------------------------------------------------------------------
class Priority(StrEnum):  # in sort order
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


NeedStatus = Literal["active", "fulfilled", "cancelled"]


class RequiredSpecs(msgspec.Struct, kw_only=True, rename="camel"):
    category: Category | None = None
    min_quantity: Count | None = None
    max_price: Won | None = None
    material_preferences: list[Line] = []

    def __post_init__(self) -> None:
        self.max_price = None if self.max_price is None else whole(self.max_price)


class Need(Entity, table=table, key=("COMPANY#{company_id}", "NEED#{need_id}")):
    company_id: Annotated[Party, InKey()]
    need_id: Annotated[str, InKey()] = NEW
    company_name: Line
    industry: Line
    required_specs: RequiredSpecs
    production_process: Text = ""
    target_application: Line
    priority: Priority = Priority.MEDIUM
    status: Annotated[NeedStatus, Transitions({"active": ("fulfilled", "cancelled")}, start=("active",))] = "active"
    created_at: Annotated[datetime, CreatedAt()] = AUTO
    expires_at: datetime | None = None

    in_order = Keys("GSI1", "NEED#{status}", "PRIORITY#{priority:ranked}#CREATED#{created_at}")
    expiry = Expires("expires_at", when=F.status == "active")


# 3. Match results, a cache ----------------------------------------------------------------------------------------
class MatchedPart(msgspec.Struct, kw_only=True, rename="camel"):
    part_id: Line
    score: Score
    reason: Text


class MatchSummary(View, naming="camel"):
    query_hash: Annotated[str, InKey()]
    query: Text
    model_used: Line
    created_at: datetime
    hit_count: Annotated[Count, Untracked()] = 0
    embedding_model: Line | None = None

    by_meaning = Keys("ByMeaning", "QUERY", when=F.embedding_model.exists())
    by_hits = Keys("GSI1", CACHE, "HIT_COUNT#{hit_count:12}")


class Match(MatchSummary, Entity, table=table, key=("MATCH#{query_hash}", "RESULT")):
    """`catalogue` has the versions of its categories; the match is stale when one changes, never if it is empty.

    `cut` is true if a category has more parts than a search returns: a part behind the first 100 may fit, too.
    """

    query_embedding: Line
    matched_parts: list[MatchedPart]
    catalogue: dict[str, Count] = msgspec.field(default_factory=dict)
    cut: bool = False
    embedding: Annotated[Embedding | None, Internal()] = None

    expiry = Expires("created_at", after=KEEP_MATCHES)


class Catalogue(Entity, table=table, key=("CATALOGUE#{category}", "VERSION")):
    """A version that goes up when parts of a category, or of any category (`ANY`), change; written in batches."""

    category: Annotated[Category, InKey()]
    version: Count = 0
    categories: Annotated[list[Category], Internal()] = msgspec.field(default_factory=list)
    """Of `ANY`: the categories beside those of the document that have had parts."""


# 4. Watch list ----------------------------------------------------------------------------------------------------
WatchStatus = Literal["active", "triggered", "cancelled"]


class Criteria(msgspec.Struct, kw_only=True, rename="camel"):
    category: Category | None = None
    min_specs: dict[str, Any] = {}
    max_price: Won | None = None

    def __post_init__(self) -> None:
        self.max_price = None if self.max_price is None else whole(self.max_price)


class Watch(Entity, table=table, key=("WATCH#{watch_id}", "METADATA")):
    """Stays active after each part that it finds, `triggered_at` is the last time; a watch marked `once` ends."""

    watch_id: Annotated[str, InKey()] = NEW
    buyer_id: Party
    email: fields.Email | None = None
    phone: Line | None = None
    criteria: Criteria
    once: bool = False
    status: Annotated[WatchStatus, Transitions({"active": ("triggered", "cancelled")}, start=("active",))] = "active"
    created_at: Annotated[datetime, CreatedAt()] = AUTO
    triggered_at: datetime | None = None

    of_buyer = Keys("GSI1", "BUYER#{buyer_id}", "STATUS#{status}#CREATED#{created_at}")
    parts = Owns(lambda: (Watching, Trigger))


class Watching(Entity, table=table, key=("WATCH#{watch_id}", "INDEX")):
    """Finds the active watches of a category; exists while the watch is active."""

    watch_id: Annotated[str, InKey(), References(lambda: Watch)]
    buyer_id: Party
    category: Category
    criteria: Criteria
    created_at: datetime

    in_category = Keys("GSI1", "WATCH_CATEGORY#{category}", "CREATED#{created_at}")


class Triggering(Entity, table=table, key=("TRIGGERING#{part_id}", "NEXT")):
    """More watches fit a part than one transaction triggers: the position of the last one that was."""

    part_id: Annotated[str, InKey()]
    position: Line
    created_at: datetime

    expiry = Expires("created_at", after=KEEP_MATCHES)


class Trigger(Entity, table=table, key=("WATCH#{watch_id}", "TRIGGER#{part_id}")):
    watch_id: Annotated[str, InKey(), References(lambda: Watch)]
    part_id: str
    match_score: Score
    notified_at: datetime


# 5. Proposals -----------------------------------------------------------------------------------------------------
ProposalType = Literal["buy", "sell"]
ProposalStatus = Literal["pending", "accepted", "rejected", "negotiating"]
OPEN: tuple[ProposalStatus, ...] = ("pending", "negotiating")
ANSWERS = Transitions(dict.fromkeys(OPEN, get_args(ProposalStatus)), start=("pending",))


class Proposal(Entity, table=table, key=("PROPOSAL#{proposal_id}", "METADATA")):
    """`version` identifies the offer that an answer refers to."""

    proposal_id: Annotated[str, InKey()] = NEW
    from_company_id: Party
    to_company_id: Party
    part_ids: Annotated[list[str], msgspec.Meta(min_length=1, max_length=MAX_PARTS)]
    proposal_type: ProposalType
    message: Text = ""
    quantity: Quantity
    price_offer: Won
    terms: dict[str, Any] = msgspec.field(default_factory=dict)
    status: Annotated[ProposalStatus, ANSWERS] = "pending"
    version: Annotated[int, Version()] = 1
    created_at: Annotated[datetime, CreatedAt()] = AUTO
    responded_at: datetime | None = None

    def __post_init__(self) -> None:
        self.price_offer = whole(self.price_offer)

    @property
    def owner_id(self) -> str:
        """The company that sells the parts: the sender of an offer to sell, the recipient of an offer to buy."""
        return self.from_company_id if self.proposal_type == "sell" else self.to_company_id

    received = Keys("GSI1", "COMPANY#{to_company_id}", "STATUS#{status}#CREATED#{created_at}")
    sent = Owns(lambda: SenderEntry)


class SenderEntry(Entity, table=table, key=("PROPOSAL#{proposal_id}", "SENT")):
    """Finds the proposals that a company has sent; has the status of the proposal."""

    proposal_id: Annotated[str, InKey(), References(lambda: Proposal)]
    from_company_id: Party
    status: ProposalStatus
    created_at: datetime

    by_company = Keys("GSI1", "SENT_BY#{from_company_id}", "STATUS#{status}#CREATED#{created_at}")


# 6. Notifications -------------------------------------------------------------------------------------------------
class NotificationType(OpenEnum):
    PART_AVAILABLE = "part_available"
    PROPOSAL_RECEIVED = "proposal_received"
    PROPOSAL_REVISED = "proposal_revised"
    PROPOSAL_ANSWERED = "proposal_answered"
    COMPLIANCE_VIOLATION = "compliance_violation"


class Notification(Entity, table=table, key=("NOTIFICATION#{notification_id}", "METADATA")):
    notification_id: Annotated[str, InKey()] = NEW
    recipient_id: Party
    type: NotificationType
    title: Line
    message: Text
    data: dict[str, Any] = msgspec.field(default_factory=dict)
    read: bool = False
    sent_at: datetime

    of_recipient = Keys("GSI1", "RECIPIENT#{recipient_id}", "SENT#{sent_at}")
    expiry = Expires("sent_at", after=KEEP_NOTIFICATIONS)


Language = Literal["ko", "en"]
DEFAULT_LANGUAGE: Language = "ko"


class PartySettings(Entity, table=table, key=("PARTY#{party_id}", "SETTINGS")):
    """What a company, buyer or seller has chosen: the language of its notifications."""

    party_id: Annotated[Party, InKey()]
    language: Language = DEFAULT_LANGUAGE


class Adopted(Entity, table=table, key=("ADOPTED", "CATEGORIES")):
    """Exists once all stored categories are canonical: from then on a category is one partition."""

    at: datetime


# Access patterns --------------------------------------------------------------------------------------------------
@pattern(PartSummary.in_category.newest_first())
def parts_in_category(category: Category) -> Items[PartSummary]:
    """1. Parts of a category, newest first."""


@pattern
def parts_in_categories(categories: Sequence[Category]) -> Items[PartSummary]:
    """1. Parts of a category under all its words, newest first: other code stores aliases until they are adopted."""
    return PartSummary.in_category.query(fan_out(categories, limit=MAX_ALIASES)).newest_first()


@pattern(query(Need).where(F.status == "active"))
def active_needs_of_company(company_id: str) -> Items[Need]:
    """2. A company's active needs; reads all its needs and filters them."""


@pattern(Proposal.received.newest_first())
def received_proposals(to_company_id: str, status: ProposalStatus) -> Items[Proposal]:
    """3. Proposals to a company with one status, newest first."""


@pattern
def received_proposals_in(to_company_id: str, statuses: Sequence[ProposalStatus]) -> Items[Proposal]:
    """Proposals to a company with any of these statuses, newest first."""
    return Proposal.received.query(to_company_id, fan_out(statuses, limit=4)).newest_first()


@pattern(MatchSummary.by_hits.query(*EVERY_CACHE).largest_first("hit_count"))
def most_hit_matches() -> Items[MatchSummary]:
    """4. Cached matches, most hits first."""


@pattern(Watch.of_buyer.newest_first())
def watches_of_buyer(buyer_id: str, status: WatchStatus) -> Items[Watch]:
    """5. A buyer's watches with one status, newest first."""


@pattern
def watches_of_buyer_in(buyer_id: str, statuses: Sequence[WatchStatus]) -> Items[Watch]:
    """A buyer's watches with any of these statuses, newest first."""
    return Watch.of_buyer.query(buyer_id, fan_out(statuses, limit=3)).newest_first()


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
@pattern
def need(company_id: str, need_id: str) -> Item[Need]: ...


@pattern(Need.in_order.smallest_first("priority"))
def needs_by_status(status: NeedStatus) -> Items[Need]:
    """Needs with one status, by priority, then oldest first."""


@pattern
def needs_in(statuses: Sequence[NeedStatus]) -> Items[Need]:
    """Needs with any of these statuses, by priority, then oldest first."""
    return Need.in_order.query(fan_out(statuses, limit=3)).smallest_first("priority")


@pattern
def match(query_hash: str) -> Item[Match]: ...
@pattern(PartMeaning.by_meaning.nearest(BEST).or_scan(SCANNED))
def parts_by_meaning(embedding: Vector, category: Category, embedding_model: str) -> Nearest[PartMeaning]: ...
@pattern(PartMeaning.by_meaning.nearest(BEST).or_scan(SCANNED))
def parts_by_meaning_in(
    embedding: Vector, category: Category, embedding_model: str, condition: PartCondition
) -> Nearest[PartMeaning]: ...
@pattern(MatchSummary.by_meaning.nearest(10).or_scan(SCANNED))
def similar_queries(embedding: Vector, embedding_model: str) -> Nearest[MatchSummary]:
    """Earlier queries like this one."""


@pattern
def catalogue(category: Category) -> Item[Catalogue]: ...
@pattern
def watch(watch_id: str) -> Item[Watch]: ...
@pattern
def watch_with_triggers(watch_id: str) -> Items[Watch | Watching | Trigger]:
    """A watch, its lookup item while it is active, and its triggers."""


@pattern(query(Trigger))
def triggers(watch_id: str) -> Items[Trigger]:
    """The parts that have triggered a watch."""


@pattern
def trigger(watch_id: str, part_id: str) -> Item[Trigger]: ...


@pattern
def watching_categories(categories: Sequence[Category]) -> Items[Watching]:
    """Active watches of these categories, oldest first; for a part its category and `ANY`."""
    return Watching.in_category.query(fan_out(categories, limit=2)).oldest_first()


@pattern
def proposal(proposal_id: str) -> Item[Proposal]: ...
@pattern(SenderEntry.by_company.newest_first())
def sent_proposals(from_company_id: str, status: ProposalStatus) -> Items[SenderEntry]: ...
@pattern
def sent_proposals_in(from_company_id: str, statuses: Sequence[ProposalStatus]) -> Items[SenderEntry]:
    return SenderEntry.by_company.query(from_company_id, fan_out(statuses, limit=4)).newest_first()


@pattern
def notification(notification_id: str) -> Item[Notification]: ...
@pattern(Notification.of_recipient.newest_first())
def notifications(recipient_id: str) -> Items[Notification]: ...
@pattern(Notification.of_recipient.newest_first().where(F.read == False))  # noqa: E712 - a condition
def unread_notifications(recipient_id: str) -> Items[Notification]:
    """A recipient's unread notifications, newest first; reads all of them and filters."""


@pattern
def party_settings(party_id: str) -> Item[PartySettings]: ...
@pattern
def adopted() -> Item[Adopted]: ...


design = prove("eecar", table)


# Maps as stored ---------------------------------------------------------------------------------------------------
as_stored = Table(table.name, pk=table.pk, sk=table.sk, naming="camel")


class StoredWatch(Entity, table=as_stored, key=("WATCH#{watch_id}", "METADATA")):
    """A watch with all stored members of its criteria, so that adoption keeps those that other code has added."""

    watch_id: Annotated[str, InKey()]
    criteria: dict[str, Any]
    status: str


class StoredNeed(Entity, table=as_stored, key=("COMPANY#{company_id}", "NEED#{need_id}")):
    company_id: Annotated[str, InKey()]
    need_id: Annotated[str, InKey()]
    required_specs: dict[str, Any]


@pattern
def stored_watch(watch_id: str) -> Item[StoredWatch]: ...
@pattern
def stored_need(company_id: str, need_id: str) -> Item[StoredNeed]: ...


prove("eecar-maps", as_stored)
