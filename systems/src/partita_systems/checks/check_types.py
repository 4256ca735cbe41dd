"""The registry of check types: a type is its attributes and its probe, registered in one place.

    class PortAttributes(msgspec.Struct, forbid_unknown_fields=True):
        port: int

    def probe(check: Check, attributes: PortAttributes, fetcher: Fetcher) -> Outcome: ...

    register(CheckKind("PORT", PortAttributes, probe))

Another distribution declares the `CheckKind` as an entry point of the group `partita.checks.types`. Tables and indexes
stay as they are: the attributes are one map, and the type is a text.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any

import msgspec

from partita import ConfigurationError, InvalidValue, convert
from partita_systems.checks.design import Check, CheckType, Outcome
from partita_systems.checks.fetching import Fetcher

ENTRY_POINTS = "partita.checks.types"

Probe = Callable[[Check, Any, Fetcher], Outcome]


@dataclass(frozen=True)
class CheckKind:
    """A check type: its name, the struct of its `attributes`, and its probe.

    The probe gets the check, its attributes as the struct, and a fetcher with the operator's limits. It returns UP or
    DOWN; a FetchError or InvalidValue that it raises is DOWN with this reason.
    """

    name: str
    attributes: type[msgspec.Struct]
    probe: Probe

    @property
    def attribute_names(self) -> list[str]:
        return [field.encode_name for field in msgspec.structs.fields(self.attributes)]


_KINDS: dict[str, CheckKind] = {}


def register(kind: CheckKind) -> CheckKind:
    """Adds a check type; a name can be registered once."""
    if _KINDS.setdefault(kind.name, kind) != kind:
        raise ConfigurationError(f"the check type {kind.name} is already registered; use another name")
    return kind


def unregister(name: str) -> None:
    """Removes a check type; its checks are read and left alone from then on."""
    _KINDS.pop(name, None)


@cache
def _load_plug_ins() -> None:
    for point in entry_points(group=ENTRY_POINTS):
        register(point.load())


def check_kinds() -> dict[str, CheckKind]:
    """All registered types, by name, with those of other distributions."""
    _load_plug_ins()
    return dict(_KINDS)


def kind_of(check_type: str) -> CheckKind:
    """The registered type of this name; raises InvalidValue for an unknown name."""
    kinds = check_kinds()
    name = CheckType(check_type).value
    if name not in kinds:
        raise InvalidValue("Check", f"{name!r} is not a known type; use {', '.join(kinds)}", "checkType")
    return kinds[name]


def typed_attributes(check_type: str, attributes: dict[str, Any]) -> Any:
    """The attributes as the struct of the check type; raises InvalidValue that names the attribute."""
    kind = kind_of(check_type)
    known = kind.attribute_names
    for name in attributes:
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise InvalidValue("Check", f"{kind.name} has no {name!r}; {has}", "attributes", name)
    return convert(attributes, kind.attributes, "Check", "attributes")
