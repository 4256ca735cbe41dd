"""A command takes the name of an installed system, a module, or an attribute of a module."""

import re
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from textwrap import dedent

import pytest

from partita import System
from partita.cli import design_loader
from partita.cli.design_loader import design_in, load_installed_systems, load_system
from partita.cli.serve import systems_to_serve
from partita.errors import ConfigurationError, PartitaError
from tests.design import shop
from tests.store import clocks, kitchen_sink_design

DESIGN = """
    from partita import Entity, Item, Table, pattern, prove
    {name} = Table("{name}", pk="PK")
    class Note(Entity, table={name}, key=("NOTE#{{note_id}}",)):
        note_id: str
    @pattern
    def note(note_id: str) -> Item[Note]: ...
    {name}_design = prove("{name}", {name})
"""

API = """
    from partita.rest import Api
    api = Api("{name}", "B", notes_design)
"""

Write = Callable[[str, str], None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes modules into the current folder; they are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)

    def _write(name: str, text: str) -> None:
        file = tmp_path / f"{name.replace('.', '/')}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(dedent(text), encoding="utf-8")

    yield _write
    for name in set(sys.modules) - before:
        del sys.modules[name]


def _install(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    found = [EntryPoint(name.rstrip("_"), value, "partita.systems") for name, value in values.items()]
    monkeypatch.setattr(design_loader, "entry_points", lambda group: found)


def _error(what: str, *parts: str) -> str:
    with pytest.raises(PartitaError) as raised:
        load_system(what, *parts)
    return str(raised.value)


# Modules


def test_design_of_a_module_is_its_only_one() -> None:
    assert design_in(kitchen_sink_design) is kitchen_sink_design.design


def test_tables_of_a_module_without_a_design_are_proven() -> None:
    assert list(design_in(shop).patterns) == ["customer", "order", "orders_to_ship", "account"]


def test_module_without_a_design_or_table_says_how_to_end_it() -> None:
    with pytest.raises(PartitaError) as raised:
        design_in(clocks)
    assert str(raised.value) == (
        'tests.store.clocks: has neither a design nor a table; end it with design = prove("name", table)'
    )


def test_of_two_designs_the_one_named_design_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    again = design_in(shop)
    monkeypatch.setattr(kitchen_sink_design, "again", again, raising=False)
    assert design_in(kitchen_sink_design) is kitchen_sink_design.design


def test_module_with_two_designs_names_both(write: Write) -> None:
    write("both", DESIGN.format(name="first") + DESIGN.format(name="second"))
    assert _error("both", "design") == (
        "both has 2 objects of type Design; write both:first_design or both:second_design, "
        "or name the one that is meant 'design'"
    )
    assert load_system("both:second_design", "design").name == "second"


def test_module_with_an_api_is_served_and_proven(write: Write) -> None:
    write(
        "board",
        DESIGN.format(name="notes") + '    from partita.rest import Api\n    api = Api("b", "B", notes_design)\n',
    )
    for what in ("board", "board:api"):
        system = load_system(what, "api")
        assert (system.name, system.api.title, system.design.name) == ("b", "B", "notes")
    assert load_system("board", "design").design.name == "notes"
    assert load_system("board:notes", "design").design.name == "notes"


def test_module_that_imports_only_an_api_is_proven_by_its_design(write: Write) -> None:
    write("board", "from tests.rest.notes_api import api\n")
    assert load_system("board", "design").design.name == "notes"


def test_module_with_two_apis_names_both(write: Write) -> None:
    write("two", "from tests.rest.notes_api import api as notes\nfrom tests.rest.library_api import api as shelves\n")
    assert _error("two", "api").startswith("two has 2 objects of type Api; write two:notes or two:shelves, or name")


def test_module_with_a_system_is_loaded_as_that(write: Write) -> None:
    write("mine", "from partita import System\nhere = System('mine', design='tests.rest.notes_api:design')\n")
    assert load_system("mine").name == "mine"
    assert load_system("mine:here", "design").design.name == "notes"


def test_design_without_an_api_can_be_proven_and_not_served(write: Write) -> None:
    write("plain", DESIGN.format(name="notes"))
    assert load_system("plain", "design", "adopt").design.name == "notes"
    assert _error("plain", "api") == (
        'plain has no API to serve; declare one with partita.rest: api = Api("plain", "Title", design)'
    )
    assert _error("plain:notes_design", "api").startswith("notes has no API to serve")
    assert _error("plain", "seed") == "notes has no demo data; declare a System with seed="


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("absent", r"'absent' is neither an installed system \(blog, .*, perfectit\) nor a module that Python finds"),
        ("absent:api", r"'absent' is neither an installed system"),
        ("", r"'' is neither"),
        (".relative", r"'.relative' is neither"),
        ("shop/design.py", r"shop/design.py is a file; write it as Python imports it: shop.design$"),
        (
            "tests.rest.notes_api:nothing",
            r"tests.rest.notes_api has no 'nothing'; write tests.rest.notes_api:design",
        ),
        ("tests.rest.notes_api:", r"tests.rest.notes_api has no ''; write"),
        ("tests.store.clocks:nothing", r"tests.store.clocks has no 'nothing'$"),
        (
            "tests.rest.notes_api:Notes",
            r"tests.rest.notes_api:Notes is of type type; name a System",
        ),
    ],
)
def test_name_of_nothing_is_an_error_that_says_what_to_write(what: str, said: str) -> None:
    assert re.match(said, _error(what, "design"))


