"""Unicode normal forms of values: other code may have written a text in a key composed or decomposed."""

import unicodedata
from typing import Any, Literal

from partita.design.reads import FanOut

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
    if isinstance(value, FanOut):
        return _may_differ(value.values)
    if type(value) is str:
        return not value.isascii()
    return isinstance(value, list | tuple) and any(_may_differ(each) for each in value)


def _in_form(form: Form, value: Any) -> Any:
    """The value in a form; the same object where nothing differs."""
    if isinstance(value, FanOut):
        listed = _in_form(form, value.values)
        return value if listed is value.values else FanOut(listed, value.limit)
    if type(value) is str:
        return unicodedata.normalize(form, value)
    if not isinstance(value, list | tuple):
        return value
    listed = type(value)(_in_form(form, each) for each in value)
    return value if listed == value else listed
