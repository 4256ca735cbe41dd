"""Objects by key, in a folder or in a bucket of Amazon S3: archives of vectors, built sites, logs."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple, Protocol

from partita import ConfigurationError


class StoredObject(NamedTuple):
    key: str
    modified_at: datetime


class ObjectStore(Protocol):
    """Objects by key; keys are relative paths, such as `vectors/p_1/a.f32`."""

    def put(self, key: str, data: bytes) -> None: ...

    def get(self, key: str) -> bytes | None: ...

    def delete(self, key: str) -> None: ...

    def list(self, prefix: str) -> Iterator[StoredObject]: ...


class FolderObjects:
    """Objects as files of a folder; a file appears when it is complete."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, key: str, data: bytes) -> None:
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(path)

    def get(self, key: str) -> bytes | None:
        try:
            return self._path(key).read_bytes()
        except FileNotFoundError:
            return None

    def delete(self, key: str) -> None:
        self._path(key).unlink(missing_ok=True)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        inside = self._path(prefix) if prefix.endswith("/") else self._folder
        for path in sorted(inside.rglob("*")):
            key = path.relative_to(self._folder).as_posix()
            if path.is_file() and not path.name.startswith(".") and key.startswith(prefix):
                yield StoredObject(key, datetime.fromtimestamp(path.stat().st_mtime, UTC))

    def _path(self, key: str) -> Path:
        if PurePosixPath(key).is_absolute() or ".." in PurePosixPath(key).parts:
            raise ConfigurationError(f"{key!r} is not a valid key of an object; use a relative path")
        return self._folder / key


class S3Objects:
    """Objects of a bucket, under a prefix; `client` is botocore's client of S3."""

    def __init__(self, bucket: str, prefix: str, client: Any) -> None:
        self._bucket = bucket
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._client = client

    def put(self, key: str, data: bytes) -> None:
        self._client.put_object(Bucket=self._bucket, Key=self._prefix + key, Body=data)

    def get(self, key: str) -> bytes | None:
        try:
            reply = self._client.get_object(Bucket=self._bucket, Key=self._prefix + key)
        except self._client.exceptions.NoSuchKey:
            return None
        data: bytes = reply["Body"].read()
        return data

    def delete(self, key: str) -> None:
        self._client.delete_object(Bucket=self._bucket, Key=self._prefix + key)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        pages = self._client.get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=self._bucket, Prefix=self._prefix + prefix):
            for each in page.get("Contents", ()):
                yield StoredObject(each["Key"].removeprefix(self._prefix), each["LastModified"])


class ObjectsBelow:
    """The objects of another store whose keys begin with a prefix."""

    def __init__(self, objects: ObjectStore, prefix: str) -> None:
        self._objects = objects
        self._prefix = f"{prefix}/"

    def put(self, key: str, data: bytes) -> None:
        self._objects.put(self._prefix + key, data)

    def get(self, key: str) -> bytes | None:
        return self._objects.get(self._prefix + key)

    def delete(self, key: str) -> None:
        self._objects.delete(self._prefix + key)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        for each in self._objects.list(self._prefix + prefix):
            yield StoredObject(each.key.removeprefix(self._prefix), each.modified_at)


def open_objects(variable: str, name: str) -> ObjectStore:
    """The objects that an environment variable names; by default in the folder `partita/<name>` of the user's data."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return objects_at(os.environ.get(variable) or str(Path(data) / "partita" / name))


def objects_at(address: str) -> ObjectStore:
    """The objects at `s3://bucket/prefix`, or in a folder."""
    if not address.startswith("s3://"):
        return FolderObjects(Path(address))
    bucket, _, prefix = address.removeprefix("s3://").partition("/")
    if not bucket:
        raise ConfigurationError(f"{address!r} is not a valid address of objects; use s3://bucket/prefix or a folder")
    try:
        import botocore.session
    except ModuleNotFoundError:
        raise ConfigurationError("objects in S3 need botocore; run pip install 'partita[aws]'") from None
    return S3Objects(bucket, prefix, botocore.session.get_session().create_client("s3"))
