"""The demo of Checks: a check of a page on this server, which the runner runs within ten seconds."""

import os
from contextlib import suppress

from partita import AlreadyExists, NotUnique, Store
from partita_systems.checks import design as d
from partita_systems.checks.fetching import SETTING
from partita_systems.checks.service import Checks

USER, CHECK = "u_demo", "c_demo"
LOOPBACK = "127.0.0.0/8,::1/128"


def prepare(db: Store, address: str) -> None:
    """A check of the home page. Pages on loopback are allowed, unless the operator has set other networks."""
    os.environ.setdefault(SETTING, LOOPBACK)
    checks = Checks(db)
    with suppress(AlreadyExists, NotUnique):
        checks.register("demo@example.com", user_id=USER)
    if db(d.check(CHECK)) is not None:
        checks.remove(CHECK)  # it was of a server at another port
    db.create(
        d.Check(
            check_id=CHECK,
            user_id=USER,
            url=f"{address}/api",
            check_type=d.CheckType.AVAILABILITY,
            delay_ms=d.MIN_DELAY_MS,
            attributes={"keyword": "checks"},
            due_at=db.now(),
        )
    )


def sight(db: Store, address: str) -> str | None:
    """The outcome of the check, once it has run."""
    check = db(d.check(CHECK))
    if check is None or check.last_result is None:
        return None
    result = check.last_result
    took = "" if result.response_time is None else f" in {result.response_time} ms"
    reason = "" if result.reason is None else f" ({result.reason})"
    here = f"{address}/api/checks/checks/{CHECK}/results"
    return f"a check of {check.url} has run: {result.status}{took}{reason}; its results are at {here}, with the token"
