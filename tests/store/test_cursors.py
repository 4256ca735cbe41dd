"""Cursors are signed and encrypted: a text that the store did not make for this query is rejected, with one error."""

import asyncio
import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from partita import (
    AsyncStore,
    ConfigurationError,
    Entity,
    Index,
    InvalidCursor,
    Items,
    Keys,
    Store,
    Table,
    connect,
    fan_out,
    pattern,
    prove,
    query,
)
from partita.store import cursors

table = Table("letters", pk="PK", sk="SK", indexes=(Index("ByTopic", "topicPK", "topicSK"),))


class Letter(Entity, table=table, key=("BOX#{box}", "LETTER#{number:4}")):
    box: str
    number: int
    topic: str = "a"

    by_topic = Keys("ByTopic", "TOPIC#{topic}", "{number:4}#{box}")


@pattern
def letters(box: str) -> Items[Letter]: ...


@pattern
def newest_letters(box: str) -> Items[Letter]:
    return query(Letter, box).largest_first("number")


@pattern
def letters_since(box: str, number: int) -> Items[Letter]:
    return query(Letter, box).since(number)


@pattern
def letters_of_topics(topics: list[str]) -> Items[Letter]:
    return Letter.by_topic.query(fan_out(topics, 5))


design = prove("letters", table)
MESSAGE = "it is not a cursor of this query with these arguments; start again without a cursor"


class Unkeyed:
    """A backend without a key, as a remote one is."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def call(self, request: Any) -> Any:
        return self._backend.call(request)


@pytest.fixture(scope="module")
def db() -> Iterator[Store]:
    with connect("memory:", design, maintain=False) as store:
        fill(store)
        yield store


def fill(store: Store) -> None:
    store.create_tables()
    store.put_many([Letter(box=box, number=number, topic="ab"[number % 2]) for box in "12" for number in range(9)])


def text_of(value: Any) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(value)).decode().rstrip("=")


def states_in(db: Store, cursor: str) -> Any:
    """The decrypted states, as only the owner of the key reads them."""
    (key,) = db.context.cursor_keys
    return msgspec.json.decode(cursors._states_in(cursor.encode(), key))


def forged(db: Store, cursor: str, states: Any) -> str:
    """Other states under the signature of a cursor, encrypted with the store's own key."""
    (key,) = db.context.cursor_keys
    signature = base64.urlsafe_b64decode(cursor + "==")[:16]
    encrypted = cursors._encrypted(msgspec.json.encode(states), key, signature)
    return base64.urlsafe_b64encode(signature + encrypted).decode().rstrip("=")


def rejected(db: Store, call: Any, cursor: Any) -> None:
    """There is one error for all of them, and none of the engine's."""
    with pytest.raises(InvalidCursor) as error:
        db(call).page(3, cursor)
    assert error.value.reason == MESSAGE


def made(db: Store, call: Any) -> str:
    cursor: str | None = db(call).page(3).cursor
    assert cursor is not None
    return cursor


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"PK": {"S": "BOX#2"}, "SK": {"S": "LETTER#3"}},
        {"PK": {"S": "BOX#1"}, "SK": {"S": "Z"}},
        0,
        1,
        5,
        -1,
        None,
    ],
    ids=str,
)
def test_state_that_the_store_did_not_sign_is_rejected(db: Store, state: Any) -> None:
    cursor = made(db, letters("1"))
    rejected(db, letters("1"), forged(db, cursor, [state]))


@pytest.mark.parametrize(
    "cursor",
    ["\ud800", "é", "x", "-_-_", "=" * 4, "A" * 40, ".", " ", "\0", text_of([]), text_of("[" * 99999), 5, b"x"],
)
def test_text_that_is_not_a_cursor_is_rejected(db: Store, cursor: Any) -> None:
    rejected(db, letters("1"), cursor)


def test_cursor_belongs_to_its_pattern_its_arguments_and_its_direction(db: Store) -> None:
    calls = [letters("1"), letters("2"), newest_letters("1"), letters_since("1", 0), letters_since("1", 1)]
    for one in calls:
        cursor = made(db, one)
        assert db(one).page(3, cursor).items
        for other in calls:
            if other is not one:
                rejected(db, other, cursor)


def test_cursor_of_a_fan_out_belongs_to_its_values_in_their_order(db: Store) -> None:
    cursor = made(db, letters_of_topics(["a", "b"]))
    assert db(letters_of_topics(["a", "b"])).page(3, cursor).items
    for topics in (["a"], ["b"], ["b", "a"], ["a", "b", "c"]):
        rejected(db, letters_of_topics(topics), cursor)
    states = states_in(db, cursor)
    for other in (states[:1], states[::-1], [*states, 0], [states[0], 1], []):
        if other != states:
            rejected(db, letters_of_topics(["a", "b"]), forged(db, cursor, other))
    assert forged(db, cursor, states) == cursor


def test_cursor_shows_no_key(db: Store) -> None:
    cursor = made(db, letters("1"))
    assert b"LETTER#" in msgspec.json.encode(states_in(db, cursor))
    raw = base64.urlsafe_b64decode(cursor + "==")
    assert not any(word in raw for word in (b'"PK', b"BOX", b"LETTER", b'{"P'))  # one byte alone occurs by chance


