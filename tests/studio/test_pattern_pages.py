"""Patterns: explained before they run, typed results after, pages without gaps, and code that runs."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from partita import Entity, F, Items, Store, Table, pattern, prove, query
from partita.engine.engine import Engine
from partita.studio.code_samples import python_code
from partita.studio.markup import el
from partita.studio.studio_app import StudioApplication
from partita.studio.visits import StudioDesign
from partita.studio.write_policy import DataPlace
from tests.studio.browser_client import TOKEN, StudioClient
from tests.studio.shop import DIGITS, NOON, Channel, Status, design, fill, orders_of


def test_list_has_every_pattern(client: StudioClient) -> None:
    view = client.view("/studio/shop/patterns")
    assert [each["name"] for each in view["patterns"]] == list(design.patterns)
    assert "The orders with a status." in client.get("/studio/shop/patterns").text


def test_pattern_is_explained_before_it_runs(client: StudioClient) -> None:
    view = client.view("/studio/shop/patterns/orders_of")
    assert view["results"] is None
    assert view["explanation"]["range"].startswith("PK = CUSTOMER#<customer_id>")
    assert view["explanation"]["requests"] == []
    given = client.view("/studio/shop/patterns/orders_of", **{"arg.customer_id": "c1"})
    assert given["results"] is None
    (request,) = given["explanation"]["requests"]
    assert request["operation"] == "Query"
    assert request["body"]["Limit"] == 25
    assert "for a page of 25 items" in given["explanation"]["cost"]


def test_run_shows_typed_results_and_the_capacity_used(client: StudioClient) -> None:
    view = client.view("/studio/shop/patterns/orders_of", **{"arg.customer_id": "c1", "run": "1"})
    rows = view["results"]["rows"]
    assert [each["values"]["orderId"] for each in rows] == ["o2", "o1", "o0"]
    assert rows[2]["values"]["total"] == int(DIGITS)
    assert view["results"]["used"]["read_units"] == 0.5
    page = client.get("/studio/shop/patterns/orders_of", **{"arg.customer_id": "c1", "run": "1"}).text
    assert str(DIGITS) in page
    assert "<script>alert(1)" not in page
    assert "0.5 read units" in page


def test_pages_of_results_have_no_gap_and_no_overlap(client: StudioClient, db: Store) -> None:
    seen, query = [], {"arg.customer_id": "c1", "size": "2", "run": "1"}
    for _ in range(2):
        view = client.view("/studio/shop/patterns/orders_of", **query)
        seen += [each["values"]["orderId"] for each in view["results"]["rows"]]
        page = client.get("/studio/shop/patterns/orders_of", **query).text
        following = page.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0]
        query = dict(parse_qsl(urlsplit(following.replace("&amp;", "&")).query))
    assert seen == ["o2", "o1", "o0"]


def test_get_that_finds_nothing_is_an_empty_state(client: StudioClient) -> None:
    reply = client.get("/studio/shop/patterns/customer", **{"arg.customer_id": "nobody", "run": "1"})
    assert reply.status == 200
    assert "Nothing found" in reply.text


@pytest.mark.parametrize(
    ("pattern", "arguments", "field"),
    [
        ("orders_of", {}, "customer_id"),
        ("orders_with", {"arg.status": "LOST"}, "status"),
        ("order", {"arg.customer_id": "c", "arg.order_id": "o", "arg.placed_at": "yesterday"}, "placed_at"),
        ("order", {"arg.customer_id": "c", "arg.order_id": "o", "arg.placed_at": "2025-01-01T00:00:00"}, ""),
    ],
)
def test_wrong_argument_is_named_beside_its_field(
    client: StudioClient, pattern: str, arguments: dict[str, str], field: str
) -> None:
    view = client.view(f"/studio/shop/patterns/{pattern}", run="1", **arguments)
    assert view["error"]
    assert view["error_field"] == field or field == ""
    assert view["results"] is None
    assert client.get(f"/studio/shop/patterns/{pattern}", run="1", **arguments).status == 422


def test_forged_cursor_is_an_error_on_the_page(client: StudioClient) -> None:
    reply = client.get("/studio/shop/patterns/orders_of", **{"arg.customer_id": "c1", "run": "1", "cursor": "forged"})
    assert reply.status == 422
    assert "not a cursor of this query" in reply.text


@pytest.mark.parametrize("name", list(design.patterns))
def test_arguments_are_filled_from_data(client: StudioClient, name: str) -> None:
    view = client.view(f"/studio/shop/patterns/{name}", fill="1", run="1")
    assert view["error"] == ""
    assert view["results"]["rows"]


def test_python_code_runs_as_it_is_shown(client: StudioClient, tmp_path_factory: pytest.TempPathFactory) -> None:
    from partita import connect

    file = tmp_path_factory.mktemp("shop") / "shop.db"
    with connect(file, design) as db:
        fill(db)
    code = client.view("/studio/shop/patterns/order", fill="1")["python"].replace("'memory:'", repr(str(file)))
    found: list[object] = []
    exec(code, {"print": found.append})  # noqa: S102 - our own text
    assert [each.order_id for each in found]  # type: ignore[attr-defined]
    assert "from tests.studio.shop import" in code
    assert "datetime.fromisoformat(" in code


def test_cli_command_has_the_request(client: StudioClient) -> None:
    command = client.view("/studio/shop/patterns/orders_of", **{"arg.customer_id": "it's"})["cli"]
    assert command.startswith("aws dynamodb query \\\n  --table-name shop")
    assert "--no-scan-index-forward" in command
    assert """'"'"'""" in command


