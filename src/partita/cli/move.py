"""`partita move`: the tables of a design to another backend, while programs write."""

import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from partita.cli.backup import opened
from partita.cli.options import Address, Flag
from partita.quantities import quantity

if TYPE_CHECKING:
    from partita.errors import TransferFailed
    from partita.recovery.moving import LateWrite, Pause
    from partita.store.store import Store

Seconds = Annotated[float, Parameter(validator=Number(gt=0, lte=3600))]
Command = Annotated[str | None, Parameter(metavar="COMMAND")]


def move(
    what: str,
    /,
    *,
    source: Annotated[Address, Parameter(name="--from")],
    to: Address | None = None,
    unfence: Flag = False,
    pause: Command = None,
    resume: Command = None,
    switch: Command = None,
    max_pause: Seconds = 1.0,
    watch: Annotated[float, Parameter(validator=Number(gte=0, lte=3600))] = 10.0,
) -> None:
    """Move the tables of a design to another place, while programs write: copy, follow the changes, compare, switch.

    At the switch writers of the source are paused, the last changes are copied and compared, and the command of
    --switch lets programs use the target. Items that differ are copied again, alone. Just before that command runs, a
    source that is a file begins to reject writes to these tables, in all processes, with an error that names the
    target. Nothing else of the source is changed. If this command is killed after that, repeat it: it only runs
    --switch.

    Parameters
    ----------
    what
        An installed system, or module or module:attribute of your own: shop.design.
    source
        Where the data is: a file, http://HOST:PORT (any DynamoDB endpoint) or dynamodb://REGION.
    to
        Where it goes. Its tables must not exist, or be empty.
    unfence
        Move nothing. Let programs write to the tables of the file of --from again, after a move that you take back.
    pause
        A command that returns once no program writes to the source. Not needed for a file: its lock is held, and
        programs wait.
    resume
        A command that lets programs go on with the source: where the switch is called off, or the command of --pause
        or --switch fails.
    switch
        A command that lets programs use the target; it runs while they are paused.
    max_pause
        Seconds after which a switch is called off, and tried again later.
    watch
        Seconds after the switch in which writes to a source that is not a file are looked for: of programs that still
        use it. They are an error, which names the items.
    """
    from partita.errors import ConfigurationError
    from partita.recovery import move as moved

    if unfence:
        _unfence(what, source)
        return
    if to is None:
        raise ConfigurationError("--to: name the place that the tables move to")
    if _is_same(source, to):
        raise ConfigurationError(f"--to: {to} is the place that the tables are in")
    if pause is None and "://" in source:
        raise ConfigurationError("--pause: name a command that stops the programs that write to the source")
    with opened(what, source, option="--from") as old, opened(what, to, creates=True) as new:
        if "://" not in source and _was_moved(old, to):
            _run(switch)
            print(f"the tables were moved to {to} before; the file rejects writes to them")
            return
        stop = _switch_after(switch) if "://" in source else _file_lock(old, to, switch)
        stop = stop if pause is None else _while_stopped(pause, resume, stop)
        quiet = 0.5 if source.startswith("dynamodb://") else 0.0
        begun = time.monotonic()
        watch = watch if "://" in source else 0.0  # a file is fenced
        done = moved(old, new, stop, max_pause=max_pause, quiet=quiet, watch=watch, progress=_printed_steps())
        for each in done.tables:
            changes = f"{quantity(each.changes, 'change')} followed, {quantity(each.repaired, 'item')} repaired"
            print(f"{each.name}: {quantity(each.items, 'item')} copied, {changes}; the content is the same")
        print(
            f"moved in {time.monotonic() - begun:.1f} s; writers were paused for {done.paused:.2f} s, "
            f"{done.last_changes:.2f} s of it for the last changes"
        )
        if done.late:
            raise _late_writes(done.late)


def _is_same(source: str, target: str) -> bool:
    if "://" in source or "://" in target:
        return source.rstrip("/") == target.rstrip("/")
    return Path(source).resolve() == Path(target).resolve()


