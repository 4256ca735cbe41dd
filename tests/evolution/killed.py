"""A process that applies the second design of the shop to a file, for a test that kills it: killed.py FILE."""

import sys

from partita import Store, connect
from partita.evolution.apply import apply_design
from tests.evolution.shop import second

if __name__ == "__main__":
    with connect(sys.argv[1], durability="process") as backend:
        print("started", flush=True)
        apply_design(Store(backend, second(unique=True).design))
        print("applied", flush=True)
