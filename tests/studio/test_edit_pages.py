"""Edits: staged, shown as a difference, committed as one transaction, and recorded."""

import json
import logging
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from partita import NotFound, Store
from partita.dynamodb.requests import PutItem
from partita.studio.budgets import BudgetExceeded, MeteredBackend
from partita.studio.site import ROUTES
from partita.studio.studio_app import StudioApplication
from tests.studio.browser_client import TOKEN, StudioClient, commit, signed_in
from tests.studio.shop import DIGITS, NOON, Customer, Order, Status, customer, order, orders_of

KEY = json.dumps({"PK": {"S": "CUSTOMER#c1"}, "SK": {"S": "ORDER#2025-05-01T12:00:00.000000Z#o0"}})
OWNER_KEY = json.dumps({"PK": {"S": "CUSTOMER#c1"}, "SK": {"S": "PROFILE"}})


def _form(client: StudioClient, path: str, **query: str) -> dict[str, str]:
    """The fields of a page's form, as a browser sends them."""
    view = client.view(f"/studio/shop/{path}", **query)
    fields = {f"field.{each['name']}": each["text"] for each in view["fields"] if not each["automatic"]}
    fields |= {f"null.field.{each['name']}": "1" for each in view["fields"] if each["is_null"]}
    before = {} if view["before"] is None else {"before": json.dumps(view["before"])}
    return {**fields, **before, "entity": view["entity"], "kind": view["kind"]}


def _stage(client: StudioClient, fields: Mapping[str, Any]) -> None:
    reply = client.post("/studio/shop/stage", **fields)
    assert reply.status == 303, reply.text


def test_edit_is_staged_shown_and_committed(client: StudioClient, db: Store) -> None:
    fields = _form(client, "edit", key=KEY)
    assert fields["field.total"] == str(DIGITS)
    _stage(client, {**fields, "field.status": "SHIPPED", "field.note": "line one\r\nline two"})
    (staged,) = client.view("/studio/shop/staged")["edits"]
    assert {each["name"]: (each["before"], each["after"]) for each in staged["differences"]} == {
        "status": ("OPEN", "SHIPPED"),
        "note": ("<script>alert(1)</script>", "line one\nline two"),
    }
    assert db.one(order("c1", NOON, "o0")).status == "OPEN"
    assert commit(client).headers["location"].endswith("/staged?committed=1")
    stored = db.one(order("c1", NOON, "o0"))
    assert (stored.status, stored.note, stored.total) == ("SHIPPED", "line one\nline two", DIGITS)
    assert (stored.tags, stored.label) == (frozenset({"a", "b"}), b"\x00\xff")
    assert client.view("/studio/shop/staged")["edits"] == []


def test_several_edits_are_one_transaction_with_counters_and_guards(client: StudioClient, db: Store) -> None:
    _stage(
        client, {**_form(client, "new", entity="Customer"), "field.customerId": "c2", "field.email": "b@example.com"}
    )
    copy = {**_form(client, "new", entity="Order", key=KEY), "field.orderId": "o9"}
    _stage(client, copy)
    _stage(client, _form(client, "delete", key=KEY))
    assert [each["kind"] for each in client.view("/studio/shop/staged")["edits"]] == ["create", "create", "delete"]
    assert commit(client).status == 303
    assert db.find_by_unique(Customer, "email", "b@example.com") is not None
    assert [each.order_id for each in db(orders_of("c1"))] == ["o2", "o1", "o9"]
    assert db.one(customer("c1")).order_count == 3


def test_item_that_has_changed_meanwhile_is_not_overwritten(client: StudioClient, db: Store) -> None:
    fields = _form(client, "edit", key=KEY)
    _stage(client, {**fields, "field.note": "mine"})
    other = {**_form(client, "edit", key=OWNER_KEY), "field.name": "Ana Maria"}
    _stage(client, other)
    with db.change(order("c1", NOON, "o0")) as draft:
        draft.note = "theirs"
    reply = commit(client)
    assert reply.status == 409
    assert "Nothing was written" in reply.text
    assert db.one(order("c1", NOON, "o0")).note == "theirs"
    assert db.one(customer("c1")).name == "Ana"
    assert len(client.view("/studio/shop/staged")["edits"]) == 2


