"""`partita prove` and `partita explain`: a design in words. Neither needs data, a server or REST."""

from collections.abc import Sized
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

if TYPE_CHECKING:
    from partita.plan.design import Design
    from partita.system import System


def prove(what: str, /) -> None:
    """Prove every access pattern of a design; report the first one that cannot be proven, with a suggested fix.

    Parameters
    ----------
    what
        An installed system, or module or module:attribute of your own, as Python imports it from here: shop.design.
    """
    from partita.cli.design_loader import load_system

    print(proof_summary(load_system(what, "design").design))


def explain(
    what: str,
    pattern: str | None = None,
    /,
    *,
    item_bytes: Annotated[int, Parameter(validator=Number(gte=1, lte=409_600))] = 1024,
) -> None:
    """Print the request of an access pattern, where it reads, what it costs and why it is correct.

    Parameters
    ----------
    what
        An installed system, or module or module:attribute of your own, as Python imports it from here: shop.design.
    pattern
        The name of the pattern. Without one, the whole design is printed as a Markdown page.
    item_bytes
        The size of an item, for the capacity units.
    """
    from partita.cli.design_loader import load_system

    system = load_system(what, "design")
    print(system_page(system) if pattern is None else explain_pattern(system.design, pattern, item_bytes))


def proof_summary(design: "Design") -> str:
    """A line for the design, and one for each pattern with its operation and the table or index that it reads."""
    entities, patterns = _count(design.models, "entity", "entities"), _count(design.patterns, "pattern", "patterns")
    lines = [f"{design.name}: {entities}, {patterns}, proven"]
    for name, pattern in design.patterns.items():
        index = pattern.read.sources[0].keys.index
        place = index or pattern.read.sources[0].model.table.name
        lines.append(f"  {name:<32} {pattern.read.operation:<8} {place}")
    return "\n".join(lines)


def _count(found: Sized, one: str, several: str) -> str:
    return f"{len(found)} {one if len(found) == 1 else several}"


def explain_pattern(design: "Design", name: str, item_bytes: int = 1024) -> str:
    """The explanation of one pattern."""
    from partita.describe.explain import explain_read
    from partita.errors import DesignError

    pattern = design.patterns.get(name)
    if pattern is None:
        raise DesignError(design.name, f"has no pattern {name!r}", f"its patterns are {', '.join(design.patterns)}")
    return explain_read(pattern.read, item_bytes)


def system_page(system: "System") -> str:
    """The page of a system in Markdown: its own text, its design, and its operations over HTTP."""
    from partita.describe.design_page import page

    text = page(system.design, system.page)
    if not system.has_api:
        return text
    root = f"/api/{system.api.name}"
    rows = [
        f"| {route.method} | `{root}{route.sent_path}` | {route.about.splitlines()[0]} | {route.allowed_for} |"
        for route in system.api.routes
    ]
    intro = f"`partita serve {system.name}` serves these; `{root}/docs` describes their parameters and replies."
    head = ["| | | | For |", "| --- | --- | --- | --- |"]
    return text + "\n".join(["", "## Over HTTP", "", intro, "", *head, *rows]) + "\n"
