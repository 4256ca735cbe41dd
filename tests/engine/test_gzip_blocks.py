"""Blocks that are compressed side by side are one ordinary gzip member."""

import gzip
import zlib

from hypothesis import given, settings
from hypothesis import strategies as st

from partita.engine.gzip_blocks import GzipBlocks


@settings(max_examples=30, deadline=None)
@given(st.lists(st.binary(max_size=2000) | st.binary(max_size=9).map(lambda some: some * 5000), max_size=6))
def test_any_blocks_are_one_member_with_their_checksum_and_length(blocks: list[bytes]) -> None:
    with GzipBlocks() as member:
        for each in blocks:
            member.add(each)
        content = member.content()
    assert gzip.decompress(content) == b"".join(blocks)
    reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
    assert reader.decompress(content) == b"".join(blocks)
    assert reader.eof
    assert reader.unused_data == b""
