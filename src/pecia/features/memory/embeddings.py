"""Embeddings of texts, for one call. Without a working embedder there are none, with the reason."""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import anyio

from pecia.kernel.corpus.vectors.embedder import Embedder, Vectors
from pecia.kernel.errors import PeciaError

EMBED_TIMEOUT_S = 20.0
# Texts per embedding call. The rest is left to the embedding job.
MAX_EMBEDDED_TEXTS = 64


@dataclass(frozen=True, slots=True)
class TextEmbeddings:
    """Vectors by text, and how long they took. `missing` says why there are none."""

    model: str = ""
    vectors: Mapping[str, Vectors] = field(default_factory=dict[str, Vectors])
    missing: str = ""
    took_ms: float = 0.0

    def vector_of(self, text: str) -> "Vectors | None":
        return self.vectors.get(text.strip())


PendingEmbeddings: TypeAlias = TextEmbeddings | asyncio.Future[TextEmbeddings]
"""Vectors that are there, or will be."""


async def await_embeddings(pending: PendingEmbeddings) -> TextEmbeddings:
    return pending if isinstance(pending, TextEmbeddings) else await pending


@asynccontextmanager
async def embedding(
    embedder: Embedder | None, texts: Sequence[str]
) -> AsyncGenerator[asyncio.Future[TextEmbeddings]]:
    """The vectors of these texts, computed while the database and the keyword index answer: a
    model takes as long as both."""
    pending = asyncio.ensure_future(embed_texts(embedder, texts))
    try:
        yield pending
    finally:
        pending.cancel()


async def embed_texts(embedder: Embedder | None, texts: Sequence[str]) -> TextEmbeddings:
    """The vectors of these texts, in one batch."""
    began = time.perf_counter()
    found = await _embed(embedder, texts)
    return replace(found, took_ms=round((time.perf_counter() - began) * 1000, 3))


async def _embed(embedder: Embedder | None, texts: Sequence[str]) -> TextEmbeddings:
    if embedder is None:
        return TextEmbeddings(missing="no embedder is configured")
    if not texts:
        return TextEmbeddings(embedder.name)
    plain = list(dict.fromkeys(it.strip() for it in texts))[:MAX_EMBEDDED_TEXTS]
    try:
        with anyio.fail_after(EMBED_TIMEOUT_S):
            rows = await embedder.embed(plain)
    except TimeoutError:
        return TextEmbeddings(missing=f"the embedder took longer than {EMBED_TIMEOUT_S:g} s")
    except PeciaError as error:
        return TextEmbeddings(missing=str(error))
    return TextEmbeddings(embedder.name, dict(zip(plain, rows, strict=True)))
