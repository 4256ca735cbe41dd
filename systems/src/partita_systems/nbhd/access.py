"""Access rules of nbhd.city, by membership in a neighborhood and ownership. Deleted accounts have no rights."""

from typing import NamedTuple

from partita import NotFound
from partita.rest import Caller, allowed_if, caller_is, group, public_if
from partita_systems.nbhd import design as d
from partita_systems.nbhd.service import Nbhd


class NeighborhoodAccess(NamedTuple):
    """A neighborhood, or None if it is closed, and the role of the caller in it."""

    neighborhood: d.Neighborhood | None
    role: d.Role | None
    is_deleted: bool = False
    is_invited: bool = False


def neighborhood_access(service: Nbhd, caller: Caller, neighborhood_id: str) -> NeighborhoodAccess:
    return _access(service, caller, service.db.one(d.neighborhood(neighborhood_id)))


def neighborhood_access_by_slug(service: Nbhd, caller: Caller, slug: str) -> NeighborhoodAccess:
    return _access(service, caller, neighborhood_of_slug(service, slug))


def neighborhood_of_slug(service: Nbhd, slug: str) -> d.Neighborhood:
    found = service.find_by_slug(slug)
    if found is None:
        raise NotFound(d.Neighborhood.__name__, {"slug": slug})
    return found


def history_access(service: Nbhd, caller: Caller, neighborhood_id: str) -> NeighborhoodAccess:
    """Access to items that outlive the neighborhood."""
    found = service.db(d.neighborhood(neighborhood_id))
    return _access(service, caller, found) if found is not None else NeighborhoodAccess(None, None)


def _access(service: Nbhd, caller: Caller, neighborhood: d.Neighborhood) -> NeighborhoodAccess:
    """A deleted account has no role, even if its memberships are not yet inactive."""
    account = service.db(d.user(caller.id)) if caller.id is not None else None
    if account is None or account.deleted_at is not None:
        return NeighborhoodAccess(neighborhood, None, is_deleted=account is not None)
    if neighborhood.closed_by == account.did:  # may repeat an interrupted closing without being a member
        return NeighborhoodAccess(neighborhood, d.Role.ADMIN)
    member = service.db(d.member(neighborhood.neighborhood_id, account.did))
    if member is None or member.status != d.MembershipStatus.ACTIVE:
        invitation = service.db(d.invitation(account.did, neighborhood.neighborhood_id))
        return NeighborhoodAccess(neighborhood, None, is_invited=invitation is not None)
    return NeighborhoodAccess(neighborhood, member.role)


admin = group("admin")
public = public_if("a public neighborhood", lambda access: access.neighborhood.privacy == d.Privacy.PUBLIC)
listed = public_if("a public neighborhood", lambda found: found.privacy == d.Privacy.PUBLIC and found.closed_by is None)
members = allowed_if("its members", lambda access: access.role is not None)
neighborhood_admins = allowed_if("its admins", lambda access: access.role == d.Role.ADMIN)
neighbors = public | members | admin
invited = allowed_if("an invited user", lambda access: access.is_invited)

leaving_member = caller_is("did") & allowed_if("the holder of an active account", lambda access: not access.is_deleted)

active_account = public_if("an account that is not deleted", lambda user: user.deleted_at is None)
active_owner = caller_is("did") & allowed_if(
    "the holder of an active account", lambda user: user is None or user.deleted_at is None
)


def account(service: Nbhd, caller: Caller, did: str) -> d.User | None:
    """The owner; None for a purged account, whose remaining items the group admin may delete."""
    return service.db(d.user(did))


class SiteAccess(NamedTuple):
    """A site and its owner."""

    site: d.Site
    owner: d.User | None


def site_access(service: Nbhd, caller: Caller, did: str, site_id: str) -> SiteAccess:
    return SiteAccess(service.db.one(d.site(did, site_id)), service.db(d.user(did)))


def is_public(access: SiteAccess) -> bool:
    """Whether everyone may see a site: it is published, and its owner has not deleted the account."""
    published = access.site.status == d.SiteStatus.PUBLISHED
    return published and access.owner is not None and access.owner.deleted_at is None


published = public_if("a published site whose owner has not deleted the account", is_public)
