"""Code to copy: a call of a pattern in Python, and its request for the AWS CLI."""

import re
import shlex
import sys
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import msgspec

from partita.design.patterns import Pattern
from partita.dynamodb.requests import Request
from partita.plan.design import Design
from partita.studio.write_policy import AMAZON, DataPlace

_UPPER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def python_code(design: Design, pattern: Pattern[Any, Any], arguments: Iterable[Any], place: DataPlace) -> str:
    """A program that runs the pattern with these arguments."""
    values = list(arguments)
    imports = {("partita", "connect"), (_module_of(design, pattern.module), "design"), (pattern.module, pattern.name)}
    for value in values:
        imports |= set(_imports(value))
    named = ", ".join(
        f"{name}={_literal(value)}" for name, value in zip(pattern.signature.parameters, values, strict=True)
    )
    by_module: dict[str, list[str]] = {}
    for module, name in sorted(imports):
        by_module.setdefault(module, []).append(name)
    lines = [f"from {module} import {', '.join(names)}" for module, names in by_module.items()]
    call = f"db({pattern.name}({named}))"
    shown = f"print({call})" if pattern.read.single else f"for each in {call}:\n        print(each)"
    return "\n".join([*lines, "", f"with connect({place.address!r}, design) as db:", f"    {shown}"])


def _module_of(design: Design, near: str) -> str:
    """The module that has the design under the name `design`: that of the pattern, or another of its package."""
    package = near.partition(".")[0]
    modules = [near, *(name for name in sorted(sys.modules) if name.partition(".")[0] == package)]
    for name in modules:
        if getattr(sys.modules.get(name), "design", None) is design:
            return name
    return near


def _imports(value: Any) -> Iterable[tuple[str, str]]:
    if isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _imports(each)
    elif isinstance(value, Enum):
        yield type(value).__module__, type(value).__name__
    elif isinstance(value, datetime):
        yield "datetime", "datetime"
    elif isinstance(value, date | Decimal | UUID):
        yield type(value).__module__, type(value).__name__


def _literal(value: Any) -> str:
    if isinstance(value, Enum):
        kind = type(value)
        is_declared = value.name in kind.__members__  # an open enum has other values, too
        return f"{kind.__name__}.{value.name}" if is_declared else f"{kind.__name__}({value.value!r})"
    if isinstance(value, datetime):
        return f"datetime.fromisoformat({value.isoformat()!r})"
    if isinstance(value, date):
        return f"date.fromisoformat({value.isoformat()!r})"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(_literal, value)))}}}" if value else "set()"
    return repr(value)


def code_hint(place: DataPlace) -> str:
    """What the code needs in order to run, where the data has no endpoint of its own.

    >>> code_hint(DataPlace("shop.db")), code_hint(DataPlace("dynamodb://eu-west-1"))
    ('The AWS CLI needs an endpoint: partita engine --data shop.db', '')
    """
    if place.endpoint or "://" in place.address:
        return ""
    if place.address == "memory:":
        return (
            "The data is in the memory of this server, where other programs do not see it. Use a file to run the code."
        )
    command = shlex.join(["partita", "engine", "--data", place.address])
    return f"The AWS CLI needs an endpoint: {command}"


def cli_code(request: Request[Any], place: DataPlace) -> str:
    """The command of the AWS CLI that sends a request.

    >>> from partita.dynamodb.requests import GetItem
    >>> print(cli_code(GetItem(table_name="shop", key={"PK": {"S": "it's"}}), DataPlace("dynamodb://eu-west-1")))
    aws dynamodb get-item \\
      --table-name shop \\
      --key '{"PK":{"S":"it'"'"'s"}}' \\
      --region eu-west-1
    """
    members: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(request))
    options = [_option(name, value) for name, value in members.items() if value is not None]
    command = f"aws dynamodb {_kebab(type(request).__name__)}"
    return " \\\n  ".join([command, *options, *_target(place)])


def _kebab(name: str) -> str:
    return _UPPER.sub("-", name).lower()


def _option(name: str, value: Any) -> str:
    option = _kebab(name)
    if isinstance(value, bool):
        return f"--{'' if value else 'no-'}{option}"
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return f"--{option} {shlex.quote(text)}"


def _target(place: DataPlace) -> list[str]:
    if place.address.startswith(AMAZON):
        return [f"--region {shlex.quote(place.address.removeprefix(AMAZON))}"]
    endpoint = place.endpoint or (place.address if "://" in place.address else "http://127.0.0.1:8000")
    return [f"--endpoint-url {shlex.quote(endpoint)}", "--region us-east-1"]
