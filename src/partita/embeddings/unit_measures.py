"""Measures in a text, in one unit for each quantity: `50kWh`, `50 kWh` and `50,000 Wh` are the same."""

import re
from collections.abc import Iterator
from typing import NamedTuple

# The factor of each unit to the first unit of its quantity. Text is compared in lower case: mw is a megawatt.
_QUANTITIES: dict[str, dict[str, float]] = {
    "V": {"v": 1, "volt": 1, "volts": 1, "볼트": 1, "mv": 1e-3, "kv": 1e3},
    "kWh": {"kwh": 1, "킬로와트시": 1, "wh": 1e-3, "와트시": 1e-3, "mwh": 1e3},
    "kW": {
        "kw": 1,
        "kilowatt": 1,
        "kilowatts": 1,
        "킬로와트": 1,
        "w": 1e-3,
        "watt": 1e-3,
        "watts": 1e-3,
        "와트": 1e-3,
        "mw": 1e3,
    },
    "Ah": {"ah": 1, "암페어시": 1, "mah": 1e-3},
    "A": {"a": 1, "amp": 1, "amps": 1, "ampere": 1, "amperes": 1, "암페어": 1, "ma": 1e-3},
    "kg": {"kg": 1, "킬로그램": 1, "g": 1e-3, "그램": 1e-3, "t": 1e3, "톤": 1e3},
    "mm": {"mm": 1, "밀리미터": 1, "cm": 10, "센티미터": 10, "m": 1000, "미터": 1000},
    "inch": {"inch": 1, "inches": 1, "인치": 1},
    "l": {"l": 1, "litre": 1, "litres": 1, "liter": 1, "리터": 1, "ml": 1e-3},
    "series": {"s": 1, "직렬": 1},
}
_UNITS = {unit: (quantity, factor) for quantity, units in _QUANTITIES.items() for unit, factor in units.items()}
_NAMES = "|".join(r"(?<=\d)s" if unit == "s" else unit for unit in sorted(_UNITS, key=len, reverse=True))
_MEASURE = re.compile(rf"(?<![\d.a-z])(\d{{1,3}}(?:,\d{{3}})+|\d{{1,9}})(\.\d{{1,9}})?[ -]?({_NAMES})(?![a-z])")


class TextMeasure(NamedTuple):
    """A measure and its place in the text; `name` is the same for equal measures."""

    name: str
    start: int
    end: int


def measures_in(text: str) -> Iterator[TextMeasure]:
    """The measures in a text of lower case.

    >>> [each.name for each in measures_in("72.6kwh, 400 볼트, 7,200 w")]
    ['72.6 kWh', '400 V', '7.2 kW']
    """
    for found in _MEASURE.finditer(text):
        quantity, factor = _UNITS[found[3]]
        value = float(found[1].replace(",", "") + (found[2] or "")) * factor
        yield TextMeasure(f"{value:.6g} {quantity}", found.start(), found.end())
