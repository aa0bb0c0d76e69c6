"""How good a trace of reasoning is, by rules that anybody can check. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

from pecia.rooms.memory.trace import Step

Severity: TypeAlias = Literal["low", "medium", "high"]

COST: dict[Severity, float] = {"high": 0.3, "medium": 0.2, "low": 0.1}
WORTH_KEEPING = 0.4
ALIKE = 0.7
# Pairs grow with the square of the steps: of very long traces the beginning is compared.
MOST_COMPARED = 100


@dataclass(frozen=True, slots=True)
class Issue:
    type: str
    description: str
    severity: Severity


@dataclass(frozen=True, slots=True)
class Metrics:
    efficiency: float
    clarity: float
    completeness: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    quality_score: float
    issues: tuple[Issue, ...]
    suggestions: tuple[str, ...]
    should_store: bool
    metrics: Metrics


@dataclass(frozen=True, slots=True)
class Checks:
    """What to look at."""

    efficiency: bool = True
    loops: bool = True
    suggestions: bool = True


def evaluate(steps: Sequence[Step], checks: Checks | None = None) -> Evaluation:
    """The score, what is wrong, and whether the trace is worth keeping."""
    wanted = checks or Checks()
    issues = tuple(_issues(steps, wanted))
    score = score_of(issues)
    return Evaluation(
        score,
        issues,
        tuple(SUGGESTIONS[it.type] for it in issues) if wanted.suggestions else (),
        worth_keeping(score, issues),
        _metrics(steps),
    )


def score_of(issues: Sequence[Issue]) -> float:
    return round(max(0.0, 1.0 - sum(COST[it.severity] for it in issues)), 6)


def worth_keeping(score: float, issues: Sequence[Issue]) -> bool:
    return score >= WORTH_KEEPING and all(it.severity != "high" for it in issues)


def _issues(steps: Sequence[Step], checks: Checks) -> Iterator[Issue]:
    if not steps:
        yield Issue("empty_trace", "There are no steps.", "high")
        return
    if checks.loops:
        yield from _loops(steps)
    if checks.efficiency:
        yield from _thin(steps)


def _loops(steps: Sequence[Step]) -> Iterator[Issue]:
    contents = [(it.type, " ".join(it.content.split()).casefold()) for it in steps]
    if len(set(contents)) < len(contents):
        yield Issue("reasoning_loop", "A step is there more than once.", "medium")
    words = [frozenset(text.split()) for _, text in contents[:MOST_COMPARED]]
    pairs = list(combinations(words, 2))
    alike = sum(_jaccard(a, b) > ALIKE for a, b in pairs)
    if pairs and alike / len(pairs) > 0.5:
        yield Issue("semantic_redundancy", "Most steps say the same.", "medium")


def _thin(steps: Sequence[Step]) -> Iterator[Issue]:
    short = sum(len(it.content.strip()) < 20 for it in steps)
    if short / len(steps) > 0.3:
        yield Issue("trivial_content", "Many steps say next to nothing.", "low")
    if len(steps) > 3 and len({it.type for it in steps}) == 1:
        yield Issue("low_diversity", "All steps are of one type.", "low")


SUGGESTIONS = {
    "empty_trace": "Write the steps down, one a line: Thought:, Action:, Observation:.",
    "reasoning_loop": "Leave out steps that are repeated.",
    "semantic_redundancy": "Say each thing once.",
    "trivial_content": "Say in each step what was done and why.",
    "low_diversity": "Tell thoughts from actions and what they showed.",
}


def _metrics(steps: Sequence[Step]) -> Metrics:
    n = len(steps)
    types = len({it.type for it in steps})
    return Metrics(
        efficiency=round(min(1.0, n / 10), 6),
        clarity=round(types / min(4, n), 6) if n else 0.0,
        completeness=round(min(1.0, n / 5), 6),
    )


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a | b else 0.0
