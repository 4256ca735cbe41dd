"""Attributes that were stored otherwise before: read in both forms, written in both, compared in both."""

from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    DesignError,
    Entity,
    F,
    Index,
    InvalidValue,
    Item,
    Items,
    Keys,
    Limit,
    ProofError,
    Store,
    StoredItemInvalid,
    Table,
    Transitions,
    Unique,
    Was,
    connect,
    pattern,
    prove,
)
from partita.design.entities import EntityMeta
from partita.dynamodb.requests import GetItem, PutItem


def cents(price: str) -> int:
    return round(float(price) * 100)


def price_text(price_cents: int) -> str:
    return f"{price_cents / 100:.2f}"


class Image(msgspec.Struct):
    url: str
    width: int | None = None


def image_of(url: str) -> Image:
    return Image(url)


def url_of(image: Image) -> str:
    return image.url


people = Table("people", "PK", indexes=(Index("ByNickname", "GSI1PK", "PK"),))


class Person(Entity, table=people, key="PERSON#{person_id}"):
    person_id: str
    nickname: Annotated[str | None, Was("nick")] = None
    price_cents: Annotated[int, Was("price", to=cents, back=price_text)] = 0
    avatar_url: str | None = None
    images: Annotated[dict[str, Image] | None, Was("avatar_url", member="avatar", to=image_of, back=url_of)] = None
    note: str = ""

    by_nickname = Keys("ByNickname", "NICK#{nickname}", when=F.price_cents > 0)


@pattern
def person(person_id: str) -> Item[Person]: ...


@pattern(Person.by_nickname)
def by_nickname(nickname: str) -> Items[Person]: ...


design = prove("people", people)


@pytest.fixture
def db() -> Any:
    with connect("memory:", design) as store:
        store.create_tables()
        yield store


def stored(db: Store, person_id: str) -> dict[str, Any]:
    found = db.backend.call(GetItem(table_name="people", key={"PK": {"S": f"PERSON#{person_id}"}}))
    item: dict[str, Any] = msgspec.json.decode(found.item or b"{}")
    return item


def store_old(db: Store, person_id: str, **attributes: Any) -> None:
    item = {"PK": {"S": f"PERSON#{person_id}"}, "person_id": {"S": person_id}, **attributes}
    db.backend.call(PutItem(table_name="people", item=item))


def test_item_of_the_earlier_design_is_read_in_the_new_form(db: Store) -> None:
    store_old(db, "a", nick={"S": "Ann"}, price={"S": "1.50"}, avatar_url={"S": "http://x/1"})
    found = db.one(person("a"))
    assert (found.nickname, found.price_cents, found.images) == ("Ann", 150, {"avatar": Image("http://x/1")})
    assert found.avatar_url == "http://x/1"


def test_both_forms_are_written(db: Store) -> None:
    db.create(Person(person_id="a", nickname="Ann", price_cents=150, images={"avatar": Image("u", 8)}))
    item = stored(db, "a")
    assert (item["nick"], item["nickname"]) == ({"S": "Ann"}, {"S": "Ann"})
    assert (item["price"], item["price_cents"]) == ({"S": "1.50"}, {"N": "150"})
    assert item["avatar_url"] == {"S": "u"}


def test_change_of_an_attribute_sets_both_without_a_read(db: Store) -> None:
    db.create(Person(person_id="a", nickname="Ann"))
    calls: list[str] = []
    watching = Store(db.backend, design, on_call=[lambda call: calls.append(call.operation)])
    with watching.change(person("a")) as draft:
        draft.images = {"avatar": Image("u2")}
    assert calls == ["UpdateItem"]
    assert db.one(person("a")).avatar_url == "u2"
    assert stored(db, "a")["avatar_url"] == {"S": "u2"}


def test_write_of_the_old_attribute_sets_the_new_one(db: Store) -> None:
    db.create(Person(person_id="a", avatar_url="u1"))
    assert db.one(person("a")).images == {"avatar": Image("u1")}
    with db.change(person("a")) as draft:
        draft.images = {"avatar": Image("u1", 8), "banner": Image("b")}
    with db.change(person("a")) as draft:
        draft.avatar_url = "u2"
    assert db.one(person("a")).images == {"avatar": Image("u2"), "banner": Image("b")}
    with db.change(person("a")) as draft:
        draft.avatar_url = None
    found = db.one(person("a"))
    assert (found.avatar_url, found.images) == (None, {"banner": Image("b")})
    assert "avatar_url" not in stored(db, "a")


