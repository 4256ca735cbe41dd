"""Invalid declarations are rejected when the module is imported, with a suggestion of what to write instead."""

import enum
from collections.abc import Callable
from datetime import date, datetime
from types import new_class
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    Compressed,
    DesignError,
    Entity,
    Expires,
    F,
    Index,
    InKey,
    Item,
    Items,
    Keys,
    Limit,
    Owns,
    Pattern,
    StoredAs,
    Table,
    Unique,
    View,
    collection,
    get,
    pattern,
    prove,
    query,
)
from partita.design.models import model_of
from partita.design.reads import Argument
from partita.errors import ConfigurationError


class Colour(str, enum.Enum):
    RED = "red"


def table(*indexes: Index, **settings: Any) -> Table:
    return Table("things", pk="PK", sk="SK", indexes=indexes, **settings)


def no_table() -> None:
    class Thing(Entity):
        thing_id: str


def one_template() -> None:
    class Thing(Entity, table=table(), key="THING#{thing_id}"):
        thing_id: str


def unknown_index() -> None:
    class Thing(Entity, table=table(Index("GSI1", "A", "B")), key=("T#{thing_id}", "T")):
        thing_id: str
        by_name = Keys("GSI9", "{thing_id}", "X")


def unfilled_index() -> None:
    class Thing(Entity, table=table(Index("GSI1", "A", "B")), key=("T#{thing_id}", "T")):
        thing_id: str
        by_name = Keys("GSI1", "{thing_id}")


def key_over_attribute() -> None:
    class Thing(Entity, table=table(Index("GSI1", "status", "B")), key=("T#{thing_id}", "T")):
        thing_id: str
        status: str
        by_name = Keys("GSI1", "{thing_id}", "X")


def list_as_key() -> None:
    class Thing(Entity, table=table(Index("GSI1", "tags")), key=("T#{thing_id}", "T")):
        thing_id: str
        tags: list[str]
        by_tags = Keys("GSI1")


def optional_key() -> None:
    class Thing(Entity, table=table(), key=("T#{thing_id}", "T")):
        thing_id: str | None


def in_key_of_nothing() -> None:
    class Thing(Entity, table=table(), key=("T#{thing_id}", "T")):
        thing_id: str
        name: Annotated[str, InKey()]


def unknown_in_condition() -> None:
    class Thing(Entity, table=table(Index("GSI1", "A")), key=("T#{thing_id}", "T")):
        thing_id: str
        by_name = Keys("GSI1", "{thing_id}", when=F.colour == "red")


def in_key_in_condition() -> None:
    class Thing(Entity, table=table(Index("GSI1", "A")), key=("T#{thing_id}", "T")):
        thing_id: Annotated[str, InKey()]
        by_name = Keys("GSI1", "{thing_id}", when=F.thing_id == "x")


def an_index_of_five_attributes() -> None:
    Index("GSI1", ("a", "b", "c", "d", "e"))


def unknown_in_limit() -> None:
    class Thing(Entity, table=table(), key=("T#{thing_id}", "T")):
        thing_id: str
        bound = Limit(F.count <= 3)


def unknown_in_unique() -> None:
    class Thing(Entity, table=table(), key=("T#{thing_id}", "T")):
        thing_id: str
        once = Unique("thing_id", "colour")


def expires_without_ttl() -> None:
    class Thing(Entity, table=table(), key=("T#{thing_id}", "T")):
        thing_id: str
        at: datetime
        kept = Expires("at")


def same_name_twice() -> None:
    class Thing(Entity, table=table(), key=("T#{thing_id}", "T")):
        thing_id: str
        name: Annotated[str, StoredAs("thing_id")]


def a_type_without_form() -> None:
    class Thing(Entity, table=table(), key=("T#{thing_id}", "T")):
        thing_id: str
        size: complex


def a_set_of_sets() -> None:
    class Thing(Entity, table=table(), key=("T#{thing_id}", "T")):
        thing_id: str
        sizes: set[frozenset[str]]


