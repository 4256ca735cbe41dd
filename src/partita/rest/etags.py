"""Entity tags: what a client holds to say "if it is still as I have read it".

    "5f0c....91ab...."        an entity: how it was last edited, and the reply as a whole
    "91ab...."                any other reply

`If-None-Match` is about the whole reply. `If-Match` is about the edit alone: a like that arrives while somebody writes
changes the reply, and is no reason to refuse what they have written. What an edit is, the design says: every attribute
except those that are counted or marked `Untracked`. A zipped reply is another one, so its tag ends in `.gz`.
"""

from hashlib import blake2b
from typing import Any

from partita.design.conditions import Condition
from partita.rest.etag_values import edited_values, reads_as_before
from partita.rest.json_codec import in_one_order
from partita.rest.problems import Problem

ZIPPED = ".gz"


def digest(body: bytes) -> str:
    return blake2b(body, digest_size=8).hexdigest()


def entity_tag(entity: Any, body: bytes) -> str:
    """The tag of a reply that is one entity."""
    return f"{edit_of(entity)}.{digest(body)}"


def edit_of(entity: Any) -> str:
    """What changes whenever somebody edits the entity, and only then."""
    return digest(in_one_order(edited_values(entity)))


class IfMatch:
    """The tags that a client sent with `If-Match`; an operation that takes it says what must still be so."""

    def __init__(self, header: str | None) -> None:
        self.given = header is not None
        self._any = header is not None and header.strip() == "*"
        # A weak tag never matches (RFC 9110, 13.1.1).
        self._edits = {tag[1:-1].partition(".")[0] for tag in _listed(header or "") if not tag.startswith("W/")}

    def check(self, entity: Any) -> None:
        """Refuses unless the entity is as it was read."""
        if self.given and not self._any and edit_of(entity) not in self._edits:
            raise Problem(412, "precondition-failed", "it has changed since it was read; read it again")

    def when(self, entity: Any) -> Condition | None:
        """The same as a condition, so that what was compared is still so when it is written."""
        self.check(entity)
        return reads_as_before(entity) if self.given else None


def none_match(header: str, tag: str) -> bool:
    """Whether a client that sent `If-None-Match` lacks this reply."""
    known = {each.removeprefix("W/")[1:-1].removesuffix(ZIPPED) for each in _listed(header)}
    return header.strip() != "*" and tag not in known


def _listed(header: str) -> list[str]:
    return [each.strip() for each in header.split(",") if each.strip().endswith('"')]
