"""Rules for the values of settings, checked where something is opened instead of where a value is first used."""

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from partita.errors import ConfigurationError


class SettingRule(NamedTuple):
    """Whether a value is allowed, and the words for values that are."""

    allows: Callable[[Any], bool]
    words: str


def check_settings(rules: Mapping[str, SettingRule], settings: Mapping[str, Any]) -> None:
    """Rejects a value that its rule does not allow; None means the default, and is allowed everywhere.

    >>> check_settings({"retries": COUNT}, {"retries": "8"})
    Traceback (most recent call last):
    partita.errors.ConfigurationError: retries='8' is not valid; use a whole number, 0 or more
    """
    for name, rule in rules.items():
        value = settings.get(name)
        if value is not None and not rule.allows(value):
            raise ConfigurationError(f"{name}={value!r} is not valid; use {rule.words}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_file(value: Any) -> bool:
    from pathlib import Path  # programs without such a setting start without it

    return isinstance(value, str | os.PathLike) and Path(value).is_file()


FLAG = SettingRule(lambda value: isinstance(value, bool), "True or False")
FUNCTION = SettingRule(callable, "a function")
COUNT = SettingRule(lambda value: _is_whole(value) and value >= 0, "a whole number, 0 or more")
POSITIVE_COUNT = SettingRule(lambda value: _is_whole(value) and value >= 1, "a whole number, 1 or more")
DURATION = SettingRule(lambda value: _is_number(value) and value >= 0, "a number of seconds, 0 or more")
TIMEOUT = SettingRule(lambda value: _is_number(value) and value > 0, "a number of seconds above 0")
TEXT = SettingRule(lambda value: isinstance(value, str) and value != "", "a text that is not empty")
FILE = SettingRule(_is_file, "the path of a file")
