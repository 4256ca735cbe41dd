"""Several `Keys` in one index: an item has the first ones that apply to it, so the others may lack items.

`Keys` apply to an item where their condition holds and none of their parts is None. Where earlier ones can apply to the
same item, the proof of a pattern says which items are not under its own. `Keys` that no item can have are an error.
"""

from collections.abc import Iterator

from partita.design.condition_text import condition_text
from partita.design.conditions import All, Condition, Exists, F, Field, Not
from partita.design.models import EntityKeys, Model
from partita.design.reads import Read
from partita.errors import DesignError
from partita.plan.condition_expressions import to_encoded
from partita.plan.proof.satisfiable import is_satisfiable
from partita.plan.stored_keys import templates_text

_WAY_OUT = "give them conditions that exclude each other (when=F...), or use another index"


def check_all_can_be_written(model: Model) -> None:
    """A DesignError for `Keys` that no item has."""
    for several in model.indexes.values():
        for at, keys in enumerate(several):
            if not _can_be_first(model, several, at):
                alone = is_satisfiable(model, _applies(model, keys))
                wrong = "an item has the first Keys that apply to it, and earlier ones apply wherever these do"
                if not alone:
                    wrong = "no item can fulfil its condition"
                raise DesignError(keys.where, wrong, _WAY_OUT if alone else "correct it, or remove these Keys")


def held_by_earlier(read: Read) -> Iterator[str]:
    """A sentence for each of the earlier `Keys` that hold items which the read would find as well."""
    for source in read.sources:
        model, keys = source.model, source.keys
        several = model.indexes.get(keys.index, ()) if keys.index is not None else ()
        at = next((at for at, each in enumerate(several) if each is keys), 0)
        own = {each.keys for each in read.sources if each.model is model}
        for position, earlier in enumerate(several[:at]):
            if earlier not in own and _can_be_first(model, several, position, _applies(model, keys)):
                under = templates_text(earlier)
                yield f"not in it: items of {model.name} where {_in_words(model, earlier)}; they are under ({under})"


def _can_be_first(model: Model, several: tuple[EntityKeys, ...], at: int, *others: Condition) -> bool:
    """Whether an item can have the keys at a position, and fulfil other conditions."""
    earlier = (Not(_applies(model, each)) for each in several[:at])
    return is_satisfiable(model, All((_applies(model, several[at]), *earlier, *others)))


def _applies(model: Model, keys: EntityKeys) -> Condition:
    """The condition on a stored item that these keys apply to it."""
    parts = (Exists(Field((model.attributes[field].name,))) for field in keys.required_fields)
    return All((*parts, *(() if keys.when is None else (to_encoded(model, keys.when),))))


def _in_words(model: Model, keys: EntityKeys) -> str:
    """The condition under which keys apply, with the names in Python."""
    parts = [Exists(F[field]) for field in keys.required_fields if model.attributes[field].optional]
    every = (*(() if keys.when is None else (keys.when,)), *parts)
    return condition_text(every[0] if len(every) == 1 else All(every))
