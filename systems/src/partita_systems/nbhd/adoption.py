"""Adoption of items that other code stored: canonical handles, slugs and subdomains, and unfinished operations.

Correct items stay unchanged, and every step is independent, so adoption can be interrupted and run again.
"""

from collections.abc import Callable

from partita import Adoption, AlreadyExists, Entity, F, Get, InvalidValue, Store
from partita_systems.adopting import IdFields, entity_label
from partita_systems.nbhd import design as d
from partita_systems.nbhd.purging import PSEUDONYM
from partita_systems.nbhd.service import Nbhd
from partita_systems.nbhd.validation import canonical_handle, canonical_subdomain, slug_of

ENTITIES: IdFields = {
    d.User: ("did",),
    d.Neighborhood: ("neighborhood_id",),
    d.Membership: ("neighborhood_id", "did"),
    d.PastMembership: ("neighborhood_id", "did"),
    d.Site: ("did", "site_id"),
}


def adopt(db: Store, progress: Callable[[Adoption], None] = lambda done: None) -> Adoption:
    """Adopt all items. `refused` lists what cannot be adopted and stays unchanged; a second run has nothing to do."""
    done = db.adopt(progress)
    nbhd = Nbhd(db)
    for found in db.scan(*ENTITIES):
        with done.collecting_errors(entity_label(found, ENTITIES)):
            _adopt_item(nbhd, found, done)
        progress(done)
    return done


def _adopt_item(nbhd: Nbhd, found: Entity, done: Adoption) -> None:
    match found:
        case d.User():
            done.rewritten += _handle(nbhd, found)
        case d.Neighborhood(closed_by=None):
            done.rewritten += _slug(nbhd, found)
        case d.Neighborhood(closed_by=str(closer)):
            done.created += nbhd.close(found.neighborhood_id, closer)
        case d.Membership():
            _membership(nbhd, found, done)
        case d.PastMembership():
            done.created += _link_history(nbhd, found)
        case d.Site():
            done.rewritten += _subdomain(nbhd, found)


def _link_history(nbhd: Nbhd, past: d.PastMembership) -> bool:
    """Create the link from a user to a past membership, without which a purge would not find it."""
    if past.did.startswith(PSEUDONYM):
        return False
    link = d.HistoryLink(did=past.did, neighborhood_id=past.neighborhood_id, left_at=past.left_at)
    try:
        nbhd.db.create(link)
    except AlreadyExists:
        return False
    return True


def _handle(nbhd: Nbhd, user: d.User) -> bool:
    handle = canonical_handle(user.bluesky_handle)
    if handle == user.bluesky_handle:
        return False
    unchanged = F.bluesky_handle == user.bluesky_handle
    with nbhd.db.change(d.user(user.did), when=unchanged, system_change=True) as draft:
        draft.bluesky_handle = handle
    return True


def _slug(nbhd: Nbhd, neighborhood: d.Neighborhood) -> bool:
    slug = slug_of(neighborhood.slug)
    if slug == neighborhood.slug:
        return False
    with nbhd.db.change(d.neighborhood(neighborhood.neighborhood_id), when=F.slug == neighborhood.slug) as draft:
        draft.slug = slug
    return True


def _subdomain(nbhd: Nbhd, site: d.Site) -> bool:
    label = canonical_subdomain(site.subdomain)
    if label == site.subdomain:
        return False
    with nbhd.db.change(_site_key(site), when=F.subdomain == site.subdomain, system_change=True) as draft:
        draft.subdomain = label
    return True


def _site_key(site: d.Site) -> Get[d.Site]:
    here = d.site if site.shelf == d.Shelf.SITE else d.deleted_site
    return here(site.did, site.site_id)


def _membership(nbhd: Nbhd, membership: d.Membership, done: Adoption) -> None:
    """The membership of a deleted neighborhood becomes history; that of a deleted account becomes inactive."""
    home, did = membership.neighborhood_id, membership.did
    if nbhd.db(d.neighborhood(home), consistent=True) is None:
        nbhd.leave(home, did)
        done.created += 1
        return
    if membership.status != d.MembershipStatus.ACTIVE:
        return
    account = nbhd.db(d.user(did), consistent=True)
    if account is None:
        raise InvalidValue("Membership", f"account {did} does not exist", "did")
    if account.deleted_at is not None:
        with nbhd.db.change(d.member(home, did)) as draft:
            draft.status = d.MembershipStatus.INACTIVE
        done.rewritten += 1
