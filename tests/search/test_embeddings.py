"""Embeddings that change their model: searches are right before, while and after it."""

import asyncio
import math
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from partita import (
    AsyncStore,
    Change,
    ConfigurationError,
    Consumer,
    ConsumerAdministration,
    Deleted,
    DesignError,
    EmbeddingRejected,
    Embeddings,
    HandlerTransaction,
    NoReply,
    NotFound,
    Store,
    StoreError,
    connect,
    settle,
)
from partita.consumers.batch_runner import runner_of
from partita.consumers.catching_up import catch_up
from partita.consumers.handler_transaction import TakenOver
from partita.embeddings import Embedder, Purpose
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

    with pytest.raises(ConfigurationError, match=r"^embeddings meanings: 1 text could not be .*dead"):
        migration.build(ignore, sleep=later)
    assert both.embedder(db) is OLD
    letters = ConsumerAdministration(db, "meanings new/1")
    db.put(Part(part_id="x", name="77"))
    for each in letters.dead_letters():
        letters.drop(each)
    assert migrate(db, both) == "old/1"
    assert found(db, both, "77")[0] == "x"


def test_model_that_was_given_up_and_cleaned_is_built_again(db: Store) -> None:
    settle(db, *declared(OLD).consumers)
    both = declared(NEW, OLD)
    EmbeddingMigration(db, both).build(ignore)
    assert EmbeddingMigration(db, declared(OLD)).clean() == 5
    assert migrate(db, both) == "old/1"
    assert found(db, both, "3") == ["3", "4", "2", "1", "0"]


def test_interrupted_clean_leaves_nothing_that_looks_complete(db: Store) -> None:
    settle(db, *declared(OLD).consumers)
    both = declared(NEW, OLD)
    EmbeddingMigration(db, both).build(ignore)

    def interrupt(deleted: int) -> None:
        if deleted == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        EmbeddingMigration(db, declared(OLD)).clean(interrupt)
    with pytest.raises(ConfigurationError, match="not complete"):
        EmbeddingMigration(db, both).switch()
    migrate(db, both)
    assert found(db, both, "3") == ["3", "4", "2", "1", "0"]


def test_consumer_that_begins_anew_keeps_no_vector_of_a_deleted_text(db: Store) -> None:
    settle(db, *declared(OLD).consumers)
    both = declared(NEW, OLD)
    settle(db, *both.consumers)
    ConsumerAdministration(db, "meanings new/1").forget()  # as it is advised where changes have expired
    db.delete(part("3"))
    settle(db, *declared(OLD).consumers)
    migrate(db, both)
    assert found(db, both, "3") == ["4", "2", "1", "0"]
    assert found(db, declared(OLD), "3") == ["4", "2", "1", "0"]


def test_process_that_was_overtaken_deletes_no_new_vectors(db: Store) -> None:
    both = declared(NEW, OLD)
    settle(db, *both.consumers)
    ConsumerAdministration(db, "meanings new/1").forget()
    consumer = both.consumer_of("new/1")
    vectors = both.vectors

    def slowly(store: Store) -> Iterator[object]:
        for number, each in enumerate(list(vectors(store))):
            if number == 4:
                both.vectors = vectors  # type: ignore[method-assign]
                settle(db, consumer)  # another process
            yield each

    both.vectors = slowly  # type: ignore[assignment,method-assign]
    with pytest.raises(TakenOver):
        consumer.prepare(db)
    migrate(db, both)
    assert found(db, both, "3") == ["3", "4", "2", "1", "0"]


def test_migration_stops_where_its_consumer_is_paused(db: Store) -> None:
    settle(db, *declared(OLD).consumers)
    both = declared(NEW, OLD)
    administration = ConsumerAdministration(db, "meanings new/1")

    def pause(_: object) -> None:
        administration.pause()

    with pytest.raises(ConfigurationError, match="is paused; run partita consumers resume"):
        EmbeddingMigration(db, both).build(pause)
    administration.resume()
    assert migrate(db, both) == "old/1"


def test_taken_over_consumer_is_waited_for(db: Store) -> None:
    settle(db, *declared(OLD).consumers)
    both = declared(NEW, OLD)
    runners = []

    def overtake(_: object) -> None:
        runners.append(runner_of(db, both.consumer_of("new/1")))
        runners[-1].take_over()
        db.create(Part(part_id="9", name="9"))

    assert catch_up(db, both.consumer_of("new/1"), overtake) is False
    runners[-1].close()
    assert migrate(db, both) == "old/1"


