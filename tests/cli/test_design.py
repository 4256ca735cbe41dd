"""`partita prove` and `partita explain` describe the design of a module or a system."""

import subprocess
import sys

import pytest

from partita import DesignError, System
from partita.cli.design import explain_pattern, proof_summary, system_page
from tests.design import shop
from tests.rest import notes_api
from tests.store import kitchen_sink_design


def test_proof_lists_every_pattern_with_its_operation_and_index() -> None:
    from partita import prove

    assert proof_summary(prove("shop", shop.shop)) == (
        "shop: 2 entities, 4 patterns, proven\n"
        "  customer                         GetItem  shop\n"
        "  order                            GetItem  shop\n"
        "  orders_to_ship                   Query    GSI1\n"
        "  account                          Query    shop"
    )


def test_pattern_is_explained_by_its_name() -> None:
    assert explain_pattern(kitchen_sink_design.design, "notes").startswith("notes -> Note\n  where    table gallery\n")
    with pytest.raises(DesignError, match=r"^gallery: has no pattern 'nothing'; its patterns are artist, work"):
        explain_pattern(kitchen_sink_design.design, "nothing")


def test_page_of_a_system_has_its_text_its_design_and_its_operations() -> None:
    alone = system_page(System("notes", design=notes_api.design))
    assert "## Entities" in alone
    assert "## Over HTTP" not in alone
    whole = system_page(System("notes", design=notes_api.design, api=notes_api.api))
    assert whole.startswith(alone)
    assert "| GET | `/api/notes/notes/{noteId}` |" in whole


@pytest.mark.parametrize("command", ["prove", "explain"])
def test_design_commands_do_not_import_rest(command: str) -> None:
    pattern = "'post', " if command == "explain" else ""
    code = (
        "import sys; from partita.cli.main import app\n"
        f"app(['{command}', 'blog', {pattern}], result_action='return_value')\n"
        "print([name for name in sys.modules if name.startswith(('partita.rest', 'partita.server', 'jwt', 'uvicorn'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
