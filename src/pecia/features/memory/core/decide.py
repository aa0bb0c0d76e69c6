"""Deduplication: add, update or ignore a new text, decided without a model. Pure.

Text comparison cannot tell a correction from a different fact. So nothing is deleted here, a text
is ignored only where a memory contains it character for character, and a memory is updated only by
a text that repeats all of it and adds more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pecia.features.memory.core.restatement import extends, restates
from pecia.features.memory.core.similarity import term_overlap
from pecia.features.memory.model import MemoryEvent
from pecia.kernel.errors import Json

QualitySource: TypeAlias = Literal["similarity", "llm", "heuristic"]

EXACT_SIMILARITY = 0.9


@dataclass(frozen=True, slots=True)
class MemoryCandidate:
    """A memory similar to the new text."""

    id: str
    text: str
    similarity: float
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class Decision:
    """`target` is the memory to update, or the one that already says it. `supersedes` is one that
    the model considers superseded by the new text; both are kept."""

    event: MemoryEvent
    confidence: float
    reason: str
    target: str | None = None
    quality: QualitySource = "heuristic"
    supersedes: str | None = None


def decide(
    text: str,
    candidates: Sequence[MemoryCandidate],
    threshold: float,
    given: Mapping[str, Json] | None = None,
) -> Decision:
    """The heuristic: add, extend the memory that the text begins with, or ignore. `given` holds
    the caller's facts about the text: the same text with other facts is a different memory."""
    if not candidates:
        return Decision(MemoryEvent.ADD, 0.8, "no similar memory", quality="similarity")
    same = [it for it in candidates if not has_new_facts(given or {}, it.facts)]
    for it in same:
        if restates(text, it.text):
            return Decision(MemoryEvent.NONE, EXACT_SIMILARITY, "a memory says the same", it.id)
    for it in same:
        if extends(it.text, text):
            return Decision(MemoryEvent.NONE, 0.8, "a memory already contains it", it.id)
    longer = [
        it for it in same if extends(text, it.text) and candidate_similarity(text, it) >= threshold
    ]
    if longer:
        best = max(longer, key=lambda it: candidate_similarity(text, it))
        return Decision(MemoryEvent.UPDATE, 0.75, "it repeats the memory and adds to it", best.id)
    if max(candidate_similarity(text, it) for it in candidates) < threshold:
        return Decision(
            MemoryEvent.ADD, 0.7, "no memory reaches the similarity threshold", quality="similarity"
        )
    return Decision(MemoryEvent.ADD, 0.7, "related to a memory, but a different fact")


def has_new_facts(given: "Json | Mapping[str, Json]", known: "Json | Mapping[str, Json]") -> bool:
    """Whether any given fact differs from the known ones, or is not among them."""
    if isinstance(given, Mapping):
        held = known if isinstance(known, Mapping) else {}
        return any(has_new_facts(it, held.get(name)) for name, it in given.items())
    if isinstance(given, str) and isinstance(known, str):
        return given.strip().lower() != known.strip().lower()
    return given != known


def candidate_similarity(text: str, candidate: MemoryCandidate) -> float:
    """The greater of vector similarity and term overlap."""
    return max(candidate.similarity, term_overlap(text, candidate.text))
