"""A process that runs the consumers of the shop on a file until it is killed."""

import signal
import sys

from partita import connect
from partita.consumers.worker import Worker
from tests.consumers import shop


def main() -> None:
    with connect(sys.argv[1], shop.design, durability="process") as db, Worker(db, shop.CONSUMERS):
        print("running", flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
