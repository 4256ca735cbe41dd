"""The Terraform configuration of a design, parsed again."""

import json
from typing import Any

import pytest

from partita import Entity, Index, Table, prove
from partita.cli.export import tables_of
from partita.infrastructure.terraform import configuration
from partita_systems import SYSTEMS
from tests.infrastructure.exported_tables import planned_after

hcl2 = pytest.importorskip("hcl2", reason="python-hcl2 is not in this environment")


def _plain(value: Any) -> Any:
    """A parsed value without quotation marks and without what the parser adds."""
    if isinstance(value, dict):
        return {_plain(name): _plain(each) for name, each in value.items() if not str(name).startswith("__")}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return json.loads(value) if isinstance(value, str) and value.startswith('"') else value


def _resources(text: str) -> dict[tuple[str, str], dict[str, Any]]:
    parsed = _plain(hcl2.loads(text))
    return {
        (kind, name): body
        for each in parsed["resource"]
        for kind, several in each.items()
        for name, body in several.items()
    }


def _properties(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    """The properties that the provider sends to CreateTable and the requests after it."""
    return _properties_of_awscc(body) if kind == "awscc_dynamodb_table" else _properties_of_aws(body)


def _properties_of_awscc(body: dict[str, Any]) -> dict[str, Any]:
    def upper(value: Any) -> Any:
        if isinstance(value, dict):
            return {"".join(word.title() for word in name.split("_")): upper(each) for name, each in value.items()}
        return [upper(each) for each in value] if isinstance(value, list) else value

    found: dict[str, Any] = upper({name: value for name, value in body.items() if name != "lifecycle"})
    return found | {"KeySchema": json.loads(found["KeySchema"])}


def _key(body: dict[str, Any], hash_key: str | None = None) -> list[dict[str, Any]]:
    if "key_schema" in body:
        blocks = body["key_schema"]
        return [{"AttributeName": each["attribute_name"], "KeyType": each["key_type"]} for each in blocks]
    names = [("HASH", body.get("hash_key", hash_key)), ("RANGE", body.get("range_key"))]
    return [{"AttributeName": name, "KeyType": kind} for kind, name in names if name is not None]


def _index(body: dict[str, Any], hash_key: str | None = None) -> dict[str, Any]:
    projection = {"ProjectionType": body["projection_type"]}
    if "non_key_attributes" in body:
        projection["NonKeyAttributes"] = body["non_key_attributes"]
    return {"IndexName": body["name"], "KeySchema": _key(body, hash_key), "Projection": projection}


def _properties_of_aws(body: dict[str, Any]) -> dict[str, Any]:
    attributes = [{"AttributeName": each["name"], "AttributeType": each["type"]} for each in body["attribute"]]
    found: dict[str, Any] = {
        "TableName": body["name"],
        "BillingMode": body["billing_mode"],
        "KeySchema": _key(body),
        "AttributeDefinitions": attributes,
    }
    if "global_secondary_index" in body:
        found["GlobalSecondaryIndexes"] = [_index(each) for each in body["global_secondary_index"]]
    if "local_secondary_index" in body:
        found["LocalSecondaryIndexes"] = [_index(each, body["hash_key"]) for each in body["local_secondary_index"]]
    if body.get("stream_enabled"):
        found["StreamSpecification"] = {"StreamViewType": body["stream_view_type"]}
    for each in body.get("ttl", ()):
        found["TimeToLiveSpecification"] = {"Enabled": each["enabled"], "AttributeName": each["attribute_name"]}
    for each in body.get("point_in_time_recovery", ()):
        found["PointInTimeRecoverySpecification"] = {
            "PointInTimeRecoveryEnabled": each["enabled"],
            "RecoveryPeriodInDays": each["recovery_period_in_days"],
        }
    return found


def _exported(text: str) -> list[dict[str, Any]]:
    return [_properties(kind, body) for (kind, _), body in _resources(text).items() if kind.endswith("_table")]


@pytest.mark.parametrize("name", SYSTEMS)
def test_tables_of_the_configuration_are_those_of_the_design(name: str) -> None:
    text = configuration(tables_of(SYSTEMS[name]), with_alarms=False)
    assert planned_after(SYSTEMS[name].design, _exported(text)) == []


def test_keys_of_several_attributes_and_local_indexes_are_exported() -> None:
    table = Table(
        "shop",
        "PK",
        "SK",
        ttl="ttl",
        stream="NEW_IMAGE",
        recovery_days=7,
        indexes=(
            Index("ByYear", ("year", "level"), ("score",), project="KEYS_ONLY"),
            Index("Local", "PK", "score", local=True),
        ),
    )

    class Game(Entity, table=table, key=("GAME#{game_id}", "GAME")):
        game_id: str
        year: int
        level: str
        score: int

    assert planned_after(prove("shop", table), _exported(configuration([table]))) == []


def test_every_alarm_of_a_table_refers_to_it() -> None:
    text = configuration([Table("my-shop", "PK", indexes=(Index("GSI1", "A"),))])
    alarms = {name: body for (kind, name), body in _resources(text).items() if kind.endswith("_alarm")}
    assert len(alarms) == 5
    for name, body in alarms.items():
        metrics = [body] if "dimensions" in body else [m for q in body["metric_query"] for m in q.get("metric", ())]
        assert metrics
        assert {each["dimensions"]["TableName"] for each in metrics} == {"${aws_dynamodb_table.my_shop.name}"}, name


def test_tables_whose_names_differ_by_punctuation_alone_have_labels_of_their_own() -> None:
    tables = [Table("shop.a", "PK", indexes=(Index("GSI1", "A"),)), Table("shop-a", "PK"), Table("shop.a-GSI1", "PK")]
    text = configuration(tables)
    assert len(_resources(text)) == text.count("\nresource ") == 3 + 5 + 3 + 3
    labels = {name for kind, name in _resources(text) if kind == "aws_dynamodb_table"}
    assert all(f"aws_dynamodb_table.{label}.name" in text for label in labels)
