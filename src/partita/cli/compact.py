"""`partita compact`: rewrites a database file without the bytes of what was deleted."""

import time
from pathlib import Path


def compact(file: Path, /) -> None:
    """Rewrite a database file, so that no byte of deleted items is left in it or in its log; it becomes smaller, too.

    First it drops what is due: expired items, and history behind its recovery window. The file may be in use: programs
    that write wait meanwhile, at most for half a minute, so stop them where the file is large. It needs as much free
    space as the file has, twice: beside the file, and where temporary files are (SQLITE_TMPDIR).

    Parameters
    ----------
    file
        The database file.
    """
    from partita.connect import connect
    from partita.errors import ConfigurationError
    from partita.storage.compacting import compact_file

    if not file.is_file():
        raise ConfigurationError(f"{file}: {'not a file' if file.exists() else 'no such file'}")
    if file.stat().st_size == 0:
        raise ConfigurationError(f"{file}: the file is empty; there is nothing to rewrite")
    begun = time.monotonic()
    with connect(file, maintain=False) as engine:
        while engine.maintenance.step():
            pass
    sizes = compact_file(str(file))
    took = time.monotonic() - begun
    print(f"{file}: {sizes.before / 1e6:,.1f} MB before, {sizes.after / 1e6:,.1f} MB now, in {took:.1f} s")
