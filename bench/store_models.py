"""One item of 20 attributes as three libraries declare it, each in the way of its own documentation."""

import dataclasses
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pydynox
import pydynox.attributes as dynox
from pynamodb import attributes as pynamo
from pynamodb.models import Model

from partita import Entity, Get, Query, Table, get, pattern, prove, query

PAGE = 1_000
TABLE_NAME = "store"
ATTRIBUTES = 20

orders = Table(TABLE_NAME, pk="pk", sk="sk")


class Parcel(msgspec.Struct):
    weight: int
    carrier: str


class Order(Entity, table=orders, key=("CUSTOMER#{customer_id}", "ORDER#{order_id}")):
    customer_id: str
    order_id: str
    placed_at: datetime
    paid_at: datetime
    status: str
    name: str
    email: str
    street: str
    city: str
    country: str
    note: str
    total: int
    lines: int
    visits: int
    gift: bool
    tags: set[str]
    history: list[str]
    parcel: Parcel


@pattern
def order(customer_id: str, order_id: str) -> Get[Order]:
    return get(Order, customer_id, order_id)


@pattern
def orders_of(customer_id: str) -> Query[Order]:
    return query(Order, customer_id)


design = prove("store", orders)


def customer_of(number: int) -> str:
    """A thousand orders each."""
    return f"{number // PAGE:06}"


def call(number: int) -> Get[Order]:
    """The get of order `number`."""
    return order(customer_of(number), f"{number:08}")


def made(number: int) -> Order:
    """Order `number`, about 600 bytes as DynamoDB counts them."""
    chance = random.Random(number)
    words = [f"{chance.getrandbits(64):016x}" for _ in range(20)]
    placed = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number, microseconds=1)
    return Order(
        customer_id=customer_of(number),
        order_id=f"{number:08}",
        placed_at=placed,
        paid_at=placed + timedelta(minutes=5),
        status=chance.choice(("OPEN", "SHIPPED")),
        name=" ".join(words[:2]),
        email=f"{words[2]}@example.com",
        street=" ".join(words[3:6]),
        city=words[6],
        country="NL",
        note=" ".join(words[7:15]),
        total=chance.randrange(100, 1_000_000),
        lines=chance.randrange(1, 30),
        visits=chance.randrange(1, 1_000),
        gift=chance.random() < 0.5,
        tags={words[15], "web"},
        history=["placed", "paid", words[16]],
        parcel=Parcel(chance.randrange(1, 5_000), "post"),
    )


class _Time(pynamo.Attribute[datetime]):
    """A time as the others write it: PynamoDB's own reads nothing but its own format."""

    attr_type = "S"

    def deserialize(self, value: str) -> datetime:
        return datetime.fromisoformat(value)


class _PynamoParcel(pynamo.MapAttribute[str, Any]):
    weight = pynamo.NumberAttribute()
    carrier = pynamo.UnicodeAttribute()


def pynamo_model(endpoint: str, key: str, secret: str) -> Any:
    """PynamoDB's model of the same items."""

    class PynamoOrder(Model):
        class Meta:
            table_name = TABLE_NAME
            host = endpoint
            region = "us-east-1"
            aws_access_key_id = key
            aws_secret_access_key = secret

        pk = pynamo.UnicodeAttribute(hash_key=True)
        sk = pynamo.UnicodeAttribute(range_key=True)
        customer_id = pynamo.UnicodeAttribute()
        order_id = pynamo.UnicodeAttribute()
        placed_at = _Time()
        paid_at = _Time()
        status = pynamo.UnicodeAttribute()
        name = pynamo.UnicodeAttribute()
        email = pynamo.UnicodeAttribute()
        street = pynamo.UnicodeAttribute()
        city = pynamo.UnicodeAttribute()
        country = pynamo.UnicodeAttribute()
        note = pynamo.UnicodeAttribute()
        total = pynamo.NumberAttribute()
        lines = pynamo.NumberAttribute()
        visits = pynamo.NumberAttribute()
        gift = pynamo.BooleanAttribute()
        tags = pynamo.UnicodeSetAttribute()
        history: pynamo.ListAttribute[Any] = pynamo.ListAttribute()
        parcel = _PynamoParcel()  # type: ignore[no-untyped-call]

    return PynamoOrder


@dataclasses.dataclass
class _DynoxParcel:
    weight: int
    carrier: str


def dynox_model(endpoint: str, key: str, secret: str) -> Any:
    """pydynox's."""
    client = pydynox.DynamoDBClient(region="us-east-1", access_key=key, secret_key=secret, endpoint_url=endpoint)

    class DynoxOrder(pydynox.Model):
        model_config = pydynox.ModelConfig(table=TABLE_NAME, client=client)
        pk = dynox.StringAttribute(partition_key=True)
        sk = dynox.StringAttribute(sort_key=True)
        customer_id = dynox.StringAttribute()
        order_id = dynox.StringAttribute()
        placed_at = dynox.DatetimeAttribute()
        paid_at = dynox.DatetimeAttribute()
        status = dynox.StringAttribute()
        name = dynox.StringAttribute()
        email = dynox.StringAttribute()
        street = dynox.StringAttribute()
        city = dynox.StringAttribute()
        country = dynox.StringAttribute()
        note = dynox.StringAttribute()
        total = dynox.NumberAttribute()
        lines = dynox.NumberAttribute()
        visits = dynox.NumberAttribute()
        gift = dynox.BooleanAttribute()
        tags = dynox.StringSetAttribute()
        history = dynox.ListAttribute()
        parcel = dynox.MapAttribute(_DynoxParcel)

    return DynoxOrder
