"""The entry of the proof: `prove` loads a design and checks all of it.

Each check runs as early as it can. A class statement validates its own entity (`design.validate_model`) and a pattern
the types of its own parameters (`design.patterns`). `prove` checks everything that needs the whole design:

    references   counters, references and owners name entities and attributes that exist      references.py
    key sizes    no key is too long for every item                                            key_sizes.py
    tables       no two items can have the same key; key attributes have one type             tables.py
    patterns     each is one read of one range that holds nothing else                        patterns.py
    searches     or one search of a vector index that finds nothing else                      searches.py
    ownership    the children of a parent are one such range, and no other parent's           ownership.py

All of them compare languages of key texts (`design.key_languages`) over the keys that items really have
(`plan.stored_keys`).
"""

from partita.design.argument_checks import NAME
from partita.design.tables import Table
from partita.errors import DesignError
from partita.plan.design import Design
from partita.plan.proof.key_sizes import check_key_sizes
from partita.plan.proof.ownership import check_counters, read_of
from partita.plan.proof.patterns import prove_read
from partita.plan.proof.references import resolved
from partita.plan.proof.searches import prove_search
from partita.plan.proof.tables import prove_table


def prove(name: str, *tables: Table) -> Design:
    """The design of these tables, proven; a DesignError names the first declaration that fails and the way out."""
    _check_arguments(name, tables)
    design = resolved(name, tables)
    for table in tables:
        for model in table.models:
            check_key_sizes(model)
        prove_table(table)
    for pattern in design.patterns.values():
        if pattern.read.search is None:
            prove_read(pattern.read)
        else:
            prove_search(pattern.read)
    for parent, ownerships in design.ownerships.items():
        for ownership in ownerships:
            prove_read(read_of(parent, ownership))
        check_counters(design, parent)
    _check_pattern_names(tables)
    return design


def _check_arguments(name: object, tables: tuple[object, ...]) -> None:
    if not isinstance(name, str) or not NAME.fits(name):
        raise DesignError("prove", f"the name of a design cannot be {name!r}", 'write prove("shop", table)')
    if not tables:
        raise DesignError(name, "it has no tables", f'write prove("{name}", table)')
    for each in tables:
        if not isinstance(each, Table):
            raise DesignError(name, f"{each!r} is not a table", "pass the tables of the entities")
    names = [each.name for each in tables if isinstance(each, Table)]
    twice = next((each for each in names if names.count(each) > 1), None)
    if twice is not None:  # the keys of two tables are never compared
        wrong = f"two of its tables have the name {twice!r}, so their items would be in one table"
        raise DesignError(name, wrong, "declare the table once and import it, or rename one of the two")


def _check_pattern_names(tables: tuple[Table, ...]) -> None:
    names = [pattern.name for table in tables for pattern in table.patterns]
    for name in names:
        if names.count(name) > 1:
            raise DesignError(name, "two patterns have this name", "rename one of them")
