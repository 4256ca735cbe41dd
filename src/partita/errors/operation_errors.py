"""Errors of what runs beside reads and writes: changes of a design, jobs, backups."""

from collections.abc import Sequence
from datetime import datetime

from partita.errors.base_error import value_text
from partita.errors.store_errors import StoredItemInvalid, StoreError


class DesignMismatch(StoreError):
    """The data does not satisfy the design: some of its answers would be wrong.

    `differences` are sentences. `is_older`: the data was applied to a newer design, and the program has an earlier one.
    """

    def __init__(self, design: str, differences: Sequence[str], *, is_older: bool = False) -> None:
        super().__init__(design, tuple(differences))
        self.design = design
        self.differences = tuple(differences)
        self.is_older = is_older

    def __str__(self) -> str:
        listed = "".join(f"\n  {each}" for each in self.differences[:20])
        more = f"\n  and {len(self.differences) - 20} more" if len(self.differences) > 20 else ""
        if self.is_older:
            return (
                f"design {self.design!r} is older than the data, and would not keep it right; deploy the program with "
                f"the newer design. They differ in:{listed}{more}"
            )
        return (
            f"the data does not satisfy design {self.design!r}; run `partita plan MODULE --on ADDRESS` to see what is "
            f"to be done and `partita apply` to do it. They differ in:{listed}{more}"
        )


class DesignRecordInvalid(StoredItemInvalid):
    """What is recorded about the design of data, or about a program, cannot be read: nobody knows what the data has."""

    def __str__(self) -> str:
        key = " ".join(map(str, self.stored_key.values()))
        return (
            f"item {key} of table partita-designs cannot be read: {self.reason}. A newer version of Partita may have "
            "written it: update this one. If it is damaged, delete the item; the data is then compared with the design "
            "as data without a record is, and `partita apply` records it again"
        )


class MigrationBlocked(StoreError):
    """Something stands in the way of applying a design; what was done so far stays, and the next run goes on."""

    def __init__(self, design: str, reasons: Sequence[str]) -> None:
        super().__init__(design, tuple(reasons))
        self.design = design
        self.reasons = tuple(reasons)

    def __str__(self) -> str:
        listed = "".join(f"\n  {each}" for each in self.reasons[:50])
        more = f"\n  and {len(self.reasons) - 50} more" if len(self.reasons) > 50 else ""
        return f"design {self.design!r} is not applied yet; run `partita apply` again afterwards:{listed}{more}"


class NotReady(StoreError):
    """Something that `partita apply` is still preparing: it would give wrong answers now."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.name} is not ready: {self.reason}; it can be used when `partita apply` has finished"


class ReadOnlyStore(StoreError):
    """A write through a store that was opened with `read_only=True`; nothing was sent."""

    def __init__(self, operation: str) -> None:
        super().__init__(operation)
        self.operation = operation

    def __str__(self) -> str:
        return f"{self.operation}: the store was opened with read_only=True; nothing was sent"


class LeaseLost(StoreError):
    """Another process has taken over the job, since this one did not renew its lease; nothing was written."""

    def __init__(self, job: str) -> None:
        super().__init__(job)
        self.job = job

    def __str__(self) -> str:
        return f"job {self.job!r}: another process has taken over its lease; this run cannot write any more"


class RestorePointMissing(StoreError):
    """A table cannot be restored as asked; `nearest` has the moments that it can be restored to."""

    def __init__(self, table: str, problem: str, nearest: Sequence[str]) -> None:
        super().__init__(table, problem, nearest)
        self.table = table
        self.problem = problem
        self.nearest = list(nearest)

    def __str__(self) -> str:
        return f"{self.table}: {self.problem}; there is {' and '.join(self.nearest) or 'nothing to restore it from'}"


class RestoreFailed(StoreError):
    """The table of a restore is gone."""

    def __init__(self, table: str) -> None:
        super().__init__(table)
        self.table = table

    def __str__(self) -> str:
        return f"{self.table}: the restore has failed, and its table is gone"


class TransferFailed(StoreError):
    """An export, an import, a bulk put or a move has failed; `code` is DynamoDB's, where it has one."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class RehearsalFailed(StoreError):
    """A restored table has other items than it should."""

    def __init__(self, table: str, restored: str, problem: str) -> None:
        super().__init__(table, restored, problem)
        self.table = table
        self.restored = restored
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.table}: restored {self.restored}, {self.problem}"


class JobRunning(StoreError):
    """The job has a run that has not ended, in this process or another one."""

    def __init__(self, job: str, scheduled_at: datetime) -> None:
        super().__init__(job, scheduled_at)
        self.job = job
        self.scheduled_at = scheduled_at

    def __str__(self) -> str:
        when = value_text(self.scheduled_at)
        return f"job {self.job!r}: its run of {when} has not ended; run it by hand afterwards"
