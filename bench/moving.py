"""`partita move` of a file under writers: how long they are paused, and what the longest write of one of them takes.

Writers are threads of another process. `python -m bench.moving` runs it alone.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.engines import scratch
from bench.report import Section, Target, alone, table
from partita import Entity, Item, Store, Table, connect, pattern, prove
from partita.dynamodb.exceptions import AccessDeniedException
from partita.recovery import Move, move

MAX_SECONDS = 1.0
WRITERS = 8
stock = Table("stock", "PK", "SK", stream="NEW_AND_OLD_IMAGES")


class Article(Entity, table=stock, key=("ARTICLE#{article_id}", "ARTICLE")):
    article_id: str
    count: int
    text: str = "x" * 400


@pattern
def article(article_id: str) -> Item[Article]: ...


design = prove("stock", stock)


def write(path: str) -> dict[str, float]:
    """Writes from several threads until the file rejects it; writes a second, and the longest one."""
    done: list[tuple[int, float]] = []

    def run(db: Store, thread: int) -> None:
        number, longest = 0, 0.0
        try:
            while True:
                begun = time.perf_counter()
                db.put(Article(article_id=f"{thread}.{number % 500}", count=number))
                longest = max(longest, time.perf_counter() - begun)
                number += 1
        except AccessDeniedException:
            waited = time.perf_counter() - begun
            done.append((number, max(longest, waited)))

    with connect(path, design) as db:
        begun = time.perf_counter()
        threads = [threading.Thread(target=run, args=(db, each)) for each in range(WRITERS)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        seconds = time.perf_counter() - begun
    return {"writes": sum(number for number, _ in done) / seconds, "longest": max(longest for _, longest in done)}


def moved(folder: Path, items: int) -> tuple[Move, dict[str, float]]:
    """A move of some items, and what the writers saw."""
    old, new = folder / "old.db", folder / "new.db"
    with connect(old, design) as source, connect(new, design) as target:
        source.create_tables()
        source.put_many([Article(article_id=f"old.{number}", count=number) for number in range(items)])
        command = [sys.executable, "-m", "bench.moving", str(old)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writers:
            time.sleep(1)

            @contextmanager
            def pause() -> Iterator[None]:
                with source.backend.paused_writes() as fence:  # type: ignore[attr-defined]
                    yield
                    fence.set(["stock"], str(new))

            done = move(source, target, pause)
            seen: dict[str, float] = json.loads(writers.communicate()[0])
        if sum(1 for _ in source.scan(Article)) != sum(1 for _ in target.scan(Article)):
            raise RuntimeError("items were lost or doubled")
    return done, seen


def measure(quick: bool) -> Section:
    """The pause of a move under writers."""
    items = 5_000 if quick else 50_000
    with scratch() as folder:
        done, seen = moved(folder, items)
    rows = [
        ["writers were paused", f"{done.paused * 1000:,.0f} ms"],
        ["of it for the last changes", f"{done.last_changes * 1000:,.0f} ms"],
        ["longest write of a program", f"{seen['longest'] * 1000:,.0f} ms"],
        ["writes a second meanwhile", f"{seen['writes']:,.0f}"],
        ["changes followed", f"{done.tables[0].changes:,}"],
    ]
    text = (
        table(["`partita move`, file to file", ""], rows)
        + f"\n\n{items:,} items of about 500 bytes, {WRITERS} threads of another process write, power-safe."
    )
    return Section("Moving", text, [Target("pause of writers", done.paused, MAX_SECONDS, "s", below=True)])


if __name__ == "__main__":
    if len(sys.argv) == 2 and not sys.argv[1].startswith("-"):
        print(json.dumps(write(sys.argv[1])))
    else:
        alone(measure)
