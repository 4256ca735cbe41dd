"""The compiled writer returns exactly the item of `item_of`, and raises the same errors."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita import Entity, F, Index, InvalidValue, Keys, Ordered, Table
from partita.design.models import model_of
from partita.plan.item_compiler import compiled_item, item_writer
from partita.plan.items import item_of, values_of
from tests.store.kitchen_sink_design import Importance, Kind, Size, State, Work
from tests.store.test_codecs import things

shelf = Table("shelf", pk="isbn", sk="copy", ttl="gone", indexes=(Index("ByRank", "shelf", "rank"),))


class Book(Entity, table=shelf, key=(None, None)):
    """Its keys are attributes of its own; the index has one form, under a condition."""

    isbn: str
    copy: int
    lent: bool = False
    place: str | None = None
    score: Annotated[int, Ordered(-99, 99)] = 0

    by_rank = Keys("ByRank", "PLACE#{place}", "{score}#{isbn}", when=F.lent == False)  # noqa: E712


moments = st.datetimes(datetime(1990, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))
works = st.builds(
    Work,
    work_id=st.text("ab#$ é", min_size=1, max_size=4),
    artist_id=st.text(min_size=1, max_size=3),
    title=st.text(max_size=3),
    state=st.sampled_from(State),
    importance=st.sampled_from(Importance),
    price=st.integers(-9999, 9999).map(Decimal),
    kind=st.none() | st.sampled_from(Kind),
    year=st.none() | st.integers(1990, 1993),
    score=st.none() | st.integers(-3, 3),
    tags=st.sets(st.sampled_from("abc")),
    years=st.frozensets(st.integers(1, 3)),
    size=st.none() | st.builds(Size, st.integers(1, 9), st.integers(1, 9)),
    parts=st.dictionaries(st.sampled_from("ab"), st.integers(0, 9).map(Decimal)),
    hung_on=st.none() | st.dates(date(2000, 1, 1)),
    published_at=st.none() | moments,
    created_at=moments,
    updated_at=moments,
)
books = st.builds(
    Book,
    isbn=st.text("ab#é\u0301", min_size=1, max_size=3),
    copy=st.integers(-9, 9),
    lent=st.booleans(),
    place=st.none() | st.text("ab#", min_size=1, max_size=2),
    score=st.integers(-99, 99),
)


@given(works | things | books)
def test_the_compiled_writer_makes_the_same_item(entity: Any) -> None:
    model = model_of(type(entity))
    values = values_of(model, entity)
    item = item_writer(model)(values)
    assert msgspec.json.encode(item) == msgspec.json.encode(item_of(model, values))


@pytest.mark.parametrize(
    ("values", "refusal"),
    [
        ({"isbn": ""}, "Book.isbn: empty text cannot be part of a key"),
        ({"isbn": None}, "Book.isbn: a part of the key is missing"),
        ({"isbn": "x" * 2049}, "Book.isbn: the key is longer than 2048 bytes"),
        ({"place": ""}, "Book.place: empty text cannot be part of a key"),
        ({"score": 100}, "Book.score: 100 is not between -99 and 99, the bounds of Ordered"),
    ],
)
def test_invalid_value_raises_the_same_error_as_the_steps(values: dict[str, Any], refusal: str) -> None:
    fitting = {"isbn": "1", "copy": 1, "lent": False, "place": "hall", "score": 1}
    with pytest.raises(InvalidValue) as refused:
        compiled_item(model_of(Book), fitting | values)
    assert str(refused.value).startswith(refusal)


def test_a_long_key_that_fits_is_written() -> None:
    values = {"isbn": "x" * 2048, "copy": 1, "lent": True, "place": None, "score": 1}
    assert compiled_item(model_of(Book), values)["isbn"] == {"S": "x" * 2048}
