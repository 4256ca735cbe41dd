"""Strategies for random designs: every form of key part, every kind of index, every invariant, and access patterns."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.designs import CounterSpec, DesignSpec, EntitySpec, FieldSpec, Link, UniqueSpec, ViewSpec
from tests.fuzz.forms import BY_NAME, KINDS, VECTOR, Form, Kind, Place
from tests.fuzz.keys import VECTOR_INDEX, IndexSpec, KeyAttribute, KeySpec, Segment, VectorIndexSpec
from tests.fuzz.source_text import literal

SEPARATORS = ["|", "/", "!", "+", "~", "_"]
CONSTANTS = ["A", "B", "AB", "A:", "META", "z", "0", "2025", "p"]
COMMON = [*KINDS, BY_NAME["text"], BY_NAME["text"], BY_NAME["time"], BY_NAME["time"]]
WITH_OLD_FORMS = [each for each in KINDS if each.old is not None]


def chance(draw: st.DrawFn, one_in: int) -> bool:
    """True in one of so many cases; failures shrink towards False."""
    return bool(draw(st.integers(1, one_in)) == one_in)


@dataclass
class _Draft:
    """An entity while it is drawn."""

    number: int
    fields: dict[str, FieldSpec]
    key: KeySpec
    moved: bool = False  # from an old key, if nothing is against it
    rest: dict[str, Any] = field(default_factory=dict)

    def finished(self) -> EntitySpec:
        return EntitySpec(self.number, self.fields, self.key, **self.rest)


def _template(
    draw: st.DrawFn, fields: dict[str, FieldSpec], *, least: int = 0, ends: bool | None = None
) -> tuple[Segment, ...]:
    """Some of the fields in some order and some form, between constants.

    It may end before the last one, if that is an optional field, or any field where `ends` is true.
    """
    names = [name for name, each in fields.items() if each.kind.forms]
    chosen = draw(st.lists(st.sampled_from(names), unique=True, min_size=least, max_size=2)) if names else []
    segments: list[Segment] = []
    for name in chosen:
        if draw(st.booleans()):
            segments.append(Segment(draw(st.sampled_from(CONSTANTS))))
        form = draw(st.sampled_from(fields[name].kind.forms))
        segments.append(Segment(draw(st.sampled_from(["", "", "", "v", "A:"])), name, form))
    if ends is not None and segments and (fields[chosen[-1]].optional or ends) and chance(draw, 3):
        last = segments[-1]
        return (*segments[:-1], replace(last, optional=len(segments) > 1))
    if not segments or chance(draw, 5):
        segments.append(Segment(draw(st.sampled_from(CONSTANTS))))
    return tuple(segments)


@st.composite
def _drafts(draw: st.DrawFn, number: int, shared: Kind, plain_table: bool) -> _Draft:
    fields = {"p": FieldSpec(shared)}
    moved = chance(draw, 3)
    for at in range(draw(st.integers(1, 3))):
        fields[f"f{at}"] = FieldSpec(draw(st.sampled_from(WITH_OLD_FORMS if moved else COMMON)))
    if plain_table:
        sort = draw(st.sampled_from([each for each in KINDS if each.plain is not None and each.name != "real"]))
        fields["f0"] = FieldSpec(sort)
        attributes = [KeyAttribute(name, None, name, fields[name].kind.plain) for name in ("p", "f0")]
        return _Draft(number, fields, KeySpec((attributes[0],), (attributes[1],)))
    constant = draw(st.sampled_from(["P", "P", "P", f"E{number}"]))
    partition = (Segment(constant), Segment("", "p", shared.forms[0]))
    rest = {name: each for name, each in fields.items() if name != "p"}
    if number == 0 and chance(draw, 2):  # such a parent can own others
        sort_template: tuple[Segment, ...] = (Segment(draw(st.sampled_from(CONSTANTS))),)
        moved = draw(st.booleans())
    else:
        sort_template = _template(draw, rest, least=draw(st.integers(0, 1)), ends=True)
    ends_with = sort_template[-1]
    if ends_with.optional and ends_with.field is not None:
        fields[ends_with.field] = replace(fields[ends_with.field], optional=True, default="None")
    key = KeySpec((KeyAttribute("PK", partition),), (KeyAttribute("SK", sort_template),))
    return _Draft(number, fields, key, moved)


def _vary_fields(draw: st.DrawFn, draft: _Draft) -> None:
    """Some attributes are optional, have defaults, or lie in the key alone."""
    for name, each in draft.fields.items():
        if name in draft.key.fields:
            forms = [form for attribute in draft.key.attributes for held, form in attribute.parts if held == name]
            templates = all(attribute.template is not None for attribute in draft.key.attributes)
            if templates and any(form.lossless for form in forms):
                draft.fields[name] = replace(each, in_key=chance(draw, 3))
        elif chance(draw, 3):
            draft.fields[name] = replace(each, optional=True, default="None")
        elif chance(draw, 4):
            start = draw(st.sampled_from(each.kind.values))
            draft.fields[name] = replace(each, default=literal(start), start=start)


def _indexes(draw: st.DrawFn, ttl: bool) -> tuple[IndexSpec, ...]:
    found = []
    for at in range(draw(st.integers(0, 3))):
        name = f"IX{at}"
        shape = draw(st.sampled_from(["templates", "templates", "hash", "local", "plain", "several"]))
        fields = st.sampled_from(["p", "f0", "f1", "f2", "n"])
        if shape == "local":
            sort = (draw(st.sampled_from([f"{name}SK", f"{name}SK", "f0", "n"])),)
            found.append(IndexSpec(name, ("PK",), sort, local=True))
        elif shape == "plain":
            more = draw(st.sampled_from([None, "f1", "n", "PK", "SK"]))
            found.append(IndexSpec(name, (draw(fields),), () if more is None else (more,)))
        elif shape == "several":
            pk = [draw(st.sampled_from([f"{name}PK{part}", f"f{part}"])) for part in range(draw(st.integers(1, 2)))]
            sk = [draw(st.sampled_from([f"{name}SK{part}", "n", "f1"])) for part in range(draw(st.integers(1, 3)))]
            sk = [each for each in sk if each not in pk] or [f"{name}SK0"]
            found.append(IndexSpec(name, tuple(dict.fromkeys(pk)), tuple(dict.fromkeys(sk))))
        else:
            found.append(IndexSpec(name, (f"{name}PK",), () if shape == "hash" else (f"{name}SK",)))
        if chance(draw, 6):
            some = "('n', 'ttl')" if ttl else "('n',)"
            found[-1] = replace(found[-1], project=draw(st.sampled_from(['"KEYS_ONLY"', some])))
    return tuple(found)


def _index_keys(draw: st.DrawFn, draft: _Draft, index: IndexSpec) -> KeySpec | None:
    """The entity's key in an index, or None where it has none of the attributes."""
    own = {each.name: each for each in draft.key.attributes}
    number = FieldSpec(BY_NAME["whole"])

    def attribute(name: str, partition: bool) -> KeyAttribute | None:
        if name in own:
            return own[name]
        if name.startswith("IX"):
            inner = _template(draw, draft.fields, least=1 if partition else 0, ends=None if partition else False)
            lead = (Segment(draw(st.sampled_from(["S", "T"]))),) if partition else ()
            return KeyAttribute(name, lead + inner)
        held = number if name == "n" else draft.fields.get(name)
        if held is None or held.kind.plain is None or held.hidden:
            return None
        return KeyAttribute(name, None, name, held.kind.plain)

    partition = [attribute(name, True) for name in index.pk]
    sort = [attribute(name, False) for name in index.sk]
    first = tuple(each for each in partition if each is not None)
    second = tuple(each for each in sort if each is not None)
    if len(first) < len(partition) or len(second) < len(sort):
        return None
    has_template = any(each.name.startswith("IX") for each in first + second)
    when = 0 if has_template and chance(draw, 4) else None
    return KeySpec(first, second, index.name, when, label=index.name.lower())


