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
    F,
    Index,
    InKey,
    Items,
    Keys,
    StoredAs,
    Table,
    Unique,
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


def one_table() -> Table:
    return Table("ones", pk="PK", indexes=(Index("ByFirst", "first", "PK"), Index("BySecond", "second", "PK")))


class First(View):
    one_id: str
    size: int = 1

    def label(self) -> str:
        return "first"


class Larger(View):
    one_id: str
    size: int = 2
    weight: int = 0

    def label(self) -> str:
        return "larger"


def test_names_and_defaults_are_those_of_the_view_that_python_finds_first() -> None:
    class OfFirst(First, Larger, Entity, table=one_table(), key="ONE#{one_id}"): ...

    class OfLarger(Larger, First, Entity, table=one_table(), key="ONE#{one_id}"): ...

    assert (OfFirst(one_id="1").label(), OfFirst(one_id="1").size) == ("first", 1)
    assert (OfLarger(one_id="1").label(), OfLarger(one_id="1").size) == ("larger", 2)


def test_field_that_the_first_view_requires_is_required() -> None:
    class Required(View):
        one_id: str
        size: int

    class Sized(Required, Larger, Entity, table=one_table(), key="ONE#{one_id}"): ...

    with pytest.raises(TypeError, match="size"):
        Sized(one_id="1")  # type: ignore[call-arg]
    assert Sized(one_id="1", size=3).size == 3


def test_every_method_of_a_view_beside_is_inherited() -> None:
    class Named:
        def name(self) -> str:
            return "named"

    class Positive(Named, View):
        one_id: str
        size: int = 1

        def __post_init__(self) -> None:
            if self.size < 0:
                raise ValueError("a size is positive")

        def __str__(self) -> str:
            return f"one {self.one_id}"

    class Both(Positive, Larger, Entity, table=one_table(), key="ONE#{one_id}"): ...

    assert (str(Both(one_id="1")), Both(one_id="1").name()) == ("one 1", "named")
    with pytest.raises(ValueError, match="positive"):
        Both(one_id="1", size=-1)


def test_views_of_a_view_that_has_several_are_read_by_their_keys() -> None:
    class ByFirst(View):
        one_id: Annotated[str, InKey()]
        first: str = "a"

        of_first = Keys("ByFirst")

    class BySecond(View):
        one_id: Annotated[str, InKey()]
        second: str = "b"

        of_second = Keys("BySecond")

    class Together(ByFirst, BySecond):
        both: bool = True

    class Beside(View):
        one_id: Annotated[str, InKey()]
        text: str = ""

    ones = one_table()

    class One(Beside, Together, BySecond, Entity, table=ones, key="ONE#{one_id}"):
        pass

    with connect("memory:", prove("ones", ones)) as db:
        db.create_tables()
        db.create(One(one_id="1"))
        assert list(db(ByFirst.of_first.query("a"))) == [ByFirst(one_id="1")]
        assert list(db(BySecond.of_second.query("b"))) == [BySecond(one_id="1")]
    one = One(one_id="1")
    assert [isinstance(one, each) for each in (ByFirst, BySecond, Together, Beside)] == [True] * 4
    assert not isinstance(ByFirst(one_id="1"), Together)


def test_declaration_that_two_views_give_the_same_name_is_rejected() -> None:
    class ByFirst(View):
        one_id: str
        first: str = "a"

        found = Keys("ByFirst")
        once = Unique("first")

    class BySecond(View):
        one_id: str
        second: str = "a"
        third: str = "a"

        found = Keys("BySecond")

    class Uniques(View):
        one_id: str
        third: str = "a"

        once = Unique("third")

    with pytest.raises(
        DesignError, match=r"^One.found: ByFirst and BySecond declare it, and one of them would be lost"
    ):

        class One(ByFirst, BySecond, Entity, table=one_table(), key="ONE#{one_id}"): ...

    with pytest.raises(DesignError, match=r"^Two.once: Uniques and ByFirst declare it, and one of them would be lost"):

        class Two(Uniques, ByFirst, Entity, table=one_table(), key="ONE#{one_id}"): ...


