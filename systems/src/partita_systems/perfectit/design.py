"""The design of PerfectIt: how-to cards, comments, votes and collections. One table, five indexes with summaries."""

import enum
from datetime import date, datetime, timedelta
from typing import Annotated

from msgspec import Meta, field

from partita import (
    AUTO,
    Compressed,
    CountOf,
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
    OpenEnum,
    Owns,
    References,
    StoredAs,
    Table,
    Transitions,
    Unique,
    Untracked,
    UpdatedAt,
    Version,
    View,
    describe_pattern,
    pattern,
    prove,
    query,
)
from partita_systems import fields

KEEP_DRAFTS = timedelta(days=30)
KEEP_NOTIFICATIONS = timedelta(days=90)
KEEP_TRENDS = timedelta(days=7)
MAX_TERMS = 45  # replacing all terms of a card fits into one transaction
ROOT = "ROOT"  # the parent of top-level categories

USERNAME = describe_pattern(r"^[\w.-]{3,30}(?![\s\S])", "must be 3 to 30 letters, digits, `.`, `_` and `-`")
CATEGORY_ID = describe_pattern(r"^[\w-]{1,60}(?![\s\S])", "must be 1 to 60 letters, digits, `_` and `-`")

Line = Annotated[fields.Line, Meta(max_length=120)]
Text = Annotated[fields.Paragraphs, Meta(max_length=2_000)]
Amount = Annotated[int, Meta(ge=0, le=1_000_000)]


class CardStatus(OpenEnum):
    DRAFT = "DRAFT"
    PUBLISHED = "PUBLISHED"
    REMOVED = "REMOVED"


class Difficulty(OpenEnum):
    BEGINNER = "BEGINNER"
    INTERMEDIATE = "INTERMEDIATE"
    ADVANCED = "ADVANCED"


class TargetType(str, enum.Enum):
    CARD = "CARD"
    COMMENT = "COMMENT"


class VoteType(str, enum.Enum):
    UP = "UP"
    DOWN = "DOWN"


class NotificationType(OpenEnum):
    COMMENTED = "COMMENTED"
    VOTED = "VOTED"
    COLLECTED = "COLLECTED"


PUBLISHED = F.status == CardStatus.PUBLISHED
DRAFT = F.status == CardStatus.DRAFT
NESTED = F.parent_id != ROOT
LIFECYCLE = Transitions(
    {CardStatus.DRAFT: [CardStatus.PUBLISHED], CardStatus.PUBLISHED: [CardStatus.REMOVED]}, start=[CardStatus.DRAFT]
)


class CardSummary(View, naming="camel"):
    """The fields of a card that lists show and indexes project."""

    card_id: Annotated[str, StoredAs("id")]
    title: Line
    image_urls: Annotated[list[fields.HttpsUrl], Meta(max_length=10)] = field(default_factory=list)
    category: Line | None = None
    tags: Annotated[list[Line], Meta(max_length=10)] = field(default_factory=list)
    difficulty: Difficulty = Difficulty.BEGINNER
    estimated_time: Amount = 0
    estimated_cost: Amount = 0
    vote_score: Annotated[int, Untracked()] = 0
    author_id: Annotated[str, References(lambda: User)]
    status: Annotated[CardStatus, LIFECYCLE] = CardStatus.DRAFT
    created_at: datetime
    updated_at: Annotated[datetime, UpdatedAt()] = AUTO

    by_category = Keys("GSI1", "CAT#{category}", "CREATED#{created_at}", when=PUBLISHED)
    by_author = Keys("GSI2", "USER#{author_id}", "CREATED#{created_at}", when=PUBLISHED)
    drafts = Keys("GSI2", "USER#{author_id}", "DRAFT#{updated_at}", when=DRAFT)
    by_day = Keys("GSI3", "DATE#{created_at:day}", "CREATED#{created_at}#{card_id}", when=PUBLISHED)
    by_score = Keys("GSI5", "VOTETYPE#CARD", "SCORE#{vote_score:+10}#{card_id}", when=PUBLISHED)


# Attributes of other entities that lists show
PROJECTED = (
    "username displayName bio avatarUrl cardId text upCount downCount "
    "userId targetId targetType voteType name parentId sortOrder cardCount childCount"
)
INDEXES = (
    Index("GSI1", "GSI1PK", "GSI1SK", project=(CardSummary, "ttl", *PROJECTED.split())),
    Index("GSI2", "GSI2PK", "GSI2SK", project=(CardSummary, "ttl")),
    Index("GSI3", "GSI3PK", "GSI3SK", project=(CardSummary, "ttl")),
    Index("GSI4", "GSI4PK", "GSI4SK", project="KEYS_ONLY"),
    Index("GSI5", "GSI5PK", "GSI5SK", project=(CardSummary, "ttl", "score", "seenAt")),
)
main = Table(
    "perfectit-main",
    pk="PK",
    sk="SK",
    indexes=INDEXES,
    naming="camel",
    ttl="ttl",
    type_attribute="entityType",
    stream="NEW_AND_OLD_IMAGES",
)

