"""`partita export`: what other tools read: the data of a design, and templates of its infrastructure."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from partita.cli.options import Flag

if TYPE_CHECKING:
    from partita.design.tables import Table
    from partita.system import System

export = App(name="export", help="Write what other tools read: data, and templates of the infrastructure of a design.")

Names = Annotated[list[str], Parameter(consume_multiple=True, negative=())]
What = Annotated[str, Parameter(help="An installed system, or module or module:attribute of your own: shop.design.")]


@export.command
def cloudformation(what: What, /, *, no_alarms: Flag = False) -> None:
    """Print a CloudFormation template: tables with indexes, TTL, stream and recovery, and alarms.

    Parameters
    ----------
    no_alarms
        Leave out the alarms.
    """
    import msgspec

    from partita.cli.design_loader import load_system
    from partita.infrastructure.cloudformation import template

    system = load_system(what, "design")
    made = template(f"The tables of {system.name}", tables_of(system), with_alarms=not no_alarms)
    print(msgspec.json.format(msgspec.json.encode(made), indent=2).decode())


@export.command
def terraform(what: What, /, *, no_alarms: Flag = False) -> None:
    """Print a Terraform configuration: tables with indexes, TTL, stream and recovery, and alarms.

    Parameters
    ----------
    no_alarms
        Leave out the alarms.
    """
    from partita.cli.design_loader import load_system
    from partita.infrastructure.terraform import configuration

    print(configuration(tables_of(load_system(what, "design")), with_alarms=not no_alarms))


@export.command
def iam(
    what: What,
    /,
    *,
    pattern: Names | None = None,
    write: Names | None = None,
    region: str = "*",
    account: str = "*",
) -> None:
    """Print an IAM policy with the least permissions for patterns and writes of a design; for all of them by default.

    Parameters
    ----------
    pattern
        The names of access patterns, separated by spaces.
    write
        Entities that are written, such as Order, or single writes: Order.create, Order.put, Order.change, Order.delete.
    region
        The region of the tables.
    account
        The account of the tables.
    """
    import msgspec

    from partita.cli.design_loader import load_system
    from partita.infrastructure.iam import policy_of

    system = load_system(what, "design")
    if pattern is not None or write is not None:
        pattern, write = pattern or [], write or []
    state = [each for each in tables_of(system) if each not in system.design.tables]
    policy = policy_of(system.design, pattern, write, state, region=region, account=account)
    print(msgspec.json.format(msgspec.json.encode(policy), indent=2).decode())


def tables_of(system: "System") -> "list[Table]":
    """The tables of a system: those of its design, and those in which Partita keeps its own state."""
    from partita.store import design_records

    tables = [*system.design.tables, design_records.table]
    if system.consumers:
        from partita.consumers import state

        tables.append(state.table)
    if system.jobs is not None:
        from partita.jobs import job_records

        tables.append(job_records.table)
    if system.has_api:
        from partita.rest import request_records

        tables.append(request_records.table)
    return tables
