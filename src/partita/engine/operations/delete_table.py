"""DeleteTable: the table, its indexes, its change log; a protected table stays."""

from partita.engine.context import Context, Job
from partita.engine.members import check_members
from partita.engine.operations.describe_table import description
from partita.storage.contract import Transaction
from partita.wire.errors import ResourceNotFoundException, ValidationException
from partita.wire.requests import DeleteTable
from partita.wire.responses import DeleteTableOutput


def delete_table(context: Context, request: DeleteTable) -> Job:
    check_members(request)

    def job(txn: Transaction) -> DeleteTableOutput:
        try:
            table = context.known_table(request.table_name)
        except ResourceNotFoundException:
            raise ResourceNotFoundException(
                f"Requested resource not found: Table: {request.table_name} not found"
            ) from None
        if table.record.deletion_protection:
            raise ValidationException(
                "Resource cannot be deleted as it is currently protected against deletion. "
                "Disable deletion protection first."
            )
        described = description(context, txn, table, "DELETING")
        context.catalog.save(txn, None, table.record)
        return DeleteTableOutput(table_description=described)

    return job