# Entities ---------------------------------------------------------------------------------------------------------


class User(Entity, table=main, key=("USER#{user_id}", "PROFILE")):
    user_id: Annotated[str, StoredAs("id")]
    username: Annotated[str, Meta(pattern=USERNAME), Unique(case_insensitive=True)]
    display_name: Line
    bio: Annotated[fields.FreeText, Meta(max_length=500)] = ""
    avatar_url: fields.HttpsUrl | None = None
    created_at: Annotated[datetime, CreatedAt()] = AUTO
    updated_at: Annotated[datetime, UpdatedAt()] = AUTO

    by_username = Keys("GSI1", "USERNAME#{username:fold}", "PROFILE")
    parts = Owns(lambda: (Collection, Notification))


class PerfectionCard(CardSummary, Entity, table=main, key=("CARD#{card_id}", "METADATA")):
    """A how-to card: `estimated_time` in minutes, `estimated_cost` in whole units of currency.

    `created_at` is the time when the draft was created and, after publication, the time of publication.
    """

    description: Annotated[fields.FreeText, Meta(max_length=5_000)] = ""
    instructions: Annotated[list[Text], Meta(max_length=60), Compressed()] = field(default_factory=list)
    materials: Annotated[dict[str, Line], Meta(max_length=50)] = field(default_factory=dict)
    tools: Annotated[list[Line], Meta(max_length=50)] = field(default_factory=list)
    view_count: Annotated[int, Untracked()] = 0
    up_count: Annotated[int, Untracked()] = 0
    down_count: Annotated[int, Untracked()] = 0
    version: Annotated[int, Version()] = 0

    expiry = Expires("updated_at", after=KEEP_DRAFTS, when=DRAFT)
    parts = Owns(lambda: (Comment, Term, Controversy, Trend))


class Comment(Entity, table=main, key=("CARD#{card_id}", "COMMENT#{created_at}#{comment_id}")):
    comment_id: Annotated[str, StoredAs("id")]
    card_id: Annotated[str, References(lambda: PerfectionCard)]
    author_id: Annotated[str, References(lambda: User)]
    text: Text
    vote_score: Annotated[int, Untracked()] = 0
    up_count: Annotated[int, Untracked()] = 0
    down_count: Annotated[int, Untracked()] = 0
    status: Annotated[str | None, Untracked(), Internal()] = None  # REMOVED while its votes are deleted
    created_at: datetime
    updated_at: Annotated[datetime, UpdatedAt()] = AUTO

    by_author = Keys("GSI1", "USER#{author_id}", "COMMENT#{created_at}")


class Vote(Entity, table=main, key=("VOTE#{user_id}#{target_id}", "VOTE")):
    user_id: Annotated[str, References(lambda: User)]
    target_id: str
    target_type: TargetType | None = None  # None in items of other code, until they are adopted
    vote_type: VoteType
    created_at: Annotated[datetime, CreatedAt()] = AUTO

    by_target = Keys("GSI1", "TARGET#{target_id}", "VOTE#{created_at}")


class Collection(Entity, table=main, key=("USER#{user_id}", "COLLECTION#{collection_id}")):
    collection_id: Annotated[str, StoredAs("id")]
    user_id: Annotated[str, References(lambda: User)]
    name: Line
    created_at: Annotated[datetime, CreatedAt()] = AUTO
    updated_at: Annotated[datetime, UpdatedAt()] = AUTO

    by_id = Keys("GSI1", "COLLECTION#{collection_id}", "METADATA")
    entries = Owns(lambda: CardInCollection)


class CardInCollection(Entity, table=main, key=("COLLECTION#{collection_id}", "CARD#{card_id}")):
    collection_id: Annotated[str, References(lambda: Collection)]
    card_id: Annotated[str, References(lambda: PerfectionCard)]
    user_id: str | None = None  # None in items of other code, until they are adopted
    created_at: Annotated[datetime, CreatedAt()] = AUTO


class Category(Entity, table=main, key=("CAT#{category_id}", "METADATA")):
    category_id: Annotated[str, StoredAs("id"), Meta(pattern=CATEGORY_ID)]
    name: Line
    parent_id: str = ROOT
    sort_order: Annotated[int, Meta(ge=-99_999, le=99_999)] = 0
    card_count: Annotated[int, CountOf(lambda: PerfectionCard, when=PUBLISHED, via={"category_id": "category"})] = 0
    child_count: Annotated[int, CountOf(lambda: Category, when=NESTED, via={"category_id": "parent_id"})] = 0

    by_parent = Keys("GSI1", "PARENT#{parent_id}", "SORT#{sort_order:+5}")


class Term(Entity, table=main, key=("CARD#{card_id}", "TERM#{term}")):
    """A search term of a published card."""

    card_id: Annotated[str, InKey()]
    term: Annotated[str, InKey()]

    by_term = Keys("GSI4", "SEARCH#{term}", "CARD#{card_id}")


