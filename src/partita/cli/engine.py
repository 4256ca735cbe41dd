"""`partita engine`: DynamoDB's protocol over HTTP, without a design."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from partita.cli.options import BucketsFolder, CredentialsFile, Flag, Hosts, Origins, Port, Workers

if TYPE_CHECKING:
    from socket import socket

    from partita.engine.engine import Engine
    from partita.http.sources import AllowedSources
    from partita.server.access_keys import Credential

Durability = Literal["power", "process"]

SURVIVES = {"power": "a loss of power", "process": "a crash of the process"}


def engine(
    *,
    memory: Flag = False,
    data: Path | None = None,
    host: str = "127.0.0.1",
    port: Port = 8000,
    durability: Durability = "power",
    workers: Workers = 1,
    credentials: CredentialsFile = None,
    allow_hosts: Hosts = (),
    allow_origins: Origins = (),
    public: Flag = False,
    buckets: BucketsFolder = None,
) -> None:
    """Serve DynamoDB's protocol from this machine, for any AWS SDK or tool.

    Parameters
    ----------
    memory
        Keep the data in memory; it is lost when the command ends. This is the default without --data.
    data
        Keep the data in this file. Several processes may use it at once.
    host
        The address to listen on. An address other than loopback requires --credentials or --public.
    port
        The port to listen on; 0 chooses a free one.
    durability
        What an acknowledged write survives: a loss of power, or only a crash of the process (faster).
    workers
        How many processes share the port and the file of --data, to use as many processor cores. Limits on connections
        and memory are for each.
    credentials
        A TOML file of access keys: [keys.ID] with secret, read_only and session_token; or set PARTITA_ACCESS_KEYS to
        ID:SECRET,... in the environment. The signature of every request is verified. The connection itself is not
        encrypted.
    allow_hosts
        A host name that requests may be sent to, beside localhost, loopback addresses and --host; * allows all. Others
        get status 421. Can be given more than once; in the environment separated by commas.
    allow_origins
        An origin whose pages may send requests from a browser, beside the server's own; * allows all. Others get
        status 403. Can be given more than once; in the environment separated by commas.
    public
        Allow an address that other machines can reach without --credentials. Requests are not authenticated.
    buckets
        A folder whose folders take the place of S3's buckets in exports, imports and bulk puts. Every client
        that may send requests can read and write there.
    """
    from partita.connect import connect
    from partita.errors import ConfigurationError
    from partita.extras import needs
    from partita.http.sources import AllowedSources
    from partita.server.access_keys import load_credentials

    with needs("partita engine", "server"):
        from partita.server.uvicorn_server import bind_socket, check_address, listen
        from partita.server.workers import run_workers

    if memory and data is not None:
        raise ConfigurationError("--memory and --data exclude each other; give one of them")
    if str(data) == "memory:":
        raise ConfigurationError(f"--data {data} is not a file; leave --data out to keep the data in memory")
    if workers > 1 and data is None:
        raise ConfigurationError("--workers: several processes cannot share memory; add --data FILE")
    access_keys = load_credentials(credentials)
    check_address(host, safe=public or bool(access_keys), advice="--public to allow that")
    sources = AllowedSources([host, *allow_hosts], allow_origins)
    at = bind_socket(host, port)
    backend = connect("memory:", buckets=buckets) if data is None else _opened(data, durability, buckets)
    where = "memory (lost when this ends)" if data is None else f"{data} (survives {SURVIVES[durability]})"
    listen(at)  # the printed address answers at once
    address = address_of(host, at)
    print(f"partita: DynamoDB at {address}, data in {where}", flush=True)
    print(f"try:     aws dynamodb list-tables --endpoint-url {address} --region us-east-1", flush=True)
    if workers == 1:
        _serve(backend, at, sources, access_keys)
    else:
        backend.close()  # it was opened to find out whether it can be
        run_workers(workers, _serve_file, data, durability, buckets, at, sources, access_keys)


def _serve_file(
    data: Path,
    durability: Durability,
    buckets: Path | None,
    at: "socket",
    sources: "AllowedSources",
    access_keys: "dict[str, Credential]",
) -> None:
    """The work of one worker process."""
    _serve(_opened(data, durability, buckets), at, sources, access_keys)


def _opened(data: Path, durability: Durability, buckets: Path | None) -> "Engine":
    from partita.connect import connect
    from partita.errors import ConfigurationError

    if buckets is not None and not buckets.is_dir():
        raise ConfigurationError(f"--buckets {buckets}: no such folder")
    return connect(data, durability=durability, buckets=buckets)


def _serve(backend: "Engine", at: "socket", sources: "AllowedSources", access_keys: "dict[str, Credential]") -> None:
    from partita.engine.async_engine import AsyncEngine
    from partita.server.authorization import Authorizer
    from partita.server.uvicorn_server import serve

    async def opened() -> AsyncEngine:
        return AsyncEngine(backend)

    serve(opened, at, authorizer=Authorizer(access_keys) if access_keys else None, sources=sources)


def address_of(host: str, at: "socket") -> str:
    """The address of a listening socket, for a client."""
    return f"http://{f'[{host}]' if ':' in host else host}:{at.getsockname()[1]}"
