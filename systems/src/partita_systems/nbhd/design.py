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
    Internal,
    Item,
    Items,
    Keys,
    OpenEnum,
    Owns,
    References,
    StoredAs,
    Table,
    Unique,
    Untracked,
    UpdatedAt,
    View,
    Was,
    collection,
    get,
    pattern,
    prove,
    query,
)
from partita_systems.fields import FreeText, HttpUrl, HttpUrlOrPath, Line

Name = Annotated[Line, msgspec.Meta(max_length=100)]
Text = Annotated[FreeText, msgspec.Meta(max_length=2000)]
GRACE = timedelta(days=30)  # after its deletion, an account can be restored; then it is purged
INVITATION = timedelta(days=30)
EXPORT = timedelta(days=7)  # the archive of an exported site can be fetched
LEASE = timedelta(minutes=15)  # of a build, since its start or the last sign of life of its builder


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
    """A site is a draft until its first build. An unpublished one stays so until it is published, whatever is built."""

    DRAFT = "draft"
    PUBLISHED = "published"
    UNPUBLISHED = "unpublished"


class BuildStatus(OpenEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


class Shelf(str, enum.Enum):
    """The key prefix of a site: a deleted site is not in its owner's list and can be restored."""

    SITE = "SITE"
    DELETED = "DELETED_SITE"


class Image(msgspec.Struct):
    url: HttpUrl
    size: Name | None = None


def _image_of(url: HttpUrl) -> Image:
    return Image(url)


def _url_of(image: Image) -> HttpUrl:
    return image.url


AVATAR = Was("avatar_url", member="avatar", to=_image_of, back=_url_of)


class Settings(msgspec.Struct, kw_only=True):
    allow_site_creation: bool = True
    require_email_verification: bool = False


class UserSummary(View):
    """The attributes of a user in GSI1."""

    did: str
    bluesky_handle: Annotated[str, Unique(case_insensitive=True)]
    display_name: Name
    avatar_url: HttpUrl | None = None  # until the last step of its migration
    profile_images: Annotated[dict[str, Image] | None, AVATAR] = None
    created_at: Annotated[datetime, CreatedAt()] = AUTO

    listed = Keys("GSI1", "USER", when=F.deleted_at.is_absent())


class NeighborhoodSlug(View):
    """The attributes in GSI2."""

    neighborhood_id: Annotated[str, StoredAs("id")]
    slug: Annotated[str, Unique(case_insensitive=True)]

    by_slug = Keys("GSI2")


class NeighborhoodSummary(NeighborhoodSlug):
    """The attributes of a neighborhood in GSI1."""

    name: Name
    member_count: Annotated[int, CountOf(lambda: Membership, when=F.status == MembershipStatus.ACTIVE)] = 0
    created_at: Annotated[datetime, CreatedAt()] = AUTO

    listed = Keys("GSI1", "NBHD", when=(F.privacy == Privacy.PUBLIC) & F.closed_by.is_absent())


BUILD_ATTRIBUTES = tuple("job_id status started_at completed_at error log_url ttl".split())
INDEXES = (
    Index("GSI1", "entity_type", "created_at", project=(UserSummary, NeighborhoodSummary, "ttl")),
    Index("GSI2", "slug", "id", project="KEYS_ONLY"),
    Index("GSI3", "user_did", "joined_at"),
    Index("GSI4", "site_id", "created_at", project=BUILD_ATTRIBUTES),
)
ACTIVE_ADMIN = (F.role == Role.ADMIN) & (F.status == MembershipStatus.ACTIVE)
nbhd = Table("nbhd-city", "PK", "SK", INDEXES, ttl="ttl", stream="NEW_AND_OLD_IMAGES", recovery_days=35)


class User(UserSummary, Entity, table=nbhd, key=("USER#{did}", "PROFILE")):
    bluesky_did: str | None = None
    bio: Text | None = None
    updated_at: Annotated[datetime, UpdatedAt()] = AUTO
    deleted_at: datetime | None = None
    administered_count: Annotated[int, CountOf(lambda: Membership, when=ACTIVE_ADMIN)] = 0

    expiry = Expires("deleted_at", after=GRACE)


class Purge(Entity, table=nbhd, key=("USER#{did}", "PURGE")):
    """A purge that is due when the grace period of a deleted account ends, or that has begun."""

    did: Annotated[str, InKey()]
    due_at: Annotated[datetime, StoredAs("created_at")]

    queue = Keys("GSI1", "PURGE")


class Neighborhood(NeighborhoodSummary, Entity, table=nbhd, key=("NBHD#{neighborhood_id}", "METADATA")):
    description: Text = ""
    creator_did: Annotated[str | None, References(lambda: User)] = None  # None if the creator's account is purged
    admin_count: Annotated[int, CountOf(lambda: Membership, when=ACTIVE_ADMIN)] = 0
    privacy: Privacy = Privacy.PUBLIC
    settings: Settings = msgspec.field(default_factory=Settings)
    closed_by: Annotated[str | None, Internal()] = None  # while it is closed: nobody joins, memberships become history

    memberships = Owns(lambda: Membership)


class Membership(Entity, table=nbhd, key=("NBHD#{neighborhood_id}", "MEMBER#{did}")):
    neighborhood_id: Annotated[str, InKey()]
    did: Annotated[str, StoredAs("user_did"), References(lambda: User)]
    role: Role = Role.MEMBER
    joined_at: datetime
    status: MembershipStatus = MembershipStatus.ACTIVE

    of_user = Keys("GSI3")


class Invitation(Entity, table=nbhd, key=("USER#{did}", "INVITATION#{neighborhood_id}")):
    """An invitation to a neighborhood, which its member accepts by joining; it expires after 30 days."""

    did: Annotated[str, InKey(), References(lambda: User)]
    neighborhood_id: Annotated[str, InKey()]
    neighborhood_name: Name
    invited_by: str
    invited_at: datetime

    expiry = Expires("invited_at", after=INVITATION)


class PastMembership(Entity, table=nbhd, key=("NBHD#{neighborhood_id}", "HISTORY#{left_at}#{did}")):
    """A former membership, without index attributes; never expires."""

    neighborhood_id: Annotated[str, InKey()]
    left_at: Annotated[datetime, InKey()]
    did: Annotated[str, InKey()]
    role: Role
    member_since: datetime


class HistoryLink(Entity, table=nbhd, key=("USER#{did}", "HISTORY#{neighborhood_id}#{left_at}")):
    """Finds the history of a user, which is stored under its neighborhood, when the account is purged."""

    did: Annotated[str, InKey()]
    neighborhood_id: Annotated[str, InKey()]
    left_at: Annotated[datetime, InKey()]


class Site(Entity, table=nbhd, key=("USER#{did}", "{shelf}#{site_id}")):
    did: Annotated[str, InKey(), References(lambda: User)]
    shelf: Annotated[Shelf, InKey(), Untracked(), Internal()] = Shelf.SITE
    site_id: str
    title: Name
    template: Name
    status: Annotated[SiteStatus, Untracked()] = SiteStatus.DRAFT
    subdomain: Annotated[str, Unique(case_insensitive=True)]
    neighborhood_id: str | None = None
    config: dict[str, Any] = msgspec.field(default_factory=dict)
    created_at: Annotated[datetime, CreatedAt()] = AUTO
    updated_at: Annotated[datetime, UpdatedAt()] = AUTO
    built_at: Annotated[datetime | None, Untracked()] = None
    build_id: Annotated[str | None, Untracked()] = None  # the last good build, whose files are the site's pages
    public_url: str
    deleted_at: Annotated[datetime | None, Untracked()] = None

    expiry = Expires("deleted_at", after=timedelta(days=7))


class BuildSummary(View):
    """The attributes of a build in GSI4."""

    job_id: str
    site_id: str
    status: BuildStatus = BuildStatus.RUNNING
    started_at: datetime
    completed_at: datetime | None = None
    error: Text | None = None
    log_url: HttpUrlOrPath | None = None

    of_site = Keys("GSI4", sk="{started_at}")


class BuildJob(BuildSummary, Entity, table=nbhd, key=("BUILD#{site_id}", "JOB#{started_at}")):
    owner_did: Annotated[str | None, Internal()] = None  # absent in jobs of other code, which its own builder builds
    lease_until: datetime | None = None  # absent in jobs of other code: LEASE after `started_at`

    one_at_a_time = Unique("site_id", when=F.status == BuildStatus.RUNNING)
    expiry = Expires("started_at", after=timedelta(days=90))


class SiteExport(Entity, table=nbhd, key=("USER#{did}", "EXPORT#{site_id}#{export_id}")):
    """An archive of a site: its config, template and built files. It can be fetched for 7 days, then it is deleted."""

    did: Annotated[str, InKey()]
    site_id: Annotated[str, InKey()]
    export_id: Annotated[str, InKey()]
    exported_at: datetime
    archive_url: HttpUrlOrPath

    expiry = Expires("exported_at", after=EXPORT)


class ObjectSpace(Entity, table=nbhd, key=("SPACE", "OBJECTS")):
    """Where this table's files are in the object store, which several tables may share."""

    space: str


# Access patterns --------------------------------------------------------------------------------------------------


@pattern
def user(did: str) -> Item[User]: ...
@pattern
def account(did: str) -> Items[User | Site | SiteExport | Invitation | HistoryLink | Purge]:
    """Everything in the partition of a user."""
    return collection(User, Site, SiteExport, Invitation, HistoryLink, Purge)(did)


@pattern
def purge(did: str) -> Item[Purge]: ...
@pattern
def purges_due(since: datetime, until: datetime) -> Items[Purge]:
    """Purges that are due in a time, first the one that has been due longest."""
    return Purge.queue.between(since, until)


@pattern(UserSummary.listed.newest_first())
def users() -> Items[UserSummary]:
    """All users, newest first."""


@pattern
def users_between(since: datetime, until: datetime) -> Items[UserSummary]:
    """Users who registered between two times, newest first."""
    return UserSummary.listed.between(since, until).newest_first()


@pattern
def neighborhood(neighborhood_id: str) -> Item[Neighborhood]: ...


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
def member(neighborhood_id: str, did: str) -> Item[Membership]: ...


@pattern
def memberships_of_user(did: str) -> Items[Membership]:
    return Membership.of_user.query(did).newest_first()


@pattern
def invitation(did: str, neighborhood_id: str) -> Item[Invitation]: ...
@pattern
def invitations_of_user(did: str) -> Items[Invitation]: ...
@pattern
def history_links(did: str) -> Items[HistoryLink]: ...
@pattern
def history_link(did: str, neighborhood_id: str, left_at: datetime) -> Item[HistoryLink]: ...
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
def exports_of_site(did: str, site_id: str) -> Items[SiteExport]: ...
@pattern
def export(did: str, site_id: str, export_id: str) -> Item[SiteExport]: ...
@pattern
def object_space() -> Item[ObjectSpace]: ...
@pattern
def build(site_id: str, started_at: datetime) -> Item[BuildJob]: ...
@pattern(query(BuildJob).newest_first().page(10))
def builds_of_site(site_id: str) -> Items[BuildJob]: ...


@pattern(BuildSummary.of_site.where(F.job_id.exists()).newest_first().page(10))
def builds_in_index(site_id: str) -> Items[BuildSummary]:
    """The documented query: its range includes the site itself, so a filter keeps items with a `job_id`."""


design = prove("nbhd", nbhd)
