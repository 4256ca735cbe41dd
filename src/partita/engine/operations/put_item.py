"""PutItem: a whole item, which replaces one with the same key."""

from partita.dynamodb.exceptions import RequestValidationException
from partita.dynamodb.requests import PutItem
from partita.dynamodb.responses import PutItemOutput
from partita.engine.constraints import check_members
from partita.engine.context import EngineContext, Job
from partita.engine.operations.item_writes import PutIntent, write_job
from partita.engine.parameters import check_combination, condition_of, scope_of


def put_item(context: EngineContext, request: PutItem) -> Job:
    check_members(request)
    try:
        intent = PutIntent.of(request.item or {})
        check_combination(request, ["condition_expression"], ["expected", "conditional_operator"])
        scope = scope_of(request)
        condition = condition_of(request, scope)
        if request.return_values not in (None, "NONE", "ALL_OLD"):
            raise RequestValidationException("ReturnValues can only be ALL_OLD or NONE")
    except RequestValidationException as error:
        raise error.with_prefix() from None
    intent.check_size()
    if scope:
        scope.check_all_used()
    return write_job(context, request, intent, condition, PutItemOutput())
