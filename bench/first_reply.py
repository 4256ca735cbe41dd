"""The time from a new process to its first reply through `dynamodb://`, and the same with boto3, in turns."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from bench import workload
from bench.engines import OURS_MEMORY, partita
from bench.report import Section, Target, alone, table
from tests.peers import create_table, expect

WANTED = 1.0  # times boto3's time
NUMBER = 77

_BOTO3 = f"""
import boto3
reply = boto3.client("dynamodb").get_item(TableName={workload.TABLE_NAME!r}, Key={workload.key(NUMBER)!r})
assert reply["Item"]
"""
_OURS = f"""
from partita import connect
from partita.dynamodb.requests import GetItem
with connect("dynamodb://us-east-1", **settings) as backend:
    assert backend.call(GetItem(table_name={workload.TABLE_NAME!r}, key={workload.key(NUMBER)!r})).item
"""
_SIGNED = """
from partita.remote.credentials import CredentialChain
settings = {"credentials": CredentialChain()}
"""
_KEYS = {"AWS_ACCESS_KEY_ID": "partita", "AWS_SECRET_ACCESS_KEY": "secret"}
_PROFILE = "[default]\naws_access_key_id = partita\naws_secret_access_key = secret\n"


def measure(quick: bool) -> Section:
    """Medians of new processes; plain HTTP is unsigned by default, so one row of ours signs as boto3 does."""
    with partita(OURS_MEMORY) as server, tempfile.TemporaryDirectory() as folder:
        create_table(server.endpoint, workload.TABLE)
        expect(server.endpoint, "PutItem", {"TableName": workload.TABLE_NAME, "Item": workload.item(NUMBER)})
        profile = Path(folder) / "credentials"
        profile.write_text(_PROFILE)
        environment = _environment(server.endpoint)
        with_profile = environment | {"AWS_SHARED_CREDENTIALS_FILE": str(profile)}
        programs = {
            "boto3": (_BOTO3, environment | _KEYS),
            "boto3, keys in a profile": (_BOTO3, with_profile),
            "Partita": ("settings = {}" + _OURS, environment | _KEYS),
            "Partita, signed": (_SIGNED + _OURS, environment | _KEYS),
            "Partita, signed, keys in a profile": (_SIGNED + _OURS, with_profile),
        }
        taken: dict[str, list[float]] = {name: [] for name in programs}
        for _ in range(5 if quick else 15):
            for name, (program, variables) in programs.items():
                taken[name].append(_milliseconds(program, variables))
    medians = {name: statistics.median(samples) for name, samples in taken.items()}
    text = (
        "From the start of a process to its first item, by GetItem from a `partita engine --memory` on loopback "
        f"(AWS_ENDPOINT_URL); boto3 {version('boto3')}.\n\n"
        + table(["", "median"], [[name, f"{milliseconds:.0f} ms"] for name, milliseconds in medians.items()])
    )
    ratios = {
        "first reply, signed, of boto3's time": medians["Partita, signed"] / medians["boto3"],
        "the same, keys in a profile": medians["Partita, signed, keys in a profile"]
        / medians["boto3, keys in a profile"],
    }
    targets = [Target(what, ratio, WANTED, "times", below=True) for what, ratio in ratios.items()]
    return Section("First reply of `dynamodb://`", text, targets)


def _environment(endpoint: str) -> dict[str, str]:
    """This process's environment with no AWS settings but the endpoint."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return own | {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": "absent",
        "AWS_SHARED_CREDENTIALS_FILE": "absent",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def _milliseconds(program: str, environment: dict[str, str]) -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    return (time.perf_counter() - begun) * 1000


if __name__ == "__main__":
    alone(measure)
