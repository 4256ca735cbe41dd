"""DeleteItem: deletes one item; a missing item is not an error."""

from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.requests import DeleteItem
from partita.dynamodb.responses import DeleteItemOutput
from partita.engine.constraints import check_members
from partita.engine.context import EngineContext, Job
from partita.engine.operations.item_writes import DeleteIntent, write_job
from partita.engine.parameters import check_combination, condition_of, scope_of


def delete_item(context: EngineContext, request: DeleteItem) -> Job:
    check_members(request)
    check_combination(request, ["condition_expression"], ["expected", "conditional_operator"])
    if request.return_values not in (None, "NONE", "ALL_OLD"):
        raise ValidationException("ReturnValues can only be ALL_OLD or NONE")
    scope = scope_of(request)
    condition = condition_of(request, scope)
    if scope:
        scope.check_all_used()
    return write_job(context, request, DeleteIntent(request.key or {}), condition, DeleteItemOutput())
