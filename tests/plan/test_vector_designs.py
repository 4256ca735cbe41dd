"""Designs with vector indexes: what is rejected when they are loaded, with the way out."""

from collections.abc import Callable
from typing import Annotated, Any

import pytest

from partita import (
    Compressed,
    DesignError,
    Dimensions,
    Entity,
    Index,
    Item,
    Items,
    Keys,
    Nearest,
    ProofError,
    Table,
    Vector,
    VectorIndex,
    View,
    collection,
    pattern,
    prove,
)
from partita.plan.table_definitions import create_table, differences
from tests.store.parts_design import parts

Embedding = Annotated[Vector, Dimensions(3)]


def a_table(*indexes: VectorIndex, **more: Any) -> Table:
    return Table(
        "things", "PK", "SK", vector_indexes=indexes or (VectorIndex("ByMeaning", "embedding", pk="kind"),), **more
    )


def no_vector() -> None:
    table = a_table()

    class Thing(Entity, table=table, key=("T#{thing_id}", "T")):
        thing_id: str
        kind: str
        by_meaning = Keys("ByMeaning")


def no_entity_with_a_vector() -> None:
    table = a_table()

    class Thing(Entity, table=table, key=("T#{thing_id}", "T")):
        thing_id: str
        kind: str

    prove("things", table)


def another_type() -> None:
    table = a_table()

    class Thing(Entity, table=table, key=("T#{thing_id}", "T")):
        thing_id: str
        embedding: str

    prove("things", table)


def other_dimensions() -> None:
    table = a_table()

    class Thing(Entity, table=table, key=("T#{thing_id}", "T")):
        thing_id: str
        kind: str
        embedding: Embedding

    class Other(Entity, table=table, key=("O#{thing_id}", "O")):
        thing_id: str
        kind: str
        embedding: Annotated[Vector, Dimensions(4)]

    prove("things", table)


def dimensions_of_text() -> None:
    class Thing(Entity, table=a_table(), key=("T#{thing_id}", "T")):
        thing_id: str
        embedding: Annotated[str, Dimensions(3)]


def too_many_dimensions() -> None:
    class Thing(Entity, table=a_table(), key=("T#{thing_id}", "T")):
        thing_id: str
        embedding: Annotated[Vector, Dimensions(4097)]


def compressed_vector() -> None:
    class Thing(Entity, table=a_table(), key=("T#{thing_id}", "T")):
        thing_id: str
        embedding: Annotated[Vector, Dimensions(3), Compressed()]


def filter_by_a_flag() -> None:
    table = a_table(VectorIndex("ByMeaning", "embedding", filters="sold"))

    class Thing(Entity, table=table, key=("T#{thing_id}", "T")):
        thing_id: str
        sold: bool
        embedding: Embedding

    prove("things", table)


def filter_that_nobody_has() -> None:
    table = a_table(VectorIndex("ByMeaning", "embedding", filters="colour"))

    class Thing(Entity, table=table, key=("T#{thing_id}", "T")):
        thing_id: str
        embedding: Embedding

    prove("things", table)


def condition_without_template() -> None:
    from partita import F

    class Thing(Entity, table=a_table(), key=("T#{thing_id}", "T")):
        thing_id: str
        kind: str
        embedding: Embedding
        by_meaning = Keys("ByMeaning", when=F.kind == "a")


def unknown_parameter() -> None:
    thing = a_thing()

    @pattern(thing.by_meaning.nearest(3))  # type: ignore[untyped-decorator]
    def similar(embedding: Vector, kind: str, colour: str) -> Nearest[thing]: ...  # type: ignore[valid-type]


def parameter_of_another_type() -> None:
    thing = a_thing()

    @pattern(thing.by_meaning.nearest(3))  # type: ignore[untyped-decorator]
    def similar(embedding: Vector, kind: int) -> Nearest[thing]: ...  # type: ignore[valid-type]


def partition_missing() -> None:
    thing = a_thing()

    @pattern(thing.by_meaning.nearest(3))  # type: ignore[untyped-decorator]
    def similar(embedding: Vector) -> Nearest[thing]: ...  # type: ignore[valid-type]

    prove("things", thing.__model__.table)


