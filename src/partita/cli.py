"""The command `partita`."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter
from cyclopts.validators import Number

from partita.errors import PartitaError

app = App(name="partita", help="Write a DynamoDB design down once, in Python, and it runs.")


@app.command
def engine(
    *,
    memory: bool = False,
    data: Path | None = None,
    host: str = "127.0.0.1",
    port: Annotated[int, Parameter(validator=Number(gte=0, lte=65535))] = 8000,
    durability: Literal["power", "process"] = "power",
    public: bool = False,
) -> None:
    """Serve DynamoDB's own protocol from this machine, for any AWS SDK or tool.

    Parameters
    ----------
    memory
        Keep everything in memory; it is gone when the command ends. The default when no file is given.
    data
        Keep everything in this file. Several processes may use it at once.
    host
        The address to listen on. Anything but loopback needs --public.
    port
        The port to listen on.
    durability
        What an acknowledged write survives: loss of power, or the end of the process (faster).
    public
        Allow an address that others can reach. Requests are not authenticated.
    """
    from partita.connect import open_engine
    from partita.engine.asynchronous import AsyncEngine
    from partita.errors import ConfigurationError
    from partita.server.serve import check_address, serve

    if memory and data is not None:
        raise ConfigurationError("--memory and --data: choose one")
    check_address(host, public)
    backend = open_engine(str(data) if data is not None else "memory:", durability=durability)
    where = "memory (gone when this ends)" if data is None else f"{data} (survives {durability} loss)"
    address = f"http://{host}:{port}"
    print(f"partita: DynamoDB at {address}, data in {where}", flush=True)
    print(f"try:     aws dynamodb list-tables --endpoint-url {address} --region us-east-1", flush=True)
    serve(lambda: AsyncEngine(backend), host, port)


def main() -> None:
    """Runs the command; what Partita refuses is one line on standard error."""
    try:
        app()
    except PartitaError as error:
        print(f"partita: {error}", file=sys.stderr)
        sys.exit(2)
