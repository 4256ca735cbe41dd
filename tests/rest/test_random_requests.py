"""Random requests to every operation: no response is a 500, and none is undeclared.

schemathesis generates valid and invalid requests from the OpenAPI description of each API. Half of them are about
entities that exist. PARTITA_EXAMPLES sets their number.
"""

import os
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from partita_systems import SYSTEMS
from tests.rest.client import Client
from tests.rest.known_ids import known_ids

pytestmark = pytest.mark.slow

EXAMPLES = int(os.environ.get("PARTITA_EXAMPLES", "4"))
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
GROUPS = ("admin", "ADMIN", "machine", "builder")


async def _with_lifespan(app: Any, scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        for state in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{state}.complete"})
    else:
        await app(scope, receive, send)


@pytest.mark.parametrize("name", SYSTEMS)
def test_no_response_is_a_500_or_undeclared(five: Client, name: str) -> None:
    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        await _with_lifespan(five.app, scope, receive, send)

    schema = schemathesis.openapi.from_asgi(f"/api/{name}/openapi.json", app)
    known = known_ids(five.by("x", *GROUPS).at(f"/api/{name}"), name)
    callers = ["", five.by("stranger").token]
    seen: set[int] = set()
    found: Any
    for found in schema.get_all_operations():
        operation = found.ok()
        cases = [operation.as_strategy(generation_mode=mode) for mode in GenerationMode]

        @settings(
            max_examples=EXAMPLES,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=st.one_of(*cases), data=st.data())
        def asks(case: Any, data: st.DataObject) -> None:
            if data.draw(st.booleans()):
                for parameter in case.path_parameters or {}:
                    if parameter in known:
                        case.path_parameters[parameter] = data.draw(st.sampled_from(known[parameter]))
            own = [value for parameter, value in (case.path_parameters or {}).items() if parameter in known]
            owner = five.by(str(own[0]), *GROUPS).token if own else five.by("did:plc:x", *GROUPS).token
            token = data.draw(st.sampled_from([owner, owner, *callers]))
            headers = {"Authorization": f"Bearer {token}"} if token else {"Authorization": "Bearer x"}
            reply = case.call(headers=headers)
            seen.add(reply.status_code)
            case.validate_response(reply, checks=CHECKS)

        asks()
    assert {200, 401, 403, 404, 422} <= seen
