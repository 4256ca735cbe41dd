"""A server with demo data, and the description of its APIs in files."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import pytest

from partita.cli.token import issuer_beside
from partita_systems import SYSTEMS
from tests.peers import started

PARTITA = Path(sys.executable).with_name("partita")


class ServedApis(NamedTuple):
    """A server of all five systems, its database file, and a folder with `<system>.json` for each."""

    endpoint: str
    file: Path
    descriptions: Path

    def token(self, subject: str, *groups: str) -> str:
        return issuer_beside(str(self.file)).token(subject, groups)


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApis]:
    folder = tmp_path_factory.mktemp("served")
    file = folder / "demo.db"
    with started(lambda port: [PARTITA, "serve", "--port", str(port), "--on", file, "--scale", "0.1"]) as running:
        for name in SYSTEMS:
            with urlopen(f"{running.endpoint}/api/{name}/openapi.json") as reply:  # noqa: S310 - our own server
                (folder / f"{name}.json").write_bytes(reply.read())
        yield ServedApis(running.endpoint, file, folder)
