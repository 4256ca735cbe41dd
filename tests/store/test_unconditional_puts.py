"""Compressed attributes are also read where other code has stored them uncompressed."""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import pytest

from partita import Compressed, Entity, Item, Store, Table, connect, pattern
from partita.dynamodb.requests import PutItem

recipes = Table("recipes", pk="PK", sk="SK")


class Recipe(Entity, table=recipes, key=("RECIPE#{recipe_id}", "RECIPE")):
    recipe_id: str
    steps: Annotated[list[str], Compressed()]
    notes: Annotated[dict[str, str] | None, Compressed()] = None
    anything: Annotated[Any, Compressed()] = None
    pairs: Annotated[list[tuple[str, int]], Compressed()] = msgspec.field(default_factory=list)


@pattern
def recipe(recipe_id: str) -> Item[Recipe]: ...


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, recipes)
        store.create_tables()
        yield store


def test_plain_value_is_compressed_when_it_is_next_written(db: Store) -> None:
    item: dict[str, Any] = {
        "PK": {"S": "RECIPE#1"},
        "SK": {"S": "RECIPE"},
        "recipe_id": {"S": "1"},
        "steps": {"L": [{"S": "Mix."}, {"S": "Bake."}]},
        "notes": {"M": {"oven": {"S": "hot"}}},
    }
    db.backend.call(PutItem(table_name="recipes", item=item))
    found = db.one(recipe("1"))
    assert found == Recipe(recipe_id="1", steps=["Mix.", "Bake."], notes={"oven": "hot"})
    with db.change(recipe("1")) as draft:
        draft.steps = [*found.steps, "Eat."]
    assert db.one(recipe("1")).steps == ["Mix.", "Bake.", "Eat."]


def test_json_values_that_dynamodb_lacks_are_compressed(db: Store) -> None:
    made = db.create(Recipe(recipe_id="1", steps=[], anything={"a": [1, None]}, pairs=[("egg", 2)]))
    assert db.one(recipe("1")) == made


def test_compressed_null_and_absent_values_are_read(db: Store) -> None:
    db.create(Recipe(recipe_id="1", steps=[], notes={}))
    assert db.one(recipe("1")) == Recipe(recipe_id="1", steps=[], notes={})
    with db.change(recipe("1")) as draft:
        draft.notes = None
    assert db.one(recipe("1")).notes is None
