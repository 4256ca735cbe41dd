"""The design of nbhd.city: users, neighborhoods, memberships, sites and their builds. One table."""

import enum
from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec

from partita import (
    AUTO,
    CountOf,
    CreatedAt,
    Entity,
    Expires,
    F,
    Index,
    InKey,
    Item,
    Items,
    Keys,
    OpenEnum,
    Owns,
    References,
    Table,
    Unique,
    Untracked,
    UpdatedAt,
    View,
    get,
    pattern,
    prove,
    query,
)

Line = Annotated[str, msgspec.Meta(min_length=1, max_length=100, pattern=r"\S")]
Text = Annotated[str, msgspec.Meta(max_length=2000)]


class Role(OpenEnum):
    MEMBER = "member"
    ADMIN = "admin"


class MembershipStatus(OpenEnum):
    """Whether a membership counts: that of a deleted account is inactive until the account is restored."""

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
    """The key prefix of a site: a deleted site is not in its owner's list and can be restored."""

    SITE = "SITE"
    DELETED = "DELETED_SITE"


class Image(msgspec.Struct):
    url: Text
    size: str | None = None


class Settings(msgspec.Struct, kw_only=True):
    allow_site_creation: bool = True
    require_email_verification: bool = False


class UserSummary(View):
    """The attributes of a user in GSI1."""

    did: str
    bluesky_handle: Annotated[str, Unique(case_insensitive=True)]
    display_name: Line
    avatar_url: Text | None = None
    profile_images: dict[str, Image] | None = None
    created_at: Annotated[datetime, CreatedAt()] = AUTO

    listed = Keys("GSI1", "USER", when=F.deleted_at.is_absent())


class NeighborhoodSlug(View):
    """The attributes in GSI2."""

    id: str
    slug: Annotated[str, Unique(case_insensitive=True)]

    by_slug = Keys("GSI2")


class NeighborhoodSummary(NeighborhoodSlug):
    """The attributes of a neighborhood in GSI1."""

    name: Line
    member_count: Annotated[
        int, CountOf(lambda: Membership, when=F.status == MembershipStatus.ACTIVE, via={"id": "neighborhood_id"})
    ] = 0
    created_at: Annotated[datetime, CreatedAt()] = AUTO

    listed = Keys("GSI1", "NBHD", when=(F.privacy == Privacy.PUBLIC) & F.closed_by.is_absent())


BUILD_ATTRIBUTES = tuple("job_id status started_at completed_at error log_url ttl".split())
INDEXES = (
    Index("GSI1", "entity_type", "created_at", project=(UserSummary, NeighborhoodSummary, "ttl")),
    Index("GSI2", "slug", "id", project="KEYS_ONLY"),
    Index("GSI3", "user_did", "joined_at"),
    Index("GSI4", "site_id", "created_at", project=BUILD_ATTRIBUTES),
)
nbhd = Table("nbhd-city", "PK", "SK", INDEXES, ttl="ttl", stream="NEW_AND_OLD_IMAGES", recovery_days=35)


class User(UserSummary, Entity, table=nbhd, key=("USER#{did}", "PROFILE")):
    bluesky_did: str | None = None
    bio: Text | None = None
    updated_at: Annotated[datetime, UpdatedAt()] = AUTO
    deleted_at: datetime | None = None

    expiry = Expires("deleted_at", after=timedelta(days=30))


class Neighborhood(NeighborhoodSummary, Entity, table=nbhd, key=("NBHD#{id}", "METADATA")):
    description: Text = ""
    creator_did: Annotated[str, References(lambda: User)]
    privacy: Privacy = Privacy.PUBLIC
    settings: Settings = msgspec.field(default_factory=Settings)
    closed_by: str | None = None  # set while it is being closed: nobody can join, and its memberships become history

    memberships = Owns(lambda: Membership, via={"neighborhood_id": "id"})


class Membership(Entity, table=nbhd, key=("NBHD#{neighborhood_id}", "MEMBER#{user_did}")):
    neighborhood_id: Annotated[str, InKey()]
    user_did: Annotated[str, References(lambda: User)]
    role: Role = Role.MEMBER
    joined_at: datetime
    status: MembershipStatus = MembershipStatus.ACTIVE

    of_user = Keys("GSI3")


class PastMembership(Entity, table=nbhd, key=("NBHD#{neighborhood_id}", "HISTORY#{left_at}#{did}")):
    """A former membership, without index attributes; never expires."""

    neighborhood_id: Annotated[str, InKey()]
    left_at: Annotated[datetime, InKey()]
    did: Annotated[str, InKey()]
    role: Role
    member_since: datetime


