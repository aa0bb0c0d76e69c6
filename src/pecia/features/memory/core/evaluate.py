"""Scores a reasoning trace by deterministic rules. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

from pecia.features.memory.core.trace import TraceStep

IssueSeverity: TypeAlias = Literal["low", "medium", "high"]

COST: dict[IssueSeverity, float] = {"high": 0.3, "medium": 0.2, "low": 0.1}
MIN_STORED_SCORE = 0.4
LOOP_SIMILARITY = 0.7
# Pairs are quadratic in the steps: of very long traces only the beginning is compared.
MAX_COMPARED_STEPS = 100


@dataclass(frozen=True, slots=True)
class TraceIssue:
    type: str
    description: str
    severity: IssueSeverity


@dataclass(frozen=True, slots=True)
class TraceMetrics:
    efficiency: float
    clarity: float
    completeness: float


@dataclass(frozen=True, slots=True)
class TraceEvaluation:
    quality_score: float
    issues: tuple[TraceIssue, ...]
    suggestions: tuple[str, ...]
    should_store: bool
    metrics: TraceMetrics


@dataclass(frozen=True, slots=True)
class TraceChecks:
    """Which checks to run."""

    efficiency: bool = True
    loops: bool = True
    suggestions: bool = True


def evaluate_trace(
    steps: Sequence[TraceStep], checks: TraceChecks | None = None
) -> TraceEvaluation:
    """The score, the issues, and whether the trace is worth storing."""
    wanted = checks or TraceChecks()
    issues = tuple(_find_issues(steps, wanted))
    score = score_issues(issues)
    return TraceEvaluation(
        score,
        issues,
        tuple(SUGGESTIONS[it.type] for it in issues) if wanted.suggestions else (),
        is_worth_storing(score, issues),
        _compute_metrics(steps),
    )


def score_issues(issues: Sequence[TraceIssue]) -> float:
    return round(max(0.0, 1.0 - sum(COST[it.severity] for it in issues)), 6)


def is_worth_storing(score: float, issues: Sequence[TraceIssue]) -> bool:
    return score >= MIN_STORED_SCORE and all(it.severity != "high" for it in issues)


def _find_issues(steps: Sequence[TraceStep], checks: TraceChecks) -> Iterator[TraceIssue]:
    if not steps:
        yield TraceIssue("empty_trace", "The trace has no steps.", "high")
        return
    if checks.loops:
        yield from _find_loops(steps)
    if checks.efficiency:
        yield from _find_thin_steps(steps)


def _find_loops(steps: Sequence[TraceStep]) -> Iterator[TraceIssue]:
    contents = [(it.type, " ".join(it.content.split()).casefold()) for it in steps]
    if len(set(contents)) < len(contents):
        yield TraceIssue("reasoning_loop", "A step is repeated.", "medium")
    words = [frozenset(text.split()) for _, text in contents[:MAX_COMPARED_STEPS]]
    pairs = list(combinations(words, 2))
    alike = sum(_jaccard(a, b) > LOOP_SIMILARITY for a, b in pairs)
    if pairs and alike / len(pairs) > 0.5:
        yield TraceIssue("semantic_redundancy", "Most steps say the same.", "medium")


def _find_thin_steps(steps: Sequence[TraceStep]) -> Iterator[TraceIssue]:
    short = sum(len(it.content.strip()) < 20 for it in steps)
    if short / len(steps) > 0.3:
        yield TraceIssue("trivial_content", "Many steps have almost no content.", "low")
    if len(steps) > 3 and len({it.type for it in steps}) == 1:
        yield TraceIssue("low_diversity", "All steps are of one type.", "low")


SUGGESTIONS = {
    "empty_trace": "Write one step per line: Thought:, Action:, Observation:.",
    "reasoning_loop": "Remove repeated steps.",
    "semantic_redundancy": "Say each thing once.",
    "trivial_content": "Say in each step what was done and why.",
    "low_diversity": "Separate thoughts, actions and observations.",
}


def _compute_metrics(steps: Sequence[TraceStep]) -> TraceMetrics:
    n = len(steps)
    types = len({it.type for it in steps})
    return TraceMetrics(
        efficiency=round(min(1.0, n / 10), 6),
        clarity=round(types / min(4, n), 6) if n else 0.0,
        completeness=round(min(1.0, n / 5), 6),
    )


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a | b else 0.0
