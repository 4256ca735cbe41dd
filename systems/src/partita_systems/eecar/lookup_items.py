"""Lookup items: a part, a watch and a proposal each have a small second item, which an index finds by another key.

Other code does not write them. Adoption creates them all; before that, operations that need one create it.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from partita import AlreadyExists, Condition, ConditionFailed, Entity, Get, NotFound, ReferenceMissing, Store
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import ANY

E = TypeVar("E")
R = TypeVar("R")


def seller_entry(part: d.Part) -> d.SellerEntry:
    return d.SellerEntry(part_id=part.part_id, seller_id=part.seller_id, created_at=part.created_at)


def watch_entry(watch: d.Watch) -> d.Watching:
    return d.Watching(
        watch_id=watch.watch_id,
        buyer_id=watch.buyer_id,
        category=watch.criteria.category or ANY,
        criteria=watch.criteria,
        created_at=watch.created_at,
    )


def sender_entry(proposal: d.Proposal) -> d.SenderEntry:
    return d.SenderEntry(
        proposal_id=proposal.proposal_id,
        from_company_id=proposal.from_company_id,
        status=proposal.status,
        created_at=proposal.created_at,
    )


def create_entry_if_missing(
    db: Store, owner: Get[E], entry: Callable[[E], Entity], unchanged: Callable[[E], Condition], write: Callable[[], R]
) -> R:
    """Run `write`, which needs the lookup item of `owner`. If it is missing, create it and run `write` again.

    The item is created from the owner on the condition that the owner is `unchanged`.
    """
    try:
        return write()
    except (NotFound, ReferenceMissing):
        found = db(owner, consistent=True)
        if found is None:
            raise
        with suppress(AlreadyExists, ConditionFailed, ReferenceMissing), db.transaction() as transaction:
            transaction.check(owner, unchanged(found))
            transaction.create(entry(found))
        return write()
