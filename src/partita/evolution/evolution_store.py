"""The store of an application: it runs flows, and its design has a state of its own."""

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, TypeVar

from partita.plan.design import Design
from partita.store.design_watch import own_design
from partita.store.flows import Flow, run
from partita.store.store import Store

R = TypeVar("R")

REQUESTS_AT_ONCE = 8


class EvolutionStore(Store):
    """A store beside the program's, on the same tables."""

    @cached_property
    def threads(self) -> ThreadPoolExecutor:
        """The threads that send several requests at a time."""
        return ThreadPoolExecutor(REQUESTS_AT_ONCE, "partita-updates")

    def end_threads(self) -> None:
        """Ends them, if there are any; the next request of theirs begins others."""
        threads = self.__dict__.pop("threads", None)
        if threads is not None:
            threads.shutdown()

    def run_flow(self, flow: Flow[R]) -> R:
        """Runs a flow on the store's backend."""
        return run(flow, self.backend, self._sleep)

    def sleep(self, seconds: float) -> None:
        """Waits, as between two attempts of a request."""
        self._sleep(seconds)


def evolution_store(db: Store, design: Design | None = None) -> EvolutionStore:
    """A store on the backend of another one, with its clock; of its design and tables, or of another design."""
    settings: dict[str, Any] = {"clock": db.context.clock, "sleep": db._sleep}
    if design is not None:
        return EvolutionStore(db.backend, design, **settings)
    names = {table.name: db.table_name(table) for table in db.design.tables}
    return EvolutionStore(db.backend, own_design(db.design), table_names=names, **settings)
