"""A ledger: a small design for the tests of faults, with every kind of write and of other writers."""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from partita import (
    CountOf,
    Entity,
    F,
    Index,
    Item,
    Keys,
    Limit,
    Owns,
    References,
    Store,
    SumOf,
    Table,
    Unique,
    Version,
    pattern,
    prove,
)
from partita.dynamodb.requests import PutItem

ledger = Table("ledger", pk="PK", sk="SK", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),))


class Account(Entity, table=ledger, key=("ACCOUNT#{account_id}", "ACCOUNT")):
    account_id: str
    email: Annotated[str | None, Unique(keep_after_delete=True)] = None
    text: str = ""
    entries: Annotated[int, CountOf(lambda: Entry)] = 0
    total: Annotated[int, SumOf(lambda: Entry, "amount")] = 0
    version: Annotated[int, Version()] = 0

    room = Limit(F.entries <= 5)
    contents = Owns(lambda: (Entry, Remark))


class Entry(Entity, table=ledger, key=("ACCOUNT#{account_id}", "ENTRY#{entry_id}")):
    account_id: Annotated[str, References(lambda: Account)]
    entry_id: str
    amount: int
    code: Annotated[str | None, Unique()] = None


class Remark(Entity, table=ledger, key=("ACCOUNT#{account_id}", "REMARK#{number:2}")):
    account_id: str
    number: int
    text: str = ""
    state: str = "new"
    rank: int = 0
    count: int = 0
    tags: set[str] = msgspec.field(default_factory=set)
    lines: list[str] = msgspec.field(default_factory=list)

    by_state = Keys("GSI1", "STATE#{state}", "{rank:3}#{number:2}")


class Score(Entity, table=ledger, key=("SCORES", "SCORE#{score:4}"), old_keys=[("SCORES", "OLD#{score:plain}")]):
    score: int
    count: int = 0
    text: str = ""


class Visits(Entity, table=ledger, key=("PAGE#{page}", "VISITS")):
    page: str
    views: int = 0

    by_page = Keys("GSI1", "PAGES", "{page}")


@pattern
def visits(page: str) -> Item[Visits]: ...
@pattern
def account(account_id: str) -> Item[Account]: ...
@pattern
def entry(account_id: str, entry_id: str) -> Item[Entry]: ...
@pattern
def remark(account_id: str, number: int) -> Item[Remark]: ...
@pattern
def a_score(score: int) -> Item[Score]: ...


design = prove("ledger", ledger)


def fill(db: Store) -> None:
    """An account with entries and remarks, a score under its old key, and a value kept after a deletion."""
    db.create(Account(account_id="gone", email="kept"))
    db.delete(account("gone"))
    db.create(Account(account_id="a", email="first"))
    db.create(Entry(account_id="a", entry_id="1", amount=1, code="one"))
    db.create(Entry(account_id="a", entry_id="2", amount=2))
    db.create(Remark(account_id="a", number=1))
    db.create(Remark(account_id="a", number=2, text="two"))
    old: dict[str, Any] = {"PK": {"S": "SCORES"}, "SK": {"S": "OLD#7"}, "score": {"N": "7"}, "count": {"N": "1"}}
    db.backend.call(PutItem(table_name="ledger", item=old))


Act = Callable[[Store], object]


def _changed(get: Any, edit: Callable[[Any], None], *, create: bool = False) -> Act:
    def act(db: Store) -> None:
        with db.change(get, create=create) as draft:
            edit(draft)

    return act


def _assigned(**values: Any) -> Callable[[Any], None]:
    def edit(entity: Any) -> None:
        for name, value in values.items():
            setattr(entity, name, value)

    return edit


def _stepped(name: str, by: Any) -> Callable[[Any], None]:
    def edit(entity: Any) -> None:
        before = getattr(entity, name)
        setattr(entity, name, before | by if isinstance(by, set) else before + by)

    return edit


def _transaction(db: Store) -> None:
    with db.transaction() as together:
        together.change(remark("a", 1)).count += 1
        together.change(account("a")).text = "together"
        together.create(Entry(account_id="a", entry_id="9", amount=9))
        together.delete(entry("a", "2"))
        together.put(Remark(account_id="a", number=9, text="together"))
        together.check(remark("a", 2), F.text == "two")


def _creating_transaction(db: Store) -> None:
    with db.transaction() as together:
        together.change(visits("home"), create=True).views += 1
        together.change(remark("a", 9), create=True).count += 1


def _small_transaction(db: Store) -> None:
    with db.transaction() as together:
        together.change(remark("a", 1)).count += 1
        together.change(remark("a", 2)).count += 1