class Site(Entity, table=nbhd, key=("USER#{did}", "{shelf}#{site_id}")):
    did: Annotated[str, InKey(), References(lambda: User)]
    shelf: Annotated[Shelf, InKey(), Untracked()] = Shelf.SITE
    site_id: str
    title: Line
    template: Line
    status: Annotated[SiteStatus, Untracked()] = SiteStatus.DRAFT
    subdomain: Annotated[str, Unique(case_insensitive=True)]
    neighborhood_id: str | None = None
    config: dict[str, Any] = msgspec.field(default_factory=dict)
    created_at: Annotated[datetime, CreatedAt()] = AUTO
    updated_at: Annotated[datetime, UpdatedAt()] = AUTO
    built_at: Annotated[datetime | None, Untracked()] = None
    public_url: str
    deleted_at: Annotated[datetime | None, Untracked()] = None

    expiry = Expires("deleted_at", after=timedelta(days=7))


class BuildJob(Entity, table=nbhd, key=("BUILD#{site_id}", "JOB#{started_at}")):
    job_id: str
    site_id: str
    status: BuildStatus = BuildStatus.RUNNING
    started_at: datetime
    completed_at: datetime | None = None
    error: Text | None = None
    log_url: Text | None = None

    of_site = Keys("GSI4", sk="{started_at}")
    one_at_a_time = Unique("site_id", when=F.status == BuildStatus.RUNNING)
    expiry = Expires("started_at", after=timedelta(days=90))


# Access patterns --------------------------------------------------------------------------------------------------


@pattern
def user(did: str) -> Item[User]: ...
@pattern(UserSummary.listed.newest_first())
def users() -> Items[UserSummary]:
    """All users, newest first."""


@pattern
def users_between(since: datetime, until: datetime) -> Items[UserSummary]:
    """Users who registered between two times, newest first."""
    return UserSummary.listed.between(since, until).newest_first()


@pattern
def neighborhood(neighborhood_id: str) -> Item[Neighborhood]:
    return get(Neighborhood, neighborhood_id)


@pattern(NeighborhoodSummary.listed.newest_first())
def neighborhoods() -> Items[NeighborhoodSummary]:
    """Public neighborhoods, newest first."""


@pattern(NeighborhoodSlug.by_slug)
def neighborhoods_by_slug(slug: str) -> Items[NeighborhoodSlug]:
    """The documented lookup; the index may lag, so a guard keeps slugs unique."""


@pattern(query(Membership).where(F.status != MembershipStatus.INACTIVE))
def members(neighborhood_id: str) -> Items[Membership]:
    """Members of a neighborhood; the filter drops deleted accounts, which may be restored."""


@pattern
def memberships(neighborhood_id: str) -> Items[Membership]:
    """All memberships of a neighborhood, including those of deleted accounts."""


@pattern
def member(neighborhood_id: str, user_did: str) -> Item[Membership]: ...
@pattern(Membership.of_user.newest_first())
def memberships_of_user(user_did: str) -> Items[Membership]: ...
@pattern
def past_member(neighborhood_id: str, left_at: datetime, did: str) -> Item[PastMembership]: ...
@pattern(query(PastMembership).newest_first())
def past_members(neighborhood_id: str) -> Items[PastMembership]:
    """Former members of a neighborhood, newest first."""


@pattern
def sites_of_user(did: str) -> Items[Site]:
    return query(Site, did, Shelf.SITE)


@pattern
def site(did: str, site_id: str) -> Item[Site]:
    return get(Site, did, Shelf.SITE, site_id)


@pattern
def deleted_sites_of_user(did: str) -> Items[Site]:
    return query(Site, did, Shelf.DELETED)


@pattern
def deleted_site(did: str, site_id: str) -> Item[Site]:
    return get(Site, did, Shelf.DELETED, site_id)


@pattern
def build(site_id: str, started_at: datetime) -> Item[BuildJob]: ...
@pattern(query(BuildJob).newest_first())
def builds_of_site(site_id: str) -> Items[BuildJob]: ...


@pattern(BuildJob.of_site.where(F.job_id.exists()).newest_first().page(10))
def builds_in_index(site_id: str) -> Items[BuildJob]:
    """The documented query: its range includes the site itself, so a filter keeps items with a `job_id`."""


design = prove("nbhd", nbhd)