def unknown_naming() -> None:
    table(naming="shouting")


def an_index_name_with_a_space() -> None:
    Index("Email Index", "email")


def a_short_table_name() -> None:
    Table("t", pk="PK")


def two_indexes_of_one_name() -> None:
    table(Index("GSI1", "A"), Index("GSI1", "B"))


class Huge(enum.IntEnum):
    ONE = 2**64


def an_enum_beyond_64_bits() -> None:
    class Thing(Entity, table=table(), key=("THING#{thing_id}", "THING")):
        thing_id: str
        sizes: dict[str, list[Huge]]


ATTRIBUTES = "the attributes are thing_id"


@pytest.mark.parametrize(
    ("declare", "said"),
    [
        (no_table, "Thing: it has no table; write class Thing(Entity, table=..., key=...)"),
        (
            one_template,
            ("Thing: 1 template for the key PK, SK of table 'things'; write one template for each attribute"),
        ),
        (unknown_index, "Thing: table 'things' has no index 'GSI9'; its indexes are GSI1"),
        (
            unfilled_index,
            (
                "Thing.GSI1.B: the key attribute 'B' has no template, and no attribute has this name; write a "
                "template for it, or add an attribute of this name"
            ),
        ),
        (
            key_over_attribute,
            (
                "Thing.GSI1.status: an attribute is already stored as 'status'; leave the template "
                "out to use that attribute as the key, or rename it with StoredAs"
            ),
        ),
        (
            list_as_key,
            ("Thing.GSI1.tags: 'tags' is stored as L, which cannot be a key; use text, a number or bytes"),
        ),
        (
            optional_key,
            (
                "Thing.thing_id: it is part of the table's key and cannot be None; remove `| None`, or write "
                "{thing_id?} as the last part, before which the key may end"
            ),
        ),
        (
            in_key_of_nothing,
            (
                "Thing.name: it is marked InKey, but no key template holds its whole value; remove InKey, "
                "or add it to the key"
            ),
        ),
        (unknown_in_condition, f"Thing.GSI1: Thing has no attribute 'colour'; {ATTRIBUTES}"),
        (
            in_key_in_condition,
            (
                "Thing.GSI1: a condition names 'thing_id', which is stored in the key only; remove "
                "InKey, or leave it out of the condition"
            ),
        ),
        (
            an_index_of_five_attributes,
            "Index GSI1: an index has at most 4 partition and 4 sort attributes",
        ),
        (unknown_in_limit, f"Thing: Thing has no attribute 'count'; {ATTRIBUTES}"),
        (unknown_in_unique, f"Thing.once: Thing has no attribute 'colour'; {ATTRIBUTES}"),
        (
            expires_without_ttl,
            ("Thing: Expires needs a TTL attribute, and table 'things' has none; write Table(..., ttl=\"TTL\")"),
        ),
        (same_name_twice, "Thing: two attributes are stored as 'thing_id'; rename one of them with StoredAs"),
        (
            a_type_without_form,
            (
                "Thing.size: <class 'complex'> cannot be stored in DynamoDB; use text, numbers, "
                "bytes, bool, times, enums, sets, lists, dicts with text keys, or structs"
            ),
        ),
        (
            a_set_of_sets,
            "Thing.sizes: a set of frozenset[str] cannot be stored; use a set of text, numbers or bytes",
        ),
        (
            an_enum_beyond_64_bits,
            "Thing.sizes: Huge has members beyond 64 bits, which cannot be validated; use smaller numbers, or texts",
        ),
        (
            unknown_naming,
            (
                "Table things: 'shouting' is not a naming of attributes; use one of camel, pascal, snake, or a "
                "function of the name"
            ),
        ),
        (
            an_index_name_with_a_space,
            ("Index Email Index: DynamoDB rejects the name; use 3 to 255 characters of a-z, A-Z, 0-9, _ - ."),
        ),
        (a_short_table_name, "Table t: DynamoDB rejects the name; use 3 to 255 characters of a-z, A-Z, 0-9, _ - ."),
        (two_indexes_of_one_name, "Table things: two indexes have the same name"),
    ],
)
def test_invalid_declaration_is_rejected_with_a_suggestion(declare: Callable[[], None], said: str) -> None:
    with pytest.raises(DesignError) as refusal:
        declare()
    assert str(refusal.value) == said


