"""Vectors of texts as they are declared: who embeds what, by which model, and by which one before.

meanings = Embeddings("meanings", Meaning, embedder=OfflineEmbedder(), was=[old_embedder])

@meanings.on(Part)
def embed(change: Change[Part], t: HandlerTransaction, embedder: Embedder) -> None: ...

vector = meanings.embedder(db).embed_one("chair", "query")

Each model has a consumer of its own, which starts from a scan, and vectors of its own: several generations exist side
by side. One item says which of them searches use; `partita embeddings migrate` changes it once the next is complete.
"""

import asyncio
import inspect
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload
from weakref import WeakKeyDictionary

from partita.consumers import state
from partita.consumers.consumer import MAX_NAME, Consumer
from partita.consumers.consumer_group import ConsumerGroup
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.entity_changes import Change
from partita.consumers.handler_transaction import HandlerTransaction, ReadChanged, TakenOver, Unavailable
from partita.design.models import model_of
from partita.design.vector_values import VectorCodec
from partita.embeddings.embedder import Embedder
from partita.errors import (
    AlreadyExists,
    ConfigurationError,
    DesignError,
    NoReply,
    PartitaError,
    ServiceRejected,
    TableNotFound,
)
from partita.store.async_store import AsyncStore
from partita.store.store import Store

if TYPE_CHECKING:
    from partita.consumers.state import SearchedModel

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
AnyChange = TypeVar("AnyChange")
Outcome = TypeVar("Outcome", None, Awaitable[None])

_SERVICE_ERRORS = (NoReply, ServiceRejected, ConfigurationError)
_TOGETHER = 50  # vectors that are deleted in a transaction


class EmbedderUnavailable(Unavailable):
    """The service that embeds texts does not answer, or rejects all of them."""


class EmbeddingDecorator(Protocol, Generic[AnyChange]):
    """Registers a handler and returns it as it is."""

    def __call__(
        self, handler: Callable[[AnyChange, HandlerTransaction, Embedder], Outcome], /
    ) -> Callable[[AnyChange, HandlerTransaction, Embedder], Outcome]: ...


class EmbeddingConsumer(Consumer):
    """The consumer of one model of embeddings."""

    def __init__(self, embeddings: "Embeddings", model: str, parallel: int) -> None:
        super().__init__(embeddings.consumer_name(model), start="scan", parallel=parallel)
        self.embeddings = embeddings
        self.model = model

    def prepare(self, db: Store) -> None:
        """Deletes the vectors of the model if it begins anew: nobody knows which of their texts exist still."""
        if any(db(state.table_progresses(self.name), consistent=True)):
            return
        old: list[Any] = []
        for each in self.embeddings.vectors(db):
            if self.embeddings.model_of(each) == self.model:
                old.append(each)
            if len(old) == _TOGETHER:
                self._delete(db, old)
                old = []
        self._delete(db, old)

    def _delete(self, db: Store, vectors: Sequence[Any]) -> None:
        """Deletes vectors while nothing is stored of the consumer; TakenOver if another process has begun meanwhile."""
        whole = HandlerTransaction(ConsumerStore(db))
        for table in self.tables:
            if whole.get(state.table_progress(self.name, table)) is not None:
                raise TakenOver(self.name)
        for each in vectors:
            model = model_of(type(each))
            whole._delete(model, {name: getattr(each, name) for name in model.key.fields}, None)
        try:
            whole.commit()
        except ReadChanged:
            raise TakenOver(self.name) from None


