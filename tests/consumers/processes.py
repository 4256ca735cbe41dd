"""A process that runs the consumers of the shop at an address until it is killed."""

import signal
import sys
from typing import Literal

from partita import connect
from partita.consumers.worker import Worker
from tests.consumers import shop


def main(address: str) -> None:
    durability: Literal["process"] | None = None if address.startswith("http") else "process"
    with connect(address, shop.design, durability=durability) as db, Worker(db, shop.CONSUMERS):
        print("running", flush=True)
        signal.pause()


if __name__ == "__main__":
    main(sys.argv[1])
