"""Unicode normal forms of values: other code may have written a text in a key composed or decomposed."""

import unicodedata
from collections.abc import Iterable
from typing import Any, Literal

Form = Literal["NFC", "NFD"]


def value_forms(values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """The values as they are, and with all their texts composed or decomposed, where these differ.

    >>> value_forms(("a", 1)), [len(text) for (text,) in value_forms(("\\u00e9",))]
    ([('a', 1)], [1, 2])
    """
    if not any(_may_differ(each) for each in values):
        return [values]
    found = [values]
    for form in ("NFC", "NFD"):
        other = tuple(_in_form(form, each) for each in values)
        if other not in found:
            found.append(other)
    return found


def _may_differ(value: Any) -> bool:
    if type(value) is str:
        return not value.isascii()
    return isinstance(value, list | tuple) and any(_may_differ(each) for each in value)


def _in_form(form: Form, value: Any) -> Any:
    if type(value) is str:
        return unicodedata.normalize(form, value)
    return _listed(form, value) if isinstance(value, list | tuple) else value


def _listed(form: Form, values: Iterable[Any]) -> list[Any]:
    return [_in_form(form, each) for each in values]
