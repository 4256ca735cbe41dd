"""`partita verify`: checks a database file for consistency, and repairs its indexes."""

import sys
from pathlib import Path


def verify(file: Path, /, *, repair: bool = False) -> None:
    """Check a database file for consistency: every checksum and size, every index against its table, every total.

    It changes nothing, and the file may be read-only. With --repair, indexes and totals that disagree are built again.

    Parameters
    ----------
    file
        The database file; it may be in use.
    repair
        Build the indexes, the order of expiry and the totals again from the items. Damaged items stay as they are.
    """
    from partita.errors import ConfigurationError

    if not file.is_file():
        raise ConfigurationError(f"{file}: {'not a file' if file.exists() else 'no such file'}")
    if file.stat().st_size == 0:
        raise ConfigurationError(f"{file}: the file is empty; there is nothing to verify")
    if repair:
        _repair(file)
    found = _problems(file)
    print("\n".join(found) if found else f"{file}: every index agrees with its table, every total is exact")
    if found:
        sys.exit(1)


def _problems(file: Path) -> list[str]:
    from partita.engine.verify import find_problems
    from partita.storage.sqlite import ReadOnlySqliteStorage

    found: list[str] = []
    storage = ReadOnlySqliteStorage(str(file))
    damaged = storage.collect_corrupt_rows()
    try:
        with storage.snapshot() as reader:
            found.extend(find_problems(reader))
    except Exception as error:  # noqa: BLE001 - reading a damaged file can raise anything
        found.append(f"{file}: damaged: {error}")
    finally:
        storage.close()
    return [str(each) for each in damaged] + found


def _repair(file: Path) -> None:
    from partita.engine.verify import repair
    from partita.storage.sqlite import SqliteStorage

    storage = SqliteStorage(str(file))
    try:
        for name in repair(storage):
            print(f"{name}: built again")
    finally:
        storage.close()
