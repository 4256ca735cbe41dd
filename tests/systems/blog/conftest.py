"""The blog on an embedded engine, with a manual clock and a few users."""

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from partita import Store, connect
from partita.dynamodb.requests import Scan
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from partita_systems.blog import design as d
from partita_systems.blog.api import api
from partita_systems.blog.service import Blog
from tests.rest.client import Client
from tests.store.clocks import Clock

ANA, BIA, CAIO = "sub-ana", "sub-bia", "sub-caio"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def db(clock: Clock) -> Iterator[Store]:
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, d.design, clock=clock, sleep=lambda _: None)
        store.create_tables()
        yield store


@pytest.fixture
def blog(db: Store) -> Blog:
    return Blog(db)


@pytest.fixture
def post(blog: Blog) -> d.Post:
    """Ana's post, published in the subcategory Samba of Música."""
    root = blog.categories.add("Música")
    return published(blog, blog.categories.add("Samba", root.category_id).category_id)


@pytest.fixture
def anonymous(db: Store) -> Iterator[Client]:
    """An HTTP client without a token."""
    issuer = LocalIssuer()
    app = RestApplication([api], db, verifier=issuer.verifier())
    with asyncio.Runner() as runner:
        yield Client(app, "/api/blog", issuer, runner.get_loop())


def published(blog: Blog, subcategory_id: str, title: str = "Roda de samba") -> d.Post:
    written = blog.write(ANA, title, "Quem não gosta de samba bom sujeito não é.", subcategory_id=subcategory_id)
    blog.publish(written.post_id)
    return blog.db.one(d.post(written.post_id))


def disk(db: Store) -> list[dict[str, dict[str, Any]]]:
    """Every stored item."""
    reply = db.backend.call(Scan(table_name=d.blog.name))
    return [msgspec.json.decode(item) for item in reply.items or ()]
