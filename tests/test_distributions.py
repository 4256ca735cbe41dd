"""Both distributions as users install them: wheels, in an environment with nothing but what `partita` requires.

The wheels are built offline, by the build backend of this environment; apsw and msgspec are copied from it.
"""

import os
import shutil
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import pytest

from partita.extras import MODULES
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
REQUIRED = ("apsw", "msgspec")
FIVE = {"blog", "checks", "eecar", "nbhd", "perfectit"}


class Wheel(NamedTuple):
    """A built wheel: its file, the names in it, and its metadata."""

    file: Path
    names: list[str]
    metadata: str
    entry_points: str


class Environment(NamedTuple):
    """A fresh virtual environment."""

    folder: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        program, *rest = arguments
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "AWS_"))}
        command = [str(self.folder / "bin" / program), *rest]
        return subprocess.run(
            command, capture_output=True, text=True, env=clean, cwd=self.folder, timeout=PATIENCE, check=False
        )

    def python(self, code: str) -> str:
        done = self.run("python", "-c", code)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def _built(source: Path, folder: Path) -> Wheel:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (file,) = folder.glob("*.whl")
    with ZipFile(file) as wheel:
        names = wheel.namelist()
        texts = {
            Path(name).name: wheel.read(name).decode() for name in names if Path(name).parent.suffix == ".dist-info"
        }
    return Wheel(file, names, texts["METADATA"], texts.get("entry_points.txt", ""))


