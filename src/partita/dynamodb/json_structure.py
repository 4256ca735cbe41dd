"""Bounds the number of values in a JSON text before it is decoded, since each takes far more memory than its bytes.

A text of 16 MB can have five million empty lists: half a gigabyte, and seconds of a decoder that lets nothing else run.
"""

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager

MAX_TOKENS = 1_000_000
"""Texts, opening brackets and commas of one JSON text; those of an item of 400 KB are at most 700 thousand."""

LARGE = 64 * 1024  # bytes; smaller texts are decoded without a look at them

_TEXT = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
_first_tokens = re.compile(rb'(?:[^"\[{,]*+(?:' + _TEXT + rb"|[\[{,])){0,%d}+" % MAX_TOKENS, re.DOTALL).match


def has_bounded_structure(body: bytes) -> bool:
    """Whether a JSON text has few enough values to be decoded.

    >>> has_bounded_structure(b"[" + b"{}," * 500_000 + b"{}]")
    False
    """
    count = body.count
    if count(b'"') // 2 + count(b"{") + count(b"[") + count(b",") <= MAX_TOKENS:  # perhaps inside of texts
        return True
    tokens = _first_tokens(body)
    assert tokens is not None
    return not any(body.find(each, tokens.end()) >= 0 for each in (b'"', b"{", b"[", b","))


@contextmanager
def collection_paused() -> Iterator[None]:
    """Keeps the garbage collector from looking at all values again and again while they are decoded."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
