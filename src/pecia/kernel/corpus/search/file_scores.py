"""Chunks that were found, gathered into the files they are parts of. Pure."""

from collections.abc import Hashable, Iterable
from typing import Protocol, TypeVar

F = TypeVar("F", bound=Hashable, covariant=True)


class ScoredChunk(Protocol[F]):
    """A chunk with its file and score."""

    @property
    def file(self) -> F: ...
    @property
    def score(self) -> float: ...


def score_files(ranked: Iterable[ScoredChunk[F]]) -> list[tuple[F, float]]:
    """Every file once, with the score of its best chunk, best first; ties in the order given.

    Adding what further chunks score was measured: it prefers long files, and loses.
    """
    best: dict[F, float] = {}
    for it in ranked:
        best[it.file] = max(it.score, best.get(it.file, it.score))
    return sorted(best.items(), key=lambda it: -it[1])