@pytest.fixture(scope="module")
def partita(tmp_path_factory: pytest.TempPathFactory) -> Wheel:
    return _built(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def systems(tmp_path_factory: pytest.TempPathFactory) -> Wheel:
    return _built(ROOT / "systems", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def fresh(partita: Wheel, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with partita and its requirements, and no extra."""
    environment = Environment(tmp_path_factory.mktemp("fresh"))
    venv.create(environment.folder, symlinks=True)
    _install(environment, partita)
    for name in REQUIRED:
        _copy(name, _packages(environment))
    return environment


@pytest.fixture
def with_cli(fresh: Environment, tmp_path: Path) -> Environment:
    """A copy of it that has the command line."""
    copy = Environment(tmp_path / "cli")
    shutil.copytree(fresh.folder, copy.folder, symlinks=True)
    script = copy.folder / "bin" / "partita"
    script.write_text(script.read_text().replace(str(fresh.folder / "bin"), str(copy.folder / "bin")))
    for name in ("cyclopts", "rich", "attrs", "docstring-parser", "rich-rst", "pygments", "markdown-it-py", "mdurl"):
        _copy(name, _packages(copy))
    return copy


def _packages(environment: Environment) -> Path:
    (found,) = environment.folder.glob("lib/python*/site-packages")
    return found


def _install(environment: Environment, wheel: Wheel) -> None:
    command = [sys.executable, "-m", "pip", "--python", str(environment.folder / "bin" / "python"), "install"]
    quiet = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", str(wheel.file)]
    subprocess.run([*command, *quiet], check=True, capture_output=True)


def _copy(name: str, packages: Path) -> None:
    for file in distribution(name).files or ():
        if ".." not in file.parts and "__pycache__" not in file.parts:
            target = packages / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(file.locate()), target)


# The wheels


def test_wheel_of_the_library_has_the_library_only(partita: Wheel) -> None:
    assert {name.split("/")[0] for name in partita.names} == {"partita", "partita-0.1.0.dist-info"}
    assert "partita/py.typed" in partita.names
    assert "partita/rest/pages/docs_page.js" in partita.names
    assert not [name for name in partita.names if "test" in Path(name).name and Path(name).stem != "pytest_plugin"]


def test_wheel_of_the_systems_has_the_systems_only(systems: Wheel) -> None:
    assert {name.split("/")[0] for name in systems.names} == {"partita_systems", "partita_systems-0.1.0.dist-info"}
    assert {f"partita_systems/{name}/page.md" for name in FIVE} <= set(systems.names)
    assert {f"partita_systems/{name}/story.py" for name in FIVE}.isdisjoint(systems.names)


def test_both_have_name_version_readme_and_licence(partita: Wheel, systems: Wheel) -> None:
    for wheel, name in ((partita, "partita"), (systems, "partita-systems")):
        head, _, readme = wheel.metadata.partition("\n\n")
        for line in (f"Name: {name}", "Version: 0.1.0", "License-Expression: Apache-2.0", "License-File: LICENSE"):
            assert line in head.splitlines()
        assert readme.startswith("# ")
        assert any(file.endswith("/licenses/LICENSE") for file in wheel.names)


def test_library_requires_storage_and_codec_only(partita: Wheel) -> None:
    required = [line for line in partita.metadata.splitlines() if line.startswith("Requires-Dist: ")]
    plain = [line.split()[1].rstrip("<>=.0123456789") for line in required if "extra ==" not in line]
    assert plain == list(REQUIRED)
    extras = [line.split()[1] for line in partita.metadata.splitlines() if line.startswith("Provides-Extra: ")]
    assert sorted(extras) == sorted(MODULES)


def test_systems_require_the_library_of_their_version_with_what_serve_needs(systems: Wheel) -> None:
    assert "Requires-Dist: partita[cli,rest,server,text,vectors]==0.1.0" in systems.metadata.splitlines()


def test_systems_are_declared_as_entry_points(systems: Wheel) -> None:
    head, *lines = systems.entry_points.split()
    assert head == "[partita.systems]"
    assert {name for name in lines if name in FIVE} == FIVE


# Without extras


def test_design_and_store_work_without_extras(fresh: Environment, tmp_path: Path) -> None:
    code = f"""
from partita import *
shop = Table("shop", pk="PK")
class Note(Entity, table=shop, key=("NOTE#{{note_id}}",)):
    note_id: str
    text: str
@pattern
def note(note_id: str) -> Item[Note]: ...
for address in ("memory:", {str(tmp_path / "notes.db")!r}):
    db = connect(address, prove("shop", shop))
    db.create_tables()
    db.create(Note(note_id="1", text="no extra"))
    print(db.one(note("1")).text)
"""
    assert fresh.python(code).splitlines() == ["no extra", "no extra"]


def test_pytest_plugin_is_imported_without_other_extras(with_cli: Environment) -> None:
    for name in ("pytest", "pluggy", "iniconfig", "packaging"):
        _copy(name, _packages(with_cli))
    assert with_cli.python("import partita.pytest_plugin; print('imported')") == "imported"


@pytest.mark.parametrize(
    ("code", "subject", "extra", "missing"),
    [
        ("import partita.rest", "partita.rest", "rest", "jwt"),
        ("import partita.rest.application", "partita.rest", "rest", "jwt"),
        ("import partita.boto; partita.boto.client(None)", "partita.boto", "boto", "boto3"),
        ("connect('http://127.0.0.1:8000')", "an address over HTTP", "remote", "urllib3"),
        ("connect('dynamodb://eu-west-1')", "an address over HTTP", "remote", "urllib3"),
        ("asyncio.run(connect_async('http://127.0.0.1:1'))", "HTTP on an event loop", "async", "aiohttp"),
    ],
)
def test_import_says_which_extra_it_lacks(
    fresh: Environment, code: str, subject: str, extra: str, missing: str
) -> None:
    caught = f"import asyncio\nfrom partita import *\ntry: {code}\nexcept MissingExtra as error: print(error)"
    said = f"{subject} needs an extra; run pip install 'partita[{extra}]' ({missing} is missing)"
    assert fresh.python(caught) == said


def test_amazon_needs_botocore_only_where_the_environment_has_no_keys(with_cli: Environment) -> None:
    _copy("urllib3", _packages(with_cli))
    code = (
        "import os\nfrom partita import *\n"
        "try: connect('dynamodb://eu-west-1')\n"
        "except MissingExtra as error: print(error)\n"
        "os.environ |= {'AWS_ACCESS_KEY_ID': 'AKIAEXAMPLE', 'AWS_SECRET_ACCESS_KEY': 'secret'}\n"
        "print(connect('dynamodb://eu-west-1').endpoint)\n"
    )
    assert with_cli.python(code).splitlines() == [
        "reading AWS profiles and roles needs an extra; run pip install 'partita[aws]' (botocore is missing)",
        "https://dynamodb.eu-west-1.amazonaws.com",
    ]


def test_command_line_says_which_extra_it_lacks(fresh: Environment) -> None:
    said = "partita: the command line needs an extra; run pip install 'partita[cli]' (cyclopts is missing)\n"
    for done in (fresh.run("partita", "prove", "shop"), fresh.run("python", "-m", "partita")):
        assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_commands_say_which_extra_they_lack(with_cli: Environment, systems: Wheel) -> None:
    for arguments, said in (
        (["engine"], "partita engine needs an extra; run pip install 'partita[server]' (uvicorn is missing)"),
        (["serve"], "partita serve needs an extra; run pip install 'partita[server,rest]' (jwt is missing)"),
        (["seed"], "no system is installed; run pip install partita-systems, or serve your own API"),
        (["seed", "--on", "http://127.0.0.1:1"], "no system is installed; run pip install partita-systems"),
    ):
        done = with_cli.run("partita", *arguments)
        assert done.returncode == 2
        assert done.stderr.startswith(f"partita: {said}"), done.stderr
        assert done.stderr.count("\n") == 1
    _install(with_cli, systems)
    (with_cli.folder / "partita.db.issuer.pem").touch()
    for arguments, said in (
        (
            ["token", "ana"],
            "the local issuer of tokens needs an extra; run pip install 'partita[rest]' (jwt",
        ),
        (["token", "ana", "--for", "blog"], "partita.rest needs an extra; run pip install 'partita[rest]'"),
        (["seed", "checks", "--on", "http://127.0.0.1:1"], "an address over HTTP needs an extra; run pip install"),
    ):
        done = with_cli.run("partita", *arguments)
        assert done.returncode == 2
        assert done.stderr.startswith(f"partita: {said}"), done.stderr
        assert done.stderr.count("\n") == 1
    assert with_cli.run("partita", "prove", "blog").stdout.startswith("blog: ")
    assert with_cli.run("partita", "seed", "checks", "--scale", "0.1").returncode == 0
