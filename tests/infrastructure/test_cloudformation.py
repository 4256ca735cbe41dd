"""The CloudFormation template of a design."""

import json
from typing import Any

import pytest

from partita import Index, Table
from partita.cli.export import tables_of
from partita.infrastructure.cloudformation import template
from partita_systems import SYSTEMS
from tests.infrastructure.exported_tables import planned_after

cfnlint = pytest.importorskip("cfnlint.api", reason="cfn-lint is not in this environment")


def _tables(made: dict[str, Any]) -> list[dict[str, Any]]:
    return [each["Properties"] for each in made["Resources"].values() if each["Type"] == "AWS::DynamoDB::Table"]


def test_template_of_all_systems_passes_cfn_lint() -> None:
    tables = {table.name: table for system in SYSTEMS.values() for table in tables_of(system)}
    made = template("all", tables.values())
    assert len(_tables(made)) == len(tables)
    assert [str(each) for each in cfnlint.lint(json.dumps(made), regions=["us-east-1"])] == []


def test_alarms_can_be_left_out() -> None:
    made = template("checks", tables_of(SYSTEMS["checks"]), with_alarms=False)
    assert {each["Type"] for each in made["Resources"].values()} == {"AWS::DynamoDB::Table"}


def test_every_table_and_global_index_has_alarms_of_throttling() -> None:
    table = Table("shop", "PK", "SK", indexes=(Index("GSI1", "A", "B"), Index("LSI1", "PK", "B", local=True)))
    made = template("shop", [table])
    alarms = [each["Properties"] for each in made["Resources"].values() if each["Type"] == "AWS::CloudWatch::Alarm"]
    assert {each["AlarmName"] for each in alarms} == {
        "shop-ReadThrottleEvents",
        "shop-WriteThrottleEvents",
        "shop-GSI1-ReadThrottleEvents",
        "shop-GSI1-WriteThrottleEvents",
        "shop-SystemErrors",
    }


@pytest.mark.parametrize("name", SYSTEMS)
def test_tables_of_the_template_are_those_of_the_design(name: str) -> None:
    made = json.loads(json.dumps(template(name, tables_of(SYSTEMS[name]))))
    assert planned_after(SYSTEMS[name].design, _tables(made)) == []


def test_tables_whose_names_differ_by_punctuation_alone_are_all_there() -> None:
    """So are alarms of a table that is named as an index of another one."""
    tables = [Table("shop.a", "PK", indexes=(Index("GSI1", "A"),)), Table("shop-a", "PK"), Table("shop.a-GSI1", "PK")]
    made = template("shop", tables)
    names = [each["Properties"]["AlarmName"] for each in made["Resources"].values() if "Alarm" in each["Type"]]
    assert [each["TableName"] for each in _tables(made)] == [table.name for table in tables]
    assert len(set(names)) == len(names) == 5 + 3 + 3
    assert [str(each) for each in cfnlint.lint(json.dumps(made), regions=["us-east-1"])] == []
