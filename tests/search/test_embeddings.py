"""Embeddings that change their model: searches are right before, while and after it."""

import asyncio
import math
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from partita import (
    AsyncStore,
    ConfigurationError,
    Consumer,
    ConsumerAdministration,
    DesignError,
    Embeddings,
    NotFound,
    Store,
    connect,
    settle,
)
from partita.search.embedding_migration import EmbeddingMigration, ModelProgress
from partita.system import System
from tests.search.meanings import NEW, OLD, Meaning, Part, WordModel, declared, design, found, part


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 5, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", design, clock=Clock()) as store:
        store.create_tables()
        for number in range(5):
            store.create(Part(part_id=str(number), name=str(number)))
        yield store


def ignore(_: ModelProgress) -> None:
    """No progress is shown."""


def migrate(db: Store, meanings: Embeddings) -> str:
    migration = EmbeddingMigration(db, meanings)
    migration.build(ignore)
    return migration.switch()


def test_model_changes_when_its_vectors_are_complete(db: Store) -> None:
    before, after = declared(OLD), declared(NEW, OLD)
    settle(db, *before.consumers)
    assert found(db, before, "3")[0] == "3"
    assert found(db, after, "3")[0] == "3"
    assert after.embedder(db) is OLD
    with pytest.raises(ConfigurationError, match="not complete"):
        EmbeddingMigration(db, after).switch()
    assert migrate(db, after) == "old/1"
    assert after.embedder(db) is NEW
    assert found(db, after, "3")[0] == "3"
    assert migrate(db, after) == "new/1"


def test_changes_are_found_by_both_models_until_one_is_removed(db: Store) -> None:
    old, both = declared(OLD), declared(NEW, OLD)
    settle(db, *old.consumers)
    migrate(db, both)
    db.delete(part("0"))
    db.create(Part(part_id="40", name="40"))
    settle(db, *both.consumers)
    for each in (old, both):  # a program that knows only the old model uses the old vectors, which are kept
        assert found(db, each, "40")[0] == "40"
        assert set(found(db, each, "1")) == {"1", "2", "3", "4", "40"}


def test_forgotten_old_model_is_an_error_and_not_an_empty_answer(db: Store) -> None:
    settle(db, *declared(OLD).consumers)
    with pytest.raises(ConfigurationError, match="searches use the model 'old/1', which is not declared"):
        found(db, declared(NEW), "1")
    with pytest.raises(ConfigurationError, match="which is not declared"):
        EmbeddingMigration(db, declared(NEW)).clean()


def test_old_vectors_are_deleted_when_nobody_declares_them(db: Store) -> None:
    settle(db, *declared(OLD).consumers)
    migrate(db, declared(NEW, OLD))
    last = declared(NEW)
    with pytest.raises(ConfigurationError, match="run it again in 60 s"):
        EmbeddingMigration(db, last).clean()
    db.context.clock.now += timedelta(minutes=2)  # type: ignore[attr-defined]
    assert EmbeddingMigration(db, last).clean() == 5
    assert {each.model for each in db.scan(Meaning)} == {"new/1"}
    assert EmbeddingMigration(db, last).clean() == 0
    with pytest.raises(ConfigurationError, match="not declared"):
        found(db, declared(OLD), "1")
    with pytest.raises(NotFound, match="old/1"):
        ConsumerAdministration(db, "meanings old/1").status()


def test_going_back_is_the_same_migration(db: Store) -> None:
    settle(db, *declared(OLD).consumers)
    migrate(db, declared(NEW, OLD))
    back = declared(OLD, NEW)
    assert migrate(db, back) == "new/1"
    assert back.embedder(db) is OLD


def test_text_that_cannot_be_embedded_prevents_the_switch(db: Store) -> None:
    settle(db, *declared(OLD).consumers)
    db.create(Part(part_id="x", name="not a number"))
    both = declared(NEW, OLD)
    migration = EmbeddingMigration(db, both)

    def later(_: float) -> None:
        db.context.clock.now += timedelta(hours=1)  # type: ignore[attr-defined]

    with pytest.raises(ConfigurationError, match=r"^embeddings meanings: 1 texts could not be .*dead"):
        migration.build(ignore, sleep=later)
    assert both.embedder(db) is OLD
    letters = ConsumerAdministration(db, "meanings new/1")
    db.put(Part(part_id="x", name="77"))
    for each in letters.dead_letters():
        letters.drop(each)
    assert migrate(db, both) == "old/1"
    assert found(db, both, "77")[0] == "x"


def test_searches_are_right_at_any_step_of_a_migration(db: Store) -> None:
    """Writes, builds and programs of three versions in any order: each search finds exactly the embedded parts."""
    chance = random.Random(5)
    old, both = declared(OLD), declared(NEW, OLD)
    settle(db, *old.consumers)
    names = {str(number): number for number in range(5)}
    migration = EmbeddingMigration(db, both)
    for step in range(40):
        name = str(chance.randrange(12))
        if name in names and chance.random() < 0.4:
            del names[name]
            db.delete(part(name))
        else:
            names[name] = chance.randrange(100)
            db.put(Part(part_id=name, name=str(names[name])))
        settle(db, *(old.consumers if step < 15 else both.consumers))
        if step == 25:
            migration.build(ignore)
        if step == 30:
            migration.switch()
        for each in (old, both):
            answer = [names[key] for key in found(db, each, "50")]
            assert answer == sorted(names.values(), key=lambda number: abs(math.atan(number / 100) - math.atan(0.5)))
    assert both.embedder(db) is NEW


def test_consumers_of_all_models_run_with_the_system() -> None:
    both = declared(NEW, OLD)
    assert [each.name for each in System("shop", design=design, consumers=both).consumers] == [
        "meanings new/1",
        "meanings old/1",
    ]
    assert all(isinstance(each, Consumer) for each in System("shop", design=design, consumers=[both]).consumers)


def test_async_programs_read_the_same_model(db: Store) -> None:
    both = declared(NEW, OLD)
    asynchronous = AsyncStore(db.backend, design)
    assert asyncio.run(both.embedder_async(asynchronous)) is OLD
    settle(db, *both.consumers)
    migrate(db, both)
    assert asyncio.run(both.embedder_async(asynchronous)) is NEW


def test_key_without_the_model_is_rejected() -> None:
    with pytest.raises(DesignError, match="its key does not contain 'model'"):
        Embeddings("parts", Part, embedder=OLD)
    with pytest.raises(DesignError, match="same model"):
        declared(OLD, WordModel("old/1"))
    with pytest.raises(DesignError, match="no entity"):
        Embeddings("parts", embedder=OLD)
