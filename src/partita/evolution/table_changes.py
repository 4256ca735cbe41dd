"""Changes of tables: creating tables and indexes before anything is written, dropping indexes when all is done."""

from collections.abc import Iterator

from partita.design.tables import Table
from partita.dynamodb import requests as wire
from partita.dynamodb.exceptions import ResourceNotFoundException, UnknownOperationException
from partita.dynamodb.shapes import DeleteIndexAction, IndexUpdate, TableDescription
from partita.errors import MigrationBlocked
from partita.evolution.evolution_store import EvolutionStore
from partita.plan.table_definitions import create_table, differences
from partita.store.flows import Flow
from partita.store.retries import send_idempotent
from partita.store.table_names import actual_table
from partita.store.table_setup import activate, active_table


def change_tables(db: EvolutionStore) -> list[str]:
    """Creates what is missing, one index at a time, and waits for it; returns what was done."""
    done: list[str] = []
    for table in actual_tables(db):
        description = describe(db, table)
        if description is None:
            db.run_flow(send_idempotent(db.context, create_table(table)))
            db.run_flow(activate(db.context, table))
            done.append(f"table {table.name} created")
            continue
        done += db.run_flow(_change_table(db, table, description))
    return done


def _change_table(db: EvolutionStore, table: Table, description: TableDescription) -> Flow[list[str]]:
    done = []
    blocked = []
    for each in differences(table, description):
        if each.request is not None:
            yield from send_idempotent(db.context, each.request)
            yield from active_table(db.context, table.name)
            done.append(each.sentence.replace("is missing", "created"))
        elif "is not in the design" not in each.sentence:
            blocked.append(each.sentence)
    if blocked:
        raise MigrationBlocked(db.design.name, blocked)
    yield from activate(db.context, table)
    return done


def drop_indexes(db: EvolutionStore) -> list[str]:
    """Drops the indexes that the design does not have."""
    done = []
    for table in actual_tables(db):
        description = describe(db, table)
        for name in [] if description is None else superfluous_indexes(table, description):
            drop = IndexUpdate(delete=DeleteIndexAction(index_name=name))
            request = wire.UpdateTable(table_name=table.name, global_secondary_index_updates=[drop])
            db.run_flow(send_idempotent(db.context, request))
            db.run_flow(active_table(db.context, table.name))
            done.append(f"index {name} dropped")
    return done


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
    """The table as it exists, or None."""
    try:
        return db.run_flow(active_table(db.context, table.name))
    except ResourceNotFoundException:
        return None
