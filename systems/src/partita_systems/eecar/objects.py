"""The archive of vectors: objects by key, in a folder or in a bucket of Amazon S3."""

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
        for path in sorted(self._folder.rglob("*")):
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


def open_objects(address: str) -> ObjectStore:
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
