"""Global indexes of a table in use: created, backfilled across restarts, deleted; and composite keys."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from partita.dynamodb import requests as q
from partita.dynamodb.exceptions import (
    LimitExceededException,
    ResourceNotFoundException,
    ValidationException,
)
from partita.dynamodb.shapes import (
    AttributeDefinition,
    DeleteIndexAction,
    IndexUpdate,
    KeySchemaElement,
    Projection,
    ProvisionedThroughput,
    SecondaryIndex,
    TableDescription,
    UpdateIndexAction,
)
from partita.dynamodb.values import Item
from partita.engine.backfill import BATCH
from partita.engine.engine import Engine
from tests.engine.shorthand import open_engine

MANY = BATCH * 2 + 7


def definitions(**types: str) -> list[AttributeDefinition]:
    return [AttributeDefinition(attribute_name=name, attribute_type=kind) for name, kind in types.items()]


def schema(*elements: str) -> list[KeySchemaElement]:
    """`schema("a:HASH", "b:RANGE")`."""
    pairs = (element.split(":") for element in elements)
    return [KeySchemaElement(attribute_name=name, key_type=kind) for name, kind in pairs]


def index(name: str, *elements: str) -> SecondaryIndex:
    return SecondaryIndex(index_name=name, key_schema=schema(*elements), projection=Projection(projection_type="ALL"))


def make_table(engine: Engine, indexes: list[SecondaryIndex] | None = None, **types: str) -> None:
    engine.call(
        q.CreateTable(
            table_name="notes",
            attribute_definitions=definitions(pk="S", **types),
            key_schema=schema("pk:HASH"),
            billing_mode="PAY_PER_REQUEST",
            global_secondary_indexes=indexes,
        )
    )


def add(engine: Engine, made: SecondaryIndex, **types: str) -> TableDescription:
    updates = [IndexUpdate(create=made)]
    return update(engine, updates, definitions(**types))


def remove(engine: Engine, name: str) -> TableDescription:
    return update(engine, [IndexUpdate(delete=DeleteIndexAction(index_name=name))], None)


def update(
    engine: Engine, updates: list[IndexUpdate], attributes: list[AttributeDefinition] | None
) -> TableDescription:
    reply = engine.call(
        q.UpdateTable(table_name="notes", attribute_definitions=attributes, global_secondary_index_updates=updates)
    )
    assert reply.table_description is not None
    return reply.table_description


def states(described: TableDescription | None) -> dict[str | None, tuple[str | None, bool | None]]:
    assert described is not None
    indexes = described.global_secondary_indexes or []
    return {each.index_name: (each.index_status, each.backfilling) for each in indexes}


def describe(engine: Engine) -> TableDescription:
    described = engine.call(q.DescribeTable(table_name="notes")).table
    assert described is not None
    return described


def put(engine: Engine, **item: str) -> None:
    engine.call(q.PutItem(table_name="notes", item={name: {"S": text} for name, text in item.items()}))


def in_index(engine: Engine, name: str = "by_group") -> int:
    return engine.call(q.Scan(table_name="notes", index_name=name, select="COUNT", limit=100_000)).count or 0


@pytest.fixture
def engine() -> Iterator[Engine]:
    with open_engine("memory:") as opened:
        yield opened


def test_index_of_a_small_table_is_active_after_its_creation(engine: Engine) -> None:
    make_table(engine)
    put(engine, pk="1", group="a")
    put(engine, pk="2")
    described = add(engine, index("by_group", "group:HASH"), group="S")
    assert described.table_status == "UPDATING"
    assert states(described) == {"by_group": ("CREATING", False)}
    assert describe(engine).table_status == "ACTIVE"
    assert states(describe(engine)) == {"by_group": ("ACTIVE", None)}
    assert in_index(engine) == 1


def test_backfill_is_described_and_survives_a_restart(tmp_path: Path) -> None:
    def opened() -> Engine:
        return open_engine(str(tmp_path / "notes.db"))

    with opened() as engine:
        make_table(engine)
        for number in range(MANY):
            put(engine, pk=str(number), group="a")
        add(engine, index("by_group", "group:HASH"), group="S")
        assert states(describe(engine)) == {"by_group": ("CREATING", True)}
        with pytest.raises(ValidationException, match="Cannot read from backfilling global secondary index: by_group"):
            in_index(engine)
    with opened() as engine:
        assert states(describe(engine)) == {"by_group": ("CREATING", True)}
        engine.call(q.DeleteItem(table_name="notes", key={"pk": {"S": "0"}}))
        put(engine, pk="new", group="a")
        while engine.maintenance.step():
            pass
    with opened() as engine:
        assert states(describe(engine)) == {"by_group": ("ACTIVE", None)}
        assert in_index(engine) == MANY
        shown = (describe(engine).global_secondary_indexes or [])[0]
        assert shown.item_count == MANY


def test_one_index_is_created_at_a_time_and_can_be_deleted_during_backfill(engine: Engine) -> None:
    make_table(engine)
    for number in range(MANY):
        put(engine, pk=str(number), group="a")
    add(engine, index("by_group", "group:HASH"), group="S")
    with pytest.raises(LimitExceededException, match="Only 1 online index"):
        add(engine, index("by_other", "other:HASH"), other="S")
    assert states(remove(engine, "by_group")) == {"by_group": ("DELETING", None)}
    assert describe(engine).global_secondary_indexes is None
    add(engine, index("by_other", "other:HASH"), other="S")


@pytest.mark.parametrize("redefined", ["pk", "first"])
def test_new_index_cannot_define_an_attribute_of_the_table_with_another_type(engine: Engine, redefined: str) -> None:
    make_table(engine, [index("byFirst", "first:HASH")], first="S")
    with pytest.raises(ValidationException, match=f"Attribute {redefined} is already defined with another type"):
        add(engine, index("bySecond", "second:HASH"), second="S", **{redefined: "N"})
    add(engine, index("bySecond", "second:HASH"), second="S", **{redefined: "S"})


def test_deleted_index_is_described_as_deleting_and_then_gone(engine: Engine) -> None:
    make_table(engine, [index("by_group", "group:HASH"), index("by_other", "other:HASH")], group="S", other="S")
    assert states(remove(engine, "by_group")) == {"by_other": ("ACTIVE", None), "by_group": ("DELETING", None)}
    assert states(describe(engine)) == {"by_other": ("ACTIVE", None)}
    assert describe(engine).attribute_definitions == definitions(pk="S", other="S")


@pytest.mark.parametrize("value", [{"N": "1"}, {"L": []}, {"S": ""}, {"S": "x" * 2049}, {"NULL": True}])
def test_item_with_an_invalid_key_value_stays_out_of_a_new_index(engine: Engine, value: Item) -> None:
    make_table(engine)
    engine.call(q.PutItem(table_name="notes", item={"pk": {"S": "odd"}, "group": value}))
    put(engine, pk="even", group="a")
    add(engine, index("by_group", "group:HASH"), group="S")
    assert in_index(engine) == 1
    engine.call(q.DeleteItem(table_name="notes", key={"pk": {"S": "odd"}}))
    assert (describe(engine).global_secondary_indexes or [])[0].item_count == 1


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda e: remove(e, "nothing"), ResourceNotFoundException, "Index: nothing not found"),
        (lambda e: add(e, index("by_group", "group:HASH"), group="S"), ValidationException, "already exists"),
        (lambda e: add(e, index("by_none", "none:HASH")), ValidationException, "not defined in AttributeDefinitions"),
        (lambda e: update(e, [IndexUpdate()], None), ValidationException, "must not be null"),
        (
            lambda e: update(
                e,
                [
                    IndexUpdate(
                        update=UpdateIndexAction(
                            index_name="by_group",
                            provisioned_throughput=ProvisionedThroughput(read_capacity_units=1, write_capacity_units=1),
                        )
                    )
                ],
                None,
            ),
            ValidationException,
            "when BillingMode is PAY_PER_REQUEST",
        ),
    ],
)
def test_invalid_index_update_is_rejected(
    engine: Engine, ask: Callable[[Engine], object], error: type[Exception], words: str
) -> None:
    make_table(engine, [index("by_group", "group:HASH")], group="S")
    with pytest.raises(error, match=words):
        ask(engine)


# Keys of several attributes -------------------------------------------------------------------------------------

WIDE = ("t:HASH", "r:HASH", "round:RANGE", "score:RANGE", "name:RANGE")
TYPES = {"t": "S", "r": "S", "round": "S", "score": "N", "name": "S"}


@pytest.fixture
def matches(engine: Engine) -> Engine:
    """Matches by tournament and region, sorted by round, score (a number) and name."""
    make_table(engine, [index("wide", *WIDE)], **TYPES)
    for number, (round_, score, name) in enumerate(
        [("final", "9", "b"), ("final", "10", "a"), ("final", "10", "b"), ("semi", "-1", "c"), ("semi", "2", "d")]
    ):
        item = {"pk": {"S": str(number)}, "t": {"S": "T"}, "r": {"S": "R"}, "round": {"S": round_}}
        engine.call(q.PutItem(table_name="notes", item=item | {"score": {"N": score}, "name": {"S": name}}))
    put(engine, pk="sparse", t="T", r="R", round="final")
    return engine


def query(engine: Engine, condition: str, **values: str | int) -> list[str]:
    names = {f"#{name}": name for name in TYPES if f"#{name} " in condition + " "}
    reply = engine.call(
        q.Query(
            table_name="notes",
            index_name="wide",
            key_condition_expression=condition,
            expression_attribute_names=names or None,
            expression_attribute_values={
                f":{name}": {"S": value} if isinstance(value, str) else {"N": str(value)}
                for name, value in values.items()
            },
        )
    )
    return [msgspec.json.decode(item)["pk"]["S"] for item in reply.items or []]


FIXED = "t = :t AND r = :r"


@pytest.mark.parametrize(
    ("condition", "values", "found"),
    [
        ("", {}, ["0", "1", "2", "3", "4"]),
        (" AND #round = :a", {"a": "final"}, ["0", "1", "2"]),
        (" AND begins_with(#round , :a)", {"a": "se"}, ["3", "4"]),
        (" AND #round = :a AND score > :b", {"a": "final", "b": 9}, ["1", "2"]),
        (" AND #round = :a AND score BETWEEN :b AND :c", {"a": "semi", "b": -5, "c": 1}, ["3"]),
        (" AND #round = :a AND score = :b AND #name = :c", {"a": "final", "b": 10, "c": "b"}, ["2"]),
    ],
)
def test_query_of_a_composite_key_compares_each_attribute_by_its_type(
    matches: Engine, condition: str, values: dict[str, str | int], found: list[str]
) -> None:
    assert query(matches, FIXED + condition, t="T", r="R", **values) == found


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("t = :v", "HASH key attributes r must have equality conditions specified in the query"),
        ("t = :v AND r > :v", "HASH key attributes r must have equality conditions specified in the query"),
        (
            "t = :v AND r = :v AND #name = :v",
            (
                "RANGE key attributes round, score must have equality conditions specified in the query "
                "because a condition is present on key attribute name"
            ),
        ),
        (
            "t = :v AND r = :v AND #round > :v AND score = :n",
            (
                "RANGE key attributes round must have equality conditions specified in the query "
                "because a condition is present on key attribute score"
            ),
        ),
        ("t = :v AND r = :v AND elsewhere = :v", "Query condition missed key schema element: round"),
        ("t = :v AND r = :v AND #round = :n", "Condition parameter type does not match schema type"),
    ],
)
def test_query_with_a_gap_in_a_composite_key_is_rejected(matches: Engine, condition: str, words: str) -> None:
    values: dict[str, str | int] = {"v": "x", "n": 1}
    given = {name: value for name, value in values.items() if f":{name}" in condition}
    with pytest.raises(ValidationException, match=words):
        query(matches, condition, **given)


@pytest.mark.parametrize(
    ("elements", "words"),
    [
        ("a:HASH b:HASH c:HASH d:HASH e:HASH", "Too many partition keys. GSI can have at most 4 partition keys"),
        ("a:HASH b:RANGE c:RANGE d:RANGE e:RANGE f:RANGE", "Too many sort keys. GSI can have at most 4 sort keys"),
        ("a:HASH b:RANGE c:HASH", "HASH attributes before"),
        ("a:HASH b:HASH a:RANGE", "Duplicate"),
    ],
)
def test_invalid_composite_key_is_rejected(engine: Engine, elements: str, words: str) -> None:
    types = {element[0]: "S" for element in elements.split()}
    with pytest.raises(ValidationException, match=words):
        make_table(engine, [index("wide", *elements.split())], **types)


def test_composite_key_size_is_limited_as_a_whole(engine: Engine) -> None:
    make_table(engine, [index("wide", "a:HASH", "b:HASH", "c:RANGE", "d:RANGE")], a="S", b="S", c="S", d="S")
    with pytest.raises(
        ValidationException,
        match="Aggregate size for HASH key attributes a, b of index wide has exceeded limit 2048 bytes, "
        "with actual size 3000 bytes",
    ):
        put(engine, pk="1", a="x" * 1500, b="x" * 1500)
    with pytest.raises(ValidationException, match="RANGE key attributes c, d"):
        put(engine, pk="1", a="x", b="x", c="x" * 1000, d="x" * 1000)