class Either(msgspec.Struct):
    members: list[int] | set[int]


def test_type_whose_values_cannot_be_validated_is_rejected() -> None:
    with pytest.raises(DesignError, match=r"Thing\.packed: values of its type cannot be validated: .*use another type"):

        class Thing(Entity, table=table(), key=("THING#{thing_id}", "THING")):
            thing_id: str
            packed: Annotated[Either, Compressed()]


# patterns -------------------------------------------------------------------------------------------------------

things = table(Index("GSI1", "GSI1PK", "GSI1SK"))


class Thing(Entity, table=things, key=("THING#{thing_id}", "THING")):
    thing_id: str
    colour: Colour
    at: datetime
    by_colour = Keys("GSI1", "COLOUR#{colour}", "{at}")


class Shared(View):
    owner: str
    of_owner = Keys("GSI1", "OWNER#{owner}", "MINE")


class Other(Shared, Entity, table=things, key=("OTHER#{owner}", "OTHER")):
    pass


class Another(Shared, Entity, table=things, key=("ANOTHER#{owner}", "ANOTHER")):
    pass


def wrong_type() -> None:
    @pattern(Thing.by_colour)
    def of_colour(colour: str) -> Items[Thing]: ...


def no_type() -> None:
    @pattern(Thing.by_colour)
    def of_colour(colour) -> Items[Thing]: ...  # type: ignore[no-untyped-def]


def unused() -> None:
    @pattern
    def of_colour(colour: Colour, name: str) -> Items[Thing]:
        return Thing.by_colour.query(colour)


def too_many() -> None:
    @pattern(Thing.by_colour)
    def of_colour(colour: Colour, at: datetime, more: str) -> Items[Thing]: ...


def too_few_for_a_get() -> None:
    @pattern
    def thing() -> Item[Thing]: ...


def looks_inside() -> None:
    @pattern
    def thing(thing_id: str) -> Item[Thing]:
        return get(Thing, thing_id.upper())


def compares() -> None:
    @pattern
    def thing(thing_id: str) -> Item[Thing]:
        return get(Thing, "first") if thing_id == "1" else get(Thing, thing_id)


def doubles() -> None:
    @pattern
    def thing(thing_id: str) -> Item[Thing]:
        return get(Thing, thing_id * 2)


def any_number() -> None:
    @pattern
    def thing(*thing_id: str) -> Item[Thing]: ...


def returns_a_number() -> None:
    @pattern
    def thing(thing_id: str) -> Item[Thing]:
        return 5  # type: ignore[return-value]


def an_empty_page() -> None:
    query(Thing).page(0)


def formats() -> None:
    @pattern
    def thing(thing_id: str) -> Item[Thing]:
        return get(Thing, f"x-{thing_id}")


def returns_nothing() -> None:
    @pattern
    def thing(thing_id: str) -> Item[Thing]:  # type: ignore[return]
        get(Thing, thing_id)


def forgets_to_return_an_index() -> None:
    @pattern
    def of_colour(colour: Colour) -> Items[Thing]:  # type: ignore[return]
        Thing.by_colour.query(colour).newest_first()


def raises() -> None:
    @pattern
    def thing(thing_id: str) -> Item[Thing]:
        raise NotImplementedError("later")


def not_sharded() -> None:
    from partita import ALL_SHARDS

    @pattern
    def of_colour() -> Items[Thing]:
        return Thing.by_colour.query(ALL_SHARDS)


def no_range_left() -> None:
    @pattern
    def of_colour(colour: Colour, at: datetime, until: datetime) -> Items[Thing]:
        return Thing.by_colour.query(colour, at).until(until)


def filter_of_nothing() -> None:
    @pattern(Thing.by_colour.where(F.size == 3))
    def of_colour(colour: Colour) -> Items[Thing]: ...


