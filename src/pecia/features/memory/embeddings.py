"""Embeddings of texts, for one call. Without a working embedder there are none, with the reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from pecia.kernel.corpus.vectors.embedder import Embedder, Vectors
from pecia.kernel.errors import PeciaError

EMBED_TIMEOUT_S = 20.0
# Texts per embedding call. The rest is left to the embedding job.
MAX_EMBEDDED_TEXTS = 64


@dataclass(frozen=True, slots=True)
class TextEmbeddings:
    """Vectors by text. `missing` says why there are none."""

    model: str = ""
    vectors: Mapping[str, Vectors] = field(default_factory=dict[str, Vectors])
    missing: str = ""

    def vector_of(self, text: str) -> "Vectors | None":
        return self.vectors.get(text.strip())


async def embed_texts(embedder: Embedder | None, texts: Sequence[str]) -> TextEmbeddings:
    """The vectors of these texts, in one batch."""
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
