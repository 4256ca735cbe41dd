"""The messages of the store's errors, word for word."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    ConditionFailed,
    DesignError,
    Entity,
    F,
    InvalidTransaction,
    InvalidValue,
    Item,
    Items,
    Limit,
    LimitReached,
    Owns,
    RetriesExhausted,
    Store,
    StoredItemInvalid,
    SumOf,
    Table,
    Unique,
    connect,
    pattern,
    prove,
)
from partita.dynamodb.requests import GetItem, PutItem, TransactWriteItems, UpdateItem
from partita.errors import PartitaError
from tests.store.faults import Faulty, conflicting

table = Table("wallets", pk="PK", sk="SK")


class Wallet(Entity, table=table, key=("WALLET#{wallet_id}", "WALLET")):
    wallet_id: str
    used: int = 0
    quota: int = 10
    spent: Annotated[int, SumOf(lambda: Payment, "amount")] = 0
    most: int = 100
    tags: set[str] = msgspec.field(default_factory=set)
    name: Annotated[str | None, Unique()] = None

    within = Limit(F.used <= F.quota)
    budget = Limit(F.spent <= F.most)
    payments = Owns(lambda: Payment)


class Payment(Entity, table=table, key=("WALLET#{wallet_id}", "PAYMENT#{at}")):
    wallet_id: str
    at: datetime
    amount: Annotated[int, msgspec.Meta(ge=0)]


@pattern
def wallet(wallet_id: str) -> Item[Wallet]: ...
@pattern
def payments(wallet_id: str) -> Items[Payment]: ...
@pattern
def all_of(wallet_id: str) -> Items[Wallet | Payment]: ...


design = prove("wallets", table)
AT = datetime(2025, 1, 1, tzinfo=UTC)


@pytest.fixture
def db() -> Store:
    store = Store(connect("memory:", maintain=False), design, sleep=lambda _: None)
    store.create_tables()
    store.create(Wallet(wallet_id="w"))
    return store


def change(db: Store, edit: Callable[[Any], None], **options: Any) -> None:
    with db.change(wallet("w"), **options) as draft:
        edit(draft)


def step_twice(draft: Any) -> None:
    draft.tags |= {"a"}
    draft.tags -= {"b"}


def from_another(draft: Any) -> None:
    draft.used = draft.quota + 1


CASES: list[tuple[Callable[[Store], Any], type[PartitaError], str]] = [
    (
        lambda db: change(db, lambda draft: setattr(draft, "used", 11)),
        LimitReached,
        "Wallet w: the write would exceed the limit used <= quota",
    ),
    (
        lambda db: db.create(Payment(wallet_id="w", at=AT, amount=101)),
        LimitReached,
        "Wallet w: the write would exceed the limit spent <= most",
    ),
    (
        lambda db: change(db, step_twice),
        InvalidValue,
        "Wallet.tags: two different steps in one change; make two changes",
    ),
    (lambda db: change(db, from_another), InvalidValue, "Wallet.used: cannot be made from 'quota' unread"),
    (
        lambda db: change(db, lambda draft: setattr(draft, "tags", draft.tags | set())),
        InvalidValue,
        "Wallet.tags: there is nothing to add or remove",
    ),
    (
        lambda db: change(db, lambda draft: setattr(draft, "used", 1), version=3),
        InvalidValue,
        "Wallet: it has no version; mark an attribute with Version()",
    ),
    (
        lambda db: change(db, lambda draft: setattr(draft, "used", 1), when=F.colour == "red"),
        DesignError,
        (
            "Wallet: Wallet has no attribute 'colour'; "
            "the attributes are wallet_id, used, quota, spent, most, tags, name"
        ),
    ),
    (
        lambda db: db.create(Wallet(wallet_id="v", name="")),
        InvalidValue,
        "Wallet.name: empty text cannot be part of a key",
    ),
    (lambda db: db(wallet("")), InvalidValue, "wallet.wallet_id: empty text cannot be part of a key"),
    (lambda db: db(payments("")).first(1), InvalidValue, "payments.wallet_id: empty text cannot be part of a key"),
    (lambda db: db.find_by_unique(Wallet, "colour", "x"), InvalidValue, "Wallet.colour: it is not declared Unique"),
    (
        lambda db: db.delete(wallet("w"), when=F.used == 9),
        ConditionFailed,
        "Wallet w: the condition does not hold",
    ),
]


@pytest.mark.parametrize(("attempt", "error", "said"), CASES)
def test_error_message_says_what_and_where(
    db: Store, attempt: Callable[[Store], Any], error: type[PartitaError], said: str
) -> None:
    with pytest.raises(error) as refusal:
        attempt(db)
    assert str(refusal.value) == said
    assert db(wallet("w")) == Wallet(wallet_id="w")


def test_item_of_no_entity_in_a_collection_is_named(db: Store) -> None:
    db.backend.call(PutItem(table_name="wallets", item={"PK": {"S": "WALLET#w"}, "SK": {"S": "RUBBISH"}}))
    said = r"^Wallet or Payment WALLET#w RUBBISH cannot be read as it is stored: the key belongs to none of them$"
    with pytest.raises(StoredItemInvalid, match=said):
        list(db(all_of("w")))


def test_transaction_with_too_many_items_is_rejected(db: Store) -> None:
    def write() -> None:
        with db.transaction() as together_:
            for number in range(101):
                together_.create(Wallet(wallet_id=str(number)))

    with pytest.raises(InvalidTransaction, match=r"^101 items in one transaction; DynamoDB takes at most 100$"):
        write()


def test_endless_conflicts_exhaust_the_retries(db: Store) -> None:
    faulty = Store(Faulty(db.backend, TransactWriteItems, *[conflicting] * 9), design, sleep=lambda _: None)
    with pytest.raises(RetriesExhausted, match=r"^Wallet: gave up after 9 conflicting writes; nothing was written$"):
        faulty.create(Wallet(wallet_id="v", name="x"))


def test_endless_race_exhausts_the_retries(db: Store) -> None:
    def meddle(call: Any) -> None:
        if isinstance(call.request, GetItem):
            db.backend.call(
                UpdateItem(
                    table_name="wallets",
                    key={"PK": {"S": "WALLET#w"}, "SK": {"S": "WALLET"}},
                    update_expression="SET quota = quota + :one",
                    expression_attribute_values={":one": {"N": "1"}},
                )
            )

    racing = Store(db.backend, design, sleep=lambda _: None, on_call=[meddle])
    with pytest.raises(RetriesExhausted, match=r"^Wallet: gave up after 30 conflicting writes; nothing was written$"):
        change(racing, lambda draft: setattr(draft, "used", 1))
