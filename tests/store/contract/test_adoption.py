"""Adoption of items that other code stored: old key formats, missing guards, wrong counters; no data is lost."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from partita import InvalidValue, NotUnique, Store
from partita.dynamodb.requests import PutItem, Scan
from tests.store import kitchen_sink_design
from tests.store.clocks import Clock
from tests.store.conftest import fresh
from tests.store.contract.test_edges import Box, Ticket, all_of, box, boxes_named, design, thing, things, ticket
from tests.store.kitchen_sink_design import Artist


@pytest.fixture
def edges(backend: Any, clock: Clock) -> Store:
    return fresh(backend, design, clock)


def put(store: Store, **attributes: dict[str, Any]) -> None:
    store.backend.call(PutItem(table_name="edges", item=attributes))


def disk(store: Store) -> list[dict[str, Any]]:
    return [msgspec.json.decode(item) for item in store.backend.call(Scan(table_name="edges")).items or ()]


def old_rows(store: Store) -> None:
    put(store, PK={"S": "BOX#b"}, SK={"S": "BOX"}, box_id={"S": "b"}, name={"S": "x"}, room={"N": "9"}, held={"N": "7"})
    for number in ("1", "2", "30"):
        put(store, PK={"S": "BOX#b"}, SK={"S": f"THING#{number}"}, colour={"S": "red"})
    put(store, PK={"S": "TICKET#1"}, SK={"S": "TICKET"}, code={"S": "A"}, until={"S": "2099-01-01T00:00:00Z"})
    put(store, PK={"S": "OTHER"}, SK={"S": "OTHER"})


def test_old_rows_are_rewritten_as_the_design_stores_them(edges: Store) -> None:
    old_rows(edges)
    done = edges.adopt()
    assert (done.seen, done.rewritten, done.guards_created, done.counted) == (6, 5, 1, 1)
    assert (done.unknown, done.refused) == (["OTHER OTHER"], [])
    assert [each.number for each in edges(things("b"))] == [1, 2, 30]
    assert edges.one(box("b")).held == 3
    assert {item["SK"]["S"] for item in disk(edges) if "colour" in item} == {"THING#001", "THING#002", "THING#030"}
    with pytest.raises(NotUnique):
        edges.create(Ticket(ticket_id="2", code="A", until=edges.context.clock()))


def test_counter_without_children_is_set_to_zero(edges: Store) -> None:
    put(edges, PK={"S": "BOX#b"}, SK={"S": "BOX"}, box_id={"S": "b"}, name={"S": "x"}, room={"N": "9"}, held={"N": "7"})
    assert edges.adopt().counted == 1
    assert edges.one(box("b")).held == 0
    assert edges.adopt().counted == 0


def test_second_adoption_finds_nothing_to_do(edges: Store) -> None:
    old_rows(edges)
    edges.adopt()
    before = disk(edges)
    again = edges.adopt()
    assert (again.rewritten, again.guards_created, again.counted) == (0, 0, 0)
    assert disk(edges) == before


def test_item_that_cannot_be_adopted_is_unchanged_and_reported(edges: Store) -> None:
    for ticket_id in ("1", "2"):
        until = {"S": "2099-01-01T00:00:00Z"}
        put(edges, PK={"S": f"TICKET#{ticket_id}"}, SK={"S": "TICKET"}, code={"S": "same"}, until=until)
    done = edges.adopt()
    assert len(done.refused) == 1
    assert done.refused[0].endswith("Ticket.code: 'same' is taken")


def test_row_in_both_formats_is_not_overwritten(edges: Store) -> None:
    edges.create(Box(box_id="b", name="x"))
    put(edges, PK={"S": "BOX#b"}, SK={"S": "THING#1"})
    put(edges, PK={"S": "BOX#b"}, SK={"S": "THING#001"})
    done = edges.adopt()
    assert done.refused == ["Thing BOX#b THING#1: Thing b, 1 already exists"]
    assert {item["SK"]["S"] for item in disk(edges)} == {"BOX", "THING#1", "THING#001"}
    assert len(list(edges(all_of("b")))) == 2, "what is under the current key is the item"
    assert edges.one(box("b")).held == 1


def test_progress_is_reported(edges: Store) -> None:
    old_rows(edges)
    heard: list[int] = []
    edges.adopt(lambda done: heard.append(done.seen))
    assert heard[-1] == 6
    assert len(list(edges(boxes_named("x")))) == 1


def test_scan_finds_all_requested_entities_and_no_others(edges: Store) -> None:
    old_rows(edges)
    assert {type(each).__name__ for each in edges.scan(Box, Ticket)} == {"Box", "Ticket"}
    edges.adopt()
    assert [each.code for each in edges.scan(Ticket)] == ["A"], "and no guard"


def test_scan_leaves_out_items_that_cannot_be_decoded(edges: Store) -> None:
    put(edges, PK={"S": "BOX#bad"}, SK={"S": "BOX"}, box_id={"S": "bad"}, room={"S": "many"})
    edges.create(Box(box_id="b", name="x"))
    assert [each.box_id for each in edges.scan(Box)] == ["b"]
    assert [each.split()[1] for each in edges.adopt().refused] == ["BOX#bad"]


def test_scan_of_another_design_is_rejected(edges: Store) -> None:
    with pytest.raises(InvalidValue, match="it is not in design"):
        list(edges.scan(Artist))


def test_missing_time_is_not_invented(backend: Any, clock: Clock) -> None:
    db = fresh(backend, kitchen_sink_design.design, clock)
    work = {"PK": "WORK#w", "SK": "WORK", "workId": "w", "artistId": "ann", "title": "Old", "state": "draft"}
    db.backend.call(PutItem(table_name="gallery", item={name: {"S": value} for name, value in work.items()}))
    assert db.adopt().refused == []
    with db.change(kitchen_sink_design.work("w")) as draft:
        draft.views += 1
    db.update(kitchen_sink_design.work("w"), lambda found: setattr(found, "views", 5))
    (stored,) = [msgspec.json.decode(item) for item in db.backend.call(Scan(table_name="gallery")).items or ()]
    assert not {"createdAt", "updatedAt", "GSI1PK", "GSI1SK", "expires"} & set(stored), "it is in no order of time"
    db.update(kitchen_sink_design.work("w"), lambda found: setattr(found, "title", "New"))
    assert [each.title for each in db(kitchen_sink_design.drafts_of("ann"))] == ["New"], "from its first edit on it is"


def test_guard_of_another_item_is_left_to_it(edges: Store) -> None:
    """Two old rows have the same value: adoption creates the guard of the first one."""
    until = {"S": "2099-01-01T00:00:00Z"}
    for ticket_id in ("1", "2"):
        put(edges, PK={"S": f"TICKET#{ticket_id}"}, SK={"S": "TICKET"}, code={"S": "same"}, until=until)
    edges.adopt()
    holder = edges.find_by_unique(Ticket, "code", "same")
    assert holder is not None
    other = "2" if holder.ticket_id == "1" else "1"
    assert edges.delete(ticket(other)) is not None
    assert edges.find_by_unique(Ticket, "code", "same") == holder
    edges.delete(ticket(holder.ticket_id))
    assert edges.find_by_unique(Ticket, "code", "same") is None


def test_uncounted_child_does_not_make_a_counter_negative(edges: Store) -> None:
    put(edges, PK={"S": "BOX#b"}, SK={"S": "BOX"}, box_id={"S": "b"}, name={"S": "x"}, room={"N": "9"})
    for number in (1, 2):
        put(edges, PK={"S": "BOX#b"}, SK={"S": f"THING#{number:03}"}, colour={"S": "red"})
    assert edges.delete(thing("b", 1)) is not None
    assert edges.one(box("b")).held == 0
    edges.adopt()
    assert edges.one(box("b")).held == 1
    edges.delete(thing("b", 2))
    assert edges.one(box("b")).held == 0


def test_unknown_members_of_a_map_are_kept(backend: Any, clock: Clock) -> None:
    db = fresh(backend, kitchen_sink_design.design, clock)
    size = {"M": {"widthMm": {"N": "7"}, "heightMm": {"N": "8"}, "depthMm": {"N": "9"}}}
    work = {"PK": "WORK#w", "SK": "WORK", "workId": "w", "artistId": "ann", "title": "Old"}
    item = {name: {"S": value} for name, value in work.items()} | {"size": size}
    db.backend.call(PutItem(table_name="gallery", item=item))
    assert db.adopt().rewritten == 1
    (stored,) = [msgspec.json.decode(item) for item in db.backend.call(Scan(table_name="gallery")).items or ()]
    assert stored["size"]["M"]["depthMm"] == {"N": "9"}
    assert db.adopt().rewritten == 0


def test_old_row_without_its_guard_can_be_changed(edges: Store) -> None:
    """The guard of a ticket has the ticket's time; a missing guard is created."""
    put(edges, PK={"S": "TICKET#1"}, SK={"S": "TICKET"}, code={"S": "A"}, until={"S": "2099-01-01T00:00:00Z"})
    with edges.change(ticket("1")) as draft:
        draft.until = edges.context.clock() + timedelta(days=1)
    holder = edges.find_by_unique(Ticket, "code", "A")
    assert holder is not None
    assert holder.ticket_id == "1"
