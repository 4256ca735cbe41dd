"""Whether a part meets hard conditions: its price, its quantity, and the least measures of its specification."""

from collections.abc import Mapping
from typing import Any

from partita_systems.eecar import design as d
from partita_systems.eecar.measures import measured, property_of

_ELECTRICAL = ("voltage", "capacity", "power")
_SIZES = ("length", "width", "height")
_ROUNDING = 1e-9  # of a conversion: 72600 Wh are 72.60000000000001 kWh


def part_measure(spec: d.Spec | None, name: str) -> float | None:
    """The measure of a property in the unit of `measures.UNITS`; None if the specification has none.

    >>> part_measure(d.Spec(dimensions=d.Dimensions(length=12, width=3, height=1, unit="cm")), "길이")
    120.0
    """
    if spec is None:
        return None
    name = property_of(name)
    if name in _ELECTRICAL:
        return getattr(spec.electrical_props, name, None)
    if name in _SIZES:
        size = spec.dimensions
        return None if size is None else measured(name, f"{getattr(size, name):f} {size.unit}")
    if name == "weight":
        return spec.weight
    others: dict[str, Any] = {**spec.recycling_info, **spec.thermal_props, **spec.chemical_props}
    found = others.get(name)
    return None if found is None else measured(name, found)


def meets_measures(spec: d.Spec | None, least: Mapping[str, Any]) -> bool:
    """Whether the specification has at least these measures, each in any unit of its property.

    >>> meets_measures(d.Spec(electrical_props=d.ElectricalProps(power=5)), {"power": "4500 W"})
    True
    """
    for name, value in least.items():
        wanted, found = measured(name, value), part_measure(spec, name)
        if wanted is None or found is None or found < wanted * (1 - _ROUNDING):
            return False
    return True


def meets(
    part: d.Part,
    spec: d.Spec | None,
    *,
    max_price: float | None = None,
    min_quantity: int | None = None,
    min_specs: Mapping[str, Any] | None = None,
) -> bool:
    """Whether a part meets the conditions that are given."""
    return (
        (max_price is None or part.price <= max_price)
        and (min_quantity is None or part.quantity >= min_quantity)
        and meets_measures(spec, min_specs or {})
    )