def test_update_and_put_keep_both_together(db: Store) -> None:
    db.create(Person(person_id="a"))

    def edit(entity: Person) -> None:
        entity.avatar_url = "u1"

    assert db.update(person("a"), edit).images == {"avatar": Image("u1")}
    db.put(Person(person_id="a", avatar_url="u3", note="put"))
    assert db.one(person("a")).images == {"avatar": Image("u3")}
    with pytest.raises(InvalidValue, match="differs from 'images'"):
        db.put(Person(person_id="a", avatar_url="u4", images={"avatar": Image("u5")}))
    with pytest.raises(InvalidValue, match="differs from 'images'"), db.change(person("a")) as draft:
        draft.avatar_url, draft.images = "u4", {"avatar": Image("u5")}


def test_what_the_map_has_decides(db: Store) -> None:
    store_old(db, "a", avatar_url={"S": "old"}, images={"M": {"avatar": {"M": {"url": {"S": "new"}}}}})
    store_old(db, "b", avatar_url={"S": "old"}, images={"M": {"banner": {"M": {"url": {"S": "b"}}}}})
    assert db.one(person("a")).avatar_url == "new"
    assert db.one(person("b")).images == {"avatar": Image("old"), "banner": Image("b")}


def test_old_value_decides_where_an_earlier_program_has_written_it(db: Store) -> None:
    store_old(db, "a", nick={"S": "late"}, nickname={"S": "early"}, price={"S": "2.00"}, price_cents={"N": "100"})
    found = db.one(person("a"))
    assert (found.nickname, found.price_cents) == ("late", 200)


@pytest.mark.parametrize("form", ["nickname", "price_cents", "images"])
def test_null_beside_the_old_form_is_none(db: Store, form: str) -> None:
    old = {"nick": {"S": "Ann"}, "price": {"S": "1.50"}, "avatar_url": {"S": "u"}}
    store_old(db, "a", **old, **{form: {"NULL": True}})
    found = db.one(person("a"))
    assert (found.nickname, found.price_cents, found.images) == ("Ann", 150, {"avatar": Image("u")})


def test_index_keys_follow_the_value_of_either_form(db: Store) -> None:
    store_old(db, "a", nick={"S": "Ann"}, price={"S": "1.50"})
    with db.change(person("a")) as draft:
        draft.price_cents += 50
    assert [each.price_cents for each in db(by_nickname("Ann"))] == [200]
    assert stored(db, "a")["price"] == {"S": "2.00"}
    with db.change(person("a")) as draft:
        draft.price_cents = 0
    assert list(db(by_nickname("Ann"))) == []


def test_write_that_relies_on_the_value_fails_if_an_earlier_program_changes_its_old_form(db: Store) -> None:
    store_old(db, "a", nick={"S": "Ann"}, price={"S": "1.50"})
    raced: list[int] = []

    def edit(entity: Person) -> None:
        if not raced:
            raced.append(1)
            store_old(db, "a", nick={"S": "Bea"}, price={"S": "1.50"})
        entity.note = f"hello {entity.nickname}"

    assert db.update(person("a"), edit).note == "hello Bea"


@pytest.mark.parametrize("names", [("nick",), ("nickname",), ("nick", "nickname")])
def test_condition_on_a_renamed_attribute_is_about_the_form_that_an_item_has(db: Store, names: tuple[str, ...]) -> None:
    store_old(db, "a", **{name: {"S": "Ann"} for name in names})
    store_old(db, "b")
    for condition, expected in (
        (F.nickname == "Ann", "a"),
        (F.nickname != "Ann", "b"),
        (F.nickname.exists(), "a"),
        (~F.nickname.exists(), "b"),
        (F.nickname.starts_with("A"), "a"),
        (F.nickname.is_in("Ann", "Bea"), "a"),
        ((F.nickname == "Ann") & ~F.note.exists(), "a"),
    ):
        assert [each.person_id for each in db.scan(Person, where=condition)] == [expected]
    with db.change(person("a"), when=F.nickname == "Ann") as draft:
        draft.nickname = "Bea"
    assert db.one(person("a")).nickname == "Bea"


