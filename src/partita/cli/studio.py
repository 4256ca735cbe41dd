"""`partita studio`: a design and its data in a browser."""

import logging
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from partita.cli.options import Address, Flag, Hosts, Port

if TYPE_CHECKING:
    from partita.studio.studio_app import StudioApplication
    from partita.system import System

READ_TIMEOUT = 10.0  # of a request that is under way while the budget of a page ends
PARTS = ("design", "consumers", "jobs")


def studio(
    *designs: str,
    on: Address = "partita.db",
    host: str = "127.0.0.1",
    port: Port = 8001,
    write: Flag = False,
    create_tables: Flag = False,
    allow_hosts: Hosts = (),
) -> None:
    """Open a design and its data in a browser: the map, access patterns, items, changes and health.

    Prints an address with a token; everybody who opens it can see the data. The environment variable
    PARTITA_STUDIO_TOKEN sets the token, which an address to listen on other than loopback requires. Every write leaves
    a line of JSON on standard error.

    Parameters
    ----------
    designs
        Installed systems, or module or module:attribute of your own: shop.design. Every installed system by default.
    on
        Where the data is: a file, memory:, http://HOST:PORT (any DynamoDB endpoint) or dynamodb://REGION.
    host
        The address to listen on.
    port
        The port to listen on; 0 chooses a free one.
    write
        Allow changes of data. By default they are allowed in memory: and on a loopback endpoint only.
    create_tables
        Create the tables of the designs that are missing. In memory: they are always created.
    allow_hosts
        A host name that requests may be sent to, beside localhost, loopback addresses and --host. Can be given more
        than once; in the environment separated by commas.
    """
    from pathlib import Path

    from partita.cli.engine import address_of
    from partita.connect import connect
    from partita.errors import ConfigurationError
    from partita.extras import needs
    from partita.http.sources import AllowedSources

    with needs("partita studio", "server"):
        from partita.server import uvicorn_server

    if "://" not in on and on != "memory:" and not create_tables and not Path(on).is_file():
        raise ConfigurationError(f"--on {on}: no such file; --create-tables creates it")
    systems = studio_systems(designs)
    sources = AllowedSources([host, *allow_hosts])
    listener = uvicorn_server.bind_socket(host, port)
    backend: Any = connect(on, read_timeout=READ_TIMEOUT) if "://" in on else connect(on)
    with backend:
        if create_tables or on == "memory:":
            _create_tables(backend, systems)
        application = open_studio(systems, backend, on, host=host, write=write)
        uvicorn_server.listen(listener)
        address = address_of(host, listener)
        print(f"partita: {', '.join(application.designs)} on {on}, {mode_of(application)}")
        print(f"  {studio_address(application, address)}", flush=True)
        uvicorn_server.serve(_NoProtocol.open, listener, dynamodb=False, sources=sources, studio=application)


def studio_systems(names: Sequence[str]) -> "list[System]":
    """The systems that are named, or every installed one."""
    from partita.cli.design_loader import load_installed_systems, load_system

    return [load_system(each, *PARTS) for each in dict.fromkeys(names)] or load_installed_systems(*PARTS)


def open_studio(
    systems: "Sequence[System]", backend: Any, address: str, *, host: str, write: bool, endpoint: str = ""
) -> "StudioApplication":
    """The studio of systems on an open backend; ConfigurationError where its address needs a token and has none."""
    from partita.errors import ConfigurationError
    from partita.http.hosts import is_loopback
    from partita.store.read_only import ReadOnlyBackend
    from partita.studio.sessions import TOKEN_VARIABLE
    from partita.studio.studio_app import StudioApplication
    from partita.studio.visits import StudioDesign
    from partita.studio.write_policy import DataPlace, writes_by_default

    token = os.environ.get(TOKEN_VARIABLE) or None
    if token is None and not is_loopback(host):
        raise ConfigurationError(f"--host {host}: set {TOKEN_VARIABLE} to a long random text, which opens the studio")
    writable = write or writes_by_default(address)
    log_audit_lines()
    asked = backend if writable else ReadOnlyBackend(backend)
    history = getattr(backend, "item_history", None)  # an engine in this process keeps both
    keys = getattr(backend, "hot_keys", None)
    opened = {
        each.name: StudioDesign(each.name, each.design, asked, each.consumers, each.jobs, about_of(each), history, keys)
        for each in systems
    }
    account = _account(backend, systems) if address.startswith("dynamodb://") else ""
    return StudioApplication(opened, DataPlace(address, account, endpoint, writable), token)


def about_of(system: "System") -> str:
    """The sentence about a system's API, where it has one."""
    return system.api.about if system.has_api and "api" in vars(system) else ""


def studio_address(application: "StudioApplication", address: str) -> str:
    """The address that opens the studio; with its token, unless the environment has it."""
    from partita.studio.sessions import TOKEN_VARIABLE

    token = "" if os.environ.get(TOKEN_VARIABLE) else f"?token={application.sessions.token}"
    return f"{address}{application.path}{token}"


def mode_of(application: "StudioApplication") -> str:
    return "writable" if application.place.writable else "read-only"


def log_audit_lines() -> None:
    """Writes the audit log to standard error, unless the program has set it up otherwise."""
    from partita.studio.audit import log

    if not log.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        log.propagate = False


def _create_tables(backend: Any, systems: "Sequence[System]") -> None:
    from partita.cli.open_systems import open_systems

    open_systems(backend, systems)


def _account(backend: Any, systems: "Sequence[System]") -> str:
    """The AWS account of the first table that exists."""
    from partita.dynamodb.exceptions import ResourceNotFoundException
    from partita.dynamodb.requests import DescribeTable
    from partita.studio.write_policy import account_of

    for table in (table for system in systems for table in system.design.tables):
        try:
            found = backend.call(DescribeTable(table_name=table.name)).table
        except ResourceNotFoundException:
            continue
        return account_of(found.table_arn or "") if found is not None else ""
    return ""


class _NoProtocol:
    """Stands for the backend of DynamoDB's protocol, which the studio does not serve."""

    @classmethod
    async def open(cls) -> "_NoProtocol":
        return cls()

    async def call(self, request: Any, /) -> Any:
        raise NotImplementedError

    async def close(self) -> None:
        """There is nothing to close."""
