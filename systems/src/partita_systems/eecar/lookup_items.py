"""The small items beside a part, a watch and a proposal, by which they are found in a second way.

Other code writes none of them: adoption makes them all, and what needs one meanwhile makes that one.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from partita import AlreadyExists, Condition, ConditionFailed, Entity, Get, NotFound, ReferenceMissing, Store
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import ANY

E = TypeVar("E")
R = TypeVar("R")


def offered(part: d.Part) -> d.Offered:
    return d.Offered(part_id=part.part_id, seller_id=part.seller_id, created_at=part.created_at)


def watching(watch: d.Watch) -> d.Watching:
    return d.Watching(
        watch_id=watch.watch_id,
        buyer_id=watch.buyer_id,
        category=watch.criteria.category or ANY,
        criteria=watch.criteria,
        created_at=watch.created_at,
    )


def sent(proposal: d.Proposal) -> d.Sent:
    return d.Sent(
        proposal_id=proposal.proposal_id,
        from_company_id=proposal.from_company_id,
        status=proposal.status,
        created_at=proposal.created_at,
    )


def beside(
    db: Store, owner: Get[E], companion: Callable[[E], Entity], holds: Callable[[E], Condition], write: Callable[[], R]
) -> R:
    """What `write` does, which needs the companion of `owner`: where that is missing it is made, while `holds`."""
    try:
        return write()
    except (NotFound, ReferenceMissing):
        found = db(owner, consistent=True)
        if found is None:
            raise
        with suppress(AlreadyExists, ConditionFailed, ReferenceMissing), db.transaction() as transaction:
            transaction.check(owner, holds(found))
            transaction.create(companion(found))
        return write()
