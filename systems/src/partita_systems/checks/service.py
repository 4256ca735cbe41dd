"""What the design of Checks cannot say: who may run what when, and what a run's outcome means.

Claiming a check moves its `dueAt` to the end of a lease, under the condition that it still is what was read. So
`dueAt` is the lease: two runners cannot both move it, whoever dies lets it pass and the check is due again, and only
the holder of the lease may write the outcome.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec

from partita import Condition, ConditionFailed, F, InvalidValue, NotFound
from partita_systems.checks import design as d
from partita_systems.checks.check_attributes import checked_url, options_of
from partita_systems.service_base import ServiceBase

Probe = Callable[[d.Check], d.Outcome]

LEASE = timedelta(minutes=2)
LONGEST_BACK_OFF = timedelta(hours=6)
MOST_RUNS = 10_000
_RUNNABLE = F.status.is_in(d.CheckStatus.ACTIVE, d.CheckStatus.FAILED)
_STAYING = F.status != d.UserStatus.LEAVING
_WITHOUT_CHECKS = (F.check_count <= 0) | F.check_count.is_absent()
_NOT_RUN = (d.UserStatus.SUSPENDED, d.UserStatus.LEAVING)


@dataclass(frozen=True)
class Claim:
    """A check that is ours to run until `until`."""

    check: d.Check
    until: datetime


class Uptime(msgspec.Struct, frozen=True, rename="camel"):
    """The share of runs that found it up, and their mean response time in milliseconds; None without runs.

    Counted from `since`: the beginning of the window, or, where it is not `whole`, the first of the last 10,000 runs.
    """

    runs: int
    share: float | None
    mean_ms: float | None
    since: datetime
    whole: bool


class Checks(ServiceBase):
    """Users, their checks, and running them."""

    # Users

    def register(
        self, email: str, *, user_id: str | None = None, tier: d.Tier = d.Tier.FREE, check_limit: int = 5
    ) -> d.User:
        """A new user; an e-mail address is compared without case, and taken once."""
        user_id = user_id or self.new_id("u")
        return self.db.create(d.User(user_id=user_id, email=folded(email), tier=tier, check_limit=check_limit))

    def find_by_email(self, email: str) -> d.User | None:
        """By the address without case, or by one that the team's own code stored just so."""
        addresses = dict.fromkeys((folded(email), email))
        return next((found for each in addresses if (found := self.db(d.users_by_email(each)).one())), None)

    def change_email(self, user_id: str, email: str) -> None:
        with self.db.change(d.user(user_id)) as draft:
            draft.email = folded(email)

    def suspend(self, user_id: str) -> None:
        with self.db.change(d.user(user_id)) as draft:
            draft.status = d.UserStatus.SUSPENDED

    def reinstate(self, user_id: str) -> None:
        with self.db.change(d.user(user_id)) as draft:
            draft.status = d.UserStatus.ACTIVE

    def remove_user(self, user_id: str, *, when: Condition | None = None) -> None:
        """The user goes, after all checks and their history. Interrupted, it is called again.

        Somebody who is leaving gets no new checks; who leaves none behind is told by the count, not by the index,
        which may be a moment late.
        """
        with self.db.change(d.user(user_id), when=when) as draft:
            draft.status = d.UserStatus.LEAVING
        for _ in self.db.retrying(d.User.__name__):
            for check in self.db(d.checks_of_user(user_id)):
                self.remove(check.check_id)
            try:
                self.db.delete(d.user(user_id), when=_WITHOUT_CHECKS)
                return
            except ConditionFailed:
                continue

    # Checks

    def add(
        self, userid: str, url: str, check_type: d.CheckType, delay_ms: int, attributes: dict[str, Any] | None = None
    ) -> d.Check:
        """A new check, due at once, if the user's limit allows one more."""
        options_of(check_type, attributes or {})
        check = d.Check(
            check_id=self.new_id("c"),
            userid=userid,
            url=checked_url(url),
            check_type=check_type,
            delay_ms=delay_ms,
            attributes=attributes or {},
            due_at=self.now(),
        )
        try:
            with self.db.transaction() as transaction:
                made = transaction.create(check)
                transaction.check(d.user(userid), _STAYING)
        except ConditionFailed:
            raise InvalidValue("Check", f"{userid!r} is leaving", "userid") from None
        return made

    def remove(self, check_id: str) -> None:
        """The check goes with its history, and the user may have another."""
        self.db.delete(d.check(check_id))

    def pause(self, check_id: str) -> None:
        with self.db.change(d.check(check_id)) as draft:
            draft.status = d.CheckStatus.PAUSED

    def resume(self, check_id: str) -> None:
        with self.db.change(d.check(check_id)) as draft:
            draft.status = d.CheckStatus.ACTIVE
            draft.due_at = self.now()
            draft.failures = 0

    # Running

    def claim(self, count: int) -> list[Claim]:
        """Up to `count` due checks that no other runner holds; those of suspended users wait for another turn."""
        claimed: list[Claim] = []
        for check in self.db(d.due_checks(self.now())):
            if len(claimed) == count:
                break
            owner = self.db(d.user(check.userid))
            runs = owner is not None and owner.status not in _NOT_RUN
            until = self.now() + (LEASE if runs else timedelta(milliseconds=check.delay_ms))
            if self._move(check, until) and runs:
                claimed.append(Claim(check, until))
        return claimed

    def _move(self, check: d.Check, until: datetime) -> bool:
        try:
            with self.db.change(d.check(check.check_id), when=(F.due_at == check.due_at) & _RUNNABLE) as draft:
                draft.due_at = until
        except (ConditionFailed, NotFound):
            return False
        return True

    def record(self, claim: Claim, outcome: d.Outcome) -> d.Result | None:
        """Write how a run went; None, and nothing written, where the lease was lost meanwhile."""
        if outcome.status not in ("UP", "DOWN"):
            raise InvalidValue("Outcome", f"{outcome.status!r} is neither UP nor DOWN", "status")
        now = self.now()
        up = outcome.status == "UP"
        failures = 0 if up else claim.check.failures + 1
        try:
            with self.db.transaction() as transaction:
                holding = (F.due_at == claim.until) & _RUNNABLE
                draft = transaction.change(d.check(claim.check.check_id), when=holding, system_change=True)
                draft.last_result = outcome
                draft.last_executed_at = now
                draft.failures = failures
                draft.status = d.CheckStatus.FAILED if failures >= d.FAILURES_IN_A_ROW else d.CheckStatus.ACTIVE
                draft.due_at = now + wait_after(claim.check.delay_ms, failures)
                result = transaction.create(d.Result(check_id=claim.check.check_id, at=now, outcome=outcome))
        except (ConditionFailed, NotFound):
            return None
        return result

    def run_due(self, probe: Probe, count: int = 100) -> int:
        """Claim, probe and record; how many were run."""
        claims = self.claim(count)
        return sum(self.record(claim, probe(claim.check)) is not None for claim in claims)

    def uptime(self, check_id: str, window: timedelta) -> Uptime:
        """Over the runs of a window that ends now, at most the last `MOST_RUNS` of them."""
        now = self.now()
        page = self.db(d.results_between(check_id, now - window, now)).page(MOST_RUNS)
        outcomes = [result.outcome for result in page.items]
        since = now - window if page.cursor is None else page.items[-1].at
        times = [each.response_time for each in outcomes if each.response_time is not None]
        return Uptime(
            runs=len(outcomes),
            share=sum(each.status == "UP" for each in outcomes) / len(outcomes) if outcomes else None,
            mean_ms=sum(times) / len(times) if times else None,
            since=since,
            whole=page.cursor is None,
        )


def folded(email: str) -> str:
    """An e-mail address as it is compared: without case and surrounding space."""
    address = email.strip().casefold()
    name, _, host = address.partition("@")
    if not name or not host:
        raise InvalidValue("User", f"{email!r} is no e-mail address", "email")
    return address


def wait_after(delay_ms: int, failures: int) -> timedelta:
    """The check's own delay; from the third failure in a row twice as long each time, up to six hours."""
    delay = timedelta(milliseconds=delay_ms)
    if failures < d.FAILURES_IN_A_ROW:
        return delay
    longer: timedelta = delay * 2 ** min(failures - d.FAILURES_IN_A_ROW + 1, 20)
    return max(delay, min(longer, LONGEST_BACK_OFF))