def _late_writes(late: "list[LateWrite]") -> "TransferFailed":
    from partita.errors import TransferFailed, item_name

    plain = [(each.table, {name: next(iter(value.values())) for name, value in each.key.items()}) for each in late[:5]]
    names = ", ".join(item_name(table, key) for table, key in plain)
    more = f" and {len(late) - 5:,} more" if len(late) > 5 else ""
    return TransferFailed(
        "LateWrites",
        f"programs use the target, but one has written to the source after the switch, which the target lacks: "
        f"{names}{more}; stop that program, and repeat its writes",
    )


def _while_stopped(pause: str, resume: str | None, switch: "Pause") -> "Pause":
    """A switch while the command of --pause has stopped programs; after a failure that of --resume lets them go on."""

    @contextmanager
    def stop() -> Iterator[None]:
        try:
            _run(pause)
            with switch():
                yield
        except BaseException:
            _resume(resume)
            raise

    return stop


def _resume(command: str | None) -> None:
    """Lets programs go on with the source; where that is left to a person, or fails, standard error says so."""
    from partita.errors import TransferFailed

    failure = "there is no command of --resume"
    if command is not None:
        try:
            _run(command)
        except TransferFailed as error:
            failure = str(error)
        else:
            return
    print(f"the switch was called off, but {failure}: let programs go on with the source", file=sys.stderr, flush=True)


def _switch_after(switch: str | None) -> "Pause":
    @contextmanager
    def stop() -> Iterator[None]:
        yield
        _run(switch)

    return stop


def _file_lock(db: "Store", to: str, switch: str | None) -> "Pause":
    """The lock of a database file, which also writers in other processes wait for; then its tables reject writes.

    They reject them before the command runs: if this process is killed in between, no program writes to the file.
    """
    engine: Any = db.backend
    names = [db.table_name(table) for table in db.design.tables]

    @contextmanager
    def stop() -> Iterator[None]:
        with engine.paused_writes() as fence:
            yield
            fence.set(names, to)
        try:
            _run(switch)
        except BaseException:
            with engine.paused_writes() as fence:
                fence.set(names, None)
            raise

    return stop


def _was_moved(db: "Store", to: str) -> bool:
    """Whether the tables of a file were moved to a place before; another place is an error."""
    from partita.errors import ConfigurationError

    engine: Any = db.backend
    with engine.paused_writes() as fence:
        found = fence.targets(db.table_name(table) for table in db.design.tables)
    if found <= {None}:
        return False
    if not all(each is not None and _is_same(each, to) for each in found):
        known = ", ".join(sorted(str(each) for each in found if each is not None))
        raise ConfigurationError(f"--from: tables were moved to {known}; --unfence lets programs write to them again")
    return True


def _unfence(what: str, address: str) -> None:
    from partita.errors import ConfigurationError

    if "://" in address:
        raise ConfigurationError(f"--unfence: only the tables of a file are fenced; {address} is not a file")
    with opened(what, address, option="--from") as db:
        engine: Any = db.backend
        names = [db.table_name(table) for table in db.design.tables]
        with engine.paused_writes() as fence:
            changed = fence.set(names, None)
    print(f"{', '.join(changed)}: writes are accepted again" if changed else "no table was fenced")


def _run(command: str | None) -> None:
    from partita.errors import TransferFailed

    if command is None:
        return
    try:
        done = subprocess.run(shlex.split(command), check=False)
    except (OSError, ValueError) as error:
        raise TransferFailed("CommandFailed", f"{command}: {error}") from None
    if done.returncode != 0:
        raise TransferFailed("CommandFailed", f"{command}: ended with status {done.returncode}")


def _printed_steps() -> Any:
    """Prints each kind of step once, on standard error; on a terminal with the number of items."""
    last = [""]

    def show(step: str, items: int) -> None:
        if step != last[0]:
            print(f"{step} ...", file=sys.stderr, flush=True)
        last[0] = step

    return show