def another_name() -> None:
    @pattern(Thing.by_colour)
    def of_colour(shade: Colour) -> Items[Thing]: ...


def another_order() -> None:
    @pattern(Thing.by_colour)
    def of_colour(at: datetime, colour: Colour) -> Items[Thing]: ...


def another_result() -> None:
    @pattern(Thing.by_colour)  # type: ignore[arg-type]
    def of_colour(colour: Colour) -> Items[Other]: ...


def an_item_of_an_index() -> None:
    @pattern(Thing.by_colour)  # type: ignore[arg-type]
    def of_colour(colour: Colour) -> Item[Thing]: ...


def an_item_of_several() -> None:
    @pattern
    def thing(thing_id: str) -> Item[Thing | Other]: ...


def no_result() -> None:
    @pattern  # type: ignore[arg-type]
    def thing(thing_id: str) -> str: ...  # type: ignore[empty-body]


def said_twice() -> None:
    @pattern(Thing.by_colour)
    def of_colour(colour: Colour) -> Items[Thing]:
        return Thing.by_colour.query(colour)


def an_item_of_a_view() -> None:
    @pattern
    def shared(owner: str) -> Item[Shared]: ...


def keys_of_a_view_of_several() -> None:
    _ = Shared.of_owner


def a_view_under_other_names() -> None:
    class Plain(View):
        made_by: str

    class Camel(Plain, Entity, table=table(naming="camel"), key=("C#{made_by}", "C")):
        pass


def an_entity_without_a_table() -> None:
    class Loose(Shared, Entity):
        pass


def no_entity() -> None:
    query(Colour, "red")


@pytest.mark.parametrize(
    ("declare", "said"),
    [
        (
            wrong_type,
            "of_colour: 'colour' is declared str, but it fills Thing.colour, which is Colour; write colour: Colour",
        ),
        (no_type, "of_colour: parameter 'colour' has no type; write colour: str, or its part's type"),
        (unused, "of_colour: parameter 'name' is not used; remove it, or pass it to the query"),
        (too_many, "of_colour: 3 values for the 2 parts of Thing.GSI1; the parts are colour, at"),
        (too_few_for_a_get, "thing: the key of Thing has the parts thing_id; write thing(thing_id)"),
        (
            looks_inside,
            (
                "thing_id: the body of a pattern cannot use an attribute of its argument (.upper); "
                "pass the argument on unchanged and compute before the call"
            ),
        ),
        (
            formats,
            (
                "thing_id: the body of a pattern runs once, without values; pass the argument on "
                "unchanged and compute before the call"
            ),
        ),
        (
            compares,
            (
                "thing_id: the body of a pattern runs once, without values; pass the argument on "
                "unchanged and compute before the call"
            ),
        ),
        (
            doubles,
            (
                "thing_id: the body of a pattern runs once, without values; pass the argument on "
                "unchanged and compute before the call"
            ),
        ),
        (any_number, "thing: parameter 'thing_id' takes any number of values; name every part of the key"),
        (returns_a_number, "thing: its body returns int; return get(...) or a query"),
        (an_empty_page, "Thing: a page cannot have 0 items; write page(20)"),
        (returns_nothing, "thing: its body returns NoneType; return get(...) or a query"),
        (forgets_to_return_an_index, "of_colour: its body returns NoneType; return get(...) or a query"),
        (
            raises,
            ("thing: its body raised NotImplementedError: later; return get(...) or a query, or write ... as the body"),
        ),
        (not_sharded, "of_colour: Thing.colour is not sharded; write {colour:shard(8)} in the key"),
        (
            no_range_left,
            ("of_colour: every part of Thing.GSI1 has a value, so there is none for a range; pass fewer values"),
        ),
        (
            filter_of_nothing,
            "of_colour: Thing has no attribute 'size'; the attributes are thing_id, colour, at",
        ),
        (
            another_name,
            (
                "of_colour: parameter 'shade' is in the place of Thing.colour; write colour: Colour, or a "
                "body that passes it on"
            ),
        ),
        (
            another_order,
            (
                "of_colour: parameter 'at' is in the place of Thing.colour; write colour: Colour, or a "
                "body that passes it on"
            ),
        ),
        (another_result, "of_colour: @pattern(...) reads Thing, but the return type differs; write -> Items[Thing]"),
        (
            an_item_of_an_index,
            "of_colour: @pattern(...) reads Thing, but the return type differs; write -> Items[Thing]",
        ),
        (
            an_item_of_several,
            f"thing: Item[...] takes one entity; write -> Items[{__name__}.Thing | {__name__}.Other]",
        ),
        (no_result, "thing: it has no return type; write -> Item[...], -> Items[...] or -> Nearest[...]"),
        (said_twice, "of_colour: its read is declared both in the body and in @pattern(...); remove one of them"),
        (
            an_item_of_a_view,
            ("Shared: a view has no key of its own; read it by the Keys that it declares, or read its entity"),
        ),
        (
            keys_of_a_view_of_several,
            (
                "Shared: the view is inherited by Other and Another, so its Keys do not name one entity; "
                "read by the Keys of an entity"
            ),
        ),
        (
            a_view_under_other_names,
            (
                "Camel.made_by: the name 'made_by' does not follow the naming 'camel' of the entity; "
                'write naming="camel" in the class that declares it'
            ),
        ),
        (an_entity_without_a_table, "Loose: it has no table; write class Loose(Entity, table=..., key=...)"),
        (no_entity, "Colour: it is not an entity; declare it as class Colour(Entity, table=..., key=...)"),
    ],
)
def test_invalid_pattern_is_rejected_with_a_suggestion(declare: Callable[[], None], said: str) -> None:
    with pytest.raises(DesignError) as refusal:
        declare()
    assert str(refusal.value) == said


