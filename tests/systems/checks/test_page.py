"""The page of Checks is correct: its units are measured, and it lists every value of the enums."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from partita import OpenEnum, SentRequest, Store
from partita.describe.design_page import page
from partita_systems.checks import design as d
from partita_systems.checks.service import Checks
from tests.systems.checks.conftest import UP, Clock, add
from tests.systems.cost import put_unchecked

PAGE = Path(d.__file__).with_name("page.md").read_text(encoding="utf-8")
CELLS = 4
READ_PRICE, WRITE_PRICE = 0.125, 0.625  # USD for a million units
ROUNDS_UP = 1e-9
RUNS = 7 * 24 * 12


def documented_units() -> dict[str, list[str]]:
    """The requests, units and price of each operation."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines()]
    return {row[0]: row[1:] for row in rows if len(row) == CELLS}


def requests_in(calls: list[SentRequest]) -> str:
    counted = Counter(type(call.request).__name__.replace("TransactWriteItems", "transaction") for call in calls)
    return ", ".join(f"{count} {name}" for name, count in counted.items())


def test_documented_units_equal_the_measured_units(db: Store, clock: Clock) -> None:
    sent: list[SentRequest] = []
    db = Store(db.backend, d.design, clock=clock, on_call=[sent.append])
    checks = Checks(db)
    user = checks.register("a@example.com", check_limit=10).user_id
    first, second, third, *_ = [add(checks, user, 300_000).check_id for _ in range(5)]
    checks.pause(third)
    put_unchecked(
        db,
        (d.Result(check_id=first, at=clock() - timedelta(minutes=5 * ago), outcome=UP) for ago in range(1, RUNS + 1)),
    )

    def run() -> None:
        (claim,) = checks.claim(1)
        checks.record(claim, UP)

    operations: dict[str, Callable[[], object]] = {
        "get a user or a check": lambda: db.one(d.check(first)),
        "find a user by e-mail address": lambda: checks.find_by_email("A@example.com"),
        "list the five checks of a user": lambda: list(db(d.checks_of_user(user))),
        "list the last twenty results": lambda: db(d.results(first)).page(20),
        "uptime over a week, with a run every five minutes": lambda: checks.uptime(first, timedelta(days=7)),
        "list due checks": lambda: list(db(d.due_checks(clock() - timedelta(days=1)))),
        "register": lambda: checks.register("b@example.com"),
        "add a check": lambda: add(checks, user),
        "change its address or delay": lambda: _change(db, second),
        "pause": lambda: checks.pause(second),
        "resume": lambda: checks.resume(third),
        "claim and record one run": run,
        "delete a check that never ran": lambda: checks.remove(second),
    }
    measured = {}
    for name, act in operations.items():
        sent.clear()
        with db.measure() as used:
            act()
        units = [f"{used.reads:g} read"] * bool(used.reads) + [f"{used.writes:g} write"] * bool(used.writes)
        price = used.reads * READ_PRICE + used.writes * WRITE_PRICE
        measured[name] = [requests_in(sent), ", ".join(units), f"{price + ROUNDS_UP:.2f}"]
    assert {name: each for name, each in documented_units().items() if name in measured} == measured
    assert documented_units().keys() - measured.keys() == {"Operation", "---"}


def _change(db: Store, check_id: str) -> None:
    with db.change(d.check(check_id)) as draft:
        draft.delay_ms = 60_000


def test_page_lists_every_enum_value() -> None:
    for kind in (d.Tier, d.UserStatus, d.CheckType, d.CheckStatus):
        assert issubclass(kind, OpenEnum)
        for each in kind:
            assert f"`{each.value}`" in PAGE, each


def test_page_lists_every_member_of_an_outcome() -> None:
    for name in ("status", "responseTime", "keywordFound", "price", "reason"):
        assert f"`{name}`" in PAGE


def test_generated_page_has_every_entity_and_pattern() -> None:
    printed = page(d.design, PAGE)
    for name in (model.name for model in d.design.models):
        assert f"### {name}\n" in printed
    for name in d.design.patterns:
        assert f"### `{name}(" in printed
