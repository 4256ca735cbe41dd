"""A get over HTTP as a client has it: our remote backend and boto3, of the same server, round by round."""

import asyncio
import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import boto3
import msgspec
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials

from bench import workload
from bench.engines import OURS_MEMORY, load, partita
from bench.report import Section, Target, alone, table
from partita import connect, connect_async
from partita.dynamodb.requests import GetItem
from partita.remote.credentials import Credentials
from partita.remote.endpoints import endpoint_at
from partita.remote.signing import CONTENT_TYPE, Signer

WANTED = 2.0  # times boto3's rate
OURS = "Partita, signed"
THEIRS = "boto3, signed"
KEYS = Credentials("partita", "secret")
CALLS = 400
TARGET = "DynamoDB_20120810.GetItem"

Run = Callable[[], float]
"""One round: calls a second."""


def measure(quick: bool) -> Section:
    """Medians of rounds taken in turns, one call after the other, each item decoded into Python values."""
    rounds = 3 if quick else 9
    with partita(OURS_MEMORY) as server:
        load(server.endpoint)
        with _runs(server.endpoint) as runs:
            for run in runs.values():
                run()
            taken: dict[str, list[float]] = {name: [] for name in runs}
            for _ in range(rounds):
                for name, run in runs.items():
                    taken[name].append(run())
    rates = {name: statistics.median(samples) for name, samples in taken.items()}
    text = (
        "GetItem of an item of 20 attributes over HTTP, by one client, one call after the other, from the same "
        f"`partita engine --memory`; boto3 {version('boto3')}, urllib3 {version('urllib3')}, "
        f"aiohttp {version('aiohttp')}. The item ends as Python values on both sides.\n\n"
        + table(["", "a second"], [[name, f"{rate:,.0f}"] for name, rate in rates.items()])
        + "\n\n"
        + table(["signing one request", "microseconds"], [[name, f"{us:.1f}"] for name, us in _signing().items()])
    )
    return Section(
        "As a client", text, [Target("GetItem, of boto3's rate", rates[OURS] / rates[THEIRS], WANTED, "times")]
    )


@contextmanager
def _runs(endpoint: str) -> Iterator[dict[str, Run]]:
    bodies = workload.bodies("GetItem")[:CALLS]
    requests = [GetItem(table_name=body["TableName"], key=body["Key"]) for body in bodies]
    client: Any = boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id=KEYS.access_key,
        aws_secret_access_key=KEYS.secret_key,
    )
    decode = msgspec.json.Decoder().decode

    with (
        connect(endpoint, credentials=KEYS) as backend,
        connect(endpoint) as unsigned,
        asyncio.Runner() as runner,
    ):
        loop_backend = runner.run(connect_async(endpoint, credentials=KEYS))

        async def on_loop() -> None:
            for request in requests:
                decode((await loop_backend.call(request)).item or b"")

        yield {
            THEIRS: _timed(lambda: [client.get_item(**body)["Item"] for body in bodies]),
            OURS: _timed(lambda: [decode(backend.call(request).item or b"") for request in requests]),
            "Partita, unsigned": _timed(lambda: [decode(unsigned.call(request).item or b"") for request in requests]),
            "Partita, signed, on an event loop": _timed(lambda: runner.run(on_loop())),
        }
        runner.run(loop_backend.close())


def _timed(run: Callable[[], object]) -> Run:
    def rate() -> float:
        begun = time.perf_counter()
        run()
        return CALLS / (time.perf_counter() - begun)

    return rate


def _signing() -> dict[str, float]:
    """Microseconds to sign one request, theirs and ours."""
    endpoint = endpoint_at("https://dynamodb.eu-west-1.amazonaws.com")
    body = json.dumps(workload.bodies("GetItem", items=1)[0]).encode()
    theirs = SigV4Auth(ReadOnlyCredentials(KEYS.access_key, KEYS.secret_key, None), "dynamodb", endpoint.region)
    ours = Signer(endpoint)
    headers = {"Content-Type": CONTENT_TYPE, "X-Amz-Target": TARGET}

    def botocore_signs() -> None:
        theirs.add_auth(AWSRequest("POST", endpoint.url + "/", headers=headers, data=body))

    def microseconds(sign: Callable[[], object]) -> float:
        return 1e6 / statistics.median(_timed(lambda: [sign() for _ in range(CALLS)])() for _ in range(5))

    return {
        "botocore": microseconds(botocore_signs),
        "Partita": microseconds(lambda: ours.headers(KEYS, TARGET, body)),
    }


if __name__ == "__main__":
    alone(measure)