def summary(declared: Pattern[Any, Any]) -> tuple[Any, ...]:
    read = declared.read
    given = [each.name if isinstance(each, Argument) else each for each in read.given]
    sources = [(source.model.name, source.keys.index) for source in read.sources]
    return sources, given, read.single, read.order, read.page_size, read.view and read.view.name


def test_signature_without_a_body_equals_the_same_read_as_a_body() -> None:
    @pattern
    def thing(thing_id: str) -> Item[Thing]: ...
    @pattern(Thing.by_colour.newest_first().page(5))
    def of_colour(colour: Colour) -> Items[Thing]: ...
    @pattern(Thing.by_colour.query(Colour.RED))
    def red_at(at: datetime) -> Items[Thing]:
        """Of a colour that is given already."""

    @pattern
    def thing_at_length(thing_id: str) -> Item[Thing]:
        return get(Thing, thing_id)

    @pattern
    def of_colour_at_length(colour: Colour) -> Items[Thing]:
        return Thing.by_colour.query(colour).newest_first().page(5)

    @pattern
    def red_at_length(at: datetime) -> Items[Thing]:
        return Thing.by_colour.query(Colour.RED, at)

    assert summary(thing) == summary(thing_at_length)
    assert summary(of_colour) == summary(of_colour_at_length)
    assert summary(red_at) == summary(red_at_length)
    assert red_at.__doc__ == "Of a colour that is given already."


def test_parameters_may_be_given_by_name_alone() -> None:
    table_ = table()

    class Leaf(Entity, table=table_, key=("TREE#{tree}", "LEAF#{number:4}")):
        tree: str
        number: int

    @pattern
    def leaf(tree: str, *, number: int) -> Item[Leaf]: ...
    @pattern
    def leaf_of(*, number: int, tree: str = "oak") -> Item[Leaf]:
        return get(Leaf, tree, number)

    assert leaf("oak", number=3).arguments == leaf(number=3, tree="oak").arguments == ("oak", 3)
    assert leaf_of(number=3).arguments == (3, "oak")
    with pytest.raises(ConfigurationError, match=r"leaf: too many positional arguments; write leaf\(tree, number\)"):
        leaf("oak", 3)  # type: ignore[call-arg]


