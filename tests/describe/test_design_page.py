"""The page of a design: conditions of invariants, allowed values of attributes, and examples."""

import json
import re
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import msgspec
import pytest

from partita import (
    Compressed,
    Entity,
    F,
    Index,
    InKey,
    Item,
    Keys,
    OpenEnum,
    Table,
    Transitions,
    Version,
    pattern,
    prove,
)
from partita.describe.design_page import page
from partita.describe.entity_page import EntityPages
from partita.describe.examples import example, example_item, example_of
from partita.describe.types_in_words import type_in_words, values_in_words
from partita.design.json_schema import json_schemas
from partita.store.decoding import decoder_of
from partita_systems import SYSTEMS
from tests.store.kitchen_sink_design import design

shop = Table("shop", "PK", "SK", (Index("GSI1", "GSI1PK", "GSI1SK"),), naming="camel", type_attribute="kind")


class Tier(OpenEnum):
    FREE = "FREE"
    PRO = "PRO"


class State(str, Enum):
    NEW = "new"
    SOLD = "sold"


class Size(msgspec.Struct, kw_only=True):
    high_cm: Annotated[float, msgspec.Meta(gt=0, description="measured upright", extra={"unit": "centimetres"})]
    wide_cm: float | None = None
    marks: list[str] = []


class Ware(Entity, table=shop, key=("WARE#{ware_id}", "WARE")):
    """Something to buy.

    More of it.
    """

    ware_id: Annotated[str, InKey()]
    tier: Tier = Tier.FREE
    state: Annotated[State, Transitions({State.NEW: (State.SOLD,)}, start=(State.NEW,))] = State.SOLD
    colour: Literal["red", "blue|green"]
    size: Size | None = None
    sizes: dict[str, Size] = msgspec.field(default_factory=dict)
    extra: dict[str, Any] = msgspec.field(default_factory=dict)
    steps: Annotated[list[str], msgspec.Meta(max_length=60), Compressed()] = msgspec.field(default_factory=list)
    email: Annotated[str, msgspec.Meta(pattern="^[^@]+@[^@]+$")]
    price: Decimal | None = None
    gone_at: datetime | None = None
    version: Annotated[int, Version()] = 0

    open = Keys("GSI1", "NEW#{tier}", "{ware_id}", when=(F.state == State.NEW) & F.gone_at.is_absent())


class Crate(Entity, table=shop, key=("CRATE#{crate_id}", "CRATE")):
    crate_id: str
    size: Size


@pattern
def ware(ware_id: str) -> Item[Ware]: ...


PRINTED = page(prove("shop", shop), "# Shop")


def test_invariant_is_described_with_its_condition() -> None:
    printed = page(design, "# Gallery")
    assert "sum of `price` over Work items, where `state` = published" in printed
    assert "number of Work items" in printed
    assert "- expires 30 days after `updatedAt`, where `state` = draft" in printed
    assert "- `country` and `handle` are unique together, ignoring case\n" in printed


@pytest.mark.parametrize(
    "row",
    [
        "| `wareId` | part of the key | - | stored in the key only |",
        "| `tier` | String | `FREE`, `PRO` or another text; default `FREE` | - |",
        "| `state` | String | one of `new`, `sold`; default `sold` | `new` to `sold`; starts as `new` |",
        "| `colour` | String | one of `red`, `blue\\|green` | - |",
        "| `size` | Map [`Size`](#size), optional | - | - |",
        "| `sizes` | Map of [`Size`](#size) | - | - |",
        "| `extra` | Map | - | - |",
        "| `steps` | Binary (List of String) | at most 60 elements | compressed JSON |",
        "| `email` | String | matching `^[^@]+@[^@]+$` | - |",
        "| `goneAt` | String, optional | time (ISO 8601), in UTC | - |",
        "| `highCm` | Number | above 0, measured upright, in centimetres |",
        "| `marks` | List of String | - |",
        "| `GSI1` | `GSI1PK` = `NEW#{tier}` | `GSI1SK` = `{wareId}` | `state` = new and `goneAt` is absent |",
    ],
)
def test_attribute_has_its_type_values_and_remarks(row: str) -> None:
    assert row in PRINTED.splitlines()


def test_struct_is_described_once() -> None:
    assert PRINTED.count("#### Size\n") == 1


def test_docstring_of_several_lines_is_not_a_code_block() -> None:
    assert "Something to buy.\n\nMore of it.\n" in PRINTED


