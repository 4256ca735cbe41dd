"""The systems at work: opened on a backend, seeded, and served on one port with DynamoDB's protocol beside them."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from socket import socket
from typing import Any

from partita.connect import connect, connect_async
from partita.describe.design_page import page
from partita.dynamodb.backend import OwnedAsyncBackend
from partita.engine.async_engine import AsyncEngine
from partita.engine.engine import Engine
from partita.errors import ConfigurationError
from partita.plan.design import Design
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from partita.rest.auth.identity import Verifier
from partita.rest.background_jobs import running_jobs
from partita.rest.mounted_api import MountedApi
from partita.server.uvicorn_server import listen, serve
from partita.store.seeding import is_loaded, load
from partita.store.store import Store
from partita_systems import NAMES, part_of

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class System:
    """One of the systems on a backend."""

    name: str
    db: Store


def system_names(names: Iterable[str]) -> list[str]:
    """The systems of these names; all of them when none is named."""
    wanted = list(dict.fromkeys(names)) or list(NAMES)
    for name in wanted:
        if name not in NAMES:
            raise ConfigurationError(f"{name}: there is no such system; there are {', '.join(NAMES)}")
    return wanted


def open_systems(backend: Any, names: Iterable[str], secret: bytes | None = None) -> list[System]:
    """The systems with their tables made; a table that cannot be brought to its design is told, not served."""
    return [System(name, store_with_tables(backend, part_of(name, "design").design, secret)) for name in names]


def store_with_tables(backend: Any, design: Design, secret: bytes | None = None) -> Store:
    """A store whose tables are there, as the design wants them."""
    db = Store(backend, design, secret=secret)
    differences = db.create_tables()
    if differences:
        listed = "; ".join(map(str, differences))
        raise ConfigurationError(f"{design.name}: the tables there differ from the design: {listed}")
    return db


def seed(system: System, scale: float, chance: int, progress: Progress) -> int:
    """Plant demo data; goes on where an interrupted run stopped. Answers with how many pieces were written."""
    seeds = part_of(system.name, "seed")
    total = seeds.total(scale)
    title = f"{system.name}-{scale:g}-{chance}"
    if is_loaded(system.db, title, total):
        return 0
    pieces = seeds.pieces(scale, chance)
    return load(system.db, title, pieces, lambda done: progress(system.name, done, total))


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Shows how far each seeding is; one line each, and none when nobody watches."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Bar(*columns)
    tasks: dict[str, Any] = {}

    def shown(name: str, done: int, total: int) -> None:
        if not tasks:
            bar.start()
        if name not in tasks:
            tasks[name] = bar.add_task(f"seeding {name}", total=total)
        bar.update(tasks[name], completed=done)

    try:
        yield shown
    finally:
        if tasks:
            bar.stop()


def run(
    names: list[str], address: str, at: socket, verifier: Verifier, secret: bytes, ready: Callable[[list[System]], None]
) -> None:
    """Serves until interrupted; `ready` is called when the systems are open, and who asks from then on is answered."""
    backend: Any = connect(address)
    systems = open_systems(backend, names, secret)
    listen(at)
    ready(systems)
    version = backend.version if isinstance(backend, Engine) else None
    apis = [MountedApi(part_of(each.name, "api").api, each.db, version) for each in systems]
    rest = RestApplication(apis, verifier)

    async def protocol() -> OwnedAsyncBackend:
        return AsyncEngine(backend) if isinstance(backend, Engine) else await connect_async(address)

    at_once = rest.read_nonblocking if rest.nonblocking else None
    serve(protocol, at, rest, read_at_once=at_once, meanwhile=lambda: running_jobs(apis))


def seed_file(names: list[str], path: str, scale: float) -> None:
    """Demo data in a file, written faster than it is safe from a loss of power: it could be planted again."""
    with connect(Path(path), durability="process", maintain=False) as backend, progress_bar() as progress:
        for system in open_systems(backend, names):
            seed(system, scale, 1, progress)


def issuer_beside(address: str) -> LocalIssuer:
    """The local issuer, whose key lives beside the database file so that tokens outlive a restart."""
    return LocalIssuer(issuer_file(address))


def issuer_file(address: str) -> Path | None:
    """Where the local issuer's key is; None where it ends with the process, since there is no file to be beside."""
    is_file = address != "memory:" and "://" not in address
    return Path(f"{address}.issuer.pem") if is_file else None


def example_commands(names: list[str], address: str, token: str | None) -> Iterator[str]:
    """Commands that work as they are, for somebody who sees this for the first time."""
    apis = [part_of(name, "api").api for name in names]
    open_to_all = next((each for each in apis if each.anonymous_example), None)
    path = f"{open_to_all.name}{open_to_all.anonymous_example}" if open_to_all else f"{names[0]}/openapi.json"
    yield f"curl '{address}/api/{path}'"
    if token is not None:
        first = next((each for each in apis if each.signed_in_example), None)
        path = f"{first.name}{first.signed_in_example}" if first else f"{names[0]}/docs"
        yield f"TOKEN={token}"
        yield f"curl -H \"Authorization: Bearer $TOKEN\" '{address}/api/{path}'"
    table = part_of(names[0], "design").design.tables[0].name
    where = f"--no-sign-request --endpoint-url {address} --region us-east-1"
    yield f"aws dynamodb scan --table-name {table} --max-items 1 {where}"


def system_page(name: str) -> str:
    """The whole page of a system: what people wrote, the design, and the operations over HTTP."""
    api = part_of(name, "api").api
    design = part_of(name, "design").design
    front = files(f"partita_systems.{name}").joinpath("page.md").read_text(encoding="utf-8")
    rows = [
        f"| {route.method} | `/api/{name}{route.path}` | {route.about.splitlines()[0]} | {route.who.description} |"
        for route in api.routes
    ]
    told = f"`partita serve {name}` answers these; `/api/{name}/docs` says what each takes and gives."
    head = ["| | | | For |", "| --- | --- | --- | --- |"]
    return page(design, front) + "\n".join(["", "## Over HTTP", "", told, "", *head, *rows]) + "\n"
