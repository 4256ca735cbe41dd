"""Entity tags: the ETag of a reply, and `If-Match` and `If-None-Match` against it.

    "5f0c....91ab...."        an entity: a digest of its last edit, and a digest of the whole reply
    "91ab...."                any other reply

`If-None-Match` compares the whole reply. `If-Match` compares the edit alone: a like that arrives while an author writes
changes the reply, and must not reject what the author wrote. The design defines an edit: every attribute except
those that are counted or marked `Untracked`. The tag of a gzip-compressed reply ends in `.gz`.
"""

from hashlib import blake2b
from typing import Any

from partita.design.conditions import Condition
from partita.design.json_codec import encoded_sorted
from partita.plan.unchanged import edited_values, unchanged_condition
from partita.rest.problems import Problem

GZIP_SUFFIX = ".gz"


def digest(body: bytes) -> str:
    return blake2b(body, digest_size=8).hexdigest()


def entity_tag(entity: Any, body: bytes) -> str:
    """The tag of a reply that is one entity."""
    return f"{edit_tag(entity)}.{digest(body)}"


def edit_tag(entity: Any) -> str:
    """A digest that changes with every edit of the entity, and only then."""
    return digest(encoded_sorted(edited_values(entity)))


class IfMatch:
    """The tags that a client sent with `If-Match`, for an operation that takes them."""

    def __init__(self, header: str | None) -> None:
        self.present = header is not None
        self._any = header is not None and header.strip() == "*"
        # A weak tag never matches (RFC 9110, 13.1.1).
        self._edits = {tag[1:-1].partition(".")[0] for tag in _parse_tags(header or "") if not tag.startswith("W/")}

    def check(self, entity: Any) -> None:
        """Raises 412 unless the entity is as the client read it."""
        if self.present and not self._any and edit_tag(entity) not in self._edits:
            raise Problem(412, "precondition-failed", "it has changed since it was read; read it again")

    def when(self, entity: Any) -> Condition | None:
        """Checks the entity, and returns the condition under which it is still the same when it is written."""
        self.check(entity)
        return unchanged_condition(entity) if self.present else None


def none_match(header: str, tag: str) -> bool:
    """Whether a client that sent `If-None-Match` does not have this reply."""
    known = {each.removeprefix("W/")[1:-1].removesuffix(GZIP_SUFFIX) for each in _parse_tags(header)}
    return header.strip() != "*" and tag not in known


def _parse_tags(header: str) -> list[str]:
    return [each.strip() for each in header.split(",") if each.strip().endswith('"')]
