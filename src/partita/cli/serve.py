"""`partita serve`: systems over REST, with DynamoDB's protocol on the same port."""

import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from partita.cli.options import Address, BucketsFolder, CredentialsFile, Flag, Hosts, Origins, Port, Scale

if TYPE_CHECKING:
    from pathlib import Path
    from socket import socket

    from partita.cli.open_systems import OpenSystem
    from partita.http.sources import AllowedSources
    from partita.rest.auth.identity import Verifier
    from partita.server.authorization import Authorizer
    from partita.studio.studio_app import StudioApplication
    from partita.system import System

DEMO_USER = "did:plc:demo"  # also valid where an API requires a decentralized identifier


def serve(
    *systems: str,
    on: Address = "partita.db",
    host: str = "127.0.0.1",
    port: Port = 8000,
    credentials: CredentialsFile = None,
    dynamodb: bool = True,
    allow_hosts: Hosts = (),
    allow_origins: Origins = (),
    work: bool = True,
    studio: bool = True,
    studio_write: Flag = False,
    seed: bool = True,
    scale: Scale = 1.0,
    keys: Annotated[str | None, Parameter(env_var="PARTITA_KEYS")] = None,
    issuer: Annotated[str | None, Parameter(env_var="PARTITA_ISSUER")] = None,
    audience: Annotated[str | None, Parameter(env_var="PARTITA_AUDIENCE")] = None,
    buckets: BucketsFolder = None,
) -> None:
    """Serve APIs over REST, with DynamoDB's protocol on the same port.

    Cursors are signed with the keys in the environment variable PARTITA_CURSOR_KEYS, separated by commas: the first one
    signs, all are accepted. Without it, with a key in the database file; a remote database needs the variable.

    GET /metrics has metrics of the consumers and jobs for Prometheus. With PARTITA_METRICS_TOKEN in the environment, it
    requires that bearer token; without it, it is served on a loopback address only.

    Parameters
    ----------
    systems
        Installed systems, or module or module:attribute of your own Api or System: my.app:api. Every installed system
        by default.
    on
        Where the data is: a file, memory:, http://HOST:PORT (any DynamoDB endpoint) or dynamodb://REGION.
    host
        The address to listen on. An address other than loopback requires --credentials or --no-dynamodb.
    port
        The port to listen on; 0 chooses a free one.
    credentials
        A TOML file of access keys for DynamoDB's protocol: [keys.ID] with secret, read_only and session_token; or set
        PARTITA_ACCESS_KEYS to ID:SECRET,... in the environment. REST is authenticated by bearer tokens.
    dynamodb
        Answer DynamoDB's protocol; --no-dynamodb serves REST only.
    allow_hosts
        A host name that requests may be sent to, beside localhost, loopback addresses and --host; * allows all. Others
        get status 421. Can be given more than once; in the environment separated by commas.
    allow_origins
        An origin whose pages may send requests from a browser, beside the server's own; * allows all. Others get
        status 403. Can be given more than once; in the environment separated by commas.
    work
        Run the consumers and jobs of the systems, too; --no-work leaves them to partita work.
    studio
        Serve the studio of the systems at /studio, as partita studio does. On an address other than loopback it is
        served where PARTITA_STUDIO_TOKEN is set in the environment.
    studio_write
        Let the studio change data. By default it may in memory: and on a loopback endpoint only.
    seed
        Write demo data, unless it exists already (only into a file or memory).
    scale
        How much demo data: 1 is a few hundred items for each system.
    keys
        A JSON Web Key Set to verify bearer tokens with: a file, or the https:// address where it is published.
        Without it, a local issuer signs tokens for development.
    issuer
        The issuer that a token must name (iss); requires --keys.
    audience
        The audience that a token must name (aud); requires --keys.
    buckets
        A folder whose folders take the place of S3's buckets in exports, imports and bulk puts.
    """
    import secrets
    from functools import partial

    from partita.cli.engine import address_of
    from partita.cli.seed import progress_bar, seed_file, seed_system
    from partita.cli.studio import mode_of, studio_address
    from partita.cli.token import groups_of, issuer_beside
    from partita.errors import ConfigurationError
    from partita.extras import needs
    from partita.http.hosts import is_loopback
    from partita.http.sources import AllowedSources
    from partita.server.access_keys import load_credentials
    from partita.server.authorization import Authorizer

    with needs("partita serve", "server", "rest"):
        from partita.rest.application import cursor_keys_from_environment, file_addresses
        from partita.rest.auth.identity import Verifier
        from partita.rest.auth.jwks import key_set_at
        from partita.server.uvicorn_server import bind_socket, check_address

    served = systems_to_serve(systems)
    apis = [each.api for each in served]
    if keys is None and (issuer or audience):
        raise ConfigurationError("--issuer and --audience apply to tokens verified with --keys; give --keys as well")
    access_keys = load_credentials(credentials)
    authorizer = Authorizer(access_keys) if access_keys else None
    check_address(
        host, safe=authorizer is not None or not dynamodb, advice="--no-dynamodb to answer REST requests only"
    )
    sources = AllowedSources([host, *allow_hosts], allow_origins, files=file_addresses(apis))
    at = bind_socket(host, port)
    address = address_of(host, at)
    key_set = None if keys is None else key_set_at(keys)
    cursor_keys = None
    if seed and on != "memory:" and "://" not in on:
        seed_file(served, on, scale)
    if key_set is None:
        local = issuer_beside(on)
        verifier = local.verifier()
        if "://" in on:  # for development, as the tokens: until this process ends
            cursor_keys = cursor_keys_from_environment() or [secrets.token_bytes(32)]
        groups = tuple(sorted({name for api in apis for name in groups_of(api)}))
        token = local.token(DEMO_USER, groups, email="demo@example.com", email_verified=True)
    else:
        verifier, token = Verifier(key_set, issuer, audience), None

    def ready(opened: "list[OpenSystem]", opened_studio: "StudioApplication | None") -> None:
        if seed and on == "memory:":
            with progress_bar() as progress:
                for each in opened:
                    if each.system.has_seed:
                        seed_system(each, scale, 1, progress)
        print(f"partita: {', '.join(each.name for each in served)} at {address}, data in {on}")
        for api in apis:
            print(f"  {address}/api/{api.name}/docs")
        print("try:")
        examples = list(example_commands(served, address, token, signed=authorizer is not None))
        for line in examples if dynamodb else examples[:-1]:
            print(f"  {line}")
        if opened_studio is not None:
            print(f"studio, {mode_of(opened_studio)}:\n  {studio_address(opened_studio, address)}")
        sys.stdout.flush()

    run(
        served,
        on,
        at,
        address,
        verifier,
        ready,
        sources=sources,
        authorizer=authorizer,
        dynamodb=dynamodb,
        cursor_keys=cursor_keys,
        demo_token=token if seed and is_loopback(host) else None,
        works=work,
        buckets=buckets,
        open_studio=partial(_open_studio, served, on, host, studio_write, address if dynamodb else "")
        if studio
        else None,
    )


