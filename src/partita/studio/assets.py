"""The style sheet and the scripts of the studio: files of the package, with a digest in their address."""

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

_TYPES = {"css": b"text/css; charset=utf-8", "js": b"text/javascript; charset=utf-8", "svg": b"image/svg+xml"}
PREFIX = "/static/"


class Asset(NamedTuple):
    """A file as it is sent; `version` is a digest of its content."""

    content: bytes
    media_type: bytes
    version: str


@cache
def _assets() -> dict[str, Asset]:
    found = {}
    for file in files("partita.studio").joinpath("static").iterdir():
        media_type = _TYPES.get(file.name.rpartition(".")[2])
        if media_type is not None:
            content = file.read_bytes()
            found[file.name] = Asset(content, media_type, sha256(content).hexdigest()[:12])
    return found


def asset_at(path: str) -> Asset | None:
    """The file at a path below the studio's own."""
    return _assets().get(path.removeprefix(PREFIX)) if path.startswith(PREFIX) else None


def asset_url(root: str, name: str) -> str:
    """The address of a file; it changes with its content."""
    return f"{root}{PREFIX}{name}?v={_assets()[name].version}"
