"""Entities and views in pydantic models: validated by member, the JSON of our REST API, named schemas."""

import enum
import json
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import msgspec
import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from partita import AUTO, CountOf, CreatedAt, Entity, InKey, OpenEnum, Table, Unique, View
from partita.design.json_codec import encoded

table = Table("shop", "PK", "SK", naming="camel")
plain = Table("plain", "PK")


class Status(enum.Enum):
    OPEN = "open"
    SHIPPED = "shipped"


class Carrier(OpenEnum):
    POST = "POST"
    SHIP = "SHIP"


class Line(msgspec.Struct, rename="camel"):
    product_id: str
    quantity: Annotated[int, msgspec.Meta(ge=1, le=99)] = 1


class Address(msgspec.Struct, rename="camel"):
    street_name: Annotated[str, msgspec.Meta(max_length=20, examples=["Rua Nova 1"])]
    country: str = "PT"


class OrderSummary(View, naming="camel"):
    customer_id: str
    order_id: str
    placed_at: datetime


class Order(OrderSummary, Entity, table=table, key=("CUSTOMER#{customer_id}", "ORDER#{placed_at}#{order_id}")):
    """An order of a customer."""

    status: Status = Status.OPEN
    carrier: Carrier | None = None
    total: Decimal = Decimal("9.5")
    ship_to: Address | None = None
    lines: Annotated[list[Line], msgspec.Meta(max_length=3)] = msgspec.field(default_factory=list)
    by_shelf: dict[str, Line] = msgspec.field(default_factory=dict)
    tags: set[str] = msgspec.field(default_factory=set)
    label: bytes = b""
    batch: UUID | None = None
    due: date | None = None
    extra: dict[str, Any] = msgspec.field(default_factory=dict)
    created_at: Annotated[datetime, CreatedAt()] = AUTO


class Customer(Entity, table=table, key=("CUSTOMER#{customer_id}", "PROFILE")):
    customer_id: Annotated[str, InKey()]
    email: Annotated[str, Unique(), msgspec.Meta(pattern="@")]
    order_count: Annotated[int, CountOf(lambda: Order)] = 0


class Product(Entity, table=plain, key="PRODUCT#{id}"):
    id: str
    list_price: Decimal | None = None


class Basket(BaseModel):
    order: Order
    others: list[Order] = []
    customer: Customer | None = None


ORDER = {"customerId": "c1", "orderId": "o1", "placedAt": "2025-01-01T09:00:00Z"}
orders = TypeAdapter(Order)


def errors(kind: Any, value: Any) -> list[tuple[tuple[int | str, ...], str]]:
    with pytest.raises(ValidationError) as raised:
        TypeAdapter(kind).validate_python(value)
    return [(each["loc"], each["type"]) for each in raised.value.errors()]


# Validation


def test_entity_is_made_from_the_names_of_the_table() -> None:
    made = orders.validate_json(json.dumps(ORDER | {"status": "shipped", "shipTo": {"streetName": "Rua Nova"}}))
    placed = datetime(2025, 1, 1, 9, tzinfo=UTC)
    where = Address(street_name="Rua Nova")
    assert made == Order(customer_id="c1", order_id="o1", placed_at=placed, status=Status.SHIPPED, ship_to=where)


def test_every_wrong_member_is_reported_with_its_place() -> None:
    wrong = ORDER | {
        "orderId": 1,
        "placedAt": "yesterday",
        "status": "lost",
        "shipTo": {"streetName": "x" * 21, "country": None, "planet": "Mars"},
        "lines": [{"productId": "p"}, {"quantity": 0}],
        "byShelf": {"a": {"productId": "p", "quantity": "2"}},
    }
    del wrong["customerId"]
    assert [place for place, _ in errors(Order, wrong)] == [
        ("customerId",),
        ("orderId",),
        ("placedAt",),
        ("status",),
        ("shipTo", "streetName"),
        ("shipTo", "country"),
        ("shipTo", "planet"),
        ("lines", 1, "productId"),
        ("lines", 1, "quantity"),
        ("byShelf", "a", "quantity"),
    ]


