"""Whether a PartiQL statement reads or writes is decided alike before and after it is parsed."""

from hypothesis import given
from hypothesis import strategies as st

from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.operations import is_read
from partita.dynamodb.statement_shapes import ExecuteStatement
from partita.dynamodb.statements.statement_parser import parse_statement
from tests.engine.tables import Bench

STATEMENTS = ["SELECT * FROM t", "DELETE FROM t WHERE pk = 'SELECT'", "INSERT INTO t VALUE {'pk': 'a'}", "x"]
GAPS = [" ", "\n", "--", "/*", "*/", "-- SELECT\n", "/* SELECT */", "/* -- */", "--/*\n", "SELECT", "'"]

texts = st.builds(
    lambda gaps, statement: "".join(gaps) + statement, st.lists(st.sampled_from(GAPS)), st.sampled_from(STATEMENTS)
)


@given(texts)
def test_statement_reads_before_parsing_as_after(text: str) -> None:
    try:
        parsed = parse_statement(text)
    except ValidationException:
        return
    assert is_read(ExecuteStatement(statement=text)) == parsed.reads


def test_write_behind_a_comment_with_select_is_executed(bench: Bench) -> None:
    bench.table("notes", "pk:S")
    bench.put("notes", pk="a")
    bench.ok("ExecuteStatement", Statement="-- SELECT what goes\nDELETE FROM notes WHERE pk = 'a'")
    assert bench.get("notes", pk="a") is None
