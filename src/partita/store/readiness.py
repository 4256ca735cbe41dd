"""What cannot be used yet, because `partita apply` has not finished it: reads of it raise NotReady.

An index that is being filled would give a part of its items, an entity whose key changes would not be found, nor one by
a unique value of which guards are missing. A counter that is being counted is AUTO, as everything that the store sets
and does not know yet; nothing is decided by it: no condition, and no deletion that requires it to be zero.

Programs of the earlier design read what new ones write. So nothing is written of which they would get wrong answers: an
entity whose keys in an index change, or that a counter counts by another rule, while they may work.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from partita.design.conditions import Condition
from partita.design.markers import AUTO
from partita.design.models import Model
from partita.errors import NotReady
from partita.plan.design import Counter, Design
from partita.plan.design_differences import FactDifference, lacks
from partita.plan.fingerprint import Facts, keys_text, table_facts
from partita.plan.read_requests import Plan

WRITES = "writes"


def unready_parts(design: Design, recorded: Mapping[str, Facts], *, is_shared: bool) -> dict[Any, str]:
    """The entities, indexes and counters that data of the recorded design, by table, does not have yet.

    `is_shared`: programs of the earlier design may work; they do not find what would be written under a new key.
    """
    found: dict[Any, str] = {}
    for table in design.tables:
        facts = recorded.get(table.name)
        if facts is None:
            continue
        models = {model.name: model for model in table.models}
        for lack in lacks(facts, table_facts(design, table)):
            part = _part(table.name, models, lack, is_shared=is_shared)
            if part is not None:
                found.setdefault(part, str(lack))
            for name in written_otherwise(design, lack) if is_shared else ():
                found.setdefault((name, WRITES), str(lack))
    return found


def written_otherwise(design: Design, difference: FactDifference) -> set[str]:
    """The entities of which a program of the earlier design would misread what is written with this one."""
    entity, _, rest = difference.fact.partition(" ")
    if difference.old is None or difference.new is None:
        return set()
    if rest.startswith(("in ", "unique ")):
        return {entity}
    if rest.startswith("counts "):
        attribute = rest.removeprefix("counts ")
        several = design.counters.items()
        return {child.name for child, counters in several if any(_is(each, entity, attribute) for each in counters)}
    return set()


def _is(counter: Counter, parent: str, attribute: str) -> bool:
    return (counter.parent.name, counter.attribute.name) == (parent, attribute)


def attributes_not_stored_yet(design: Design, recorded: Mapping[str, Facts]) -> dict[str, frozenset[str]]:
    """By entity, the attributes that are stored in their earlier form alone, while earlier programs may work.

    These would change or remove that form, and leave the new one as it is.
    """
    found: dict[str, frozenset[str]] = {}
    for table in design.tables:
        facts = recorded.get(table.name, {})
        for model in table.models:
            several = (each for each in model.migrations if not each.prefers_new)
            names = frozenset(
                each.new.name for each in several if f"{model.name} converts {each.new.name}" not in facts
            )
            if names and facts:
                found[model.name] = names
    return found


def _part(table: str, models: Mapping[str, Model], lack: FactDifference, *, is_shared: bool) -> Any:
    """What a difference makes unusable: an entity, (table, index), (entity, counter), or None."""
    subject, _, rest = lack.fact.partition(" ")
    if subject == "index":
        return table, rest
    if rest.startswith("in "):
        return table, rest.removeprefix("in ")
    if rest.startswith("counts "):
        return subject, rest.removeprefix("counts ")
    model = models.get(subject.partition(".")[0])
    if rest.startswith("unique "):
        return subject, rest
    if model is None or rest == "expires" or rest.startswith("converts "):
        return None
    if rest == "key" and not is_shared and (lack.old is None or lack.old in map(keys_text, model.old_keys)):
        return None  # it is found under its old key too
    return model.name


def check_readable(design: Design | None, plan: Plan) -> None:
    """A NotReady where the plan reads something that is not ready."""
    if design is None or not design.data.unready:
        return
    places: Iterator[Any] = iter([(plan.table, plan.index), *(model.name for model in plan.models)])
    for place in places:
        _check(design, place)
    for model in plan.models:
        _check_condition(design, model, plan.read.where)


def check_scannable(design: Design | None, model: Model, where: Condition | None) -> None:
    """A NotReady where items of the entity cannot be read yet, or the condition compares what is not known."""
    if design is not None and design.data.unready:
        _check(design, model.name)
        _check_condition(design, model, where)


def check_writable(design: Design, model: Model, when: Condition | None = None) -> None:
    """A NotReady where items of the entity cannot be written yet, or the condition compares what is not known."""
    if design.data.unready:
        _check(design, model.name)
        _check(design, (model.name, WRITES))
        _check_condition(design, model, when)


def check_unique(design: Design, model: Model, name: str) -> None:
    """A NotReady where items do not have the guards of a unique value yet."""
    if design.data.unready:
        _check(design, (model.name, f"unique {name}"))


def check_counted(design: Design, counters: Iterable[Counter]) -> None:
    """A NotReady where one of the counters is not known yet."""
    for each in counters if design.data.unready else ():
        _check(design, (each.parent.name, each.attribute.name))


def _check_condition(design: Design, model: Model, condition: Condition | None) -> None:
    for field in () if condition is None else condition.fields:
        _check(design, (model.name, model.attributes[field].name))


def _check(design: Design, place: Any) -> None:
    reason = design.data.unready.get(place)
    if reason is not None:
        raise NotReady(place if isinstance(place, str) else f"{place[0]}.{place[1].removeprefix('unique ')}", reason)


def without_unready_counters(design: Design | None, models: tuple[Model, ...], entity: Any) -> Any:
    """The entity with AUTO in place of the counters that are not ready."""
    if design is None or not design.data.unready or entity is None:
        return entity
    for model in models:
        for attribute, _ in model.counters:
            if (model.name, attribute.name) in design.data.unready and hasattr(entity, attribute.field):
                setattr(entity, attribute.field, AUTO)
    return entity
