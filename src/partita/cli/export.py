"""`partita export`: what other tools read: the data of a design, and templates of its infrastructure."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from partita.cli.options import Flag

if TYPE_CHECKING:
    from partita.design.tables import Table
    from partita.system import System

export = App(name="export", help="Write what other tools read: data, and templates of the infrastructure of a design.")

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
