"""Every enum of DynamoDB's own model is checked: a value that is not in it is rejected, at any depth of a request.

The model is botocore's. A value that the engine does not know could otherwise be taken for the default.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from partita.dynamodb.operations import OPERATIONS
from tests.engine.shorthand import Embedded, Json

session = pytest.importorskip("botocore.session")

UNKNOWN = "UNKNOWN"
NOT_OFFERED = ("ReplicaUpdates", "GlobalTableSettingsReplicationMode", "MultiRegionConsistency")  # with any value


def enums(shape: Any, path: tuple[str, ...] = (), above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The paths of all enums in a shape, and how a request is built with a value there; `[]` and `{}` are members."""
    if shape.name in above:
        return
    above = (*above, shape.name)
    if shape.type_name == "structure":
        for name, member in shape.members.items():
            for rest, build in enums(member, (*path, name), above):
                yield rest, lambda value, name=name, build=build: {name: build(value)}
    elif shape.type_name == "list":
        for rest, build in enums(shape.member, (*path, "[]"), above):
            yield rest, lambda value, build=build: [build(value)]
    elif shape.type_name == "map":
        for rest, build in enums(shape.value, (*path, "{}"), above):
            yield rest, lambda value, build=build: {"k": build(value)}
    elif getattr(shape, "enum", None):
        yield path, lambda value: value


def cases() -> Iterator[tuple[str, str, Json]]:
    for service in ("dynamodb", "dynamodbstreams"):
        model = session.get_session().get_service_model(service)
        for name in sorted(set(model.operation_names) & set(OPERATIONS)):
            for path, build in enums(model.operation_model(name).input_shape):
                if path[0] in NOT_OFFERED:
                    continue
                named = {"TableName": "table"} if name == "CreateTable" else {}  # its absence is reported alone
                yield name, ".".join(path), {**named, **build(UNKNOWN)}


CASES = list(cases())


@pytest.mark.parametrize(("operation", "path", "body"), CASES, ids=[f"{name}.{path}" for name, path, _ in CASES])
def test_value_that_is_not_in_an_enum_is_rejected(operation: str, path: str, body: Json) -> None:
    answer = Embedded().ask(operation, body)
    assert answer.code == "ValidationException"
    last = path.removesuffix(".[]").rpartition(".")[2]
    found = re.search(
        rf"Value '\[?{UNKNOWN}\]?' at '([\w.]+\.)?{last}' failed to satisfy constraint: (.*?)(;|$)",
        answer.message,
        re.IGNORECASE,
    )
    assert found is not None, answer.message
    assert "Member must satisfy enum value set: [" in found[2]


def test_enums_of_every_operation_are_found() -> None:
    assert len(CASES) > 80
    assert ("UpdateItem", "AttributeUpdates.{}.Action") in {(name, path) for name, path, _ in CASES}
