"""A Python client that openapi-python-client generates from each API, checked by mypy, and used."""

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from partita_systems import SYSTEMS
from tests.clients.conftest import ServedApis
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def generated(served: ServedApis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a package `<system>_client` for each API."""
    folder = tmp_path_factory.mktemp("python")
    settings = folder / "settings.yml"
    settings.write_text("post_hooks: []\n")
    for name in SYSTEMS:
        source, target = served.descriptions / f"{name}.json", folder / f"{name}_client"
        options = ["--meta", "none", "--output-path", target, "--config", settings, "--fail-on-warning"]
        command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", source, *options]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


def test_client_lists_creates_and_reports_errors(served: ServedApis, generated: Path) -> None:
    def module(name: str) -> Any:
        return importlib.import_module(f"perfectit_client.{name}")

    models = module("models")
    with module("client").AuthenticatedClient(served.endpoint, served.token("u_python")) as client:
        _use(module, client, models)


def _use(module: Callable[[str], Any], client: Any, models: Any) -> None:
    registered = module("api.users.register").sync(
        client=client, body=models.NewUser(username="python", display_name="Ada"), idempotency_key="python-1"
    )
    assert registered.user_id == "u_python"
    made = module("api.cards.create_draft").sync(client=client, body=models.Content(title="Typed"))
    assert (made.title, made.author_id, made.vote_score) == ("Typed", "u_python", 0)
    top = module("api.cards.list_top_voted").sync(client=client, limit=2, include="author")
    assert len(top.items) == 2
    missing = module("api.cards.get_card").sync_detailed("c_nowhere", client=client)
    assert (missing.status_code, missing.parsed.type_) == (404, "urn:partita:problem:not-found")


@pytest.mark.parametrize("name", SYSTEMS)
def test_client_of_every_api_can_be_imported(generated: Path, name: str) -> None:
    modules = [each.relative_to(generated) for each in (generated / f"{name}_client" / "api").rglob("*.py")]
    found = [importlib.import_module(".".join(each.with_suffix("").parts)) for each in modules]
    assert len(found) > 15