def _more_keys(draw: st.DrawFn, draft: _Draft, index: IndexSpec, keys: KeySpec) -> list[KeySpec]:
    """The keys of an entity in an index, perhaps with others where their condition is false."""
    if not any(each.name.startswith("IX") for each in keys.attributes) or not chance(draw, 6):
        return [keys]
    others = _index_keys(draw, draft, index)
    assert others is not None
    when = draw(st.sampled_from([None, 1]))
    return [replace(keys, when=0), replace(others, when=when, label=f"{keys.label}b")]


def _hide_in_index(draw: st.DrawFn, draft: _Draft) -> None:
    """Stores an attribute in the key of an index only."""
    taken = {draft.rest.get("expires"), *draft.key.fields}
    several = Counter(each.index for each in draft.rest["indexes"])
    found = [
        (segment.field, attribute.name)
        for keys in draft.rest["indexes"]
        if keys.when is None and several[keys.index] == 1
        if not any(draft.fields[name].optional for each in keys.attributes for name in each.required if name != "n")
        for attribute in keys.attributes
        if attribute.name.startswith("IX")
        for segment in attribute.template or ()
        if segment.field is not None and segment.field not in taken
        if segment.form is not None and segment.form.lossless
    ]
    free = [each for each in found if not draft.fields[each[0]].markers and not draft.fields[each[0]].hidden]
    if free and chance(draw, 2):
        name, attribute = draw(st.sampled_from(free))
        draft.fields[name] = replace(draft.fields[name], in_index=attribute)


