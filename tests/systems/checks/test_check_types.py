"""Check types are registered in one place, from outside too; checks of other types are read and left alone."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint

import msgspec
import pytest

from partita import ConfigurationError, InvalidValue, Store
from partita_systems.checks import check_types
from partita_systems.checks import design as d
from partita_systems.checks.check_types import CheckKind, check_kinds, register, unregister
from partita_systems.checks.fetching import Fetcher, FetchError
from partita_systems.checks.probes import Prober
from partita_systems.checks.service import Checks
from tests.rest.client import Client
from tests.systems.checks.conftest import UP, disk
from tests.systems.checks.running import run_due
from tests.systems.checks.test_adoption import document_check, document_user


class PortAttributes(msgspec.Struct, rename="camel"):
    max_port: int


def port_outcome(check: d.Check, attributes: PortAttributes, fetcher: Fetcher) -> d.Outcome:
    if "broken" in check.url:
        raise FetchError("the port is closed")
    return d.Outcome(status="UP", response_time=attributes.max_port)


PORT = CheckKind("PORT", PortAttributes, port_outcome)


@pytest.fixture
def port() -> Iterator[CheckKind]:
    yield register(PORT)
    unregister("PORT")


def test_a_type_from_outside_is_created_and_run(port: CheckKind, ana: Client, checks: Checks, db: Store) -> None:
    new = {"url": "https://example.com/", "checkType": "PORT", "delayMs": 60_000, "attributes": {"maxPort": 80}}
    created = ana.post("/checks", new)
    assert (created.status, created.json["checkType"]) == (201, "PORT")
    assert run_due(checks, Prober()) == 1
    found = ana.get(f"/checks/{created.json['checkId']}").json
    assert found["lastResult"] == found["lastResult"] | {"status": "UP", "responseTime": 80}
    assert {"checkType": "PORT", "attributes": ["maxPort"]} in ana.get("/types").json["items"]


def test_its_attributes_are_validated_as_those_of_other_types(port: CheckKind, ana: Client) -> None:
    new = {"url": "https://example.com/", "checkType": "PORT", "delayMs": 60_000}
    for attributes, field in (
        ({}, "attributes.maxPort"),
        ({"maxPort": "x"}, "attributes.maxPort"),
        ({"maxPort": 1, "colour": "red"}, "attributes.colour"),
    ):
        reply = ana.post("/checks", new | {"attributes": attributes})
        assert (reply.status, reply.json["field"]) == (422, field)


def test_an_error_of_its_probe_is_down_with_the_reason(port: CheckKind, checks: Checks, db: Store) -> None:
    user = checks.register("a@example.com").user_id
    check = checks.add(user, "https://broken.example/", "PORT", 60_000, {"maxPort": 1})
    run_due(checks, Prober())
    result = db.one(d.check(check.check_id)).last_result
    assert result is not None
    assert (result.status, result.reason) == ("DOWN", "the port is closed")


def test_a_type_is_loaded_from_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("port", f"{__name__}:PORT", check_types.ENTRY_POINTS)
    monkeypatch.setattr(check_types, "entry_points", lambda group: [point] if group == check_types.ENTRY_POINTS else [])
    check_types._load_plug_ins.cache_clear()
    try:
        assert check_kinds()["PORT"] == PORT
    finally:
        unregister("PORT")


def test_a_name_is_registered_once(port: CheckKind) -> None:
    register(PORT)
    with pytest.raises(ConfigurationError, match="PORT is already registered"):
        register(CheckKind("PORT", PortAttributes, lambda *_: UP))


def test_a_type_that_is_not_registered_is_rejected_naming_it(ana: Client, checks: Checks) -> None:
    reply = ana.post("/checks", {"url": "https://example.com/", "checkType": "PORT", "delayMs": 60_000})
    assert (reply.status, reply.json["field"]) == (422, "checkType")
    assert "AVAILABILITY, EBAY" in reply.json["detail"]
    with pytest.raises(InvalidValue, match=r"Check\.checkType"):
        checks.add("ana", "https://example.com/", "PORT", 60_000)


def test_a_check_of_other_code_with_an_unknown_type_is_read_and_left_alone(
    checks: Checks, db: Store, anonymous: Client
) -> None:
    document_user(db)
    due = {"dueShard": "0", "dueAt": "2024-01-01T00:00:00Z"}
    document_check(db, PK="fax", checkType="FAX", attributes={"number": "1"}, **due)
    before = disk(db, "CHECK")
    assert checks.claim(10) == []
    assert run_due(checks, Prober()) == 0
    assert disk(db, "CHECK") == before
    admin = anonymous.by("root", "admin")
    assert admin.get("/checks/fax").json["attributes"] == {"number": "1"}
    assert [each["checkId"] for each in admin.get("/types/FAX/ACTIVE/checks").json["items"]] == ["fax"]
