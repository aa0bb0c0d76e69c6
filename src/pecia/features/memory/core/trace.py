"""Extracts reasoning steps from a text. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

StepType: TypeAlias = Literal[
    "thought", "action", "observation", "decision", "conclusion", "reflection"
]
Complexity: TypeAlias = Literal["low", "medium", "high"]

MIN_LINE_CHARS = 10
LOW, MEDIUM = 50, 200

_EXPLICIT = re.compile(
    r"^\s*#*\s*\**(thought|action|observation|decision|conclusion|result|reflection)\**\s*:\**\s*(.*)$",
    re.IGNORECASE,
)
_CUES: tuple[tuple[StepType, re.Pattern[str]], ...] = (
    (
        "reflection",
        re.compile(r"\b(?:in hindsight|looking back|lesson|learnt|learned that)\b", re.I),
    ),
    ("conclusion", re.compile(r"\b(?:therefore|in conclusion|so the|finally|this means)\b", re.I)),
    ("decision", re.compile(r"\b(?:decided?|chose|choose|we will go|opted?|instead of)\b", re.I)),
    (
        "observation",
        re.compile(r"\b(?:i see|noticed?|observed?|found that|shows? that|turns out)\b", re.I),
    ),
    (
        "action",
        re.compile(r"\b(?:i will|let me|let's|then i|i ran|i tried|implement|next step)\b", re.I),
    ),
    (
        "thought",
        re.compile(r"\b(?:i think|maybe|perhaps|because|consider|should|need to|if we)\b", re.I),
    ),
)


@dataclass(frozen=True, slots=True)
class TraceStep:
    type: StepType
    content: str


@dataclass(frozen=True, slots=True)
class ExtractedSteps:
    steps: tuple[TraceStep, ...]
    explicit: bool


def extract_steps(text: str, *, explicit: bool, implicit: bool) -> ExtractedSteps:
    """Marked steps; only without any, lines that read like steps."""
    marked = tuple(_explicit_steps(text)) if explicit else ()
    if marked or not implicit:
        return ExtractedSteps(marked, bool(marked))
    return ExtractedSteps(tuple(_implicit_steps(text)), False)


def complexity_of(text: str) -> Complexity:
    words = len(text.split())
    return "low" if words < LOW else "medium" if words < MEDIUM else "high"


def task_type_of(text: str) -> str | None:
    """The first task type whose keywords are in the text."""
    return next((name for name, it in _TASKS if it.search(text)), None)


_TASKS = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("debugging", r"\b(?:debug|bugs?|fix(?:e[sd]|ing)?|errors?|crash|fails?|failing)\b"),
        ("testing", r"\b(?:tests?|testing|coverage)\b"),
        ("refactoring", r"\b(?:refactor|clean ?up|rename|simplif(?:y|ied))\b"),
        ("optimization", r"\b(?:optimi[sz]e|performance|faster|slow|latency)\b"),
        ("code_generation", r"\b(?:implement|write|build|create|add|generate)\b"),
        ("analysis", r"\b(?:analy[sz]e|explain|understand|compare|investigate)\b"),
    )
)


def _explicit_steps(text: str) -> Iterator[TraceStep]:
    """A step extends to the next mark: the lines below it belong to it."""
    kind, lines = "", list[str]()
    for line in text.splitlines():
        found = _EXPLICIT.match(line)
        if not found:
            lines.append(line)
            continue
        yield from _step(kind, lines)
        kind, lines = found[1].lower(), [found[2]]
    yield from _step(kind, lines)


def _step(kind: str, lines: list[str]) -> Iterator[TraceStep]:
    content = "\n".join(lines).strip()
    if kind and content:
        yield TraceStep(_TYPES[kind], content)


_TYPES: dict[str, StepType] = {
    "thought": "thought",
    "action": "action",
    "observation": "observation",
    "decision": "decision",
    "conclusion": "conclusion",
    "result": "conclusion",
    "reflection": "reflection",
}


def _implicit_steps(text: str) -> Iterator[TraceStep]:
    for line in text.splitlines():
        plain = line.strip()
        if len(plain) >= MIN_LINE_CHARS:
            kinds: list[StepType] = [kind for kind, cue in _CUES if cue.search(plain)]
            if kinds:
                yield TraceStep(kinds[0], plain)
