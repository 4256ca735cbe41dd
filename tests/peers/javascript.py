"""Runs scripts that use the AWS SDK for JavaScript v3, in Node, against an endpoint."""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.peers.npm import modules
from tests.peers.runtimes import node
from tests.timing import PATIENCE

PREAMBLE = """
const dynamodb = require("@aws-sdk/client-dynamodb");
const streams = require("@aws-sdk/client-dynamodb-streams");
const documents = require("@aws-sdk/lib-dynamodb");
const settings = {
  endpoint: process.env.ENDPOINT, region: "us-east-1", maxAttempts: 1,
  credentials: { accessKeyId: "partita", secretAccessKey: "partita" },
};
const client = new dynamodb.DynamoDBClient(settings);
const streamsClient = new streams.DynamoDBStreamsClient(settings);
const documentClient = documents.DynamoDBDocumentClient.from(client);
const plain = (key, value) => value instanceof Set ? [...value] : typeof value === "bigint" ? value.toString() : value;
(async () => {
"""
ENDING = """
})().then(
  (value) => ({ value: value ?? null }),
  (error) => ({ error: { ...error, name: error.name, message: error.message } }),
).then((outcome) => process.stdout.write(JSON.stringify(outcome, plain)));
"""


class JavaScriptError(Exception):
    """An error that the script threw; `facts` has its name, its message and the SDK's own members."""

    def __init__(self, facts: dict[str, Any]) -> None:
        super().__init__(f"{facts['name']}: {facts['message']}")
        self.facts = facts


def run_javascript(endpoint: str, body: str, *, timeout: float = PATIENCE) -> Any:
    """Runs `body` and returns its result, passed through JSON.

    `body` is the body of an async function. In scope are `client`, `streamsClient` and `documentClient`, configured for
    the endpoint, and the packages `dynamodb`, `streams` and `documents`.
    """
    environment = os.environ | {"NODE_PATH": str(modules()), "NODE_NO_WARNINGS": "1", "ENDPOINT": endpoint}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.cjs"
        script.write_text(PREAMBLE + body + ENDING)
        done = subprocess.run(
            [*node(), script], env=environment, capture_output=True, text=True, timeout=timeout, check=False
        )
    if done.returncode != 0 or not done.stdout:
        raise RuntimeError(f"node ended with {done.returncode}: {done.stderr[-4000:]}")
    outcome = json.loads(done.stdout)
    if "error" in outcome:
        raise JavaScriptError(outcome["error"])
    return outcome["value"]
