"""Sorts rows by their keys, more than fit in memory: sorted runs in a temporary file, then merged.

add     | rows in memory | --- sorted, when they are many ---> | run 1 | run 2 | ...   (in a file without a name)
merged  the runs side by side, some bytes of each in memory: each key once, with the row that was added last
"""

import os
import tempfile
from collections.abc import Iterator
from heapq import merge
from typing import IO

from partita.engine.row_blocks import first_rows, pack_rows, unpack_rows
from partita.errors import StorageError
from partita.storage.contract import Row

RUN_BYTES = 16_000_000
_BLOCK_ROWS, _BLOCK_BYTES = 64, 100_000  # one block of each run is in memory while they are merged
_ROW_BYTES = 200  # of objects, beside the bytes of a key and a value

_Block = tuple[int, int]  # its place in the file, and its length


class RowSorter:
    """Sorts rows; its file is in `folder`, and ends with it."""

    def __init__(self, folder: str | None = None, run_bytes: int = RUN_BYTES) -> None:
        self._folder = folder
        self._run_bytes = run_bytes
        self._rows: dict[bytes, Row] = {}
        self._size = 0
        self._file: IO[bytes] | None = None
        self._end = 0
        self._runs: list[list[_Block]] = []

    def add(self, key: bytes, row: Row) -> None:
        """Adds a row; one with the same key that was added before is replaced."""
        self._rows[key] = row
        self._size += len(key) + len(row.value) + _ROW_BYTES
        if self._size >= self._run_bytes:
            self._write_run()

    def merged(self, after: bytes = b"") -> Iterator[tuple[bytes, Row]]:
        """The rows in the order of their keys, those behind a key; each once."""
        last = after
        streams = [self._tagged(number, run, after) for number, run in enumerate(self._runs)]
        newest = ((key, -len(self._runs), self._rows[key]) for key in sorted(self._rows) if key > after)
        for key, _, row in merge(*streams, newest):
            if key > last:
                last = key
                yield key, row

    def _write_run(self) -> None:
        """Adds the rows to the file. After an error, of a full disk perhaps, the sorter can only be closed."""
        try:
            self._write_rows()
        except OSError as error:
            raise StorageError(f"{self._folder or tempfile.gettempdir()}: a temporary file failed: {error}") from None

    def _write_rows(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder, prefix="partita-")  # noqa: SIM115 - closed by `close`
        rows = ((key, self._rows[key]) for key in sorted(self._rows))
        run: list[_Block] = []
        while block := pack_rows(first_rows(rows, _BLOCK_ROWS, _BLOCK_BYTES)):
            self._file.write(block)
            run.append((self._end, len(block)))
            self._end += len(block)
        self._file.flush()
        self._runs.append(run)
        self._rows, self._size = {}, 0

    def _tagged(self, number: int, run: list[_Block], after: bytes) -> Iterator[tuple[bytes, int, Row]]:
        """The rows of a run; of rows with one key that of the latest run is the first."""
        assert self._file is not None
        for at, length in run:
            for key, row in unpack_rows(os.pread(self._file.fileno(), length, at)):
                if key > after:
                    yield key, -number, row

    def close(self) -> None:
        """Drops everything that was added."""
        self._rows, self._runs, self._size, self._end = {}, [], 0, 0
        if self._file is not None:
            self._file.close()
            self._file = None
