"""ListStreams: the streams that can be read, for a day those of deleted tables too."""

from partita.dynamodb.exceptions import INVALID, ValidationException
from partita.dynamodb.limits import STREAM_LIST
from partita.dynamodb.stream_shapes import ListStreams, ListStreamsOutput, StreamSummary
from partita.engine.constraints import Constraint, report_violations
from partita.engine.context import EngineContext
from partita.engine.streams import streams

_MEMBERS = (
    Constraint("table_name", pattern="[a-zA-Z0-9_.-]+", min_length=3, max_length=255, is_table_name=True),
    Constraint("limit", minimum=1),
)


def list_streams(context: EngineContext, request: ListStreams) -> ListStreamsOutput:
    report_violations(request, _MEMBERS)
    limit = request.limit or STREAM_LIST
    if limit > STREAM_LIST:
        raise ValidationException(f"{INVALID}Limit cannot be greater than the maximum allowed size: {STREAM_LIST}")
    context.catalog.refresh()
    found = [each for each in streams(context) if request.table_name in (None, each.table.name)]
    found.sort(key=lambda each: each.arn)
    if request.exclusive_start_stream_arn is not None:
        found = [each for each in found if each.arn > request.exclusive_start_stream_arn]
    return ListStreamsOutput(
        streams=[
            StreamSummary(stream_arn=each.arn, table_name=each.table.name, stream_label=each.record.label)
            for each in found[:limit]
        ],
        last_evaluated_stream_arn=found[limit - 1].arn if len(found) > limit else None,
    )
