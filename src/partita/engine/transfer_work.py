"""Background work that moves many items: restores, exports, imports and bulk puts.

The modules of each are imported when there is one: most engines never have any.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from partita.engine.context import EngineContext
from partita.engine.schema import StoredTable, TableRecord
from partita.engine.transfers import AnyRecord, Transfers, WaitingTransfers, has_records
from partita.engine.writer import Writer
from partita.errors import CorruptRow, PartitaError
from partita.process_identity import is_dead
from partita.storage.contract import StorageTransaction

if TYPE_CHECKING:
    from partita.engine.bulk_puts import BulkPut
    from partita.engine.imports import TableImport
    from partita.engine.index_fill import IndexFill


def done_each(work: Iterable[Callable[[], bool]]) -> bool:
    """Does each piece of work; true if there is more of one.

    A damaged row or an unexpected error is raised when the others are done: none waits for ever behind one that fails.
    """
    more = False
    failed: Exception | None = None
    for each in work:
        try:
            more |= each()
        except CorruptRow as error:
            failed = failed or error
        except PartitaError:  # of the disk, which all need
            raise
        except Exception as error:  # noqa: BLE001 - raised below
            failed = failed or error
    if failed is not None:
        raise failed
    return more


class TransferWork:
    """What one engine moves, as far as this process has come."""

    def __init__(self, context: EngineContext, writer: Writer) -> None:
        self._context = context
        self._writer = writer
        self._fills: dict[tuple[str, bool], IndexFill | TableImport] = {}  # by table, and whether it fills indexes
        self._bulk_puts: dict[str, BulkPut] = {}
        self._waiting = WaitingTransfers(context)

    def step(self) -> bool:
        """Does one step of each but for exports; true if there is more."""
        restoring = [partial(self._go_on, name) for name in list(self._context.catalog.restoring)]
        return done_each([*restoring, self._close_fills, self._put_in_bulk])

    def close(self) -> None:
        for each in self._fills.values():
            each.close()

    def _go_on(self, name: str) -> bool:
        """Does the next step for a table that is being filled."""
        table = self._context.catalog.restoring[name]
        try:
            if table.record.fill is not None:
                return self._fill(name)
            if table.record.importing is not None:
                return self._import(table, table.record.importing)
            from partita.engine.restore_steps import restore_step

            return bool(self._writer.run(partial(restore_step, self._context, name)))
        except CorruptRow as error:
            self._fail(name, table.record.importing, error)
            return False

    def _fill(self, name: str) -> bool:
        from partita.engine.index_fill import IndexFill

        if (name, True) not in self._fills:
            self._fills[name, True] = IndexFill(self._context, self._writer, name, self._finish)
        return self._fills[name, True].step()

    def _import(self, table: StoredTable, import_id: str) -> bool:
        from partita.engine.imports import IMPORTS, TableImport, fail_import

        record = IMPORTS.find(self._context.storage, import_id)
        if record is not None and not self._waiting.is_here(record):
            if failure := self._waiting.failure(record):
                self._writer.run(lambda txn: fail_import(self._context, txn, import_id, failure))
            return False
        if record is not None:
            self._work_on(IMPORTS, record)
        if (table.name, False) not in self._fills:
            self._fills[table.name, False] = TableImport(self._context, self._writer, import_id, table.name)
        return self._fills[table.name, False].step()

    def _work_on(self, transfers: "Transfers[AnyRecord]", record: "AnyRecord") -> bool:
        """Takes a transfer over whose worker has ended; false if it has one."""
        if not record.is_running or not is_dead(record.worker):
            return False
        self._writer.run(lambda txn: transfers.take_over(txn, record))
        return True

    def _finish(self, txn: StorageTransaction, record: TableRecord) -> None:
        if record.importing is not None:
            from partita.engine.imports import finish_import

            finish_import(self._context, txn, record.importing)

    def _fail(self, name: str, import_id: str | None, error: CorruptRow) -> None:
        import logging

        if import_id is None:
            from partita.engine.restore_steps import fail_restore

            self._writer.run(partial(fail_restore, self._context, name, str(error)))
            logging.getLogger("partita.engine").error("the restore of %s failed; delete the table: %s", name, error)
            return
        from partita.engine.imports import fail_import

        failure = ("InternalServerError", str(error))
        self._writer.run(lambda txn: fail_import(self._context, txn, import_id, failure))

    def export(self, table: StoredTable, export_id: str) -> bool:
        from partita.engine.exports import EXPORTS, ExportWork, fail_export
        from partita.engine.index_fill import WorkLock

        export = EXPORTS.find(self._context.storage, export_id)
        if export is None or not export.is_running:
            return False
        if not self._waiting.is_here(export):
            if abandoned := self._waiting.failure(export):
                self._writer.run(partial(fail_export, self._context, export, abandoned))
            return False
        if self._work_on(EXPORTS, export):
            return True
        lock = WorkLock(getattr(self._context.storage, "path", None), "exporting")
        if not lock.acquire():
            return False  # another process is writing the same files
        try:
            found = EXPORTS.find(self._context.storage, export_id)
            if found is None or not found.is_running:
                return False
            return ExportWork(self._context, self._writer, found, table).step()
        except CorruptRow as error:
            failure = ("InternalServerError", str(error))
            self._writer.run(partial(fail_export, self._context, export, failure))
            return False
        finally:
            lock.release()

    def _put_in_bulk(self) -> bool:
        if not has_records(self._context.storage, "bulk-operation"):
            return False
        from partita.engine.bulk_puts import BULK_PUTS, BulkPut

        more = False
        for each in BULK_PUTS.all(self._context.storage):
            if not each.is_running:
                self._bulk_puts.pop(each.id, None)
                continue
            work = self._bulk_puts.setdefault(each.id, BulkPut(self._context, self._writer, each.id))
            if each.status == "CANCELLING" or self._waiting.is_here(each):
                self._work_on(BULK_PUTS, each)
                more |= work.step()
            elif failure := self._waiting.failure(each):
                work.fail(failure)
        return more

    def _close_fills(self) -> bool:
        """Closes the temporary files of what is complete; nothing more is due for them."""
        restoring = self._context.catalog.restoring
        for name, is_fill in list(self._fills):
            if name not in restoring or (restoring[name].record.fill is not None) != is_fill:
                self._fills.pop((name, is_fill)).close()
        return False

    def drop_old(self) -> None:
        """Drops records after 90 days."""
        if any(has_records(self._context.storage, each) for each in ("export", "import", "bulk-operation")):
            self._writer.run(self._drop)

    def _drop(self, txn: StorageTransaction) -> None:
        from partita.engine.bulk_puts import BULK_PUTS
        from partita.engine.exports import EXPORTS
        from partita.engine.imports import IMPORTS

        for records in (BULK_PUTS, EXPORTS, IMPORTS):
            records.drop_old(txn, self._context.clock())
