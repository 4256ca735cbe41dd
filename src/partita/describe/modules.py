"""A design by the name of its module: what `partita prove MODULE` and `partita explain MODULE PATTERN` print."""

from collections.abc import Sized
from importlib import import_module

from partita.describe.explain import explain_read
from partita.design.tables import Table
from partita.errors import DesignError
from partita.plan.design import Design
from partita.plan.proof.patterns import prove


def design_in(module: str) -> Design:
    """The design that a module proves, or else its tables, proven here; importing the module is half of the proof."""
    imported = import_module(module)
    found = vars(imported).values()
    designs = [each for each in found if isinstance(each, Design)]
    if len(designs) > 1:
        meant = getattr(imported, "design", None)
        if not isinstance(meant, Design):
            raise DesignError(module, f"holds {len(designs)} designs", "call the one that is meant `design`")
        return meant
    if designs:
        return designs[0]
    tables = [each for each in found if isinstance(each, Table)]
    if not tables:
        raise DesignError(module, "holds neither a design nor a table", 'end it with design = prove("name", table)')
    return prove(module.rpartition(".")[2], *tables)


def proof_summary(design: Design) -> str:
    """One line a pattern: what it is, where it reads, that it is proven."""
    entities, patterns = _count(design.models, "entity", "entities"), _count(design.patterns, "pattern", "patterns")
    lines = [f"{design.name}: {entities}, {patterns}, proven"]
    for name, pattern in design.patterns.items():
        index = pattern.read.sources[0].keys.index
        place = index or pattern.read.sources[0].model.table.name
        lines.append(f"  {name:<32} {'GetItem' if pattern.read.single else 'Query':<8} {place}")
    return "\n".join(lines)


def _count(found: Sized, one: str, several: str) -> str:
    return f"{len(found)} {one if len(found) == 1 else several}"


def explain_pattern(design: Design, name: str, item_bytes: int = 1024) -> str:
    """The explanation of one pattern."""
    pattern = design.patterns.get(name)
    if pattern is None:
        raise DesignError(design.name, f"has no pattern {name!r}", f"its patterns are {', '.join(design.patterns)}")
    return explain_read(pattern.read, item_bytes)
