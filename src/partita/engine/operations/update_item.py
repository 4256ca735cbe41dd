"""UpdateItem: changes attributes of an item, and creates the item when it is missing."""

from partita.dynamodb.exceptions import RequestValidationException
from partita.dynamodb.requests import UpdateItem
from partita.dynamodb.responses import UpdateItemOutput
from partita.engine.constraints import check_members
from partita.engine.context import EngineContext, Job
from partita.engine.operations.item_writes import UpdateIntent, update_of, write_job
from partita.engine.parameters import check_combination, condition_of, scope_of


def update_item(context: EngineContext, request: UpdateItem) -> Job:
    check_members(request)
    try:
        check_combination(
            request,
            ["update_expression", "condition_expression"],
            ["attribute_updates", "expected", "conditional_operator"],
        )
        scope = scope_of(request)
        changes = update_of(request, scope)
        condition = condition_of(request, scope)
    except RequestValidationException as error:
        raise error.with_prefix() from None
    if scope:
        scope.check_all_used()
    return write_job(context, request, UpdateIntent(request.key or {}, changes), condition, UpdateItemOutput())
