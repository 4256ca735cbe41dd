"""A design's own document says what holds, and while what; what values may be; and what an item looks like."""

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
from partita.describe.samples import example_item, example_of, sample
from partita.describe.types_in_words import type_in_words, values_in_words
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


def test_a_promise_with_a_condition_is_told_with_it() -> None:
    told = page(design, "# Gallery")
    assert "sums `price` of Work, while `state` = published, exactly" in told
    assert "counts Work, exactly" in told
    assert "- expires 30 days after `updatedAt`, while `state` = draft" in told
    assert "- `country` and `handle`: no two items hold the same, compared without case\n" in told


@pytest.mark.parametrize(
    "row",
    [
        "| `wareId` | in the key | - | read back from the key |",
        "| `tier` | String | `FREE`, `PRO`; others are read too; `FREE` if absent | - |",
        "| `state` | String | `new`, `sold`; `sold` if absent | `new` to `sold`; begins as `new` |",
        "| `colour` | String | `red`, `blue\\|green` | - |",
        "| `size` | Map [`Size`](#size), optional | - | - |",
        "| `sizes` | Map of [`Size`](#size) | - | - |",
        "| `extra` | Map, open | - | - |",
        "| `steps` | Binary (List of String) | at most 60 | compressed JSON |",
        "| `email` | String | `^[^@]+@[^@]+$` | - |",
        "| `goneAt` | String, optional | time in UTC, ISO 8601 | - |",
        "| `highCm` | Number | above 0, measured upright, in centimetres |",
        "| `marks` | List of String | - |",
        "| `GSI1` | `GSI1PK` = `NEW#{tier}` | `GSI1SK` = `{wareId}` | `state` = new and `goneAt` is absent |",
    ],
)
def test_table_says_what_an_attribute_holds(row: str) -> None:
    assert row in PRINTED.splitlines()


def test_struct_is_told_once() -> None:
    assert PRINTED.count("#### Size\n") == 1


def test_docstring_of_several_lines_is_no_code_block() -> None:
    assert "Something to buy.\n\nMore of it.\n" in PRINTED


def test_example_has_the_keys_of_every_index_that_it_can_be_in() -> None:
    (entity,) = EntityPages().of([Ware.__model__])
    (shown,) = re.findall(r"```json\n(.*?)```", entity, re.DOTALL)
    item = json.loads(shown)
    assert list(item)[:2] == ["PK", "SK"]
    assert (item["PK"], item["GSI1PK"], item["GSI1SK"]) == ({"S": "WARE#ware-1"}, {"S": "NEW#FREE"}, {"S": "ware-1"})
    assert (item["kind"], item["version"], item["steps"]) == ({"S": "Ware"}, {"N": "1"}, {"B": "…"})
    assert item["size"]["M"]["highCm"] == {"N": "1.5"}
    assert "goneAt" not in item


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_example_of_the_systems_is_read_as_what_it_is_an_example_of(name: str) -> None:
    for model in SYSTEMS[name].design.models:
        entity = example_of(model)
        assert decoder_of(model).from_item(example_item(model, entity)) == entity


@pytest.mark.parametrize(
    ("hint", "kind", "values"),
    [
        (set[str], "String set", ""),
        (bytes, "Binary", ""),
        (Any, "anything", ""),
        (Annotated[int, msgspec.Meta(ge=1900, le=2100)], "Number", "whole, 1900 to 2100"),
        (Annotated[int, msgspec.Meta(lt=10**6, multiple_of=5)], "Number", "whole, below 1,000,000, a multiple of 5"),
        (Annotated[str, msgspec.Meta(min_length=3)], "String", "at least 3 characters"),
        (dict[str, Annotated[str, msgspec.Meta(max_length=9)]], "Map of String", "each at most 9 characters"),
    ],
)
def test_type_is_told_with_its_bounds(hint: Any, kind: str, values: str) -> None:
    assert (type_in_words(hint), values_in_words(hint)) == (kind, values)


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Annotated[str, msgspec.Meta(examples=["Milk"])], "Milk"),
        (Annotated[str, msgspec.Meta(min_length=8)], "thing..."),
        (Annotated[int, msgspec.Meta(ge=1900, le=2100)], 2025),
        (Annotated[float, msgspec.Meta(ge=0, le=1)], 0.5),
        (Literal["b", "a"], "b"),
        (Annotated[int, msgspec.Meta(ge=3, le=5)], 3),
        (Annotated[int, msgspec.Meta(gt=3, lt=5)], 4),
    ],
)
def test_sample_is_within_its_bounds(hint: Any, value: Any) -> None:
    assert sample(hint, "thing") == value
