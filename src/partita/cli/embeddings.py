"""`partita embeddings`: the models of a system's vectors, and the change from one to the next."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from partita.cli.search import Data, What
from partita.cli.tables import print_table
from partita.quantities import quantity

if TYPE_CHECKING:
    from partita.search.declared_embeddings import Embeddings
    from partita.search.embedding_migration import EmbeddingMigration, ModelProgress
    from partita.store.store import Store

Name = Annotated[str | None, Parameter(help="The name of the embeddings; needed where there are several.")]

embeddings = App(name="embeddings", help="Show the models that embed texts, and change from one to the next.")


@embeddings.command
def status(what: What, /, *, on: Data = "partita.db") -> None:
    """Show the models of a system's embeddings: how far their vectors are, and which one searches use."""
    from rich.table import Table

    from partita.search.embedding_migration import EmbeddingMigration

    table = Table("embeddings", "model", "searches", "vectors", "embedded", "lag", "running")
    problems = []
    with _opened(what, on) as (db, declared):
        for each in declared:
            for found in EmbeddingMigration(db, each).progress():
                used = "use it" if found.is_searched else "may use it" if found.is_kept else ""
                state = "complete" if found.is_complete else "incomplete"
                lag, running = f"{found.lag.total_seconds():,.0f} s", "yes" if found.is_running else "no"
                table.add_row(each.name, found.model, used, state, f"{found.embedded:,}", lag, running)
                problems += [f"{each.name}: {found.problem}"] if found.problem else []
    print_table(table)
    for problem in problems:
        print(problem)


@embeddings.command
def migrate(what: What, /, *, name: Name = None, on: Data = "partita.db") -> None:
    """Embed all texts by the declared model, and let searches use it when that is complete.

    Searches use the model before until then. Interrupt it at any time; it continues where it was.
    """
    with _chosen(what, name, on) as (declared, migration):
        found = migration.build(_show)
        _end_line()
        before = migration.switch()
        model = declared.current.model
        if before == model:
            print(f"{declared.name}: searches use {model} already")
            return
        print(f"{declared.name}: searches use {model} now, and used {before} before")
        if not found.is_running:
            print("no other process runs its consumer: start partita work with this declaration")
        print(f"when no program searches by {before} any more: remove it from was=, and run partita embeddings clean")


@embeddings.command
def clean(what: What, /, *, name: Name = None, on: Data = "partita.db") -> None:
    """Delete the vectors of models that are no longer declared."""
    with _chosen(what, name, on) as (declared, migration):
        deleted = migration.clean()
        print(f"{declared.name}: {quantity(deleted, 'vector')} deleted")


def _show(found: "ModelProgress") -> None:
    if sys.stderr.isatty():
        line = f"{found.model}: {found.embedded:,} embedded, {found.lag.total_seconds():,.0f} s behind"
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


def _end_line() -> None:
    if sys.stderr.isatty():
        print(file=sys.stderr)


@contextmanager
def _chosen(what: str, name: str | None, on: str) -> "Iterator[tuple[Embeddings, EmbeddingMigration]]":
    from partita.errors import ConfigurationError
    from partita.search.embedding_migration import EmbeddingMigration

    with _opened(what, on) as (db, declared):
        found = [each for each in declared if name in (None, each.name)]
        if len(found) != 1:
            known = ", ".join(each.name for each in declared)
            raise ConfigurationError(f"{what} has the embeddings {known}; choose one with --name")
        yield found[0], EmbeddingMigration(db, found[0])


@contextmanager
def _opened(what: str, address: str) -> "Iterator[tuple[Store, list[Embeddings]]]":
    from partita.cli.design_loader import load_system
    from partita.cli.open_systems import opened_store
    from partita.errors import ConfigurationError
    from partita.search.declared_embeddings import EmbeddingConsumer

    system = load_system(what, "design", "consumers")
    groups = [each.embeddings for each in system.consumers if isinstance(each, EmbeddingConsumer)]
    declared = {each.name: each for each in groups}
    if not declared:
        raise ConfigurationError(
            f'{what} has no embeddings; declare them: meanings = Embeddings("meanings", Meaning, embedder=...)'
        )
    with opened_store(address, system) as db:
        yield db, list(declared.values())
