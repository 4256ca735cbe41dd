"""Each system with demo data has something to show soon after its consumers and jobs have started."""

import re
from pathlib import Path

import pytest

from partita import Store, connect, settle
from partita.cli.demo_tour import DemoTour
from partita.cli.open_systems import OpenSystem
from partita.store.seeding import load
from partita_systems import SYSTEMS
from partita_systems.checks import design as checks
from partita_systems.checks.fetching import SETTING
from partita_systems.checks.runner import CheckRunner
from partita_systems.eecar import design as parts_of
from partita_systems.eecar import ports as eecar
from partita_systems.eecar.categories import Category
from partita_systems.eecar.service import Eecar
from partita_systems.nbhd import ports as nbhd

ADDRESS = "http://127.0.0.1:8000"
EXPECTED = {
    "blog": "was notified that did:plc:demo likes it",
    "checks": f"a check of {ADDRESS}/api has run: UP in 7 ms",
    "eecar": f"; all matches are at {ADDRESS}/api/eecar/matches/",
    "nbhd": ".localhost:8000/ and at http://127.0.0.1:8000/sites/",
    "perfectit": "/api/perfectit/cards/trending",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EECAR_OBJECTS", str(tmp_path / "eecar"))
    monkeypatch.setenv("NBHD_OBJECTS", str(tmp_path / "nbhd"))
    monkeypatch.setenv(SETTING, "10.0.0.0/8")
    eecar.objects.cache_clear()
    nbhd.objects.cache_clear()


@pytest.mark.parametrize("name", SYSTEMS)
def test_demo_shows_what_the_system_did_and_can_be_prepared_again(name: str) -> None:
    system = SYSTEMS[name]
    demo = system.demo
    assert demo is not None
    with connect("memory:", maintain=False) as backend:
        db = Store(backend, system.design)
        db.create_tables()
        load(db, name, system.seed.steps(0.1, 1))
        for _ in range(2):
            demo.prepare(db, ADDRESS)
        if name == "eecar":
            assert demo.sight(db, ADDRESS) is None
        settle(db, *system.consumers)
        if name == "checks":
            assert demo.sight(db, ADDRESS) is None
            CheckRunner(db, lambda check: checks.Outcome(status="UP", response_time=7)).run_due()
        assert EXPECTED[name] in (demo.sight(db, ADDRESS) or "")


BATTERY_WANTED = "가정용 에너지 저장 장치에 쓸 배터리"


@pytest.mark.parametrize("seed", [1, 2])
def test_query_for_a_battery_is_answered_by_batteries_at_the_printed_address(seed: int) -> None:
    system = SYSTEMS["eecar"]
    assert system.demo is not None
    with connect("memory:", maintain=False) as backend:
        db = Store(backend, system.design)
        db.create_tables()
        load(db, "eecar", system.seed.steps(0.5, seed))
        settle(db, *system.consumers)
        printed = system.demo.sight(db, ADDRESS) or ""
        assert BATTERY_WANTED in printed
        settle(db, *system.consumers)
        found = re.search("/matches/([0-9a-f]+)", printed)
        match = None if found is None else Eecar(db).matches.lookup(found[1])
        assert match is not None
        parts = [db.one(parts_of.part(each.part_id)) for each in match.matched_parts]
        assert {each.category for each in parts[:3]} == {Category.BATTERY}


def test_demo_waits_for_vectors_of_the_model_that_embeds_queries() -> None:
    system = SYSTEMS["eecar"]
    assert system.demo is not None
    with connect("memory:", maintain=False) as backend:
        db = Store(backend, system.design)
        db.create_tables()
        load(db, "eecar", system.seed.steps(0.1, 1))
        settle(db, *system.consumers)
        part = next(iter(db.scan(parts_of.Part)))
        with db.change(parts_of.vector(part.part_id)) as draft:
            draft.embedding_model = "older"
        settle(db, *system.consumers)
        assert system.demo.sight(db, ADDRESS) is None


def test_tour_prints_each_sight_once_and_reports_a_demo_that_fails(capsys: pytest.CaptureFixture[str]) -> None:
    system = SYSTEMS["nbhd"]
    with connect("memory:", maintain=False) as backend:
        db = Store(backend, system.design)
        tour = DemoTour([OpenSystem(system, db)], ADDRESS)
        assert tour._shows(OpenSystem(system, db), tour._demos[0][1])
        assert "the demo of nbhd has ended" in capsys.readouterr().err
        db.create_tables()
        assert not tour._shows(OpenSystem(system, db), tour._demos[0][1])
        assert capsys.readouterr() == ("", "")
