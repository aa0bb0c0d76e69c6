"""What becomes of a new text beside what is known already, without a model. Pure.

Words alone cannot tell a correction from another fact. So nothing is deleted here, nothing is
left out that a memory does not say sign for sign, and a memory is changed only by a text that says
all of it again and then more.
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
    """A memory that is like the new text."""

    id: str
    text: str
    similarity: float
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class Decision:
    """`target` is the memory to change, or the one that says it already. `supersedes` is one that a
    model holds to be superseded by the new text; both are kept."""

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
    """The heuristic: add, extend the memory that the text begins with, or leave. `given` is what
    the caller says of the text: the same words of somebody else are another fact."""
    if not candidates:
        return Decision(MemoryEvent.ADD, 0.8, "nothing like it is known", quality="similarity")
    same = [it for it in candidates if not has_new_facts(given or {}, it.facts)]
    for it in same:
        if restates(text, it.text):
            return Decision(MemoryEvent.NONE, EXACT_SIMILARITY, "the same is known already", it.id)
    for it in same:
        if extends(it.text, text):
            return Decision(MemoryEvent.NONE, 0.8, "what is known says it already", it.id)
    longer = [
        it for it in same if extends(text, it.text) and candidate_similarity(text, it) >= threshold
    ]
    if longer:
        best = max(longer, key=lambda it: candidate_similarity(text, it))
        return Decision(MemoryEvent.UPDATE, 0.75, "it says the same, and more", best.id)
    if max(candidate_similarity(text, it) for it in candidates) < threshold:
        return Decision(
            MemoryEvent.ADD, 0.7, "nothing known is like it enough", quality="similarity"
        )
    return Decision(MemoryEvent.ADD, 0.7, "related to what is known, and says something else")


def has_new_facts(given: "Json | Mapping[str, Json]", known: "Json | Mapping[str, Json]") -> bool:
    """Whether what is given is otherwise than what is known, or not known at all."""
    if isinstance(given, Mapping):
        held = known if isinstance(known, Mapping) else {}
        return any(has_new_facts(it, held.get(name)) for name, it in given.items())
    if isinstance(given, str) and isinstance(known, str):
        return given.strip().lower() != known.strip().lower()
    return given != known


def candidate_similarity(text: str, candidate: MemoryCandidate) -> float:
    """How like a candidate is, by its vector or by the words of both."""
    return max(candidate.similarity, term_overlap(text, candidate.text))