def vector_missing() -> None:
    thing = a_thing()

    @pattern(thing.by_meaning.nearest(3))  # type: ignore[untyped-decorator]
    def similar(kind: str) -> Nearest[thing]: ...  # type: ignore[valid-type]

    prove("things", thing.__model__.table)


def no_index_named() -> None:
    thing = a_thing()

    @pattern
    def similar(embedding: Vector, kind: str) -> Nearest[thing]: ...  # type: ignore[valid-type]


def another_return_type() -> None:
    thing = a_thing()

    @pattern(thing.by_meaning.nearest(3))  # type: ignore[untyped-decorator]
    def similar(embedding: Vector, kind: str) -> Items[thing]: ...  # type: ignore[valid-type]


def too_many_results() -> None:
    a_thing().by_meaning.nearest(101)


def query_of_a_vector_index() -> None:
    thing = a_thing()

    @pattern(thing.by_meaning)  # type: ignore[untyped-decorator]
    def by_kind(kind: str) -> Items[thing]: ...  # type: ignore[valid-type]

    prove("things", thing.__model__.table)


def constant_of_another_type() -> None:
    thing = a_thing()

    @pattern(thing.by_meaning.nearest(3, kind=5))  # type: ignore[untyped-decorator]
    def similar(embedding: Vector) -> Nearest[thing]: ...  # type: ignore[valid-type]

    prove("things", thing.__model__.table)


def nearest_of_a_secondary_index() -> None:
    table = Table("things", "PK", "SK", indexes=(Index("GSI1", "kind"),))

    class Thing(Entity, table=table, key=("T#{thing_id}", "T")):
        thing_id: str
        kind: str
        embedding: Embedding
        by_kind = Keys("GSI1")

    Thing.by_kind.nearest(3)


def another_entity_in_the_index() -> None:
    table = a_table()

    class Thing(Entity, table=table, key=("T#{thing_id}", "T")):
        thing_id: str
        kind: str
        embedding: Embedding
        by_meaning = Keys("ByMeaning")

    class Other(Entity, table=table, key=("O#{thing_id}", "O")):
        thing_id: str
        kind: str
        embedding: Embedding

    @pattern(Thing.by_meaning.nearest(3))
    def similar(embedding: Vector, kind: str) -> Nearest[Thing]: ...

    prove("things", table)


def attribute_that_is_not_projected() -> None:
    thing = a_thing(project=("name",))

    @pattern(thing.by_meaning.nearest(3))  # type: ignore[untyped-decorator]
    def similar(embedding: Vector, kind: str) -> Nearest[thing]: ...  # type: ignore[valid-type]

    prove("things", thing.__model__.table)


def vector_index_among_the_others() -> None:
    Table("things", "PK", indexes=(VectorIndex("ByMeaning", "embedding"),))


def six_vector_indexes() -> None:
    a_table(*(VectorIndex(f"Index{at}", "embedding") for at in range(6)))


def unknown_distance() -> None:
    VectorIndex("ByMeaning", "embedding", distance="MANHATTAN")  # type: ignore[arg-type]


def a_thing(**index: Any) -> Any:
    class Thing(
        Entity, table=a_table(VectorIndex("ByMeaning", "embedding", pk="kind", **index)), key=("T#{thing_id}", "T")
    ):
        thing_id: str
        kind: str
        name: str
        embedding: Embedding
        by_meaning = Keys("ByMeaning")

    return Thing


