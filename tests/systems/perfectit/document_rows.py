"""Items as the team's own code stored them: the keys and attributes of its document only."""

from typing import Any

from partita import Store
from partita.design.untyped_values import any_value
from partita.dynamodb.requests import PutItem
from partita_systems.perfectit import design as d

T = "2025-01-01T00:00:00Z"


def put(db: Store, **attributes: Any) -> None:
    item = {name: any_value(value) for name, value in attributes.items()}
    db.backend.call(PutItem(table_name="perfectit-main", item=item))


def put_user(db: Store, user_id: str, name: str) -> None:
    keys = {"PK": f"USER#{user_id}", "SK": "PROFILE", "GSI1PK": f"USERNAME#{name}", "GSI1SK": "PROFILE"}
    names = {"username": name, "displayName": name}
    put(db, **keys, **names, entityType="User", id=user_id, createdAt=T, updatedAt=T)


def put_vote(db: Store, user_id: str, target_id: str, vote: str, **more: Any) -> None:
    keys = {"PK": f"VOTE#{user_id}#{target_id}", "SK": "VOTE", "GSI1PK": f"TARGET#{target_id}", "GSI1SK": f"VOTE#{T}"}
    put(db, **keys, entityType="Vote", userId=user_id, targetId=target_id, voteType=vote, createdAt=T, **more)


def put_card(db: Store, card_id: str, **more: Any) -> None:
    """The example item of the document."""
    attributes = {
        "PK": f"CARD#{card_id}",
        "SK": "METADATA",
        "entityType": "PerfectionCard",
        "id": card_id,
        "title": "Perfect Wood Finish",
        "description": "...",
        "imageUrls": [],
        "instructions": ["Sand.", "Oil."],
        "materials": {"oil": "1 l"},
        "tools": ["cloth"],
        "category": "woodworking",
        "tags": ["furniture"],
        "difficulty": "INTERMEDIATE",
        "estimatedTime": 120,
        "estimatedCost": 50,
        "viewCount": 3,
        "voteScore": 7,
        "authorId": "user123",
        "status": "PUBLISHED",
        "createdAt": T,
        "updatedAt": T,
        "GSI1PK": "CAT#woodworking",
        "GSI1SK": f"CREATED#{T}",
        "GSI2PK": "USER#user123",
        "GSI2SK": f"CREATED#{T}",
    }
    put(db, **{**attributes, **more})


def put_category(db: Store, category_id: str, parent_id: str = "ROOT", **more: Any) -> None:
    keys = {"PK": f"CAT#{category_id}", "SK": "METADATA", "GSI1PK": f"PARENT#{parent_id}", "GSI1SK": "SORT#10"}
    put(db, **keys, entityType="Category", id=category_id, name="Wood", sortOrder=10, **more)


def put_documented(db: Store) -> None:
    """Users, a category, a card, a comment, votes and a collection."""
    for user_id, name in (("user123", "Ann"), ("u2", "Ben"), ("u3", "Cho")):
        put_user(db, user_id, name)
    put_category(db, "woodworking")
    put_card(db, "123", GSI5PK="VOTETYPE#CARD", GSI5SK="SCORE#7#123")
    keys = {"PK": "CARD#123", "SK": f"COMMENT#{T}#m1", "GSI1PK": "USER#user123", "GSI1SK": f"COMMENT#{T}"}
    comment = {"id": "m1", "cardId": "123", "authorId": "user123", "text": "Which oil?"}
    put(db, **keys, **comment, entityType="Comment", createdAt=T, updatedAt=T)
    for user_id, target_id, vote in (("user123", "123", "UP"), ("u2", "123", "UP"), ("u3", "123", "DOWN")):
        put_vote(db, user_id, target_id, vote)
    put_vote(db, "u2", "m1", "UP")
    keys = {"PK": "USER#user123", "SK": "COLLECTION#l1", "GSI1PK": "COLLECTION#l1", "GSI1SK": "METADATA"}
    put(db, **keys, entityType="Collection", id="l1", userId="user123", name="Later", createdAt=T, updatedAt=T)
    entry = {"PK": "COLLECTION#l1", "SK": "CARD#123", "collectionId": "l1", "cardId": "123"}
    put(db, **entry, entityType="CardInCollection", createdAt=T)


def counts(target: d.PerfectionCard | d.Comment) -> tuple[int, int, int]:
    return target.vote_score, target.up_count, target.down_count
