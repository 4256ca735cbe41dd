"""A design as a document: everything a team's own design document has, printed from the declaration.

Tables, indexes and projections, entities with their keys, attributes and an example, access patterns with the request
that serves them and what it costs, and what a write costs with its indexes.
"""

from math import ceil

from partita.describe.entity_page import EntityPages
from partita.describe.explain import explain_read
from partita.describe.markdown import code, codes, rows
from partita.design.models import Model
from partita.design.tables import Index, Table
from partita.dynamodb import limits
from partita.plan.design import Design


def page(design: Design, front: str, item_bytes: int = 1024) -> str:
    """The document in Markdown; `front` is what people wrote to stand before it."""
    parts = [front.rstrip(), *(_table(table) for table in design.tables)]
    parts += ["## Entities", *EntityPages().of(design.models)]
    parts += ["## Access patterns", _patterns(design, item_bytes), "## What a write costs", _writes(design, item_bytes)]
    return "\n\n".join(parts) + "\n"


# Tables


def _table(table: Table) -> str:
    facts = [f"## Table `{table.name}`", f"Primary key: {', '.join(map(code, table.key_names))}. On-demand capacity."]
    if table.ttl:
        facts.append(f"Time to live: `{table.ttl}`, seconds since 1970; what has expired is hidden from every read.")
    if table.stream:
        facts.append(f"Stream: `{table.stream}`.")
    if table.recovery_days:
        facts.append(f"Point-in-time recovery: {table.recovery_days} days.")
    if table.indexes:
        listed = [[code(each.name), codes(each.pk), codes(each.sk), _projection(each)] for each in table.indexes]
        facts.append(rows(["Index", "Partition key", "Sort key", "Holds"], listed))
    return "\n\n".join(facts)


def _projection(index: Index) -> str:
    if isinstance(index.project, str):
        return {"ALL": "whole items", "KEYS_ONLY": "keys only"}[index.project]
    return "keys and " + codes(index.project)


# Patterns and costs


def _patterns(design: Design, item_bytes: int) -> str:
    told = []
    for name, pattern in design.patterns.items():
        about = f"{pattern.__doc__.strip()}\n\n" if pattern.__doc__ else ""
        parameters = ", ".join(pattern.signature.parameters)
        told.append(f"### `{name}({parameters})`\n\n{about}```text\n{explain_read(pattern.read, item_bytes)}\n```")
    return "\n\n".join(told)


def _writes(design: Design, item_bytes: int) -> str:
    head = f"Write units to create an item of {item_bytes:,} bytes, its copies in indexes included, promises not."
    listed = [[model.name, *_units(model, item_bytes)] for model in design.models]
    return head + "\n\n" + rows(["Entity", "Table", "Indexes", "Sum"], listed)


def _units(model: Model, item_bytes: int) -> list[str]:
    own = ceil(item_bytes / limits.WRITE_UNIT_BYTES)
    copies = own * len(model.indexes)
    return [str(own), str(copies), str(own + copies)]
