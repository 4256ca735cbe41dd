"""Reading the bytes of items, and deleting what a check has seen."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from partita import Entity, Expires, Item, Items, Store, Table, pattern, prove
from partita.dynamodb.requests import PutItem
from tests.store.clocks import Clock
from tests.store.conftest import fresh

table = Table("letters", pk="PK", sk="SK", ttl="ttl")


class Letter(
    Entity, table=table, key=("BOX#{box}", "LETTER#{number:+4}"), old_keys=[("BOX#{box}", "LETTER#{number:plain}")]
):
    box: str
    number: int
    text: str = ""
    until: datetime | None = None
    gone = Expires("until")


@pattern
def letter(box: str, number: int) -> Item[Letter]: ...
@pattern
def letters(box: str) -> Items[Letter]: ...


design = prove("letters", table)


@pytest.fixture
def box(backend: Any, clock: Clock) -> Store:
    db = fresh(backend, design, clock)
    for number in range(1, 6):
        until = clock() - timedelta(days=1) if number == 2 else clock() + timedelta(days=1)
        db.create(Letter(box="a", number=number, text=f"text {number}", until=until))
    return db


def text_of(raw: msgspec.Raw, now: int | None) -> str | None:
    item = msgspec.json.decode(raw)
    assert now is not None
    return None if int(item["ttl"]["N"]) <= now else item["text"]["S"]


def test_read_gives_the_items_bytes_to_decode(box: Store) -> None:
    assert box.read(letter("a", 1), text_of) == "text 1"
    assert box.read(letter("a", 2), text_of) is None
    assert box.read(letter("a", 9), text_of) is None


def test_page_is_filled_up_where_decode_leaves_items_out(box: Store) -> None:
    first = box.read_page(letters("a"), text_of, size=3)
    assert first.items == ["text 1", "text 3", "text 4"]
    assert box.read_page(letters("a"), text_of, size=3, cursor=first.cursor).items == ["text 5"]


def test_page_without_decode_has_the_bytes_of_every_item(box: Store) -> None:
    page = box.read_page(letters("a"))
    assert [msgspec.json.decode(raw)["number"]["N"] for raw in page.items] == ["1", "2", "3", "4", "5"]


def test_check_sees_the_entity_before_it_is_deleted(box: Store) -> None:
    seen: list[Letter] = []
    deleted = box.delete(letter("a", 1), check=seen.append)
    assert [deleted] == seen
    assert box.delete(letter("a", 1), check=seen.append) is None
    assert len(seen) == 1


class Refused(Exception):
    pass


def refuse(entity: Letter) -> None:
    raise Refused(entity.number)


def test_check_that_raises_keeps_the_entity(box: Store) -> None:
    with pytest.raises(Refused):
        box.delete(letter("a", 1), check=refuse)
    assert box.one(letter("a", 1)).text == "text 1"


def test_entity_that_changes_after_the_check_is_checked_again(box: Store) -> None:
    seen: list[str] = []

    def check(entity: Letter) -> None:
        seen.append(entity.text)
        if len(seen) == 1:
            with box.change(letter("a", 1)) as draft:
                draft.text = "changed"

    deleted = box.delete(letter("a", 1), check=check)
    assert seen == ["text 1", "changed"]
    assert deleted is not None
    assert deleted.text == "changed"


CHECKS: dict[str, Callable[[Letter], None] | None] = {"no check": None, "a check": lambda entity: None}


@pytest.mark.parametrize("check", CHECKS)
def test_item_under_an_old_key_is_deleted(box: Store, check: str) -> None:
    old: Any = {"PK": {"S": "BOX#a"}, "SK": {"S": "LETTER#7"}, "box": {"S": "a"}, "number": {"N": "7"}}
    box.backend.call(PutItem(table_name="letters", item=old))
    deleted = box.delete(letter("a", 7), check=CHECKS[check])
    assert deleted == Letter(box="a", number=7)
    assert box(letter("a", 7)) is None


def test_expired_item_under_an_old_key_is_not_there_for_a_check(box: Store) -> None:
    past = {"S": datetime(2020, 1, 1, tzinfo=UTC).isoformat()}
    old: Any = {"PK": {"S": "BOX#a"}, "SK": {"S": "LETTER#7"}, "box": {"S": "a"}, "number": {"N": "7"}, "until": past}
    box.backend.call(PutItem(table_name="letters", item=old | {"ttl": {"N": "1577836800"}}))
    assert box.delete(letter("a", 7), check=refuse) is None
