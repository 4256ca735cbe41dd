"""Embeddings of any service that answers `POST .../embeddings` as OpenAI's does, such as vLLM, Ollama or LocalAI."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from partita.embeddings.embedder import Embedder
from partita.embeddings.embedding import Purpose
from partita.errors import ConfigurationError, EmbeddingRejected
from partita.json_service import JsonService
from partita.setting_rules import COUNT, POSITIVE_COUNT, TEXT, TIMEOUT, check_settings

_RULES = {
    "model": TEXT,
    "dimensions": POSITIVE_COUNT,
    "api_key": TEXT,
    "batch_size": POSITIVE_COUNT,
    "parallel": POSITIVE_COUNT,
    "connect_timeout": TIMEOUT,
    "read_timeout": TIMEOUT,
    "retries": COUNT,
}
_PATH = "/embeddings"


class _Item(msgspec.Struct):
    index: int
    embedding: list[float]


class _Reply(msgspec.Struct):
    data: list[_Item]


class HttpEmbedder(Embedder):
    """The model of a service. `url` ends before `/embeddings`: `https://api.openai.com/v1`.

    `request_dimensions` asks the service for vectors of this length; models that cannot shorten theirs reject that.
    """

    def __init__(
        self,
        url: str,
        model: str,
        dimensions: int,
        *,
        api_key: str | None = None,
        request_dimensions: bool = False,
        batch_size: int = 64,
        parallel: int = 2,
        connect_timeout: float = 5.0,
        read_timeout: float = 60.0,
        retries: int = 4,
    ) -> None:
        check_settings(_RULES, {name: value for name, value in locals().items() if name in _RULES})
        if not re.match("https?://[^/?#]", url):
            raise ConfigurationError(f"url={url!r} is not valid; use http://... or https://..., up to /embeddings")
        self.model = f"{model}/{dimensions}"
        self.dimensions = dimensions
        self.batch_size = batch_size
        self.parallel = parallel
        self._body: dict[str, Any] = {"model": model, "encoding_format": "float"}
        if request_dimensions:
            self._body["dimensions"] = dimensions
        self._service = JsonService(
            url,
            EmbeddingRejected,
            retries=retries,
            connections=parallel,
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            authorize=None if api_key is None else lambda *_: {"Authorization": f"Bearer {api_key}"},
        )

    def vectors(self, texts: Sequence[str], purpose: Purpose) -> list[list[float]]:
        """One request."""
        body = msgspec.json.encode({**self._body, "input": list(texts)})
        return self._service.request("POST", _PATH, body, lambda data: self._vectors(data, len(texts)))

    def _vectors(self, data: bytes, count: int) -> list[list[float]]:
        reply = msgspec.json.decode(data, type=_Reply)
        found = {each.index: each.embedding for each in reply.data}
        if found.keys() != set(range(count)):
            raise self._service.unreadable(_PATH, f"{len(found)} vectors for {count} texts")
        return [found[index] for index in range(count)]

    def close(self) -> None:
        self._service.close()