class Embeddings(ConsumerGroup):
    """The vectors of some texts, by the model that embeds them.

    name      Its name in the database; each model's consumer has it and the model as its name.
    entities  The entities that hold the vectors. Their key contains the model, so that vectors of several exist.
    embedder  The model that new vectors get. `partita embeddings migrate` lets searches use it.
    was       The models before it that programs still search by; they are kept up to date.
    model     The attribute of the entities with the name of the model.
    parallel  How many changes are embedded at the same time.
    """

    def __init__(
        self,
        name: str,
        *entities: type[Any],
        embedder: Embedder,
        was: Sequence[Embedder] = (),
        model: str = "model",
        parallel: int = 8,
    ) -> None:
        self.name = name
        where = f"Embeddings {name}"
        given: object = name
        if not isinstance(given, str) or not given.strip() or len(given) > MAX_NAME // 2:
            raise DesignError("Embeddings", f"{name!r} is not a valid name", f"use 1 to {MAX_NAME // 2} characters")
        if not entities:
            raise DesignError(where, "it has no entity", "pass the entity that holds the vectors")
        for each in entities:
            if model not in model_of(each).key.fields:
                wrong = f"{each.__name__}: its key does not contain {model!r}, so two models cannot exist side by side"
                raise DesignError(where, wrong, f'write key=("...", "VECTOR#{{{model}}}"), or give its name: model=')
        self.entities = entities
        self.model_attribute = model
        self.current = embedder
        self.embedders = {each.model: each for each in (embedder, *was)}
        if len(self.embedders) <= len(was):
            raise DesignError(where, "two embedders have the same model", "name each model once")
        for one in self.embedders.values():
            _check_dimensions(where, entities, one)
        self._consumers = {each: EmbeddingConsumer(self, each, parallel) for each in self.embedders}
        self._recorded: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"Embeddings({self.name!r}: {', '.join(self.embedders)})"

    @property
    def consumers(self) -> tuple[Consumer, ...]:
        """The consumer of each model, that of the current one first."""
        return tuple(self._consumers.values())

    def consumer_of(self, model: str) -> Consumer:
        return self._consumers[model]

    def consumer_name(self, model: str) -> str:
        """The name of the consumer of a model, declared or not; some services have long names for theirs."""
        name = f"{self.name} {model}"
        if len(name) <= MAX_NAME:
            return name
        digest = blake2b(name.encode(), digest_size=8).hexdigest()
        return f"{name[: MAX_NAME - len(digest) - 1]} {digest}"

    def vectors(self, db: Store) -> Iterator[Any]:
        """The stored vectors of all models, by a scan."""
        return db.scan(*self.entities)

    def model_of(self, vector: Any) -> str:
        """The model of a stored vector."""
        return str(getattr(vector, self.model_attribute))

    @overload
    def on(self, a: type[A], /) -> EmbeddingDecorator[Change[A]]: ...
    @overload
    def on(self, a: type[A], b: type[B], /) -> EmbeddingDecorator[Change[A] | Change[B]]: ...
    @overload
    def on(self, a: type[A], b: type[B], c: type[C], /) -> EmbeddingDecorator[Change[A] | Change[B] | Change[C]]: ...
    def on(self, *entities: type[Any]) -> Any:
        """Registers what embeds the changes of these entities; it is called once for each model."""

        def register(function: Any) -> Any:
            for model, consumer in self._consumers.items():
                consumer.on(*entities)(self._handler(function, self.embedders[model]))
            return function

        return register

    def _handler(self, function: Any, embedder: Embedder) -> Any:
        if inspect.iscoroutinefunction(function):

            async def run_async(change: Any, t: HandlerTransaction) -> None:
                self._record(t)
                try:
                    await function(change, t, embedder)
                except _SERVICE_ERRORS as error:
                    await asyncio.to_thread(_check_answers, embedder, error)
                    raise

            return _named_as(function, run_async)

        def run(change: Any, t: HandlerTransaction) -> None:
            self._record(t)
            try:
                function(change, t, embedder)
            except _SERVICE_ERRORS as error:
                _check_answers(embedder, error)
                raise

        return _named_as(function, run)

    def embedder(self, db: Store) -> Embedder:
        """The embedder for searches, read from the database: that of the last migration."""
        try:
            found = _state_store(db).get(state.searched_model(self.name), consistent=True)
        except TableNotFound:  # nothing is embedded yet
            found = None
        return self._chosen(found)

    async def embedder_async(self, db: AsyncStore) -> Embedder:
        """`embedder` for the running event loop."""
        settings: dict[str, Any] = {"sleep": db._sleep, **db._settings}
        store = AsyncStore(db.backend, state.with_state(db.design), **settings)
        try:
            found = await store.get(state.searched_model(self.name), consistent=True)
        except TableNotFound:
            found = None
        return self._chosen(found)

    @property
    def first(self) -> Embedder:
        """The oldest model: the one that searches use before any migration."""
        return list(self.embedders.values())[-1]

    def _chosen(self, found: "SearchedModel | None") -> Embedder:
        if found is None:
            return self.first
        for model in (found.model, *found.kept):
            if model in self.embedders:
                return self.embedders[model]
        raise ConfigurationError(
            f"embeddings {self.name}: searches use the model {found.model!r}, which is not declared; "
            f"declare it with was=, and run partita embeddings migrate to change to {self.current.model!r}"
        )

    def _record(self, t: HandlerTransaction) -> None:
        """Stores the model that searches use before the first vector: a later change of it is a migration."""
        owner = getattr(t._db.backend, "engine", t._db.backend)
        if owner not in self._recorded:
            record_model(t._db, self)
            self._recorded[owner] = True


def record_model(db: Store, embeddings: Embeddings) -> "SearchedModel":
    """The stored model, which is the first one if none was stored."""
    store = _state_store(db)
    get = state.searched_model(embeddings.name)
    found = store.get(get, consistent=True)
    if found is not None:
        return found
    try:
        model = embeddings.first.model
        return store.create(state.SearchedModel(name=embeddings.name, model=model, since=store.now()))
    except AlreadyExists:
        return store.one(get, consistent=True)


def _check_dimensions(where: str, entities: Sequence[type[Any]], embedder: Embedder) -> None:
    """Rejects a model whose vectors fit into none of the entities: each text would fail, one by one."""
    codecs = [each.codec for entity in entities for each in model_of(entity).attributes.values()]
    known = sorted({each.dimensions for each in codecs if isinstance(each, VectorCodec)})
    if known and embedder.dimensions not in known:
        wrong = f"{embedder.model!r} has {embedder.dimensions} dimensions, but the vectors of its entities {known}"
        raise DesignError(where, wrong, "pass an entity with vectors of these dimensions, too")


def _check_answers(embedder: Embedder, error: PartitaError) -> None:
    """Raises EmbedderUnavailable if the embedder fails for any text, and not only for that of a change.

    The text is new each time, since a cache would answer for a known one.
    """
    try:
        embedder.embed_one(str(random.getrandbits(48)))
    except _SERVICE_ERRORS:
        raise EmbedderUnavailable(error) from error


def _state_store(db: Store) -> Store:
    if isinstance(db, ConsumerStore):
        return db
    settings: dict[str, Any] = {"sleep": db._sleep, **db._settings}
    return Store(db.backend, state.with_state(db.design), **settings)


def _named_as(function: Any, handler: Any) -> Any:
    handler.__name__ = getattr(function, "__name__", "embed")
    return handler