def _uniques(draw: st.DrawFn, draft: _Draft) -> tuple[UniqueSpec, ...]:
    found: list[UniqueSpec] = []
    numbers = any(each.field and draft.fields[each.field].kind.name != "text" for each in draft.key.attributes)
    if numbers:  # guards are in tables with text keys
        return ()
    names = [name for name, each in draft.fields.items() if each.kind.name != "real"]
    for at in range(draw(st.sampled_from([0, 0, 0, 1, 1, 2]))):
        fields = tuple(draw(st.lists(st.sampled_from(names), unique=True, min_size=1, max_size=2)))
        texts = any(draft.fields[name].kind.name == "text" for name in fields)
        keep = chance(draw, 6) and draft.rest.get("expires") is None
        found.append(UniqueSpec(f"u{at}", fields, texts and chance(draw, 3), keep, chance(draw, 6)))
    return tuple(found)


def _link(draw: st.DrawFn, child: _Draft, parent: _Draft) -> Link | None:
    """Attributes of the child that name the parent; None where the parent's key has forms that they cannot."""
    parts: dict[str, str] = {}
    for name in parent.key.fields:
        kind = parent.fields[name].kind
        alike = child.fields.get(name)
        if alike is not None and alike.kind is kind and draw(st.booleans()):
            parts[name] = name
            continue
        link = f"r{parent.number}{name}"
        child.fields[link] = FieldSpec(kind, optional := chance(draw, 3), "None" if optional else None)
        parts[name] = link
    return Link(parent.number, parts) if parts else None


def _relate(draw: st.DrawFn, child: _Draft, parent: _Draft) -> None:
    """Counters of the parent, references of the child, and ownership."""
    if any(segment.optional for segment in parent.key.sort[0].template or ()):
        return
    link = _link(draw, child, parent)
    if link is None:
        return
    counters = list(parent.rest.get("counters", ()))
    if draw(st.booleans()):
        counters.append(CounterSpec(f"c{child.number}", child.number, link, sparse=chance(draw, 3)))
    summed = [name for name, each in child.fields.items() if each.kind.sums and not each.hidden]
    if summed and chance(draw, 2):
        amount = draw(st.sampled_from(["n", *summed]))
        whole = amount == "n" or child.fields[amount].kind.type.find("int") >= 0
        real = amount != "n" and child.fields[amount].kind.name == "real"
        kind = "int" if whole else "float" if real else "Decimal"
        sparse = chance(draw, 4)
        if not any(each.child == child.number and not each.sparse for each in counters):  # a sum is beside a count
            counters = [each for each in counters if each.child != child.number]
            counters.append(CounterSpec(f"c{child.number}", child.number, link, sparse=sparse))
        counters.append(CounterSpec(f"s{child.number}", child.number, link, amount, kind, sparse))
    if counters:
        parent.rest["counters"] = tuple(counters)
        counted = [each.name for each in counters if each.amount is None]
        if counted and chance(draw, 2):
            parent.rest["limits"] = ((counted[0], draw(st.sampled_from([2, "most"]))),)
    if chance(draw, 3):
        child.rest["references"] = (*child.rest.get("references", ()), link)
        name = next(iter(link.parts.values()))
        marker = f"References(lambda: E{parent.number}, via={link.parts})"
        child.fields[name] = replace(child.fields[name], markers=(marker,))
    alike = child.key.partition == parent.key.partition and parent.key.fields == ["p"]
    if alike and chance(draw, 2):
        parent.rest["owns"] = (*parent.rest.get("owns", ()), child.number)


