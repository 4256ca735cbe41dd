"""Measures the votes per second that one card accepts: `python -m tests.systems.perfectit.rate [ADDRESS]`."""

import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from partita import Store, connect, new_id
from partita_systems.perfectit import design as d
from partita_systems.perfectit.service import PerfectIt
from tests.systems.perfectit.conftest import published

VOTES = 400


def rate(address: str, threads: int, votes: int = VOTES) -> float:
    """Votes per second on one card, from this number of threads."""
    with connect(address) as backend:
        db = Store(backend, d.design)
        db.create_tables()
        perfectit = PerfectIt(db)
        category = perfectit.add_category(new_id("k", perfectit.now()), "Rated").category_id
        ids = [new_id("u", perfectit.now()) for _ in range(votes)]
        voters = [perfectit.register(each[-20:], "Voter", user_id=each).user_id for each in ids]
        card = published(perfectit, voters[0], category=category)
        begun = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda voter: perfectit.votes.on_card(voter, card, d.VoteType.UP), voters))
        seconds = time.perf_counter() - begun
        assert db.one(d.card(card), consistent=True).vote_score == votes
        return votes / seconds


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for address in sys.argv[1:] or ("memory:", str(Path(folder) / "rate.db")):
            for threads in (1, 4, 16):
                print(f"{address}: {threads} at once, {rate(address, threads):.0f} votes a second", flush=True)
