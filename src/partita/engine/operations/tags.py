"""TagResource, UntagResource and ListTagsOfResource: the tags of a table."""

import unicodedata
from base64 import urlsafe_b64decode, urlsafe_b64encode

from msgspec.structs import replace

from partita.dynamodb.exceptions import (
    INVALID,
    AccessDeniedException,
    LimitExceededException,
    ResourceNotFoundException,
    ValidationException,
)
from partita.dynamodb.limits import TAG_PAGE, TAGS
from partita.dynamodb.shapes import Tag
from partita.dynamodb.tag_shapes import (
    EmptyOutput,
    ListTagsOfResource,
    ListTagsOfResourceOutput,
    TagResource,
    UntagResource,
)
from partita.engine.constraints import TAG, Constraint, report_violations
from partita.engine.context import EngineContext, Job
from partita.engine.schema import StoredTable
from partita.storage.contract import StorageTransaction


def tag_resource(context: EngineContext, request: TagResource) -> Job:
    name = _table_name(context, request.resource_arn)
    report_violations(request, (Constraint("tags", required=True, children=TAG),))
    if not request.tags:
        raise ValidationException("Atleast one Tag needs to be provided as Input.")
    check_tags(request.tags)

    def job(txn: StorageTransaction) -> EmptyOutput:
        record = _find_table(context, name, request.resource_arn).record
        tags = record.tags | {tag.key or "": tag.value or "" for tag in request.tags or []}
        if len(tags) > TAGS:
            raise LimitExceededException(f"Subscriber limit exceeded: A resource can have at most {TAGS} tags")
        context.write_catalog.save(txn, replace(record, tags=tags), record)
        return EmptyOutput()

    return job


def check_tags(tags: list[Tag]) -> None:
    """Rejects duplicate keys, reserved keys, other characters than AWS allows, and too many tags."""
    if len(tags) > TAGS:
        raise ValidationException(f"{INVALID}Too many tags, a resource can have at most {TAGS}")
    keys = [tag.key or "" for tag in tags]
    if len(set(keys)) != len(keys):
        raise ValidationException(f"{INVALID}Duplicate tag keys found")
    for key in keys:
        if key.lower().startswith("aws:"):
            raise ValidationException(f"{INVALID}Tag keys that begin with aws: are reserved, TagKey: {key}")
    for tag in tags:
        for member, text in (("TagKey", tag.key or ""), ("TagValue", tag.value or "")):
            if not all(map(_is_allowed, text)):
                raise ValidationException(
                    f"{INVALID}Tags can have letters, white space, numbers, and + - = . _ : / @ only, {member}: {text}"
                )


def _is_allowed(character: str) -> bool:
    """Developer Guide, "Tagging restrictions in DynamoDB"; AWS allows @ in tags of all services."""
    return character in "+-=._:/@" or unicodedata.category(character)[0] in "LNZ"


def untag_resource(context: EngineContext, request: UntagResource) -> Job:
    name = _table_name(context, request.resource_arn)
    report_violations(request, (Constraint("tag_keys", required=True),))
    if not request.tag_keys:
        raise ValidationException("Atleast one Tag Key needs to be provided as Input.")

    def job(txn: StorageTransaction) -> EmptyOutput:
        record = _find_table(context, name, request.resource_arn).record
        left = {key: value for key, value in record.tags.items() if key not in (request.tag_keys or [])}
        context.write_catalog.save(txn, replace(record, tags=left), record)
        return EmptyOutput()

    return job


def list_tags_of_resource(context: EngineContext, request: ListTagsOfResource) -> ListTagsOfResourceOutput:
    name = _table_name(context, request.resource_arn)
    context.catalog.refresh()
    table = context.catalog.tables.get(name)
    if table is None:
        raise AccessDeniedException(
            f"User: arn:aws:iam::{context.account}:root is not authorized to perform: dynamodb:ListTagsOfResource "
            f"on resource: {request.resource_arn}"
        )
    keys = sorted(table.record.tags)
    if request.next_token is not None:
        keys = keys[_start(request.next_token) :]
    page = keys[:TAG_PAGE]
    reached = len(table.record.tags) - len(keys) + len(page)
    more = len(keys) > len(page)
    return ListTagsOfResourceOutput(
        tags=[Tag(key=key, value=table.record.tags[key]) for key in page],
        next_token=urlsafe_b64encode(b"%d" % reached).decode() if more else None,
    )


def _start(token: str) -> int:
    try:
        return max(0, int(urlsafe_b64decode(token)))
    except ValueError:
        raise ValidationException("Invalid NextToken") from None


def _table_name(context: EngineContext, arn: str | None) -> str:
    """The table of an ARN; indexes and streams cannot have tags."""
    if arn is None:
        raise ValidationException("Invalid TableArn")
    parts = arn.split(":", 5)
    is_table = len(parts) == 6 and parts[:3] == ["arn", "aws", "dynamodb"] and parts[5].startswith("table/")
    if not is_table or "/" in parts[5].removeprefix("table/"):
        raise ValidationException(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    return parts[5].removeprefix("table/")


def _find_table(context: EngineContext, name: str, arn: str | None) -> StoredTable:
    table = context.write_catalog.tables.get(name)
    if table is None:
        raise ResourceNotFoundException(f"Requested resource not found: ResourcArn: {arn} not found")
    return table
