"""`partita verify`: checks a database file for consistency, and repairs it."""

import base64
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partita.engine.verify import Damage


def verify(file: Path, /, *, repair: bool = False) -> None:
    """Check a database file for consistency: every checksum and size, every index against its table, every total.

    It changes nothing, and the file may be read-only. With --repair, indexes and totals that disagree are built again,
    and damaged rows are moved to FILE.damaged.

    Parameters
    ----------
    file
        The database file; it may be in use.
    repair
        Build the indexes, the order of expiry and the totals again from the items. Damaged items are removed, and
        appended to FILE.damaged, a JSON object in each line; an item whose key alone is damaged is kept.
    """
    from partita.errors import ConfigurationError

    if not file.is_file():
        raise ConfigurationError(f"{file}: {'not a file' if file.exists() else 'no such file'}")
    if file.stat().st_size == 0:
        raise ConfigurationError(f"{file}: the file is empty; there is nothing to verify")
    if repair:
        _repair(file)
    found = problems_of_file(file)
    print("\n".join(found) if found else f"{file}: every index agrees with its table, every total is exact")
    if found:
        sys.exit(1)


def problems_of_file(file: Path) -> list[str]:
    """The inconsistencies of a database file, and its damaged rows."""
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
        for name in repair(storage, lambda damaged: _set_aside(file, damaged)):
            print(f"{name}: built again")
    finally:
        storage.close()


def _set_aside(file: Path, damaged: list["Damage"]) -> None:
    report = Path(f"{file}.damaged")
    with report.open("a", encoding="utf-8") as lines:
        for each in damaged:
            stored = {
                "key": _as_json(each.row.key),
                "weight": _as_json(each.row.weight),
                "value": _as_json(each.row.value),
            }
            where = {"table": each.table, "kind": each.kind, "restored": each.row.restored}
            if each.row.restored:
                print(f"{each.table}: an {each.kind} at a damaged key is stored at its own key again")
            else:
                print(f"{each.table}: a damaged {each.kind} is moved to {report}")
            lines.write(json.dumps(where | stored) + "\n")
        lines.flush()
        os.fsync(lines.fileno())


def _as_json(value: object) -> Any:
    """Bytes as text where they are UTF-8, and in base64 otherwise."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}
