"""What our REST is compared with: the same endpoints in FastAPI on boto3, and bytes from memory in bare ASGI.

python -m bench.rest_apps fastapi PORT ENDPOINT     DynamoDB at ENDPOINT
python -m bench.rest_apps store PORT DATABASE       FastAPI on Partita's async store
python -m bench.rest_apps bare PORT FILE            a JSON file of bodies, by path
python -m bench.rest_apps uncached PORT DATABASE    ours, as if there were a write between any two requests
python -m bench.rest_apps outdated PORT DATABASE    the same, and as if it had changed what the request reads
"""

import json
import sys
import zlib
from pathlib import Path
from typing import Any

import uvicorn

CARDS, BLOG = "perfectit-main", "partita-dev-blog"
HIDDEN = ("PK", "SK", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK", "GSI3PK", "GSI3SK", "GSI5PK", "GSI5SK", "ttl")


def fastapi_app(endpoint: str) -> Any:
    """The three endpoints, written in a straightforward way."""
    import boto3
    from boto3.dynamodb.conditions import Key
    from fastapi import FastAPI, HTTPException, Query

    dynamodb: Any = boto3.resource(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="partita",
        aws_secret_access_key="partita",  # noqa: S106 - DynamoDB Local takes anything
    )
    cards, blog = dynamodb.Table(CARDS), dynamodb.Table(BLOG)
    app = FastAPI()

    def shown(item: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in item.items() if name not in HIDDEN}

    @app.get("/api/perfectit/cards/{card_id}")
    def card(card_id: str) -> dict[str, Any]:
        item = cards.get_item(Key={"PK": f"CARD#{card_id}", "SK": "METADATA"}).get("Item")
        if item is None or item["status"] != "PUBLISHED":
            raise HTTPException(404)
        return shown(item) | {"instructions": json.loads(zlib.decompress(item["instructions"].value))}

    @app.get("/api/blog/categories/{category_id}/posts")
    def posts(category_id: str, limit: int = Query(20, ge=1, le=200)) -> dict[str, Any]:
        reply = blog.query(
            IndexName="GSI1",
            KeyConditionExpression=Key("GSI1PK").eq(f"CATEGORY#{category_id}") & Key("GSI1SK").begins_with("POST#"),
            ScanIndexForward=False,
            Limit=limit,
        )
        return {"items": [shown(item) for item in reply["Items"]], "cursor": reply.get("LastEvaluatedKey")}

    @app.get("/api/blog/posts/{post_id}/comments")
    def thread(post_id: str, limit: int = Query(20, ge=1, le=200)) -> dict[str, Any]:
        post = blog.get_item(Key={"PK": f"POST#{post_id}", "SK": f"POST#{post_id}"}).get("Item")
        if post is None or post["status"] != "PUBLISHED":
            raise HTTPException(404)
        reply = blog.query(
            KeyConditionExpression=Key("PK").eq(f"POST#{post_id}") & Key("SK").begins_with("COMMENT#"), Limit=limit
        )
        return {"items": [shown(item) for item in reply["Items"]], "cursor": reply.get("LastEvaluatedKey")}

    return app


def store_app(database: str) -> Any:
    """The same endpoints in FastAPI on Partita's async store, with its entities as response models."""
    from contextlib import asynccontextmanager

    from fastapi import FastAPI, HTTPException, Query
    from pydantic import BaseModel

    from partita import AsyncStore, connect_async
    from partita_systems.blog import design as blog
    from partita_systems.perfectit import design as cards

    stores: dict[str, AsyncStore] = {}

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> Any:
        async with (
            await connect_async(database, cards.design) as stores["cards"],
            await connect_async(database, blog.design) as stores["blog"],
        ):
            yield

    class Posts(BaseModel):
        items: list[blog.Post]
        cursor: str | None

    class Thread(BaseModel):
        items: list[blog.Comment | blog.Reply]
        cursor: str | None

    app = FastAPI(lifespan=lifespan)

    @app.get("/api/perfectit/cards/{card_id}")
    async def card(card_id: str) -> cards.PerfectionCard:
        found = await stores["cards"](cards.card(card_id))
        if found is None or found.status != "PUBLISHED":
            raise HTTPException(404)
        return found

    @app.get("/api/blog/categories/{category_id}/posts")
    async def posts(category_id: str, limit: int = Query(20, ge=1, le=200)) -> Posts:
        page = await stores["blog"](blog.posts_by_category(category_id)).page(limit)
        return Posts(items=page.items, cursor=page.cursor)

    @app.get("/api/blog/posts/{post_id}/comments")
    async def thread(post_id: str, limit: int = Query(20, ge=1, le=200)) -> Thread:
        post = await stores["blog"](blog.post(post_id))
        if post is None or post.status != "PUBLISHED":
            raise HTTPException(404)
        page = await stores["blog"](blog.thread(post_id)).page(limit)
        return Thread(items=page.items, cursor=page.cursor)

    return app


def bare_app(bodies: dict[str, bytes]) -> Any:
    """Answers with the bytes that it was given for a path."""

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = bodies.get(scope["path"], b"")
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app


def serve_uncached(port: int, database: str, *, is_outdated: bool) -> None:
    """`partita serve`, to which every version of the data is new: as if a write came between any two requests."""
    from itertools import count

    from partita.cli.serve import serve
    from partita.engine.engine import Engine
    from partita.engine.recorded_reads import RecordedReads

    version, numbers = Engine.version, count()

    def next_version(self: Engine) -> int:
        version(self)
        return next(numbers)

    Engine.version = next_version  # type: ignore[method-assign]
    if is_outdated:
        RecordedReads.find_the_same = lambda self: False  # type: ignore[method-assign]
    serve("perfectit", "blog", on=database, port=port, seed=False)


def main() -> None:
    kind, port, where = sys.argv[1:]
    if kind in ("uncached", "outdated"):
        serve_uncached(int(port), where, is_outdated=kind == "outdated")
        return
    if kind == "fastapi":
        app = fastapi_app(where)
    elif kind == "store":
        app = store_app(where)
    else:
        app = bare_app({path: body.encode() for path, body in json.loads(Path(where).read_text()).items()})
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(port),
        http="httptools",
        loop="uvloop",
        ws="none",
        lifespan="on" if kind == "store" else "off",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
    )


if __name__ == "__main__":
    main()
