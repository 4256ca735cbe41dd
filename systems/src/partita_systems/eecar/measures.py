"""Measures with units, such as `72.6 kWh`: the units that are accepted, and their conversion."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from unicodedata import normalize

from partita import InvalidValue, describe_pattern

LENGTH_UNIT = describe_pattern(r"^(mm|cm)(?![\s\S])", "must be mm or cm")

_VOLTS = {"V": 1.0, "mV": 1e-3, "kV": 1e3}
_KILOWATT_HOURS = {"kWh": 1.0, "Wh": 1e-3, "MWh": 1e3}
_KILOWATTS = {"kW": 1.0, "W": 1e-3, "MW": 1e3}
_KILOGRAMS = {"kg": 1.0, "g": 1e-3, "t": 1e3}
_MILLIMETRES = {"mm": 1.0, "cm": 10.0, "m": 1000.0}
_NUMBERS = {"": 1.0}  # of other properties, whose units are unknown

# The first unit of each is the one of a number without a unit, as in the specification of a part.
UNITS: Mapping[str, Mapping[str, float]] = {
    "voltage": _VOLTS,
    "capacity": _KILOWATT_HOURS,
    "power": _KILOWATTS,
    "weight": _KILOGRAMS,
    "length": _MILLIMETRES,
    "width": _MILLIMETRES,
    "height": _MILLIMETRES,
}
KOREAN = {
    "전압": "voltage",
    "용량": "capacity",
    "출력": "power",
    "무게": "weight",
    "길이": "length",
    "너비": "width",
    "높이": "height",
}
MAX_MEASURES = 50
_MEASURE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) ?([A-Za-z]{0,3})")


def property_of(name: str) -> str:
    """The name of a property in a specification, from its name in Korean or English.

    >>> property_of("전압"), property_of("maxTemperature")
    ('voltage', 'maxTemperature')
    """
    return KOREAN.get(normalize("NFC", name), name)


def measured(name: str, value: Any) -> float | None:
    """The measure of a property in the unit of the specification; None if the value is not a measure of it.

    >>> measured("power", "5000 W"), measured("용량", "70kWh"), measured("weight", 45.5), measured("voltage", "5 kg")
    (5.0, 70.0, 45.5, None)
    """
    units = UNITS.get(property_of(name), _NUMBERS)
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return float(value) if value >= 0 else None
    found = _MEASURE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    factor = units.get(found[2] or next(iter(units)))
    return None if factor is None else float(found[1]) * factor


def check_measures(measures: Mapping[str, Any], entity: str, *path: str) -> None:
    """Raises InvalidValue that names the first value which is not a measure of its property."""
    if len(measures) > MAX_MEASURES:
        raise InvalidValue(entity, f"must have at most {MAX_MEASURES} members", *path)
    for name, value in measures.items():
        if measured(name, value) is None:
            units = ", ".join(UNITS.get(property_of(name), ()))
            instead = f"use a number from 0 on, in {units}" if units else "use a number from 0 on"
            raise InvalidValue(entity, f"{value!r} is not a measure of {name}; {instead}", *path, name)
