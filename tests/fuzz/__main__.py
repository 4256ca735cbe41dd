"""`make fuzz`: many random designs, in several processes, with a seed that repeats the run.

python -m tests.fuzz --designs 10000            all of them, with a new seed
python -m tests.fuzz --seed 7 --chunk 12        one part of an earlier run, as a difference prints it
python -m tests.fuzz --on http --designs 500    on a server; `file` is two engines on one database file
"""

import argparse
import os
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from tests.fuzz.fuzz import run_chunk
from tests.fuzz.hosts import HOSTS

CHUNK = 250
"""How many designs a process tries: caches by entity would grow without end."""


def main() -> int:
    """Runs all chunks; 1 where a design made a difference."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Try random designs.")
    parser.add_argument("--designs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--chunk", type=int, help="only this one")
    parser.add_argument("--on", choices=HOSTS, default="memory")
    asked = parser.parse_args()
    chunks = [asked.chunk] if asked.chunk is not None else list(range(-(-asked.designs // CHUNK)))
    sizes = {chunk: CHUNK if asked.chunk is not None else min(CHUNK, asked.designs - chunk * CHUNK) for chunk in chunks}
    print(f"seed {asked.seed}: {sum(sizes.values())} designs in {len(chunks)} chunks, {asked.jobs} at once", flush=True)
    begun, done, held, differences = time.monotonic(), 0, 0, 0
    with ProcessPoolExecutor(asked.jobs, get_context("spawn"), max_tasks_per_child=1) as pool:
        running = [pool.submit(run_chunk, asked.seed, chunk, size, asked.on) for chunk, size in sizes.items()]
        for each in as_completed(running):
            chunk, good, difference = each.result()
            done, held = done + sizes[chunk], held + good
            if difference:
                differences += 1
                repeat = f"python -m tests.fuzz --seed {asked.seed} --chunk {chunk} --on {asked.on}"
                print(f"\n{difference}\n\nrepeat it with: {repeat}\n", flush=True)
            seconds = time.monotonic() - begun
            print(f"{done} designs, {held} held, {differences} differences, {seconds:.0f} s", flush=True)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