WRONG: dict[Callable[[], None], str] = {
    no_vector: "Thing.ByMeaning: it has no vector that is stored as 'embedding'; "
    "add one (Annotated[Vector, Dimensions(256)]), or remove its Keys",
    no_entity_with_a_vector: "VectorIndex ByMeaning: no entity of table 'things' has a vector that is stored as "
    "'embedding'; give the vectors of one name the same Dimensions",
    another_type: "VectorIndex ByMeaning: 'embedding', which is stored as 'embedding', is not a vector; "
    "write Annotated[Vector, Dimensions(256)], or StoredAs another name",
    other_dimensions: "VectorIndex ByMeaning: its vectors have 3 and 4 dimensions; "
    "give the vectors of one name the same Dimensions",
    dimensions_of_text: "Thing.embedding: Dimensions needs a vector, but it is str; "
    "write Annotated[Vector, Dimensions(3)]",
    too_many_dimensions: "Thing.embedding: a vector cannot have 4097 dimensions; use 1 to 4096",
    compressed_vector: "Thing.embedding: a vector is stored as a list of numbers; remove Compressed or InKey",
    filter_by_a_flag: "VectorIndex ByMeaning: 'sold' is stored as BOOL; "
    "search by attributes of text, a number or bytes",
    filter_that_nobody_has: "VectorIndex ByMeaning: no entity has the attribute 'colour'; "
    "search by attributes of text, a number or bytes",
    condition_without_template: "Thing.ByMeaning: its key is made of stored attributes alone, so `when` cannot keep an "
    "item out of the index; filter with .where(...), or write a template for one of its attributes",
    unknown_parameter: "similar: 'colour' is neither the vector, nor a part of the key, nor a filter of 'ByMeaning'; "
    "it compares embedding, kind",
    parameter_of_another_type: "similar: 'kind' is declared int, but it fills Thing.kind, which is str; "
    "write kind: str",
    partition_missing: "similar: it has no value for 'kind', the partition key of ByMeaning; "
    "take it as a parameter, or write nearest(..., kind=...)",
    vector_missing: "similar: it has no value for 'embedding', the vector; "
    "take it as a parameter, or write nearest(..., embedding=...)",
    no_index_named: "similar: it does not say which vector index it searches, and for how many items; "
    "write @pattern(Thing.by_meaning.nearest(10)), where by_meaning is its Keys of the vector index",
    another_return_type: "similar: @pattern(...) reads Thing, but the return type differs; write -> Nearest[Thing]",
    too_many_results: "Thing: a search cannot return 101 items; use 1 to 100, as in nearest(10)",
    query_of_a_vector_index: "by_kind: 'ByMeaning' is a vector index, which has no ranges; "
    "search it with nearest(10), or query another index",
    constant_of_another_type: "similar: 5 is int, but Thing.kind is str; write a value of str",
    nearest_of_a_secondary_index: "Thing: Thing.GSI1 is not a vector index, so it has no nearest items; "
    'declare Keys("...") of a VectorIndex, and search it by them',
    another_entity_in_the_index: "similar: Other can be in index 'ByMeaning' too, with the same kind and embedding; "
    "give the table a type_attribute and add it to the filters of the index, or return Other too, or store its vectors "
    "under another name",
    attribute_that_is_not_projected: "similar: vector index 'ByMeaning' does not project thing_id, embedding; "
    "add them to the projection, or search for a View of Thing without them",
    vector_index_among_the_others: "Table things: ByMeaning is a vector index; "
    "write vector_indexes=(VectorIndex(...),)",
    six_vector_indexes: "Table things: it has 6 vector indexes; DynamoDB allows 5",
    unknown_distance: "VectorIndex ByMeaning: 'MANHATTAN' is not a distance; use COSINE, EUCLIDEAN, DOT_PRODUCT",
}


@pytest.mark.parametrize("declare", WRONG, ids=lambda each: each.__name__)
def test_wrong_design_is_rejected_with_the_way_out(declare: Callable[[], None]) -> None:
    with pytest.raises(DesignError) as error:
        declare()
    assert str(error.value) == WRONG[declare]


def test_entities_in_other_partitions_share_a_vector_index() -> None:
    table = a_table(VectorIndex("ByMeaning", "embedding", pk="VPK"))

    class Thing(Entity, table=table, key=("T#{thing_id}", "T")):
        thing_id: str
        embedding: Embedding
        by_meaning = Keys("ByMeaning", "THING#{thing_id}")

    class Other(Entity, table=table, key=("O#{thing_id}", "O")):
        thing_id: str
        embedding: Embedding
        by_meaning = Keys("ByMeaning", "OTHER#{thing_id}")

    @pattern(Thing.by_meaning.nearest(3))
    def similar(embedding: Vector, thing_id: str) -> Nearest[Thing]: ...

    prove("things", table)