def systems_to_serve(names: Sequence[str]) -> "list[System]":
    """The systems that are named, or every installed one; each must have an API with a name of its own."""
    from partita.cli.design_loader import load_installed_systems, load_system
    from partita.errors import ConfigurationError

    chosen = list(dict.fromkeys(names))
    systems = [load_system(each, "api") for each in chosen] or load_installed_systems("api")
    described = chosen or [each.name for each in systems]
    taken: dict[str, str] = {}
    for what, system in zip(described, systems, strict=True):
        name = system.api.name
        if name in taken:
            raise ConfigurationError(
                f"{taken[name]} and {what} both have an API named {name!r}; rename one, or serve them on two ports"
            )
        taken[name] = what
    return systems


def run(
    systems: "Sequence[System]",
    address: str,
    at: "socket",
    endpoint: str,
    verifier: "Verifier",
    ready: "Callable[[list[OpenSystem], StudioApplication | None], None]",
    *,
    sources: "AllowedSources",
    authorizer: "Authorizer | None" = None,
    dynamodb: bool = True,
    cursor_keys: Sequence[bytes] | None = None,
    demo_token: str | None = None,
    works: bool = True,
    buckets: "Path | None" = None,
    open_studio: "Callable[[Any], StudioApplication | None] | None" = None,
) -> None:
    """Serves until interrupted; `ready` is called once the systems are open and the socket listens.

    `open_studio` opens the studio on the backend.
    """
    import asyncio
    from contextlib import ExitStack, asynccontextmanager

    from partita.cli.demo_tour import DemoTour
    from partita.cli.interrupts import end_at_next_signal
    from partita.cli.open_systems import open_systems
    from partita.cli.work import at_work, metrics_endpoint
    from partita.connect import connect, connect_async
    from partita.dynamodb.backend import OwnedAsyncBackend
    from partita.engine.async_engine import AsyncEngine
    from partita.engine.engine import Engine
    from partita.rest.application import RestApplication
    from partita.server import uvicorn_server

    backend: Any = connect(address, buckets=buckets)
    opened = open_systems(backend, systems)
    opened_studio = None if open_studio is None else open_studio(backend)
    uvicorn_server.listen(at)
    ready(opened, opened_studio)
    tour = DemoTour(opened, endpoint) if demo_token is not None and works else None
    apis = [each.system.api for each in opened]
    rest = RestApplication(
        apis,
        backend,
        verifier=verifier,
        cursor_keys=cursor_keys,
        beside_dynamodb=dynamodb,
        beside_studio=opened_studio is not None,
        demo_token=demo_token,
    )

    async def protocol() -> OwnedAsyncBackend:
        return AsyncEngine(backend) if isinstance(backend, Engine) else await connect_async(address)

    @asynccontextmanager
    async def background() -> AsyncIterator[None]:
        async with rest.running():
            try:
                yield
            finally:
                end_at_next_signal()
                await asyncio.to_thread(working.close)  # consumers and jobs end before the database is closed

    with ExitStack() as working:
        if tour is not None:
            working.enter_context(tour)
        sources_of_metrics = [working.enter_context(at_work(each, runs=works)) for each in opened]
        uvicorn_server.serve(
            protocol,
            at,
            rest,
            nonblocking_read=rest.nonblocking_read,
            dynamodb=dynamodb,
            authorizer=authorizer,
            sources=sources,
            background=background,
            metrics=metrics_endpoint(sources_of_metrics, at.getsockname()[0]),
            files=rest.files,
            studio=opened_studio,
        )


