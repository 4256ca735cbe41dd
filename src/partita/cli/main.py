"""The command `partita`."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter
from cyclopts.validators import Number

from partita.errors import PartitaError

if TYPE_CHECKING:
    from socket import socket

DEMO = "did:plc:demo"  # a name that every one of the systems takes for somebody's
DEMO_GROUPS = ("admin", "ADMIN")

Port = Annotated[int, Parameter(validator=Number(gte=0, lte=65535))]
Scale = Annotated[float, Parameter(validator=Number(gt=0, lte=10_000))]
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]  # off unless it is given

app = App(name="partita", help="Write a DynamoDB design down once, in Python, and it runs.")


def _address(host: str, at: "socket") -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{at.getsockname()[1]}"


@app.command
def engine(
    *,
    memory: Flag = False,
    data: Path | None = None,
    host: str = "127.0.0.1",
    port: Port = 8000,
    durability: Literal["power", "process"] = "power",
    credentials: Path | None = None,
    cors: Annotated[Sequence[str], Parameter(negative=(), show_default=False)] = (),
    public: Flag = False,
) -> None:
    """Serve DynamoDB's own protocol from this machine, for any AWS SDK or tool.

    Parameters
    ----------
    memory
        Keep everything in memory; it is gone when the command ends. The default when no file is given.
    data
        Keep everything in this file. Several processes may use it at once.
    host
        The address to listen on. Anything but loopback needs --credentials or --public.
    port
        The port to listen on.
    durability
        What an acknowledged write survives: loss of power, or the end of the process (faster).
    credentials
        A TOML file with the access keys that may ask, [keys.ID] with secret, read_only and session_token. Every
        request's signature is verified. The connection itself is not encrypted.
    cors
        An origin whose pages may ask from a browser; * for any. Can be given more than once.
    public
        Allow an address that others can reach without --credentials. Requests are not authenticated.
    """
    from partita.connect import connect
    from partita.engine.async_engine import AsyncEngine
    from partita.errors import ConfigurationError
    from partita.http.cors import check_origin
    from partita.server.access_keys import load_credentials
    from partita.server.authorization import Authorizer
    from partita.server.uvicorn_server import check_address, listen, listening, serve

    if memory and data is not None:
        raise ConfigurationError("--memory and --data: choose one")
    guard = Authorizer(load_credentials(credentials)) if credentials is not None else None
    check_address(host, public or guard is not None, instead="name who may with --credentials")
    for origin in cors:
        check_origin(origin)
    at = listening(host, port)
    backend = connect("memory:") if data is None else connect(data, durability=durability)
    where = "memory (gone when this ends)" if data is None else f"{data} (survives {durability} loss)"
    listen(at)  # who reads the address may use it at once
    address = _address(host, at)
    print(f"partita: DynamoDB at {address}, data in {where}", flush=True)
    print(f"try:     aws dynamodb list-tables --endpoint-url {address} --region us-east-1", flush=True)

    async def opened() -> AsyncEngine:
        return AsyncEngine(backend)

    serve(opened, at, guard=guard, origins=cors)


@app.command
def serve(
    *systems: str,
    on: str = "partita.db",
    host: str = "127.0.0.1",
    port: Port = 8000,
    public: Flag = False,
    seed: bool = True,
    scale: Scale = 1.0,
    keys: str | None = None,
    issuer: str | None = None,
    audience: str | None = None,
) -> None:
    """Serve the systems over REST, with DynamoDB's protocol on the same port.

    Parameters
    ----------
    systems
        Which ones: perfectit, checks, eecar, blog, nbhd. All of them when none is named.
    on
        Where the data is: a file, memory:, http://HOST:PORT (any DynamoDB endpoint) or dynamodb://REGION.
    host
        The address to listen on. Anything but loopback needs --public.
    port
        The port to listen on.
    public
        Allow an address that others can reach. DynamoDB's protocol is not authenticated there.
    seed
        Plant demo data where there is none yet (only in a file or in memory).
    scale
        How much demo data: 1 is a few hundred items a system.
    keys
        A JSON Web Key Set that bearer tokens are verified against: a file, or the https:// address where it is
        published. Without one a local issuer signs them. With it, cursors are signed with the variable
        PARTITA_SECRET, which several servers share, or else with a secret that ends with this process.
    issuer
        The issuer that a token must name (iss), with --keys.
    audience
        The audience that a token must name (aud), with --keys.
    """
    import secrets
    from os import environ

    from partita.cli.serve import System, example_commands, issuer_beside, progress_bar, run, seed_file, system_names
    from partita.cli.serve import seed as plant
    from partita.errors import ConfigurationError
    from partita.rest.auth.identity import Verifier
    from partita.rest.auth.jwks import key_set_at
    from partita.server.uvicorn_server import check_address, listening

    names = system_names(systems)
    if keys is None and (issuer or audience):
        raise ConfigurationError("--issuer and --audience are asked of tokens that --keys verifies; give that as well")
    check_address(host, public)
    at = listening(host, port)
    address = _address(host, at)
    key_set = None if keys is None else key_set_at(keys)
    if seed and on != "memory:" and "://" not in on:
        seed_file(names, on, scale)
    if key_set is None:
        local = issuer_beside(on)
        verifier, secret = local.verifier(), local.secret
        token = local.token(DEMO, DEMO_GROUPS, email="demo@example.com", email_verified=True)
    else:
        verifier, token = Verifier(key_set, issuer, audience), None
        secret = environ.get("PARTITA_SECRET", "").encode() or secrets.token_bytes(32)

    def ready(opened: list[System]) -> None:
        if seed and on == "memory:":
            with progress_bar() as progress:
                for system in opened:
                    plant(system, scale, 1, progress)
        print(f"partita: {', '.join(names)} at {address}, data in {on}")
        for name in names:
            print(f"  {address}/api/{name}/docs")
        print("try:")
        for line in example_commands(names, address, token):
            print(f"  {line}")
        sys.stdout.flush()

    run(names, on, at, verifier, secret, ready)


@app.command(name="token")
def token_command(subject: str, /, *groups: str, on: str = "partita.db", email_verified: bool = True) -> None:
    """Print a bearer token of the local issuer's, for trying an API as somebody.

    Parameters
    ----------
    subject
        Who it is for, the sub of the token.
    groups
        The groups that it names, such as admin (or for the blog AUTHOR, EDITOR, ADMIN).
    on
        The file that partita serve is on; the issuer's key was put beside it.
    email_verified
        What the token says of the e-mail address.
    """
    from partita.cli.serve import issuer_beside, issuer_file
    from partita.errors import ConfigurationError

    if not subject:
        raise ConfigurationError("SUBJECT: a token has to name somebody")
    file = issuer_file(on)
    if file is None:
        raise ConfigurationError(f"--on {on}: the issuer's key is in the server alone; use the token that it printed")
    if not file.exists():
        raise ConfigurationError(f"{file}: there is no such key; start partita serve --on {on}, which makes it")
    print(issuer_beside(on).token(subject, groups, email_verified=email_verified))


@app.command(name="seed")
def seed_command(
    *systems: str,
    on: str = "partita.db",
    scale: Scale = 1.0,
    chance: int = 1,
) -> None:
    """Plant believable demo data; an interrupted run goes on where it stopped.

    Parameters
    ----------
    systems
        Which ones; all of them when none is named.
    on
        Where the data is: a file, http://HOST:PORT (any DynamoDB endpoint) or dynamodb://REGION.
    scale
        How much: 1 is a few hundred items a system.
    chance
        The same number gives the same data.
    """
    from partita.cli.serve import open_systems, progress_bar, system_names
    from partita.cli.serve import seed as plant
    from partita.connect import connect
    from partita.errors import ConfigurationError

    names = system_names(systems)
    if on == "memory:":
        raise ConfigurationError("--on memory: would end with this command; partita serve --on memory: plants its own")
    with connect(on) as backend, progress_bar() as progress:
        there = [each.name for each in open_systems(backend, names) if plant(each, scale, chance, progress) == 0]
    if there:
        print(f"planted before: {', '.join(there)}")


@app.command(name="adopt")
def adopt_command(what: str, /, *, on: str) -> None:
    """Bring what other code has stored to what a design says: old keys, missing guards and companions, wrong counters.

    Every item is read; what is already right is left alone. Run again, it goes on where it was interrupted, and finds
    nothing more to do when it is done. Counters are counted over the whole run: let nobody write meanwhile.

    Parameters
    ----------
    what
        One of the systems (perfectit, checks, eecar, blog, nbhd), or the module of a design: shop.design.
    on
        Where the data is: a file, http://HOST:PORT (any DynamoDB endpoint) or dynamodb://REGION.
    """
    from partita.cli.adopt import adopt, progress_spinner, report_lines

    with progress_spinner() as progress:
        done = adopt(what, on, progress)
    print("\n".join(report_lines(done)))
    if done.refused:
        sys.exit(1)


@app.command
def prove(module: str, /) -> None:
    """Prove every access pattern of a design; the first thing that cannot be proven is told, with the way out.

    Parameters
    ----------
    module
        The design's module, as Python would import it from here: shop.design.
    """
    from partita.cli.design_loader import imported_design
    from partita.describe.modules import proof_summary

    print(proof_summary(imported_design(module)))


@app.command
def explain(
    module: str, pattern: str, /, *, item_bytes: Annotated[int, Parameter(validator=Number(gte=1, lte=409_600))] = 1024
) -> None:
    """Print what an access pattern sends, where it reads, what it costs and why it is right.

    Parameters
    ----------
    module
        The design's module, as Python would import it from here: shop.design.
    pattern
        The name of the pattern.
    item_bytes
        How large the items are, for the capacity units.
    """
    from partita.cli.design_loader import imported_design
    from partita.describe.modules import explain_pattern

    print(explain_pattern(imported_design(module), pattern, item_bytes))


@app.command
def verify(file: Path, /) -> None:
    """Hold a database file against itself: every index against its table, every size and total. Changes nothing.

    Parameters
    ----------
    file
        The database file; it may be in use.
    """
    import apsw

    from partita.engine.verify import findings
    from partita.errors import ConfigurationError
    from partita.storage.sqlite import SqliteStorage

    if not file.is_file():
        raise ConfigurationError(f"{file}: {'not a file' if file.exists() else 'there is no such file'}")
    if file.stat().st_size == 0:
        raise ConfigurationError(f"{file}: empty; there is nothing to verify")
    storage = SqliteStorage(str(file))
    try:
        found = list(findings(storage))
    except apsw.Error as error:
        found = [f"{file}: damaged: {error}"]
    finally:
        storage.close()
    print("\n".join(found) if found else f"{file}: every index agrees with its table, every total is exact")
    if found:
        sys.exit(1)


def main() -> None:
    """Runs the command; what Partita refuses is one line on standard error."""
    try:
        app()
    except PartitaError as error:
        print(f"partita: {error}", file=sys.stderr)
        sys.exit(2)
