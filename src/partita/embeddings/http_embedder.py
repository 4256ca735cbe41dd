"""Embeddings of any service that answers `POST .../embeddings` as OpenAI's does, such as vLLM, Ollama or LocalAI."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec

from partita.embeddings.embedder import Embedder
from partita.embeddings.embedding import Purpose
from partita.embeddings.embedding_retries import EmbeddingRetries
from partita.errors import ConfigurationError, EmbeddingRejected, NoReply
from partita.extras import needs
from partita.setting_rules import COUNT, POSITIVE_COUNT, TEXT, TIMEOUT, check_settings

with needs("an embedding service over HTTP", "remote"):
    import urllib3
    from urllib3.exceptions import HTTPError, LocationParseError

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
_MAX_REPLY = 64 << 20


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
        if not url.startswith(("http://", "https://")):
            raise ConfigurationError(f"url={url!r} is not valid; use http://... or https://..., up to /embeddings")
        self.model = f"{model}/{dimensions}"
        self.dimensions = dimensions
        self.batch_size = batch_size
        self.parallel = parallel
        self._url = f"{url.rstrip('/')}/embeddings"
        self._body: dict[str, Any] = {"model": model, "encoding_format": "float"}
        if request_dimensions:
            self._body["dimensions"] = dimensions
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if api_key is not None:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._retries = EmbeddingRetries(retries)
        timeout = urllib3.Timeout(connect=connect_timeout, read=read_timeout)
        self._pool = urllib3.PoolManager(timeout=timeout, maxsize=parallel, retries=False)

    def vectors(self, texts: Sequence[str], purpose: Purpose) -> list[list[float]]:
        """One request."""
        body = msgspec.json.encode({**self._body, "input": list(texts)})
        return self._retries.run(lambda: self._request(body, len(texts)))

    def _request(self, body: bytes, count: int) -> list[list[float]]:
        try:
            response = self._pool.request(
                "POST", self._url, body=body, headers=self._headers, redirect=False, preload_content=False
            )
            data = response.read(_MAX_REPLY + 1)
            response.release_conn()
        except LocationParseError as error:
            raise ConfigurationError(f"url: {error}") from error
        except HTTPError as error:
            raise NoReply(self._url, str(error), perhaps_executed=True) from error
        if response.status != 200:
            raise EmbeddingRejected(
                self._url, response.status, _reason(data), _seconds(response.headers.get("Retry-After"))
            )
        return self._vectors(data, count)

    def _vectors(self, data: bytes, count: int) -> list[list[float]]:
        try:
            reply = msgspec.json.decode(data, type=_Reply)
        except msgspec.DecodeError as error:
            raise NoReply(self._url, f"the reply cannot be read: {error}", perhaps_executed=True) from error
        found = {each.index: each.embedding for each in reply.data}
        if found.keys() != set(range(count)):
            raise NoReply(self._url, f"{len(found)} vectors for {count} texts", perhaps_executed=True)
        return [found[index] for index in range(count)]

    def close(self) -> None:
        self._pool.clear()


def _reason(data: bytes) -> str:
    """The message of an error reply: OpenAI's `{"error": {"message": ...}}`, or the beginning of any other text."""
    with suppress(msgspec.DecodeError, TypeError, LookupError):
        error = msgspec.json.decode(data)["error"]
        return str(error if isinstance(error, str) else error["message"])
    return data[:200].decode(errors="replace").strip() or "no message"


def _seconds(retry_after: str | None) -> float | None:
    """The wait that a service asks for in seconds; a date is ignored."""
    return float(retry_after) if retry_after is not None and retry_after.isdecimal() else None
