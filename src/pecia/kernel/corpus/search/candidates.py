"""The candidates that are ranked against each other. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pecia.kernel.corpus.keyword.entry import KeywordHit
from pecia.kernel.corpus.search.fuse import FusedHit
from pecia.kernel.corpus.search.named_files import NamedFiles

# Best unnamed files that keep a hit beside the named ones: a query may contain a file's name by
# accident.
MAX_UNNAMED_FILES = 1


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """Chunks with their lexical scores and what the file of each adds.

    The best hit of each file of `close` comes among the first hits. `unnamed` are best hits of
    files that the query does not name: they are always read.
    """

    scores: Mapping[int, float]
    by_file: Mapping[int, float] = field(default_factory=dict[int, float])
    close: tuple[int, ...] = ()
    unnamed: tuple[int, ...] = ()

    def top(self, fused: Sequence[FusedHit], depth: int) -> list[FusedHit]:
        """The first `depth`, in order, with those that are always read."""
        late = [it for it in fused[depth:] if it.id in self.unnamed]
        return [*fused[: depth - len(late)], *late]


def build_pool(found: Sequence[KeywordHit]) -> CandidatePool:
    """The pool of a query that names no file."""
    return CandidatePool({it.id: it.score for it in found})


def merge_pools(
    found: Sequence[KeywordHit], inside: Sequence[KeywordHit], named: NamedFiles
) -> CandidatePool:
    """The best hits everywhere and the best inside the named files, best first each, as one pool.

    The two searches use different words, so scores are normalised by the best. A score inside a
    file is scaled by the file's score for the whole query: without that, the best page of a file
    that is named by accident is as good as the best of all.
    """
    best = _best(found)
    reach = {it.group: it.score / best for it in reversed(found)}
    scores = {it.id: it.score / best for it in found}
    best_inside = _best(inside)
    scores |= {it.id: it.score / best_inside * reach.get(it.group, 1.0) for it in inside}
    first_of = {it.group: it.id for it in reversed(found) if it.group not in named.files}
    order = [it.group for it in found if first_of.get(it.group) == it.id][:MAX_UNNAMED_FILES]
    return CandidatePool(
        scores,
        {it.id: named.files[it.group] for it in inside},
        (*named.close, *order),
        tuple(first_of[it] for it in order),
    )


def _best(hits: Sequence[KeywordHit]) -> float:
    return max((it.score for it in hits), default=0.0) or 1.0
