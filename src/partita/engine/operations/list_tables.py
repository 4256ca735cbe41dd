"""ListTables: the names of the tables, a hundred at a time."""

from bisect import bisect_right

from partita.dynamodb.requests import ListTables
from partita.dynamodb.responses import ListTablesOutput
from partita.engine.constraints import check_members
from partita.engine.context import EngineContext


def list_tables(context: EngineContext, request: ListTables) -> ListTablesOutput:
    check_members(request)
    context.catalog.refresh()
    names = sorted(context.catalog.all_tables)
    if request.exclusive_start_table_name is not None:
        names = names[bisect_right(names, request.exclusive_start_table_name) :]
    limit = request.limit or 100
    last = names[limit - 1] if len(names) > limit else None
    return ListTablesOutput(table_names=names[:limit], last_evaluated_table_name=last)
