"""Conditions of a write: the error of a failed one, and rejections that no condition explains."""

from typing import Any

import msgspec
import pytest

from partita import (
    ConditionFailed,
    Entity,
    F,
    Item,
    RejectionUnexplained,
    RetriesExhausted,
    Store,
    Table,
    connect,
    pattern,
)
from partita.design.conditions import Condition
from partita.dynamodb.exceptions import ConditionalCheckFailedException, TransactionCanceledException
from partita.dynamodb.requests import DeleteItem, TransactWriteItems
from tests.store.faults import Fault, Faulty

files = Table("files", pk="PK")


class File(Entity, table=files, key="FILE#{file_id}"):
    file_id: str
    data: bytes = b""
    parts: list[bytes] = msgspec.field(default_factory=list)
    hashes: set[bytes] = msgspec.field(default_factory=set)


@pattern
def file(file_id: str) -> Item[File]: ...


FALSE: dict[str, Condition] = {
    "a prefix of bytes": ~F.data.starts_with(b"a"),
    "bytes within bytes": ~F.data.contains(b"b"),
    "bytes in a set": ~F.hashes.contains(b"\xff"),
    "bytes in a list": ~F.parts.contains(b"x"),
    "order of bytes": F.data < b"abc",
    "equality of bytes": F.data != b"abc",
}


def no_wait(_: float) -> None:
    pytest.fail("the store waits, as if other writers were in the way")


@pytest.fixture
def db() -> Store:
    store = Store(connect("memory:", maintain=False), files, sleep=no_wait)
    store.create_tables()
    store.create(File(file_id="1", data=b"abc", parts=[b"x"], hashes={b"\xff", b"\x00"}))
    return store


def create_and_delete(db: Store, when: Condition) -> None:
    with db.transaction() as transaction:
        transaction.create(File(file_id="2"))
        transaction.delete(file("1"), when=when)


@pytest.mark.parametrize("name", FALSE)
def test_failed_condition_on_binary_is_reported_at_once(db: Store, name: str) -> None:
    message = r"^File 1: the condition does not hold$"
    with pytest.raises(ConditionFailed, match=message), db.change(file("1"), when=FALSE[name]) as draft:
        draft.data = b"new"
    with pytest.raises(ConditionFailed, match=message):
        db.delete(file("1"), when=FALSE[name])
    with pytest.raises(ConditionFailed, match=message):
        create_and_delete(db, FALSE[name])


def rejected(request: Any, _call: Any) -> Any:
    """Rejected without a reason: the condition holds for the item."""
    item = {"PK": {"S": "FILE#1"}, "data": {"B": "YWJj"}}
    if isinstance(request, TransactWriteItems):
        actions = request.transact_items or []
        reasons: list[dict[str, Any]] = [{"Code": "None"} for _ in actions[1:]]
        raise TransactionCanceledException([*reasons, {"Code": "ConditionalCheckFailed", "Item": item}])
    raise ConditionalCheckFailedException(item)


def rejected_and_changed(number: int) -> Fault:
    def reject(_request: Any, _call: Any) -> Any:
        raise ConditionalCheckFailedException({"PK": {"S": "FILE#1"}, "data": {"B": "YWJj"}, "n": {"N": str(number)}})

    return reject


def test_rejection_that_no_clause_explains_is_not_called_contention(db: Store) -> None:
    waits: list[float] = []
    backend = Faulty(db.backend, DeleteItem, *[rejected] * 30)
    disagreeing = Store(backend, files, sleep=waits.append)
    with pytest.raises(RejectionUnexplained, match=r"^File: the backend rejects a condition that holds for the item"):
        disagreeing.delete(file("1"), when=F.data.starts_with(b"a"))
    assert len(backend.faults) == 28  # it was sent twice
    assert len(waits) == 1


def test_unexplained_rejection_of_a_transaction_is_not_called_contention(db: Store) -> None:
    backend = Faulty(db.backend, TransactWriteItems, *[rejected] * 30)
    disagreeing = Store(backend, files, sleep=lambda _: None)
    with pytest.raises(RejectionUnexplained):
        create_and_delete(disagreeing, F.data.starts_with(b"a"))
    assert len(backend.faults) == 28


def test_rejection_of_an_item_that_keeps_changing_is_contention(db: Store) -> None:
    backend = Faulty(db.backend, DeleteItem, *[rejected_and_changed(number) for number in range(30)])
    racing = Store(backend, files, sleep=lambda _: None)
    with pytest.raises(RetriesExhausted):
        racing.delete(file("1"), when=F.data.starts_with(b"a"))
