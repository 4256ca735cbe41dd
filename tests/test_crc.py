"""CRC-32 is the same number whoever computes it."""

import sys
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.crc import _crc32

WHOLE_NUMBERS = st.integers(-(2**63), 2**63 - 1)


@given(st.binary(max_size=3000), WHOLE_NUMBERS)
def test_checksums_are_those_of_zlib(data: bytes, start: int) -> None:
    assert _crc32()(data, start) == zlib.crc32(data, start)


@pytest.mark.parametrize("value", [None, 1, 1.5, "text"])
def test_other_types_are_a_type_error(value: Any) -> None:
    for crc32 in (_crc32(), zlib.crc32):
        with pytest.raises(TypeError):
            crc32(value, 0)


def test_zlib_is_used_where_isal_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _crc32() is not zlib.crc32
    monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    assert _crc32() is zlib.crc32
