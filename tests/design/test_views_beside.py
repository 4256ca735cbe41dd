"""Several views of one entity that do not contain each other."""

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    AUTO,
    CreatedAt,
    DesignError,
    Entity,
    Index,
    InKey,
    Items,
    Keys,
    StoredAs,
    Table,
    View,
    connect,
    pattern,
    prove,
)
from partita.dynamodb.requests import Scan

AT = datetime(2025, 1, 1, tzinfo=UTC)
table = Table(
    "parts",
    pk="PK",
    sk="SK",
    naming="camel",
    indexes=(
        Index("ByCategory", "catPK", "catSK", project=("partId", "title")),
        Index("ByPrice", "pricePK", "priceSK", project=("partId", "price", "madeAt")),
    ),
)


class Identified(View, naming="camel"):
    part_id: str


class Listed(Identified, naming="camel"):
    title: str = "untitled"

    by_category = Keys("ByCategory", "CATEGORY", "{part_id}")

    def heading(self) -> str:
        return f"{self.part_id}: {self.title}"


class Priced(Identified, naming="camel"):
    price: Annotated[int, StoredAs("price")] = 0
    made_at: Annotated[datetime, CreatedAt()] = AUTO
    tags: list[str] = msgspec.field(default_factory=list[str])

    by_price = Keys("ByPrice", "PRICE", "{price:8}#{part_id}")

    @property
    def is_free(self) -> bool:
        return self.price == 0


class Price(View, naming="camel"):
    """Neither contains the others."""

    part_id: str
    price: Annotated[int, StoredAs("price")] = 0
    made_at: Annotated[datetime, CreatedAt()] = AUTO

    cheapest = Keys("ByPrice", "PRICE", "{price:8}#{part_id}")


class Part(Listed, Price, Entity, table=table, key=("PART#{part_id}", "PART")):
    text: str = ""


@pattern(Listed.by_category)
def parts() -> Items[Listed]: ...


@pattern(Price.cheapest.smallest_first("price"))
def prices() -> Items[Price]: ...


design = prove("parts", table)


def test_views_that_do_not_nest_are_read_by_their_own_keys() -> None:
    with connect("memory:", design, clock=lambda: AT) as db:
        db.create_tables()
        db.create(Part(part_id="p1", title="Bolt", price=5, text="long"))
        db.create(Part(part_id="p2", price=3))
        assert list(db(parts())) == [Listed(part_id="p1", title="Bolt"), Listed(part_id="p2")]
        assert list(db(prices())) == [
            Price(part_id="p2", price=3, made_at=AT),
            Price(part_id="p1", price=5, made_at=AT),
        ]


def test_entity_has_the_fields_defaults_methods_and_keys_of_all_views() -> None:
    class Everything(
        Listed, Priced, Entity, table=Table("every", pk="PK", indexes=table.indexes, naming="camel"), key="P#{part_id}"
    ):
        text: str = ""

    one = Everything(part_id="p1")
    assert (one.title, one.price, one.tags, one.text) == ("untitled", 0, [], "")
    assert (one.heading(), one.is_free) == ("p1: untitled", True)
    assert set(Everything.__model__.indexes) == {"ByCategory", "ByPrice"}


def test_entity_is_an_instance_of_all_of_its_views() -> None:
    part = Part(part_id="p1")
    assert [isinstance(part, each) for each in (Part, Listed, Price, Identified, View, Entity)] == [True] * 6
    assert [issubclass(Part, each) for each in (Listed, Price, Identified)] == [True] * 3
    assert not isinstance(Price(part_id="p1"), Part)
    assert not isinstance(part, Priced)


def test_field_that_views_declare_differently_is_rejected() -> None:
    class Counted(View, naming="camel"):
        part_id: int

    with pytest.raises(
        DesignError, match=r"^Wrong.part_id: Counted declares it as int, and another of its bases does not"
    ):

        class Wrong(Listed, Counted, Entity, table=table, key=("WRONG#{part_id}", "WRONG")):  # type: ignore[misc]
            pass


def test_view_with_another_naming_is_rejected() -> None:
    class Snake(View):
        made_by: str = ""

    with pytest.raises(DesignError, match=r"^Snake.made_by: its name is 'made_by' in the view, and 'madeBy' in Camel"):

        class Camel(Listed, Snake, Entity, table=table, key=("CAMEL#{part_id}", "CAMEL")):
            pass


@pytest.mark.parametrize(
    ("naming", "expected"),
    [
        ("snake", "check_limit"),
        ("camel", "checkLimit"),
        ("pascal", "CheckLimit"),
        (lambda name: f"a.{name}", "a.check_limit"),
    ],
)
def test_attributes_are_stored_by_their_naming(naming: Any, expected: str) -> None:
    checks = Table("checks", pk="PK", naming=naming)

    class Inner(msgspec.Struct):
        check_limit: int = 2

    class Check(Entity, table=checks, key="CHECK#{check_id}"):
        check_id: Annotated[str, InKey()]
        check_limit: int = 1
        inner: Inner = msgspec.field(default_factory=Inner)

    with connect("memory:", prove("checks", checks)) as db:
        db.create_tables()
        db.create(Check(check_id="c"))
        stored = msgspec.json.decode((db.backend.call(Scan(table_name="checks")).items or [])[0])
        assert stored[expected] == {"N": "1"}
        assert next(iter(db.scan(Check))) == Check(check_id="c")
        (inner,) = [each for name, each in stored.items() if "M" in each]
        assert inner["M"] == {expected: {"N": "2"}}


@pytest.mark.parametrize("naming", ["kebab", 5, lambda name: None, lambda name: ""])
def test_naming_that_gives_no_names_is_rejected(naming: Any) -> None:
    with pytest.raises(DesignError, match="naming"):

        class Thing(Entity, table=Table("things", pk="PK", naming=naming), key="T#{thing_id}"):
            thing_id: str
