"""Conditions of parts: the Korean word is stored, and English words are accepted."""

from typing import Literal
from unicodedata import normalize

from partita import InvalidValue
from partita_systems.eecar.design import PartCondition

ConditionWord = Literal["신품", "중고", "재생", "new", "used", "reconditioned"]
_ALIASES = {
    PartCondition.NEW: ("new", "unused"),
    PartCondition.USED: ("used", "second-hand"),
    PartCondition.RECONDITIONED: ("reconditioned", "refurbished", "remanufactured", "recycled"),
}
_KNOWN = {alias: condition for condition, aliases in _ALIASES.items() for alias in (condition.value, *aliases)}


def checked_condition(text: str) -> PartCondition:
    """The canonical condition of a word, or InvalidValue if it is not known."""
    found = condition_of(text)
    if found not in list(PartCondition):
        raise InvalidValue("Part", f"{str(text)!r} is not one of {', '.join(_KNOWN)}", "condition")
    return found


def condition_of(text: str) -> PartCondition:
    """The canonical condition of a word in Korean or English; an unknown word, as other code stores it, is kept.

    >>> condition_of("Used") is PartCondition.USED
    True
    >>> condition_of("수리중").value
    '수리중'
    """
    return _KNOWN.get(normalize("NFC", str(text)).strip().casefold()) or PartCondition(text)
