"""What generated readers and writers are made of: shapes that msgspec reads, and functions that are compiled once."""

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

Env = dict[str, Any]  # what a generated function finds by name


def compile_function(name: str, lines: list[str], env: Env) -> Callable[[Any], Any]:
    """The function of `v` with these lines; `name` is what a traceback calls it."""
    source = "\n    ".join(["def write(v):", *lines])
    exec(compile(source, f"<{name}>", "exec"), env)  # noqa: S102 - made from the design alone
    made: Callable[[Any], Any] = env["write"]
    return made


def bind(thing: Any, env: Env) -> str:
    """A name under which the generated code finds `thing`."""
    if thing in (set, frozenset, tuple):
        return str(thing.__name__)
    name = f"k{len(env)}"
    env[name] = thing
    return name


class KeyValue(msgspec.Struct, gc=False):
    """A key attribute or a TTL beside the members."""

    S: str | None = None
    N: str | None = None


@cache
def tagged_struct(tag: str, reads: Any) -> Any:
    """The shape of `{tag: ...}`."""
    return msgspec.defstruct(f"{tag}Value", [(tag, reads)], gc=False)


@cache
def nullable(shape: Any) -> Any:
    """The shape that also reads `{"NULL": true}`."""
    if not (isinstance(shape, type) and issubclass(shape, msgspec.Struct)):
        return shape
    held = [each for each in msgspec.structs.fields(shape) if each.name != "NULL"]
    fields: list[Any] = [(each.name, each.type | msgspec.UnsetType, msgspec.UNSET) for each in held]
    name = "Or".join((*(each.name for each in held), "Null"))
    return msgspec.defstruct(name, [*fields, ("NULL", bool, False)], gc=False)