WRITES: dict[str, Act] = {
    "create": lambda db: db.create(Remark(account_id="a", number=9, text="mine")),
    "create a child": lambda db: db.create(Entry(account_id="a", entry_id="9", amount=9, code="nine")),
    "create a unique value": lambda db: db.create(Account(account_id="b", email="second", text="mine")),
    "put a new item": lambda db: db.put(Remark(account_id="a", number=9, text="mine")),
    "put over an item": lambda db: db.put(Remark(account_id="a", number=1, text="mine")),
    "put with invariants": lambda db: db.put(Account(account_id="a", email="second", text="mine")),
    "put a new one with invariants": lambda db: db.put(Account(account_id="b", email="second", text="mine")),
    "put over an old key": lambda db: db.put(Score(score=7, text="mine")),
    "replace": lambda db: db.replace(Remark(account_id="a", number=1, text="mine", rank=5)),
    "replace a version": lambda db: db.replace(Account(account_id="a", email="second", text="mine", version=1)),
    "change blind": _changed(remark("a", 1), _assigned(text="mine")),
    "change by a step": _changed(remark("a", 1), _stepped("count", 1)),
    "change a set": _changed(remark("a", 1), _stepped("tags", {"mine"})),
    "change a list": _changed(remark("a", 1), _stepped("lines", ["mine"])),
    "change fenced": _changed(remark("a", 1), _assigned(state="mine")),
    "change by a fenced step": _changed(remark("a", 1), _stepped("rank", 1)),
    "change a sum": _changed(entry("a", "1"), _stepped("amount", 10)),
    "change a unique value": _changed(account("a"), _assigned(email="second")),
    "change under an old key": _changed(a_score(7), _stepped("count", 1)),
    "change or create": _changed(visits("home"), _stepped("views", 1), create=True),
    "change or create with an index key": _changed(remark("a", 9), _stepped("count", 1), create=True),
    "change or create with a step of an index key": _changed(remark("a", 9), _stepped("rank", 1), create=True),
    "change or create with invariants": _changed(account("b"), _assigned(email="second"), create=True),
    "change or create under an old key": _changed(a_score(7), _stepped("count", 1), create=True),
    "creating transaction": _creating_transaction,
    "move": _changed(remark("a", 1), _assigned(number=9)),
    "update": lambda db: db.update(remark("a", 1), _stepped("count", 1)),
    "update a child": lambda db: db.update(entry("a", "1"), _stepped("amount", 10)),
    "delete": lambda db: db.delete(remark("a", 1)),
    "delete a child": lambda db: db.delete(entry("a", "1")),
    "delete under an old key": lambda db: db.delete(a_score(7)),
    "transaction": _transaction,
    "small transaction": _small_transaction,
    "release": lambda db: db.release_unique(Account, "email", "kept"),
}
"""Writes that are all or nothing."""

PARTIAL_WRITES: dict[str, Act] = {
    "delete an owner": lambda db: db.delete(account("a")),
    "put_many": lambda db: db.put_many([Remark(account_id="a", number=number, text="mine") for number in (1, 8, 9)]),
    "delete_many": lambda db: db.delete_many([remark("a", number) for number in (1, 2, 9)]),
}
"""Writes of several requests; after an error a part of them may be done, and they can be done again."""

OTHER_WRITES: dict[str, Act] = {
    "step": _changed(remark("a", 1), _stepped("count", 1)),
    "index key": _changed(remark("a", 1), _stepped("rank", 1)),
    "text": _changed(remark("a", 1), _assigned(text="theirs")),
    "deletion": lambda db: db.delete(remark("a", 1)),
    "put": lambda db: db.put(Remark(account_id="a", number=9, text="theirs")),
    "another child": lambda db: db.create(Entry(account_id="a", entry_id="9", amount=90, code="nine")),
    "amount": _changed(entry("a", "1"), _stepped("amount", 10)),
    "deletion of a child": lambda db: db.delete(entry("a", "1")),
    "unique value": lambda db: db.create(Account(account_id="c", email="second")),
    "account": lambda db: db.create(Account(account_id="b", text="theirs")),
    "version": _changed(account("a"), _assigned(text="theirs")),
    "kept value": lambda db: db.create(Account(account_id="d", email="kept")),
    "first view": _changed(visits("home"), _stepped("views", 1), create=True),
    "first count": _changed(remark("a", 9), _stepped("count", 1), create=True),
    "first rank": _changed(remark("a", 9), _stepped("rank", 1), create=True),
    "score": _changed(a_score(7), _stepped("count", 1)),
}
"""What another writer does in the middle of a write."""
