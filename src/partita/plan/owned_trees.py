"""What is deleted with an owner: the entities that it owns, directly or through others, and what their items count.

An item that counts others cannot be deleted before them. A counter of what its entity owns is settled by the deletion
itself. The others are *open*: what they count may be an item that stays.
"""

from functools import lru_cache

import msgspec

from partita.design.models import Model
from partita.plan.design import Counter, Design, counters_of


class OwnedTree(msgspec.Struct, frozen=True):
    """The open counters of an owner and of what it owns, by entity.

    `outside` count entities that are never deleted with the owner: they must be zero. `inside` count entities that
    the owner owns: what they count may be deleted with it, or be another owner's.
    """

    models: frozenset[Model]  # without the owner, unless it owns its own entity
    outside: dict[Model, tuple[Counter, ...]]
    inside: dict[Model, tuple[Counter, ...]]

    def is_open(self, model: Model) -> bool:
        return bool(self.outside[model] or self.inside[model])

    @property
    def must_be_checked(self) -> bool:
        """Whether only the items tell if all of them can be deleted."""
        return any(self.inside.values()) or any(self.outside[model] for model in self.models)


@lru_cache(maxsize=1024)
def owned_tree(design: Design, owner: Model) -> OwnedTree:
    """What is deleted with an item of an owner."""
    models: set[Model] = set()
    waiting = [owner]
    while waiting:
        children = _children(design, waiting.pop()) - models
        models |= children
        waiting += children
    outside, inside = {}, {}
    for model in (*models, owner):
        open_counters = _open_counters(design, model)
        outside[model] = tuple(counter for child, counter in open_counters if child not in models)
        inside[model] = tuple(counter for child, counter in open_counters if child in models)
    return OwnedTree(frozenset(models), outside, inside)


def markable_models(design: Design) -> set[Model]:
    """The entities whose items are marked before anything is deleted: owners, and what is owned and has open counters.

    No item may begin to count in one that is marked, or to refer to it.
    """
    owners = {model for model in design.models if design.ownerships.get(model)}
    owned = {child for model in owners for child in _children(design, model)}
    return owners | {model for model in owned if _open_counters(design, model)}


def _children(design: Design, model: Model) -> set[Model]:
    return {each.child for each in design.ownerships.get(model, ())}


def _open_counters(design: Design, model: Model) -> list[tuple[Model, Counter]]:
    settled = _children(design, model)
    return [(child, counter) for child, counter in counters_of(design, model) if child not in settled]
