"""`partita search`: searches text indexes, builds them again, and shows their state."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter
from cyclopts.validators import Number

from partita.cli.options import Address
from partita.cli.tables import print_table
from partita.quantities import quantity

if TYPE_CHECKING:
    from partita.search.text_index import TextIndex
    from partita.store.store import Store

What = Annotated[str, Parameter(help="An installed system, or module or module:attribute of your own: shop.consumers.")]
Index = Annotated[str | None, Parameter(help="The name of the text index; needed where there are several.")]
Size = Annotated[int, Parameter(validator=Number(gte=1, lte=100), help="The number of matches.")]
Data = Annotated[
    Address,
    Parameter(help="Where the data is: a file, http://HOST:PORT (any DynamoDB endpoint) or dynamodb://REGION."),
]

search = App(name="search", help="Search the text indexes of a system, build them again, and show their state.")


@search.command
def query(
    what: What,
    text: Annotated[str, Parameter(help='The words to find: mesa carvalho, "a phrase", prefix*.')],
    /,
    *,
    index: Index = None,
    size: Size = 10,
    on: Data = "partita.db",
) -> None:
    """Find entities by their words, and print each with its score and what was found in it."""
    with _opened(what, on) as (db, indexes):
        page = _one(what, indexes, index).find(db, text, size=size)
        for match in page:
            model = type(match.entity).__name__
            key = ", ".join(str(getattr(match.entity, name)) for name in _key_fields(match.entity))
            print(f"{match.score:8.3f}  {model} {key}")
            for path, excerpts in match.highlights.items():
                for each in excerpts:
                    print(f"          {path}: {_marked(each.parts())}")
        shown = f"{len(page)} of {page.total}" if page.cursor else str(len(page))
        print(f"{shown} found")


@search.command
def status(what: What, /, *, on: Data = "partita.db") -> None:
    """Show the text indexes of a system: their documents, their size, and how far behind the data they are."""
    from rich.table import Table

    from partita.consumers.administration import ConsumerAdministration
    from partita.errors import NotFound

    table = Table("index", "entities", "documents", "size", "state", "lag", "place")
    with _opened(what, on) as (db, indexes):
        for each in indexes:
            found = each.status(db)
            try:
                consumer = ConsumerAdministration(db, each.name).status()
            except NotFound:
                table.add_row(each.name, ", ".join(each.fields), "", "", "never run", "", found.place)
                continue
            backlog = "" if consumer.backlog is None else f"{consumer.backlog.records:,}"
            lag = f"{backlog} ({consumer.lag.total_seconds():,.0f} s)"
            state = "building" if found.is_building else "complete"
            size = f"{found.bytes / 1e6:,.1f} MB"
            table.add_row(each.name, ", ".join(each.fields), f"{found.documents:,}", size, state, lag, found.place)
    print_table(table)


@search.command
def rebuild(what: What, /, *, index: Index = None, on: Data = "partita.db") -> None:
    """Build a text index again from a scan; until it is done, the present one is searched.

    A process that runs the index begins with it within a minute. If none does, this command builds it.
    """
    from partita.consumers.administration import reset
    from partita.consumers.consumer_store import ConsumerStore
    from partita.consumers.worker import create_state_tables

    with _opened(what, on) as (db, indexes):
        create_state_tables(db)
        chosen = _one(what, indexes, index)
        reset(ConsumerStore(db), chosen.name)
        _build(db, chosen)


def _build(db: "Store", index: "TextIndex[Any]") -> None:
    """Runs the index until it is complete, unless another process does."""
    from partita.consumers.catching_up import catch_up

    def show(handled: int) -> None:
        print(f"\r{index.name}: {quantity(handled, 'item')} read", end="", file=sys.stderr, flush=True)

    is_terminal = sys.stderr.isatty()
    if not catch_up(db, index, show if is_terminal else lambda _: None):
        print(f"{index.name}: another process runs it, and builds it again within a minute")
        return
    if is_terminal:
        print(file=sys.stderr)
    print(f"{index.name}: {quantity(index.status(db).documents, 'document')}")


def _marked(parts: "Iterator[tuple[str, bool]]") -> str:
    """What was found, in bold on a terminal and in brackets elsewhere."""
    before, after = ("\x1b[1m", "\x1b[0m") if sys.stdout.isatty() else ("[", "]")
    return "".join(f"{before}{text}{after}" if is_found else text for text, is_found in parts).replace("\n", " ")


def _key_fields(entity: Any) -> tuple[str, ...]:
    from partita.design.models import model_of

    return model_of(type(entity)).key.fields


def _one(what: str, indexes: "list[TextIndex[Any]]", name: str | None) -> "TextIndex[Any]":
    from partita.errors import ConfigurationError

    found = [each for each in indexes if name in (None, each.name)]
    if len(found) != 1:
        known = ", ".join(each.name for each in indexes)
        raise ConfigurationError(f"{what} has the text indexes {known}; choose one with --index")
    return found[0]


@contextmanager
def _opened(what: str, address: str) -> "Iterator[tuple[Store, list[TextIndex[Any]]]]":
    from partita.cli.design_loader import load_system
    from partita.cli.open_systems import opened_store
    from partita.errors import ConfigurationError
    from partita.search.text_index import TextIndex

    system = load_system(what, "design", "consumers")
    indexes = [each for each in system.consumers if isinstance(each, TextIndex)]
    if not indexes:
        raise ConfigurationError(
            f'{what} has no text index; declare one: search = TextIndex("search", TextFields(...))'
        )
    with opened_store(address, system) as db:
        yield db, indexes
