"""Several `Keys` in one index: the proof says which items earlier ones hold, and rejects those that no item has."""

import enum
import random
from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from typing import Annotated, Any, Literal

import msgspec
import pytest

from partita import (
    DesignError,
    Entity,
    F,
    Index,
    InKey,
    Items,
    Keys,
    Query,
    Table,
    View,
    collection,
    connect,
    pattern,
    prove,
)
from partita.describe.explain import explain_read
from partita.design.conditions import AnyOf, Condition
from partita.plan.condition_expressions import to_encoded
from partita.plan.items import encode_attributes
from partita.plan.predicates import design_predicate
from partita.plan.proof.satisfiable import is_satisfiable


class State(enum.Enum):
    OPEN = "open"
    BUSY = "busy"
    DONE = "done"


def shop(*indexes: str) -> Table:
    return Table("shop", pk="PK", sk="SK", indexes=tuple(Index(name, f"{name}PK", f"{name}SK") for name in indexes))


def read_text(query: Any) -> list[str]:
    """The sentences of a read about items that it does not find."""
    table = query.read.sources[0].model.table
    return [
        line.split("not in it: ")[1]
        for line in connect("memory:", prove("shop", table)).explain(query).splitlines()
        if "not in it: " in line
    ]


# --- what a pattern does not find


def test_proof_says_which_items_earlier_keys_hold() -> None:
    table = shop("GSI1")

    class Card(Entity, table=table, key=("CARD#{card}", "CARD")):
        card: str
        waiting_for: str | None = None
        state: State = State.OPEN

        waiting = Keys("GSI1", "WAITING#{waiting_for}", "{card}")
        done = Keys("GSI1", "DONE", "{card}", when=F.state == State.DONE)
        others = Keys("GSI1", "OTHERS", "{card}")

    assert read_text(Card.waiting.query("ann")) == []
    assert read_text(Card.done.query()) == [
        "items of Card where waiting_for exists; they are under (WAITING#{waiting_for}, {card})"
    ]
    assert read_text(Card.others.query()) == [
        "items of Card where waiting_for exists; they are under (WAITING#{waiting_for}, {card})",
        "items of Card where state = done; they are under (DONE, {card})",
    ]
    db = connect("memory:", prove("shop", table))
    db.create_tables()
    for at, (who, state) in enumerate(product((None, "ann"), State)):
        db.create(Card(card=f"c{at}", waiting_for=who, state=state))
    assert [each.card for each in db(Card.done.query())] == ["c2"]
    assert [each.card for each in db(Card.others.query())] == ["c0", "c1"]


def test_pattern_and_view_say_it_too() -> None:
    table = shop("GSI1")

    class Brief(View):
        card: Annotated[str, InKey()]
        score: int = 0

        good = Keys("GSI1", "GOOD", "{card}", when=F.score > 5)
        fair = Keys("GSI1", "FAIR", "{card}", when=F.score > 3)

    class Card(Brief, Entity, table=table, key=("CARD#{card}", "CARD")):
        text: str = ""

    @pattern(Brief.fair)
    def fair() -> Items[Brief]: ...

    prove("shop", table)
    assert "not in it: items of Card where score > 5; they are under (GOOD, {card})" in explain_read(fair.read)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (F.state == State.OPEN, F.state == State.DONE),
        (F.state.is_in(State.OPEN, State.BUSY), F.state == State.DONE),
        (F.state != State.DONE, F.state == State.DONE),
        (F.number <= 3, F.number > 3),
        (F.number < 4, F.number > 3),
        (F.flag == True, F.flag == False),  # noqa: E712
        (F.flag == True, ~(F.flag == True)),  # noqa: E712
        (F.note.exists(), F.note.is_absent()),
        (F.note == None, F.note != None),  # noqa: E711
        (F.note == "a", F.note.is_absent()),
        (F.note.starts_with("a"), F.note.starts_with("b")),
        (F.text < "b", F.text.starts_with("b")),
        (F.text.contains("a"), ~F.text.contains("a") & (F.number == 1)),
        ((F.number > 3) & (F.flag == True), (F.number > 3) & (F.flag == False)),  # noqa: E712
        (F.kind == "one", F.kind == "two"),
        (F.price < Decimal("1.5"), F.price >= Decimal("1.50")),
    ],
)
def test_conditions_that_exclude_each_other_say_nothing(first: Condition, second: Condition) -> None:
    assert read_text(declared(first, second)[1]) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (F.state == State.OPEN, F.number > 3),
        (F.number < 4, F.number > 2),
        (F.price < 4, F.price > 3),
        (F.text < "b", F.text > "a"),
        (F.text.starts_with("a"), F.text > "a"),
        (F.text.contains("a"), F.text.contains("b")),
        (F.tags == {"a"}, F.text == "b"),
        (F.note.exists(), F.flag == True),  # noqa: E712
        (F.number < F.other, F.number > 3),
        (F.note != "a", F.note.is_absent() | (F.flag == True)),  # noqa: E712
    ],
)
def test_conditions_that_can_both_hold_are_said(first: Condition, second: Condition) -> None:
    assert len(read_text(declared(first, second)[1])) == 1


