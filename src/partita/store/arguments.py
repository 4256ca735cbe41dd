"""Arguments of a store's methods that no type holds at run time: lists, functions, flags, versions, conditions."""

from collections.abc import Iterable, Mapping
from typing import Any

from partita.design.condition_checks import check_names
from partita.design.conditions import Condition
from partita.design.markers import AUTO, Version
from partita.design.models import Model
from partita.design.reads import VectorSearch
from partita.errors import ConfigurationError, InvalidValue


def as_list(method: str, of: str, values: Any) -> list[Any]:
    """The values, which may come from an iterator, as a list; an error where they are not iterable."""
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping | type):
        raise ConfigurationError(f"{method}: {values!r} is not a list; pass a list of {of}")
    return list(values)


def check_text(method: str, name: str, value: Any) -> None:
    """A ConfigurationError for an argument that is not text."""
    if not isinstance(value, str):
        raise ConfigurationError(f"{method}: {name} is {value!r}; pass text")


def check_flag(name: str, value: Any) -> None:
    """A ConfigurationError for a flag that is neither True nor False: "no" would be true, and None false."""
    if value is not True and value is not False:
        raise ConfigurationError(f"{name} is {value!r}; pass True or False")


def check_count(method: str, name: str, value: Any) -> None:
    """A ConfigurationError for a number of items that is not one."""
    if type(value) is not int or value < 0:
        raise ConfigurationError(f"{method}: {name} is {value!r}; pass the number of items")


def check_function(method: str, name: str, value: Any, *, optional: bool = False) -> None:
    """A ConfigurationError for an argument that cannot be called: before anything is read or written."""
    if not callable(value) and not (optional and value is None):
        raise ConfigurationError(f"{method}: {name} is {value!r}; pass a function")


def check_change(model: Model, when: Condition | None, version: Any, system_change: Any, create: Any) -> None:
    """The arguments of a change besides its call: checked before its block, not after it."""
    check_condition_names(model, when)
    check_version(model, version)
    check_flag("system_change", system_change)
    check_flag("create", create)


def check_condition_names(model: Model, when: Condition | None) -> None:
    """An error where a condition names an attribute that does not exist: at the call, not when it is sent."""
    if when is not None:
        check_names(model, when)


def check_eventual(call: VectorSearch[Any], consistent: bool) -> None:
    """An InvalidValue where a search is to be strongly consistent."""
    check_flag("consistent", consistent)
    if consistent:
        raise InvalidValue(call.read.name, "a search of a vector index is eventually consistent; leave consistent out")


def check_version(model: Model, version: Any) -> None:
    """An InvalidValue for a version that is not a number that was read."""
    if version is None or version is AUTO or type(version) is int:
        return
    versioned = model.one_marked(Version)
    path = () if versioned is None else (versioned.field,)
    raise InvalidValue(model.name, f"{version!r} is not a version; pass the int that was read", *path)
