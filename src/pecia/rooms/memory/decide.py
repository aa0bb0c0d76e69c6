"""What becomes of a new text beside what is known already, without a model. Pure.

Nothing is ever deleted here, nothing is left out that a memory does not say word for word, and
nothing replaced that the new text does not say again: words alone cannot tell a correction from
another fact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pecia.rooms.memory.likeness import kept_share, negates, overlap, says
from pecia.rooms.memory.model import Event

Quality: TypeAlias = Literal["similarity", "llm", "heuristic"]

# So much of the old text must come again, in its order, for the new one to take its place.
TAKES_OVER = 0.8
EXACT = 0.9


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that is like the new text."""

    id: str
    text: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Decision:
    """`target` is the memory to change, or the one that says it already."""

    event: Event
    confidence: float
    reason: str
    target: str | None = None
    quality: Quality = "heuristic"


def decide(text: str, candidates: Sequence[Candidate], threshold: float) -> Decision:
    """The heuristic: add, take the place of what it extends or contradicts, or leave."""
    if not candidates:
        return Decision(Event.ADD, 0.8, "nothing like it is known", quality="similarity")
    for it in candidates:
        if says(it.text, text) and says(text, it.text):
            return Decision(Event.NONE, EXACT, "the same is known already", it.id)
    best = max(candidates, key=lambda it: alike(text, it))
    if alike(text, best) < threshold:
        return Decision(Event.ADD, 0.7, "nothing known is like it enough", quality="similarity")
    if negates(text) == negates(best.text) and says(best.text, text):
        return Decision(Event.NONE, 0.8, "what is known says it already", best.id)
    if kept_share(best.text, text) >= TAKES_OVER:
        return Decision(Event.UPDATE, 0.75, "it says the same and more, or otherwise", best.id)
    return Decision(Event.ADD, 0.7, "related to what is known, and says something else")


def alike(text: str, candidate: Candidate) -> float:
    """How like a candidate is, by its vector or by the words of both."""
    return max(candidate.similarity, overlap(text, candidate.text))
