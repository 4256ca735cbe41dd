"""Items that programs of the earlier design read and those of the new one could not.

They are under an earlier key that is not among the entity's `old_keys`, in a table that the entity has left, or have
attributes in a form that nothing converts, or values for which the key of an index or guard has no room. A design
with such items is not applied: its programs would work as if the items did not exist.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from partita.evolution.pages import PageItem
from partita.evolution.targets import Target
from partita.plan.design_differences import MovedEntity, entities_in, fact_differences, lacks
from partita.plan.fingerprint import keys_text, separators_in
from partita.quantities import quantity

_PARTS = re.compile(r"\{[^{}]*\}")
_FORMS = re.compile(r" \([^()]*: .*\)$")


class _EarlierKey(msgspec.Struct, frozen=True):
    """The earlier key of an entity, as the facts say it, and the constants in the text of each of its attributes.

    `reason` says of the items of a table under such a key what they are and what to do.
    """

    table: str
    attributes: tuple[tuple[str, list[str]], ...]
    reason: str

    def matches(self, each: PageItem) -> bool:
        if each.table.name != self.table:
            return False
        texts = {name: str(next(iter(value.values()))) for name, value in each.key.items()}
        return texts.keys() == dict(self.attributes).keys() and all(
            has_constants(texts[name], constants) for name, constants in self.attributes
        )


class UnreachableItems:
    """Finds them among the items of a design's tables, and counts them by reason."""

    def __init__(self, target: Target) -> None:
        self._keys = list(_earlier_keys(target))
        self._entities = set(_entities_with_other_attributes(target))
        self._with_more_keys = set(_entities_with_more_keys(target))
        self._found: dict[str, float] = {}

    @property
    def are_possible(self) -> bool:
        """Whether all items may be such, so that they are worth a pass before programs are locked out."""
        return bool(self._keys or self._entities)

    def add(self, items: Sequence[PageItem]) -> None:
        """Counts those among some items."""
        for each in items if self.are_possible or self._with_more_keys else ():
            reason = self._reason(each)
            if reason is not None:
                self._found[reason] = self._found.get(reason, 0) + 1

    def sentences(self, factor: float = 1.0) -> list[str]:
        """What they are and what to write; `factor` is how many items one of a sample stands for."""
        return [f"{quantity(round(count * factor), 'item')} {reason}" for reason, count in sorted(self._found.items())]

    def _reason(self, each: PageItem) -> str | None:
        if each.is_guard or each.is_expired:
            return None
        if each.model is None:
            return next((key.reason for key in self._keys if key.matches(each)), None)
        if not each.fits and each.model.name in self._with_more_keys:
            return (
                f"of {each.model.name} with a value that does not fit ({each.error}): change it with a program of the "
                "earlier design, give its part of the key more room, or leave such items out with when="
            )
        if each.error and each.model.name in self._entities:
            return (
                f"of {each.model.name} cannot be read any more ({each.error}): give the attribute a default, "
                "or convert it with Was"
            )
        return None


def _earlier_keys(target: Target) -> Iterator[_EarlierKey]:
    """The keys of entities that have another one now, under which they are not looked up."""
    models = {model.name: model for model in target.design.models}
    tables = {actual: declared for declared, actual in target.names.items()}
    for moved in target.moved_entities:
        key = target.records[moved.old_table].facts[f"{moved.entity} key"]
        yield _EarlierKey(tables[moved.old_table], tuple(_constants(key)), _words_of_move(moved))
    for name, record in target.records.items():
        for each in fact_differences(record.facts, target.facts[name]):
            entity, _, rest = each.fact.partition(" ")
            if rest != "key" or each.old is None or each.new is None or entity not in models:
                continue
            if each.old not in map(keys_text, models[entity].old_keys):
                words = _words_of_key(entity, each.old, each.new)
                yield _EarlierKey(tables[name], tuple(_constants(each.old)), words)


def _words_of_move(moved: MovedEntity) -> str:
    return (
        f"of {moved.entity} in table {moved.old_table}, and the design has it in table {moved.table}: copy and "
        'delete them with a release that has an entity of another name there, as in "Split a table" of the guide'
    )


def _words_of_key(entity: str, old: str, new: str) -> str:
    plain = ", with :plain parts for its separator" if separators_in(old) != separators_in(new) else ""
    return f"under the earlier key of {entity}, {old}: name it in old_keys{plain}, so that they are moved"


def _constants(key: str) -> Iterator[tuple[str, list[str]]]:
    for part in key.split(" | "):
        name, equals, source = part.partition(" = ")
        if equals:
            yield name, _PARTS.split(_FORMS.sub("", source))
        else:
            yield name.removesuffix(" as it is"), ["", ""]


def has_constants(text: str, constants: Sequence[str]) -> bool:
    """Whether a text begins with the first constant, ends with the last, and has the others between, in their order."""
    first, *between = constants
    if not between:
        return text == first
    last = between.pop()
    if not (text.startswith(first) and text.endswith(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for each in between:
        found = text.find(each, at, max(at, end))
        if found < 0:
            return False
        at = found + len(each)
    return at <= end


def _entities_with_other_attributes(target: Target) -> Iterator[str]:
    """The entities that were stored before and have an attribute that is stored otherwise, or must be there now."""
    for name, record in target.records.items():
        before = entities_in(record.facts)
        for each in lacks(record.facts, target.facts[name]):
            subject, _, rest = each.fact.partition(" ")
            entity = subject.partition(".")[0]
            if entity in before and rest in ("", "key"):
                yield entity


def _entities_with_more_keys(target: Target) -> Iterator[str]:
    """The entities that get another key in an index, or another unique value, whose guard has it in its key."""
    for name, record in target.records.items():
        for each in fact_differences(record.facts, target.facts[name]):
            entity, _, rest = each.fact.partition(" ")
            if rest.startswith(("in ", "unique ")) and each.new is not None:
                yield entity
