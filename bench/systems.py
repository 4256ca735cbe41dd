"""All five systems under a mixed load, with their consumers and jobs at work, power-safe, on the generator's own cores.

Requests are sent at fixed times, 200 a second, whether earlier ones are answered or not; a latency counts from the time
at which its request was due, so that a server that stands still is not spared. `MIX` says what is sent.
"""

import asyncio
import itertools
import json
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from bench.engines import PARTITA, scratch
from bench.report import Section, Target, alone, table
from partita import Store, connect
from partita.cli.token import issuer_beside
from partita_systems import SYSTEMS
from partita_systems.blog import design as blog
from partita_systems.checks import design as checks
from partita_systems.eecar import design as eecar
from partita_systems.nbhd import design as nbhd
from partita_systems.perfectit import design as perfectit
from tests.peers import started

RATE = 200  # requests a second
MOST_READ_MS = 50.0
CONNECTIONS = 64
MIX = (
    "80 % reads (lists, single items, comments, full text, built pages), 20 % writes (comments, likes, votes, matches, "
)
MIX += "joining and leaving, pausing and resuming checks, builds), spread evenly over the five systems"
ACCEPTED = {200, 201, 204, 304, 404, 409}  # somebody may have left, or be building, already


class Wanted(NamedTuple):
    """A request of a system."""

    method: str
    path: str
    token: str = ""
    body: Any = None

    @property
    def is_read(self) -> bool:
        return self.method == "GET"

    def bytes(self, host: str) -> bytes:
        data = b"" if self.body is None else json.dumps(self.body, ensure_ascii=False).encode()
        head = [f"{self.method} {quote(self.path, safe='/?=&%')} HTTP/1.1", f"Host: {host}"]
        if self.token:
            head.append(f"Authorization: Bearer {self.token}")
        if self.body is not None:
            head.append("Content-Type: application/json")
        if self.method != "GET":
            head.append(f"Content-Length: {len(data)}")
        return ("\r\n".join(head) + "\r\n\r\n").encode() + data


class Reply(NamedTuple):
    milliseconds: float
    status: int
    is_read: bool


def requests_of(file: Path, choice: random.Random) -> Iterator[Wanted]:
    """Requests without an end, with ids of the demo data."""
    tokens = issuer_beside(str(file))
    with connect(file) as backend:
        found = {name: _ids(Store(backend, SYSTEMS[name].design), name) for name in SYSTEMS}
    known: dict[str, str] = {}

    def of(subject: str) -> str:
        if subject not in known:
            known[subject] = tokens.token(subject, ("ADMIN", "AUTHOR", "admin", "machine"))
        return known[subject]

    for number in itertools.count():
        name = choice.choice(list(SYSTEMS))
        ids = {kind: choice.choice(values) for kind, values in found[name].items() if values}
        pool = _reads(name, ids, of) if number % 5 else _writes(name, ids, of, number)
        wanted = choice.choice(pool)
        yield wanted if wanted.path.startswith("/sites/") else wanted._replace(path=f"/api/{name}{wanted.path}")


def _ids(db: Store, name: str) -> dict[str, list[str]]:
    """Ids of what the requests of a system name."""
    if name == "blog":
        posts = [each for each in db.scan(blog.Post) if each.status == blog.PostStatus.PUBLISHED]
        users = [each.user_id for each in db.scan(blog.User)]
        categories = [each.category_id for each in db.scan(blog.Category)]
        return {"post": [each.post_id for each in posts], "user": users, "category": categories}
    if name == "perfectit":
        cards = [each for each in db.scan(perfectit.PerfectionCard) if each.status == perfectit.CardStatus.PUBLISHED]
        return {"card": [each.card_id for each in cards], "user": [each.user_id for each in db.scan(perfectit.User)]}
    if name == "eecar":
        return {"part": [each.part_id for each in db.scan(eecar.Part)]}
    if name == "nbhd":
        homes = [each for each in db.scan(nbhd.Neighborhood) if each.privacy == nbhd.Privacy.PUBLIC]
        sites = [each for each in db.scan(nbhd.Site) if each.shelf == nbhd.Shelf.SITE]
        places = [f"{each.did} {each.site_id} {each.subdomain}" for each in sites]
        users = [each.did for each in db.scan(nbhd.User)]
        return {"home": [each.neighborhood_id for each in homes], "site": places, "user": users}
    owned = [f"{each.user_id} {each.check_id}" for each in db.scan(checks.Check)]
    return {"check": owned}


def _reads(name: str, ids: dict[str, str], token: Callable[[str], str]) -> list[Wanted]:
    match name:
        case "blog":
            paths = ["/categories", f"/categories/{ids['category']}/posts", f"/posts/{ids['post']}"]
            return [Wanted("GET", each) for each in [*paths, f"/posts/{ids['post']}/comments"]]
        case "perfectit":
            card = f"/cards/{ids['card']}"
            paths = [
                card,
                card,
                "/cards/top",
                "/cards",
                "/cards/trending",
                f"{card}/comments",
                "/cards/search?text=wood",
            ]
            return [Wanted("GET", each) for each in paths]
        case "eecar":
            parts = [f"/parts/{ids['part']}", "/categories/battery/parts", f"/parts/{ids['part']}/whole"]
            return [Wanted("GET", each, token("c_bench")) for each in [*parts, "/needs?status=active"]]
        case "nbhd":
            page = Wanted("GET", f"/sites/{ids['site'].split()[2]}/")
            paths = ["/neighborhoods", f"/neighborhoods/{ids['home']}", "/users?limit=20", f"/users/{ids['user']}"]
            return [page, *(Wanted("GET", each) for each in paths)]
    user, check = ids["check"].split()
    paths = [f"/checks/{check}", f"/users/{user}/checks", f"/checks/{check}/results", f"/checks/{check}/uptime?days=7"]
    return [Wanted("GET", each, token(user)) for each in paths]


