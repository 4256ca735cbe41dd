"""Capacity units at the edges of their sizes."""

import pytest

from partita.dynamodb.capacity import read_units, write_units

KB = 1024


@pytest.mark.parametrize(("size", "units"), [(0, 1.0), (1, 1.0), (4 * KB, 1.0), (4 * KB + 1, 2.0), (400 * KB, 100.0)])
def test_read_costs_a_unit_for_each_four_kilobytes_begun(size: int, units: float) -> None:
    assert read_units(size, consistent=True) == units
    assert read_units(size, consistent=False) == units / 2
    assert read_units(size, consistent=None) == units / 2


@pytest.mark.parametrize(
    ("before", "after", "units"),
    [(0, 0, 1.0), (0, KB, 1.0), (0, KB + 1, 2.0), (3 * KB, 0, 3.0), (10, 400 * KB, 400.0)],
)
def test_write_costs_a_unit_for_each_kilobyte_of_the_larger_size(before: int, after: int, units: float) -> None:
    assert write_units(before, after) == units
