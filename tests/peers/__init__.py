"""Other DynamoDB engines and clients that tests compare with, installed and started where this machine can."""

from tests.peers.engines import PEERS, Peer
from tests.peers.http import Reply, call, create_table, expect
from tests.peers.javascript import run_javascript
from tests.peers.process import Running, free_port, lists_tables, started, wait_until
from tests.peers.runtimes import Unavailable

__all__ = [
    "PEERS",
    "Peer",
    "Reply",
    "Running",
    "Unavailable",
    "call",
    "create_table",
    "expect",
    "free_port",
    "lists_tables",
    "run_javascript",
    "started",
    "wait_until",
]
