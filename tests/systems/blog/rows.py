"""Items as the team's own code stored them: the keys and attributes of its document only."""

from typing import Any

from partita import Store
from partita.dynamodb.requests import PutItem
from partita_systems.blog import design as d

AT = "2025-01-01T00:00:00Z"
LATER = "2025-02-01T00:00:00Z"


def put(db: Store, pk: str, sk: str, *indexes: str, **attributes: Any) -> None:
    """`indexes` are the keys of GSI1 and of GSI2."""
    names = ("GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK")
    keys = {"PK": pk, "SK": sk, **dict(zip(names, indexes, strict=False))}
    item = {name: _stored(value) for name, value in (keys | attributes).items()}
    db.backend.call(PutItem(table_name=d.blog.name, item=item))


def _stored(value: Any) -> dict[str, Any]:
    return {"S": value} if isinstance(value, str) else {"N": str(value)}


def dated(entity_type: str, at: str = AT) -> dict[str, str]:
    return {"entityType": entity_type, "createdAt": at, "updatedAt": at}


def put_documented(db: Store) -> None:
    """A root with two subcategories, a post in one of them, with a comment, a reply, and two likes and bookmarks."""
    put_category(db, "k1", 1)
    put_category(db, "k2", 10, "k1")
    put_category(db, "k3", 9, "k1")
    put_post(db, "p1", content="Texto")
    put_comment(db, "p1", "c1")
    put_reply(db, "p1", "c1", "r1")
    put_like(db, "p1", "u1")
    put_like(db, "p1", "u1", LATER)
    put_bookmark(db, "p1", "u1")
    put_bookmark(db, "p1", "u1", LATER)


def put_category(db: Store, name: str, order: int, parent: str | None = None, **more: Any) -> None:
    key = f"CATEGORY#{name}"
    above = f"CATEGORY#{parent}" if parent else "CATEGORY_ROOT"
    parent_id = {"parentId": parent} if parent else {}
    row = {"categoryId": name, "name": name, "order": order, **parent_id, **dated("CATEGORY"), **more}
    put(db, key, key, above, f"CATEGORY#{order}#{name}", **{n: v for n, v in row.items() if v is not None})
    if parent:
        put(db, above, f"CHILD#{name}#{order}")


def put_post(db: Store, name: str, **more: Any) -> None:
    """A published post: it has `publishedAt`, and the document has no status."""
    row = {"postId": name, "authorId": "au", "subcategoryId": "k2", "title": "Olá", "publishedAt": AT}
    place = f"POST#{AT}#{name}"
    put(db, f"POST#{name}", f"POST#{name}", "CATEGORY#k2", place, "AUTHOR#au", place, **row, **dated("POST"), **more)


def put_comment(db: Store, post: str, name: str, **more: Any) -> None:
    row = {"postId": post, "commentId": name, "authorId": "u1", "content": "bom", **dated("COMMENT")}
    places = (f"COMMENT#{name}", f"POST#{post}", "AUTHOR#u1", f"COMMENT#{AT}#{name}")
    put(db, f"POST#{post}", f"COMMENT#{name}#{AT}", *places, **row, **more)


def put_reply(db: Store, post: str, parent: str, name: str) -> None:
    row = {"postId": post, "parentId": parent, "replyId": name, "authorId": "u2", "content": "re", **dated("REPLY")}
    put(db, f"POST#{post}", f"COMMENT#{parent}#{name}#{AT}", **row)


def put_like(db: Store, post: str, user: str, at: str = AT) -> None:
    places = (f"LIKE#{user}#{post}", "LIKE", f"AUTHOR#{user}", f"LIKE#{at}")
    put(db, f"POST#{post}", f"LIKE#{user}#{at}", *places, postId=post, userId=user, **dated("LIKE", at))


def put_bookmark(db: Store, post: str, user: str, at: str = AT) -> None:
    places = (f"BOOKMARK#{user}", f"BOOKMARK#{at}#{post}", f"POST#{post}", f"BOOKMARK#{user}")
    put(db, f"USER#{user}", f"BOOKMARK#{post}#{at}", *places, postId=post, userId=user, **dated("BOOKMARK", at))
