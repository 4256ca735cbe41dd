"""REST: a card, a page of posts and a thread, ours beside FastAPI on boto3 and beside bytes from memory."""

import json
import statistics
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from bench.engines import PARTITA, scratch
from bench.load import CONNECTIONS, Order, generator
from bench.report import Section, Target, alone, table
from partita import connect
from partita.cli.open_systems import open_systems
from partita.cli.seed import seed_system
from partita.dynamodb.requests import Scan
from partita.plan.table_definitions import create_table as creation
from partita_systems import SYSTEMS
from partita_systems.blog.service import Blog
from partita_systems.perfectit import design as cards_design
from tests.peers import PEERS, create_table, expect, started

OURS, UNCACHED = "Partita, cached replies", "Partita, after a write to other items"
OUTDATED = "Partita, replies made again"
STORE = "FastAPI, Partita's async store"
FASTAPI, BARE = "FastAPI, boto3, DynamoDB Local", "bare ASGI, bytes from memory"
CARD, PAGE, THREAD = "a card", "a page of 20 posts", "a thread of 200 comments"
OF_BARE = {CARD: 0.5, PAGE: 0.3, THREAD: 0.2}
UNCACHED_OF_BARE = {CARD: 0.5, PAGE: 0.25, THREAD: 0.2}
TIMES_FASTAPI = 5.0
POSTS, COMMENTS, THREADS = 40, 200, 5
SERVED = ("perfectit", "blog")


@dataclass(frozen=True)
class SeededFile:
    """The seeded items, and the paths that read them."""

    file: Path
    paths: dict[str, tuple[str, ...]]


def measure(quick: bool) -> Section:
    """Medians of rounds taken in turns."""
    rounds, seconds, warm = (1, 0.5, 0.2) if quick else (5, 1.0, 0.3)
    taken: dict[tuple[str, str], list[float]] = {}
    sizes: dict[str, int] = {}
    with scratch() as folder, ExitStack() as running:
        seeded = _seed(folder / "rest.db", quick)
        ports = _servers(running, seeded, sizes)
        clients = running.enter_context(generator())
        for turn in range(rounds):
            for what, paths in seeded.paths.items():
                for name, port in ports.items():
                    order = Order(port, "GET", seconds, warm, skip=turn, paths=paths)
                    taken.setdefault((name, what), []).append(clients.rate(order))
    rates = {of: statistics.median(samples) for of, samples in taken.items()}
    return _section(rates, sizes)


def _section(rates: dict[tuple[str, str], float], sizes: dict[str, int]) -> Section:
    rows = [
        [name, *(f"{rates[name, what]:,.0f}" for what in OF_BARE)]
        for name in (OURS, UNCACHED, OUTDATED, BARE, STORE, FASTAPI)
    ]
    text = (
        f"Requests per second, median of the rounds, {CONNECTIONS} connections, one process each, uvicorn "
        f"{version('uvicorn')}, FastAPI {version('fastapi')}, boto3 {version('boto3')}. The replies are of "
        + ", ".join(f"{sizes[what]:,} bytes ({what})" for what in OF_BARE)
        + ".\n\n"
        + table(["", *OF_BARE], rows)
        + "\n\nPartita caches a reply until the next write to the file, by any process. After a write, its rows are "
        "read again, and it is made again if they have changed. The second line is measured as if there were a write "
        "to other items between any two requests, the third as if each write concerned the reply: items with the same "
        "bytes are not encoded again. They are "
        + ", ".join(f"{rates[UNCACHED, what] / rates[BARE, what]:.2f}" for what in OF_BARE)
        + " and "
        + ", ".join(f"{rates[OUTDATED, what] / rates[BARE, what]:.2f}" for what in OF_BARE)
        + " of bare ASGI's rate; the second is "
        + ", ".join(f"{rates[UNCACHED, what] / rates[FASTAPI, what]:.0f}" for what in OF_BARE)
        + " times FastAPI's. On Partita's own async store, FastAPI reaches "
        + ", ".join(f"{rates[STORE, what] / rates[BARE, what]:.2f}" for what in OF_BARE)
        + " of bare ASGI's rate: the difference is what the REST application adds."
    )
    targets = (
        [
            Target(
                f"GET of {what}, of FastAPI's rate", rates[OURS, what] / rates[FASTAPI, what], TIMES_FASTAPI, "times"
            )
            for what in OF_BARE
        ]
        + [
            Target(f"GET of {what}, of bare ASGI's rate", rates[OURS, what] / rates[BARE, what], bound, "times")
            for what, bound in OF_BARE.items()
        ]
        + [
            Target(
                f"GET of {what}, after a write, of bare ASGI's rate",
                rates[UNCACHED, what] / rates[BARE, what],
                bound,
                "times",
            )
            for what, bound in UNCACHED_OF_BARE.items()
        ]
    )
    return Section("REST", text, targets)


