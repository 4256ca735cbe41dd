"""The nearest of many vectors, exactly: a fast pass over all of them with 32 bits, then 64 bits for those in question.

    all vectors --- 32-bit products, each with a bound of its error --- those that may be among the best
                --- 64-bit scores --- the best

The bound holds for every order of summation, so nothing is lost in the first pass. Vectors whose products could
overflow or underflow 32 bits are all scored with 64 bits.
"""

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Slots = NDArray[np.intp]
Kind = TypeVar("Kind", np.float32, np.float64)

LARGEST = float(np.finfo(np.float32).max)
_LEAST_NORM, _MOST_NORM = 1e-12, 1e12  # of vectors whose products neither underflow nor overflow 32 bits
_ROUNDING = 2.0**-23  # more than the relative error of one 32-bit operation
_CHUNK = 1 << 18  # numbers that are converted to 64 bits at once
_FEW = 8  # a selection of less than one in so many rows is copied before it is multiplied


class Ranked(NamedTuple):
    """Rows and their scores, not in order."""

    slots: Slots
    scores: Doubles


def norms_of(vectors: Floats) -> Doubles:
    """The lengths of the vectors."""
    found = np.empty(len(vectors))
    for start, stop in _chunks(*vectors.shape):
        part = vectors[start:stop].astype(np.float64)
        found[start:stop] = np.sqrt(np.einsum("ij,ij->i", part, part))
    return found


def _chunks(rows: int, columns: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows of a bounded size."""
    size = max(1, _CHUNK // columns)
    for start in range(0, rows, size):
        yield start, min(start + size, rows)


def nearest(distance: str, vectors: Floats, norms: Doubles, slots: Slots | None, query: Floats, count: int) -> Ranked:
    """At least the `count` best rows among `slots` (None: all), with exact scores; more where scores are close."""
    chosen = np.arange(len(vectors)) if slots is None else slots
    if len(chosen) > count:
        chosen = _in_question(distance, vectors, norms, slots, query, count)
    return Ranked(chosen, _scores(distance, vectors, norms, chosen, query))


def is_descending(distance: str) -> bool:
    """Whether the best score is the highest."""
    return distance == "DOT_PRODUCT"


def _in_question(
    distance: str, vectors: Floats, norms: Doubles, slots: Slots | None, query: Floats, count: int
) -> Slots:
    """The rows that may be among the best."""
    rows = np.arange(len(vectors)) if slots is None else slots
    lengths = norms if slots is None else norms[slots]
    length = float(norms_of(query[np.newaxis])[0])
    if not _is_ordinary(lengths, length):
        return rows
    relative = (len(query) + 1) * _ROUNDING
    badness, error = _estimates(distance, _products(vectors, slots, query), lengths, length, relative)
    limit = np.partition(badness + error, count - 1)[count - 1]
    return rows[np.flatnonzero(badness - error <= limit)]


def _is_ordinary(lengths: Doubles, length: float) -> bool:
    if length and not _LEAST_NORM <= length <= _MOST_NORM:
        return False
    some = lengths[lengths > 0.0]
    return not len(some) or (float(some.min()) >= _LEAST_NORM and float(some.max()) <= _MOST_NORM)


def _products(vectors: Floats, slots: Slots | None, query: Floats) -> Doubles:
    if slots is None:
        products = _dot(vectors, query)
    elif len(slots) * _FEW < len(vectors):
        products = _dot(vectors[slots], query)
    else:
        with np.errstate(over="ignore", invalid="ignore"):  # in rows that were not chosen
            products = _dot(vectors, query)[slots]
    return products.astype(np.float64)


def _dot(vectors: NDArray[Kind], query: NDArray[Kind]) -> NDArray[Kind]:
    """The products, without the threads of numpy's BLAS: they wait for each other where other work has the cores."""
    products: NDArray[Kind] = np.einsum("ij,j->i", vectors, query)
    return products


def _estimates(
    distance: str, products: Doubles, lengths: Doubles, length: float, relative: float
) -> tuple[Doubles, Doubles | float]:
    """A number for each row that is lower for better ones, and its largest error."""
    if distance == "DOT_PRODUCT":
        return -products, relative * length * lengths
    if distance == "EUCLIDEAN":  # the square of the distance, without that of the query's length
        return lengths**2 - 2.0 * products, 2.0 * relative * length * lengths + lengths**2 * 1e-14
    scale = lengths * length
    return -np.divide(products, scale, out=np.zeros_like(products), where=scale > 0.0), relative


def _scores(distance: str, vectors: Floats, norms: Doubles, slots: Slots, query: Floats) -> Doubles:
    """The scores in 64 bits, limited to the range of 32 bits as the service limits them."""
    wide = query.astype(np.float64)
    scores = np.empty(len(slots))
    for start, stop in _chunks(len(slots), len(query)):
        part = vectors[slots[start:stop]].astype(np.float64)
        if distance == "EUCLIDEAN":
            part -= wide
            scores[start:stop] = np.sqrt(np.einsum("ij,ij->i", part, part))
        else:
            scores[start:stop] = _dot(part, wide)
    if distance == "COSINE":
        scores = _cosine_distances(scores, norms[slots], float(np.sqrt(wide @ wide)))
    return np.clip(scores, -LARGEST, LARGEST)


def _cosine_distances(products: Doubles, lengths: Doubles, length: float) -> Doubles:
    """1 minus the cosine of the angle; 1 where a vector is zero and so has no direction, as on the service."""
    scale = lengths * length
    cosines = np.divide(products, scale, out=np.zeros_like(products), where=scale > 0.0)
    return np.clip(1.0 - cosines, 0.0, 2.0)
