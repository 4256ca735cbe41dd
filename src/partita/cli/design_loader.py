"""Loads what a command names: an installed system, or `module` or `module:attribute` of the user's own.

A module's own import errors are shown from its first line in the traceback on. Everything that can be named becomes a
`System`: with an `Api` and its design, or with a design only.
"""

import functools
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from traceback import format_exception
from types import ModuleType
from typing import Any, TypeVar

from partita.design.tables import Table
from partita.errors import ConfigurationError, DesignError, PartitaError
from partita.plan.design import Design
from partita.plan.proof.prove import prove
from partita.system import GROUP, System

T = TypeVar("T")


def load_system(what: str, *parts: str) -> System:
    """The system that `what` names, with these parts of it imported: "design", "api", "seed", "adopt"."""
    if what.endswith(".py"):
        module = what.removesuffix(".py").lstrip("./").replace("/", ".")
        raise ConfigurationError(f"{what} is a file; write it as Python imports it: {module}")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    with _import_errors_of(what):
        system = _find(what, wants_api="api" in parts)
        for part in parts:
            getattr(system, part)
    return system


def load_installed_systems(*parts: str) -> list[System]:
    """Every system that an installed distribution declares, in the order of their names."""
    found = sorted(_installed())
    if not found:
        raise ConfigurationError(
            "no system is installed; run pip install partita-systems, or serve your own API: partita serve my.app:api"
        )
    return [load_system(name, *parts) for name in found]


def design_in(module: ModuleType) -> Design:
    """The design of a module: the only one, or the one named `design`, or that of its API, or its tables, proven."""
    design = _only(module, Design, "design")
    if design is not None:
        return design
    api = _api_in(module)
    if api is not None:
        found: Design = api.design
        return found
    tables = [each for each in vars(module).values() if isinstance(each, Table)]
    if not tables:
        raise DesignError(
            module.__name__, "has neither a design nor a table", 'end it with design = prove("name", table)'
        )
    return prove(module.__name__.rpartition(".")[2], *tables)


def _installed() -> dict[str, EntryPoint]:
    """The entry points of the group, by name; a name that two distributions declare is an error."""
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=GROUP):
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise ConfigurationError(
                f"two installed systems are named {entry.name!r}: {_origin(other)} and {_origin(entry)}; uninstall one"
            )
    return found


def _origin(entry: EntryPoint) -> str:
    return entry.value if entry.dist is None else f"{entry.value} of {entry.dist.name}"


def _find(what: str, *, wants_api: bool) -> System:
    module_name, colon, attribute = what.partition(":")
    installed = _installed()
    if what in installed:
        return _installed_system(installed[what], wants_api=wants_api)
    if not _exists(module_name):
        known = f"an installed system ({', '.join(sorted(installed))})" if installed else "an installed system"
        raise ConfigurationError(f"{module_name!r} is neither {known} nor a module that Python finds from here")
    module = importlib.import_module(module_name)
    if colon:
        return _system_of(_attribute(module, attribute), what, wants_api=wants_api)
    return _system_in(module, wants_api=wants_api)


def _installed_system(entry: EntryPoint, *, wants_api: bool) -> System:
    local = PathFinder.find_spec(entry.name, [str(Path.cwd())])
    if local is not None and local.loader is not None and entry.module.partition(".")[0] != entry.name:
        raise ConfigurationError(
            f"{entry.name!r} is both an installed system and a module in this folder; write {entry.value} for the "
            f"system or {entry.name}:ATTRIBUTE for the module"
        )
    system = _system_of(entry.load(), entry.value, wants_api=wants_api)
    if system.name != entry.name:
        raise ConfigurationError(
            f"the entry point {entry.name!r} loads a system named {system.name!r} ({_origin(entry)}); "
            "both need the same name"
        )
    return system


