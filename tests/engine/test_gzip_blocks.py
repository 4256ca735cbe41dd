"""Blocks that are compressed side by side are one ordinary gzip member."""

import gzip
import sys
import zlib
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partita.engine.gzip_blocks import GzipBlocks

isal_zlib = import_module("isal.isal_zlib")


@pytest.mark.parametrize("compressor", [zlib, isal_zlib])
@settings(max_examples=30, deadline=None)
@given(blocks=st.lists(st.binary(max_size=2000) | st.binary(max_size=9).map(lambda some: some * 5000), max_size=6))
def test_any_blocks_are_one_member_with_their_checksum_and_length(compressor: Any, blocks: list[bytes]) -> None:
    with GzipBlocks() as member:
        member._zlib = compressor
        for each in blocks:
            member.add(each)
        content = member.content()
    assert gzip.decompress(content) == b"".join(blocks)
    reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
    assert reader.decompress(content) == b"".join(blocks)
    assert reader.eof
    assert reader.unused_data == b""


def test_blocks_are_compressed_by_zlib_where_isal_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    with GzipBlocks() as member:
        assert member._zlib is isal_zlib
    monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    with GzipBlocks() as member:
        assert member._zlib is zlib
