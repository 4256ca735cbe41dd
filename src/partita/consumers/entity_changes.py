"""Changes: what a handler receives, as entities before and after."""

from datetime import datetime
from typing import Generic, TypeAlias, TypeVar

import msgspec

from partita.consumers.change_conditions import checked, holds
from partita.design.conditions import Condition

E = TypeVar("E")


class ChangeInfo(msgspec.Struct, frozen=True, gc=False):
    """What is known of a change besides its entities.

    id        The same whenever the change is delivered again, and of no other change: for the ids of what it causes.
    at        When the item was written, in whole seconds; for an item of a scan, when it was read.
    by_ttl    Whether DynamoDB deleted an expired item.
    is_late   Whether somebody has retried the change after it was given up: later changes of the item may have been
              handled before it.
    """

    id: str
    at: datetime
    by_ttl: bool = False
    is_late: bool = False
    before_image: msgspec.Raw | None = None
    after_image: msgspec.Raw | None = None


class _Change(msgspec.Struct, Generic[E], frozen=True):
    info: ChangeInfo

    @property
    def id(self) -> str:
        """The same whenever the change is delivered again, and of no other change."""
        return self.info.id

    @property
    def at(self) -> datetime:
        """When the item was written, in whole seconds."""
        return self.info.at


class Created(_Change[E], frozen=True):
    """An entity that did not exist before."""

    after: E

    def became(self, condition: Condition) -> E | None:
        """The entity, if the condition is true of it and was not before; else None."""
        is_true = checked(type(self.after), "became", condition)
        return self.after if holds(is_true, self.info.after_image) else None

    def stopped(self, condition: Condition) -> E | None:
        """None: nothing was true of an entity that did not exist."""
        checked(type(self.after), "stopped", condition)
        return None


class Updated(_Change[E], frozen=True):
    """An entity with other values than before."""

    before: E
    after: E

    def became(self, condition: Condition) -> E | None:
        """The entity as it is now, if the condition is true of it and was not before; else None."""
        is_true = checked(type(self.after), "became", condition)
        now = holds(is_true, self.info.after_image)
        return self.after if now and not holds(is_true, self.info.before_image) else None

    def stopped(self, condition: Condition) -> E | None:
        """The entity as it is now, if the condition was true of it before and is no longer; else None."""
        is_true = checked(type(self.after), "stopped", condition)
        now = holds(is_true, self.info.after_image)
        return self.after if not now and holds(is_true, self.info.before_image) else None


class Deleted(_Change[E], frozen=True):
    """An entity that exists no longer."""

    before: E

    @property
    def by_ttl(self) -> bool:
        """Whether DynamoDB deleted it because it had expired."""
        return self.info.by_ttl

    def became(self, condition: Condition) -> E | None:
        """None: nothing is true of an entity that does not exist."""
        checked(type(self.before), "became", condition)
        return None

    def stopped(self, condition: Condition) -> E | None:
        """The entity as it was, if the condition was true of it; else None."""
        is_true = checked(type(self.before), "stopped", condition)
        return self.before if holds(is_true, self.info.before_image) else None


Change: TypeAlias = Created[E] | Updated[E] | Deleted[E]
