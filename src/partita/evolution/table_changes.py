"""Changes of tables: creating tables and indexes before anything is written, dropping indexes when all is done.

DynamoDB changes a table by one index at a time and may take hours for it, so a change is asked for and then waited for.
The wait says what it is for, and may end with a MigrationBlocked: the next run finds the change under way and goes on.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from partita.design.tables import Table
from partita.dynamodb import requests as wire
from partita.dynamodb.exceptions import (
    DynamoDBError,
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    UnknownOperationException,
    ValidationException,
)
from partita.dynamodb.shapes import DeleteIndexAction, IndexUpdate, TableDescription
from partita.errors import MigrationBlocked
from partita.evolution.evolution_store import EvolutionStore
from partita.plan.table_definitions import Difference, create_table, differences
from partita.store.flows import Flow
from partita.store.retries import send_idempotent
from partita.store.table_names import actual_table
from partita.store.table_setup import make_settings

POLL = 0.5  # seconds at most between two looks at a table
FIRST_POLL = 0.02
ATTEMPTS = 5


class TableWait(msgspec.Struct, frozen=True):
    """How to wait for tables and indexes: who hears of it, and for how many seconds at most, each; None is for ever."""

    report: Callable[[str], None] = lambda _: None
    patience: float | None = None


def change_tables(db: EvolutionStore, wait: TableWait) -> list[str]:
    """Creates what is missing, one index at a time, and waits for it; returns what was done.

    Tables that are as they should be need no permission to change tables: other tools may have created them.
    """
    done: list[str] = []
    for table in actual_tables(db):
        if describe(db, table) is None and _sent(db, create_table(table)):
            done.append(f"table {table.name} created")
        description = _active(db, table.name, wait)
        while (missing := _missing(db, table, description)) is not None:
            assert missing.request is not None
            if _sent(db, missing.request):
                done.append(missing.done)
            description = _active(db, table.name, wait)
        if any(missing_settings(db, table)):
            db.run_flow(make_settings(db.context, table))
    return done


def _missing(db: EvolutionStore, table: Table, description: TableDescription) -> Difference | None:
    """The next difference that a request removes; MigrationBlocked where there are others that nothing removes."""
    found = list(differences(table, description))
    blocked = [each.sentence for each in found if each.request is None and "is not in the design" not in each.sentence]
    if blocked:
        raise MigrationBlocked(db.design.name, blocked)
    return next((each for each in found if each.request is not None), None)


def drop_indexes(db: EvolutionStore, wait: TableWait) -> list[str]:
    """Drops the indexes that the design does not have."""
    done = []
    for table in actual_tables(db):
        while names := list(superfluous_indexes(table, _active(db, table.name, wait))):
            drop = IndexUpdate(delete=DeleteIndexAction(index_name=names[0]))
            if _sent(db, wire.UpdateTable(table_name=table.name, global_secondary_index_updates=[drop])):
                done.append(f"index {names[0]} dropped")
    return done


def _sent(db: EvolutionStore, request: wire.Request[Any]) -> bool:
    """Sends a change of a table; false where another process has made it.

    While another change of the table is being made, it is sent again a few times.
    """
    for _ in range(ATTEMPTS):
        try:
            db.run_flow(send_idempotent(db.context, request))
        except (ResourceInUseException, LimitExceededException) as error:
            rejection: DynamoDBError = error
            db.sleep(POLL)
        except ResourceNotFoundException:
            return False
        except ValidationException as error:
            if "already exists" not in str(error):
                raise
            return False
        else:
            return True
        if isinstance(request, wire.CreateTable):
            return False
    raise rejection


def _active(db: EvolutionStore, name: str, wait: TableWait) -> TableDescription:
    """The table once it and all of its indexes can be used."""
    begun, pause = time.monotonic(), FIRST_POLL
    while True:
        description = _described(db, name)
        unfinished = unfinished_parts(description)
        if not unfinished:
            return description
        waited = time.monotonic() - begun
        if wait.patience is not None and waited >= wait.patience:
            raise MigrationBlocked(db.design.name, [f"{each}, after {waited:,.0f} seconds" for each in unfinished])
        wait.report(f"waiting: {unfinished[0]}")
        db.sleep(pause)
        pause = min(pause * 2, POLL)


def unfinished_parts(description: TableDescription) -> list[str]:
    """The table and its indexes that cannot be used yet, each with its status."""
    states = {f"table {description.table_name}": description.table_status}
    for each in description.global_secondary_indexes or ():
        states[f"index {each.index_name} of table {description.table_name}"] = each.index_status
    for vector in description.vector_indexes or ():
        states[f"vector index {vector.index_name} of table {description.table_name}"] = vector.index_status
    order = sorted(states, key=lambda name: name.startswith("table "))  # an index says more than that it is updated
    return [f"{name} is {states[name]}" for name in order if states[name] not in ("ACTIVE", None)]


def superfluous_indexes(table: Table, description: TableDescription) -> Iterator[str]:
    """The indexes of a table that the design does not have."""
    wanted = {index.name for index in table.indexes}
    for each in description.global_secondary_indexes or ():
        if each.index_name is not None and each.index_name not in wanted:
            yield each.index_name


def missing_settings(db: EvolutionStore, table: Table) -> Iterator[str]:
    """The settings that an existing table does not have: TTL and point-in-time recovery; `change_tables` makes them."""
    try:
        if table.ttl is not None and db.run_flow(_ttl(db, table)) != table.ttl:
            yield f"set the TTL of table {table.name} to {table.ttl}"
        if table.recovery_days is not None and db.run_flow(_recovery_days(db, table)) != table.recovery_days:
            yield f"set the recovery of table {table.name} to {table.recovery_days} days"
    except UnknownOperationException:
        return  # a backend without such a setting


def _ttl(db: EvolutionStore, table: Table) -> Flow[str | None]:
    reply = yield from send_idempotent(db.context, wire.DescribeTimeToLive(table_name=table.name))
    found = reply.time_to_live_description
    return None if found is None else found.attribute_name


def _recovery_days(db: EvolutionStore, table: Table) -> Flow[int | None]:
    reply = yield from send_idempotent(db.context, wire.DescribeContinuousBackups(table_name=table.name))
    backups = reply.continuous_backups_description
    found = None if backups is None else backups.point_in_time_recovery_description
    return None if found is None else found.recovery_period_in_days


def actual_tables(db: EvolutionStore) -> list[Table]:
    """The tables of the design, under their names on the backend."""
    return [actual_table(db.context.table_names, table) for table in db.design.tables]


def describe(db: EvolutionStore, table: Table) -> TableDescription | None:
    """The table as it exists, though it or an index of it may not be ready yet; None where it does not exist."""
    try:
        return _described(db, table.name)
    except ResourceNotFoundException:
        return None


def _described(db: EvolutionStore, name: str) -> TableDescription:
    reply = db.run_flow(send_idempotent(db.context, wire.DescribeTable(table_name=name)))
    return reply.table or TableDescription()
