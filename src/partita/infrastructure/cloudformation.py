"""The CloudFormation template of a design: its tables, which outlive the stack, and their alarms."""

from collections.abc import Iterable
from typing import Any

from partita.design.tables import Table
from partita.infrastructure.alarms import MINUTES, Alarm, alarms
from partita.infrastructure.table_properties import Properties, ResourceNames, logical_name, table_properties

Template = dict[str, Any]


def template(description: str, tables: Iterable[Table], *, with_alarms: bool = True) -> Template:
    """A template, to be written as JSON."""
    resources: Template = {}
    found: Template = {"AWSTemplateFormatVersion": "2010-09-09", "Description": description}
    every, names, alarm_names = list(tables), ResourceNames(), ResourceNames()
    for table in every:
        resources[_resource_name(names, table)] = _table(table)
    if with_alarms:
        found["Parameters"] = {
            "AlarmTopic": {
                "Type": "String",
                "Default": "",
                "Description": "The ARN of an SNS topic that is notified of alarms; empty for none.",
            }
        }
        found["Conditions"] = {"HasAlarmTopic": {"Fn::Not": [{"Fn::Equals": [{"Ref": "AlarmTopic"}, ""]}]}}
        for table in every:
            for alarm in alarms(table, alarm_names):
                name = names.of(str(alarm.dimensions | {"": alarm.metric}), logical_name(alarm.name, "Alarm"))
                resources[name] = _alarm(alarm, _resource_name(names, table))
    return found | {"Resources": resources}


def _table(table: Table) -> Template:
    found: Template = {
        "Type": "AWS::DynamoDB::Table",
        "DeletionPolicy": "Retain",
        "UpdateReplacePolicy": "Retain",
        "Properties": table_properties(table),
    }
    if any(index.search_names for index in table.vector_indexes):
        # E3039 compares AttributeDefinitions with key schemas, and does not know the search schemas of vector indexes.
        found["Metadata"] = {"cfn-lint": {"config": {"ignore_checks": ["E3039"]}}}
    return found


def _resource_name(names: ResourceNames, table: Table) -> str:
    return names.of(table.name, logical_name(table.name, "Table"))


def _alarm(alarm: Alarm, table: str) -> Template:
    topic = {"Fn::If": ["HasAlarmTopic", [{"Ref": "AlarmTopic"}], {"Ref": "AWS::NoValue"}]}
    properties: Properties = {
        "AlarmName": alarm.name,
        "AlarmDescription": alarm.description,
        "ComparisonOperator": "GreaterThanThreshold",
        "Threshold": 0,
        "EvaluationPeriods": MINUTES,
        "TreatMissingData": "notBreaching",
        "AlarmActions": topic,
    }
    values = alarm.dimensions | {"TableName": {"Ref": table}}
    dimensions = [{"Name": name, "Value": value} for name, value in values.items()]
    return {"Type": "AWS::CloudWatch::Alarm", "Properties": properties | _metric(alarm, dimensions)}


def _metric(alarm: Alarm, dimensions: list[Any]) -> Properties:
    """A metric, or the sum of one over several operations."""
    if not alarm.operations:
        return {
            "Namespace": "AWS/DynamoDB",
            "MetricName": alarm.metric,
            "Dimensions": dimensions,
            "Statistic": "Sum",
            "Period": 60,
        }
    ids = [f"m{at}" for at in range(len(alarm.operations))]
    total = " + ".join(f"FILL({each}, 0)" for each in ids)
    return {
        "Metrics": [
            {"Id": "total", "Expression": total, "Label": alarm.metric, "ReturnData": True},
            *(
                {
                    "Id": each,
                    "ReturnData": False,
                    "MetricStat": {
                        "Metric": {
                            "Namespace": "AWS/DynamoDB",
                            "MetricName": alarm.metric,
                            "Dimensions": [*dimensions, {"Name": "Operation", "Value": operation}],
                        },
                        "Period": 60,
                        "Stat": "Sum",
                    },
                }
                for each, operation in zip(ids, alarm.operations, strict=True)
            ),
        ]
    }
