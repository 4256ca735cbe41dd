"""`partita plan`, `partita apply` and `partita doctor`: what they print, and their exit status."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from partita import connect
from partita.cli import evolve
from partita.cli.evolve import ProgressLog
from partita.cli.main import main
from partita.dynamodb.requests import PutItem
from tests.evolution.shop import Shop, first
from tests.evolution.test_apply import filled
from tests.evolution.test_diagnosis import damage
from tests.evolution.test_programs import MonotonicClock

DESIGN = "tests.evolution.shop_second"
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command; its exit status, output and errors."""

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main([str(each) for each in arguments])
        printed = capsys.readouterr()
        return int(end.value.code or 0), printed.out, printed.err

    return run


@pytest.fixture
def old() -> Shop:
    return first()


@pytest.fixture
def file(tmp_path: Path, old: Shop) -> Path:
    with connect(tmp_path / "shop.db", old.design, durability="process") as db:
        filled(db, old, 2, 3)
    return tmp_path / "shop.db"


def test_plan_says_what_is_to_be_done_and_apply_does_it(command: Command, file: Path) -> None:
    code, plan, _ = command("plan", DESIGN, "--on", file)
    assert code == 1
    for line in ("create index GSI1", "write the keys of Order in index GSI1", "6 items", "write units", "USD"):
        assert line in plan
    assert plan.splitlines()[-1] == f"to do it: partita apply {DESIGN} --on {file}"
    code, done, log = command("apply", DESIGN, "--on", file)
    assert (code, "Order: index keys GSI1: 6 items" in done) == (0, True)
    assert "shop: the data has the design, verified item by item" in done
    assert log.splitlines()[0].startswith("backfilling: ")
    code, plan, _ = command("plan", DESIGN, "--on", file)
    assert (code, plan) == (0, "shop: nothing to do; 10 items are as the design stores them.\n")
    code, done, _ = command("apply", DESIGN, "--on", file)
    assert (code, done) == (0, "shop: the data has the design, verified item by item\n")


def test_plan_in_json_has_the_numbers_of_the_text(command: Command, file: Path) -> None:
    code, text, _ = command("plan", DESIGN, "--on", file, "--exact", "--json")
    plan: dict[str, Any] = json.loads(text)
    assert code == 1
    assert (plan["items"], plan["is_exact"], plan["tables"]) == (8, True, ["create index GSI1"])
    assert {each["action"]: each["items"] for each in plan["steps"]}["create the guards of Customer.email"] == 2
    assert plan["write_units"] == pytest.approx(sum(each["write_units"] for each in plan["steps"]), abs=0.5)


def test_conflict_is_for_people_and_an_unfinished_application_can_be_rolled_back(
    command: Command, file: Path, old: Shop
) -> None:
    with connect(file, old.design, durability="process") as db:
        db.create(old.customer(customer_id="twin", email="1@example.com"))
    code, plan, _ = command("plan", DESIGN, "--on", file)
    assert code == 1
    assert "to be decided by people before it can be applied:" in plan
    assert "'1@example.com' is wanted by" in plan
    code, _, error = command("apply", DESIGN, "--on", file)
    assert code == 2
    assert "design 'shop' is not applied yet" in error
    code, done, _ = command("apply", DESIGN, "--on", file, "--rollback")
    assert (code, done.splitlines()[0]) == (0, "shop: rolled back to the earlier design")
    code, done, error = command("apply", DESIGN, "--on", file, "--rollback")
    assert (code, done) == (2, "")
    assert "no design is being applied" in error
    with connect(file, old.design, durability="process") as db:
        assert db.one(old.one_customer("twin")).email == "1@example.com"


def test_interrupted_application_says_how_to_go_on(
    command: Command, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("partita.evolution.apply._Application._clean", interrupt)
        code, _, error = command("apply", DESIGN, "--on", file)
    assert (code, error.splitlines()[-1]) == (
        130,
        "partita: interrupted; the same command goes on, and --rollback gives up",
    )
    assert command("apply", DESIGN, "--on", file)[0] == 0


def test_doctor_reports_and_repairs(command: Command, file: Path) -> None:
    command("apply", DESIGN, "--on", file)
    assert command("doctor", DESIGN, "--on", file) == (0, "10 items: nothing is wrong\n", "")
    with connect(file, durability="process") as backend:
        damage(backend, ("CUSTOMER#c1", "ORDER#1-01"), "REMOVE GSI1PK")
        backend.call(PutItem(table_name="shop", item={"PK": {"S": "OTHER"}, "SK": {"S": "x"}}))
    code, text, _ = command("doctor", DESIGN, "--on", file, "--json")
    assert (code, json.loads(text)["findings"]) == (
        1,
        {"stale index keys": ["Order CUSTOMER#c1 ORDER#1-01: GSI1"], "unexplained items": ["OTHER x"]},
    )
    code, text, _ = command("doctor", DESIGN, "--on", file, "--repair")
    assert (code, text.splitlines()[-1]) == (1, "11 items: 1 repaired")
    left = "nothing was changed; --repair repairs what needs no decision"
    code, text, _ = command("doctor", DESIGN, "--on", file)
    assert (code, text.splitlines()) == (1, ["unexplained items (1):", "  OTHER x", f"11 items: {left}"])


@pytest.mark.parametrize("name", ["plan", "apply", "doctor"])
def test_missing_file_is_an_error_and_no_new_database(command: Command, tmp_path: Path, name: str) -> None:
    code, _, error = command(name, DESIGN, "--on", tmp_path / "none.db")
    assert (code, f"no such file; {name} works on existing data" in error) == (2, True)
    assert not list(tmp_path.iterdir())


def test_log_names_each_phase_once_and_repeats_it_from_time_to_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = MonotonicClock()
    monkeypatch.setattr(evolve, "time", clock)
    log = ProgressLog()
    for text in ("backfilling: 1", "backfilling: 2", "waiting: a", "waiting: b", "verifying: 1"):
        log(text)
    clock.wait(evolve.LOG_EVERY)
    log("verifying: 2")
    log("verifying: 3")
    assert capsys.readouterr().err.splitlines() == [
        "backfilling: 1",
        "waiting: a",
        "waiting: b",
        "verifying: 1",
        "verifying: 2",
    ]
