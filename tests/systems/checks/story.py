"""A day of two pages that somebody watches, told with the requests that it takes."""

from itertools import count
from typing import Any, Protocol

from partita import LimitReached, NotUnique, Store
from partita_systems.checks import design as d
from partita_systems.checks.service import Checks

ANA = "ana"
UP = d.Outcome(status="UP", response_time=250, keyword_found=True)
DOWN = d.Outcome(status="DOWN", response_time=90, reason="HTTP status 503")


class Narrator(Protocol):
    """Who writes the story down: sentences, the store whose requests are shown, and what somebody sees."""

    @property
    def db(self) -> Store: ...
    def __call__(self, sentence: str) -> None: ...
    def passes(self, *, minutes: float = ..., seconds: float = ...) -> None: ...
    def shows(self, found: object) -> None: ...


def tell(say: Narrator) -> None:
    numbers = count(1)
    checks = Checks(say.db, lambda _: next(numbers))
    _registering(say, checks)
    page, listing = _watching(say, checks)
    _running(say, checks)
    _failing(say, checks, page)
    _looking(say, checks, page, listing)
    _leaving(say, checks)


def _registering(say: Narrator, checks: Checks) -> None:
    say("Ana registers: the user, and a guard that holds her address without case. She may have two checks.")
    checks.register("Ana@example.com", user_id=ANA, check_limit=2)
    say("Somebody else wants the address in capitals.")
    _refused(say, lambda: checks.register("ANA@EXAMPLE.COM", user_id="eve"))
    say("Whoever knows the address finds her.")
    found = checks.find_by_email("ana@EXAMPLE.com")
    say.shows(found and found.user_id)


def _watching(say: Narrator, checks: Checks) -> tuple[str, str]:
    say("She watches a page for a word: the check and her count are one transaction.")
    page = checks.add(ANA, "https://example.com/", d.CheckType.AVAILABILITY, 60_000, {"keyword": "Example"})
    say.passes(seconds=1)
    say("And a listing, as long as it costs no more than twenty.")
    listing = checks.add(ANA, "https://shop.example.com/1", d.CheckType.EBAY, 300_000, {"maxPrice": "20.00"})
    say("A third is one too many.")
    _refused(say, lambda: checks.add(ANA, "https://example.org/", d.CheckType.AVAILABILITY, 60_000))
    say("All that she watches is one Query.")
    say.shows([each.url for each in checks.db(d.checks_of_user(ANA))])
    return page.check_id, listing.check_id


def _running(say: Narrator, checks: Checks) -> None:
    say.passes(seconds=1)
    say("A runner asks what is due, one Query a shard, and claims it: `dueAt` moves to the end of a lease.")
    claims = checks.claim(10)
    say("Another runner finds nothing left.")
    say.shows(checks.claim(10))
    say("What was found is written by who holds the lease: the check and a result of its own, which expires.")
    for claim in claims:
        checks.record(claim, UP)


def _failing(say: Narrator, checks: Checks, page: str) -> None:
    say("The page goes down. Three failures in a row, and it is FAILED and looked at half as often.")
    for _ in range(d.FAILURES_IN_A_ROW):
        say.passes(minutes=1)
        checks.run_due(lambda _: DOWN)
    check = checks.db.one(d.check(page))
    say.shows(f"{check.status}, due again in {(check.due_at - checks.now()).seconds} seconds")


def _looking(say: Narrator, checks: Checks, page: str, listing: str) -> None:
    say("Ana looks at what was found, the last run first.")
    say.shows([each.outcome.reason or "fine" for each in checks.db(d.results(page)).page(3).items])
    say("How often was it up? The results of the window are one Query.")
    share = checks.uptime(page, d.KEEP_RESULTS).share
    say.shows(share)
    say("She leaves the listing alone for now; nothing of it stays in the index of what is due.")
    checks.pause(listing)


def _leaving(say: Narrator, checks: Checks) -> None:
    say("Ana leaves. First she gets no new checks, then the checks go with their results, and at last she does.")
    checks.remove_user(ANA)
    say.shows(checks.find_by_email("ana@example.com"))


def _refused(say: Narrator, act: Any) -> None:
    try:
        act()
    except (LimitReached, NotUnique) as refusal:
        say.shows(refusal)
