"""Any text is a statement, or is rejected with a DynamoDB error."""

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.statements.statement_parser import parse_statement

PIECES = (
    "SELECT INSERT INTO UPDATE DELETE FROM VALUE WHERE SET REMOVE AND OR NOT IN IS MISSING NULL BETWEEN ORDER BY DESC "
    "RETURNING ALL OLD NEW MODIFIED EXISTS LIMIT AS true * , . ; ? = <> < >= ( ) [ ] { } << >> : + - 'text' '' 'it''s' "
    '"quoted" "" name n 1 2.5e3 .5 -- /* */ size begins_with set_add list_append ` ` \n @'
).split(" ")

statements = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join),
    st.builds(
        "SELECT {} FROM t WHERE {}".format,
        st.sampled_from(["*", "a", "a.b[0]"]),
        st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join),
    ),
)


@given(statements)
def test_any_text_is_a_statement_or_is_rejected(text: str) -> None:
    with contextlib.suppress(ValidationException):
        parse_statement(text)


@given(st.text(min_size=1, max_size=20))
def test_any_text_can_be_a_quoted_name_and_a_string(text: str) -> None:
    name, string = text.replace('"', '""'), text.replace("'", "''")
    statement = parse_statement(f"""SELECT "{name}" FROM t WHERE "{name}" = '{string}'""")
    assert statement.literals == {":0": {"S": text}}
