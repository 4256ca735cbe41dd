"""Files that an API publishes for its users, such as the pages of their sites.

    @api.files("/sites", domains=["city.example"])
    def page(service: City, name: str, path: str) -> HostedFile | None:
        return service.page(name, path)

They are served at `/sites/<name>/<path>`, and below a domain at `http://<name>.city.example/<path>`; below `localhost`
always, which browsers resolve to their own machine. A path that ends with a slash, or is empty, is that of its
`index.html`.
"""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from partita.errors import DesignError

LOCAL_DOMAIN = "localhost"


class HostedFile(NamedTuple):
    """A file; `tag` changes with its content. With a `download` name, browsers save it in place of showing it."""

    body: bytes
    content_type: str
    tag: str
    download: str | None = None


class FilePlace(NamedTuple):
    """Where files are served, and the function of the service that finds one by name and path."""

    path: str
    domains: frozenset[str]
    find: Callable[[Any, str, str], HostedFile | None]


def file_place(path: str, domains: Collection[str], find: Callable[..., HostedFile | None]) -> FilePlace:
    """A place, with its local domain where it has any."""
    if not path.startswith("/") or path.count("/") != 1 or path in ("/", "/api", "/health", "/metrics"):
        raise DesignError(path, "files are served below one name of their own", 'write files("/sites")')
    return FilePlace(path, frozenset({*domains, LOCAL_DOMAIN}) if domains else frozenset(), find)
