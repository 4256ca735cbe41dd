"""Items: as they are stored, page by page, each type exactly; export and import."""

import json
import re
from decimal import Decimal
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from partita import Entity, Index, Keys, Store, Table, connect, prove
from partita.dynamodb.requests import PutItem
from partita.engine.engine import Engine
from partita.studio.studio_app import StudioApplication
from partita.studio.visits import StudioDesign
from partita.studio.write_policy import DataPlace
from tests.studio.browser_client import TOKEN, StudioClient
from tests.studio.shop import DIGITS, Customer, customer, design, orders_of

ORDER = {"PK": {"S": "CUSTOMER#c1"}, "SK": {"S": "ORDER#2025-05-01T12:00:00.000000Z#o0"}}


def _rows(client: StudioClient, **query: str) -> list[dict[str, Any]]:
    """All rows of a read, over its pages."""
    rows: list[dict[str, Any]] = []
    while True:
        view = client.view("/studio/shop/items", **query)
        assert view["error"] == ""
        rows += view["page"]["rows"]
        if view["page"]["start"] is None:
            return rows
        query["start"] = json.dumps(view["page"]["start"])


@pytest.mark.parametrize("size", ["1", "2", "3", "5", "50"])
def test_pages_have_every_item_once(client: StudioClient, size: str) -> None:
    rows = _rows(client, size=size)
    assert len(rows) == len({json.dumps(each["key"]) for each in rows}) == 5
    assert sorted(each["entity"] for each in rows if not each["is_guard"]) == ["Customer", "Order", "Order", "Order"]


@pytest.mark.parametrize("size", ["1", "2", "50"])
def test_items_of_one_entity_over_pages(client: StudioClient, size: str) -> None:
    assert len(_rows(client, size=size, entity="Order")) == 3
    assert len(_rows(client, size=size, entity="Customer")) == 1
    assert len(_rows(client, size=size, entity="guards")) == 1
    assert len(_rows(client, size=size, entity="unexplained")) == 0
    assert len(_rows(client, size=size, index="GSI1")) == 3


def test_builder_queries_by_key_and_filters(client: StudioClient) -> None:
    in_range = _rows(client, pk0="CUSTOMER#c1", sort_op="begins_with", sk0="ORDER#")
    assert [each["item"]["orderId"]["S"] for each in in_range] == ["o0", "o1", "o2"]
    last_first = _rows(client, pk0="CUSTOMER#c1", sort_op=">", sk0="ORDER#", descending="1")
    assert [each["entity"] for each in last_first] == ["Customer", "Order", "Order", "Order"]
    shipped = _rows(client, index="GSI1", pk0="STATUS#SHIPPED")
    assert [each["item"]["orderId"]["S"] for each in shipped] == ["o1"]
    large = _rows(client, f0="total", f0op=">", f0type="N", f0value="1.5", f1="note", f1op="attribute_exists")
    assert [each["item"]["total"]["N"] for each in large] == [str(DIGITS)]
    view = client.view("/studio/shop/items", pk0="CUSTOMER#c1")
    assert view["operation"] == "Query"
    assert "aws dynamodb query" in view["cli"]


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ({"sk0": "ORDER#", "sort_op": "begins_with"}, "A range of the sort key needs the partition key"),
        ({"pk0": "CUSTOMER#c1", "sk0": "ORDER#"}, "Choose a condition for the sort key"),
        ({"pk0": "CUSTOMER#c1", "sort_op": "="}, "Give a value for SK"),
        ({"f0value": "x"}, "Name the attribute that the filter compares"),
    ],
)
def test_value_without_an_effect_is_an_error_in_the_form(
    client: StudioClient, query: dict[str, str], error: str
) -> None:
    reply = client.get("/studio/shop/items", **query)
    assert reply.status == 422
    assert error in reply.text
    assert all(f'value="{value}"' in reply.text for value in query.values())
    assert client.get("/studio/shop/export/lines", **query).status == 422


def test_query_of_an_index_with_a_key_of_several_attributes_needs_all_of_its_partition_key(engine: Engine) -> None:
    table = Table("several", "PK", "SK", (Index("Several", ("year", "level"), ("score", "rank")),))

    class Thing(Entity, table=table, key=("THING#{thing_id}", "THING")):
        thing_id: str
        year: int
        level: str
        score: int
        rank: int
        in_index = Keys("Several")

    wide = prove("wide", table)
    with_tables = Store(engine, wide)
    with_tables.create_tables()
    with_tables.create(Thing(thing_id="t", year=2025, level="a", score=1, rank=2))
    client = StudioClient(StudioApplication({"wide": StudioDesign("wide", wide, engine)}, DataPlace("memory:"), TOKEN))
    here = {"table": "several", "index": "Several"}
    every = {"pk0": "2025", "pk1": "a", "sort_op": "=", "sk0": "1", "sk1": "2"}
    view = client.view("/studio/wide/items", **here, **every)
    assert (view["error"], len(view["page"]["rows"])) == ("", 1)
    for missing, name in (("pk0", "year"), ("pk1", "level"), ("sk0", "score")):
        query = {each: value for each, value in every.items() if each != missing}
        assert f"Give a value for {name}" in client.view("/studio/wide/items", **here, **query)["error"]


