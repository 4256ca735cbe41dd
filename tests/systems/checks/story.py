"""Two checks from creation to deletion, with the requests that they send."""

from partita import LimitReached, NotUnique
from partita_systems.checks import design as d
from partita_systems.checks.service import Checks
from tests.systems.checks.running import run_due
from tests.systems.story_recorder import StoryRecorder, counted_ids

ANA = "ana"
UP = d.Outcome(status="UP", response_time=250, keyword_found=True)
DOWN = d.Outcome(status="DOWN", response_time=90, reason="HTTP status 503")


def record(story: StoryRecorder) -> None:
    checks = Checks(story.db, counted_ids())
    _registering(story, checks)
    page, listing = _watching(story, checks)
    _running(story, checks)
    _failing(story, checks, page)
    _looking(story, checks, page, listing)
    _deleting(story, checks)


def _registering(story: StoryRecorder, checks: Checks) -> None:
    story("Ana registers: the user, and a guard for her e-mail address without case. Her limit is two checks.")
    checks.register("Ana@example.com", user_id=ANA, check_limit=2)
    story("Another person tries to register the same address in capitals.")
    story.show_error(lambda: checks.register("ANA@EXAMPLE.COM", user_id="eve"), NotUnique)
    story("She is found by her e-mail address, in any case.")
    found = checks.find_by_email("ana@EXAMPLE.com")
    story.show(found and found.user_id)


def _watching(story: StoryRecorder, checks: Checks) -> tuple[str, str]:
    story("She adds a check of a page for a keyword: check and counter in one transaction.")
    page = checks.add(ANA, "https://example.com/", d.CheckType.AVAILABILITY, 60_000, {"keyword": "Example"})
    story.advance(seconds=1)
    story("She adds a check of a listing, with a maximum price of 20.")
    listing = checks.add(ANA, "https://shop.example.com/1", d.CheckType.EBAY, 300_000, {"maxPrice": "20.00"})
    story("A third check exceeds her limit.")
    story.show_error(lambda: checks.add(ANA, "https://example.org/", d.CheckType.AVAILABILITY, 60_000), LimitReached)
    story("One Query lists her checks.")
    story.show([each.url for each in checks.db(d.checks_of_user(ANA))])
    return page.check_id, listing.check_id


def _running(story: StoryRecorder, checks: Checks) -> None:
    story.advance(seconds=1)
    story("A runner reads the due checks, one Query per shard, and claims them: `dueAt` moves to the end of a lease.")
    claims = checks.claim(10)
    story("Another runner finds nothing to claim.")
    story.show(checks.claim(10))
    story("The holder of the lease records the outcome: the check, and a result item that expires.")
    for claim in claims:
        checks.record(claim, UP)


def _failing(story: StoryRecorder, checks: Checks, page: str) -> None:
    story("The page goes down. After three failures in a row the check is FAILED and runs half as often.")
    for _ in range(d.FAILURES_IN_A_ROW):
        story.advance(minutes=1)
        run_due(checks, lambda _: DOWN)
    check = checks.db.one(d.check(page))
    story.show(f"{check.status}, due again in {(check.due_at - checks.now()).seconds} seconds")


def _looking(story: StoryRecorder, checks: Checks, page: str, listing: str) -> None:
    story("Ana reads the results, newest first.")
    story.show([each.outcome.reason or "fine" for each in checks.db(d.results(page)).page(3).items])
    story("How often was it up? One Query reads the results of the window.")
    share = checks.uptime(page, d.KEEP_RESULTS).share
    story.show(share)
    story("She pauses the check of the listing. It leaves the index of due checks.")
    checks.pause(listing)


def _deleting(story: StoryRecorder, checks: Checks) -> None:
    story("Ana is deleted: no new checks are accepted, her checks are deleted with their results, then the user.")
    checks.remove_user(ANA)
    story.show(checks.find_by_email("ana@example.com"))
