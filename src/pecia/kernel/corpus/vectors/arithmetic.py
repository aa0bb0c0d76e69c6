"""Arithmetic on vectors that a ranking needs. Pure; numpy is imported at the first use."""

from pecia.kernel.corpus.vectors.embedder import Vectors


def blend_vectors(vectors: Vectors, towards: Vectors, weight: float) -> Vectors:
    """Vectors bent towards others, row by row, and of length one again."""
    import numpy as np

    bent = vectors + weight * towards
    lengths = np.linalg.norm(bent, axis=1, keepdims=True)
    return (bent / np.where(lengths == 0, 1, lengths)).astype(np.float32)
