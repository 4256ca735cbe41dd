"""PerfectIt: how-to cards and what people do with them. One table, five indexes, each holding only summaries."""

import enum
from datetime import date, datetime, timedelta
from typing import Annotated

from msgspec import Meta, field

from partita import (
    KEPT,
    CountOf,
    CreatedAt,
    Entity,
    Expires,
    F,
    Get,
    Index,
    InKey,
    Keys,
    Name,
    OpenEnum,
    Owns,
    Query,
    Quiet,
    References,
    Table,
    Transitions,
    Unique,
    UpdatedAt,
    Version,
    View,
    Zipped,
    get,
    pattern,
    prove,
    query,
)

KEEP_DRAFTS = timedelta(days=30)
KEEP_NOTIFICATIONS = timedelta(days=90)
KEEP_TRENDS = timedelta(days=7)
MOST_TERMS = 45  # a card and a change of all its terms fit one transaction
ROOT = "ROOT"  # the parent of categories that have none

Url = Annotated[str, Meta(max_length=1_000)]
Line = Annotated[str, Meta(min_length=1, max_length=120)]
Words = Annotated[str, Meta(min_length=1, max_length=2_000)]
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
SUMMARY = (
    *("id", "title", "imageUrls", "category", "tags", "difficulty", "estimatedTime", "estimatedCost"),
    *("voteScore", "authorId", "status", "createdAt", "updatedAt", "ttl"),
)
PEOPLE = ("username", "displayName", "bio", "avatarUrl")
COMMENT = ("cardId", "text", "upCount", "downCount")
OTHERS = ("userId", "targetId", "targetType", "voteType", "name", "parentId", "sortOrder", "cardCount", "childCount")

main = Table(
    "perfectit-main",
    pk="PK",
    sk="SK",
    naming="camel",
    ttl="ttl",
    type_attribute="entityType",
    stream="NEW_AND_OLD_IMAGES",
    indexes=(
        Index("GSI1", "GSI1PK", "GSI1SK", project=(*SUMMARY, *PEOPLE, *COMMENT, *OTHERS)),
        Index("GSI2", "GSI2PK", "GSI2SK", project=SUMMARY),
        Index("GSI3", "GSI3PK", "GSI3SK", project=SUMMARY),
        Index("GSI4", "GSI4PK", "GSI4SK", project="KEYS_ONLY"),
        Index("GSI5", "GSI5PK", "GSI5SK", project=(*SUMMARY, "score", "seenAt")),
    ),
)

# Entities ---------------------------------------------------------------------------------------------------------


class User(Entity, table=main, key=("USER#{user_id}", "PROFILE")):
    user_id: Annotated[str, Name("id")]
    username: Annotated[str, Meta(pattern=r"^[\w.-]{3,30}$"), Unique(fold=True)]
    display_name: Line
    bio: Annotated[str, Meta(max_length=500)] = ""
    avatar_url: Url | None = None
    created_at: Annotated[datetime, CreatedAt()] = KEPT
    updated_at: Annotated[datetime, UpdatedAt()] = KEPT

    by_username = Keys("GSI1", "USERNAME#{username:fold}", "PROFILE")
    collections = Owns(lambda: Collection)
    notifications = Owns(lambda: Notification)


class PerfectionCard(Entity, table=main, key=("CARD#{card_id}", "METADATA")):
    """How to do one thing perfectly: `estimated_time` in minutes, `estimated_cost` in whole units of currency.

    `created_at` is when a draft was begun, and from its publication on when it was published.
    """

    card_id: Annotated[str, Name("id")]
    author_id: Annotated[str, References(lambda: User)]
    title: Line
    description: Annotated[str, Meta(max_length=5_000)] = ""
    image_urls: Annotated[list[Url], Meta(max_length=10)] = field(default_factory=list)
    instructions: Annotated[list[Words], Meta(max_length=60), Zipped()] = field(default_factory=list)
    materials: Annotated[dict[str, Line], Meta(max_length=50)] = field(default_factory=dict)
    tools: Annotated[list[Line], Meta(max_length=50)] = field(default_factory=list)
    category: str | None = None
    tags: Annotated[list[Line], Meta(max_length=10)] = field(default_factory=list)
    difficulty: Difficulty = Difficulty.BEGINNER
    estimated_time: Amount = 0
    estimated_cost: Amount = 0
    view_count: Annotated[int, Quiet()] = 0
    vote_score: Annotated[int, Quiet()] = 0
    up_count: Annotated[int, Quiet()] = 0
    down_count: Annotated[int, Quiet()] = 0
    status: Annotated[
        CardStatus,
        Transitions(
            {CardStatus.DRAFT: [CardStatus.PUBLISHED], CardStatus.PUBLISHED: [CardStatus.REMOVED]},
            start=[CardStatus.DRAFT],
        ),
    ] = CardStatus.DRAFT
    created_at: datetime
    updated_at: Annotated[datetime, UpdatedAt()] = KEPT
    version: Annotated[int, Version()] = 0

    by_category = Keys("GSI1", "CAT#{category}", "CREATED#{created_at}", when=PUBLISHED)
    by_author = Keys("GSI2", "USER#{author_id}", "CREATED#{created_at}", when=PUBLISHED)
    drafts = Keys("GSI2", "USER#{author_id}", "DRAFT#{updated_at}", when=DRAFT)
    by_day = Keys("GSI3", "DATE#{created_at:day}", "CREATED#{created_at}#{card_id}", when=PUBLISHED)
    by_score = Keys("GSI5", "VOTETYPE#CARD", "SCORE#{vote_score:+10}#{card_id}", when=PUBLISHED)
    kept = Expires("updated_at", after=KEEP_DRAFTS, when=DRAFT)
    comments = Owns(lambda: Comment)
    terms = Owns(lambda: Term)
    controversy = Owns(lambda: Controversy)
    trend = Owns(lambda: Trend)


