"""Embeddings of Amazon Bedrock: Titan text embeddings v2, Cohere embed v3 and v4, by botocore.

The shapes of the requests are those of the Bedrock user guide ("Amazon Titan Embeddings Text", "Cohere Embed v3" and
"Cohere Embed v4").
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from partita.embeddings.embedder import Embedder
from partita.embeddings.embedding import Purpose
from partita.errors import ConfigurationError, EmbeddingRejected, NoReply
from partita.extras import needs
from partita.json_service import ServiceRetries
from partita.setting_rules import COUNT, POSITIVE_COUNT, TEXT, TIMEOUT, check_settings

with needs("Amazon Bedrock", "aws"):
    import botocore.session
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

_RULES = {
    "model": TEXT,
    "dimensions": POSITIVE_COUNT,
    "region": TEXT,
    "parallel": POSITIVE_COUNT,
    "connect_timeout": TIMEOUT,
    "read_timeout": TIMEOUT,
    "retries": COUNT,
}


@dataclass(frozen=True, slots=True)
class _Family:
    """Models that share the shape of their requests; the first of `dimensions` is the default."""

    id_part: str
    dimensions: tuple[int, ...]
    batch_size: int
    request: Callable[[Sequence[str], Purpose, int], Mapping[str, Any]]
    vectors: Callable[[bytes], list[list[float]]]


class _TitanReply(msgspec.Struct):
    embedding: list[float]


class _CohereVectors(msgspec.Struct):
    floats: list[list[float]] = msgspec.field(name="float")


class _CohereReply(msgspec.Struct):
    embeddings: list[list[float]] | _CohereVectors  # by type, where types were asked for


def _cohere_vectors(body: bytes) -> list[list[float]]:
    found = msgspec.json.decode(body, type=_CohereReply).embeddings
    return found.floats if isinstance(found, _CohereVectors) else found


_FAMILIES = (
    _Family(
        "amazon.titan-embed-text-v2",
        (256, 512, 1024),
        1,
        lambda texts, _, dimensions: {"inputText": texts[0], "dimensions": dimensions, "normalize": True},
        lambda body: [msgspec.json.decode(body, type=_TitanReply).embedding],
    ),
    _Family(
        "cohere.embed-v4",
        (1536, 256, 512, 1024),
        96,
        lambda texts, purpose, dimensions: {
            "texts": list(texts),
            "input_type": f"search_{purpose}",
            "truncate": "RIGHT",
            "embedding_types": ["float"],
            "output_dimension": dimensions,
        },
        _cohere_vectors,
    ),
    *(
        _Family(
            each,
            (1024,),
            96,
            lambda texts, purpose, _: {"texts": list(texts), "input_type": f"search_{purpose}", "truncate": "END"},
            _cohere_vectors,
        )
        for each in ("cohere.embed-english-v3", "cohere.embed-multilingual-v3")
    ),
)


class BedrockEmbedder(Embedder):
    """A model on Amazon Bedrock, with the credentials of botocore's chain; `model` may be an inference profile.

    `client` replaces the client of `bedrock-runtime` that botocore would create.
    """

    def __init__(
        self,
        model: str = "amazon.titan-embed-text-v2:0",
        dimensions: int | None = None,
        *,
        region: str | None = None,
        parallel: int = 8,
        connect_timeout: float = 5.0,
        read_timeout: float = 60.0,
        retries: int = 4,
        client: Any = None,
    ) -> None:
        check_settings(_RULES, {name: value for name, value in locals().items() if name in _RULES})
        self._family = _family(model)
        self.dimensions = _checked_dimensions(self._family, model, dimensions)
        self.model = f"{model}/{self.dimensions}"
        self.batch_size = self._family.batch_size
        self.parallel = parallel
        self._model_id = model
        self._retries = ServiceRetries(retries)
        config = Config(
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            max_pool_connections=parallel,
            retries={"total_max_attempts": 1},
        )
        self._client = _client(region, config) if client is None else client

    def vectors(self, texts: Sequence[str], purpose: Purpose) -> list[list[float]]:
        """One request."""
        body = msgspec.json.encode(self._family.request(texts, purpose, self.dimensions))
        return self._retries.run(lambda: self._request(body))

    def _request(self, body: bytes) -> list[list[float]]:
        try:
            reply = self._client.invoke_model(
                modelId=self._model_id, body=body, contentType="application/json", accept="application/json"
            )
            return self._family.vectors(reply["body"].read())
        except ClientError as error:
            status = error.response["ResponseMetadata"]["HTTPStatusCode"]
            said = error.response["Error"]
            raise EmbeddingRejected(self._model_id, status, f"{said['Code']}: {said['Message']}") from error
        except HTTPClientError as error:
            raise NoReply(self._model_id, str(error), perhaps_executed=True) from error
        except BotoCoreError as error:
            raise ConfigurationError(f"Amazon Bedrock: {error}") from error
        except msgspec.DecodeError as error:
            raise NoReply(self._model_id, f"the reply cannot be read: {error}", perhaps_executed=True) from error

    def close(self) -> None:
        self._client.close()


def _family(model: str) -> _Family:
    found = next((each for each in _FAMILIES if each.id_part in model), None)
    if found is None:
        known = ", ".join(f"{each.id_part}..." for each in _FAMILIES)
        raise ConfigurationError(f"model={model!r} is not known; use one of {known}")
    return found


def _checked_dimensions(family: _Family, model: str, dimensions: int | None) -> int:
    if dimensions is None:
        return family.dimensions[0]
    if dimensions not in family.dimensions:
        known = ", ".join(map(str, family.dimensions))
        raise ConfigurationError(f"dimensions={dimensions} is not valid for {model}; use {known}")
    return dimensions


def _client(region: str | None, config: Config) -> Any:
    try:
        return botocore.session.get_session().create_client("bedrock-runtime", region_name=region, config=config)
    except BotoCoreError as error:
        raise ConfigurationError(f"Amazon Bedrock: {error}") from error