def test_second_edit_of_an_item_becomes_one_with_the_first(client: StudioClient, db: Store) -> None:
    fields = _form(client, "edit", key=KEY)
    _stage(client, {**fields, "field.note": "first", "field.total": "1"})
    shown = _ids(client)
    _stage(client, {**fields, "field.total": "2", "field.paid": "true"})
    (staged,) = client.view("/studio/shop/staged")["edits"]
    assert {each["name"]: each["after"] for each in staged["differences"]} == {
        "note": "first",
        "total": 2,
        "paid": True,
    }
    assert client.post("/studio/shop/commit", edits=",".join(shown)).status == 409  # a tab that shows the first alone
    assert commit(client).status == 303
    stored = db.one(order("c1", NOON, "o0"))
    assert (stored.note, stored.total, stored.paid) == ("first", Decimal(2), True)


def test_version_of_an_entity_fences_the_edit(client: StudioClient, db: Store) -> None:
    fields = _form(client, "edit", key=OWNER_KEY)
    _stage(client, {**fields, "field.name": "mine"})
    with db.change(customer("c1")) as draft:
        draft.email = "new@example.com"
    assert commit(client).status == 409


def test_taken_unique_value_is_an_error_and_writes_nothing(client: StudioClient, db: Store) -> None:
    fields = {**_form(client, "new", entity="Customer"), "field.customerId": "c2", "field.email": "ana@example.com"}
    _stage(client, fields)
    reply = commit(client)
    assert reply.status == 409
    assert db.get(customer("c2")) is None


def test_owner_is_deleted_alone_with_all_that_it_owns(client: StudioClient, db: Store) -> None:
    _stage(client, _form(client, "delete", key=OWNER_KEY))
    _stage(client, _form(client, "delete", key=KEY))
    assert "commit its deletion alone" in commit(client).text
    last = client.view("/studio/shop/staged")["edits"][1]["id"]
    client.post("/studio/shop/discard", edits=str(last))
    assert commit(client).status == 303
    with pytest.raises(NotFound):
        db.one(customer("c1"))
    assert list(db(orders_of("c1"))) == []


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"field.total": "much"}, "total"),
        ({"field.total": '"text"'}, "total"),
        ({"field.paid": "2"}, "paid"),
        ({"field.status": "LOST"}, "status"),
        ({"field.placedAt": "yesterday"}, "placedAt"),
        ({"field.label": "not base64!"}, "label"),
        ({"field.lines": "[1]"}, "lines"),
        ({"field.orderId": ""}, "orderId"),
        ({"field.customerId": "x" * 3000}, "PK"),
        ({}, ""),
    ],
)
def test_invalid_value_is_named_and_the_form_keeps_what_was_written(
    client: StudioClient, change: dict[str, str], field: str
) -> None:
    fields = _form(client, "edit", key=KEY)
    reply = client.post(
        "/studio/shop/stage.json", **{**fields, "field.note": "kept", **change, **({} if change else fields)}
    )
    assert reply.status == 422
    view = reply.json
    assert view["error_field"] == field
    texts = {each["name"]: each["text"] for each in view["fields"]}
    assert all(texts[name.removeprefix("field.")] == value for name, value in change.items())
    assert client.view("/studio/shop/staged")["edits"] == []


def test_incomplete_form_is_rejected(client: StudioClient) -> None:
    assert client.post("/studio/shop/stage", entity="Nothing").status == 404
    assert client.post("/studio/shop/stage", entity="Order", kind="change").status == 422
    assert client.post("/studio/shop/stage", entity="Order", kind="change", before="{").status == 422
    assert client.post("/studio/shop/commit").status == 409
    assert client.post("/studio/shop/commit", edits="first").status == 409
    assert client.post("/studio/shop/discard", edits="1,x").status == 422


