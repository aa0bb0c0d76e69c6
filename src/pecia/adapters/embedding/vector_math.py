"""Arithmetic on vectors. Pure; numpy is imported at the first use, as it is not small."""

from typing import TYPE_CHECKING, Any

from pecia.kernel.corpus.vectors.embedder import Vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def normalize(vectors: "NDArray[np.floating[Any]]") -> Vectors:
    """The rows at length one; a row of zeros stays as it is."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths == 0, 1, lengths)).astype(np.float32)


def mean_pool(tokens: Vectors, mask: Any) -> Vectors:
    """One vector a text from one a token, over the tokens that the mask counts."""
    weights = mask[:, :, None].astype(tokens.dtype)
    return (tokens * weights).sum(1) / weights.sum(1).clip(min=1)
