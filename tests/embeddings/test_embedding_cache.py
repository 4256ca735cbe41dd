"""The cache of embeddings: each text once, bounded, shared by a file, and never across models."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest

from partita import ConfigurationError, NoReply
from partita.embeddings import CachedEmbedder, Embedder, Purpose


class CountingEmbedder(Embedder):
    """Embeds a text as its length, and records the texts."""

    dimensions = 2
    batch_size = 2

    def __init__(self, model: str = "count/2") -> None:
        self.model = model
        self.texts: list[str] = []
        self.fails_at = ""
        self.is_closed = False

    def vectors(self, texts: Sequence[str], purpose: Purpose) -> list[list[float]]:
        if self.fails_at in texts:
            raise NoReply(self.model, "gone", perhaps_executed=False)
        self.texts += texts
        return [[len(text) + 0.1, float(purpose == "query")] for text in texts]

    def close(self) -> None:
        self.is_closed = True


def test_text_is_embedded_once() -> None:
    inner = CountingEmbedder()
    cached = CachedEmbedder(inner)
    first = cached.embed(["a", "bb", "a"])
    assert cached.embed(["bb", "a"]) == [first[1], first[0]]
    assert inner.texts == ["a", "bb"]
    assert first == [*CountingEmbedder().embed(["a", "bb", "a"])]


def test_query_and_document_are_different_entries() -> None:
    cached = CachedEmbedder(CountingEmbedder())
    assert cached.embed_one("a").vector[1] == 0.0
    assert cached.embed_one("a", "query").vector[1] == 1.0


def test_least_recently_used_leaves_memory_first() -> None:
    inner = CountingEmbedder()
    cached = CachedEmbedder(inner, memory_bytes=2 * 208)
    cached.embed(["a", "b"])
    cached.embed(["a", "c"])
    inner.texts.clear()
    cached.embed(["a"])
    cached.embed(["b"])
    assert inner.texts == ["b"]


def test_more_texts_than_memory_holds_are_all_embedded() -> None:
    texts = [f"{number}" * (number + 1) for number in range(9)]
    cached = CachedEmbedder(CountingEmbedder(), memory_bytes=1)
    assert cached.embed(texts) == CountingEmbedder().embed(texts)


def test_file_outlives_the_process(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    with CachedEmbedder(CountingEmbedder(), path=path) as cached:
        first = cached.embed(["a", "bb"])
    inner = CountingEmbedder()
    with CachedEmbedder(inner, path=path) as cached:
        assert cached.embed(["bb", "a"]) == first[::-1]
    assert inner.texts == []
    assert inner.is_closed


def test_file_has_at_most_so_many_entries(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    with CachedEmbedder(CountingEmbedder(), path=path, file_entries=3) as cached:
        cached.embed(["1", "2"])
        cached.embed(["3", "4", "5"])
    inner = CountingEmbedder()
    with CachedEmbedder(inner, path=path) as cached:
        cached.embed(["1", "2", "3", "4", "5"])
    assert inner.texts == ["1", "2"]


def test_two_caches_share_a_file(tmp_path: Path) -> None:
    one, other = CountingEmbedder(), CountingEmbedder()
    path = tmp_path / "cache.db"
    with CachedEmbedder(one, path=path) as first, CachedEmbedder(other, path=path) as second:
        first.embed(["a"])
        second.embed(["a", "b"])
        first.embed(["b"])
    assert (one.texts, other.texts) == (["a"], ["b"])


def test_another_model_finds_nothing_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    with CachedEmbedder(CountingEmbedder("one/2"), path=path) as cached:
        cached.embed(["a"])
    other = CountingEmbedder("two/2")
    with CachedEmbedder(other, path=path) as cached:
        assert cached.embed_one("a").model == "two/2"
    assert other.texts == ["a"]


def test_batches_before_an_error_are_not_embedded_again() -> None:
    inner = CountingEmbedder()
    cached = CachedEmbedder(inner)
    inner.fails_at = "e"
    with pytest.raises(NoReply):
        cached.embed(["a", "b", "c", "d", "e"])
    inner.fails_at = ""
    inner.texts.clear()
    assert len(cached.embed(["a", "b", "c", "d", "e"])) == 5
    assert inner.texts == ["e"]


def test_file_that_is_no_cache_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, and longer than the header of one " * 20)
    with pytest.raises(ConfigurationError, match="cannot be opened as a cache of embeddings"):
        CachedEmbedder(CountingEmbedder(), path=path)


def test_damaged_entry_is_embedded_again(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    with CachedEmbedder(CountingEmbedder(), path=path) as cached:
        whole = cached.embed_one("a")
    with apsw.Connection(str(path)) as connection:
        connection.execute("UPDATE embeddings SET vector = x'0102'")
    connection.close()
    with CachedEmbedder(CountingEmbedder(), path=path) as cached:
        assert cached.embed_one("a") == whole


def test_event_loop_uses_the_same_cache() -> None:
    inner = CountingEmbedder()
    cached = CachedEmbedder(inner)

    async def twice() -> None:
        await cached.embed_async(["a"])
        await cached.embed_async(["a"])

    asyncio.run(twice())
    assert inner.texts == ["a"]
