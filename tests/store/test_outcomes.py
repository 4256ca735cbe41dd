"""The outcome of a write whose reply was lost: done, or said to be unknown; never done twice, never a false error."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any

import pytest

from partita import (
    AlreadyExists,
    Entity,
    F,
    InvalidValue,
    NotUnique,
    OutcomeUnknown,
    SentRequest,
    Store,
    Table,
    Version,
    connect,
    get,
    prove,
)
from partita.dynamodb.requests import TransactWriteItems
from tests.fuzz.faults import FaultyBackend
from tests.store.ledger_design import Account, Entry, Remark, Score, a_score, account, design, entry, fill, remark

Write = Callable[[Store], object]


class Faults:
    """A store whose requests meet faults, the requests that it sends, and a store without faults."""

    def __init__(self, backend: Any) -> None:
        self.backend = FaultyBackend(backend)
        self.sent: list[SentRequest] = []
        self.db = Store(self.backend, design, sleep=lambda _: None, random=lambda: 0.5, on_call=[self.sent.append])
        self.other = Store(backend, design, sleep=lambda _: None)

    def plan(self, *faults: str, meanwhile: Write | None = None, before: int = 1) -> None:
        """The faults of the next requests; another writer acts before the request of that number."""
        if meanwhile is None:
            self.backend.start(list(faults))
        else:
            self.backend.start(list(faults), (before, partial(self._act, meanwhile)))
        self.sent.clear()

    def _act(self, write: Write) -> None:
        write(self.other)

    @property
    def operations(self) -> list[str]:
        return [call.operation for call in self.sent]


@pytest.fixture
def faults() -> Iterator[Faults]:
    with connect("memory:", maintain=False) as backend:
        made = Faults(backend)
        made.other.create_tables()
        fill(made.other)
        yield made


def set_text(db: Store) -> None:
    with db.change(remark("a", 1)) as draft:
        draft.text = "mine"


def add_tag(db: Store) -> None:
    with db.change(remark("a", 1), when=~F.tags.contains("mine")) as draft:
        draft.tags |= {"mine"}


def count(db: Store) -> None:
    with db.change(remark("a", 1)) as draft:
        draft.count += 1


def raise_rank(db: Store) -> None:
    with db.change(remark("a", 1)) as draft:
        draft.rank += 1


def update_count(db: Store) -> None:
    db.update(remark("a", 1), lambda found: setattr(found, "count", found.count + 1))


SHOWN: dict[str, Write] = {
    "create": lambda db: db.create(Remark(account_id="a", number=9)),
    "put": lambda db: db.put(Remark(account_id="a", number=1, text="mine")),
    "assignment": set_text,
    "set": add_tag,
    "delete": lambda db: db.delete(remark("a", 1)),
    "release": lambda db: db.release_unique(Account, "email", "kept"),
    "put_many": lambda db: db.put_many([Remark(account_id="a", number=number, text="m") for number in (1, 9)]),
    "delete_many": lambda db: db.delete_many([remark("a", number) for number in (1, 2)]),
}
UNSHOWN: dict[str, Write] = {"step": count, "fenced step": raise_rank, "update": update_count}
READS = {"release": 2, "fenced step": 1, "update": 1}
"""How many items a write reads first."""


def reads_of(name: str) -> list[str]:
    return ["ok"] * READS.get(name, 0)


@pytest.mark.parametrize("write", SHOWN)
@pytest.mark.parametrize("lost", ["lost", "failed"])
def test_write_that_the_item_shows_is_done_though_its_reply_was_lost(faults: Faults, write: str, lost: str) -> None:
    faults.plan(*reads_of(write), lost)
    SHOWN[write](faults.db)


@pytest.mark.parametrize("write", SHOWN)
def test_write_that_never_arrived_is_unknown_and_not_sent_again(faults: Faults, write: str) -> None:
    faults.plan(*reads_of(write), "dropped")
    with pytest.raises(OutcomeUnknown):
        SHOWN[write](faults.db)
    written = [each for each in faults.operations if each not in ("GetItem", "Query")]
    assert len(written) == 1
    SHOWN[write](faults.db)  # the caller has looked, and writes again


@pytest.mark.parametrize("write", UNSHOWN)
@pytest.mark.parametrize("lost", ["lost", "dropped"])
def test_no_item_shows_that_a_step_was_applied(faults: Faults, write: str, lost: str) -> None:
    faults.plan(*reads_of(write), lost)
    with pytest.raises(OutcomeUnknown):
        UNSHOWN[write](faults.db)
    found = faults.other.one(remark("a", 1))
    assert found.count + found.rank == (1 if lost == "lost" else 0)


@pytest.mark.parametrize("write", [raise_rank, update_count])
def test_step_of_another_writer_is_not_taken_for_the_own_one(faults: Faults, write: Write) -> None:
    faults.plan("ok", "dropped", meanwhile=write)
    with pytest.raises(OutcomeUnknown):
        write(faults.db)


def test_equal_item_counts_as_the_own_one(faults: Faults) -> None:
    faults.plan("dropped", meanwhile=lambda db: db.create(Remark(account_id="a", number=9, text="equal")))
    faults.db.create(Remark(account_id="a", number=9, text="equal"))


def test_creation_that_another_writer_has_changed_since_is_unknown_rather_than_existing(faults: Faults) -> None:
    faults.plan("lost", meanwhile=lambda db: db.put(Remark(account_id="a", number=9, text="theirs")))
    with pytest.raises(OutcomeUnknown):
        faults.db.create(Remark(account_id="a", number=9, text="mine"))


def test_creation_in_which_a_child_was_counted_since_is_no_false_error(faults: Faults) -> None:
    faults.plan("lost", meanwhile=lambda db: db.create(Entry(account_id="b", entry_id="1", amount=1)))
    with pytest.raises(OutcomeUnknown):
        faults.db.create(Account(account_id="b"))
    assert faults.other.one(account("b")).entries == 1


def test_transaction_keeps_its_token_after_a_lost_reply_and_a_conflict(faults: Faults) -> None:
    faults.plan("lost", "conflict", "throttled", "ok")
    with faults.db.transaction() as together:
        together.change(remark("a", 1)).count += 1
        together.change(remark("a", 2)).count += 1
    assert [faults.other.one(remark("a", number)).count for number in (1, 2)] == [1, 1]
    tokens = {each.request.client_request_token for each in faults.sent if isinstance(each.request, TransactWriteItems)}
    assert (len(faults.sent), len(tokens)) == (4, 1)


@pytest.mark.parametrize("then", ["conflict", "throttled", "in progress", "dropped"])
def test_transaction_that_stays_in_doubt_is_unknown(faults: Faults, then: str) -> None:
    faults.plan("lost", *[then] * 20)
    with pytest.raises(OutcomeUnknown):
        faults.db.create(Entry(account_id="a", entry_id="9", amount=9))
    assert faults.other(entry("a", "9")) is not None


def test_transaction_that_stays_in_progress_is_unknown(faults: Faults) -> None:
    faults.plan(*["in progress"] * 20)
    with pytest.raises(OutcomeUnknown):
        faults.db.create(Entry(account_id="a", entry_id="9", amount=9))


@pytest.mark.parametrize("write", SHOWN)
def test_write_is_unknown_where_the_item_cannot_be_read_either(faults: Faults, write: str) -> None:
    faults.plan(*reads_of(write), "lost", *["throttled"] * 20)
    with pytest.raises(OutcomeUnknown):
        SHOWN[write](faults.db)


def test_deletion_whose_reply_was_lost_returns_nothing(faults: Faults) -> None:
    faults.plan("lost")
    assert faults.db.delete(remark("a", 1)) is None


def test_batch_of_which_one_item_is_not_shown_is_unknown(faults: Faults) -> None:
    faults.plan("lost", meanwhile=set_text)
    with pytest.raises(OutcomeUnknown, match=r"^Remark: the reply was lost"):
        faults.db.put_many([Remark(account_id="a", number=number, text="batch") for number in (1, 9)])


def test_put_that_meets_a_creation_replaces_it(faults: Faults) -> None:
    faults.plan(meanwhile=lambda db: db.create(Account(account_id="b", email="theirs")))
    answer = faults.db.put(Account(account_id="b", email="mine"))
    assert answer == faults.other.one(account("b"))
    assert (answer.email, answer.version) == ("mine", 2)
    assert faults.other.find_by_unique(Account, "email", "theirs") is None


def test_put_replaces_what_is_stored_under_an_old_key(faults: Faults) -> None:
    faults.db.put(Score(score=7, text="new"))
    assert list(faults.other.scan(Score)) == [Score(score=7, text="new")] == [faults.other.one(a_score(7))]
    assert faults.other.adopt().refused == []


def test_value_of_a_stored_item_is_not_released(faults: Faults) -> None:
    with pytest.raises(InvalidValue, match=r"Account a has the value; change or delete it first"):
        faults.db.release_unique(Account, "email", "first")
    with pytest.raises(NotUnique):
        faults.db.create(Account(account_id="b", email="first"))


def test_release_whose_reply_was_lost_leaves_the_value_to_the_item_that_took_it(faults: Faults) -> None:
    faults.plan("ok", "ok", "lost", meanwhile=lambda db: db.create(Account(account_id="b", email="kept")), before=3)
    with pytest.raises(OutcomeUnknown):
        faults.db.release_unique(Account, "email", "kept")
    with pytest.raises(NotUnique):
        faults.db.create(Account(account_id="c", email="kept"))


def test_creation_of_what_exists_is_rejected_after_faults_that_applied_nothing(faults: Faults) -> None:
    faults.plan("throttled", "conflict")
    with pytest.raises(AlreadyExists):
        faults.db.create(Remark(account_id="a", number=1))


def test_lost_change_is_not_done_if_a_part_of_its_condition_is_false(faults: Faults) -> None:
    faults.plan("dropped")
    text = faults.other.one(remark("a", 1)).text
    change = faults.db.change(remark("a", 1), when=(F.rank == 99) & (F.text != "b"))
    with pytest.raises(OutcomeUnknown), change as draft:
        draft.text = text


def test_put_creates_an_item_that_another_writer_deletes_after_its_read() -> None:
    table = Table("drafts", pk="PK")

    class Page(Entity, table=table, key="PAGE#{page}"):
        page: str
        text: str = ""
        version: Annotated[int, Version()] = 0

    with connect("memory:", maintain=False) as engine:
        backend = FaultyBackend(engine)
        pages = prove("pages", table)
        db, other = (Store(each, pages, sleep=lambda _: None) for each in (backend, engine))
        other.create_tables()
        other.create(Page(page="1"))
        backend.start([], (1, lambda: other.delete_many([get(Page, "1")])))
        assert db.put(Page(page="1", text="new")).version == 1
        assert [each.text for each in other.scan(Page)] == ["new"]
