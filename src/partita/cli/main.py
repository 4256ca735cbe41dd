"""The command `partita`: its commands, and errors as one line on standard error."""

import os
import sys
from collections.abc import Sequence

from cyclopts import App

from partita.cli.adopt import adopt
from partita.cli.backup import backup
from partita.cli.compact import compact
from partita.cli.consumers import consumers
from partita.cli.data_commands import import_command
from partita.cli.design import explain, prove
from partita.cli.doctor import doctor
from partita.cli.embeddings import embeddings
from partita.cli.engine import engine
from partita.cli.evolve import apply, plan
from partita.cli.export import export
from partita.cli.jobs import jobs
from partita.cli.move import move
from partita.cli.restore import restore
from partita.cli.search import search
from partita.cli.seed import seed
from partita.cli.serve import serve
from partita.cli.studio import studio
from partita.cli.token import token
from partita.cli.verify import verify
from partita.cli.work import work
from partita.errors import PartitaError

app = App(
    name="partita",
    help="Declare a DynamoDB design once, in Python; prove it, run it, serve it.",
    suppress_keyboard_interrupt=False,
)
for command in (
    engine,
    serve,
    studio,
    work,
    consumers,
    jobs,
    search,
    embeddings,
    seed,
    token,
    plan,
    apply,
    doctor,
    export,
    import_command,
    adopt,
    prove,
    explain,
    verify,
    compact,
    backup,
    restore,
    move,
):
    app.command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a command: that of the process, or of the arguments; an error of Partita is one line and status 2."""
    try:
        try:
            app(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # `| head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still in the buffer
        sys.exit(1)
    except KeyboardInterrupt as interrupt:
        print(f"\npartita: interrupted{interrupt}", file=sys.stderr)
        sys.exit(130)
    except PartitaError as error:
        lacks = getattr(error, "code", None) == "UnknownOperationException"  # as DynamoDB Local of backups
        advice = " The endpoint does not have an operation that this command needs." if lacks else ""
        print(f"partita: {error}{advice}", file=sys.stderr)
        sys.exit(2)