def test_entities_of_one_partition_are_read_together_by_their_union() -> None:
    shared = table()

    class Folder(Entity, table=shared, key=("FOLDER#{folder_id}", "FOLDER")):
        folder_id: str

    class Page(Entity, table=shared, key=("FOLDER#{folder_id}", "PAGE#{number:4}")):
        folder_id: str
        number: int

    @pattern
    def folder(folder_id: str) -> Items[Folder | Page]: ...
    @pattern
    def folder_at_length(folder_id: str) -> Items[Folder | Page]:
        return collection(Folder, Page)(folder_id)

    assert summary(folder) == summary(folder_at_length)


def test_a_part_of_a_time_is_asked_for_under_a_name_of_its_own() -> None:
    dated = table(Index("ByDay", "GSI1PK", "GSI1SK"))

    class Letter(Entity, table=dated, key=("LETTER#{letter_id}", "LETTER")):
        letter_id: str
        sent_at: datetime
        by_day = Keys("ByDay", "DAY#{sent_at:day}", "{sent_at}")

    @pattern(Letter.by_day.newest_first())
    def of_day(day: date) -> Items[Letter]: ...

    assert summary(of_day)[1] == ["day"]
    prove("letters", dated)


def test_a_view_is_read_by_its_keys_and_projected_by_its_name() -> None:
    class Short(View, naming="camel"):
        row_id: Annotated[str, InKey()]
        owner_id: str
        made_at: datetime
        first_line: Annotated[str, StoredAs("line")]
        of_owner = Keys("ByOwner")

    t = table(Index("ByOwner", "ownerId", "madeAt", project=(Short, "ttl")), naming="camel")

    class Row(Short, Entity, table=t, key=("ROW#{row_id}", "ROW")):
        text: str

    assert t.indexes[0].project == ("line", "ttl")  # beside its own keys and the table's
    assert Short.of_owner.read.view is not None
    assert Short.of_owner.read.view.cls is Short
    assert Row.of_owner.read.view is None
    assert Short.of_owner.read.sources[0].model is model_of(Row)


def test_condition_has_no_truth_value() -> None:
    with pytest.raises(DesignError, match=r"combine conditions with & and \|"):
        bool((F.a == 1) and (F.b == 2))


def test_names_on_disk_are_camel_case_snake_case_or_exact() -> None:
    class Camel(Entity, table=table(naming="camel"), key=("C#{thing_id}", "C")):
        thing_id: str
        check_limit: int
        s3_key: Annotated[str, StoredAs("S3-Key")]

    names = [attribute.name for attribute in model_of(Camel).attributes.values()]
    assert names == ["thingId", "checkLimit", "S3-Key"]


def test_type_attribute_is_the_class_name_or_its_upper_case() -> None:
    shouted = Table("things", pk="PK", type_attribute="type", type_naming="upper")
    plain = Table("things", pk="PK", type_attribute="type")

    class PostText(Entity, table=shouted, key="P#{post_id}"):
        post_id: str

    class Note(Entity, table=plain, key="N#{note_id}"):
        note_id: str

    assert [model_of(each).type_name for each in (PostText, Note)] == ["POST_TEXT", "Note"]


def test_common_attributes_are_inherited() -> None:
    shared = table(Index("ByOwner", "GSI1PK", "GSI1SK"), ttl="ttl")

    class Owned(View):
        owner: str
        made_at: datetime
        of_owner = Keys("ByOwner", "OWNER#{owner}", "{made_at}")
        kept = Expires("made_at")

    class Note(Owned, Entity, table=shared, key=("NOTE#{note_id}", "NOTE")):
        note_id: str

    class Task(Owned, Entity, table=shared, key=("TASK#{task_id}", "TASK")):
        task_id: str
        done: bool = False

    assert list(model_of(Task).attributes) == ["owner", "made_at", "task_id", "done"]
    assert model_of(Note).expires is model_of(Task).expires
    assert Note.of_owner.read.sources[0].keys.owner == "Note"
    assert Task.of_owner.read.sources[0].keys.owner == "Task"
    prove("shared", shared)
    collection(Note.of_owner, Task.of_owner)("ann")