def declared(first: Condition, second: Condition) -> tuple[Table, Query[Any]]:
    table = shop("GSI1")

    class Thing(Entity, table=table, key=("THING#{thing}", "THING")):
        thing: str
        state: State = State.OPEN
        number: int = 0
        other: int = 0
        price: Decimal = Decimal(0)
        flag: bool = False
        text: str = ""
        note: str | None = None
        tags: set[str] = msgspec.field(default_factory=set[str])
        kind: Literal["one", "two", "three"] = "one"

        one = Keys("GSI1", "ONE", "{thing}", when=first)
        two = Keys("GSI1", "TWO", "{thing}", when=second)

    return table, Thing.two.query()


# --- keys that no item has


@pytest.mark.parametrize(
    ("conditions", "wrong"),
    [
        ([F.number > 3, F.number > 5], "earlier ones apply wherever these do"),
        ([F.flag == True, F.flag == False, None], "earlier ones apply wherever these do"),  # noqa: E712
        ([F.state != State.OPEN, F.state == State.DONE], "earlier ones apply wherever these do"),
        ([F.text.starts_with("a"), F.text.starts_with("ab")], "earlier ones apply wherever these do"),
        ([F.flag == True, (F.number > 5) & (F.number < 3)], "no item can fulfil its condition"),  # noqa: E712
        ([(F.state == State.OPEN) & (F.state == State.DONE)], "no item can fulfil its condition"),
        ([(F.number > 3) & (F.number < 4)], "no item can fulfil its condition"),
        ([F.number > 1.5, (F.number > 1) & (F.number < 2)], "no item can fulfil its condition"),
    ],
)
def test_keys_that_no_item_can_have_are_rejected(conditions: list[Condition | None], wrong: str) -> None:
    table = shop("GSI1")
    keys = {f"k{at}": Keys("GSI1", f"K{at}", "{thing}", when=each) for at, each in enumerate(conditions)}
    body = {
        "__annotations__": {"thing": str, "number": int, "flag": bool, "state": State, "text": str},
        "__module__": __name__,
        **keys,
    }
    _declared("Thing", body, table)
    with pytest.raises(DesignError, match=wrong):
        prove("shop", table)


def _declared(name: str, body: dict[str, Any], table: Table) -> Any:
    """An entity whose key is its name and its first attribute."""
    metaclass: Any = type(Entity)
    return metaclass(name, (Entity,), body, table=table, key=(f"{name}#{{{name.lower()}}}", name))


# --- random conditions against every item of a small domain


SMALL: dict[str, list[Any]] = {
    "state": list(State),
    "flag": [False, True],
    "number": [-1, 0, 1, 2, 3, 4],
    "kind": ["one", "two", None],
    "note": [None, "", "a", "a\0", "ab", "b", "bb", "c"],
    "price": [None, Decimal(-1), Decimal(0), Decimal("0.5"), Decimal(1), Decimal("1.5"), Decimal(2)],
}
TABLE = shop("GSI1")


class Small(Entity, table=TABLE, key=("SMALL#{small}", "SMALL")):
    small: str
    state: State = State.OPEN
    flag: bool = False
    number: int = 0
    kind: Literal["one", "two"] | None = None
    note: str | None = None
    price: Decimal | None = None
    count: int = 0