def _decorate(draw: st.DrawFn, draft: _Draft) -> None:
    """Times, versions, transitions, limits and an expiry."""
    rest = draft.rest
    rest["version"], rest["times"], rest["steps"] = chance(draw, 4), chance(draw, 6), chance(draw, 6)
    if chance(draw, 6):
        rest["limits"] = (("n", draw(st.sampled_from([1, 2]))),)
    times = [name for name, each in draft.fields.items() if each.kind.name == "time" and not each.in_key]
    if times and chance(draw, 2):
        rest["expires"], rest["expires_when"] = draw(st.sampled_from(times)), chance(draw, 4)


def _old_key(draw: st.DrawFn, draft: _Draft) -> KeySpec | None:
    """The key in another form, as other code wrote it; of the partition, of the sort key, or of both."""
    (partition,), (sort,) = draft.key.partition, draft.key.sort
    if sort.template is None or partition.template is None or not draft.moved:
        return None
    first = sort if chance(draw, 2) else partition
    lists_parts = bool(sort.parts) and all(form.lossless for _, form in sort.parts)
    of_sort = lists_parts and (first is sort or chance(draw, 2))
    of_partition = first is partition or not of_sort
    found = [
        _old_template(draw, draft, each) if old else each for each, old in ((partition, of_partition), (sort, of_sort))
    ]
    return KeySpec((found[0],), (found[1],))


def _old_template(draw: st.DrawFn, draft: _Draft, attribute: KeyAttribute) -> KeyAttribute:
    segments = [Segment(f"OLD{draft.number}")] if draw(st.booleans()) else []
    for each in attribute.template or ():
        if each.field is None:
            segments.append(each)
            continue
        old = draft.fields[each.field].kind.old
        assert old is not None
        segments.append(Segment(each.constant, each.field, _old_form(old), each.optional))
    return KeyAttribute(attribute.name, tuple(segments))


def _old_form(old: Callable[[Any, Place], str]) -> Form:
    return Form("old", "plain", old)


