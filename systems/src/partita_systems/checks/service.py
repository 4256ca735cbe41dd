"""The Checks service: users, checks, and running them with a lease.

A claim moves the `dueAt` of a check to the end of a lease, on the condition that it is unchanged. So `dueAt` is the
lease: two runners cannot both claim a check, the check of a crashed runner is due again after the lease, and only the
holder of the lease can record the outcome.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from partita import Condition, ConditionFailed, F, InvalidValue, NotFound
from partita_systems.checks import design as d
from partita_systems.checks import probes  # noqa: F401 - registers the types of the system
from partita_systems.checks.check_attributes import checked_url
from partita_systems.checks.check_types import check_kinds, typed_attributes
from partita_systems.service_base import ServiceBase

Probe = Callable[[d.Check], d.Outcome]

LEASE = timedelta(minutes=2)  # of a runner that claims several checks at once, over HTTP
MAX_BACK_OFF = timedelta(hours=6)
MAX_RUNS = 10_000
_RUNNABLE = F.status.is_in(d.CheckStatus.ACTIVE, d.CheckStatus.FAILED)
_NOT_DELETING = F.status != d.UserStatus.DELETING
_NO_CHECKS = (F.check_count <= 0) | F.check_count.is_absent()
_NOT_RUN = (d.UserStatus.SUSPENDED, d.UserStatus.DELETING)


@dataclass(frozen=True)
class Claim:
    """A check that is leased to the caller until `until`."""

    check: d.Check
    until: datetime


class Uptime(msgspec.Struct, frozen=True, rename="camel"):
    """The share of successful runs, the mean response time and the one that 95 % keep, in ms; None without runs.

    `since` is the start of the window or, if `whole` is false, the time of the oldest of the last 10,000 runs.
    """

    runs: int
    share: float | None
    mean_ms: float | None
    p95_ms: float | None
    since: datetime
    whole: bool


class Checks(ServiceBase):
    """Users, their checks, and running them."""

    # Users

    def register(
        self, email: str, *, user_id: str | None = None, tier: d.Tier = d.Tier.FREE, check_limit: int = 5
    ) -> d.User:
        """Create a user. E-mail addresses are unique, compared without case."""
        user_id = user_id or self.new_id("u")
        return self.db.create(d.User(user_id=user_id, email=canonical_email(email), tier=tier, check_limit=check_limit))

    def find_by_email(self, email: str) -> d.User | None:
        """A user by e-mail address in any case, or by an address with capitals that other code stored."""
        addresses = dict.fromkeys((canonical_email(email), email))
        return next((found for each in addresses if (found := self.db(d.users_by_email(each)).one())), None)

    def change_email(self, user_id: str, email: str) -> d.User:
        return self.assign(d.user(user_id), email=canonical_email(email))

    def set_allowance(self, user_id: str, check_limit: int, tier: d.Tier) -> d.User:
        """Set the tier and the maximum number of checks; existing checks stay."""
        return self.assign(d.user(user_id), check_limit=check_limit, tier=tier)

    def suspend(self, user_id: str) -> d.User:
        return self.assign(d.user(user_id), status=d.UserStatus.SUSPENDED)

    def reinstate(self, user_id: str) -> d.User:
        return self.assign(d.user(user_id), status=d.UserStatus.ACTIVE)

    def remove_user(self, user_id: str, *, when: Condition | None = None) -> None:
        """Delete a user after all checks and their results. An interrupted deletion can be repeated.

        A user under deletion gets no new checks. The user is deleted when the counter is 0: the index may lag.
        """
        with self.db.change(d.user(user_id), when=when) as draft:
            draft.status = d.UserStatus.DELETING
        for _ in self.db.retrying(d.User.__name__):
            for check in self.db(d.checks_of_user(user_id)):
                self.remove(check.check_id)
            try:
                self.db.delete(d.user(user_id), when=_NO_CHECKS)
                return
            except ConditionFailed:
                continue

    # Checks

    def add(
        self, user_id: str, url: str, check_type: str, delay_ms: int, attributes: dict[str, Any] | None = None
    ) -> d.Check:
        """Create a check, due at once, within the user's limit."""
        typed_attributes(check_type, attributes or {})
        check = d.Check(
            check_id=self.new_id("c"),
            user_id=user_id,
            url=checked_url(url),
            check_type=d.CheckType(check_type),
            delay_ms=delay_ms,
            attributes=attributes or {},
            due_at=self.now(),
        )
        try:
            with self.db.transaction() as transaction:
                created = transaction.create(check)
                transaction.check(d.user(user_id), _NOT_DELETING)
        except ConditionFailed:
            raise InvalidValue("Check", f"user {user_id!r} is being deleted", "userId") from None
        return created

    def remove(self, check_id: str) -> None:
        """Delete a check with its results; the user's counter goes down."""
        self.db.delete(d.check(check_id))

    def change(
        self,
        check_id: str,
        *,
        url: str | UnsetType = UNSET,
        delay_ms: int | UnsetType = UNSET,
        attributes: dict[str, Any] | UnsetType = UNSET,
        verify: Callable[[d.Check], None] = lambda found: None,
    ) -> d.Check:
        """Change the given fields; `verify` gets the check first and may raise.

        Another address or other attributes make the check due at once and forget its failures; another delay counts
        from the last run. A run under way loses its lease: its result is about the check as it was.
        """

        def edit(found: d.Check) -> None:
            verify(found)
            if attributes is not UNSET:
                typed_attributes(found.check_type, attributes)
            before = (found.url, found.attributes)
            found.url = found.url if url is UNSET else checked_url(url)
            found.attributes = found.attributes if attributes is UNSET else attributes
            found.delay_ms, delay_before = found.delay_ms if delay_ms is UNSET else delay_ms, found.delay_ms
            if (found.url, found.attributes) != before:
                self._start_again(found)
            elif found.delay_ms != delay_before and found.last_executed_at is not None:
                found.due_at = found.last_executed_at + delay_after(found.delay_ms, found.failures)

        return self.db.update(d.check(check_id), edit)

    def pause(self, check_id: str) -> d.Check:
        return self.assign(d.check(check_id), status=d.CheckStatus.PAUSED)

    def resume(self, check_id: str) -> d.Check:
        """Resume a check; it is due at once."""

        def edit(found: d.Check) -> None:
            found.status = d.CheckStatus.ACTIVE
            self._start_again(found)

        return self.db.update(d.check(check_id), edit)

    def _start_again(self, check: d.Check) -> None:
        check.due_at = self.now()
        check.failures = 0
        if check.status == d.CheckStatus.FAILED:
            check.status = d.CheckStatus.ACTIVE

    # Running

    def claim(self, count: int, lease: timedelta = LEASE, due_at: datetime | None = None) -> list[Claim]:
        """Claim up to `count` checks that are due, now or at an earlier time.

        Checks of suspended users are postponed by their delay. Checks of types that are not registered, such as those
        of other code, are left alone.
        """
        claimed: list[Claim] = []
        known = check_kinds()
        for check in self.db(d.due_checks(due_at or self.now())):
            if len(claimed) == count:
                break
            if check.check_type.value not in known:
                continue
            owner = self.db(d.user(check.user_id))
            runs = owner is not None and owner.status not in _NOT_RUN
            until = self.now() + (lease if runs else timedelta(milliseconds=check.delay_ms))
            if self._set_due_at(check, until) and runs:
                claimed.append(Claim(check, until))
        return claimed

    def _set_due_at(self, check: d.Check, until: datetime) -> bool:
        try:
            with self.db.change(d.check(check.check_id), when=(F.due_at == check.due_at) & _RUNNABLE) as draft:
                draft.due_at = until
        except (ConditionFailed, NotFound):
            return False
        return True

    def record(self, claim: Claim, outcome: d.Outcome) -> d.Result | None:
        """Record the outcome of a run; returns None and writes nothing if the lease was lost."""
        if outcome.status not in ("UP", "DOWN"):
            raise InvalidValue("Outcome", f"{outcome.status!r} is not valid; use UP or DOWN", "status")
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
                draft.due_at = now + delay_after(claim.check.delay_ms, failures)
                result = transaction.create(d.Result(check_id=claim.check.check_id, at=now, outcome=outcome))
        except (ConditionFailed, NotFound):
            return None
        return result

    def uptime(self, check_id: str, window: timedelta) -> Uptime:
        """The uptime over a window that ends now, from at most the last `MAX_RUNS` runs."""
        now = self.now()
        page = self.db(d.results_between(check_id, now - window, now)).page(MAX_RUNS)
        outcomes = [result.outcome for result in page.items]
        since = now - window if page.cursor is None else page.items[-1].at
        times = [each.response_time for each in outcomes if each.response_time is not None]
        return Uptime(
            runs=len(outcomes),
            share=sum(each.status == "UP" for each in outcomes) / len(outcomes) if outcomes else None,
            mean_ms=sum(times) / len(times) if times else None,
            p95_ms=sorted(times)[-(-len(times) * 95 // 100) - 1] if times else None,
            since=since,
            whole=page.cursor is None,
        )


def canonical_email(email: str) -> str:
    """The stored form of an e-mail address: case-folded, without surrounding white space."""
    address = email.strip().casefold()
    name, _, host = address.partition("@")
    if not name or not host:
        raise InvalidValue("User", f"{email!r} is not a valid e-mail address", "email")
    return address


def delay_after(delay_ms: int, failures: int) -> timedelta:
    """The delay after a run: doubled with each failure from the third in a row on, up to six hours."""
    delay = timedelta(milliseconds=delay_ms)
    if failures < d.FAILURES_IN_A_ROW:
        return delay
    longer: timedelta = delay * 2 ** min(failures - d.FAILURES_IN_A_ROW + 1, 20)
    return max(delay, min(longer, MAX_BACK_OFF))
