"""Adopting rows of the team's own code: names in the form in which they are looked for, and what was left half done.

What is right already is left alone, and every step stands for itself, so it may be interrupted and run again.
"""

from collections.abc import Callable

from partita import Adoption, Entity, F, Get, InvalidValue, Store
from partita_systems.adopting import IdFields, entity_label
from partita_systems.nbhd import design as d
from partita_systems.nbhd.service import Nbhd
from partita_systems.nbhd.validation import checked_handle, checked_subdomain, slug_of

ENTITIES: IdFields = {
    d.User: ("did",),
    d.Neighborhood: ("id",),
    d.Membership: ("neighborhood_id", "user_did"),
    d.Site: ("did", "site_id"),
}


def adopt(db: Store, progress: Callable[[Adoption], None] = lambda done: None) -> Adoption:
    """Bring what other code stored to what the design and the service say."""
    done = db.adopt(progress)
    nbhd = Nbhd(db)
    for found in db.scan(*ENTITIES):
        with done.collecting_errors(entity_label(found, ENTITIES)):
            _mend(nbhd, found, done)
        progress(done)
    return done


def _mend(nbhd: Nbhd, found: Entity, done: Adoption) -> None:
    match found:
        case d.User():
            done.rewritten += _handle(nbhd, found)
        case d.Neighborhood(closed_by=None):
            done.rewritten += _slug(nbhd, found)
        case d.Neighborhood(closed_by=str(closer)):
            done.created += nbhd.close(found.id, closer)
        case d.Membership():
            _membership(nbhd, found, done)
        case d.Site():
            done.rewritten += _subdomain(nbhd, found)


def _handle(nbhd: Nbhd, user: d.User) -> bool:
    handle = checked_handle(user.bluesky_handle)
    if handle == user.bluesky_handle:
        return False
    as_seen = F.bluesky_handle == user.bluesky_handle
    with nbhd.db.change(d.user(user.did), when=as_seen, system_change=True) as draft:
        draft.bluesky_handle = handle
    return True


def _slug(nbhd: Nbhd, neighborhood: d.Neighborhood) -> bool:
    slug = slug_of(neighborhood.slug)
    if slug == neighborhood.slug:
        return False
    with nbhd.db.change(d.neighborhood(neighborhood.id), when=F.slug == neighborhood.slug) as draft:
        draft.slug = slug
    return True


def _subdomain(nbhd: Nbhd, site: d.Site) -> bool:
    label = checked_subdomain(site.subdomain)
    if label == site.subdomain:
        return False
    with nbhd.db.change(_place(site), when=F.subdomain == site.subdomain, system_change=True) as draft:
        draft.subdomain = label
    return True


def _place(site: d.Site) -> Get[d.Site]:
    here = d.site if site.shelf == d.Shelf.SITE else d.deleted_site
    return here(site.did, site.site_id)


def _membership(nbhd: Nbhd, membership: d.Membership, done: Adoption) -> None:
    """Of a neighborhood that is gone it is history; that of a deleted account does not count."""
    home, did = membership.neighborhood_id, membership.user_did
    if nbhd.db(d.neighborhood(home), consistent=True) is None:
        nbhd.leave(home, did)
        done.created += 1
        return
    if membership.status != d.Standing.ACTIVE:
        return
    account = nbhd.db(d.user(did), consistent=True)
    if account is None:
        raise InvalidValue("Membership", f"there is no account {did}", "user_did")
    if account.deleted_at is not None:
        with nbhd.db.change(d.member(home, did)) as draft:
            draft.status = d.Standing.INACTIVE
        done.rewritten += 1