@st.composite
def designs(draw: st.DrawFn) -> DesignSpec:
    """A design that may or may not be accepted."""
    plain_table = chance(draw, 12)
    shared = BY_NAME[draw(st.sampled_from(["text", "text", "uuid", "whole"]))]
    count = 1 if plain_table else draw(st.integers(1, 3))
    drafts = [draw(_drafts(number, shared, plain_table)) for number in range(count)]
    for each in drafts:
        _vary_fields(draw, each)
        _decorate(draw, each)
    related = draw(st.sampled_from([0, 1, 1])) if count > 1 else 0
    for child in drafts[1:] if related else ():
        parent = draw(st.sampled_from(drafts[: child.number]))
        for each in (child, parent):  # an expired item does not leave a counter
            each.rest["expires"] = None
        _relate(draw, child, parent)
    ttl = any(each.rest.get("expires") for each in drafts)
    indexes = list(_indexes(draw, ttl))
    names = ("p", "f0") if plain_table else ("PK", "SK")
    if plain_table:
        indexes = [each for each in indexes if not each.local and not {"PK", "SK"} & {*each.pk, *each.sk}]
    for draft in drafts:
        draft.rest["uniques"] = _uniques(draw, draft)
        draft.rest["old"] = None if plain_table else _old_key(draw, draft)
        found = [(index, _index_keys(draw, draft, index)) for index in indexes if chance(draw, 2)]
        keys = [_more_keys(draw, draft, index, keys) for index, keys in found if keys is not None]
        draft.rest["indexes"] = tuple(each for several in keys for each in several)
        _hide_in_index(draw, draft)
        for suffix in ("", "b"):
            if draft.rest["indexes"] and chance(draw, 2):
                _add_view(draw, draft, f"V{draft.number}{suffix}", indexes, ttl)
    typed = chance(draw, 4)
    vectors = None if plain_table or not chance(draw, 4) else _vectors(draw, drafts, typed)
    for draft in drafts:
        draft.rest["implied"] = _implied(draft, indexes, drafts)
    return DesignSpec(
        tuple(each.finished() for each in drafts),
        tuple(indexes),
        names,
        plain_table,
        typed=typed,
        separator=draw(st.sampled_from(SEPARATORS)) if chance(draw, 6) else "#",
        vectors=vectors,
    )


def _vectors(draw: st.DrawFn, drafts: list[_Draft], typed: bool) -> VectorIndexSpec:
    """A vector index, and the entities with vectors; those without keys in it may be in it all the same."""
    partition = draw(st.booleans())
    for draft in drafts:
        if draft.number and chance(draw, 3):
            continue
        draft.fields["vec"] = FieldSpec(VECTOR, optional=True, default="None")
        keys = KeySpec((), (), VECTOR_INDEX, label="by_meaning")
        if partition:
            lead = (Segment(draw(st.sampled_from(["S", "T"]))),)
            template = lead + _template(draw, draft.fields, least=draw(st.integers(0, 1)))
            when = 0 if chance(draw, 4) else None
            keys = replace(keys, partition=(KeyAttribute(f"{VECTOR_INDEX}PK", template),), when=when)
        if not chance(draw, 6):
            draft.rest["indexes"] = (*draft.rest["indexes"], keys)
    names = draw(st.lists(st.sampled_from(["n", "f0", "f1"]), unique=True, max_size=2))
    filters = (*names, *(["type"] if typed else []))
    return VectorIndexSpec(partition, filters, draw(st.sampled_from(["COSINE", "EUCLIDEAN", "DOT_PRODUCT"])))


def _implied(draft: _Draft, indexes: list[IndexSpec], drafts: list[_Draft]) -> frozenset[str]:
    """The attributes by which an item is in an index of plain attributes that its entity does not declare."""
    declared = {keys.index for each in drafts for keys in each.rest["indexes"]}
    stored = {name for name, each in draft.fields.items() if not each.hidden} | {"n", "PK", "SK"}
    found = [{*each.pk, *each.sk} for each in indexes if each.name in declared]
    return frozenset(name for names in found if names <= stored for name in names if name in draft.fields)


def _add_view(draw: st.DrawFn, draft: _Draft, name: str, indexes: list[IndexSpec], ttl: bool) -> None:
    """Some attributes as a view that one of the indexes projects; its keys read it."""
    fields = draw(st.lists(st.sampled_from(sorted(draft.fields)), unique=True, min_size=1))
    chosen = draw(st.sampled_from(draft.rest["indexes"]))
    if chosen.view or sum(each.index == chosen.index for each in draft.rest["indexes"]) > 1:
        return
    draft.rest["views"] = (*draft.rest.get("views", ()), ViewSpec(name, frozenset(fields)))
    draft.rest["indexes"] = tuple(
        replace(each, view=name) if each is chosen else each for each in draft.rest["indexes"]
    )
    at = next(at for at, each in enumerate(indexes) if each.name == chosen.index)
    if indexes[at].project == '"ALL"' and draw(st.booleans()):
        parts = [name, *(["'n'"] if draw(st.booleans()) else []), *(["'ttl'"] if ttl else [])]
        indexes[at] = replace(indexes[at], project=f"({', '.join(parts)},)")