def _ids(client: StudioClient) -> list[str]:
    return [str(each["id"]) for each in client.view("/studio/shop/staged")["edits"]]


def test_commit_of_one_tab_leaves_what_another_has_staged_meanwhile(client: StudioClient, db: Store) -> None:
    _stage(client, {**_form(client, "edit", key=KEY), "field.note": "first"})
    shown = _ids(client)
    _stage(client, {**_form(client, "edit", key=OWNER_KEY), "field.name": "second"})
    assert client.post("/studio/shop/commit", edits=",".join(shown)).headers["location"].endswith("committed=1")
    assert db.one(order("c1", NOON, "o0")).note == "first"
    assert db.one(customer("c1")).name == "Ana"
    (left,) = client.view("/studio/shop/staged")["edits"]
    assert left["entity"] == "Customer"


def test_edit_that_another_tab_has_removed_is_neither_committed_nor_mistaken(client: StudioClient, db: Store) -> None:
    for name, key, value in (("note", KEY, "first"), ("name", OWNER_KEY, "second")):
        _stage(client, {**_form(client, "edit", key=key), f"field.{name}": value})
    first, second = _ids(client)
    for _ in range(2):  # both tabs remove the first one
        client.post("/studio/shop/discard", edits=first)
    assert _ids(client) == [second]
    reply = client.post("/studio/shop/commit", edits=f"{first},{second}")
    assert reply.status == 409
    assert "not staged any more" in reply.text
    assert db.one(customer("c1")).name == "Ana"
    assert client.post("/studio/shop/commit", edits=second).status == 303
    assert client.post("/studio/shop/commit", edits=second).status == 409  # a second click


def test_programs_stage_apart_and_under_a_name(studio: StudioApplication) -> None:
    one, other = (StudioClient(studio, {"authorization": f"Bearer {TOKEN}", "partita-session": each}) for each in "ab")
    _stage(one, {**_form(one, "edit", key=KEY), "field.note": "mine"})
    assert len(_ids(one)) == 1
    assert _ids(other) == []
    nameless = StudioClient(studio, {"authorization": f"Bearer {TOKEN}"})
    assert "Partita-Session" in nameless.get("/studio/shop/staged").text
    assert nameless.get("/studio/shop").status == 200
    cookie = {"cookie": "partita-studio-8001=program a"}
    assert StudioClient(studio, cookie).get("/studio/shop").status == 401


def test_optional_value_can_be_removed_and_an_empty_text_is_not_none(client: StudioClient, db: Store) -> None:
    fields = _form(client, "edit", key=KEY)
    _stage(client, {**fields, "null.field.note": "1", "null.field.label": "1"})
    commit(client)
    stored = db.one(order("c1", NOON, "o0"))
    assert (stored.note, stored.label) == (None, None)


def test_every_write_leaves_an_audit_line(client: StudioClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "partita.studio.audit")
    _stage(client, {**_form(client, "edit", key=KEY), "field.note": "x"})
    commit(client)
    client.post("/studio/shop/partiql", statement="DELETE FROM shop WHERE PK = 'a' AND SK = 'b'")
    client.post("/studio/shop/import", lines="", table="shop")
    lines = [json.loads(each.message) for each in caplog.records]
    assert [(each["action"], each["outcome"].split(",")[0]) for each in lines] == [
        ("commit", "done"),
        ("partiql", "done"),
        ("import", "created 0"),
    ]
    assert lines[0]["targets"] == ["change Order CUSTOMER#c1 ORDER#2025-05-01T12:00:00.000000Z#o0"]