class Controversy(Entity, table=main, key=("CARD#{card_id}", "CONTROVERSY")):
    """How divided the votes on a card are; in the index while there are votes on both sides."""

    card_id: Annotated[str, InKey()]
    score: int = 0

    by_score = Keys("GSI5", "VOTETYPE#CONTROVERSIAL", "SCORE#{score:+10}#{card_id}", when=F.score > 0)


class Trend(Entity, table=main, key=("CARD#{card_id}", "TREND")):
    """How fast a card gathers attention, as last computed by the analytics consumer."""

    card_id: Annotated[str, InKey()]
    score: int
    seen_at: datetime

    by_score = Keys("GSI5", "VOTETYPE#TRENDING", "SCORE#{score:+10}#{card_id}")
    expiry = Expires("seen_at", after=KEEP_TRENDS)


class Notification(Entity, table=main, key=("USER#{user_id}", "NOTIFICATION#{created_at}#{notification_id}")):
    """An event on a user's card. Its time and id are the event's, so a repeated delivery changes nothing."""

    notification_id: Annotated[str, StoredAs("id")]
    user_id: Annotated[str, References(lambda: User)]
    notification_type: Annotated[NotificationType, StoredAs("type")]
    actor_id: str
    card_id: str
    read: bool = False
    created_at: datetime

    expiry = Expires("created_at", after=KEEP_NOTIFICATIONS)


class DailyMetrics(Entity, table=main, key=("METRICS", "DAY#{day}")):
    day: Annotated[date, InKey()]
    cards: int = 0
    comments: int = 0
    votes: int = 0
    views: int = 0


# Access patterns --------------------------------------------------------------------------------------------------


@pattern
def user(user_id: str) -> Item[User]: ...
@pattern(User.by_username)
def users_by_username(username: str) -> Items[User]: ...
@pattern(CardSummary.by_category.newest_first())
def cards_by_category(category: str) -> Items[CardSummary]: ...
@pattern(CardSummary.by_author.newest_first())
def cards_by_author(author_id: str) -> Items[CardSummary]: ...
@pattern
def card(card_id: str) -> Item[PerfectionCard]: ...
@pattern(query(Comment).oldest_first())
def comments_of_card(card_id: str) -> Items[Comment]: ...
@pattern
def collections_of_user(user_id: str) -> Items[Collection]: ...
@pattern
def cards_in_collection(collection_id: str) -> Items[CardInCollection]: ...
@pattern
def vote(user_id: str, target_id: str) -> Item[Vote]: ...
@pattern(CardSummary.by_day.newest_first().page(20))
def cards_of_day(day: date) -> Items[CardSummary]: ...
@pattern(CardSummary.by_score.largest_first("vote_score").page(20))
def top_voted() -> Items[CardSummary]: ...


# Patterns that the document implies


@pattern(Comment.by_author.newest_first())
def comments_of_user(author_id: str) -> Items[Comment]: ...
@pattern(Vote.by_target.newest_first())
def votes_of_target(target_id: str) -> Items[Vote]: ...
@pattern(Collection.by_id)
def collection_by_id(collection_id: str) -> Items[Collection]: ...
@pattern(Term.by_term)
def cards_by_term(term: str) -> Items[Term]: ...
@pattern(Category.by_parent.query(ROOT).smallest_first("sort_order"))
def root_categories() -> Items[Category]: ...
@pattern(Category.by_parent.smallest_first("sort_order"))
def subcategories(parent_id: str) -> Items[Category]: ...
@pattern(CardSummary.drafts.newest_first())
def drafts_of_author(author_id: str) -> Items[CardSummary]: ...
@pattern(query(Notification).newest_first())
def notifications_of_user(user_id: str) -> Items[Notification]: ...
@pattern(query(Notification).newest_first().where(F.read == False))  # noqa: E712 - a condition
def unread_notifications_of_user(user_id: str) -> Items[Notification]: ...
@pattern(Controversy.by_score.largest_first("score").page(20))
def controversial() -> Items[Controversy]: ...
@pattern(Trend.by_score.largest_first("score").page(20))
def trending() -> Items[Trend]: ...


@pattern
def metrics_between(since: date, until: date) -> Items[DailyMetrics]:
    return query(DailyMetrics).between(since, until).oldest_first()


# Single items


@pattern
def comment(card_id: str, created_at: datetime, comment_id: str) -> Item[Comment]: ...
@pattern
def collection(user_id: str, collection_id: str) -> Item[Collection]: ...
@pattern
def card_in_collection(collection_id: str, card_id: str) -> Item[CardInCollection]: ...
@pattern
def category(category_id: str) -> Item[Category]: ...
@pattern
def terms_of_card(card_id: str) -> Items[Term]: ...
@pattern
def term(card_id: str, term: str) -> Item[Term]: ...
@pattern
def controversy(card_id: str) -> Item[Controversy]: ...
@pattern
def trend(card_id: str) -> Item[Trend]: ...
@pattern
def notification(user_id: str, created_at: datetime, notification_id: str) -> Item[Notification]: ...
@pattern
def metrics(day: date) -> Item[DailyMetrics]: ...


design = prove("perfectit", main)
