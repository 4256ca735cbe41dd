"""`partita engine`: DynamoDB's protocol over HTTP, without a design."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from partita.cli.options import CredentialsFile, Flag, Hosts, Origins, Port

if TYPE_CHECKING:
    from socket import socket

SURVIVES = {"power": "a loss of power", "process": "a crash of the process"}


def engine(
    *,
    memory: Flag = False,
    data: Path | None = None,
    host: str = "127.0.0.1",
    port: Port = 8000,
    durability: Literal["power", "process"] = "power",
    credentials: CredentialsFile = None,
    allow_hosts: Hosts = (),
    allow_origins: Origins = (),
    public: Flag = False,
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
    """
    from partita.connect import connect
    from partita.engine.async_engine import AsyncEngine
    from partita.errors import ConfigurationError
    from partita.extras import needs
    from partita.http.sources import AllowedSources
    from partita.server.access_keys import load_credentials
    from partita.server.authorization import Authorizer

    with needs("partita engine", "server"):
        from partita.server.uvicorn_server import bind_socket, check_address, listen, serve

    if memory and data is not None:
        raise ConfigurationError("--memory and --data exclude each other; give one of them")
    access_keys = load_credentials(credentials)
    authorizer = Authorizer(access_keys) if access_keys else None
    check_address(host, safe=public or authorizer is not None, advice="--public to allow that")
    sources = AllowedSources([host, *allow_hosts], allow_origins)
    at = bind_socket(host, port)
    backend = connect("memory:") if data is None else connect(data, durability=durability)
    where = "memory (lost when this ends)" if data is None else f"{data} (survives {SURVIVES[durability]})"
    listen(at)  # the printed address answers at once
    address = address_of(host, at)
    print(f"partita: DynamoDB at {address}, data in {where}", flush=True)
    print(f"try:     aws dynamodb list-tables --endpoint-url {address} --region us-east-1", flush=True)

    async def opened() -> AsyncEngine:
        return AsyncEngine(backend)

    serve(opened, at, authorizer=authorizer, sources=sources)


def address_of(host: str, at: "socket") -> str:
    """The address of a listening socket, for a client."""
    return f"http://{f'[{host}]' if ':' in host else host}:{at.getsockname()[1]}"
