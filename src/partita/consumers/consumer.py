"""Consumers as they are declared.

notifications = Consumer("notifications")

@notifications.on(Order)
def shipped(change: Change[Order], t: Transaction) -> None: ...
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar, overload

import msgspec

from partita.consumers.entity_changes import Change
from partita.consumers.handler_transaction import HandlerTransaction
from partita.design.argument_checks import NAME
from partita.design.models import Model, model_of
from partita.errors import DesignError, InvalidValue

if TYPE_CHECKING:
    from partita.store.store import Store

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")
AnyChange = TypeVar("AnyChange")
Outcome = TypeVar("Outcome", None, Awaitable[None])

MAX_NAME = 100  # characters
MAX_PARALLEL = 25  # as many changes as are committed together

Start = Literal["oldest", "now", "scan"]
AfterFailure = Literal["continue", "hold"]


class HandlerDecorator(Protocol, Generic[AnyChange]):
    """Registers a handler and returns it as it is."""

    def __call__(
        self, handler: Callable[[AnyChange, HandlerTransaction], Outcome], /
    ) -> Callable[[AnyChange, HandlerTransaction], Outcome]: ...


class Handler(msgspec.Struct, frozen=True, eq=False):
    """A function, and the entities whose changes it receives."""

    models: tuple[Model, ...]
    start: Start
    function: Callable[[Any, HandlerTransaction], Awaitable[None] | None]

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)


class Consumer:
    """A named group of handlers with one position in the changes; each change is handled once.

    name           Its name in the database: what is done is stored under it.
    start          Where a new consumer begins: with the oldest change that is still known, with those from now on, or
                   with a scan: each item that exists is delivered as `Created`, and its changes follow. The same
                   holds for an entity whose first handler is added later; `on(..., start=)` chooses another way.
    tries          How often a change is handled before it is given up.
    parallel       How many changes of different items are handled at the same time, by handlers that take long. Set it
                   to 1 for handlers that may not run in several threads.
    after_failure  What becomes of the later changes of an item when one was given up: they continue, or they are held
                   until somebody has retried or dropped it.
    """

    is_idempotent = False  # whether it recognises a change, or an item of a scan, that it has handled before

    def __init__(
        self,
        name: str,
        *,
        start: Start = "oldest",
        tries: int = 8,
        parallel: int = 8,
        after_failure: AfterFailure = "continue",
    ) -> None:
        given: object = name
        if not isinstance(given, str) or not NAME.fits(given) or not given.strip() or len(given) > MAX_NAME:
            raise DesignError(
                "Consumer", f"{name!r} is not a valid name", f"use a text of at most {MAX_NAME} characters"
            )
        if after_failure not in ("continue", "hold"):
            wrong = f"after_failure={after_failure!r} is not valid"
            raise DesignError(f"Consumer {name}", wrong, 'use "continue" or "hold"')
        if type(tries) is not int or not 1 <= tries <= 100:
            raise DesignError(f"Consumer {name}", f"tries={tries!r} is not valid", "use a number from 1 to 100")
        if type(parallel) is not int or not 1 <= parallel <= MAX_PARALLEL:
            wrong = f"parallel={parallel!r} is not valid"
            raise DesignError(f"Consumer {name}", wrong, f"use a number from 1 to {MAX_PARALLEL}")
        self.name = name
        self._check_start(start)
        self.parallel = parallel
        self.start: Start = start
        self.tries = tries
        self.after_failure: AfterFailure = after_failure
        self.handlers: list[Handler] = []

    def __repr__(self) -> str:
        return f"Consumer({self.name!r}: {', '.join(each.name for each in self.handlers) or 'no handlers'})"

    @overload
    def on(self, a: type[A], /, *, start: Start | None = None) -> HandlerDecorator[Change[A]]: ...
    @overload
    def on(
        self, a: type[A], b: type[B], /, *, start: Start | None = None
    ) -> HandlerDecorator[Change[A] | Change[B]]: ...
    @overload
    def on(
        self, a: type[A], b: type[B], c: type[C], /, *, start: Start | None = None
    ) -> HandlerDecorator[Change[A] | Change[B] | Change[C]]: ...
    @overload
    def on(
        self, a: type[A], b: type[B], c: type[C], d: type[D], /, *, start: Start | None = None
    ) -> HandlerDecorator[Change[A] | Change[B] | Change[C] | Change[D]]: ...
    @overload
    def on(
        self, a: type[A], b: type[B], c: type[C], d: type[D], e: type[E], /, *, start: Start | None = None
    ) -> HandlerDecorator[Change[A] | Change[B] | Change[C] | Change[D] | Change[E]]: ...
    @overload
    def on(
        self, a: type[A], b: type[B], c: type[C], d: type[D], e: type[E], f: type[F], /, *, start: Start | None = None
    ) -> HandlerDecorator[Change[A] | Change[B] | Change[C] | Change[D] | Change[E] | Change[F]]: ...
    def on(self, *entities: type[Any], start: Start | None = None) -> Any:
        """Registers a handler for the changes of these entities; it may be an async function.

        Type checkers know handlers of up to six entities.

        `start` is where the consumer begins with these entities if it has not handled them before, as it may run
        already when the handler is added; by default the consumer's own.
        """
        if start is not None:
            self._check_start(start)
        if not entities:
            raise DesignError(f"Consumer {self.name}", "on() has no entity", "write @consumer.on(Order)")
        models = tuple(self._model(each) for each in entities)

        def register(function: Any) -> Any:
            if not _takes_two(function):
                wrong = (
                    f"{getattr(function, '__name__', repr(function))} is not a function of a change and a transaction"
                )
                raise DesignError(f"Consumer {self.name}", wrong, "write def handler(change, t)")
            self.handlers.append(Handler(models, self.start if start is None else start, function))
            return function

        return register

    def _check_start(self, start: str) -> None:
        if start not in ("oldest", "now", "scan"):
            raise DesignError(f"Consumer {self.name}", f"start={start!r} is not valid", 'use "oldest", "now" or "scan"')

    def _model(self, entity: type[Any]) -> Model:
        try:
            model = model_of(entity)
        except (DesignError, InvalidValue, AttributeError, TypeError):
            wrong = f"{entity!r} is not an entity"
            raise DesignError(f"Consumer {self.name}", wrong, "pass entity classes, as in on(Order)") from None
        if model.table.stream != "NEW_AND_OLD_IMAGES":
            raise DesignError(
                f"Consumer {self.name}",
                f"table {model.table.name!r} of {model.name} has no stream with images before and after each change",
                'write Table(..., stream="NEW_AND_OLD_IMAGES")',
            )
        return model

    def prepare(self, db: "Store") -> None:
        """Called whenever a process begins to run it, before it notes where it begins."""

    def handlers_of(self, model: Model) -> list[Handler]:
        return [each for each in self.handlers if model in each.models]

    def entities_of(self, table: str) -> list[str]:
        """The names of a table's entities whose changes are handled, sorted."""
        return sorted({model.name for each in self.handlers for model in each.models if model.table.name == table})

    def starts_of(self, table: str) -> dict[str, Start]:
        """Where the consumer begins with each entity of a table that is new to it; its first handler decides."""
        found: dict[str, Start] = {}
        for each in self.handlers:
            for model in each.models:
                if model.table.name == table:
                    found.setdefault(model.name, each.start)
        return found

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables whose changes are handled."""
        return tuple(dict.fromkeys(model.table.name for each in self.handlers for model in each.models))


def _takes_two(function: Any) -> bool:
    """Whether something can be called with two arguments, as far as that is known."""
    if not callable(function):
        return False
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    except ValueError:  # a function without a signature
        return True
    return True
