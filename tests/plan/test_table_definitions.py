"""Tables are created as the design declares them, and changed to it where DynamoDB allows that."""

from typing import Any

import pytest

from partita import Entity, Index, Store, Table, connect, plan_migration, prove
from partita.dynamodb.requests import DeleteTable, DescribeContinuousBackups, DescribeTable, DescribeTimeToLive


def opened(backend: Any, table: Table) -> Store:
    return Store(backend, prove("test", table), sleep=lambda _: None)


def table(*indexes: Index, sk: str = "SK", **settings: Any) -> Table:
    made = Table("things", pk="PK", sk=sk, indexes=indexes, **settings)

    class Row(Entity, table=made, key=("ROW#{row_id}", "ROW")):
        row_id: str
        name: str
        score: int

    return made


BY_NAME = Index("ByName", "name", "PK")
BY_SCORE = Index("ByScore", "score", project=("name",))


def forget_design(backend: Any) -> None:
    """Tables as another program has created them, which records no design."""
    backend.call(DeleteTable(table_name="partita-designs"))


@pytest.fixture
def backend() -> Any:
    with connect("memory:", maintain=False) as engine:
        yield engine


def test_table_is_created_with_indexes_stream_ttl_and_recovery(backend: Any) -> None:
    db = opened(backend, table(BY_NAME, BY_SCORE, ttl="ttl", stream="NEW_AND_OLD_IMAGES", recovery_days=35))
    assert db.create_tables() == []
    assert db.differences() == []
    described = backend.call(DescribeTable(table_name="things")).table
    types = {each.attribute_name: each.attribute_type for each in described.attribute_definitions}
    assert types == {"PK": "S", "SK": "S", "name": "S", "score": "N"}
    projections = {each.index_name: each.projection for each in described.global_secondary_indexes}
    assert projections["ByName"].projection_type == "ALL"
    assert projections["ByScore"].non_key_attributes == ["name"]
    assert described.stream_specification.stream_view_type == "NEW_AND_OLD_IMAGES"
    lifetime = backend.call(DescribeTimeToLive(table_name="things")).time_to_live_description
    assert lifetime.attribute_name == "ttl"
    recovery = backend.call(DescribeContinuousBackups(table_name="things")).continuous_backups_description
    assert recovery.point_in_time_recovery_description.recovery_period_in_days == 35


def test_creating_tables_twice_changes_nothing(backend: Any) -> None:
    db = opened(backend, table(BY_NAME, ttl="ttl"))
    db.create_tables()
    assert db.create_tables() == []


def test_a_table_that_is_missing_is_a_difference(backend: Any) -> None:
    (missing,) = opened(backend, table()).differences()
    assert missing.sentence == "table things is missing"


def test_a_new_index_and_stream_are_added_to_a_table_that_exists(backend: Any) -> None:
    opened(backend, table()).create_tables()
    forget_design(backend)
    later = opened(backend, table(BY_NAME, stream="NEW_IMAGE"))
    assert [each.sentence for each in later.differences()] == [
        "index ByName is missing",
        "table things has no stream NEW_IMAGE",
    ]
    assert later.create_tables() == []
    assert later.differences() == []


def test_stream_with_other_images_cannot_be_changed(backend: Any) -> None:
    opened(backend, table(stream="KEYS_ONLY")).create_tables()
    forget_design(backend)
    later = opened(backend, table(stream="NEW_IMAGE"))
    said = "table things has no stream NEW_IMAGE, but KEYS_ONLY, which cannot be changed; first turn that one off"
    assert [each.sentence for each in later.create_tables()] == [said]
    assert plan_migration(later).blocked == [said]


def test_difference_that_dynamodb_cannot_change_is_reported(backend: Any) -> None:
    opened(backend, table(BY_NAME, BY_SCORE)).create_tables()
    forget_design(backend)
    other = opened(backend, table(Index("ByName", "name"), sk="SORT"))
    said = [
        "table things has another key; only a new table can have the design's",
        "index ByName has another key or projection; give the design's index another name",
        "index ByScore is not in the design",
    ]
    assert [each.sentence for each in other.differences()] == said
    assert [each.sentence for each in other.create_tables()] == said