class CardSummary(View, of=PerfectionCard):
    """What every list of cards shows, and each index of cards holds."""

    card_id: str
    title: str
    image_urls: list[Url]
    category: str | None
    tags: list[Line]
    difficulty: Difficulty
    estimated_time: int
    estimated_cost: int
    vote_score: int
    author_id: str
    status: CardStatus
    created_at: datetime
    updated_at: datetime


class Comment(Entity, table=main, key=("CARD#{card_id}", "COMMENT#{created_at}#{comment_id}")):
    comment_id: Annotated[str, Name("id")]
    card_id: str
    author_id: Annotated[str, References(lambda: User)]
    text: Words
    vote_score: Annotated[int, Quiet()] = 0
    up_count: Annotated[int, Quiet()] = 0
    down_count: Annotated[int, Quiet()] = 0
    created_at: Annotated[datetime, CreatedAt()] = KEPT
    updated_at: Annotated[datetime, UpdatedAt()] = KEPT

    by_author = Keys("GSI1", "USER#{author_id}", "COMMENT#{created_at}")


class Vote(Entity, table=main, key=("VOTE#{user_id}#{target_id}", "VOTE")):
    user_id: Annotated[str, References(lambda: User)]
    target_id: str
    target_type: TargetType
    vote_type: VoteType
    created_at: Annotated[datetime, CreatedAt()] = KEPT

    by_target = Keys("GSI1", "TARGET#{target_id}", "VOTE#{created_at}")


class Collection(Entity, table=main, key=("USER#{user_id}", "COLLECTION#{collection_id}")):
    collection_id: Annotated[str, Name("id")]
    user_id: Annotated[str, References(lambda: User)]
    name: Line
    created_at: Annotated[datetime, CreatedAt()] = KEPT
    updated_at: Annotated[datetime, UpdatedAt()] = KEPT

    by_id = Keys("GSI1", "COLLECTION#{collection_id}", "METADATA")
    entries = Owns(lambda: CardInCollection)


class CardInCollection(Entity, table=main, key=("COLLECTION#{collection_id}", "CARD#{card_id}")):
    collection_id: Annotated[str, References(lambda: Collection)]
    card_id: str
    user_id: str
    created_at: Annotated[datetime, CreatedAt()] = KEPT


class Category(Entity, table=main, key=("CAT#{category_id}", "METADATA")):
    category_id: Annotated[str, Name("id"), Meta(pattern=r"^[\w-]{1,60}$")]
    name: Line
    parent_id: str = ROOT
    sort_order: Annotated[int, Meta(ge=-99_999, le=99_999)] = 0
    card_count: Annotated[int, CountOf(lambda: PerfectionCard, when=PUBLISHED, via={"category_id": "category"})] = 0
    child_count: Annotated[
        int, CountOf(lambda: Category, when=F.parent_id != ROOT, via={"category_id": "parent_id"})
    ] = 0

    by_parent = Keys("GSI1", "PARENT#{parent_id}", "SORT#{sort_order:+5}")


class Term(Entity, table=main, key=("CARD#{card_id}", "TERM#{term}")):
    """A word under which a published card is found."""

    card_id: Annotated[str, InKey()]
    term: Annotated[str, InKey()]

    by_term = Keys("GSI4", "SEARCH#{term}", "CARD#{card_id}")


class Controversy(Entity, table=main, key=("CARD#{card_id}", "CONTROVERSY")):
    """How divided the votes of a card are; in the index while there are votes on both sides."""

    card_id: Annotated[str, InKey()]
    score: int = 0

    by_score = Keys("GSI5", "VOTETYPE#CONTROVERSIAL", "SCORE#{score:+10}#{card_id}", when=F.score > 0)


class Trend(Entity, table=main, key=("CARD#{card_id}", "TREND")):
    """How fast a card gathers attention, as the analytics consumer last saw it."""

    card_id: Annotated[str, InKey()]
    score: int
    seen_at: datetime

    by_score = Keys("GSI5", "VOTETYPE#TRENDING", "SCORE#{score:+10}#{card_id}")
    kept = Expires("seen_at", after=KEEP_TRENDS)