def test_design_without_entities_has_every_page(engine: Engine) -> None:
    empty = prove("empty", Table("empty", "PK", "SK"))
    Store(engine, empty).create_tables()
    place = DataPlace("memory:", writable=True)
    client = StudioClient(StudioApplication({"empty": StudioDesign("empty", empty, engine)}, place, TOKEN))
    for path in ("", "/map", "/patterns", "/items", "/search", "/partiql", "/stream", "/health", "/staged", "/export"):
        assert client.get(f"/studio/empty{path}").status == 200, path
    assert "New item" not in client.get("/studio/empty/items").text
    assert client.get("/studio/empty/new").status == 404


def test_page_of_a_statement_that_matches_nothing_yet_leads_to_the_next(client: StudioClient) -> None:
    statement = "SELECT orderId FROM shop WHERE begins_with(note, '<script>')"
    found, query = [], {"statement": statement, "size": "1"}
    while True:
        found += client.view("/studio/shop/partiql", **query)["items"]
        page = client.get("/studio/shop/partiql", **query).text
        following = re.search(r'href="([^"]*)" class="button" rel="next"', page)
        if following is None:
            break
        query = dict(parse_qsl(urlsplit(unescape(following[1])).query))
    assert found == [{"orderId": {"S": "o0"}}]
    assert "First page" in page


def test_item_page_shows_every_type_exactly(client: StudioClient, engine: Engine) -> None:
    item: dict[str, dict[str, Any]] = {
        "PK": {"S": "x"},
        "SK": {"S": "y"},
        "n": {"N": "-0.00000000000000000000000000000000000001"},
        "ns": {"NS": ["1", "2.5"]},
        "ss": {"SS": ["a, b", "c"]},
        "b": {"B": "AP8="},
        "bs": {"BS": ["AA==", "AP8="]},
        "l": {"L": [{"NULL": True}, {"BOOL": False}]},
        "m": {"M": {"a": {"L": []}}},
    }
    engine.call(PutItem(table_name="shop", item=item))
    key = json.dumps({"PK": {"S": "x"}, "SK": {"S": "y"}})
    view = client.view("/studio/shop/item", key=key)
    assert view["item"] | {"n": item["n"]} == item
    assert Decimal(view["item"]["n"]["N"]) == Decimal("-1E-38")
    assert view["entity"] == ""
    page = client.get("/studio/shop/item", key=key).text
    assert "No entity of the design explains this item" in page
    assert "&quot;a, b&quot;, &quot;c&quot;" in page
    for kind in ("N", "NS", "SS", "B", "BS", "L", "M"):
        assert f">{kind}</abbr>" in page


def test_item_that_cannot_be_decoded_is_shown_with_the_reason(client: StudioClient, engine: Engine) -> None:
    engine.call(PutItem(table_name="shop", item={**ORDER, "total": {"S": "much"}}))
    view = client.view("/studio/shop/item", key=json.dumps(ORDER))
    assert view["entity"] == "Order"
    assert view["values"] is None
    assert "total" in view["problem"] or "Order" in view["problem"]
    assert client.get("/studio/shop/items").status == 200


def test_hostile_text_is_escaped_everywhere(client: StudioClient, db: Store) -> None:
    hostile = "\"'><img src=x onerror=alert(1)><script>alert(2)</script>\u202e\u0000"
    db.create(Customer(customer_id="evil<b>", email=hostile, name=hostile * 100))
    for path in ("/studio/shop/items", "/studio/shop/patterns/customer?arg.customer_id=evil%3Cb%3E&run=1"):
        page = client.get(path).text
        assert "<img src=x" not in page
        assert "<script>alert" not in page
    key = json.dumps({"PK": {"S": "CUSTOMER#evil<b>"}, "SK": {"S": "PROFILE"}})
    for path in ("item", "edit", "delete"):
        page = client.get(f"/studio/shop/{path}", key=key).text
        assert "<img src=x" not in page
        assert "evil<b>" not in page
    assert "<img" not in client.get("/studio/shop/items", pk0=hostile).text


