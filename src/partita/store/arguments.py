"""Arguments of a store's methods that no type holds at run time: lists, functions, versions and conditions."""

from collections.abc import Iterable
from typing import Any, TypeVar

from partita.design.condition_checks import check_names
from partita.design.conditions import Condition
from partita.design.markers import AUTO, Version
from partita.design.models import Model
from partita.design.reads import VectorSearch
from partita.errors import ConfigurationError, InvalidValue

T = TypeVar("T")


def as_list(method: str, of: str, values: Iterable[T]) -> list[T]:
    """The values, which may come from an iterator, as a list; an error where they are not iterable."""
    try:
        each = iter(values)
    except TypeError:
        raise ConfigurationError(f"{method}: {values!r} is not a list; pass a list of {of}") from None
    return list(each)


def check_function(method: str, name: str, value: Any, *, optional: bool = False) -> None:
    """A ConfigurationError for an argument that cannot be called: before anything is read or written."""
    if not callable(value) and not (optional and value is None):
        raise ConfigurationError(f"{method}: {name} is {value!r}; pass a function")


def check_condition_names(model: Model, when: Condition | None) -> None:
    """An error where a condition names an attribute that does not exist: at the call, not when it is sent."""
    if when is not None:
        check_names(model, when)


def check_eventual(call: VectorSearch[Any], consistent: bool) -> None:
    """An InvalidValue where a search is to be strongly consistent."""
    if consistent:
        raise InvalidValue(call.read.name, "a search of a vector index is eventually consistent; leave consistent out")


def check_version(model: Model, version: Any) -> None:
    """An InvalidValue for a version that is not a number that was read."""
    if version is None or version is AUTO or type(version) is int:
        return
    versioned = model.one_marked(Version)
    path = () if versioned is None else (versioned.field,)
    raise InvalidValue(model.name, f"{version!r} is not a version; pass the int that was read", *path)
