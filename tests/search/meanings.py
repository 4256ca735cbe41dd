"""Parts that are embedded, and a model whose vectors are known: the number of a word, on one of two axes."""

from collections.abc import Sequence
from typing import Annotated

from partita import (
    Change,
    Deleted,
    Dimensions,
    Embeddings,
    Entity,
    HandlerTransaction,
    Item,
    Keys,
    Nearest,
    Store,
    Table,
    Vector,
    VectorIndex,
    pattern,
    prove,
)
from partita.embeddings import Embedder, Purpose

shop = Table(
    "shop",
    "PK",
    "SK",
    stream="NEW_AND_OLD_IMAGES",
    vector_indexes=(VectorIndex("ByMeaning", "vector", filters=("model",)),),
)


class Part(Entity, table=shop, key=("PART#{part_id}", "PART")):
    part_id: str
    name: str


class Meaning(Entity, table=shop, key=("PART#{part_id}", "MEANING#{model}")):
    part_id: str
    model: str
    vector: Annotated[Vector, Dimensions(2)]

    by_meaning = Keys("ByMeaning")


@pattern
def part(part_id: str) -> Item[Part]: ...
@pattern
def meaning(part_id: str, model: str) -> Item[Meaning]: ...
@pattern(Meaning.by_meaning.nearest(100))
def nearest_parts(vector: Vector, model: str) -> Nearest[Meaning]: ...


design = prove("shop", shop)


class WordModel(Embedder):
    """Another model has other axes: comparing two of them gives another order."""

    dimensions = 2

    def __init__(self, model: str, *, flipped: bool = False) -> None:
        self.model = model
        self.flipped = flipped

    def vectors(self, texts: Sequence[str], purpose: Purpose) -> list[list[float]]:
        pairs = [[1.0, float(text) / 100] for text in texts]
        return [pair[::-1] for pair in pairs] if self.flipped else pairs


OLD = WordModel("old/1")
NEW = WordModel("new/1", flipped=True)


def declared(embedder: Embedder, *was: Embedder) -> Embeddings:
    meanings = Embeddings("meanings", Meaning, embedder=embedder, was=was)

    @meanings.on(Part)
    def embed(change: Change[Part], t: HandlerTransaction, embedder: Embedder) -> None:
        if isinstance(change, Deleted):
            t.delete(meaning(change.before.part_id, embedder.model))
        else:
            found = embedder.embed_one(change.after.name)
            t.put(Meaning(part_id=change.after.part_id, model=found.model, vector=list(found.vector)))

    return meanings


def found(db: Store, meanings: Embeddings, text: str) -> list[str]:
    """The parts of a search, the nearest first."""
    vector = meanings.embedder(db).embed_one(text, "query")
    return [each.item.part_id for each in db(nearest_parts(list(vector.vector), vector.model))]
