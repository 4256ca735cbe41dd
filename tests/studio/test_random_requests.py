"""Random requests to every page: whatever a parameter contains, the response is a page or an error that says why."""

import json
import logging
import random
from urllib.parse import urlencode

import pytest

from partita.engine.engine import Engine
from partita.studio.site import ROUTES
from partita.studio.studio_app import StudioApplication
from partita.studio.write_policy import DataPlace
from tests.studio.browser_client import TOKEN, StudioClient
from tests.studio.test_links import studio_designs

KEY = '{"PK":{"S":"CUSTOMER#c1"},"SK":{"S":"ORDER#2025-05-01T12:00:00.000000Z#o0"}}'
DEEP = '{"a":' * 20_000
VALUES = (
    *("", "x", "0", "-1", "1", "2,3", "9" * 5000, "1e999", "NaN", "null", "[]", "{}", "%", "\0", "\ud800", "\u202e"),
    *('{"PK":{},"SK":{}}', '{"PK":{"S":1},"SK":{"S":[]}}', '{"PK":{"X":"a"},"SK":{"S":"b"}}', '{"PK":null}'),
    *('{"PK":{"B":"%%"},"SK":{"N":"abc"}}', '{"PK":{"S":""},"SK":{"S":""}}', '{"PK":{"S":"a","N":"1"},"SK":{"S":"b"}}'),
    *("[" * 100_000, DEEP, "(" * 20_000, KEY, "<script>", '{"customerId":"c1"}', "[1,2,3,4]", "[1e400]", '["a"]'),
    *("shop", "parts", "Order", "Customer", "Part", "ByMeaning", "GSI1", "search", "guards", "unexplained"),
    *("create", "change", "delete", "retry", "plan", "doctor", "OPEN", "=", "begins_with", "S", "N", "B", "contains"),
    *(
        "2025-01-01T00:00:00Z",
        "0001-01-01T00:00:00-23:59",
        "SELECT * FROM shop",
        "SELECT * FROM shop WHERE (((",
    ),
)
NAMES = (
    *("table", "index", "entity", "key", "start", "size", "pk0", "sk0", "sort_op", "f0", "f0op", "f0type", "f0value"),
    *("arg.customer_id", "arg.status", "arg.placed_at", "arg.embedding", "arg.category", "arg.size", "run", "fill"),
    *("cursor", "statement", "next", "check", "done", "before", "number", "kind", "edits", "committed", "consumer"),
    *(
        "field.customerId",
        "field.total",
        "field.tags",
        "field.placedAt",
        "field.lines",
        "field.label",
        "null.field.note",
    ),
    *("sequence", "action", "backup-shop", "target-shop", "at-shop", "from-shop", "lines", "units", "seconds"),
    *("vector", "equal.VPK", "equal.size", "equal.level", "equal.tags", "count", "text", "of", "token"),
)


@pytest.mark.parametrize("seed", range(3))
def test_no_request_is_a_500(engine: Engine, seed: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    designs = studio_designs(engine)
    client = StudioClient(StudioApplication(designs, DataPlace("memory:", writable=True), TOKEN))
    draw = random.Random(seed)
    routes = [each for each in ROUTES if not each.path.endswith("/events")]
    for _ in range(300):
        route, design = draw.choice(routes), draw.choice(list(designs))
        path = route.path.format(design=design, pattern=draw.choice(list(designs[design].design.patterns)))
        fields = {draw.choice(NAMES): draw.choice(VALUES) for _ in range(draw.randint(0, 6))}
        likely = {"table": design, "key": KEY, "run": "1", "entity": "Order", "kind": "change"}
        fields |= {name: value for name, value in likely.items() if draw.random() < 0.3}
        sent = urlencode(fields, errors="surrogatepass")
        if route.method == "GET":
            reply = client.send("GET", f"/studio{path}{draw.choice(('', '.json'))}?{sent}", b"", {})
        else:
            kind = draw.choice(("application/x-www-form-urlencoded", "application/json"))
            body = sent if kind.endswith("urlencoded") else json.dumps(fields)
            reply = client.send("POST", f"/studio{path}", body.encode(), {"content-type": kind})
        assert reply.status < 500, (route.method, path, {name: value[:80] for name, value in fields.items()})