class Failing(WordModel):
    """A service that can be out of order, and has a text that it never answers for."""

    def __init__(self) -> None:
        super().__init__("new/1", flipped=True)
        self.is_down = False

    def vectors(self, texts: Sequence[str], purpose: Purpose) -> list[list[float]]:
        if self.is_down:
            raise EmbeddingRejected("http://embeddings", 401, "the key has expired")
        if "13" in texts:
            raise NoReply("http://embeddings", "timed out", perhaps_executed=True)
        return super().vectors(texts, purpose)


def test_service_that_is_down_delays_texts_and_gives_none_up(db: Store) -> None:
    settle(db, *declared(OLD).consumers)
    service = Failing()
    both = declared(service, OLD)
    service.is_down = True
    for _ in range(20):
        with pytest.raises(StoreError, match="401: the key has expired"):
            EmbeddingMigration(db, both).build(ignore)
        db.context.clock.now += timedelta(minutes=10)  # type: ignore[attr-defined]
    status = ConsumerAdministration(db, "meanings new/1").status()
    assert (status.parked, status.dead_letters) == (0, 0)
    service.is_down = False
    assert migrate(db, both) == "old/1"
    assert found(db, both, "3")[0] == "3"


def test_text_that_a_service_never_answers_for_delays_no_other(db: Store) -> None:
    db.create(Part(part_id="13", name="13"))
    both = declared(Failing(), OLD)
    settle(db, *both.consumers)
    assert ConsumerAdministration(db, "meanings new/1").status().parked == 1
    assert sorted(each.part_id for each in db.scan(Meaning) if each.model == "new/1") == ["0", "1", "2", "3", "4"]


def test_async_handlers_wait_for_their_service_too(db: Store) -> None:
    service = Failing()
    both = Embeddings("meanings", Meaning, embedder=service)

    @both.on(Part)
    async def embed(change: Change[Part], t: HandlerTransaction, embedder: Embedder) -> None:
        assert not isinstance(change, Deleted)
        (found,) = await embedder.embed_async([change.after.name])
        t.put(Meaning(part_id=change.after.part_id, model=found.model, vector=list(found.vector)))

    service.is_down = True
    with pytest.raises(StoreError, match="the key has expired"):
        settle(db, *both.consumers)
    service.is_down = False
    settle(db, *both.consumers)
    assert len(list(db.scan(Meaning))) == 5


def test_two_migrations_at_once_change_the_model_once(db: Store) -> None:
    settle(db, *declared(OLD).consumers)
    both = declared(NEW, OLD)
    one, other = EmbeddingMigration(db, both), EmbeddingMigration(db, both)
    one.build(ignore)
    progress = other.progress

    def meanwhile() -> list[ModelProgress]:
        one.switch()
        return progress()

    other.progress = meanwhile  # type: ignore[method-assign]
    with pytest.raises(ConfigurationError, match="somebody else has changed the model"):
        other.switch()
    assert other.switch() == "new/1"


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


def test_model_whose_vectors_fit_nowhere_is_rejected() -> None:
    three = WordModel("three/1")
    three.dimensions = 3
    with pytest.raises(DesignError, match=r"'three/1' has 3 dimensions, but the vectors of its entities \[2\]"):
        declared(OLD, three)


def test_model_with_a_long_name_has_a_consumer_of_its_own(db: Store) -> None:
    one, other = WordModel("m" * 200 + "1"), WordModel("m" * 200 + "2")
    both = declared(one, other)
    names = [each.name for each in both.consumers]
    assert len(set(names)) == 2
    assert max(map(len, names)) <= 100
    settle(db, *both.consumers)
    assert migrate(db, both) == other.model


@pytest.mark.parametrize("name", ["", " ", "n" * 51])
def test_name_that_is_not_valid_is_rejected(name: str) -> None:
    with pytest.raises(DesignError, match="not a valid name; use 1 to 50 characters"):
        Embeddings(name, Meaning, embedder=OLD)


def test_key_without_the_model_is_rejected() -> None:
    with pytest.raises(DesignError, match="its key does not contain 'model'"):
        Embeddings("parts", Part, embedder=OLD)
    with pytest.raises(DesignError, match="same model"):
        declared(OLD, WordModel("old/1"))
    with pytest.raises(DesignError, match="no entity"):
        Embeddings("parts", embedder=OLD)
