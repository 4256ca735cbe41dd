"""Numbers in canonical form, and their sizes."""

from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from partita.dynamodb.canonical import checked_value
from partita.dynamodb.exceptions import SerializationException, ValidationException
from partita.dynamodb.numbers import measured_number, measured_numbers

FORMS = st.from_regex(r"\A[+-]?[0-9]{1,12}(\.[0-9]{0,12})?([eE][+-]?[0-9]{1,2})?\Z") | st.integers().map(str)

SMALL = st.from_regex(r"\A-?0\.0{0,12}[0-9]{1,12}\Z") | st.from_regex(r"\A-?[1-9]\.[0-9]{1,9}[eE]-[1-9][0-9]\Z")


@given(st.lists(FORMS, min_size=1, max_size=20) | st.lists(SMALL, min_size=1, max_size=20))
def test_many_numbers_are_measured_as_they_are_one_by_one(texts: list[str]) -> None:
    assume(all(is_valid(text) for text in texts))
    alone = [measured_number(text) for text in texts]
    assert measured_numbers(texts) == ([text for text, _ in alone], sum(size for _, size in alone))


@given(st.lists(st.text("0123456789.,eE+-\n", max_size=6), min_size=1, max_size=4))
def test_many_texts_are_rejected_as_the_first_wrong_one_is(texts: list[str]) -> None:
    wrong = next((text for text in texts if not is_valid(text)), None)
    assume(wrong is not None)
    with pytest.raises(ValidationException) as together:
        measured_numbers(texts)
    with pytest.raises(ValidationException) as alone:
        measured_number(wrong or "")
    assert str(together.value) == str(alone.value)


def is_valid(text: str) -> bool:
    try:
        measured_number(text)
    except ValidationException:
        return False
    return True


ZEROS = "0" * 40


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1e0000000000000000005", "100000"),
        ("-1E-0000000000000000002", "-0.01"),
        (f"0.{ZEROS}1e41", "1"),
        (f"1{ZEROS}e-40", "1"),
        (f"{ZEROS}1.5{ZEROS}", "1.5"),
        (f"+.5{ZEROS}", "0.5"),
        ("0e99999999999999999999", "0"),
    ],
)
def test_zeros_that_change_nothing_are_accepted(text: str, canonical: str) -> None:
    assert measured_number(text)[0] == canonical


NUMERALS = st.from_regex(r"\A[+-]?([0-9]{1,45}(\.[0-9]{0,45})?|\.[0-9]{1,45})([eE][+-]?0{0,12}[0-9]{1,3})?\Z")


@given(NUMERALS)
def test_numeral_is_read_as_decimal_reads_it(text: str) -> None:
    value = Decimal(text)
    assert is_valid(text) == fits(value)
    if fits(value):
        assert Decimal(measured_number(text)[0]) == value


def fits(value: Decimal) -> bool:
    digits = len("".join(map(str, value.as_tuple().digits)).strip("0"))
    return not value or (-130 <= value.adjusted() <= 125 and digits <= 38)


@pytest.mark.parametrize("length", [1, 8, 300])
def test_list_of_numbers_is_checked_like_any_other(length: int) -> None:
    numbers = [{"N": "1.50"}, {"N": "-0"}, {"N": "7"}] * length
    found, size = checked_value({"L": numbers})
    assert found == {"L": [{"N": "1.5"}, {"N": "0"}, {"N": "7"}] * length}
    assert size == 3 + (1 + 3 + 1 + 1 + 1 + 2) * length
    for wrong, error in (({"N": 5}, SerializationException), ({"S": "x", "N": "1"}, ValidationException)):
        with pytest.raises(error):
            checked_value({"L": [*numbers, wrong]})
    assert checked_value({"L": [*numbers, {"S": "x"}]})[1] == size + 2