# Arguments of another type


class Recursive(msgspec.Struct):
    inner: "list[Recursive]"


class Array(msgspec.Struct, array_like=True):
    number: int


def with_attribute(kind: Any) -> None:
    body = {"__annotations__": {"thing_id": str, "it": kind}, "__module__": __name__}
    new_class("Thing", (Entity,), {"table": table(), "key": ("T#{thing_id}", "T")}, lambda names: names.update(body))


def named_by(naming: Callable[[str], str]) -> None:
    class Thing(Entity, table=Table("abc", pk="PK", naming=naming), key="THING#{it}"):
        it: str


def unknown_type() -> None:
    @pattern
    def things(thing_id: str) -> "Items[Absent]": ...  # type: ignore[name-defined]  # noqa: F821


WRONG: dict[str, Callable[[], object]] = {
    "Table 5: DynamoDB rejects the name": lambda: Table(5, pk="PK"),  # type: ignore[arg-type]
    "Table abc: '' cannot be the name of a key attribute": lambda: Table("abc", pk=""),
    "Table abc: 5 cannot be the name of a key attribute": lambda: Table("abc", pk=5),  # type: ignore[arg-type]
    "Table abc: PK, PK has an attribute twice": lambda: Table("abc", pk="PK", sk="PK"),
    "Table abc: indexes is <partita.design.tables.Index": lambda: Table("abc", pk="PK", indexes=Index("GSI", "A")),  # type: ignore[arg-type]
    "Table abc: vector_indexes is 5, not a tuple": lambda: Table("abc", pk="PK", vector_indexes=5),  # type: ignore[arg-type]
    "Table abc: 5 is not an index": lambda: Table("abc", pk="PK", indexes=(5,)),  # type: ignore[arg-type]
    "Index GSI: 5 cannot be the name of a key attribute": lambda: Index("GSI", 5),  # type: ignore[arg-type]
    "Index GSI: A, B, A has an attribute twice": lambda: Index("GSI", ("A", "B"), "A"),
    "prove: the name of a design cannot be ''": lambda: prove("", table()),
    "things: it has no tables": lambda: prove("things"),
    "things: 5 is not a table": lambda: prove("things", 5),  # type: ignore[arg-type]
    "things: two of its tables have the name 'things', so their items": lambda: prove("things", table(), table()),
    "Table abc: 'a\"b' cannot be the name of an attribute": lambda: Table("abc", pk='a"b'),
    "Table abc: 'a\\ud800' cannot be the name of an attribute": lambda: Table("abc", pk="a\ud800"),
    "Table abc: '' cannot be the name of an attribute": lambda: Table("abc", pk="PK", ttl=""),
    "Table abc: 5 cannot be the name of an attribute": lambda: Table("abc", pk="PK", type_attribute=5),  # type: ignore[arg-type]
    "Index GSI: 'a\\n' cannot be the name of an attribute": lambda: Index("GSI", "a\n"),
    "Thing.it: 'a\\\\b' cannot be the name of an attribute": lambda: with_attribute(Annotated[str, StoredAs("a\\b")]),
    "Thing.it: 'it\"' cannot be the name of an attribute": lambda: named_by(lambda field: field + '"'),
    "5: is neither a function nor a query": lambda: pattern(5),  # type: ignore[call-overload]
    "5: is neither an entity nor its Keys": lambda: query(5),  # type: ignore[arg-type]
    "things: its types: name 'Absent' is not defined": unknown_type,
    "Thing.it.inner: Recursive contains itself": lambda: with_attribute(Recursive),
    "Thing.it: Array is written as a list in JSON": lambda: with_attribute(list[Array]),
    "Thing.it: its Meta does not suit its type": lambda: with_attribute(Annotated[str, msgspec.Meta(gt=0)]),
}


