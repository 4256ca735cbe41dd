"""How an entity fills an index: `by_email = Keys("EmailIndex")`, `to_ship = Keys("GSI1", "STATUS#{status}", ...)`."""

from typing import TypeVar

from partita.design.argument_checks import CONDITION, NAME, TEMPLATES, check_arguments, optional
from partita.design.conditions import Condition
from partita.design.models import EntityKeys, model_of, view_of
from partita.design.reads import BoundKeys, EntityKey, Read
from partita.errors import DesignError

E = TypeVar("E")
KeyTemplates = str | tuple[str | None, ...] | None


class Keys:
    """The key of an entity in an index; without a template it is the attribute (or table key) of the same name.

    With several `Keys` on one index, the first whose `when` is true and whose parts are present applies. The Keys of a
    view belong to its entity, and a read by them returns the view.
    """

    def __init__(
        self, index: str, pk: KeyTemplates = None, sk: KeyTemplates = None, *, when: Condition | None = None
    ) -> None:
        check_arguments(
            "Keys",
            index=(index, NAME),
            pk=(pk, TEMPLATES),
            sk=(sk, TEMPLATES),
            when=(when, optional(CONDITION)),
        )
        self.index = index
        self.pk = pk
        self.sk = sk
        self.when = when
        self.entity_keys: dict[str, EntityKeys] = {}  # by entity: several may inherit the declaration

    def __get__(self, instance: object, owner: type[E]) -> BoundKeys[E]:
        view = view_of(owner)
        model = model_of(owner) if view is None else view.of
        keys = self.entity_keys.get(model.name)
        if keys is None:
            wrong = f"{model.name} declares other Keys of this name"
            raise DesignError(owner.__name__, wrong, f"read {model.name}'s Keys, or give them another name")
        return BoundKeys(Read((EntityKey(model, keys),), view=view))
