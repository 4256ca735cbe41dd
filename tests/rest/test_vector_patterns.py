"""A search of a vector index is no route of its own."""

import pytest

from partita import DesignError
from partita.rest.routes import read_type
from tests.store.parts_design import similar_parts


def test_search_is_exposed_by_an_operation() -> None:
    with pytest.raises(DesignError) as error:
        read_type(similar_parts)
    assert str(error.value) == (
        "similar_parts: it searches by a vector, which clients do not have, and returns scores; "
        "expose an operation that makes the vector and runs the search"
    )
