"""The base of compiled decoders and writers: shapes that msgspec decodes, and functions compiled from source."""

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

Env = dict[str, Any]  # the globals of a compiled function


def compile_function(name: str, lines: list[str], env: Env) -> Callable[[Any], Any]:
    """The function of `v` with these lines; `name` is its file name in a traceback."""
    source = "\n    ".join(["def write(v):", *lines])
    exec(compile(source, f"<{name}>", "exec"), env)  # noqa: S102 - the source comes from the design alone
    function: Callable[[Any], Any] = env["write"]
    return function


def bind(thing: Any, env: Env) -> str:
    """A name for `thing` in the compiled code."""
    if thing in (set, frozenset, tuple):
        return str(thing.__name__)
    name = f"k{len(env)}"
    env[name] = thing
    return name


class KeyValue(msgspec.Struct, gc=False):
    """A key attribute or TTL, stored beside the members."""

    S: str | None = None
    N: str | None = None


@cache
def tagged_struct(tag: str, reads: Any) -> Any:
    """The shape of `{tag: ...}`."""
    return msgspec.defstruct(f"{tag}Value", [(tag, reads)], gc=False)


@cache
def nullable(shape: Any) -> Any:
    """The shape that also decodes `{"NULL": true}`."""
    if not (isinstance(shape, type) and issubclass(shape, msgspec.Struct)):
        return shape
    held = [each for each in msgspec.structs.fields(shape) if each.name != "NULL"]
    fields: list[Any] = [(each.name, each.type | msgspec.UnsetType, msgspec.UNSET) for each in held]
    name = "Or".join((*(each.name for each in held), "Null"))
    return msgspec.defstruct(name, [*fields, ("NULL", bool, False)], gc=False)
