"""What somebody is in a neighborhood, and the rules that ask for it. Whose account is deleted is nobody."""

from typing import NamedTuple

from partita import NotFound
from partita.rest import Caller, allowed_if, caller_is, group, public_if
from partita_systems.nbhd import design as d
from partita_systems.nbhd.service import Nbhd


class Standing(NamedTuple):
    """A neighborhood, or None where it is closed, and what the caller is there."""

    neighborhood: d.Neighborhood | None
    role: d.Role | None
    is_deleted: bool = False


def standing(service: Nbhd, caller: Caller, neighborhood_id: str) -> Standing:
    return _in(service, caller, service.db.one(d.neighborhood(neighborhood_id)))


def standing_by_slug(service: Nbhd, caller: Caller, slug: str) -> Standing:
    return _in(service, caller, neighborhood_of_slug(service, slug))


def neighborhood_of_slug(service: Nbhd, slug: str) -> d.Neighborhood:
    found = service.find_by_slug(slug)
    if found is None:
        raise NotFound(d.Neighborhood.__name__, {"slug": slug})
    return found


def standing_then(service: Nbhd, caller: Caller, neighborhood_id: str) -> Standing:
    """The same for what outlives the neighborhood."""
    found = service.db(d.neighborhood(neighborhood_id))
    return _in(service, caller, found) if found is not None else Standing(None, None)


def _in(service: Nbhd, caller: Caller, neighborhood: d.Neighborhood) -> Standing:
    """A deleted account is nobody, though its walk through the memberships may still be under way."""
    account = service.db(d.user(caller.id)) if caller.id is not None else None
    if account is None or account.deleted_at is not None:
        return Standing(neighborhood, None, is_deleted=account is not None)
    if neighborhood.closed_by == account.did:  # may go on with it, member or no more
        return Standing(neighborhood, d.Role.ADMIN)
    member = service.db(d.member(neighborhood.id, account.did))
    if member is None or member.status != d.Standing.ACTIVE:
        return Standing(neighborhood, None)
    return Standing(neighborhood, member.role)


admin = group("admin")
public = public_if("a public neighborhood", lambda at: at.neighborhood.privacy == d.Privacy.PUBLIC)
members = allowed_if("its members", lambda at: at.role is not None)
hosts = allowed_if("its admins", lambda at: at.role == d.Role.ADMIN)
neighbors = public | members | admin

leaver = caller_is("user_did") & allowed_if("has not deleted the account", lambda at: not at.is_deleted)

living = public_if("an account that is not deleted", lambda user: user.deleted_at is None)
mine = caller_is("did") & allowed_if(
    "has not deleted the account", lambda user: user is None or user.deleted_at is None
)


def account(service: Nbhd, caller: Caller, did: str) -> d.User | None:
    """Whose something is; of an account that is purged there may be something left for the group admin."""
    return service.db(d.user(did))


class Displayed(NamedTuple):
    """A site and its owner."""

    site: d.Site
    owner: d.User | None


def displayed(service: Nbhd, caller: Caller, did: str, site_id: str) -> Displayed:
    return Displayed(service.db.one(d.site(did, site_id)), service.db(d.user(did)))


def is_open(at: Displayed) -> bool:
    """Whether strangers see it: the sites of a deleted account are hidden with it."""
    return at.site.status == d.SiteStatus.PUBLISHED and at.owner is not None and at.owner.deleted_at is None


published = public_if("a published site whose owner has not deleted the account", is_open)
