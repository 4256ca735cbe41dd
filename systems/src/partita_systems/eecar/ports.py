"""The services around EECAR, as the environment names them: embedder, writer of reasons, archive of vectors.

| variable | value |
|---|---|
| `EECAR_EMBEDDER` | `offline` (the default), `bedrock:MODEL`, or `https://host/v1#MODEL` with OpenAI's interface |
| `EECAR_EMBEDDER_KEY` | the API key of that service |
| `EECAR_EMBEDDING_DIMENSION` | of the vectors, 256 by default |
| `EECAR_REASONS` | `template` (the default), or `bedrock:MODEL` with a Claude model |
| `EECAR_OBJECTS` | `s3://bucket/prefix`, or a folder; by default `partita/eecar` among the user's data |
"""

import os
from functools import cache

from partita import ConfigurationError
from partita.embeddings import BedrockEmbedder, CachedEmbedder, Embedder, HttpEmbedder, OfflineEmbedder
from partita_systems.eecar.claude_reasons import ClaudeReasons
from partita_systems.eecar.design import DIMENSION
from partita_systems.eecar.reasons import TEMPLATE, ReasonWriter, TemplateReasons
from partita_systems.objects import ObjectStore, open_objects


@cache
def embedder() -> Embedder:
    """The embedder of parts and queries, with a cache."""
    name = os.environ.get("EECAR_EMBEDDER", "offline")
    if name == "offline":
        return CachedEmbedder(OfflineEmbedder(DIMENSION))
    if name.startswith("bedrock:"):
        return CachedEmbedder(BedrockEmbedder(name.removeprefix("bedrock:"), DIMENSION))
    url, _, model = name.partition("#")
    if not url.startswith(("http://", "https://")) or not model:
        wanted = "use offline, bedrock:MODEL or https://host/v1#MODEL"
        raise ConfigurationError(f"EECAR_EMBEDDER={name!r} is not valid; {wanted}")
    return CachedEmbedder(HttpEmbedder(url, model, DIMENSION, api_key=os.environ.get("EECAR_EMBEDDER_KEY")))


@cache
def reasons() -> ReasonWriter:
    """What writes the reasons of matches."""
    name = os.environ.get("EECAR_REASONS", TEMPLATE)
    if name == TEMPLATE:
        return TemplateReasons()
    model = name.removeprefix("bedrock:")
    if model == name or "claude" not in model:
        wanted = "use template, or bedrock:MODEL with a Claude model"
        raise ConfigurationError(f"EECAR_REASONS={name!r} is not valid; {wanted}")
    return ClaudeReasons(model)


@cache
def objects() -> ObjectStore:
    """The archive of vectors."""
    return open_objects("EECAR_OBJECTS", "eecar")