def test_view_beside_that_calls_super_is_rejected() -> None:
    class Calling(View):
        one_id: str

        @property
        def text(self) -> str:
            return super().__repr__()

    with pytest.raises(DesignError, match=r"^Calling.text: it calls super\(\), and One has another view as its base"):

        class One(Calling, Larger, Entity, table=one_table(), key="ONE#{one_id}"): ...


def test_keys_of_a_view_that_its_entity_replaces_are_rejected_where_they_are_read() -> None:
    class ByFirst(View):
        one_id: str
        first: str = "a"
        second: str = "b"

        found = Keys("ByFirst")

    class One(ByFirst, Entity, table=one_table(), key="ONE#{one_id}"):
        found = Keys("BySecond")

    with pytest.raises(DesignError, match=r"^ByFirst: One declares other Keys of this name; read One's Keys"):
        print(ByFirst.found)


def test_field_that_the_entity_declares_as_text_is_compared_by_its_type() -> None:
    source = """
from __future__ import annotations
class One(First, Larger, Entity, table=one_table(), key="ONE#{one_id}"):
    size: int = 9
"""
    names: dict[str, Any] = {**globals(), "__name__": __name__}
    exec(source, names)  # noqa: S102 - the source is ours
    assert names["One"](one_id="1").size == 9


def test_views_beside_each_other_may_have_the_same_keys_in_one_index() -> None:
    ones = Table("ones", pk="PK", indexes=(Index("ByFirst", "first", "PK"), Index("GSI1", "GSI1PK", "GSI1SK")))

    class Short(View):
        one_id: Annotated[str, InKey()]
        first: str

        by_first = Keys("ByFirst")
        listed = Keys("GSI1", "ALL", "{first}#{one_id}", when=F.first != "z")

    class Long(View):
        one_id: Annotated[str, InKey()]
        first: str
        text: str = "long"
        more: str = "more"

        long_by_first = Keys("ByFirst")
        long_listed = Keys("GSI1", "ALL", "{first}#{one_id}", when=F.first != "z")

    class One(Short, Long, Entity, table=ones, key="ONE#{one_id}"): ...

    with connect("memory:", prove("ones", ones)) as db:
        db.create_tables()
        db.create(One(one_id="1", first="a"))
        db.create(One(one_id="2", first="z"))
        short, long = Short(one_id="1", first="a"), Long(one_id="1", first="a")
        assert list(db(Short.by_first.query("a"))) == list(db(Short.listed)) == [short]
        assert list(db(Long.long_by_first.query("a"))) == list(db(Long.long_listed)) == [long]


class Short(View):
    one_id: str

    def __post_init__(self) -> None:
        if len(self.one_id) > 3:
            raise ValueError("it is too long")


class Shouted(View):
    one_id: str
    second: str = "B"

    def __post_init__(self) -> None:
        if not self.second.isupper():
            raise ValueError("it is too quiet")


def test_rules_of_two_views_of_which_one_would_not_be_called_are_rejected() -> None:
    wrong = r"^One.__post_init__: Short and Shouted have it, .* write one in One that calls both$"
    with pytest.raises(DesignError, match=wrong):

        class One(Short, Shouted, Entity, table=one_table(), key="ONE#{one_id}"): ...


def test_entity_with_a_rule_of_its_own_decides_what_it_calls() -> None:
    class One(Short, Shouted, Entity, table=one_table(), key="ONE#{one_id}"):
        def __post_init__(self) -> None:
            Short.__post_init__(self)
            Shouted.__post_init__(self)

    with pytest.raises(ValueError, match="too long"):
        One(one_id="1234")
    with pytest.raises(ValueError, match="too quiet"):
        One(one_id="1", second="b")
