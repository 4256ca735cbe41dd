"""`partita doctor`: compares live data with its design."""

import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from partita.cli.evolve import opened_store, progress_line
from partita.cli.options import Address, Flag
from partita.quantities import quantity

if TYPE_CHECKING:
    from partita.evolution.diagnosis import Diagnosis

Rate = Annotated[float | None, Parameter(validator=Number(gte=0.1))]


def doctor(what: str, /, *, on: Address, repair: Flag = False, rate: Rate = None, json: Flag = False) -> None:
    """Compare every stored item with its design: index keys, counters, guards, items that nothing explains.

    Programs may work meanwhile: an item is reported if it is wrong when it is read twice. The exit status is 0 if
    nothing is wrong, 1 if something is, 2 after an error.

    Parameters
    ----------
    what
        An installed system, or module or module:attribute of your own: shop.design.
    on
        Where the data is: a file, http://HOST:PORT (any DynamoDB endpoint) or dynamodb://REGION.
    repair
        Repair index keys, TTLs, attributes, guards and counters, and delete items that expired more than two days ago.
        The rest is for people to decide about. The data must have this design: see `partita plan`.
    rate
        The most items to read in a second; without it, as many as possible.
    json
        Print JSON.
    """
    import msgspec

    from partita.evolution.diagnosis import diagnose

    with opened_store(what, on, "doctor") as db, progress_line() as show:
        found = diagnose(
            db, repair=repair, progress=lambda items: show(f"{quantity(items, 'item')} read"), items_per_second=rate
        )
    if json:
        print(msgspec.json.encode(found).decode())
    else:
        for kind, several in found.findings.items():
            print(f"{kind} ({len(several):,}):")
            print("\n".join(f"  {each}" for each in several[:20]))
        print(f"{quantity(found.items, 'item')}: {_result(found, repair=repair)}")
    if not found.is_healthy:
        sys.exit(1)


def _result(found: "Diagnosis", *, repair: bool) -> str:
    if found.is_healthy:
        return "nothing is wrong"
    if repair:
        return f"{found.repaired:,} repaired"
    if "design" in found.findings:
        return "nothing was changed; see partita plan"
    return "nothing was changed; --repair repairs what needs no decision"
