"""Changing the model of embeddings: all texts are embedded again, then searches use the new vectors.

    build     the consumer of the new model embeds what exists, and follows; searches use the model before
    switch    one conditional write of the item that names the model: no search sees a mixture
    clean     once no program declares an old model any more, its vectors are deleted

Each step continues where it was interrupted: progress is that of the consumer, and is stored with its effects.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import msgspec

from partita.consumers import state
from partita.consumers.administration import ConsumerAdministration, ConsumerStatus
from partita.consumers.catching_up import catch_up
from partita.consumers.consumer import Consumer
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.worker import create_state_tables
from partita.design.conditions import F
from partita.errors import ConditionFailed, ConfigurationError, NotFound
from partita.quantities import quantity
from partita.search.declared_embeddings import Embeddings, record_model
from partita.store.store import Store

LOOK_SECONDS = 1.0  # between two looks at a consumer that another process runs
FRESH = timedelta(seconds=5)  # a consumer that is no further behind is complete: changes may never stop
SEARCH_SECONDS = 60  # that a search may take, which has read the model before it was switched


class ModelProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far the vectors of a model are.

    embedded   Items of the scan and changes since then that are done.
    problem    Why its vectors cannot be used, and what to do; "" if time is enough.
    """

    model: str
    is_searched: bool
    is_kept: bool
    is_running: bool
    is_complete: bool
    embedded: int
    lag: timedelta
    problem: str = ""


class EmbeddingMigration:
    """The models of embeddings on a database."""

    def __init__(self, db: Store, embeddings: Embeddings) -> None:
        create_state_tables(db)
        self._db = ConsumerStore(db)
        self._embeddings = embeddings

    def progress(self) -> list[ModelProgress]:
        """The state of each declared model, the current one first."""
        stored = record_model(self._db, self._embeddings)
        return [self._progress(model, stored) for model in self._embeddings.embedders]

    def build(
        self, progress: Callable[[ModelProgress], None], sleep: Callable[[float], object] = time.sleep
    ) -> ModelProgress:
        """Waits until the vectors of the current model are complete; runs its consumer if no other process does."""
        consumer = self._embeddings.consumer_of(self._embeddings.current.model)
        while True:
            catch_up(self._db, consumer, lambda handled: progress(self._current()))
            found = self._current()
            progress(found)
            if found.problem:
                raise ConfigurationError(f"embeddings {self._embeddings.name}: {found.problem}")
            if found.is_complete:
                return found
            sleep(LOOK_SECONDS)

    def switch(self) -> str:
        """Lets searches use the current model, whose vectors are complete; returns the model before."""
        stored = record_model(self._db, self._embeddings)
        new = self._embeddings.current.model
        if stored.model == new:
            return new
        if not self._current().is_complete:
            raise ConfigurationError(f"embeddings {self._embeddings.name}: the vectors of {new!r} are not complete")
        kept = [stored.model, *(each for each in stored.kept if each not in (new, stored.model))]
        self._store(stored, msgspec.structs.replace(stored, model=new, kept=kept, since=self._db.now()))
        return stored.model

    def clean(self, progress: Callable[[int], None] = lambda deleted: None) -> int:
        """Deletes the vectors of models that are no longer declared, and their consumers; returns their number."""
        stored = record_model(self._db, self._embeddings)
        name, declared = self._embeddings.name, self._embeddings.embedders
        if stored.model not in declared:
            raise ConfigurationError(f"embeddings {name}: searches use {stored.model!r}, which is not declared")
        if (left := SEARCH_SECONDS - (self._db.now() - stored.since).total_seconds()) > 0 and stored.kept:
            raise ConfigurationError(
                f"embeddings {name}: the model has just been changed, and searches by the one before may still run; "
                f"run it again in {left:.0f} s"
            )
        for model in sorted(set(stored.kept) - set(declared)):
            self._forget(model)
        self._store(stored, msgspec.structs.replace(stored, kept=[each for each in stored.kept if each in declared]))
        forgotten: set[str] = set()
        deleted = 0
        for each in self._embeddings.vectors(self._db):
            model = self._embeddings.model_of(each)
            if model in declared:
                continue
            if model not in forgotten:  # one that was given up before searches used it
                self._forget(model)
                forgotten.add(model)
            deleted += self._db.delete(each) is not None
            progress(deleted)
        return deleted

    def _store(self, before: state.SearchedModel, after: state.SearchedModel) -> None:
        """Changes the stored model, if nobody else has done so."""
        unchanged = (F.model == before.model) & (F.kept == before.kept)
        try:
            with self._db.change(state.searched_model(before.name), when=unchanged) as draft:
                draft.model, draft.kept, draft.since = after.model, after.kept, after.since
        except ConditionFailed:
            raise ConfigurationError(
                f"embeddings {before.name}: somebody else has changed the model meanwhile; run it again"
            ) from None

    def _forget(self, model: str) -> None:
        """Forgets the consumer of a model before its vectors are deleted: declared again, it begins anew.

        An error if a program runs it.
        """
        with suppress(NotFound):
            ConsumerAdministration(self._db, self._embeddings.consumer_name(model)).forget()

    def _current(self) -> ModelProgress:
        return self.progress()[0]

    def _progress(self, model: str, stored: state.SearchedModel) -> ModelProgress:
        consumer = self._embeddings.consumer_of(model)
        try:
            status = ConsumerAdministration(self._db, consumer.name).status()
        except NotFound:
            status = None
        problem = "" if status is None else _problem(model, status)
        return ModelProgress(
            model=model,
            is_searched=model == stored.model,
            is_kept=model in stored.kept,
            is_running=status is not None and status.is_running,
            is_complete=status is not None and not problem and _has_read(status) and self._has_scanned(consumer),
            embedded=0 if status is None else status.handled + sum(each.delivered for each in self._scans(consumer)),
            lag=timedelta(0) if status is None else status.lag,
            problem=problem,
        )

    def _has_scanned(self, consumer: Consumer) -> bool:
        scans = self._scans(consumer)
        for table in consumer.tables:
            done = [each.entities for each in scans if each.table == table and each.done_at is not None]
            if not {name for names in done for name in names}.issuperset(consumer.entities_of(table)):
                return False
        return True

    def _scans(self, consumer: Consumer) -> list[state.ScanProgress]:
        calls = [state.scans(consumer.name, table) for table in consumer.tables]
        return [each for call in calls for each in self._db(call, consistent=True)]


def _has_read(status: ConsumerStatus) -> bool:
    """Whether all changes are read, and none of them waits to be tried again."""
    return not status.parked and status.backlog is not None and (not status.backlog.records or status.lag <= FRESH)


def _problem(model: str, status: ConsumerStatus) -> str:
    """Why waiting does not make the vectors of a model complete, and what does."""
    if status.dead_letters:
        return (
            f"{quantity(status.dead_letters, 'text')} could not be embedded by {model!r}; "
            f'see partita consumers dead "{status.name}", retry or drop them, and run it again'
        )
    if status.gaps:
        return (
            f"the consumer of {model!r} has missed changes that had expired; "
            f'end it, run partita consumers forget "{status.name}", and run it again'
        )
    if status.is_paused:
        return f'the consumer of {model!r} is paused; run partita consumers resume "{status.name}"'
    if status.backlog is None:
        return f"the consumer of {model!r} runs in AWS Lambda, where its lag is not known; run it with partita work"
    return ""
