"""The records in objects: DynamoDB JSON, Ion and CSV; plain, gzip or zstd."""

import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec

from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.limits import ITEM_BYTES
from partita.dynamodb.transfer_shapes import CsvOptions
from partita.dynamodb.values import Item
from partita.engine.data_errors import InvalidRecord, UnreadableObject
from partita.engine.ion_text import read_ion
from partita.errors import MissingExtra
from partita.extras import needs

MAX_LINE = 8 * ITEM_BYTES  # escapes and base64 make an item longer than its size
_ZSTD_BLOCK = 1024  # bytes that are decompressed at once: a few of them can stand for many
_READ_ERRORS = (OSError, EOFError, zlib.error)  # gzip.BadGzipFile is an OSError
_decode = msgspec.json.decode

Record = dict[str, Any]
"""The members of one record: `Item`, and in bulk puts those of its condition."""


def check_readable(input_format: str | None, compression: str | None) -> None:
    """Raises ValidationException where this engine lacks the packages that read a format."""
    try:
        if input_format == "ION":
            with needs("an import of Ion", "data"):
                import amazon.ion  # noqa: F401
        if compression == "ZSTD":
            with needs("an import of zstd", "data"):
                import zstandard  # noqa: F401
    except MissingExtra as missing:
        raise ValidationException(str(missing)) from None


@contextmanager
def opened(path: Path, compression: str | None) -> Iterator[IO[bytes]]:
    """An object for reading, decompressed."""
    with path.open("rb") as file:
        if compression == "GZIP":
            with gzip.open(file) as stream:
                yield stream  # type: ignore[misc]
        elif compression == "ZSTD":
            yield io.BufferedReader(_ZstdStream(file))
        else:
            yield file


class _ZstdStream(io.RawIOBase):
    """The frames of a zstd file, decompressed; one that ends inside a frame is an error, as gzip's EOFError.

    The reader of `zstandard` ends there as if the file were complete.
    """

    def __init__(self, file: IO[bytes]) -> None:
        import zstandard

        self._file = file
        self._decompressor = zstandard.ZstdDecompressor()
        self._frame: Any = None
        self._compressed = self._plain = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._plain:
            self._compressed = self._compressed or self._file.read(_ZSTD_BLOCK)
            if not self._compressed:
                if self._frame is None:
                    return 0
                raise EOFError("the file ended before the end of a frame")
            self._frame = self._frame or self._decompressor.decompressobj()
            self._plain, self._compressed = self._frame.decompress(self._compressed), b""
            if self._frame.eof:
                self._compressed, self._frame = self._frame.unused_data, None
        count = min(len(buffer), len(self._plain))
        buffer[:count], self._plain = self._plain[:count], self._plain[count:]
        return count


def read_records(
    stream: IO[bytes], input_format: str, options: CsvOptions | None = None, types: dict[str, str] | None = None
) -> Iterator[Record | InvalidRecord]:
    """The records of an object, and the errors of those that are none; raises UnreadableObject where it must end.

    `types` are the types of key attributes, which a CSV file does not have.
    """
    if input_format == "DYNAMODB_JSON":
        yield from _read_json(stream)
    elif input_format == "ION":
        yield from read_ion(stream)
    else:
        yield from _read_csv(stream, options or CsvOptions(), types or {})


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    while True:
        try:
            line = stream.readline(MAX_LINE)
        except Exception as error:
            if isinstance(error, _READ_ERRORS) or type(error).__name__ == "ZstdError":
                raise UnreadableObject(f"cannot be decompressed: {error}") from None
            raise
        if not line:
            return
        if len(line) == MAX_LINE:
            raise UnreadableObject(f"a line has more than {MAX_LINE:,} bytes")
        yield line


def _read_json(stream: IO[bytes]) -> Iterator[Record]:
    for line in _lines(stream):
        if line.isspace():
            continue
        try:
            record = _decode(line)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise UnreadableObject(f"a line is not JSON: {error}") from None
        if not isinstance(record, dict):
            raise UnreadableObject("a line is not a JSON object")
        yield record


def _read_csv(stream: IO[bytes], options: CsvOptions, types: dict[str, str]) -> Iterator[Record | InvalidRecord]:
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))
    rows = csv.reader(_texts(stream), delimiter=options.delimiter or ",", strict=True)
    try:
        header = options.header_list or next(rows, None)
        if header is None:
            return
        if len(set(header)) != len(header) or "" in header:
            raise UnreadableObject("the names in the header are not distinct, or one is empty")
        for row in rows:
            if not row:
                continue
            yield (
                _csv_record(header, row, types)
                if len(row) == len(header)
                else InvalidRecord(f"a line has {len(row)} values, and the header {len(header)} names")
            )
    except csv.Error as error:
        raise UnreadableObject(f"not CSV: {error}") from None


def _texts(stream: IO[bytes]) -> Iterator[str]:
    for number, line in enumerate(_lines(stream)):
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise UnreadableObject(f"not UTF-8: {error}") from None
        yield text if number else text.removeprefix("\ufeff")


def _csv_record(header: list[str], row: list[str], types: dict[str, str]) -> Record:
    """Keys have their declared types, everything else is text; an empty value is left out."""
    item: Item = {name: {types.get(name, "S"): text} for name, text in zip(header, row, strict=True) if text}
    return {"Item": item}