def test_page_stops_when_its_budget_is_used_up(client: StudioClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partita.studio.visits.SECONDS", 0.0)
    reply = client.get("/studio/shop/items")
    assert reply.status == 422
    assert "budget" in reply.text


def test_element_rejects_inline_code_and_foreign_links() -> None:
    for attributes in ({"onclick": "x"}, {"style": "x"}, {"href": "javascript:x"}, {"href": "//other"}):
        with pytest.raises(ValueError, match=r"policy|leads out"):
            el("a", **attributes)
    with pytest.raises(ValueError, match="inline"):
        el("script", "x")
    assert orders_of.module == "tests.studio.shop"


def test_query_with_a_filter_that_needs_more_than_a_page_may_use_goes_on_with_the_next(engine: Engine) -> None:
    logs = Table("logs", "PK", "SK")

    class Line(Entity, table=logs, key=("LOG#{log_id}", "LINE#{number:+3}")):
        log_id: str
        number: int
        is_error: bool = False
        text: str = ""

    @pattern
    def errors(log_id: str) -> Items[Line]:
        return query(Line, log_id).where(F.is_error == True)  # noqa: E712 - a condition

    declared = prove("logs", logs)
    db = Store(engine, declared)
    db.create_tables()
    db.put_many(
        [Line(log_id="l", number=number, is_error=number % 17 == 16, text="x" * 300_000) for number in range(80)]
    )  # 2,930 units
    place = DataPlace("memory:")
    client = StudioClient(StudioApplication({"logs": StudioDesign("logs", declared, engine)}, place, TOKEN))
    found: list[list[int]] = []
    wanted = {"arg.log_id": "l", "run": "1", "size": "3"}
    while True:
        results = client.view("/studio/logs/patterns/errors", **wanted)["results"]
        found.append([each["values"]["number"] for each in results["rows"]])
        assert results["used"]["read_units"] < 700
        if results["cursor"] is None:
            break
        assert "the budget of a page" in results["stopped"]
        assert 'rel="next"' in client.get("/studio/logs/patterns/errors", **wanted).text
        wanted["cursor"] = results["cursor"]
    assert [number for each in found for number in each] == [16, 33, 50, 67]
    assert [] in found


@pytest.mark.parametrize(
    "value",
    [Channel.WEB, Channel("FAX"), frozenset({Status.OPEN, Status.SHIPPED}), frozenset[Status](), [DIGITS], NOON],
)
def test_code_of_any_argument_is_python_that_gives_it_back(value: Any) -> None:
    code = python_code(design, design.patterns["customer"], [value], DataPlace("shop.db"))
    names: dict[str, Any] = {}
    head, _, call = code.partition("\n\n")
    exec(head, names)  # noqa: S102 - the code of the sample
    argument = call.partition("customer_id=")[2].partition("))")[0]
    argument += ")" * (argument.count("(") - argument.count(")"))
    assert eval(argument, names) == value  # noqa: S307 - the same


def test_types_of_parameters_are_in_words(client: StudioClient) -> None:
    fields = client.view("/studio/shop/patterns/order")["fields"]
    assert [each["about"] for each in fields] == ["text", "time (ISO 8601)", "text"]
    assert "Page size" not in client.get("/studio/shop/patterns/order").text
    assert "Page size" in client.get("/studio/shop/patterns/orders_of").text