def _system_in(module: ModuleType, *, wants_api: bool) -> System:
    system = _only(module, System, "system")
    if system is not None:
        return system
    parts: dict[str, Any] = {"consumers": _consumers_in(module), "jobs": _jobs_in(module)}
    if not wants_api:
        design = design_in(module)
        return System(design.name, design=design, **parts)
    api = _api_in(module)
    if api is None:
        raise ConfigurationError(
            f"{module.__name__} has no API to serve; "
            f'declare one with partita.rest: api = Api("{module.__name__.rpartition(".")[2]}", "Title", design)'
        )
    return System(api.name, design=api.design, api=api, **parts)


def _consumers_in(module: ModuleType) -> list[Any]:
    """The consumers that a module has; one that declares any has loaded their room."""
    if "partita.consumers.consumer" not in sys.modules:
        return []
    from partita.consumers.consumer_group import consumers_among

    return list(consumers_among(vars(module).values()))


def _jobs_in(module: ModuleType) -> Any:
    loaded = sys.modules.get("partita.jobs.job")
    return None if loaded is None else _only(module, loaded.Jobs, "jobs")


def _system_of(value: Any, what: str, *, wants_api: bool) -> System:
    """The system for a value: a System, an Api, a design or a table."""
    api_type = _api_type()
    if isinstance(value, System):
        return value
    if isinstance(value, ModuleType):
        return _system_in(value, wants_api=wants_api)
    if api_type is not None and isinstance(value, api_type):
        return System(value.name, design=value.design, api=value)
    if isinstance(value, Design):
        return System(value.name, design=value)
    if isinstance(value, Table):
        return System(value.name, design=prove(value.name, value))
    raise ConfigurationError(f"{what} is of type {type(value).__name__}; name a System, an Api or a Design")


def _attribute(module: ModuleType, name: str) -> Any:
    if hasattr(module, name):
        return getattr(module, name)
    kinds = tuple(filter(None, (System, Design, _api_type())))
    known = [name for name, value in vars(module).items() if isinstance(value, kinds)]
    raise ConfigurationError(
        f"{module.__name__} has no {name!r}"
        + (f"; write {' or '.join(f'{module.__name__}:{each}' for each in known)}" if known else "")
    )


def _api_in(module: ModuleType) -> Any:
    api_type = _api_type()
    return None if api_type is None else _only(module, api_type, "api")


def _api_type() -> type[Any] | None:
    """`Api`, where the REST room is loaded; a module that declares one has loaded it."""
    loaded = sys.modules.get("partita.rest.api")
    return None if loaded is None else loaded.Api


def _only(module: ModuleType, kind: type[T], usual_name: str) -> T | None:
    """The only value of a type in a module, or the one with the usual name; None without either."""
    found = {name: value for name, value in vars(module).items() if isinstance(value, kind)}
    if len({id(value) for value in found.values()}) > 1 and usual_name not in found:
        names = " or ".join(f"{module.__name__}:{name}" for name in found)
        raise ConfigurationError(
            f"{module.__name__} has {len(found)} objects of type {kind.__name__}; write {names}, or name the one that "
            f"is meant {usual_name!r}"
        )
    return found.get(usual_name, next(iter(found.values()), None))


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError as missing:
        if missing.name is None or not f"{module}.".startswith(f"{missing.name}."):
            raise  # the package is there, and imports something that is not
        return False
    except (ImportError, ValueError):  # a relative name, or an empty one
        return False


@contextmanager
def _import_errors_of(what: str) -> Iterator[None]:
    """Turns the errors of the user's own module into one that shows their traceback, without our frames."""
    try:
        yield
    except PartitaError:
        raise
    except Exception as error:  # importing a module runs it, and it can raise anything
        shown = _traceback_from_the_module(error)
        if shown is None:
            raise
        raise ConfigurationError(f"{what} cannot be imported\n{shown}") from None


def _traceback_from_the_module(error: Exception) -> str | None:
    """The traceback without the frames before the module's; None where no line of the module is in it."""
    ours = (str(Path(__file__).parent.parent), str(Path(importlib.__file__).parent), functools.__file__, "<frozen ")
    at = error.__traceback__
    while at is not None:
        if not at.tb_frame.f_code.co_filename.startswith(ours):
            break
        at = at.tb_next
    if at is None and not isinstance(error, SyntaxError):
        return None
    return "".join(format_exception(type(error), error, at)).rstrip()