def test_example_has_the_keys_of_every_index_that_it_can_be_in() -> None:
    (entity,) = EntityPages().of([Ware.__model__])
    (shown,) = re.findall(r"```json\n(.*?)```", entity, re.DOTALL)
    item = json.loads(shown)
    assert list(item)[:2] == ["PK", "SK"]
    assert (item["PK"], item["GSI1PK"], item["GSI1SK"]) == ({"S": "WARE#ware-1"}, {"S": "NEW#FREE"}, {"S": "ware-1"})
    assert (item["kind"], item["version"], item["steps"]) == ({"S": "Ware"}, {"N": "1"}, {"B": "…"})
    assert item["size"]["M"]["highCm"] == {"N": "12.5"}
    assert "goneAt" not in item


@pytest.mark.parametrize("name", SYSTEMS)
def test_example_of_every_entity_reads_back_as_itself(name: str) -> None:
    for model in SYSTEMS[name].design.models:
        entity = example_of(model)
        assert decoder_of(model).from_item(example_item(model, entity)) == entity


@pytest.mark.parametrize(
    ("hint", "kind", "values"),
    [
        (set[str], "String set", ""),
        (bytes, "Binary", ""),
        (Any, "any type", ""),
        (Annotated[int, msgspec.Meta(ge=1900, le=2100)], "Number", "whole number, 1900 to 2100"),
        (
            Annotated[int, msgspec.Meta(lt=10**6, multiple_of=5)],
            "Number",
            "whole number, below 1,000,000, multiple of 5",
        ),
        (Annotated[str, msgspec.Meta(min_length=3)], "String", "at least 3 characters"),
        (dict[str, Annotated[str, msgspec.Meta(max_length=9)]], "Map of String", "each at most 9 characters"),
    ],
)
def test_type_has_its_bounds(hint: Any, kind: str, values: str) -> None:
    assert (type_in_words(hint), values_in_words(hint)) == (kind, values)


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Annotated[str, msgspec.Meta(examples=["Milk"])], "Milk"),
        (Annotated[str, msgspec.Meta(min_length=8)], "thing..."),
        (Annotated[int, msgspec.Meta(ge=1900, le=2100)], 2025),
        (Annotated[float, msgspec.Meta(ge=0, le=1)], 0.5),
        (Literal["b", "a"], "a"),
        (Annotated[int, msgspec.Meta(ge=3, le=5)], 3),
        (Annotated[int, msgspec.Meta(gt=3, lt=5)], 4),
    ],
)
def test_example_is_within_its_bounds(hint: Any, value: Any) -> None:
    (schema,), components, _ = json_schemas([hint], "#/{name}")
    assert example(schema, components, "thing") == value


@pytest.mark.parametrize(
    ("schema", "name", "value"),
    [
        ({"type": "string"}, "authorId", "author-1"),
        ({"type": "string"}, "author_ids", "author-1"),
        ({"type": "string"}, "userid", "user-1"),
        ({"type": "string"}, "closedBy", "user-1"),
        ({"type": "string"}, "displayName", "display name"),
        ({"type": "string", "maxLength": 7}, "displayName", "display"),
        ({"type": "string", "pattern": "^[A-Z]+$"}, "code", "ANA"),
        ({"type": "string"}, "avatar_url", "https://example.com/"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "counts", {"name": 1}),
        ({"type": "object"}, "config", {}),
        ({"type": "object", "title": "Card", "properties": {"id": {"type": "string"}}}, "card", {"id": "card-1"}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 7}, "count", 7),
        ({"type": "string", "contentEncoding": "base64"}, "image", "Ynl0ZXM="),
        ({}, "extra", "anything"),
    ],
)
def test_example_follows_from_the_schema_and_the_name(schema: Any, name: str, value: Any) -> None:
    assert example(schema, {}, name) == value


def test_entity_whose_rule_rejects_the_examples_has_a_page_without_one() -> None:
    class Stay(Entity, table=Table("stays", pk="PK", sk="SK"), key=("STAY#{stay}", "STAY")):
        stay: str
        begin: int
        end: int

        def __post_init__(self) -> None:
            if self.begin >= self.end:
                raise ValueError("a stay ends after it begins")

    (described,) = EntityPages().of([Stay.__model__])
    assert "STAY#{stay}" in described
    assert "Example" not in described
