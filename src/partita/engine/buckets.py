"""Buckets: folders in place of Amazon S3's buckets, for exports, imports and bulk puts.

A bucket is a folder in one folder that is chosen when the engine starts, and an object is a file in it. No name in
a request leads out of there: names are checked by form, and paths again after symbolic links are resolved.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from partita.dynamodb.exceptions import ValidationException

_BUCKET = re.compile(r"[a-z0-9A-Z][.\-\w]*[a-z0-9A-Z]", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f\\]")


class BucketMissing(Exception):
    """A bucket without a folder."""


class StoredObject(NamedTuple):
    """An object: its key in the bucket, its file, and its size."""

    key: str
    path: Path
    size: int


class Buckets:
    """The buckets in a folder; without a folder there are none, and each request for one is rejected."""

    def __init__(self, folder: "str | os.PathLike[str] | None" = None) -> None:
        self._folder = None if folder is None else Path(folder).absolute()

    @property
    def folder(self) -> str | None:
        """The folder with the buckets, as processes on one machine compare it."""
        return None if self._folder is None else str(self._folder.resolve())

    def check(self, bucket: str | None, prefix: str | None) -> None:
        """Raises ValidationException for names that cannot be those of a folder here."""
        if self._folder is None:
            raise ValidationException(
                "This engine has no buckets: start it with --buckets FOLDER, or connect with buckets=FOLDER; "
                "a bucket is then a folder in that folder"
            )
        if bucket is None or not _BUCKET.fullmatch(bucket):
            raise ValidationException(f"The bucket name is invalid: {bucket}")
        parts = (prefix or "").removesuffix("/").split("/")
        if prefix and (any(part in ("", ".", "..") for part in parts) or _CONTROL.search(prefix)):
            raise ValidationException(
                "The prefix is invalid: it may have no backslash, no control character, and no part that is empty, "
                f"'.' or '..': {prefix!r}"
            )

    def write(self, bucket: str, key: str, content: bytes) -> None:
        """Writes an object; it has its name once it is complete and on the disk."""
        path = self._path(bucket, key)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.partial")
        try:
            with partial.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)

    def delete(self, bucket: str, key: str) -> None:
        """Deletes an object, if it is there."""
        self._path(bucket, key).unlink(missing_ok=True)

    def objects(self, bucket: str, prefix: str | None) -> list[StoredObject]:
        """The objects whose keys begin with a prefix, in the order of their keys; links are left out."""
        self.check(bucket, prefix)
        root, wanted = self._root(bucket), prefix or ""
        start = root / wanted.rpartition("/")[0]
        found = (each for each in _files(start) if each.relative_to(root).as_posix().startswith(wanted))
        return sorted(StoredObject(each.relative_to(root).as_posix(), each, each.stat().st_size) for each in found)

    def _root(self, bucket: str) -> Path:
        """The folder of a bucket; it may be a symbolic link that the operator made."""
        assert self._folder is not None
        root = self._folder / bucket
        if not root.is_dir():
            raise BucketMissing(bucket)
        return root.resolve()

    def _path(self, bucket: str, key: str) -> Path:
        self.check(bucket, key)
        root = self._root(bucket)
        path = root / key
        if not path.resolve().is_relative_to(root):
            raise ValidationException(f"The key leads out of its bucket: {key!r}")
        return path


def _files(folder: Path) -> Iterator[Path]:
    """The files below a folder; it and they are not reached through links."""
    if folder.resolve() != folder:
        return
    for parent, _, names in os.walk(folder, onerror=_reject):  # does not follow links
        for name in names:
            path = Path(parent, name)
            if path.is_file() and not path.is_symlink() and not name.endswith(".partial"):
                yield path


def _reject(error: OSError) -> None:
    """Raises the error of a folder that cannot be read; its files would be missing without one."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error
