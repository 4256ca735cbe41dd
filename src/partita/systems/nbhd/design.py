"""nbhd.city: users, their neighborhoods and their sites, and how the sites were built. One table."""

import enum
from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec

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
    OpenEnum,
    Owns,
    Query,
    Quiet,
    References,
    Table,
    Unique,
    UpdatedAt,
    View,
    get,
    pattern,
    prove,
    query,
)

Line = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Text = Annotated[str, msgspec.Meta(max_length=2000)]


class Role(OpenEnum):
    MEMBER = "member"
    ADMIN = "admin"


class Standing(OpenEnum):
    """Whether a membership counts: that of a deleted account does not, until the account is restored."""

    ACTIVE = "active"
    INACTIVE = "inactive"


class Privacy(OpenEnum):
    PUBLIC = "public"
    PRIVATE = "private"


class SiteStatus(OpenEnum):
    DRAFT = "draft"
    PUBLISHED = "published"


class BuildStatus(OpenEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


class Shelf(str, enum.Enum):
    """Where a site lies: a deleted one is out of its owner's list, and can be put back."""

    SITE = "SITE"
    DELETED = "DELETED_SITE"


class Image(msgspec.Struct):
    url: Text
    size: str | None = None


class Settings(msgspec.Struct, kw_only=True):
    allow_site_creation: bool = True
    require_email_verification: bool = False


LISTED = tuple("did bluesky_handle display_name avatar_url profile_images ttl id name slug member_count".split())
BUILT = tuple("job_id status started_at completed_at error log_url ttl".split())
INDEXES = (
    Index("GSI1", "entity_type", "created_at", project=LISTED),
    Index("GSI2", "slug", "id", project="KEYS_ONLY"),
    Index("GSI3", "user_did", "joined_at"),
    Index("GSI4", "site_id", "created_at", project=BUILT),
)
nbhd = Table("nbhd-city", "PK", "SK", INDEXES, ttl="ttl", stream="NEW_AND_OLD_IMAGES", recovery_days=35)


class User(Entity, table=nbhd, key=("USER#{did}", "PROFILE")):
    did: str
    bluesky_handle: Annotated[str, Unique(fold=True)]
    bluesky_did: str | None = None
    display_name: Line
    avatar_url: Text | None = None
    profile_images: dict[str, Image] | None = None
    bio: Text | None = None
    created_at: Annotated[datetime, CreatedAt()] = KEPT
    updated_at: Annotated[datetime, UpdatedAt()] = KEPT
    deleted_at: datetime | None = None

    listed = Keys("GSI1", "USER", when=F.deleted_at.is_absent())
    purged = Expires("deleted_at", after=timedelta(days=30))


class UserSummary(View, of=User):
    """What GSI1 holds of a user."""

    did: str
    bluesky_handle: str
    display_name: Line
    avatar_url: Text | None = None
    profile_images: dict[str, Image] | None = None
    created_at: datetime


class Neighborhood(Entity, table=nbhd, key=("NBHD#{id}", "METADATA")):
    id: str
    name: Line
    slug: Annotated[str, Unique()]
    description: Text = ""
    creator_did: Annotated[str, References(lambda: User)]
    created_at: Annotated[datetime, CreatedAt()] = KEPT
    member_count: Annotated[
        int, CountOf(lambda: Membership, when=F.status == Standing.ACTIVE, via={"id": "neighborhood_id"})
    ] = 0
    privacy: Privacy = Privacy.PUBLIC
    settings: Settings = msgspec.field(default_factory=Settings)

    listed = Keys("GSI1", "NBHD", when=F.privacy == Privacy.PUBLIC)
    by_slug = Keys("GSI2")
    memberships = Owns(lambda: Membership, via={"neighborhood_id": "id"})


class NeighborhoodSummary(View, of=Neighborhood):
    """What GSI1 holds of a neighborhood."""

    id: str
    name: Line
    slug: str
    member_count: int
    created_at: datetime


class NeighborhoodSlug(View, of=Neighborhood):
    """What GSI2 holds."""

    id: str
    slug: str


class Membership(Entity, table=nbhd, key=("NBHD#{neighborhood_id}", "MEMBER#{user_did}")):
    neighborhood_id: Annotated[str, InKey()]
    user_did: Annotated[str, References(lambda: User)]
    role: Role = Role.MEMBER
    joined_at: datetime
    status: Standing = Standing.ACTIVE

    of_user = Keys("GSI3")


class PastMembership(Entity, table=nbhd, key=("NBHD#{neighborhood_id}", "HISTORY#{left_at}#{did}")):
    """Who left when; without any attribute that an index uses, and kept for ever."""

    neighborhood_id: Annotated[str, InKey()]
    left_at: Annotated[datetime, InKey()]
    did: Annotated[str, InKey()]
    role: Role
    member_since: datetime


class Site(Entity, table=nbhd, key=("USER#{did}", "{shelf}#{site_id}")):
    did: Annotated[str, InKey(), References(lambda: User)]
    shelf: Annotated[Shelf, InKey()] = Shelf.SITE
    site_id: str
    title: Line
    template: Line
    status: SiteStatus = SiteStatus.DRAFT
    subdomain: Annotated[str, Unique()]
    neighborhood_id: str | None = None
    config: dict[str, Any] = msgspec.field(default_factory=dict)
    created_at: Annotated[datetime, CreatedAt()] = KEPT
    updated_at: Annotated[datetime, UpdatedAt()] = KEPT
    built_at: Annotated[datetime | None, Quiet()] = None
    public_url: str
    deleted_at: Annotated[datetime | None, Quiet()] = None

    purged = Expires("deleted_at", after=timedelta(days=7))


class BuildJob(Entity, table=nbhd, key=("BUILD#{site_id}", "JOB#{started_at}")):
    job_id: str
    site_id: str
    status: BuildStatus = BuildStatus.RUNNING
    started_at: datetime
    completed_at: datetime | None = None
    error: Text | None = None
    log_url: Text | None = None
    created_at: Annotated[datetime, CreatedAt()] = KEPT

    of_site = Keys("GSI4")
    one_at_a_time = Unique("site_id", when=F.status == BuildStatus.RUNNING)
    kept = Expires("started_at", after=timedelta(days=90))


# Access patterns ------------------------------------------------------------------------------------------------


@pattern
def user(did: str) -> Get[User]:
    return get(User, did)


@pattern
def users() -> Query[UserSummary]:
    return User.listed.query().as_(UserSummary).newest_first()


@pattern
def users_between(since: datetime, until: datetime) -> Query[UserSummary]:
    return User.listed.query().between(since, until).as_(UserSummary).newest_first()


@pattern
def neighborhood(neighborhood_id: str) -> Get[Neighborhood]:
    return get(Neighborhood, neighborhood_id)


@pattern
def neighborhoods() -> Query[NeighborhoodSummary]:
    return Neighborhood.listed.query().as_(NeighborhoodSummary).newest_first()


@pattern
def neighborhoods_by_slug(slug: str) -> Query[NeighborhoodSlug]:
    """The documented look; an index lags, so it is the guard that keeps a slug unique."""
    return Neighborhood.by_slug.query(slug).as_(NeighborhoodSlug)


@pattern
def members(neighborhood_id: str) -> Query[Membership]:
    return query(Membership, neighborhood_id)


@pattern
def member(neighborhood_id: str, user_did: str) -> Get[Membership]:
    return get(Membership, neighborhood_id, user_did)


@pattern
def memberships_of_user(user_did: str) -> Query[Membership]:
    return Membership.of_user.query(user_did).newest_first()


@pattern
def past_member(neighborhood_id: str, left_at: datetime, did: str) -> Get[PastMembership]:
    return get(PastMembership, neighborhood_id, left_at, did)


@pattern
def past_members(neighborhood_id: str) -> Query[PastMembership]:
    return query(PastMembership, neighborhood_id).newest_first()


@pattern
def sites_of_user(did: str) -> Query[Site]:
    return query(Site, did, Shelf.SITE)


@pattern
def site(did: str, site_id: str) -> Get[Site]:
    return get(Site, did, Shelf.SITE, site_id)


@pattern
def deleted_sites_of_user(did: str) -> Query[Site]:
    return query(Site, did, Shelf.DELETED)


@pattern
def deleted_site(did: str, site_id: str) -> Get[Site]:
    return get(Site, did, Shelf.DELETED, site_id)


@pattern
def build(site_id: str, started_at: datetime) -> Get[BuildJob]:
    return get(BuildJob, site_id, started_at)


@pattern
def builds_of_site(site_id: str) -> Query[BuildJob]:
    return query(BuildJob, site_id).newest_first()


@pattern
def builds_in_index(site_id: str) -> Query[BuildJob]:
    """The documented query: the site itself is in its range, so the filter keeps what has a `job_id`."""
    return BuildJob.of_site.query(site_id).where(F.job_id.exists()).newest_first().page(10)


design = prove("nbhd", nbhd)
