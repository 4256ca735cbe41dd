"""Bringing rows of the team's own code to what the design says: what only Checks knows.

The store writes when a check is due and how often it failed (the design derives both), makes the guards of e-mail
addresses and counts the checks. Here the addresses that were stored with capitals become what `find_by_email` asks for.
"""

from collections.abc import Callable

from partita import Adoption, Store
from partita_systems.checks import design as d
from partita_systems.checks.service import folded


def adopt(db: Store, progress: Callable[[Adoption], None] = lambda done: None) -> Adoption:
    """Whatever cannot be mended is named in `refused`, and stands as it was; run again, it finds nothing to do."""
    done = db.adopt(progress)
    users = set()
    for user in db.scan(d.User):
        users.add(user.user_id)
        with done.collecting_errors(f"User {user.user_id}"):
            done.rewritten += _fold(db, user)
    progress(done)
    for check in db.scan(d.Check):
        if check.userid not in users:
            done.refused.append(f"Check {check.check_id}: its user {check.userid} does not exist")
    progress(done)
    return done


def _fold(db: Store, user: d.User) -> bool:
    """Whether the address had to be written without case; one that somebody else holds has been refused already."""
    address = folded(user.email)
    if address == user.email:
        return False
    holder = db.find_by_unique(d.User, "email", user.email)
    if holder is None or holder.user_id != user.user_id:
        return False
    with db.change(d.user(user.user_id), system_change=True) as draft:
        draft.email = address
    return True