def test_error_in_a_module_is_shown_from_its_own_line(write: Write) -> None:
    write("broken", "x = 1\nx.y\n")
    shown = _error("broken:api", "api").splitlines()
    assert shown[0] == "broken:api cannot be imported"
    assert 'broken.py", line 2' in shown[2]
    assert shown[-1] == "AttributeError: 'int' object has no attribute 'y'"


def test_error_in_a_part_of_a_system_is_shown_from_its_own_line(write: Write) -> None:
    write("parts", "import absent_thing\n")
    write("mine", "from partita import System\nsystem = System('mine', design='parts:design')\n")
    shown = _error("mine", "design").splitlines()
    assert shown[0] == "mine cannot be imported"
    assert 'parts.py", line 1' in shown[2]


# Installed systems


def test_installed_system_is_loaded_by_name() -> None:
    assert load_system("blog", "design").design.name == "blog"
    assert load_system("blog") is load_system("partita_systems.blog:system") is load_system("partita_systems.blog")


def test_installed_systems_are_sorted_by_name() -> None:
    assert [each.name for each in load_installed_systems()] == ["blog", "checks", "eecar", "nbhd", "perfectit"]


def test_system_of_a_third_party_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, notes="tests.rest.notes_api:api", shelves="tests.rest.library_api")
    assert [each.name for each in systems_to_serve(())] == ["notes", "shelves"]
    assert [each.name for each in systems_to_serve(("shelves", "notes", "shelves"))] == ["shelves", "notes"]


def test_without_installed_systems_the_error_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch)
    with pytest.raises(ConfigurationError) as raised:
        load_installed_systems()
    assert str(raised.value) == (
        "no system is installed; run pip install partita-systems, or serve your own API: partita serve my.app:api"
    )
    assert _error("blog").startswith("'blog' is neither an installed system nor a module")


def test_name_that_two_distributions_declare_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, notes="tests.rest.notes_api:api", notes_="elsewhere:system")
    assert _error("notes") == (
        "two installed systems are named 'notes': tests.rest.notes_api:api and elsewhere:system; uninstall one"
    )


def test_same_distribution_seen_twice_is_no_clash(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, notes="tests.rest.notes_api:api", notes_="tests.rest.notes_api:api")
    assert load_system("notes").name == "notes"


def test_entry_point_and_its_system_have_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, other="tests.rest.notes_api:api")
    assert _error("other") == (
        "the entry point 'other' loads a system named 'notes' (tests.rest.notes_api:api); both need the same name"
    )


def test_module_in_this_folder_with_the_name_of_an_installed_system_is_an_error(write: Write) -> None:
    write("blog", "design = None\n")
    assert _error("blog") == (
        "'blog' is both an installed system and a module in this folder; write partita_systems.blog:system for the "
        "system or blog:ATTRIBUTE for the module"
    )


def test_package_that_is_itself_the_installed_system_is_no_clash(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write("mine", "from partita import System\nsystem = System('mine', design='tests.rest.notes_api:design')\n")
    _install(monkeypatch, mine="mine:system")
    assert load_system("mine", "design").name == "mine"


def test_two_apis_of_one_name_are_not_served_together(write: Write) -> None:
    write(
        "board",
        DESIGN.format(name="notes") + '    from partita.rest import Api\n    api = Api("blog", "B", notes_design)\n',
    )
    with pytest.raises(ConfigurationError) as raised:
        systems_to_serve(("blog", "board:api"))
    assert str(raised.value) == (
        "blog and board:api both have an API named 'blog'; rename one, or serve them on two ports"
    )


# The parts of a system


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        ("design", "tests.rest.notes_api:api", "system x: design is of type Api; give it a Design"),
        ("design", "tests.rest.notes_api:absent", "system x: module tests.rest.notes_api has no 'absent'"),
        ("design", "absent.thing:design", "system x: 'absent.thing:design': there is no module 'absent'"),
        ("seed", "tests.absent", "system x: 'tests.absent': there is no module 'tests.absent'"),
        ("api", "tests.rest.notes_api:design", "system x: api is of type Design; give it an Api"),
        ("api", "tests.rest.library_api:api", "system x: its API is declared for another design, shelves"),
        ("seed", "tests.rest.notes_api", "system x: seed is of type module; give it a module with total(scale)"),
        ("adopt", "tests.rest.notes_api:design", "system x: adopt is of type Design; give it a function"),
    ],
)
def test_part_of_the_wrong_kind_is_an_error(part: str, value: str, said: str) -> None:
    system = System("x", **{"design": "tests.rest.notes_api:design", part: value})  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError) as raised:
        getattr(system, part)
    assert str(raised.value).startswith(said)


def test_library_names_none_of_the_systems() -> None:
    """They are found through entry points, as all systems are."""
    source = Path(design_loader.__file__).parents[1]
    named = re.compile(r"partita_systems|perfectit|eecar|nbhd|[\"']blog[\"']", re.IGNORECASE)
    assert [
        f"{file.relative_to(source)}:{number}: {line.strip()}"
        for file in sorted(source.rglob("*.*"))
        if file.suffix in (".py", ".js", ".css")
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if named.search(line)
    ] == []
