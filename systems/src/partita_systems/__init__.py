"""The systems that ship with Partita, by name; each is imported when it is asked for."""

from importlib import import_module
from typing import Any

NAMES = ("perfectit", "checks", "eecar", "blog", "nbhd")


def part_of(system: str, part: str) -> Any:
    """A module of a system: `part_of("blog", "api")`."""
    return import_module(f"partita_systems.{system}.{part}")