def test_several_entities_are_searched_by_values_that_they_have_in_common() -> None:
    table = a_table(VectorIndex("ByMeaning", "embedding", filters=("size",)))

    class Thing(Entity, table=table, key=("T#{thing_id}", "T")):
        thing_id: str
        size: int
        embedding: Embedding
        by_meaning = Keys("ByMeaning")

    class Other(Entity, table=table, key=("O#{thing_id}", "O")):
        thing_id: str
        embedding: Embedding
        by_meaning = Keys("ByMeaning")

    @pattern(collection(Thing.by_meaning, Other.by_meaning).nearest(3))
    def similar(embedding: Vector, size: int) -> Nearest[Thing | Other]: ...

    with pytest.raises(ProofError, match="'size' is not the same in Thing and Other"):
        prove("things", table)


@pytest.mark.parametrize("other", ["O", "O#{a}#{b}", "T#{b}#{a}", "T#{a}#{b:fold}", "T#{a}"])
def test_entities_that_are_searched_together_are_in_one_partition(other: str) -> None:
    """A search compares one text: it would never find the items of the other entity, or those of other values."""
    table = a_table(VectorIndex("ByMeaning", "embedding", pk="VPK"))

    class Thing(Entity, table=table, key=("T#{a}", "T")):
        a: str
        b: str
        embedding: Embedding
        by_meaning = Keys("ByMeaning", "T#{a}#{b}")

    class Other(Entity, table=table, key=("O#{a}", "O")):
        a: str
        b: str
        embedding: Embedding
        by_meaning = Keys("ByMeaning", other)

    @pattern(collection(Thing.by_meaning, Other.by_meaning).nearest(3))
    def similar(embedding: Vector, a: str, b: str) -> Nearest[Thing | Other]: ...

    with pytest.raises(ProofError, match=r"in different partitions of 'ByMeaning'|'[ab]' is not the same"):
        prove("things", table)


def test_table_is_created_with_its_vector_indexes() -> None:
    request = create_table(parts)
    definitions = {each.attribute_name: each.attribute_type for each in request.attribute_definitions or ()}
    assert definitions == {"PK": "S", "SK": "S", "VPK": "S", "type": "S", "color": "S", "size": "N", "NPK": "S"}
    first = (request.vector_indexes or [])[0]
    assert (first.index_name, first.dimensions, first.distance_function) == ("ByMeaning", 4, "COSINE")
    schema = [(each.attribute_name, each.search_schema_element_type) for each in first.search_schema or ()]
    filters = [(name, "INLINE_FILTER") for name in ("type", "color", "size")]
    assert schema == [("VPK", "HASH"), *filters]


def test_differences_of_vector_indexes_are_reported() -> None:
    from partita.dynamodb.shapes import TableDescription, VectorIndexDescription

    request = create_table(parts)
    described = [
        VectorIndexDescription(
            index_name=each.index_name,
            vector_attribute=each.vector_attribute,
            search_schema=list(reversed(each.search_schema or [])) or None,
            projection=each.projection,
            dimensions=each.dimensions,
            distance_function=each.distance_function,
        )
        for each in request.vector_indexes or ()
    ]
    table = TableDescription(key_schema=request.key_schema, vector_indexes=described)
    assert list(differences(parts, table)) == []
    described[0].dimensions = 5
    described[1].index_name = "Old"
    assert [each.sentence for each in differences(parts, table)] == [
        "vector index ByMeaning has another definition, which cannot be changed; give the design's index another name",
        "vector index Names is missing",
        "vector index Old is not in the design",
    ]


def test_view_and_item_patterns_stand_beside_searches() -> None:
    class Named(View):
        thing_id: str
        kind: str
        by_meaning = Keys("ByMeaning")

    class Thing(
        Named,
        Entity,
        table=a_table(VectorIndex("ByMeaning", "embedding", pk="kind", project=(Named,))),
        key=("T#{thing_id}", "T"),
    ):
        embedding: Embedding

    @pattern(Named.by_meaning.nearest(3))
    def similar(embedding: Vector, kind: str) -> Nearest[Named]: ...

    @pattern
    def thing(thing_id: str) -> Item[Thing]: ...

    design = prove("things", Thing.__model__.table)
    assert repr(design.patterns["similar"]) == "Pattern(similar(embedding, kind) -> Nearest[Named])"
