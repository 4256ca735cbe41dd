"""The vectors that an engine keeps in memory: a matrix for each index, and a limit for all of them together."""

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from partita.engine.vector_indexes import StoredVectorIndex

if TYPE_CHECKING:
    from partita.engine.vector_matrix import VectorMatrix

VECTOR_MEMORY_BYTES = 1024 * 1024 * 1024


class VectorMemory:
    """The matrices of one engine by their space, least recently used first."""

    def __init__(self, limit: int = VECTOR_MEMORY_BYTES) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._matrices: OrderedDict[str, VectorMatrix] = OrderedDict()

    def matrix(self, index: StoredVectorIndex) -> "VectorMatrix":
        """The matrix of an index, which may be empty or outdated."""
        from partita.engine.vector_matrix import VectorMatrix

        with self._lock:
            found = self._matrices.get(index.space)
            if found is None:
                found = self._matrices[index.space] = VectorMatrix(index)
            self._matrices.move_to_end(index.space)
            return found

    def make_room(self, index: StoredVectorIndex, size: int) -> bool:
        """Drops the matrices that were not used for longest; false where an index is too large even alone."""
        with self._lock:
            if size > self.limit:
                self._matrices.pop(index.space, None)
                return False
            others = sum(each.size for space, each in self._matrices.items() if space != index.space)
            for space in list(self._matrices):
                if others + size <= self.limit:
                    break
                if space != index.space:
                    others -= self._matrices.pop(space).size
            return True
