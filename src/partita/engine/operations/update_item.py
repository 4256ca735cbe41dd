"""UpdateItem: changes some attributes of an item, and makes the item when it is not there."""

from partita.engine.context import Context, Job
from partita.engine.members import check_members
from partita.engine.operations.item_writes import Updating, update_changes, write_job
from partita.engine.parameters import check_combination, condition_of, scope_of
from partita.wire.errors import RequestValidationException
from partita.wire.requests import UpdateItem
from partita.wire.responses import UpdateItemOutput


def update_item(context: Context, request: UpdateItem) -> Job:
    check_members(request)
    try:
        check_combination(
            request,
            ["update_expression", "condition_expression"],
            ["attribute_updates", "expected"],
        )
        scope = scope_of(request)
        changes = update_changes(request, scope)
        condition = condition_of(request, scope)
    except RequestValidationException as error:
        raise error.enveloped() from None
    if scope:
        scope.check_all_used()
    return write_job(context, request, Updating(request.key or {}, changes), condition, UpdateItemOutput())
