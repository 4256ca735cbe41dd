"""The objects of an export, as DynamoDB lays them out (Developer Guide, "DynamoDB table export output format"):

    PREFIX/AWSDynamoDB/ID/_started
    PREFIX/AWSDynamoDB/ID/manifest-summary.json    manifest-summary.md5
    PREFIX/AWSDynamoDB/ID/manifest-files.json      manifest-files.md5
    PREFIX/AWSDynamoDB/ID/data/....json.gz         of a full export
    PREFIX/AWSDynamoDB/data/....json.gz            of all incremental exports with one prefix

The guide calls the checksums `.checksum`; real exports have `.md5`, with 24 characters of base64.
"""

import os
from base64 import b32encode, b64encode
from datetime import UTC, datetime
from hashlib import md5
from typing import Any

import msgspec

from partita.engine.buckets import Buckets

_encode = msgspec.json.encode


class DataFile(msgspec.Struct, frozen=True, rename="camel"):
    """A line of the manifest of files."""

    item_count: int
    md5_checksum: str
    etag: str
    data_file_s3_key: str = msgspec.field(name="dataFileS3Key")


class ExportFiles:
    """The objects of one export in its bucket."""

    def __init__(self, buckets: Buckets, bucket: str, prefix: str | None, export_id: str) -> None:
        self._buckets = buckets
        self._bucket = bucket
        self._base = f"{prefix.removesuffix('/')}/AWSDynamoDB" if prefix else "AWSDynamoDB"
        self.folder = f"{self._base}/{export_id}"

    @property
    def summary_key(self) -> str:
        return f"{self.folder}/manifest-summary.json"

    @property
    def files_key(self) -> str:
        return f"{self.folder}/manifest-files.json"

    def start(self) -> None:
        self._buckets.write(self._bucket, f"{self.folder}/_started", b"")

    def write_data(self, content: bytes, items: int, *, ion: bool, incremental: bool) -> DataFile:
        """Writes one data file, which is compressed already, with a name of its own."""
        name = b32encode(os.urandom(16)).decode().rstrip("=").lower()
        folder = f"{self._base}/data" if incremental else f"{self.folder}/data"
        key = f"{folder}/{name}.{'ion' if ion else 'json'}.gz"
        self._buckets.write(self._bucket, key, content)
        digest = _md5(content)
        return DataFile(items, b64encode(digest).decode(), f"{digest.hex()}-1", key)

    def delete_data(self, file: DataFile) -> None:
        self._buckets.delete(self._bucket, file.data_file_s3_key)

    def delete_unnamed_data(self, files: list[DataFile]) -> None:
        """Deletes data files of a full export that are not among some: those of a process that was killed."""
        named = {each.data_file_s3_key for each in files}
        for stored in self._buckets.objects(self._bucket, f"{self.folder}/data/"):
            if stored.key not in named:
                self._buckets.delete(self._bucket, stored.key)

    def write_manifests(self, files: list[DataFile], summary: dict[str, Any]) -> None:
        self._with_checksum(self.files_key, b"".join(_encode(each) + b"\n" for each in files))
        self._with_checksum(self.summary_key, _encode(summary))

    def delete_manifests(self) -> None:
        """Deletes the manifests of an export that has failed while they were written."""
        for key in (self.summary_key, self.files_key):
            self._buckets.delete(self._bucket, key)
            self._buckets.delete(self._bucket, _checksum_key(key))

    def _with_checksum(self, key: str, content: bytes) -> None:
        self._buckets.write(self._bucket, key, content)
        checksum = b64encode(_md5(content))
        self._buckets.write(self._bucket, _checksum_key(key), checksum)


def _checksum_key(key: str) -> str:
    return f"{key.removesuffix('.json')}.md5"


def _md5(content: bytes) -> bytes:
    return md5(content, usedforsecurity=False).digest()


def timestamp(seconds: float) -> str:
    """A time as manifests have it.

    >>> timestamp(1604474914.028)
    '2020-11-04T07:28:34.028Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
