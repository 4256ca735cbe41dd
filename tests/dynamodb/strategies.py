"""Random attribute values and items, in forms that DynamoDB accepts but would not itself return.

The pools are small, so that two values drawn apart are often equal, or one is inside the other.
"""

import base64
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from partita.dynamodb.numbers import canonical_number
from partita.dynamodb.values import AttributeValue, Item

Values = st.SearchStrategy[AttributeValue]

LONG = "12345678901234567890123456789012345678"  # 38 digits
NUMBERS = ["0", "-0.0", "1", "1.0", "+1", "10", "1E1", "9.5", "-9.5", "-2", LONG, f"-{LONG}", f"{LONG}E-50", "1E-130"]

texts = st.one_of(st.text("ab", max_size=3), st.sampled_from(["é", "\uffff", "\U0001f600", "a\U0001f600"]))
numbers = st.sampled_from(NUMBERS)
binaries = st.binary(max_size=2).map(lambda data: b"a" * (len(data) % 2) + data)


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _set_of(tag: str, members: st.SearchStrategy[str], same: Any = str) -> Values:
    """A set in any order, without members that are equal to DynamoDB."""
    unique = st.lists(members, min_size=1, max_size=3, unique_by=same)
    return unique.map(lambda each: {tag: each})


scalars: Values = st.one_of(
    texts.map(lambda text: {"S": text}),
    numbers.map(lambda text: {"N": text}),
    binaries.map(lambda data: {"B": encoded(data)}),
    st.booleans().map(lambda flag: {"BOOL": flag}),
    st.just({"NULL": True}),
)
sets: Values = st.one_of(
    _set_of("SS", texts), _set_of("NS", numbers, canonical_number), _set_of("BS", binaries.map(encoded))
)
values: Values = st.recursive(
    scalars | sets,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda each: {"L": each}),
        st.dictionaries(st.sampled_from(["x", "y"]), inner, max_size=2).map(lambda each: {"M": each}),
    ),
    max_leaves=5,
)
items: st.SearchStrategy[Item] = st.dictionaries(st.sampled_from(["a", "b", "m"]), values, max_size=3)

decimals = st.builds(
    lambda sign, digits, exponent: f"{sign}{digits}E{exponent}",
    st.sampled_from(["", "-"]),
    st.integers(1, 10**38 - 1),
    st.integers(-130, 88),
).filter(lambda text: abs(Decimal(text)) <= Decimal("9.9999999999999999999999999999999999999E125"))
"""The whole range of DynamoDB's numbers."""
