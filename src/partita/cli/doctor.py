"""`partita doctor`: compares live data with its design."""

import sys

from partita.cli.evolve import opened_store, progress_line
from partita.cli.options import Address, Flag


def doctor(what: str, /, *, on: Address, repair: Flag = False, json: Flag = False) -> None:
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
        Repair index keys, TTLs, attributes, guards and counters. The rest is for people to decide about.
    json
        Print JSON.
    """
    import msgspec

    from partita.evolution.diagnosis import diagnose

    with opened_store(what, on, "doctor") as db, progress_line() as show:
        found = diagnose(db, repair=repair, progress=lambda items: show(f"{items:,} items read"))
    if json:
        print(msgspec.json.encode(found).decode())
    else:
        for kind, several in found.findings.items():
            print(f"{len(several):,} {kind}:")
            print("\n".join(f"  {each}" for each in several[:20]))
        print(f"{found.items:,} items: {'nothing is wrong' if found.is_healthy else f'{found.repaired:,} repaired'}")
    if not found.is_healthy:
        sys.exit(1)
