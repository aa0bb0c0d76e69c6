"""Parses a model's verdict leniently. Pure: the answer is untrusted data.

Tried in order: the whole answer as JSON, its first balanced object, any object in it, the words
`operation` and `confidence` with values, a bare word. Anything else is no verdict.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from pecia.features.memory.model import MemoryEvent

# Longer answers are not parsed.
MAX_ANSWER_CHARS = 20_000
MAX_OBJECTS = 50
DEFAULT_CONFIDENCE = 0.7
KEYWORD_CONFIDENCE = 0.6

_OPERATION = re.compile(r"\boperation\b\W{0,5}(ADD|UPDATE|DELETE|NONE)\b", re.IGNORECASE)
_CONFIDENCE = re.compile(r"\bconfidence\b\W{0,5}([01](?:\.\d+)?|\.\d+)", re.IGNORECASE)
_TARGET = re.compile(r"\btargetMemoryId\b\W{0,5}([\w-]{1,64})", re.IGNORECASE)
_KEYWORD = re.compile(r"\b(ADD|UPDATE|DELETE|NONE)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ModelVerdict:
    """`target` is the id that the model named; whether it exists is not checked here."""

    event: MemoryEvent
    confidence: float
    target: str | None = None


def parse_verdict(answer: str) -> ModelVerdict | None:
    """The verdict in an answer, None where there is none."""
    if len(answer) > MAX_ANSWER_CHARS:
        return None
    for found in _objects(answer):
        verdict = _parse_object(found)
        if verdict:
            return verdict
    return _parse_words(answer)


def _objects(answer: str) -> Iterator[dict[str, Any]]:
    """The whole answer, then every object in it, in order."""
    for text in (answer, *_balanced_spans(answer)):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield cast(dict[str, Any], found)


def _balanced_spans(answer: str) -> Iterator[str]:
    """Spans from a brace to its closing brace, outermost first."""
    starts = [it.start() for it in re.finditer(r"\{", answer)][:MAX_OBJECTS]
    for start in starts:
        end = _find_closing_brace(answer, start)
        if end is not None:
            yield answer[start : end + 1]


def _find_closing_brace(text: str, start: int) -> int | None:
    depth, quoted, escaped = 0, False, False
    for at in range(start, len(text)):
        sign = text[at]
        if escaped:
            escaped = False
        elif sign == "\\":
            escaped = quoted
        elif sign == '"':
            quoted = not quoted
        elif not quoted and sign in "{}":
            depth += 1 if sign == "{" else -1
            if depth == 0:
                return at
    return None


def _parse_object(found: dict[str, Any]) -> ModelVerdict | None:
    event = _event(found.get("operation") or found.get("event") or found.get("action"))
    if event is None:
        return None
    return ModelVerdict(
        event, _clamp_confidence(found.get("confidence")), _target(found.get("targetMemoryId"))
    )


def _parse_words(answer: str) -> ModelVerdict | None:
    if operation := _OPERATION.search(answer):
        stated, target = _CONFIDENCE.search(answer), _TARGET.search(answer)
        confidence = _clamp_confidence(float(stated[1])) if stated else DEFAULT_CONFIDENCE
        named = target[1] if target and target[1] != "null" else None
        return ModelVerdict(MemoryEvent(operation[1].upper()), confidence, named)
    words = {it.upper() for it in _KEYWORD.findall(answer)}
    # Several words are no verdict: "do not delete, update" is ambiguous.
    return ModelVerdict(MemoryEvent(words.pop()), KEYWORD_CONFIDENCE) if len(words) == 1 else None


def _event(value: object) -> MemoryEvent | None:
    if isinstance(value, str) and value.strip().upper() in MemoryEvent.__members__:
        return MemoryEvent(value.strip().upper())
    return None


def _clamp_confidence(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return DEFAULT_CONFIDENCE
    return min(1.0, max(0.0, float(value)))


def _target(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    return str(value)[:64] or None
