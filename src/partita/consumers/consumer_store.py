"""The store of a consumer: the user's design and the state of consumers, on the user's backend."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from partita.consumers.state import table as state_table
from partita.consumers.state import with_state
from partita.design.tables import Table
from partita.errors import ConfigurationError, TableNotFound
from partita.store.flows import Flow, run
from partita.store.store import Store

R = TypeVar("R")


class ConsumerStore(Store):
    """A store of the same settings as the user's, whose transactions can write state, too.

    Without `uses_state` it only reads streams.
    """

    def __init__(self, db: Store, *, uses_state: bool = True) -> None:
        settings: dict[str, Any] = {"sleep": db._sleep, **db._settings}
        if uses_state:
            _check_names(db, settings.get("table_names"))
        super().__init__(db.backend, with_state(db.design), **settings)

    def tables_of(self, consumer: str, names: Sequence[str]) -> list[Table]:
        """The tables whose changes a consumer handles; they have to be in the design."""
        known = {each.name: each for each in self.design.tables}
        for name in names:
            if name not in known:
                raise ConfigurationError(
                    f"consumer {consumer}: table {name!r} is not in design {self.design.name!r}; "
                    "pass it to prove() too, or open the store with the design of the consumer"
                )
        return [known[name] for name in names]

    def run(self, flow: Flow[R]) -> R:
        with self._naming_the_state():
            return run(flow, self.backend, self._sleep)

    def _run(self, flow: Flow[R], *operation: Any) -> R:
        with self._naming_the_state():
            return super()._run(flow, *operation)

    @contextmanager
    def _naming_the_state(self) -> Iterator[None]:
        """Says who creates the table of the state, if it is the one that does not exist."""
        try:
            yield
        except TableNotFound as missing:
            if missing.table not in (state_table.name, self.table_name(state_table.name)):
                raise
            raise ConfigurationError(
                f"no consumer has run here: table {missing.table!r} does not exist; a worker creates it, "
                "and for AWS Lambda partita.aws.create_state_tables(db)"
            ) from None

    def wait_after(self, attempt: int) -> None:
        """Waits before the next attempt, with back-off and jitter."""
        self._sleep(self.context.pause(attempt).seconds)


def _check_names(db: Store, naming: object) -> None:
    """Rejects names of one stage that leave out the table of the state, which other stages then have, too."""
    if not isinstance(naming, Mapping) or state_table.name in naming:
        return
    if any(db.table_name(each) != each.name for each in db.design.tables):
        raise ConfigurationError(
            f"table_names of the store does not name the table of its consumers; add {state_table.name!r} to the "
            "mapping, so that stages in one database do not share their consumers"
        )