def test_errors_have_a_message_and_the_input() -> None:
    with pytest.raises(ValidationError) as raised:
        orders.validate_python(ORDER | {"orderId": 1})
    (error,) = raised.value.errors(include_url=False)
    assert (error["loc"], error["input"]) == (("orderId",), 1)
    assert error["msg"]
    assert "Order" in raised.value.title


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        ({"orderID": "o1"}, "extra_forbidden"),
        ({"order_id": "o1"}, "extra_forbidden"),
        ({"carrier": "PIGEON"}, "enum"),
        ({"placedAt": "2025-01-01T09:00:00"}, "timezone_aware"),
    ],
)
def test_member_that_rest_rejects_is_rejected(members: dict[str, Any], kind: str) -> None:
    assert [each for _, each in errors(Order, ORDER | members)] == [kind]


def test_bounds_of_a_list_are_checked_beside_its_items() -> None:
    assert [place for place, _ in errors(Order, ORDER | {"lines": [{"productId": "p"}] * 4})] == [("lines",)]


@pytest.mark.parametrize("value", [5, "text", None, [], [ORDER], object()])
def test_value_that_is_not_an_object_is_one_error(value: Any) -> None:
    assert [place for place, _ in errors(Order, value)] == [()]


def test_errors_in_a_model_have_the_place_in_the_model() -> None:
    value = {"order": ORDER | {"total": True}, "others": [ORDER, {}], "customer": {"customerId": "c", "email": "none"}}
    assert [place for place, _ in errors(Basket, value)] == [
        ("order", "total"),
        ("others", 1, "customerId"),
        ("others", 1, "orderId"),
        ("others", 1, "placedAt"),
        ("customer", "email"),
    ]


def test_instance_is_kept_as_it_is() -> None:
    made = orders.validate_python(ORDER)
    assert Basket(order=made).order is made


def test_python_values_are_taken_as_well_as_json() -> None:
    placed = datetime(2025, 1, 1, 9, tzinfo=UTC)
    made = orders.validate_python(ORDER | {"placedAt": placed, "tags": {"a"}, "label": b"x", "total": Decimal("1.25")})
    assert (made.placed_at, made.tags, made.label, made.total) == (placed, {"a"}, b"x", Decimal("1.25"))


def test_union_is_the_entity_that_has_the_members() -> None:
    either: TypeAdapter[Order | Customer] = TypeAdapter(Order | Customer)
    assert isinstance(either.validate_python(ORDER), Order)
    customer = either.validate_python({"customerId": "c", "email": "a@b"})
    assert isinstance(customer, Customer)
    assert json.loads(either.dump_json(customer)) == {"customerId": "c", "email": "a@b", "orderCount": 0}
    assert {place[0] for place, _ in errors(Order | Customer, {})} == {
        "function-plain[Order()]",
        "function-plain[Customer()]",
    }


# Serialization

WHOLE = Order(
    customer_id="c1",
    order_id="o1",
    placed_at=datetime(2025, 1, 1, 9, 30, 0, 125000, tzinfo=UTC),
    carrier=Carrier("PIGEON"),
    total=Decimal("12.25"),
    ship_to=Address(street_name="Rua Nova"),
    lines=[Line(product_id="p", quantity=2)],
    by_shelf={"a": Line(product_id="q")},
    tags={"blue"},
    label=b"\x00\xff",
    batch=UUID("0b2f2c6e-7f0c-4d43-9a0e-2f3a7c1d5b11"),
    due=date(2025, 2, 1),
    extra={"n": Decimal("0.1"), "big": 10**37, "none": None},
    created_at=datetime(2025, 1, 2, tzinfo=UTC),
)


def test_json_is_that_of_rest() -> None:
    assert json.loads(orders.dump_json(WHOLE)) == json.loads(encoded(WHOLE))
    assert orders.dump_python(WHOLE, mode="json") == json.loads(encoded(WHOLE))


def test_json_reads_back_as_the_same_entity() -> None:
    known = msgspec.structs.replace(WHOLE, carrier=Carrier.POST)
    assert orders.validate_json(orders.dump_json(known)) == known


def test_value_that_the_store_will_set_is_not_in_the_json() -> None:
    new = orders.validate_python(ORDER)
    assert new.created_at is AUTO
    assert "createdAt" not in orders.dump_python(new, mode="json", exclude_none=True)
    assert orders.validate_json(orders.dump_json(new)) == new


