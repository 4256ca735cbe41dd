"""A design by the name that Python would import it under; what is wrong with a module is told from its own line on."""

import sys
from importlib.util import find_spec
from pathlib import Path
from traceback import format_exception

from partita.describe.modules import design_in
from partita.errors import ConfigurationError, PartitaError
from partita.plan.design import Design


def imported_design(module: str) -> Design:
    """The design in a module, looked for from the working directory on."""
    if module.endswith(".py"):
        name = module.removesuffix(".py").lstrip("./").replace("/", ".")
        raise ConfigurationError(f"{module}: write it as Python imports it, {name}")
    sys.path.insert(0, str(Path.cwd()))
    try:
        if not _is_there(module):
            raise ConfigurationError(f"{module}: Python finds no such module from here")
        return design_in(module)
    except PartitaError:
        raise
    except Exception as error:  # what a module of somebody's raises can be anything
        told = _told_from_the_module(error)
        if told is None:
            raise
        raise ConfigurationError(f"{module}: cannot be imported\n{told}") from None


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError as missing:
        if missing.name is None or not f"{module}.".startswith(f"{missing.name}."):
            raise  # the package is there, and imports something that is not
        return False
    except (ImportError, ValueError):  # a relative name, or none
        return False


def _told_from_the_module(error: Exception) -> str | None:
    """The traceback without the frames before the module's; None where no line of it has a part in the error."""
    here = str(Path(__file__).parent.parent)
    at = error.__traceback__
    while at is not None:
        file = at.tb_frame.f_code.co_filename
        if not file.startswith((here, "<frozen ")) and "importlib" not in file:
            break
        at = at.tb_next
    if at is None and not isinstance(error, SyntaxError):
        return None
    return "".join(format_exception(type(error), error, at)).rstrip()