def _seed(file: Path, quick: bool) -> SeededFile:
    with connect(file, durability="process", maintain=False) as backend:
        cards, blog_system = open_systems(backend, map(SYSTEMS.__getitem__, SERVED))
        seed_system(cards, 1 if quick else 4, 1, lambda *_: None)
        blog = Blog(blog_system.db)
        below = blog.categories.add("Choro", blog.categories.add("Música").category_id)
        posts = []
        for number in range(POSTS):
            posts.append(
                blog.write(
                    "ana",
                    f"Um guia sincero de paciência, parte {number}",
                    "Era uma vez " * 200,
                    subcategory_id=below.category_id,
                    summary="Comecei sem saber direito aonde ia chegar, e foi melhor assim.",
                    tags=["crônica", "memória"],
                ).post_id
            )
            blog.publish(posts[-1])
        for post in posts[:THREADS]:
            _talk(blog, post)
        found = cards.db(cards_design.top_voted()).first(200)
    return SeededFile(
        file,
        {
            CARD: tuple(f"/api/perfectit/cards/{each.card_id}" for each in found),
            PAGE: (f"/api/blog/categories/{below.category_id}/posts?limit=20",),
            THREAD: tuple(f"/api/blog/posts/{post}/comments?limit={COMMENTS}" for post in posts[:THREADS]),
        },
    )


def _talk(blog: Blog, post: str) -> None:
    """A comment and three answers to it, again and again."""
    for number in range(COMMENTS // 4):
        comment = blog.comments.add(post, f"reader{number}", "Discordo de quase tudo, mas li até o fim. 👏")
        for _ in range(3):
            blog.comments.reply(comment.comment_id, "ana", "Obrigada pela leitura! Respondo no próximo texto.")


def _servers(running: ExitStack, seeded: SeededFile, sizes: dict[str, int]) -> dict[str, int]:
    ours = running.enter_context(
        started(lambda port: [PARTITA, "serve", *SERVED, "--on", seeded.file, "--port", str(port), "--no-seed"])
    )
    bodies: dict[str, str] = {}
    for what, paths in seeded.paths.items():
        for path in paths:
            with urllib.request.urlopen(ours.endpoint + path) as reply:  # noqa: S310 - our own server
                body = reply.read().decode()
            bodies[urlsplit(path).path] = body
            sizes[what] = len(body.encode())
        items = json.loads(body).get("items")
        assert items is None or len(items) in (20, COMMENTS), f"{what}: {len(items)} items"
    stored = seeded.file.with_suffix(".json")
    stored.write_text(json.dumps(bodies))
    bare = running.enter_context(_app("bare", str(stored)))
    uncached = running.enter_context(_app("uncached", str(seeded.file)))
    outdated = running.enter_context(_app("outdated", str(seeded.file)))
    store = running.enter_context(_app("store", str(seeded.file)))
    local = running.enter_context(PEERS["dynamodb-local"].started())
    _copy(seeded.file, local.endpoint)
    theirs = running.enter_context(_app("fastapi", local.endpoint))
    for path in (paths[0] for paths in seeded.paths.values()):
        for endpoint in (theirs, store):
            with urllib.request.urlopen(endpoint + path) as reply:  # noqa: S310
                found, wanted = json.loads(reply.read()), json.loads(bodies[urlsplit(path).path])
                assert len(found.get("items", ())) == len(wanted.get("items", ())), path
    return {
        OURS: _port(ours.endpoint),
        UNCACHED: _port(uncached),
        OUTDATED: _port(outdated),
        BARE: _port(bare),
        STORE: _port(store),
        FASTAPI: _port(theirs),
    }


@contextmanager
def _app(kind: str, where: str) -> Iterator[str]:
    command = [sys.executable, "-m", "bench.rest_apps", kind]
    with started(lambda port: [*command, str(port), where], answers=lambda _: True) as running:
        yield running.endpoint


def _copy(file: Path, endpoint: str) -> None:
    """The same items into DynamoDB Local."""
    with connect(file, maintain=False) as backend:
        for system in open_systems(backend, map(SYSTEMS.__getitem__, SERVED)):
            for each in system.db.design.tables:
                definition = msgspec.json.decode(msgspec.json.encode(creation(each)))
                create_table(endpoint, {name: value for name, value in definition.items() if value is not None})
                start = None
                while True:
                    reply = backend.call(Scan(table_name=each.name, exclusive_start_key=start))
                    items = [msgspec.json.decode(raw) for raw in reply.items or ()]
                    for begin in range(0, len(items), 25):
                        puts = [{"PutRequest": {"Item": item}} for item in items[begin : begin + 25]]
                        expect(endpoint, "BatchWriteItem", {"RequestItems": {each.name: puts}})
                    if reply.last_evaluated_key is None:
                        break
                    start = msgspec.json.decode(reply.last_evaluated_key)


def _port(endpoint: str) -> int:
    port = urlsplit(endpoint).port
    assert port is not None
    return port


if __name__ == "__main__":
    alone(measure)