@pytest.mark.parametrize("digits", ["0.1", "12.25", "1E+30", "12345678901234567", "9" * 38])
def test_decimal_is_a_number_with_all_its_digits(digits: str) -> None:
    product = Product(id="p", list_price=Decimal(digits))
    sent = TypeAdapter(Product).dump_json(product)
    assert json.loads(sent, parse_float=Decimal)["list_price"] == Decimal(digits)


def test_decimal_with_more_digits_than_a_float_is_text_that_reads_back() -> None:
    product = Product(id="p", list_price=Decimal("1.2345678901234567890123"))
    sent = TypeAdapter(Product).dump_json(product)
    assert json.loads(sent)["list_price"] == "1.2345678901234567890123"
    assert TypeAdapter(Product).validate_json(sent) == product


def test_entity_is_cut_down_to_the_view_that_is_declared() -> None:
    assert json.loads(TypeAdapter(OrderSummary).dump_json(WHOLE)).keys() == ORDER.keys()


def test_members_can_be_left_out() -> None:
    shown = orders.dump_python(WHOLE, mode="json", include={"orderId": True, "shipTo": {"country"}})
    assert shown == {"orderId": "o1", "shipTo": {"country": "PT"}}
    assert "total" not in orders.dump_python(WHOLE, mode="json", exclude={"total"})
    made = orders.validate_python(ORDER | {"extra": {"none": None}})
    without = orders.dump_python(made, mode="json", exclude_none=True)
    assert {"carrier", "shipTo", "batch", "due"}.isdisjoint(without)
    assert without["extra"] == {"none": None}


def test_model_dump_in_python_mode_keeps_the_entity() -> None:
    assert Basket(order=WHOLE).model_dump()["order"] is WHOLE


# JSON Schema


class Sparse(msgspec.Struct, omit_defaults=True):
    note: str | None = None


class Package(Entity, table=Table("packages", "id"), key="{package_id}"):
    package_id: str
    inside: Sparse
    others: dict[str, Sparse] = msgspec.field(default_factory=dict)


def test_none_is_left_out_of_a_struct_that_leaves_out_defaults_itself() -> None:
    package = Package(package_id="p", inside=Sparse(), others={"a": Sparse(note="n"), "b": Sparse()})
    shown = TypeAdapter(Package).dump_python(package, mode="json", exclude_none=True)
    assert shown == {"package_id": "p", "inside": {}, "others": {"a": {"note": "n"}, "b": {}}}


def test_each_class_is_a_named_schema() -> None:
    schema = Basket.model_json_schema()
    assert schema["$defs"].keys() == {"Address", "Carrier", "Customer", "Line", "Order", "Status"}
    assert schema["properties"]["order"] == {"$ref": "#/$defs/Order"}
    assert schema["properties"]["others"]["items"] == {"$ref": "#/$defs/Order"}


def test_schema_has_the_names_bounds_enums_and_examples() -> None:
    schema = TypeAdapter(list[Order]).json_schema()
    order, address = schema["$defs"]["Order"], schema["$defs"]["Address"]
    assert (order["title"], order["description"]) == ("Order", "An order of a customer.")
    assert order["required"] == ["customerId", "orderId", "placedAt"]
    assert order["additionalProperties"] is False
    members = order["properties"]
    assert members["placedAt"] == {"type": "string", "format": "date-time"}
    assert members["createdAt"] == {"type": "string", "format": "date-time"}
    assert members["total"] == {"type": "number", "default": 9.5}
    assert members["status"] == {"$ref": "#/$defs/Status", "default": "open"}
    assert members["lines"]["items"] == {"$ref": "#/$defs/Line"}
    assert members["lines"]["maxItems"] == 3
    assert schema["$defs"]["Status"]["enum"] == ["open", "shipped"]
    assert schema["$defs"]["Carrier"]["examples"] == ["POST", "SHIP"]
    street = address["properties"]["streetName"]
    assert (street["maxLength"], street["examples"]) == (20, ["Rua Nova 1"])


def test_schema_is_the_same_in_and_out() -> None:
    assert orders.json_schema(mode="validation") == orders.json_schema(mode="serialization")


def test_importing_partita_and_declaring_an_entity_does_not_import_pydantic() -> None:
    code = """
import sys
from partita import Entity, Table
class Note(Entity, table=Table("notes", "id")):
    id: str
print([name for name in sys.modules if name.startswith("pydantic")])
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