def _open_studio(
    systems: "Sequence[System]", address: str, host: str, write: bool, endpoint: str, backend: Any
) -> "StudioApplication | None":
    """The studio of the systems; none on an address beyond this machine without a token for it."""
    import os

    from partita.cli.studio import open_studio
    from partita.http.hosts import is_loopback
    from partita.studio.sessions import TOKEN_VARIABLE

    if not is_loopback(host) and not os.environ.get(TOKEN_VARIABLE):
        return None
    return open_studio(systems, backend, address, host=host, write=write, endpoint=endpoint)


def example_commands(
    systems: "Sequence[System]", address: str, token: str | None, *, signed: bool = False
) -> Iterator[str]:
    """Commands for a shell that work as they are; `signed` ones with the access keys of the AWS configuration."""
    apis = [each.api for each in systems]
    anonymous = next((each for each in apis if each.anonymous_example), None)
    path = f"{anonymous.name}{anonymous.anonymous_example}" if anonymous else f"{apis[0].name}/openapi.json"
    yield f"curl '{address}/api/{path}'"
    if token is not None:
        signed_in = next((each for each in apis if each.signed_in_example), None)
        path = f"{signed_in.name}{signed_in.signed_in_example}" if signed_in else f"{apis[0].name}/docs"
        yield f"TOKEN={token}"
        yield f"curl -H \"Authorization: Bearer $TOKEN\" '{address}/api/{path}'"
    table = systems[0].design.tables[0].name
    where = f"{'' if signed else '--no-sign-request '}--endpoint-url {address} --region us-east-1"
    yield f"aws dynamodb scan --table-name {table} --max-items 1 {where}"
