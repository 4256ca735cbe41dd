"""A design as a document in Markdown: tables and indexes, entities, access patterns and costs.

An entity has its keys, its attributes and an example; a pattern its key range, its cost and its proof.
"""

from math import ceil

from partita.describe.entity_page import EntityPages
from partita.describe.explain import explain_read
from partita.describe.markdown import code, codes, rows
from partita.design.models import Model
from partita.design.tables import Index, Table, VectorIndex
from partita.dynamodb import limits
from partita.plan.design import Design
from partita.plan.proof.tables import vector_dimensions


def page(design: Design, front: str, item_bytes: int = 1024) -> str:
    """The document in Markdown; `front` is the text in front of the generated part."""
    parts = [front.rstrip(), *(_table(table) for table in design.tables)]
    parts += ["## Entities", *EntityPages().of(design.models)]
    parts += ["## Access patterns", _patterns(design, item_bytes), "## Write costs", _writes(design, item_bytes)]
    return "\n\n".join(parts) + "\n"


# Tables


def _table(table: Table) -> str:
    facts = [f"## Table `{table.name}`", f"Primary key: {', '.join(map(code, table.key_names))}. On-demand capacity."]
    if table.ttl:
        facts.append(f"TTL attribute: `{table.ttl}`, in seconds since 1970; reads leave expired items out.")
    if table.stream:
        facts.append(f"Stream: `{table.stream}`.")
    if table.recovery_days:
        facts.append(f"Point-in-time recovery: {table.recovery_days} days.")
    if table.indexes:
        listed = [[code(each.name), codes(each.pk), codes(each.sk), _projection(each)] for each in table.indexes]
        facts.append(rows(["Index", "Partition key", "Sort key", "Projection"], listed))
    if table.vector_indexes:
        listed = [[code(each.name), *_vectors(table, each), _projection(each)] for each in table.vector_indexes]
        facts.append(rows(["Vector index", "Vector", "Distance", "Partition key", "Filters", "Projection"], listed))
    return "\n\n".join(facts)


def _vectors(table: Table, index: VectorIndex) -> list[str]:
    vector = f"{code(index.vector)}, {vector_dimensions(table, index)} dimensions"
    return [vector, index.distance, codes(index.pk), codes(index.filters)]


def _projection(index: Index) -> str:
    if isinstance(index.project, str):
        return {"ALL": "all attributes", "KEYS_ONLY": "keys only"}[index.project]
    return "keys and " + codes(index.project)


# Patterns and costs


def _patterns(design: Design, item_bytes: int) -> str:
    sections = []
    for name, pattern in design.patterns.items():
        about = f"{pattern.__doc__.strip()}\n\n" if pattern.__doc__ else ""
        parameters = ", ".join(pattern.signature.parameters)
        sections.append(f"### `{name}({parameters})`\n\n{about}```text\n{explain_read(pattern.read, item_bytes)}\n```")
    return "\n\n".join(sections)


def _writes(design: Design, item_bytes: int) -> str:
    head = f"Write units to create an item of {item_bytes:,} bytes, without guards, counters and referenced items."
    listed = [[model.name, *_units(model, item_bytes)] for model in design.models]
    return head + "\n\n" + rows(["Entity", "Table", "Indexes", "Total"], listed)


def _units(model: Model, item_bytes: int) -> list[str]:
    own = ceil(item_bytes / limits.WRITE_UNIT_BYTES)
    vectors = {each.name for each in model.table.vector_indexes}  # billed by the byte
    copies = own * len(model.indexes.keys() - vectors)
    return [str(own), str(copies), str(own + copies)]
