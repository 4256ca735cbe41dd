"""Embeddings that were made before, by model and text: in memory, and in a file that outlives the process."""

from array import array
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import sha256
from os import PathLike, fspath
from threading import Lock

import apsw

from partita.embeddings.embedder import Embedder, check_texts
from partita.embeddings.embedding import Embedding, Purpose
from partita.errors import ConfigurationError, StorageError
from partita.setting_rules import POSITIVE_COUNT, check_settings

_ENTRY_BYTES = 200  # of an entry in memory, beside its vector
_TABLE = """CREATE TABLE IF NOT EXISTS embeddings (
    number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL)"""


class CachedEmbedder(Embedder):
    """An embedder that asks another one only for texts that are not in its cache.

    Memory holds the most recently used vectors. `path` is a SQLite file for the rest; processes may share it, and its
    oldest vectors leave first.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        memory_bytes: int = 64 << 20,
        path: str | PathLike[str] | None = None,
        file_entries: int = 1_000_000,
    ) -> None:
        check_settings(
            {"memory_bytes": POSITIVE_COUNT, "file_entries": POSITIVE_COUNT},
            {"memory_bytes": memory_bytes, "file_entries": file_entries},
        )
        self.model, self.dimensions = embedder.model, embedder.dimensions
        self.batch_size, self.parallel = embedder.batch_size, embedder.parallel
        self._embedder = embedder
        self._memory: OrderedDict[bytes, bytes] = OrderedDict()
        self._memory_entries = max(1, memory_bytes // (4 * self.dimensions + _ENTRY_BYTES))
        self._file = None if path is None else EmbeddingFile(fspath(path), self.dimensions, file_entries)
        self._lock = Lock()

    def embed(self, texts: Sequence[str], purpose: Purpose = "document") -> list[Embedding]:
        """The embeddings of all texts; each different text is embedded once.

        What has been embedded before an error stays in the cache, so a repeated call continues from there.
        """
        check_texts(texts, purpose)
        keys = {text: self._key(text, purpose) for text in texts}
        with self._lock:
            found = {text: vector for text, key in keys.items() if (vector := self._lookup(key)) is not None}
        missing = [text for text in keys if text not in found]
        step = self.batch_size * self.parallel
        for at in range(0, len(missing), step):
            chunk = missing[at : at + step]
            made = {
                text: array("f", each.vector).tobytes()
                for text, each in zip(chunk, self._embedder.embed(chunk, purpose), strict=True)
            }
            self._remember({keys[text]: vector for text, vector in made.items()})
            found |= made
        return [Embedding(tuple(array("f", found[text])), self.model) for text in texts]

    def vectors(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Sequence[float]]:
        return [each.vector for each in self.embed(texts, purpose)]

    def _key(self, text: str, purpose: Purpose) -> bytes:
        return sha256(f"{self.model}\n{purpose}\n{text}".encode()).digest()

    def _lookup(self, key: bytes) -> bytes | None:
        vector = self._memory.get(key)
        if vector is not None:
            self._memory.move_to_end(key)
        elif self._file is not None and (vector := self._file.get(key)) is not None:
            self._keep_in_memory(key, vector)
        return vector

    def _remember(self, vectors: dict[bytes, bytes]) -> None:
        with self._lock:
            for key, vector in vectors.items():
                self._keep_in_memory(key, vector)
            if self._file is not None:
                self._file.put(vectors)

    def _keep_in_memory(self, key: bytes, vector: bytes) -> None:
        self._memory[key] = vector
        while len(self._memory) > self._memory_entries:
            self._memory.popitem(last=False)

    def close(self) -> None:
        """Closes the file and the embedder."""
        with self._lock:
            if self._file is not None:
                self._file.close()
        self._embedder.close()


class EmbeddingFile:
    """Vectors by key in a SQLite file with a limited number of rows. A lost write costs an embedding, not data."""

    def __init__(self, path: str, dimensions: int, max_entries: int) -> None:
        self._vector_bytes = 4 * dimensions
        self._path = path
        self._max_entries = max_entries
        try:
            self._connection = apsw.Connection(path)
            self._connection.set_busy_timeout(10_000)
            for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", _TABLE):
                self._connection.execute(statement).fetchall()
        except apsw.Error as error:
            raise ConfigurationError(f"{path} cannot be opened as a cache of embeddings: {error}") from error

    def get(self, key: bytes) -> bytes | None:
        try:
            row = self._connection.execute("SELECT vector FROM embeddings WHERE key = ?", (key,)).fetchone()
        except apsw.Error as error:
            raise StorageError(f"{self._path}: {error}") from error
        return None if row is None or len(row[0]) != self._vector_bytes else row[0]

    def put(self, vectors: dict[bytes, bytes]) -> None:
        try:
            with self._connection:
                self._connection.executemany(
                    "INSERT OR REPLACE INTO embeddings (key, vector) VALUES (?, ?)",
                    vectors.items(),
                )
                oldest = "DELETE FROM embeddings WHERE number <= (SELECT max(number) FROM embeddings) - ?"
                self._connection.execute(oldest, (self._max_entries,))
        except apsw.Error as error:
            raise StorageError(f"{self._path}: {error}") from error

    def close(self) -> None:
        self._connection.close()
