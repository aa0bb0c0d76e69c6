"""Vectors of texts, for one call. Where no embedder answers there are none, and it says why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from pecia.kernel.corpus.embedder import Embedder, Vectors
from pecia.kernel.errors import PeciaError

EMBED_S = 20.0
# Texts a call of the model. More of them are left to the job that embeds.
MOST_TEXTS = 64


@dataclass(frozen=True, slots=True)
class Meaning:
    """Rows by text. `missing` says why there are none."""

    model: str = ""
    rows: Mapping[str, Vectors] = field(default_factory=dict[str, Vectors])
    missing: str = ""

    def of(self, text: str) -> "Vectors | None":
        return self.rows.get(text.strip())


async def meaning_of(embedder: Embedder | None, texts: Sequence[str]) -> Meaning:
    """The vectors of these texts, made at once."""
    if embedder is None:
        return Meaning(missing="no embedder is configured")
    if not texts:
        return Meaning(embedder.name)
    plain = list(dict.fromkeys(it.strip() for it in texts))[:MOST_TEXTS]
    try:
        with anyio.fail_after(EMBED_S):
            rows = await embedder.embed(plain)
    except TimeoutError:
        return Meaning(missing=f"the embedder took longer than {EMBED_S:g} s")
    except PeciaError as error:
        return Meaning(missing=str(error))
    return Meaning(embedder.name, dict(zip(plain, rows, strict=True)))
