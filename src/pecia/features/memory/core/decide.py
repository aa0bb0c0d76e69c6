"""Deduplication: what to do with a new text, decided without a model. It is kept beside the
others, as a newer version of one, as another wording of one, or not at all because one has its
words. Pure.

No text is lost by any of it: a version that was superseded and another wording stay readable.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pecia.features.memory.core.compare.correction import corrects_in_words
from pecia.features.memory.core.compare.relation import corrects, says_same
from pecia.features.memory.core.compare.restatement import extends, restates
from pecia.features.memory.core.compare.similarity import term_overlap
from pecia.features.memory.core.compare.vocabulary import VOCABULARY
from pecia.features.memory.model import MemoryEvent
from pecia.kernel.errors import Json

QualitySource: TypeAlias = Literal["similarity", "llm", "heuristic"]

EXACT_SIMILARITY = 0.9
MIN_ECHO_CHARS = 12
CORRECTED = "it says that it replaces the memory"
# What the answer of a search says around the memories.
ECHO_WORDS = VOCABULARY["echo"] | {""}
_COUNT = re.compile(r"\b\d{1,3} (memor(?:y|ies)|results?)\b")
_LIST_MARK = re.compile(r"\d{1,3}[.):]|[-*•#>]+")


@dataclass(frozen=True, slots=True)
class MemoryCandidate:
    """A memory similar to the new text."""

    id: str
    text: str
    similarity: float
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """`target` is the memory that the text supersedes, or the one that already says it.
    `is_wording`: the text is kept as another wording of the target. `revises` is a memory that a
    model takes for superseded; both hold."""

    event: MemoryEvent
    confidence: float
    reason: str
    target: str | None = None
    quality: QualitySource = "heuristic"
    is_wording: bool = False
    revises: str | None = None


def decide(
    text: str,
    candidates: Sequence[MemoryCandidate],
    threshold: float,
    given: Mapping[str, Json] | None = None,
    *,
    keep_echo: bool = False,
) -> Decision:
    """The heuristic. `given` holds the caller's facts about the text: the same text with other
    facts is a different memory. `keep_echo`: what repeats memories is kept too."""
    if not candidates:
        return Decision(MemoryEvent.ADD, 0.8, "no similar memory", quality="similarity")
    same = [it for it in candidates if not has_new_facts(given or {}, it.facts)]
    return (
        _find_known(text, same, keep_echo=keep_echo)
        or _find_superseded(text, same, threshold)
        or _find_wording(text, same)
        or _add(text, candidates, threshold)
    )


def is_echo(text: str, known: Sequence[str]) -> bool:
    """Whether a text is made of known texts and of what a search puts around them."""
    left = f" {' '.join(text.split())} "
    found = 0
    for it in sorted(known, key=len, reverse=True):
        plain = " ".join(it.split())
        if len(plain) < MIN_ECHO_CHARS or plain not in left:
            continue
        left, count = re.subn(rf"(?<=[\s\"]){re.escape(plain)}(?=[\s\"])", " ", left)
        found += count
    words = _COUNT.sub(r"\1", left.lower()).split()
    around = [it.strip("\"',:{}[]().#*") for it in words if not _LIST_MARK.fullmatch(it)]
    # Without anything around them, they are a text that somebody put together.
    return found > 0 and bool(words) and all(it in ECHO_WORDS for it in around)


def _find_known(text: str, same: Sequence[MemoryCandidate], *, keep_echo: bool) -> Decision | None:
    for it in same:
        if restates(text, it.text):
            return Decision(MemoryEvent.NONE, EXACT_SIMILARITY, "a memory says the same", it.id)
    for it in same:
        if extends(it.text, text):
            return Decision(MemoryEvent.NONE, 0.8, "a memory already contains it", it.id)
    if not keep_echo and is_echo(text, [it.text for it in same]):
        return Decision(MemoryEvent.NONE, 0.8, "it repeats what memories say")
    return None


def _find_superseded(
    text: str, same: Sequence[MemoryCandidate], threshold: float
) -> Decision | None:
    longer = [
        it for it in same if extends(text, it.text) and candidate_similarity(text, it) >= threshold
    ]
    if longer:
        best = max(longer, key=lambda it: candidate_similarity(text, it))
        return Decision(MemoryEvent.UPDATE, 0.75, "it repeats the memory and adds to it", best.id)
    for it in same:
        if corrects(text, it.text):
            return Decision(MemoryEvent.UPDATE, 0.7, CORRECTED, it.id)
    corrected = {it.id for it in same if corrects_in_words(text, it.text)}
    # Of several that it may mean, none is ended.
    target = corrected.pop() if len(corrected) == 1 else None
    return Decision(MemoryEvent.UPDATE, 0.7, CORRECTED, target) if target else None


def _find_wording(text: str, same: Sequence[MemoryCandidate]) -> Decision | None:
    for it in same:
        if says_same(text, it.text):
            reason = "a memory says the same in other words; these are kept with it"
            return Decision(MemoryEvent.NONE, 0.8, reason, it.id, is_wording=True)
    return None


def _add(text: str, candidates: Sequence[MemoryCandidate], threshold: float) -> Decision:
    if not any(candidate_similarity(text, it) >= threshold for it in candidates):
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
