"""The page of operations says what is so."""

from partita.dynamodb.operations import OPERATIONS
from partita.engine.operations import HANDLERS
from tests.docs.operations import PAGE, page


def test_page_of_operations_is_current() -> None:
    assert PAGE.read_text() == page(), "run python -m tests.docs.operations"


def test_every_operation_of_the_wire_is_answered_by_the_engine() -> None:
    assert {operation.request for operation in OPERATIONS.values()} == HANDLERS.keys()


def test_page_lists_what_is_not_there() -> None:
    assert "| CreateGlobalTable | no | |" in page()
    assert "| PutItem | yes |  |" in page()