def test_export_and_import_give_the_same_entities_counters_and_guards(client: StudioClient, db: Store) -> None:
    lines = client.get("/studio/shop/export/lines").text
    assert len(lines.splitlines()) == 5
    with connect("memory:") as other:
        copy = Store(other, design)
        copy.create_tables()
        opened = {"shop": StudioDesign("shop", design, other)}
        target = StudioClient(StudioApplication(opened, DataPlace("memory:", writable=True), TOKEN))
        done = target.post("/studio/shop/import.json", lines=lines, table="shop").json
        assert (done["created"], done["guards"], done["errors"]) == (4, 1, [])
        again = target.post("/studio/shop/import.json", lines=lines, table="shop").json
        assert (again["created"], again["existing"]) == (0, 4)
        assert list(copy(orders_of("c1"))) == list(db(orders_of("c1")))
        stored = copy.one(customer("c1"))
        assert (stored.order_count, stored.email) == (3, "ana@example.com")
        assert copy.find_by_unique(Customer, "email", "ana@example.com") == stored


def test_lines_that_cannot_be_imported_are_listed(client: StudioClient) -> None:
    lines = '{"Item": {"PK": {"S": "x"}, "SK": {"S": "y"}}}\nnot JSON\n{"PK": 1}\n[]\n\n{"Item": {"PK": {"X": ""}}}'
    view = client.post("/studio/shop/import.json", lines=lines, table="shop").json
    assert [number for number, _ in view["errors"]] == [1, 2, 3, 4, 6]
    assert view["created"] == 0


def test_partiql_reads_at_once_and_asks_before_it_writes(client: StudioClient) -> None:
    read = client.view("/studio/shop/partiql", statement="SELECT orderId FROM shop WHERE PK = 'CUSTOMER#c1'", size="2")
    assert len(read["items"]) == 2
    assert read["next_token"]
    insert = "INSERT INTO shop VALUE {'PK': 'p', 'SK': 'q'}"
    assert client.view("/studio/shop/partiql", statement=insert)["asks"] is True
    assert client.view("/studio/shop")["tables"][0]["items"] == 5
    assert client.post("/studio/shop/partiql", statement=insert).status == 200
    assert client.view("/studio/shop")["tables"][0]["items"] == 6


def test_export_states_its_cost_and_breaks_off_at_its_budget(client: StudioClient, db: Store) -> None:
    for number in range(8):
        db.create(Customer(customer_id=f"d{number}", email=f"{number}@example.com", name="x" * 300_000))
    view = client.view("/studio/shop/export", entity="Customer")
    assert view["expected_units"] * 8192 >= 8 * 300_000
    assert view["expected_units"] < view["units"]
    page = client.get("/studio/shop/export", entity="Customer").text
    assert 'name="entity" value="Customer"' in page
    assert f"{view['expected_units']:,g} read units" in page
    whole = client.get("/studio/shop/export/lines", entity="Customer")
    assert len(whole.text.splitlines()) == 9
    assert whole.is_complete
    broken = client.get("/studio/shop/export/lines", entity="Customer", units="1")
    assert "budget" in json.loads(broken.text.splitlines()[-1])["Error"]
    assert not broken.is_complete
    assert client.get("/studio/shop/export/lines", units="0").status == 422
    assert client.get("/studio/shop/export/lines", table="other").status == 404


def test_attributes_without_a_column_are_named(client: StudioClient, engine: Engine) -> None:
    many = {f"attribute{number:02}": {"N": str(number)} for number in range(60)}
    engine.call(PutItem(table_name="shop", item={"PK": {"S": "many"}, "SK": {"S": "many"}, **many}))
    for page in (
        client.get("/studio/shop/items", pk0="many").text,
        client.get("/studio/shop/partiql", statement="SELECT * FROM shop WHERE PK = 'many'").text,
    ):
        assert "22 further attributes" in page
        assert "attribute59" in page


def test_import_takes_what_an_export_wrote_whatever_its_texts_contain(client: StudioClient, db: Store) -> None:
    text = "".join(map(chr, (0, 9, 11, 12, 13, 28, 29, 30, 133, 8232, 8233, 65279, 65534, 128512))) + "\u202e한국어"
    db.create(Customer(customer_id="c9", email="nine@example.com", name=text))
    lines = client.get("/studio/shop/export/lines", entity="Customer").text
    db.delete(customer("c9"))
    for line_break in ("\n", "\r\n"):
        sent = lines.replace("\n", line_break)
        assert client.post("/studio/shop/import.json", lines=sent, table="shop").json["errors"] == []
    assert db.one(customer("c9")).name == text


def test_pages_of_large_items_end_early_and_have_every_item_once(client: StudioClient, engine: Engine) -> None:
    keys = [{"PK": {"S": "large"}, "SK": {"S": f"{number:02}"}} for number in range(16)]
    for key in keys:
        engine.call(PutItem(table_name="shop", item={**key, "text": {"S": "x" * 390_000}}))
    first = client.view("/studio/shop/items", pk0="large")
    assert 0 < len(first["page"]["rows"]) < 16
    assert [each["key"] for each in _rows(client, pk0="large")] == keys
    assert [each["key"] for each in _rows(client, pk0="large", entity="unexplained")] == keys