def random_condition(chance: random.Random, depth: int = 0) -> Condition:
    """A condition on the attributes of `Small` and the values of its domain."""
    kind = chance.random()
    if depth < 3 and kind < 0.6:
        one, other = random_condition(chance, depth + 1), random_condition(chance, depth + 1)
        return chance.choice([one & other, one | other, ~one])
    name = chance.choice(list(SMALL))
    field = F[name]
    values = [each for each in SMALL[name] if each is not None]
    if name == "price":
        values = [Decimal(0), Decimal(1)]
    elif name == "note":
        values = ["a", "ab", "b"]
    elif name == "number":
        values = [0, 1, 2, 3]
    value = chance.choice(values)
    if name == "note" and chance.random() < 0.3:
        return field.starts_with(value)
    if name in ("kind", "note", "price") and chance.random() < 0.3:
        return chance.choice([field.exists(), field.is_absent(), field == None, field != None])  # noqa: E711
    if name in ("number", "price", "note") and chance.random() < 0.6:
        ordered: list[Condition] = [field < value, field <= value, field > value, field >= value]
        return chance.choice(ordered)
    some = chance.sample(values, chance.randint(1, len(values)))
    alike: list[Condition] = [field == value, field != value, field.is_in(*some)]
    return chance.choice(alike)


def items_of(condition: Condition, domains: dict[str, list[Any]] = SMALL) -> Iterator[dict[str, Any]]:
    names = sorted(set(condition.fields))
    for values in product(*(domains[name] for name in names)):
        yield dict(zip(names, values, strict=True))


def test_answers_are_those_of_every_item_of_a_small_domain() -> None:
    model = Small.__model__
    chance = random.Random(20)
    answers = []
    for _ in range(1500):
        condition = random_condition(chance)
        holds = design_predicate(model, condition)
        expected = any(holds(encode_attributes(model, each)) for each in items_of(condition))
        assert is_satisfiable(model, to_encoded(model, condition)) == expected, condition
        answers.append(expected)
    assert 20 < answers.count(False) < 1400


def test_free_terms_never_hide_an_item() -> None:
    model = Small.__model__
    chance = random.Random(21)
    domains = SMALL | {"count": [0, 2]}
    for _ in range(500):
        free = chance.choice([F.note.contains("a"), F.note.size() > 1, F.number < F.count, F.note == F.kind])
        condition = chance.choice([random_condition(chance) & free, AnyOf((random_condition(chance), free)), ~free])
        holds = design_predicate(model, condition)
        if any(holds(encode_attributes(model, each)) for each in items_of(condition, domains)):
            assert is_satisfiable(model, to_encoded(model, condition))


def test_stored_items_are_found_or_their_absence_is_said() -> None:
    chance = random.Random(22)
    proven = 0
    for seed in range(25):
        table = shop("GSI1")
        conditions = [random_condition(chance, 2), random_condition(chance, 2), None]
        body: dict[str, Any] = {
            "__annotations__": dict(Small.__annotations__) | {"small": str},
            "__module__": __name__,
            "state": State.OPEN,
            "flag": False,
            "number": 0,
            "kind": None,
            "note": None,
            "price": None,
            "count": 0,
        }
        body |= {f"k{at}": Keys("GSI1", f"K{at}", "{small}", when=each) for at, each in enumerate(conditions)}
        cls = _declared("Small", body, table)
        try:
            design = prove("shop", table)
        except DesignError:
            continue  # no item has one of them
        proven += 1
        db = connect("memory:", design)
        db.create_tables()
        created = []
        for at in range(40):
            values = {name: chance.choice(each) for name, each in SMALL.items()}
            created.append(db.create(cls(small=f"{at:03}", **values)))
        for at, condition in enumerate(conditions):
            query = getattr(cls, f"k{at}").query()
            found = {each.small for each in db(query)}
            model = cls.__model__
            matching = {
                each.small
                for each in created
                if condition is None
                or design_predicate(model, condition)(
                    encode_attributes(model, {name: getattr(each, name) for name in SMALL})
                )
            }
            assert found <= matching
            if not read_text(query):
                assert found == matching, (seed, at)
    assert proven > 10


def test_earlier_keys_of_the_same_read_are_not_said() -> None:
    table = shop("GSI1")

    class Note(Entity, table=table, key=("NOTE#{note}", "NOTE")):
        note: str
        pinned: bool = False

        first = Keys("GSI1", "NOTES", "0#{note}", when=F.pinned == True)  # noqa: E712
        then = Keys("GSI1", "NOTES", "1#{note}")

    assert read_text(collection(Note.first, Note.then)()) == []
    assert len(read_text(Note.then.query())) == 1
