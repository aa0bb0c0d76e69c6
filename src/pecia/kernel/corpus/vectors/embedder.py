"""What the corpus needs of an embedder: texts in, vectors out. Loads no model; numpy is imported at
the first use, as it is not small.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[np.float32]"
"""One row a text, each of length one, so that a dot product is the cosine."""


class Embedder(Protocol):
    """Turns texts into vectors. Cheap to hold: the model is loaded at the first use."""

    @property
    def name(self) -> str:
        """Vectors under one name can be compared. It goes into the vector table and the cache."""
        ...

    @property
    def language(self) -> str:
        """The one language it understands well, as `en`; empty when it understands many."""
        ...

    async def dimension(self) -> int:
        """How many numbers a vector has. May load the model, or ask the endpoint once."""
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, in order. Raises a PeciaError when the model is unavailable.

        A text longer than the model reads is judged by its beginning; chunks are cut to fit.
        """
        ...


def build_embedding_text(text: str, *, title: str = "", headings: str = "") -> str:
    """The text embedded for a chunk: with its title, which says what it is about."""
    return "\n".join(it for it in (title, headings, text) if it)


def normalize(vectors: "NDArray[np.floating[Any]]") -> Vectors:
    """The rows at length one; a row of zeros stays as it is."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths == 0, 1, lengths)).astype(np.float32)