def test_two_positions_share_no_key_stream(db: Store) -> None:
    one, other = (base64.urlsafe_b64decode(made(db, letters(box)) + "==") for box in "12")
    same = sum(a == b for a, b in zip(one, other, strict=True))
    assert same < len(one) / 4


@given(st.data())
@settings(deadline=None, max_examples=200)
def test_cursor_with_any_character_changed_is_rejected(db: Store, data: st.DataObject) -> None:
    cursor = made(db, letters("1"))
    at = data.draw(st.integers(0, len(cursor)))
    replaced = data.draw(st.integers(0, 1))
    character = data.draw(st.sampled_from("ABab01-_+/=.\n ") | st.characters())
    changed = cursor[:at] + character + cursor[at + replaced :]
    if changed != cursor:
        rejected(db, letters("1"), changed)


@given(st.text() | st.binary(max_size=200).map(lambda raw: base64.urlsafe_b64encode(raw).decode().rstrip("=")))
@example("")
@settings(deadline=None, max_examples=200)
def test_any_text_is_rejected(db: Store, text: str) -> None:
    if text:
        rejected(db, letters("1"), text)


def test_no_part_of_a_cursor_is_compared_before_its_signature(db: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison takes the same time wherever a forged cursor differs, and nothing is decoded before it."""
    compared: list[bytes] = []

    def compare_digest(expected: bytes, text: bytes) -> bool:
        compared.append(text)
        return False

    monkeypatch.setattr("hmac.compare_digest", compare_digest)
    monkeypatch.setattr("partita.store.cursors._decode_states", None)
    cursor = made(db, letters("1"))
    rejected(db, letters("1"), cursor)
    assert compared == [cursor.encode()]


def test_key_is_stored_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "letters.db"
    with connect(file, design) as db:
        fill(db)
        cursor = made(db, letters("1"))
    with connect(file, design) as db, connect(file, design) as other:
        assert [each.number for each in db(letters("1")).page(3, cursor).items] == [3, 4, 5]
        assert other(letters("1")).page(3, cursor) == db(letters("1")).page(3, cursor)
    with connect(tmp_path / "another.db", design) as db:
        fill(db)
        rejected(db, letters("1"), cursor)


def test_file_from_before_cursor_keys_gets_one(tmp_path: Path) -> None:
    import apsw

    file = tmp_path / "letters.db"
    with connect(file, design) as db:
        fill(db)
    raw = apsw.Connection(str(file))
    raw.execute("DELETE FROM catalogue WHERE k = ?", (b"\0cursor-key",))
    raw.close()
    with connect(file, design) as db:
        cursor = made(db, letters("1"))
    with connect(file, design) as db:
        assert db(letters("1")).page(3, cursor).items


def test_databases_in_memory_have_keys_of_their_own(db: Store) -> None:
    with connect("memory:", design) as other:
        fill(other)
        rejected(other, letters("1"), made(db, letters("1")))


def test_async_store_accepts_the_same_cursors(db: Store) -> None:
    async def read() -> None:
        store = AsyncStore(db.backend, design)
        page = await store(letters("1")).page(3, made(db, letters("1")))
        assert [each.number for each in page.items] == [3, 4, 5]
        with pytest.raises(InvalidCursor):
            await store(letters("1")).page(3, "x")

    asyncio.run(read())


def test_backend_without_a_key_is_an_error_at_the_first_cursor(db: Store) -> None:
    store = Store(Unkeyed(db.backend), design)
    assert len(list(store(letters("1")))) == 9
    assert len(store(letters("1")).first(3)) == 3
    assert store(letters("1")).page(10).cursor is None
    for cursor in (None, "x"):
        with pytest.raises(ConfigurationError, match=r"pass cursor_keys=\[\.\.\.\] to connect"):
            store(letters("1")).page(3, cursor)
    keyed = store.with_settings(cursor_keys=[bytes(16)])
    assert [each.number for each in keyed(letters("1")).page(3, made(keyed, letters("1"))).items] == [3, 4, 5]


@pytest.mark.parametrize(
    "keys",
    [
        [],
        b"sixteen bytes or more",
        "text",
        ["sixteen bytes or more"],
        [b"short"],
        [bytes(16), b""],
        16,
        {bytes(16), b"which of the two signs?"},
    ],
)
def test_unusable_keys_are_rejected(keys: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"^cursor_keys"):
        connect("memory:", design, cursor_keys=keys)


def test_iteration_reads_no_item_twice(db: Store) -> None:
    with db.measure() as used:
        assert len(list(db(letters_of_topics(["a", "b"])))) == 18
    assert used.requests == 2


def test_cursor_of_a_list_is_bound_to_its_name_and_key(db: Store) -> None:
    cursor = db.sign_cursor("recent", "2025-01-31~é")
    assert db.cursor_position("recent", cursor) == "2025-01-31~é"
    others = [
        db.sign_cursor("other", "2025-01-31~é"),
        db.with_settings(cursor_keys=[b"another key of 16 bytes"]).sign_cursor("recent", "2025-01-31~é"),
        *(cursor[:at] + ("A" if each != "A" else "B") + cursor[at + 1 :] for at, each in enumerate(cursor)),
    ]
    for forged in others:
        with pytest.raises(InvalidCursor, match="it is not a cursor of this query"):
            db.cursor_position("recent", forged)