def _writes(name: str, ids: dict[str, str], token: Callable[[str], str], number: int) -> list[Wanted]:
    match name:
        case "blog":
            user, post = ids["user"], ids["post"]
            comment = Wanted("POST", f"/posts/{post}/comments", token(user), {"content": f"Muito bom, {number}!"})
            return [comment, Wanted("PUT", f"/posts/{post}/likes/{user}", token(user))]
        case "perfectit":
            user, card = ids["user"], ids["card"]
            vote = {"voteType": "UP" if number % 2 else "DOWN"}
            said = {"text": f"It worked at the {number}th try."}
            return [
                Wanted("PUT", f"/cards/{card}/votes/{user}", token(user), vote),
                Wanted("POST", f"/cards/{card}/comments", token(user), said),
            ]
        case "eecar":
            return [Wanted("POST", "/matches", token("c_bench"), {"query": f"중고 배터리 {number % 40}"})]
        case "nbhd":
            did, site, _ = ids["site"].split()
            member = f"/neighborhoods/{ids['home']}/members/{ids['user']}"
            return [
                Wanted("PUT", member, token(ids["user"])),
                Wanted("DELETE", member, token(ids["user"])),
                Wanted("POST", f"/users/{did}/sites/{site}/builds", token(did)),
            ]
    user, check = ids["check"].split()
    return [Wanted("POST", f"/checks/{check}/{'pause' if number % 2 else 'resume'}", token(user))]


async def _exchange(connection: tuple[asyncio.StreamReader, asyncio.StreamWriter], data: bytes) -> int:
    """Sends a request and reads its reply; returns the status."""
    reader, writer = connection
    writer.write(data)
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    status = int(head.split(" ", 2)[1])
    if "content-length:" in head:
        await reader.readexactly(int(head.split("content-length:", 1)[1].split("\r\n", 1)[0]))
    return status


async def load(endpoint: str, wanted: Iterator[Wanted], seconds: float) -> tuple[list[Reply], Counter[str]]:
    """Sends requests at their times; returns the replies, and what was not answered as it should."""
    host, port = endpoint.removeprefix("http://").split(":")
    free: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        free.put_nowait(await asyncio.open_connection(host, int(port)))
    replies: list[Reply] = []
    wrong: Counter[str] = Counter()

    async def send(request: Wanted, due: float) -> None:
        connection = await free.get()
        status = await _exchange(connection, request.bytes(f"{host}:{port}"))
        replies.append(Reply((time.perf_counter() - due) * 1000, status, request.is_read))
        if status not in ACCEPTED:
            wrong[f"{request.method} {request.path.split('/')[2]} {status}"] += 1
        free.put_nowait(connection)

    begun = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for number in range(int(seconds * RATE)):
            due = begun + number / RATE
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            tasks.create_task(send(next(wanted), due))
    while not free.empty():
        free.get_nowait()[1].close()
    return replies, wrong


def measure(quick: bool) -> Section:
    """Serves the demo data from a file, and loads it."""
    seconds, warm, scale = (5.0, 2.0, 0.2) if quick else (60.0, 10.0, 1.0)
    with scratch() as folder, tempfile.TemporaryDirectory() as objects:
        file = folder / "systems.db"
        command: list[str | Path] = [PARTITA, "serve", "--on", file, "--scale", str(scale)]
        environment = {"XDG_DATA_HOME": objects, "PARTITA_DELIVERY": "log"}
        with started(lambda port: [*command, "--port", str(port)], environment=environment, within=300) as running:
            wanted = requests_of(file, random.Random(18))
            asyncio.run(load(running.endpoint, wanted, warm))
            replies, wrong = asyncio.run(load(running.endpoint, wanted, seconds))
    if wrong:
        raise RuntimeError(f"not answered as it should be: {dict(wrong)}")
    return _section(replies, seconds)


def _section(replies: list[Reply], seconds: float) -> Section:
    rows, at = [], {}
    for name, is_read in (("reads", True), ("writes", False)):
        found = sorted(each.milliseconds for each in replies if each.is_read is is_read)
        shares = {share: found[min(len(found) - 1, int(len(found) * share))] for share in (0.5, 0.95, 0.99)}
        at[name] = shares[0.99]
        rows.append([name, f"{len(found):,}", *(f"{each:.1f}" for each in shares.values()), f"{found[-1]:.1f}"])
    shown = table(["", "requests", "p50, ms", "p95, ms", "p99, ms", "most, ms"], rows)
    cores, busy = os.cpu_count(), os.getloadavg()[0]
    text = f"{RATE} requests a second for {seconds:g} s; {MIX}. Data in a file, power-safe; `partita serve` with all "
    text += f"consumers and jobs, and the generator, on {cores} cores (load average {busy:.1f} at the end).\n\n{shown}"
    target = Target("p99 of reads", at["reads"], MOST_READ_MS, "ms", below=True)
    return Section("The five systems under load", text, [target])


if __name__ == "__main__":
    alone(measure)
