"""Adoption of items that other code stored: the steps that are specific to Checks.

The store's own adoption writes due times and failures (which the design derives), creates the guards of e-mail
addresses and counts the checks. Here e-mail addresses with capitals are rewritten without case.
"""

from collections.abc import Callable

from partita import Adoption, Store
from partita_systems.checks import design as d
from partita_systems.checks.service import canonical_email


def adopt(db: Store, progress: Callable[[Adoption], None] = lambda done: None) -> Adoption:
    """Adopt all items. `refused` lists what cannot be adopted and stays unchanged; a second run has nothing to do."""
    done = db.adopt(progress)
    users = set()
    for user in db.scan(d.User):
        users.add(user.user_id)
        with done.collecting_errors(f"User {user.user_id}"):
            done.rewritten += _fold_email(db, user)
    progress(done)
    for check in db.scan(d.Check):
        if check.user_id not in users:
            done.refused.append(f"Check {check.check_id}: its user {check.user_id} does not exist")
    progress(done)
    return done


def _fold_email(db: Store, user: d.User) -> bool:
    """Whether the address was rewritten; one that another user holds has been reported already."""
    address = canonical_email(user.email)
    if address == user.email:
        return False
    holder = db.find_by_unique(d.User, "email", user.email)
    if holder is None or holder.user_id != user.user_id:
        return False
    with db.change(d.user(user.user_id), system_change=True) as draft:
        draft.email = address
    return True