@pytest.mark.parametrize("condition", [F.price_cents > 1, F.images.exists(), F.avatar_url == "x"])
def test_condition_on_a_converted_attribute_is_rejected(db: Store, condition: Any) -> None:
    with pytest.raises(InvalidValue, match="it is being converted, so DynamoDB cannot compare it"):
        list(db.scan(Person, where=condition))


def test_removed_form_is_read_once_more_and_never_written(db: Store) -> None:
    table = Table("people", "PK")

    class Person(Entity, table=table, key="PERSON#{person_id}"):
        person_id: str
        nickname: Annotated[str | None, Was("nick", removed=True)] = None

    @pattern
    def removed(person_id: str) -> Item[Person]: ...

    last = Store(db.backend, prove("people", table))
    store_old(db, "a", nick={"S": "Ann"})
    assert last.one(removed("a")).nickname == "Ann"
    with last.change(removed("a")) as draft:
        draft.nickname = "Bea"
    item = stored(db, "a")
    assert item["nickname"] == {"S": "Bea"}
    assert "nick" not in item
    assert db.one(person("a")).nickname == "Bea"  # a program of the release before


def test_unreadable_old_value_is_an_invalid_item(db: Store) -> None:
    store_old(db, "a", price={"S": "much"})
    with pytest.raises(StoredItemInvalid):
        db.one(person("a"))


def _declared(**body: Any) -> None:
    table = Table("things", "PK", ttl="ttl")
    annotations = {"thing_id": str, **body.pop("annotations")}
    EntityMeta("Thing", (Entity,), {"__annotations__": annotations, **body}, table=table, key="T#{thing_id}")


@pytest.mark.parametrize(
    ("annotations", "said"),
    [
        ({"a": Annotated[str, Was("a")]}, "'a' is the name of another attribute too"),
        ({"a": Annotated[str, Was("x")], "b": Annotated[str, Was("x")]}, "'x' is the name of another attribute too"),
        ({"a": Annotated[str, Was("PK")]}, "'PK' is an attribute of the table"),
        ({"a": Annotated[str, Was("ttl")]}, "'ttl' is an attribute of the table"),
        ({"a": Annotated[str, Was("x"), Transitions({})]}, "an attribute that the store sets or judges"),
        ({"a": Annotated[int, Was("x", to=cents)]}, "has no back; write back="),
        ({"a": Annotated[str, Was("x", to=cents, back=price_text)]}, "cents returns int, and it is str"),
        ({"a": Annotated[int, Was("x", to=lambda x: 1, back=str)]}, "the type of 'x' is not known"),
        ({"a": Annotated[str, Was("x", member="m")]}, "it has no members such as 'm'"),
        ({"x": str, "a": Annotated[str, Was("x", removed=True)]}, "'x' is removed and still declared"),
        ({"x": Annotated[str, Unique()], "a": Annotated[str, Was("x")]}, "a key or an invariant names it"),
    ],
)
def test_migration_that_cannot_work_is_rejected(annotations: dict[str, Any], said: str) -> None:
    with pytest.raises(DesignError) as error:
        _declared(annotations=annotations)
    assert said in str(error.value)


def test_limit_of_a_migrated_attribute_is_rejected() -> None:
    with pytest.raises(DesignError, match="a limit names it"):
        _declared(annotations={"a": Annotated[int, Was("x")], "most": int}, room=Limit(F.a <= F.most))


def test_index_that_holds_one_form_only_is_rejected() -> None:
    table = Table("things", "PK", indexes=(Index("ByKind", "kind", "PK", project=("thing_id", "name")),))

    class Thing(Entity, table=table, key="T#{thing_id}"):
        thing_id: str
        kind: str
        name: Annotated[str, Was("title")] = ""

        by_kind = Keys("ByKind")

    @pattern(Thing.by_kind)
    def of_kind(kind: str) -> Items[Thing]: ...

    with pytest.raises(ProofError, match="does not project title"):
        prove("things", table)
