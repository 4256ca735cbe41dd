"""The exports in a folder: the newest full one of each table, and whether its files are those of its manifests.

An import reads every file below a prefix, and knows nothing of manifests, here as on Amazon. So a file that was lost,
cut short or exchanged on the way would be missing in the table, or wrong, without an error.
"""

from base64 import b64encode
from collections.abc import Iterator
from hashlib import md5
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from partita.errors import TransferFailed

_BLOCK = 1 << 20
T = TypeVar("T")


class _ExportSummary(msgspec.Struct, frozen=True, rename="camel"):
    table_arn: str
    output_format: str = "DYNAMODB_JSON"
    export_type: str = "FULL_EXPORT"


class _ManifestLine(msgspec.Struct, frozen=True, rename="camel"):
    md5_checksum: str
    key: str = msgspec.field(name="dataFileS3Key")


class FoundExport(NamedTuple):
    """A full export in a folder: its own folder, and its format."""

    folder: Path
    is_ion: bool

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def check(self) -> None:
        """Raises TransferFailed where a data file is missing, too many, or not the one that the manifest names.

        The folder may be a copy of a part of a bucket, so of the key of a file only its name counts.
        """
        manifest = self.folder / "manifest-files.json"
        named = {each.key.rpartition("/")[2]: each for each in _lines(manifest)}
        found = {path.name: path for path in self.data.rglob("*") if path.is_symlink() or not path.is_dir()}
        for name, each in named.items():
            path = found.pop(name, self.data / name)
            if path.is_symlink() or not path.is_file():
                raise _damaged(path, "is missing")
            if _checksum(path) != each.md5_checksum:
                raise _damaged(path, "does not match its checksum in manifest-files.json")
        for path in found.values():
            if not path.name.endswith(".partial"):
                raise _damaged(path, "is not in manifest-files.json")


def newest_exports(folder: Path) -> dict[str, FoundExport]:
    """The newest full export of each table, by the name of the table; one that has not completed has no manifest.

    `folder` is an absolute path: that of one export, or of any folder above.
    """
    found: dict[str, FoundExport] = {}
    for path in sorted(_summaries(folder), key=lambda each: each.parent.name):
        summary = _decoded(path, _content(path), _ExportSummary)
        if summary.export_type == "FULL_EXPORT":
            found[summary.table_arn.rpartition("/")[2]] = FoundExport(path.parent, summary.output_format == "ION")
    return found


def has_exports(folder: Path) -> bool:
    """Whether a folder has exports of any kind that have completed."""
    return any(_summaries(folder))


def _summaries(folder: Path) -> Iterator[Path]:
    return (each for each in folder.rglob("manifest-summary.json") if each.parent.parent.name == "AWSDynamoDB")


def _lines(manifest: Path) -> Iterator[_ManifestLine]:
    return (_decoded(manifest, line, _ManifestLine) for line in _content(manifest).splitlines() if line.strip())


def _content(manifest: Path) -> bytes:
    """The content of a manifest, once it matches its checksum, where that is there."""
    try:
        content = manifest.read_bytes()
        checksum = manifest.with_suffix(".md5")
        expected = checksum.read_text(encoding="ascii").strip() if checksum.exists() else None
    except (OSError, UnicodeError) as error:
        raise _damaged(manifest, f"cannot be read: {error}") from None
    if expected is not None and b64encode(md5(content, usedforsecurity=False).digest()).decode() != expected:
        raise _damaged(manifest, f"does not match {checksum.name}")
    return content


def _decoded(path: Path, content: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise _damaged(path, f"is not a manifest: {error}") from None


def _checksum(path: Path) -> str:
    digest = md5(usedforsecurity=False)
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise _damaged(path, f"cannot be read: {error}") from None
    return b64encode(digest.digest()).decode()


def _damaged(path: Path, what: str) -> TransferFailed:
    return TransferFailed("ExportDamaged", f"{path} {what}; nothing was imported")