class Notification(Entity, table=main, key=("USER#{user_id}", "NOTIFICATION#{created_at}#{notification_id}")):
    """Something that happened to what the user made; its time and id are the event's, so telling twice is once."""

    notification_id: Annotated[str, Name("id")]
    user_id: str
    notification_type: Annotated[NotificationType, Name("type")]
    actor_id: str
    card_id: str
    read: bool = False
    created_at: datetime

    kept = Expires("created_at", after=KEEP_NOTIFICATIONS)


class DailyMetrics(Entity, table=main, key=("METRICS", "DAY#{day}")):
    day: Annotated[date, InKey()]
    cards: int = 0
    comments: int = 0
    votes: int = 0
    views: int = 0


# Access patterns --------------------------------------------------------------------------------------------------


@pattern
def user(user_id: str) -> Get[User]:
    return get(User, user_id)


@pattern
def users_by_username(username: str) -> Query[User]:
    return User.by_username.query(username)


@pattern
def cards_by_category(category: str) -> Query[CardSummary]:
    return PerfectionCard.by_category.query(category).newest_first().as_(CardSummary)


@pattern
def cards_by_author(author_id: str) -> Query[CardSummary]:
    return PerfectionCard.by_author.query(author_id).newest_first().as_(CardSummary)


@pattern
def card(card_id: str) -> Get[PerfectionCard]:
    return get(PerfectionCard, card_id)


@pattern
def comments_of_card(card_id: str) -> Query[Comment]:
    return query(Comment, card_id).oldest_first()


@pattern
def collections_of_user(user_id: str) -> Query[Collection]:
    return query(Collection, user_id)


@pattern
def cards_in_collection(collection_id: str) -> Query[CardInCollection]:
    return query(CardInCollection, collection_id)


@pattern
def vote(user_id: str, target_id: str) -> Get[Vote]:
    return get(Vote, user_id, target_id)


@pattern
def cards_of_day(day: date) -> Query[CardSummary]:
    return PerfectionCard.by_day.query(day).newest_first().page(20).as_(CardSummary)


@pattern
def top_voted() -> Query[CardSummary]:
    return PerfectionCard.by_score.query().largest_first("vote_score").page(20).as_(CardSummary)


# What the document implies


@pattern
def comments_of_user(author_id: str) -> Query[Comment]:
    return Comment.by_author.query(author_id).newest_first()


@pattern
def votes_of_target(target_id: str) -> Query[Vote]:
    return Vote.by_target.query(target_id).newest_first()


@pattern
def collection_by_id(collection_id: str) -> Query[Collection]:
    return Collection.by_id.query(collection_id)


@pattern
def cards_by_term(term: str) -> Query[Term]:
    return Term.by_term.query(term)


@pattern
def root_categories() -> Query[Category]:
    return Category.by_parent.query(ROOT).smallest_first("sort_order")


@pattern
def subcategories(parent_id: str) -> Query[Category]:
    return Category.by_parent.query(parent_id).smallest_first("sort_order")


@pattern
def drafts_of_author(author_id: str) -> Query[CardSummary]:
    return PerfectionCard.drafts.query(author_id).newest_first().as_(CardSummary)


@pattern
def notifications_of_user(user_id: str) -> Query[Notification]:
    return query(Notification, user_id).newest_first()


@pattern
def controversial() -> Query[Controversy]:
    return Controversy.by_score.query().largest_first("score").page(20)


@pattern
def trending() -> Query[Trend]:
    return Trend.by_score.query().largest_first("score").page(20)


@pattern
def metrics_between(since: date, until: date) -> Query[DailyMetrics]:
    return query(DailyMetrics).between(since, until).oldest_first()


# Single items


@pattern
def comment(card_id: str, created_at: datetime, comment_id: str) -> Get[Comment]:
    return get(Comment, card_id, created_at, comment_id)


@pattern
def collection(user_id: str, collection_id: str) -> Get[Collection]:
    return get(Collection, user_id, collection_id)


@pattern
def card_in_collection(collection_id: str, card_id: str) -> Get[CardInCollection]:
    return get(CardInCollection, collection_id, card_id)


@pattern
def category(category_id: str) -> Get[Category]:
    return get(Category, category_id)


@pattern
def terms_of_card(card_id: str) -> Query[Term]:
    return query(Term, card_id)


@pattern
def term(card_id: str, term: str) -> Get[Term]:
    return get(Term, card_id, term)


@pattern
def controversy(card_id: str) -> Get[Controversy]:
    return get(Controversy, card_id)


@pattern
def trend(card_id: str) -> Get[Trend]:
    return get(Trend, card_id)


@pattern
def notification(user_id: str, created_at: datetime, notification_id: str) -> Get[Notification]:
    return get(Notification, user_id, created_at, notification_id)


@pattern
def metrics(day: date) -> Get[DailyMetrics]:
    return get(DailyMetrics, day)


design = prove("perfectit", main)
