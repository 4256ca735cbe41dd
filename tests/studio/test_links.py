"""Every link of every page leads to a page, in designs with and without search indexes."""

import re
from collections import Counter
from html import unescape
from urllib.parse import parse_qsl, urlsplit

import pytest

from partita import Store
from partita.dynamodb.requests import PutItem
from partita.engine.engine import Engine
from partita.plan.design import Design
from partita.studio.studio_app import StudioApplication
from partita.studio.visits import StudioDesign
from partita.studio.write_policy import DataPlace
from tests.search import cards
from tests.store import parts_design as parts
from tests.studio import shop
from tests.studio.browser_client import TOKEN, StudioClient

SIMILAR = 2  # pages that differ only in the values of their parameters
STREAMS = ("/events", "/lines")


def studio_designs(engine: Engine) -> dict[str, StudioDesign]:
    shop.fill(Store(engine, shop.design))
    engine.call(PutItem(table_name="shop", item={"PK": {"S": "x"}, "SK": {"S": "y"}}))  # no entity explains it
    for design in (parts.design, cards.design):
        Store(engine, design).create_tables()
    found = Store(engine, parts.design)
    found.create(parts.Part(part_id="a", category="b", name="c", embedding=[1.0, 0.0, 0.0, 0.0]))
    found.create(parts.Need(need_id="n", category="b", embedding=[0.0, 1.0, 0.0, 0.0]))
    Store(engine, cards.design).create(cards.Card(card_id="c1", title="Oak"))
    Store(engine, cards.design).create(cards.Note(note_id="n1", text="Oak"))
    return {
        "shop": StudioDesign("shop", shop.design, engine, history=engine.item_history, hot_keys=engine.hot_keys),
        "parts": StudioDesign("parts", parts.design, engine),
        "cards": StudioDesign("cards", cards.design, engine, [cards.new_index()]),
    }


def _kind(url: str) -> str:
    parts_of_url = urlsplit(url)
    return f"{parts_of_url.path} {[name for name, _ in parse_qsl(parts_of_url.query)]}"


@pytest.mark.parametrize("writable", [True, False])
def test_every_link_leads_to_a_page(engine: Engine, writable: bool) -> None:
    application = StudioApplication(studio_designs(engine), DataPlace("memory:", writable=writable), TOKEN)
    client = StudioClient(application)
    waiting, seen, wrong = ["/studio"], Counter[str](), {}
    visited: set[str] = set()
    while waiting:
        url = waiting.pop()
        if url in visited or seen[_kind(url)] >= SIMILAR or urlsplit(url).path.endswith(STREAMS):
            continue
        visited.add(url)
        seen[_kind(url)] += 1
        reply = client.get(url)
        if reply.status not in (200, 303):
            wrong[url] = reply.status
        waiting += map(unescape, re.findall(r'href="(/studio(?!/static)[^"#]*)', reply.text))
        waiting += [reply.headers["location"]] if reply.status == 303 else []
    assert len(visited) > 100
    assert wrong == {}


@pytest.mark.parametrize("design", [shop.design, parts.design, cards.design], ids=lambda each: each.name)
def test_every_pattern_runs_with_arguments_from_the_data(engine: Engine, design: Design) -> None:
    client = StudioClient(StudioApplication(studio_designs(engine), DataPlace("memory:"), TOKEN))
    for name in design.patterns:
        view = client.view(f"/studio/{design.name}/patterns/{name}", fill="1", run="1")
        assert (view["error"], bool(view["results"]["rows"])) == ("", name != "similar_red"), name
        assert client.get(f"/studio/{design.name}/patterns/{name}", fill="1", run="1").status == 200