def test_rejected_write_leaves_an_audit_line(
    client: StudioClient, reader: StudioClient, studio: StudioApplication, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "partita.studio.audit")
    reader.post("/studio/shop/partiql", statement="DELETE FROM shop WHERE PK = 'a'")
    client.post("/studio/shop/commit", edits="9")
    client.post("/studio/shop/restore", **{"table": "shop", "target-shop": "shop"})
    client.post("/studio/shop/letter", consumer="of-another-design", action="drop", sequence="1")
    client.post("/studio/nothing/commit", edits="1")
    signed_in(studio).post("/studio/shop/commit", {"origin": "http://evil.example"}, edits="1")
    lines = [json.loads(each.message) for each in caplog.records]
    assert [(each["action"], each["outcome"].split(":")[0]) for each in lines] == [
        ("partiql", "ReadOnlyStore"),
        ("commit", "InvalidInput"),
        ("restore", "RestorePointMissing"),
        ("letter", "NotFound"),
        ("commit", "NotFound"),
        ("commit", "Forbidden"),
    ]
    assert lines[0]["targets"] == ["statement DELETE FROM shop WHERE PK = 'a'"]


WRITES = [each.path.rpartition("/")[2] for each in ROUTES if each.writes]


@pytest.mark.parametrize("path", WRITES)
def test_read_only_studio_writes_nothing(reader: StudioClient, db: Store, path: str) -> None:
    before = list(db(orders_of("c1")))
    statement = "DELETE FROM shop WHERE PK = 'CUSTOMER#c1' AND SK = 'PROFILE'"
    reply = reader.post(f"/studio/shop/{path}", statement=statement, entity="Order", kind="create")
    assert reply.status == 403
    assert "--write" in reply.text
    assert list(db(orders_of("c1"))) == before
    assert db.get(customer("c1")) is not None


def test_read_only_studio_offers_no_edit(reader: StudioClient) -> None:
    page = reader.get("/studio/shop/item", key=KEY).text
    assert "read-only" in page
    assert "Duplicate" not in page
    assert reader.get("/studio/shop/edit", key=KEY).status == 403
    assert reader.get("/studio/shop/new", entity="Order").status == 403


@pytest.mark.parametrize(
    ("field", "mine", "theirs"),
    [
        ("lines", '[{"mine": 1}]', [{"theirs": 1}]),
        ("tags", '["mine"]', frozenset({"theirs"})),
        ("label", "AAEC", b"theirs"),
        ("status", "SHIPPED", Status.RETURNED),
        ("total", "1", DIGITS - 1),
    ],
)
def test_attribute_of_any_type_that_has_changed_meanwhile_is_not_overwritten(
    client: StudioClient, db: Store, field: str, mine: str, theirs: Any
) -> None:
    _stage(client, {**_form(client, "edit", key=KEY), f"field.{field}": mine})
    with db.change(order("c1", NOON, "o0")) as draft:
        setattr(draft, field, theirs)
    reply = commit(client)
    assert reply.status == 409
    assert "has been changed since this edit began" in reply.text
    assert getattr(db.one(order("c1", NOON, "o0")), field) == theirs


@pytest.mark.parametrize("beside_another", [False, True])
def test_item_that_was_edited_meanwhile_is_not_deleted(client: StudioClient, db: Store, beside_another: bool) -> None:
    _stage(client, _form(client, "delete", key=KEY))
    if beside_another:
        _stage(client, {**_form(client, "edit", key=OWNER_KEY), "field.name": "Ana Maria"})
    with db.change(order("c1", NOON, "o0")) as draft:
        draft.lines = [{"theirs": 1}]
    assert commit(client).status == 409
    assert db.one(order("c1", NOON, "o0")).lines == [{"theirs": 1}]