@pytest.mark.parametrize("said", WRONG)
def test_argument_of_another_type_is_rejected(said: str) -> None:
    with pytest.raises(DesignError) as refused:
        WRONG[said]()
    assert str(refused.value).startswith(f"{said}"), str(refused.value)


@pytest.mark.parametrize("statement", [Limit(F.used <= 2), Owns(lambda: ()), Expires("used"), Keys("GSI1", "A#{used}")])
def test_statement_of_a_class_in_an_annotation_is_rejected(statement: Any) -> None:
    name = type(statement).__name__
    with pytest.raises(DesignError, match=rf"^Room\.used: {name} is a statement of the class; .*write name = {name}\("):

        class Room(Entity, table=Table("rooms", pk="PK"), key="ROOM#{room}"):
            room: str
            used: Annotated[int, statement] = 0


def test_entity_may_have_the_name_of_a_base_class() -> None:
    class View(Entity, table=Table("views", pk="PK", sk="SK"), key=("VIEW#{name}", "VIEW")):
        name: str

    assert model_of(View).name == "View"


def test_keys_behind_those_of_every_item_are_rejected() -> None:
    ones = Table("ones", pk="PK", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),))
    with pytest.raises(DesignError, match=r"^One.GSI1: an item has the first Keys that apply to it"):

        class One(Entity, table=ones, key="ONE#{one_id}"):
            one_id: str
            size: int = 0

            by_id = Keys("GSI1", "ID", "{one_id}")
            by_size = Keys("GSI1", "SIZE", "{size:4}")


def test_keys_behind_others_with_their_conditions_and_parts_are_rejected() -> None:
    ones = Table("ones", pk="PK", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),))
    with pytest.raises(DesignError, match=r"^One.GSI1: an item has the first Keys that apply to it"):

        class One(Entity, table=ones, key="ONE#{one_id}"):
            one_id: str
            size: int | None = None
            colour: str = ""

            large = Keys("GSI1", "SIZE", "{size:4}", when=F.size > 9)
            large_and_red = Keys("GSI1", "RED", "{size:4}", when=(F.colour == "red") & (F.size > 9))


def test_keys_behind_those_with_a_condition_or_an_absent_part_are_accepted() -> None:
    ones = Table("ones", pk="PK", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),))

    class One(Entity, table=ones, key="ONE#{one_id}"):
        one_id: str
        size: int | None = None

        large = Keys("GSI1", "LARGE", "{one_id}", when=F.size > 9)
        by_size = Keys("GSI1", "SIZE", "{size:4}")
        unsized = Keys("GSI1", "UNSIZED", "{one_id}")

    assert len(One.__model__.indexes["GSI1"]) == 3


def test_two_attributes_with_one_name_on_disk_are_rejected() -> None:
    things = Table("things", pk="PK", naming="camel")

    class Counted(View, naming="camel"):
        check_limit: int = 0

    class Inside(msgspec.Struct):
        check_limit: int = 0
        checkLimit: int = 0  # noqa: N815 - the name that collides

    both = "'check_limit' and 'checkLimit' are both named 'checkLimit' on disk; rename one of them"
    with pytest.raises(DesignError, match=f"^Thing: {both}"):

        class Thing(Entity, table=things, key="THING#{thing_id}"):
            thing_id: str
            check_limit: int = 0
            checkLimit: int = 0  # noqa: N815

    with pytest.raises(DesignError, match=f"^Heir: {both}"):

        class Heir(Counted, Entity, table=things, key="THING#{thing_id}"):
            thing_id: str
            checkLimit: int = 0  # noqa: N815

    with pytest.raises(DesignError, match=f"^Holder.inside: {both}"):

        class Holder(Entity, table=things, key="THING#{thing_id}"):
            thing_id: str
            inside: Inside = msgspec.field(default_factory=Inside)

    with pytest.raises(DesignError, match=r"^Same: 'one' and 'two' are both named 'x' on disk"):

        class Same(View, naming=lambda name: "x"):
            one: int = 0
            two: int = 0
