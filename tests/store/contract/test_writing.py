"""Writing, on every backend: index keys stay right, invariants hold, nothing is half-written."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from partita import (
    AlreadyExists,
    ConditionFailed,
    F,
    InvalidTransaction,
    InvalidTransition,
    InvalidValue,
    LimitReached,
    NotFound,
    NotUnique,
    ReferenceMissing,
    StillReferenced,
    Store,
    Transaction,
    VersionConflict,
)
from partita.dynamodb.requests import DeleteItem, PutItem, Scan, UpdateItem
from tests.store.clocks import Clock
from tests.store.conftest import fresh
from tests.store.contract import test_edges as edges
from tests.store.kitchen_sink_design import (
    Artist,
    Importance,
    Mention,
    Note,
    State,
    Work,
    artist,
    drafts_of,
    everything_of,
    note,
    notes,
    shown_by_importance,
    work,
)


def disk(db: Store) -> dict[str, dict[str, Any]]:
    """Every stored item, by its partition key."""
    items = [msgspec.json.decode(item) for item in db.backend.call(Scan(table_name="gallery")).items or ()]
    return {f"{item['PK']['S']} {item['SK']['S']}": item for item in items}


@pytest.fixture(autouse=True)
def ann(db: Store) -> Artist:
    return db.create(Artist(artist_id="ann", country="PT", handle="Ann"))


@pytest.fixture
def draft_work(db: Store) -> Work:
    return db.create(Work(work_id="w1", artist_id="ann", title="One", price=Decimal("5.00")))


# index keys -----------------------------------------------------------------------------------------------------


def test_changed_attribute_moves_every_index_key_in_the_same_request(db: Store, draft_work: Work, clock: Clock) -> None:
    clock.passes(minutes=1)
    with db.change(work("w1")) as draft:
        draft.state = State.PUBLISHED
        draft.published_at = clock()
    item = disk(db)["WORK#w1 WORK"]
    assert item["GSI1PK"] == {"S": "STATE#published"}
    assert item["GSI1SK"] == {"S": "1-medium#n999499#2095-01-01T00:01:00.000000Z"}
    assert item["GSI2PK"] == {"S": "DAY#2095-01-01"}
    assert "expires" not in item
    assert list(db(drafts_of("ann"))) == []


def test_removed_attribute_takes_the_item_out_of_the_index(db: Store, clock: Clock) -> None:
    db.create(Work(work_id="w1", artist_id="ann", title="", state=State.PUBLISHED, published_at=clock()))
    with db.change(work("w1")) as draft:
        draft.published_at = None
    assert not disk(db)["WORK#w1 WORK"].keys() & {"GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK", "publishedAt"}


def test_change_that_touches_no_key_is_one_write_without_a_read(db: Store, draft_work: Work) -> None:
    with db.measure() as used, db.change(work("w1")) as draft:
        draft.views += 1
    assert (used.requests, used.reads) == (1, 0.0)
    assert db.one(work("w1")).views == 1


def test_change_with_unknown_key_parts_reads_and_is_fenced(db: Store, clock: Clock) -> None:
    db.create(Work(work_id="w1", artist_id="ann", title="", state=State.PUBLISHED, published_at=clock()))
    raced: list[bool] = []

    def meddle(call: Any) -> None:
        if type(call.request).__name__ == "GetItem" and not raced:
            raced.append(True)
            other.backend.call(
                UpdateItem(
                    table_name="gallery",
                    key={"PK": {"S": "WORK#w1"}, "SK": {"S": "WORK"}},
                    update_expression="SET importance = :i",
                    expression_attribute_values={":i": {"S": "low"}},
                )
            )

    other = db
    racing = Store(db.backend, db.design, clock=clock, sleep=lambda _: None, on_call=[meddle])
    with racing.change(work("w1")) as draft:
        draft.price += Decimal("1.25")
    assert raced
    assert disk(db)["WORK#w1 WORK"]["GSI1SK"]["S"].startswith("2-low#n999874#")


def test_index_on_the_update_time_follows_every_edit(db: Store, draft_work: Work, clock: Clock) -> None:
    db.create(Work(work_id="w2", artist_id="ann", title="Two"))
    clock.passes(hours=1)
    with db.change(work("w1")) as draft:
        draft.title = "newer"
    assert [each.work_id for each in db(drafts_of("ann"))] == ["w1", "w2"]


def test_untracked_attributes_do_not_change_the_version(db: Store, draft_work: Work, clock: Clock) -> None:
    clock.passes(hours=1)
    with db.change(work("w1")) as draft:
        draft.views += 5
    with db.change(work("w1"), system_change=True) as draft:
        draft.title = "by a machine"
    stored = db.one(work("w1"))
    assert (stored.views, stored.title) == (5, "by a machine")
    assert (stored.version, stored.updated_at) == (draft_work.version, draft_work.updated_at)


def test_steps_on_sets_lists_and_numbers_do_not_read(db: Store, draft_work: Work) -> None:
    with db.change(work("w1"), system_change=True) as draft:
        draft.tags |= {"a", "b"}
        draft.lines += ["x"]
        draft.lines += ["y"]
        draft.views -= 2
        draft.parts = {"frame": Decimal(2)}
    with db.change(work("w1"), system_change=True) as draft:
        draft.tags -= {"a"}
    stored = db.one(work("w1"))
    assert (stored.tags, stored.lines, stored.views, stored.parts) == ({"b"}, ["x", "y"], -2, {"frame": Decimal(2)})


def test_changed_key_part_moves_the_whole_item(db: Store) -> None:
    db.create(Note(artist_id="ann", number=1, text="kept"))
    with db.change(note("ann", 1)) as draft:
        draft.number = 2
    assert db(note("ann", 1)) is None
    assert db.one(note("ann", 2)).text == "kept"
    db.create(Note(artist_id="ann", number=3, text="in the way"))
    with pytest.raises(AlreadyExists, match=r"^Note ann, 3 already exists$"), db.change(note("ann", 2)) as draft:
        draft.number = 3
    assert [each.number for each in db(notes("ann"))] == [2, 3]


def test_key_with_dependents_does_not_change(db: Store, ann: Artist) -> None:
    said = r"^Artist: artist_id cannot change: its Note items would keep the old value$"
    with pytest.raises(InvalidValue, match=said), db.change(artist("ann")) as draft:
        draft.artist_id = "anna"


# drafts ---------------------------------------------------------------------------------------------------------


def test_change_of_an_absent_item_is_not_found(db: Store) -> None:
    with (
        pytest.raises(NotFound, match=r"^Note ann, 9 does not exist$"),
        db.change(note("ann", 9)) as draft,
    ):
        draft.text = "x"
    assert db(note("ann", 9)) is None


def test_block_that_raises_writes_nothing(db: Store, draft_work: Work) -> None:
    def change_and_fail() -> None:
        with db.change(work("w1")) as draft:
            draft.title = "no"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change_and_fail()
    assert db.one(work("w1")) == draft_work


def test_draft_rejects_unknown_attributes_and_wrong_types(db: Store, draft_work: Work) -> None:
    with db.change(work("w1")) as draft:
        with pytest.raises(AttributeError, match=r"^Work has no attribute 'colour'; its attributes are work_id,"):
            draft.colour = "red"  # type: ignore[attr-defined]
        with pytest.raises(InvalidValue, match=r"^Work.state: 'gone' is not one of its values$"):
            draft.state = "gone"  # type: ignore[assignment]
        with pytest.raises(InvalidValue, match=r"^Work.title: it may not be None"):
            draft.title = None  # type: ignore[assignment]
        with pytest.raises(InvalidValue, match=r"^Work.title: a change does not read; use db.update\(...\)"):
            print(draft.title == "One")
        with pytest.raises(InvalidValue, match=r"^Work.title: \+= cannot be applied to its type"):
            draft.title += "!"
    assert db.one(work("w1")) == draft_work


def test_automatic_attributes_cannot_be_set(db: Store) -> None:
    with (
        pytest.raises(InvalidValue, match=r"^Artist.work_count: it is set automatically and cannot be changed$"),
        db.change(artist("ann")) as draft,
    ):
        draft.work_count = 7


def test_condition_of_the_caller_is_checked(db: Store, draft_work: Work) -> None:
    with db.change(work("w1"), when=(F.title == "One") & F.tags.is_absent()) as draft:
        draft.title = "Two"
    with (
        pytest.raises(ConditionFailed, match=r"^Work w1: the condition does not hold$"),
        db.change(work("w1"), when=F.title == "One") as draft,
    ):
        draft.title = "Three"
    assert db.one(work("w1")).title == "Two"


def test_update_uses_the_stored_entity_and_loses_no_write(db: Store, draft_work: Work) -> None:
    def grow(each: Work) -> None:
        each.price = each.price * 2 if each.price < 40 else each.price
        each.views += 1

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda _: db.update(work("w1"), grow), range(24)))
    stored = db.one(work("w1"))
    assert (stored.price, stored.views) == (Decimal("40.00"), 24)


# versions and replacing -----------------------------------------------------------------------------------------


def test_replacing_with_an_old_version_is_rejected(db: Store, draft_work: Work) -> None:
    mine = db.one(work("w1"))
    mine.title = "mine"
    db.replace(mine)
    assert db.one(work("w1")).version == 2
    with pytest.raises(VersionConflict, match=r"^Work w1 is no longer at version 1; read it again$"):
        db.replace(mine)


def test_change_may_require_a_version(db: Store, draft_work: Work) -> None:
    with db.change(work("w1"), version=1) as draft:
        draft.title = "second"
    with pytest.raises(VersionConflict), db.change(work("w1"), version=1) as draft:
        draft.title = "third"


def test_replacing_leaves_counters_and_unknown_attributes_alone(db: Store, draft_work: Work) -> None:
    seen = db.one(artist("ann"))
    db.create(Work(work_id="w2", artist_id="ann", title=""))
    key = {"PK": {"S": "ARTIST#ann"}, "SK": {"S": "PROFILE"}}
    values = {":x": {"S": "theirs"}}
    db.backend.call(
        UpdateItem(
            table_name="gallery", key=key, update_expression="SET theirs = :x", expression_attribute_values=values
        )
    )
    seen.handle = "Anne"
    db.replace(seen)
    assert db.one(artist("ann")).work_count == 2
    assert disk(db)["ARTIST#ann PROFILE"]["theirs"] == {"S": "theirs"}


def test_put_creates_and_then_replaces(db: Store, clock: Clock) -> None:
    db.put(Work(work_id="w1", artist_id="ann", title="first"))
    made = db.one(work("w1"))
    clock.passes(hours=1)
    db.put(Work(work_id="w1", artist_id="ann", title="second"))
    stored = db.one(work("w1"))
    assert (stored.title, stored.created_at, stored.version) == ("second", made.created_at, 2)
    assert db.one(artist("ann")).work_count == 1


# invariants -----------------------------------------------------------------------------------------------------


def test_combination_of_unique_values_is_used_once(db: Store) -> None:
    db.create(Artist(artist_id="b", country="ES", handle="Ann"))
    with pytest.raises(NotUnique, match=r"^Artist.named_once: 'pt, ANN' is taken$"):
        db.create(Artist(artist_id="c", country="pt", handle="ANN"))
    assert db(artist("c")) is None


def test_unique_value_is_free_after_deletion_unless_kept(db: Store) -> None:
    db.create(Artist(artist_id="b", country="ES", handle="B", pass_number="77"))
    db.delete(artist("b"))
    with pytest.raises(NotUnique, match=r"Artist.pass_number: '77' is taken"):
        db.create(Artist(artist_id="c", country="ES", handle="B", pass_number="77"))
    db.release_unique(Artist, "pass_number", "77")
    db.create(Artist(artist_id="c", country="ES", handle="B", pass_number="77"))


def test_guards_have_no_index_attributes(db: Store) -> None:
    indexed = {name for index in db.design.tables[0].indexes for name in (*index.pk, *index.sk)}
    guards = [item for key, item in disk(db).items() if key.startswith("UNIQUE#")]
    assert guards
    for guard in guards:
        assert guard.keys() == {"PK", "SK", "guardOf"}
        assert not guard.keys() & indexed


def test_counters_follow_creation_change_and_deletion(db: Store, draft_work: Work, clock: Clock) -> None:
    db.create(Work(work_id="w2", artist_id="ann", title="", price=Decimal(7)))

    def shown() -> tuple[int, Decimal]:
        stored = db.one(artist("ann"))
        return stored.work_count, stored.shown_value

    assert shown() == (2, Decimal(0))
    for work_id in ("w1", "w2"):
        with db.change(work(work_id)) as draft:
            draft.state = State.PUBLISHED
            draft.published_at = clock()
    assert shown() == (2, Decimal(12))
    with db.change(work("w1")) as draft:
        draft.price = Decimal(6)
    assert shown() == (2, Decimal(13))
    db.delete(work("w2"))
    assert shown() == (1, Decimal(6))


def test_moved_child_is_counted_by_its_new_parent(db: Store, draft_work: Work) -> None:
    db.create(Artist(artist_id="bob", country="ES", handle="Bob"))
    with db.change(work("w1")) as draft:
        draft.artist_id = "bob"
    assert (db.one(artist("ann")).work_count, db.one(artist("bob")).work_count) == (0, 1)
    missing = r"^Work refers to Artist nobody, which does not exist$"
    with pytest.raises(ReferenceMissing, match=missing), db.change(work("w1")) as draft:
        draft.artist_id = "nobody"
    assert db.one(artist("bob")).work_count == 1


def test_parent_that_still_counts_children_is_not_deleted(db: Store, draft_work: Work) -> None:
    still = r"^Artist ann still counts Work items in 'work_count'; delete them first, or declare Owns$"
    with pytest.raises(StillReferenced, match=still):
        db.delete(artist("ann"))
    db.delete(work("w1"))
    db.delete(artist("ann"))
    assert disk(db) == {}


def test_child_can_be_deleted_after_its_parent(db: Store, draft_work: Work) -> None:
    there = next(item for name, item in disk(db).items() if name.startswith("ARTIST#ann "))
    key = {"PK": there["PK"], "SK": there["SK"]}
    db.backend.call(DeleteItem(table_name="gallery", key=key))  # by other code, or by its TTL
    assert db.delete(work("w1")) == draft_work
    assert [name for name in disk(db) if not name.startswith("UNIQUE#")] == []


def test_limit_stops_the_growth_of_a_counter(db: Store, draft_work: Work) -> None:
    with db.change(artist("ann")) as draft:
        draft.room = 1
    with pytest.raises(LimitReached, match=r"^Artist ann: the write would exceed the limit work_count <= room$"):
        db.create(Work(work_id="w2", artist_id="ann", title=""))
    assert db(work("w2")) is None


def test_only_allowed_transitions_happen(db: Store, draft_work: Work) -> None:
    refused = r"^Work.state: cannot change from 'draft' to 'sold'$"
    with pytest.raises(InvalidTransition, match=refused), db.change(work("w1")) as draft:
        draft.state = State.SOLD
    with pytest.raises(InvalidTransition):
        db.create(Work(work_id="w2", artist_id="ann", title="", state=State.SOLD))


def test_only_one_of_two_transitions_succeeds(db: Store, clock: Clock) -> None:
    db.create(Work(work_id="w1", artist_id="ann", title="", state=State.PUBLISHED, published_at=clock()))

    def answer(state: State) -> bool:
        try:
            with db.change(work("w1")) as draft:
                draft.state = state
        except InvalidTransition:
            return False
        return True

    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(answer, [State.SOLD, State.LOST])) == [False, True]


def test_owned_entities_are_deleted_with_their_owner(db: Store, clock: Clock) -> None:
    for number in range(60):
        db.put(Note(artist_id="ann", number=number, text=""))
    db.create(Mention(artist_id="ann", where="x", at=clock()))
    db.create(Artist(artist_id="bob", country="ES", handle="Bob"))
    db.create(Note(artist_id="bob", number=1, text="stays"))
    assert db.delete(artist("ann")) is not None
    assert list(db(everything_of("ann"))) == []
    assert [each.text for each in db(notes("bob"))] == ["stays"]


def test_concurrent_children_leave_exact_counters(db: Store) -> None:
    def add(number: int) -> None:
        db.create(Work(work_id=f"w{number}", artist_id="ann", title="", price=Decimal(1)))

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(add, range(30)))
        list(threads.map(lambda number: db.delete(work(f"w{number}")), range(0, 30, 3)))
    assert db.one(artist("ann")).work_count == 20


# time to live ---------------------------------------------------------------------------------------------------


def test_expired_item_is_hidden_from_reads_and_fails_conditions(db: Store, draft_work: Work, clock: Clock) -> None:
    assert disk(db)["WORK#w1 WORK"]["expires"] == {"N": str(int((clock() + timedelta(days=30)).timestamp()))}
    clock.passes(days=30)
    assert db(work("w1")) is None
    assert list(db(drafts_of("ann"))) == []
    assert db.get_many([work("w1")]) == [None]
    with pytest.raises(NotFound), db.change(work("w1"), system_change=True) as draft:
        draft.title = "too late"
    with pytest.raises(NotFound):
        db.update(work("w1"), lambda each: None)


def test_item_outside_the_condition_does_not_expire(db: Store, draft_work: Work, clock: Clock) -> None:
    with db.change(work("w1")) as draft:
        draft.state = State.PUBLISHED
        draft.published_at = clock()
    clock.passes(days=90)
    assert [each.work_id for each in db(shown_by_importance(State.PUBLISHED))] == ["w1"]


# transactions and batches ---------------------------------------------------------------------------------------


def test_transaction_is_all_or_nothing(db: Store, draft_work: Work) -> None:
    def write() -> None:
        with db.transaction() as together:
            together.create(Work(work_id="w2", artist_id="ann", title=""))
            together.change(work("w1")).title = "changed"
            together.create(Artist(artist_id="b", country="PT", handle="ann"))

    with pytest.raises(NotUnique):
        write()
    assert db(work("w2")) is None
    assert db.one(work("w1")).title == "One"
    assert db.one(artist("ann")).work_count == 1


def test_transaction_updates_counters_over_all_of_its_writes(db: Store, draft_work: Work) -> None:
    with db.transaction() as together:
        together.create(Artist(artist_id="b", country="ES", handle="b"))
        together.create(Note(artist_id="b", number=1, text=""))
        together.delete(work("w1"))
        together.change(artist("ann")).handle = "Anne"
    stored = db.one(artist("ann"))
    assert (stored.work_count, stored.handle) == (0, "Anne")


def test_transaction_checks_other_items(db: Store, draft_work: Work) -> None:
    def write() -> None:
        with db.transaction() as together:
            together.check(artist("ann"), F.country == "ES")
            together.change(work("w1")).title = "never"

    with pytest.raises(ConditionFailed, match=r"^Artist ann: the condition does not hold$"):
        write()
    assert db.one(work("w1")).title == "One"


def test_limit_holds_for_all_children_of_one_transaction(db: Store) -> None:
    def write(*names: str) -> None:
        with db.transaction() as together:
            for name in names:
                together.create(Work(work_id=name, artist_id="ann", title=""))

    with db.change(artist("ann")) as draft:
        draft.room = 3
    with pytest.raises(LimitReached, match=r"^Artist ann: the write would exceed the limit work_count <= room$"):
        write("w1", "w2", "w3", "w4")
    write("w1", "w2")
    with pytest.raises(LimitReached):
        write("w3", "w4")
    write("w3")
    assert db.one(artist("ann")).work_count == 3


def test_item_that_exists_is_reported_before_the_limit_that_it_would_exceed(db: Store) -> None:
    db.update(artist("ann"), lambda each: setattr(each, "room", 2))
    db.create(Work(work_id="w1", artist_id="ann", title=""))

    def write() -> None:
        with db.transaction() as together:
            together.create(Work(work_id="w2", artist_id="ann", title=""))
            together.create(Work(work_id="w1", artist_id="ann", title=""))

    with pytest.raises(AlreadyExists):
        write()
    assert db.one(artist("ann")).work_count == 1


def test_limit_and_its_new_bound_may_be_in_one_transaction(db: Store) -> None:
    def write(room: int) -> None:
        with db.transaction() as together:
            together.change(artist("ann")).room = room
            for name in ("w1", "w2"):
                together.create(Work(work_id=name, artist_id="ann", title=""))

    with pytest.raises(LimitReached):
        write(1)
    write(2)
    assert db.one(artist("ann")).work_count == 2


def test_unique_value_moves_between_items_within_a_transaction(db: Store) -> None:
    db.create(Artist(artist_id="bob", country="PT", handle="Bob"))
    with db.transaction() as together:
        together.change(artist("ann")).handle = "Bob"
        together.change(artist("bob")).handle = "Ann"
    assert db.find_by_unique(Artist, "named_once", "PT", "Bob") == db.one(artist("ann"))
    assert db.find_by_unique(Artist, "named_once", "PT", "Ann") == db.one(artist("bob"))


def test_parent_and_first_child_are_created_together_within_the_limit(db: Store) -> None:
    with db.transaction() as together:
        together.create(Artist(artist_id="bob", country="ES", handle="Bob"))
        together.create(Work(work_id="w", artist_id="bob", title=""))
    assert db.one(artist("bob")).work_count == 1

    def write() -> None:
        with db.transaction() as too_much:
            too_much.create(Artist(artist_id="cem", country="ES", handle="Cem", room=0))
            too_much.create(Work(work_id="v", artist_id="cem", title=""))

    with pytest.raises(LimitReached):
        write()
    assert db(artist("cem")) is None


def test_child_of_a_parent_deleted_in_the_transaction_is_rejected(db: Store) -> None:
    def write() -> None:
        with db.transaction() as together:
            together.delete(artist("ann"))
            together.create(Work(work_id="w", artist_id="ann", title=""))

    with pytest.raises(ReferenceMissing, match=r"^Work refers to Artist ann, which does not exist$"):
        write()


def test_parent_and_last_child_are_deleted_together(db: Store, draft_work: Work) -> None:
    with db.transaction() as together:
        together.delete(artist("ann"))
        together.delete(work("w1"))
    assert disk(db) == {}


Twice = Callable[[Transaction], object]


@pytest.mark.parametrize(
    "twice",
    [
        lambda t: (t.change(work("w1")), t.change(work("w1"))),
        lambda t: (t.change(work("w1")), t.delete(work("w1"))),
        lambda t: (t.delete(work("w1")), t.delete(work("w1"))),
        lambda t: (t.create(Work(work_id="n", artist_id="ann", title="")), t.change(work("n"))),
        lambda t: (t.create(Work(work_id="n", artist_id="ann", title="")), t.delete(work("n"))),
    ],
)
def test_two_writes_to_one_item_in_a_transaction_are_rejected(db: Store, draft_work: Work, twice: Twice) -> None:
    before = disk(db)
    said = r"^two writes to Work \w+ in one transaction; make them one$"
    with pytest.raises(InvalidTransaction, match=said), db.transaction() as together:
        twice(together)
    assert disk(db) == before


def test_write_after_the_block_of_a_transaction_is_rejected(db: Store, draft_work: Work) -> None:
    with db.transaction() as together:
        together.change(work("w1")).title = "Two"
    before = disk(db)
    with pytest.raises(InvalidTransaction, match=r"^the block of this transaction has ended; "):
        together.delete(artist("ann"))
    assert disk(db) == before


def test_seen_entity_must_be_the_changed_one(db: Store, draft_work: Work) -> None:
    other = db.create(Work(work_id="w2", artist_id="ann", title="Two"))
    with pytest.raises(InvalidValue, match=r"^Work: `seen` is another item, Work w2$"), db.transaction() as together:
        together.change(work("w1"), seen=other)


def test_item_is_deleted_and_created_again_in_one_transaction(db: Store) -> None:
    db.create(Note(artist_id="ann", number=1, text="old"))
    with db.transaction() as together:
        together.delete(note("ann", 1))
        together.create(Note(artist_id="ann", number=1, text="new"))
    assert db.one(note("ann", 1)).text == "new"


def test_batches_write_entities_without_invariants(db: Store) -> None:
    with db.measure() as used:
        db.put_many([Note(artist_id="ann", number=number, text="") for number in range(60)])
    assert used.requests == 3
    db.delete_many([note("ann", number) for number in range(59)])
    assert [each.number for each in db(notes("ann"))] == [59]
    with pytest.raises(
        InvalidValue, match=r"^Work: a batch cannot keep its invariants; create it, or use a transaction$"
    ):
        db.put_many([Work(work_id="w", artist_id="ann", title="")])
    with pytest.raises(InvalidValue, match=r"^Artist: a batch cannot keep its invariants; delete it"):
        db.delete_many([artist("ann")])


# bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entity", "said"),
    [
        (Note(artist_id="", number=1, text=""), "^Note.artist_id: empty text cannot be part of a key$"),
        (Note(artist_id="a", number=10_000, text=""), r"^Note.number: 10000 does not fit \{:\+4\} in the key$"),
        (Note(artist_id="a", number="1", text=""), "^Note.number: expected `int`, got `str`$"),  # type: ignore[arg-type]
        (Note(artist_id="x" * 3000, number=1, text=""), "^Note.PK: the key is longer than 2048 bytes$"),
        (Work(work_id="w", artist_id="ann", title="", importance="top"), "^Work.importance: 'top' is not one of"),  # type: ignore[arg-type]
    ],
)
def test_invalid_input_is_rejected_with_its_attribute(db: Store, entity: Any, said: str) -> None:
    before = disk(db)
    with pytest.raises(InvalidValue, match=said):
        db.create(entity)
    assert disk(db) == before


def test_time_without_a_zone_is_rejected(db: Store, clock: Clock) -> None:
    naive = clock().replace(tzinfo=None)
    with pytest.raises(InvalidValue, match=r"^Mention.at: 2095-01-01T00:00:00 has no time zone; write datetime\("):
        db.create(Mention(artist_id="ann", where="x", at=naive))


def test_entity_of_another_design_is_rejected(db: Store) -> None:
    from tests.design.shop import Customer

    with pytest.raises(
        InvalidValue, match=r"^Customer: it is not in design 'gallery'; pass its table 'shop' to prove\(\) too$"
    ):
        db.create(Customer(customer_id="c", email="e"))


def test_ranked_values_are_stored_unchanged(db: Store, clock: Clock) -> None:
    db.create(Work(work_id="w", artist_id="ann", title="", importance=Importance.HIGH, published_at=clock()))
    item = disk(db)["WORK#w WORK"]
    assert item["importance"] == {"S": "high"}
    assert item["entityType"] == {"S": "Work"}


# update ---------------------------------------------------------------------------------------------------------


def test_update_leaves_unchanged_attributes_alone(db: Store) -> None:
    row = {"PK": "ARTIST#old", "SK": "PROFILE", "artistId": "old", "country": "", "handle": "Old"}
    item: dict[str, Any] = {name: {"S": value} for name, value in row.items() if value}
    item |= {"country": {"S": "PT"}, "room": {"N": "5"}, "entityType": {"S": "Artist"}}
    db.backend.call(PutItem(table_name="gallery", item=item))
    assert db.update(artist("old"), lambda found: setattr(found, "room", 6)).room == 6
    with pytest.raises(InvalidValue, match=r"Artist.room: expected `int`, got `str`"):
        db.update(artist("old"), lambda found: setattr(found, "room", "many"))
    with pytest.raises(InvalidValue, match=r"Artist.handle: it may not be None"):
        db.update(artist("old"), lambda found: setattr(found, "handle", None))


def test_update_returns_the_stored_entity(db: Store, draft_work: Work, clock: Clock) -> None:
    clock.passes(hours=1)
    answer = db.update(work("w1"), lambda found: setattr(found, "title", "Two"))
    assert answer == db.one(work("w1"))
    db.replace(answer)


def test_put_over_an_existing_entity_returns_the_stored_one(db: Store, draft_work: Work, clock: Clock) -> None:
    clock.passes(hours=1)
    answer = db.put(Work(work_id="w1", artist_id="ann", title="Put"))
    assert answer == db.one(work("w1"))


def test_update_distinguishes_values_that_python_takes_for_equal(backend: Any, clock: Clock) -> None:
    db = fresh(backend, edges.design, clock)
    db.create(edges.Box(box_id="b", name="x", anything={"open": 1, "in": [1]}))
    db.update(edges.box("b"), lambda found: setattr(found, "anything", {"open": True, "in": [True]}))
    assert db.one(edges.box("b")).anything == {"open": True, "in": [True]}
    assert db.one(edges.box("b")).anything["open"] is True


def test_value_too_long_for_its_guard_is_rejected_with_its_attribute(db: Store) -> None:
    with pytest.raises(
        InvalidValue, match=r"^Artist.named_once: it is too long: the key of its guard exceeds 2048 bytes$"
    ):
        db.create(Artist(artist_id="long", country="PT", handle="x" * 2048))


def test_entity_of_another_design_is_rejected_in_a_transaction(db: Store) -> None:
    with pytest.raises(InvalidValue, match=r"^Box: it is not in design 'gallery'"), db.transaction() as together:
        together.create(edges.Box(box_id="b", name="x"))