def test_item_without_attributes_that_have_defaults_can_be_edited_and_deleted(client: StudioClient, db: Store) -> None:
    key = {"PK": {"S": "CUSTOMER#c1"}, "SK": {"S": "ORDER#2025-05-01T12:00:00.000000Z#old"}}
    attributes = {"customerId": {"S": "c1"}, "placedAt": {"S": "2025-05-01T12:00:00Z"}, "orderId": {"S": "old"}}
    index = {"GSI1PK": {"S": "STATUS#OPEN"}, "GSI1SK": {"S": "2025-05-01T12:00:00.000000Z"}}
    db.backend.call(PutItem(table_name="shop", item={**key, **attributes, **index}))
    changes = {"field.paid": "true", "field.total": "3", "field.channel": "PHONE", "field.lines": '[{"a":1}]'}
    _stage(client, {**_form(client, "edit", key=json.dumps(key)), **changes})
    assert commit(client).status == 303
    db.backend.call(PutItem(table_name="shop", item={**key, **attributes, **index}))
    _stage(client, {**_form(client, "edit", key=KEY), "field.note": "beside the deletion"})
    _stage(client, _form(client, "delete", key=json.dumps(key)))
    assert commit(client).status == 303
    assert db.get(order("c1", NOON, "old")) is None


@pytest.mark.parametrize("text", ["a\0b", "a\rb", "a\r\nb", "a\nb", "\r\n", " a ", "e\u0301 \u202e", "x" * 90 + "\r"])
def test_text_that_a_browser_cannot_send_back_stays_as_it_is(client: StudioClient, db: Store, text: str) -> None:
    with db.change(order("c1", NOON, "o0")) as draft:
        draft.note = text
    sent = text.replace("\0", "\ufffd").replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")
    fields = {**_form(client, "edit", key=KEY), "field.note": sent}
    assert "nothing has been changed" in client.post("/studio/shop/stage", **fields).text
    _stage(client, {**fields, "field.status": "SHIPPED"})
    (staged,) = client.view("/studio/shop/staged")["edits"]
    assert [each["name"] for each in staged["differences"]] == ["status"]


def test_text_with_line_breaks_of_any_kind_has_a_control_that_keeps_them(client: StudioClient, db: Store) -> None:
    with db.change(order("c1", NOON, "o0")) as draft:
        draft.note = "a\rb"
    assert '<textarea id="field-field.note"' in client.get("/studio/shop/edit", key=KEY).text


def test_set_in_another_order_is_not_a_change(client: StudioClient, db: Store) -> None:
    names = [f"tag{number}" for number in range(40)]
    with db.change(order("c1", NOON, "o0")) as draft:
        draft.tags = frozenset(names)
    fields = _form(client, "edit", key=KEY)
    reply = client.post("/studio/shop/stage", **{**fields, "field.tags": json.dumps(names[::-1])})
    assert "nothing has been changed" in reply.text


def test_value_beside_a_checked_box_for_no_value_is_not_lost(client: StudioClient, db: Store) -> None:
    with db.change(order("c1", NOON, "o0")) as draft:
        draft.note = None
    fields = _form(client, "edit", key=KEY)
    assert fields["null.field.note"] == "1"
    reply = client.post("/studio/shop/stage", **{**fields, "field.note": "typed"})
    assert (reply.status, "a value and the check for no value" in reply.text) == (422, True)
    assert "typed" in reply.text


def test_deletion_of_an_owner_that_stops_half_way_says_so_and_goes_on(
    client: StudioClient, db: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(150):
        db.create(Order(customer_id="c1", placed_at=NOON, order_id=f"more{number}"))
    _stage(client, _form(client, "delete", key=OWNER_KEY))
    whole_call = MeteredBackend.call

    def call(backend: MeteredBackend, request: Any) -> Any:
        if backend.writes == 2:
            raise BudgetExceeded(backend.used, "60 seconds")
        return whole_call(backend, request)

    monkeypatch.setattr(MeteredBackend, "call", call)
    reply = commit(client)
    assert (reply.status, "A part was written" in reply.text) == (409, True)
    assert 0 < len(list(db(orders_of("c1")))) < 153
    monkeypatch.undo()
    assert commit(client).status == 303
    assert db.get(customer("c1")) is None
    assert list(db(orders_of("c1"))) == []
