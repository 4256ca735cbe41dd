"""Embeddings of texts: an offline embedder, Amazon Bedrock, and any service with OpenAI's interface.

All public names are here; those that need an extra are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from partita.embeddings.embedder import Embedder
from partita.embeddings.embedding import Embedding, Purpose
from partita.embeddings.embedding_cache import CachedEmbedder
from partita.embeddings.glossary import Glossary, parts_glossary
from partita.embeddings.offline import OfflineEmbedder

if TYPE_CHECKING:
    from partita.embeddings.bedrock import BedrockEmbedder
    from partita.embeddings.http_embedder import HttpEmbedder

__all__ = [
    "BedrockEmbedder",
    "CachedEmbedder",
    "Embedder",
    "Embedding",
    "Glossary",
    "HttpEmbedder",
    "OfflineEmbedder",
    "Purpose",
    "parts_glossary",
]

_LAZY = {"BedrockEmbedder": "bedrock", "HttpEmbedder": "http_embedder"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
