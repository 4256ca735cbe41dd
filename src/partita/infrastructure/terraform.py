"""The Terraform configuration of a design: its tables and their alarms.

Tables are `aws_dynamodb_table`. That provider has no vector indexes, so a table with some is `awscc_dynamodb_table`,
whose arguments are those of CloudFormation in lower case.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from partita.design.tables import Table
from partita.infrastructure.alarms import MINUTES, Alarm, alarms
from partita.infrastructure.table_properties import Properties, ResourceNames, table_properties

Body = list[tuple[str, Any]]
"""The arguments and blocks of a block, in order; a block's value is a Block."""


class Block(msgspec.Struct, frozen=True):
    """A nested block."""

    body: Body


def configuration(tables: Iterable[Table], *, with_alarms: bool = True) -> str:
    """The text of a .tf file."""
    alarm_names, alarm_labels = ResourceNames(), ResourceNames()
    every, names = list(tables), ResourceNames()
    blocks = [_required_providers(every)]
    if with_alarms:
        about = "The ARN of an SNS topic that is notified of alarms; empty for none."
        body: Body = [("type", _Raw("string")), ("default", ""), ("description", about)]
        blocks.append(_text('variable "alarm_topic"', body))
    for table in every:
        kind = _resource_type(table)
        body = _awscc_table(table) if table.vector_indexes else _aws_table(table)
        body.append(("lifecycle", Block([("prevent_destroy", True)])))
        label = names.of(table.name, _label(table.name))
        blocks.append(_text(f'resource "{kind}" "{label}"', body))
        for alarm in alarms(table, alarm_names) if with_alarms else ():
            head = f'resource "aws_cloudwatch_metric_alarm" "{alarm_labels.of(alarm.name, _label(alarm.name))}"'
            blocks.append(_text(head, _alarm(alarm, table, label)))
    return "\n".join(blocks)


def _required_providers(tables: list[Table]) -> str:
    body: Body = [("aws", {"source": "hashicorp/aws", "version": ">= 6.30"})]
    if any(table.vector_indexes for table in tables):
        body.append(("awscc", {"source": "hashicorp/awscc", "version": ">= 1.0"}))
    return _text("terraform", [("required_providers", Block(body))])


def _resource_type(table: Table) -> str:
    return "awscc_dynamodb_table" if table.vector_indexes else "aws_dynamodb_table"


def _label(name: str) -> str:
    """The name of a resource: letters, digits and underscores, not beginning with a digit."""
    label = re.sub(r"[^a-zA-Z0-9_]", "_", name)
    return f"_{label}" if label[:1].isdigit() else label


# tables of the provider aws


def _aws_table(table: Table) -> Body:
    properties = table_properties(table)
    body: Body = [("name", properties["TableName"]), ("billing_mode", properties["BillingMode"])]
    body += _key(properties["KeySchema"])
    for each in properties["AttributeDefinitions"]:
        body.append(("attribute", Block([("name", each["AttributeName"]), ("type", each["AttributeType"])])))
    for each in properties.get("GlobalSecondaryIndexes", ()):
        body.append(("global_secondary_index", Block(_aws_index(each))))
    for each in properties.get("LocalSecondaryIndexes", ()):
        body.append(("local_secondary_index", Block(_aws_index(each, local=True))))
    body += _aws_settings(properties)
    return body


def _key(schema: list[Properties]) -> Body:
    """The key of a table or index: an argument for each attribute, or a block for each of several."""
    names = {"HASH": "hash_key", "RANGE": "range_key"}
    kinds = [each["KeyType"] for each in schema]
    if len(set(kinds)) == len(kinds):
        return [(names[each["KeyType"]], each["AttributeName"]) for each in schema]
    return [
        ("key_schema", Block([("attribute_name", each["AttributeName"]), ("key_type", each["KeyType"])]))
        for each in schema
    ]


