"""The command `partita`: its commands, and errors as one line on standard error."""

import sys

from cyclopts import App

from partita.cli.adopt import adopt
from partita.cli.consumers import consumers
from partita.cli.design import explain, prove
from partita.cli.engine import engine
from partita.cli.jobs import jobs
from partita.cli.seed import seed
from partita.cli.serve import serve
from partita.cli.token import token
from partita.cli.verify import verify
from partita.cli.work import work
from partita.errors import PartitaError

app = App(name="partita", help="Declare a DynamoDB design once, in Python; prove it, run it, serve it.")
for command in (engine, serve, work, consumers, jobs, seed, token, adopt, prove, explain, verify):
    app.command(command)


def main() -> None:
    """Runs the command; an error that Partita raises is one line on standard error and status 2."""
    try:
        app()
    except PartitaError as error:
        print(f"partita: {error}", file=sys.stderr)
        sys.exit(2)
