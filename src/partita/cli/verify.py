"""`partita verify`: checks a database file for consistency."""

import sys
from pathlib import Path


def verify(file: Path, /) -> None:
    """Check a database file for consistency: every index against its table, every size and total. Changes nothing.

    Parameters
    ----------
    file
        The database file; it may be in use.
    """
    import apsw

    from partita.engine.verify import find_problems
    from partita.errors import ConfigurationError
    from partita.storage.sqlite import SqliteStorage

    if not file.is_file():
        raise ConfigurationError(f"{file}: {'not a file' if file.exists() else 'no such file'}")
    if file.stat().st_size == 0:
        raise ConfigurationError(f"{file}: the file is empty; there is nothing to verify")
    storage = SqliteStorage(str(file))
    try:
        found = list(find_problems(storage))
    except apsw.Error as error:
        found = [f"{file}: damaged: {error}"]
    finally:
        storage.close()
    print("\n".join(found) if found else f"{file}: every index agrees with its table, every total is exact")
    if found:
        sys.exit(1)
