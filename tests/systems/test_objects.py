"""Objects in a folder and in S3 behave the same; S3 is a server on loopback."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import botocore.session
import pytest

from partita import ConfigurationError
from partita_systems.objects import FolderObjects, ObjectsBelow, ObjectStore, objects_at


@pytest.fixture(params=["folder", "moto"])
def objects(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    if request.param == "folder":
        yield objects_at(str(tmp_path / "objects"))
        return
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", request.getfixturevalue("moto"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    bucket = f"archive-{uuid4().hex[:8]}"
    client: Any = botocore.session.get_session().create_client("s3")
    client.create_bucket(Bucket=bucket)
    client.put_object(Bucket=bucket, Key="elsewhere/a.txt", Body=b"not below the prefix")
    yield objects_at(f"s3://{bucket}/eecar/")


def keys(objects: ObjectStore, prefix: str = "") -> list[str]:
    return sorted(each.key for each in objects.list(prefix))


def test_objects_are_stored_replaced_listed_and_deleted(objects: ObjectStore) -> None:
    assert objects.get("vectors/p_1/a.f32") is None
    objects.put("vectors/p_1/a.f32", b"one")
    objects.put("vectors/p_1/a.f32", b"two")
    objects.put("queries/봄.f32", bytes(range(256)))
    assert objects.get("vectors/p_1/a.f32") == b"two"
    assert objects.get("queries/봄.f32") == bytes(range(256))
    assert keys(objects) == ["queries/봄.f32", "vectors/p_1/a.f32"]
    assert keys(objects, "vectors/") == ["vectors/p_1/a.f32"]
    assert keys(objects, "none/") == []
    age = datetime.now(UTC) - next(iter(objects.list(""))).modified_at
    assert abs(age.total_seconds()) < 600
    objects.delete("vectors/p_1/a.f32")
    objects.delete("vectors/p_1/a.f32")
    assert objects.get("vectors/p_1/a.f32") is None
    assert keys(objects) == ["queries/봄.f32"]


def test_objects_below_a_prefix_see_nothing_else(objects: ObjectStore) -> None:
    one, other = ObjectsBelow(objects, "one"), ObjectsBelow(objects, "other")
    one.put("a/b", b"1")
    other.put("a/b", b"2")
    assert (one.get("a/b"), other.get("a/b")) == (b"1", b"2")
    assert keys(one) == keys(one, "a/") == ["a/b"]
    one.delete("a/b")
    assert keys(objects) == ["other/a/b"]


def test_a_key_never_leaves_the_folder(tmp_path: Path) -> None:
    objects = FolderObjects(tmp_path / "objects")
    for key in ("../secret", "/etc/passwd", "a/../../secret"):
        with pytest.raises(ConfigurationError, match="not a valid key"):
            objects.put(key, b"")
        with pytest.raises(ConfigurationError, match="not a valid key"):
            objects.get(key)


def test_an_address_of_s3_needs_a_bucket() -> None:
    with pytest.raises(ConfigurationError, match="s3://bucket/prefix"):
        objects_at("s3:///prefix")
