"""Optional extras: an import that lacks one raises an error with the command that installs it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from partita.errors import MissingExtra

# The modules that each extra of pyproject.toml brings.
MODULES = {
    "async": ("aiohttp",),
    "aws": ("botocore",),
    "boto": ("boto3", "botocore"),
    "cli": ("cyclopts", "rich"),
    "data": ("amazon", "isal", "zstandard"),
    "otel": ("opentelemetry",),
    "pydantic": ("pydantic",),
    "remote": ("urllib3",),
    "rest": ("jwt", "cryptography"),
    "server": ("httptools", "uvicorn", *(() if sys.platform == "win32" else ("uvloop",))),
    "text": ("Stemmer",),
    "vectors": ("numpy",),
}


@contextmanager
def needs(what: str, *extras: str) -> Iterator[None]:
    """Imports in this block belong to extras; a missing module of theirs is a `MissingExtra` that names them all.

    `what` is the subject of the message: "partita serve".
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if not any(module in MODULES[extra] for extra in extras):
            raise
        missing = [extra for extra in extras if module in MODULES[extra] or not all(map(_is_installed, MODULES[extra]))]
        raise MissingExtra(what, missing, module) from None


def _is_installed(module: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(module) is not None
    except ValueError:  # a module that is in sys.modules without a spec, or blocked there
        return False
