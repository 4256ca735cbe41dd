"""Unicode normal forms of texts in keys: other code may have written each of them composed or decomposed.

A key of three texts may hold them in eight ways, since each of them may come from another source. All of them are
looked for, so the number of texts in an old key is bounded.
"""

import enum
import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import product
from typing import Any

from partita.design.key_parts import FORMS, KeyPart, VerbatimPart
from partita.design.models import EntityKeys
from partita.design.reads import FanOut

MOST_TEXTS = 6
"""How many texts an old key may have: an item is looked for under at most 64 keys, 2 for each text."""


def has_text_as_written(form: KeyPart | None) -> bool:
    """Whether a part has a text exactly as other code wrote it."""
    return isinstance(form, VerbatimPart) and form.has_text


@cache
def texts_as_written(keys: EntityKeys) -> tuple[str, ...]:
    """The attributes whose texts a key has exactly as other code wrote them."""
    parts = (part for each in keys.attributes if each.template is not None for part in each.template.parts)
    return tuple(dict.fromkeys(each.field for each in parts if each.field and has_text_as_written(each.form)))


def value_forms(values: tuple[Any, ...], positions: Iterable[int] | None = None) -> list[tuple[Any, ...]]:
    """The values as they are, and with the texts at some positions (or all) composed or decomposed, each by itself.

    >>> value_forms(("a", 1)), [len(text) for (text,) in value_forms(("\\u00e9",))]
    ([('a', 1)], [1, 2])
    >>> len(value_forms(("\\u00e9", "\\u00e9"))), len(value_forms(("\\u00e9", "\\u00e9"), [1]))
    (4, 2)
    """
    varied = range(len(values)) if positions is None else set(positions)
    return list(product(*(_forms(value) if at in varied else (value,) for at, value in enumerate(values))))


def _forms(value: Any) -> list[Any]:
    """A value as it is, then in other forms."""
    found = [value]
    for form in FORMS if _may_differ(value) else ():
        other = _in_form(form, value)
        if all(_texts(other) != _texts(each) for each in found):
            found.append(other)
    return found


def _may_differ(value: Any) -> bool:
    if isinstance(value, FanOut):
        return _may_differ(value.values)
    text = _text(value)
    if text is not None:
        return not text.isascii()
    return isinstance(value, list | tuple) and any(_may_differ(each) for each in value)


def _text(value: Any) -> str | None:
    """The text that a value is in a key as it is written."""
    held = value.value if isinstance(value, enum.Enum) else value
    return held if isinstance(held, str) else None


def _texts(value: Any) -> Any:
    if isinstance(value, FanOut):
        return _texts(value.values)
    return [_texts(each) for each in value] if isinstance(value, list | tuple) else _text(value)


def _in_form(form: Any, value: Any) -> Any:
    """The value in a form; the same object where nothing differs."""
    if isinstance(value, FanOut):
        listed = _in_form(form, value.values)
        return value if listed is value.values else FanOut(listed, value.limit)
    text = _text(value)
    if text is not None:
        other = unicodedata.normalize(form, text)
        return value if other == text else other
    if not isinstance(value, list | tuple):
        return value
    changed = [_in_form(form, each) for each in value]
    return value if all(a is b for a, b in zip(changed, value, strict=True)) else changed