def _aws_index(index: Properties, *, local: bool = False) -> Body:
    key = [(name, value) for name, value in _key(index["KeySchema"]) if not (local and name == "hash_key")]
    projection = index["Projection"]
    body: Body = [("name", index["IndexName"]), *key, ("projection_type", projection["ProjectionType"])]
    if "NonKeyAttributes" in projection:
        body.append(("non_key_attributes", projection["NonKeyAttributes"]))
    return body


def _aws_settings(properties: Properties) -> Iterator[tuple[str, Any]]:
    if stream := properties.get("StreamSpecification"):
        yield "stream_enabled", True
        yield "stream_view_type", stream["StreamViewType"]
    if ttl := properties.get("TimeToLiveSpecification"):
        yield "ttl", Block([("enabled", ttl["Enabled"]), ("attribute_name", ttl["AttributeName"])])
    if recovery := properties.get("PointInTimeRecoverySpecification"):
        days = ("recovery_period_in_days", recovery["RecoveryPeriodInDays"])
        yield "point_in_time_recovery", Block([("enabled", True), days])


# tables of the provider awscc


def _awscc_table(table: Table) -> Body:
    properties = table_properties(table)
    key = properties.pop("KeySchema")  # the provider takes it as JSON
    return [("key_schema", msgspec.json.encode(key).decode()), *_lower_case(properties).items()]


def _lower_case(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower(): _lower_case(each) for name, each in value.items()}
    return [_lower_case(each) for each in value] if isinstance(value, list) else value


# alarms


def _alarm(alarm: Alarm, table: Table, label: str) -> Body:
    name = "table_name" if table.vector_indexes else "name"
    dimensions = alarm.dimensions | {"TableName": _Raw(f"{_resource_type(table)}.{label}.{name}")}
    body: Body = [
        ("alarm_name", alarm.name),
        ("alarm_description", alarm.description),
        ("comparison_operator", "GreaterThanThreshold"),
        ("threshold", 0),
        ("evaluation_periods", MINUTES),
        ("treat_missing_data", "notBreaching"),
        ("alarm_actions", _Raw('var.alarm_topic == "" ? [] : [var.alarm_topic]')),
    ]
    if not alarm.operations:
        return [*body, *_metric(alarm, dimensions), ("statistic", "Sum")]
    ids = [f"m{at}" for at in range(len(alarm.operations))]
    total = " + ".join(f"FILL({each}, 0)" for each in ids)
    query: Body = [("id", "total"), ("expression", total), ("label", alarm.metric), ("return_data", True)]
    body.append(("metric_query", Block(query)))
    for each, operation in zip(ids, alarm.operations, strict=True):
        metric = [*_metric(alarm, {**dimensions, "Operation": operation}), ("stat", "Sum")]
        body.append(("metric_query", Block([("id", each), ("metric", Block(metric))])))
    return body


def _metric(alarm: Alarm, dimensions: Mapping[str, Any]) -> Body:
    return [
        ("namespace", "AWS/DynamoDB"),
        ("metric_name", alarm.metric),
        ("dimensions", dict(dimensions)),
        ("period", 60),
    ]


# text


class _Raw(str):
    """An expression of Terraform's language."""

    __slots__ = ()


def _text(head: str, body: Body, indent: str = "") -> str:
    inside = indent + "  "
    lines = [f"{indent}{head} {{"]
    for name, value in body:
        if isinstance(value, Block):
            lines.append(_text(name, value.body, inside).rstrip("\n"))
        else:
            lines.append(f"{inside}{name} = {_expression(value, inside)}")
    return "\n".join([*lines, f"{indent}}}"]) + "\n"


def _expression(value: Any, indent: str) -> str:
    if isinstance(value, _Raw):
        return str(value)
    if isinstance(value, str):
        quoted = msgspec.json.encode(value).decode()
        return quoted.replace("${", "$${").replace("%{", "%%{")
    if isinstance(value, Mapping):
        inside = indent + "  "
        members = [f"{inside}{name} = {_expression(each, inside)}" for name, each in value.items()]
        return "\n".join(["{", *members, f"{indent}}}"])
    if isinstance(value, list):
        return f"[{', '.join(_expression(each, indent) for each in value)}]"
    return msgspec.json.encode(value).decode()
