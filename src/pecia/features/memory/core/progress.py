"""Extracts member, task, progress, bugs and domain from a team note. Pure."""

import re
from typing import Any

from pecia.features.memory.core.tags import detect_domain

DOMAINS = ("frontend", "backend", "devops", "quality-assurance", "design")

_MEMBER = re.compile(
    r"(?:^|\b(?:by|assigned to|owner:?|team member:?)\s+)@?([A-Z][\w'-]+)"
    r"(?=\s+(?:is|has|finished|completed|fixed|works?|worked|started|reviews?|reviewed)\b|[.,;\n]|$)"
    r"|(?<![\w.])@([A-Za-z][\w-]{1,38})\b"
)
_FEATURE = re.compile(
    r"\b(?:feature|working on|implement(?:ing|ed)?|building|finish(?:ed|ing)?|complet(?:ed|ing))"
    r"\s*:?\s+(?:the\s+|a\s+)?([^.,;\n()]{3,80}?)"
    r"(?=\s+(?:feature|is|has|in|on|at|by|and|but|for|with)\b|\s*[.,;\n()]|\s*\d{1,3}\s?%|$)",
    re.IGNORECASE,
)
_COMPLETION = re.compile(r"(?<![\d.])(\d{1,3})\s?%")
_STATUS = tuple(
    (status, re.compile(pattern, re.IGNORECASE))
    for status, pattern in (
        ("blocked", r"\b(?:blocked|stuck|waiting (?:for|on))\b"),
        ("reviewing", r"\b(?:in review|under review|reviewing|code review)\b"),
        ("completed", r"\b(?:completed|finished|(?<!%\s)done|shipped|merged|released)\b"),
        ("in-progress", r"\b(?:in[- ]progress|working on|implementing|started|building|wip)\b"),
    )
)
_BUG = re.compile(
    r"\b(?:(?P<severity>critical|high|medium|low)(?:[- ](?:severity|priority))?\s+)?"
    r"(?:bug|issue|defect)\b(?:\s+(?:in|with|that|where|:)|:)?\s+(?P<what>[^.\n;]{5,200})",
    re.IGNORECASE,
)
_FIXED = re.compile(r"\b(?:fixed|solved|resolved)\b", re.IGNORECASE)
_PLACES = {
    "project": re.compile(r"\bproject\s*:?\s+[\"'`]?([\w][\w.-]{1,79})", re.IGNORECASE),
    "repository": re.compile(
        r"\b(?:repo(?:sitory)?)\s*:?\s+[\"'`]?([\w][\w./-]{1,119})|github\.com/([\w.-]+/[\w.-]+)",
        re.IGNORECASE,
    ),
    "branch": re.compile(r"\bbranch\s*:?\s+[\"'`]?([\w][\w./-]{1,119})", re.IGNORECASE),
}
_DESIGN = re.compile(r"\b(?:design|figma|mock-?ups?|wireframes?|typography)\b", re.IGNORECASE)


def extract_progress(text: str) -> dict[str, Any]:
    """Everything found in the text, under the payload's names. What is not found is absent."""
    found: dict[str, Any] = {
        "teamMember": _first(_MEMBER, text),
        "currentProgress": _progress(text),
        "bugsEncountered": _bugs(text),
        "workContext": _work(text),
        "domain": _domain(text),
    }
    return {name: it for name, it in found.items() if it}


def merge_progress(found: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The extracted fields, overridden field by field by the caller's."""
    whole = {**found}
    for name, it in given.items():
        both = isinstance(it, dict) and isinstance(whole.get(name), dict)
        whole[name] = {**whole[name], **it} if both else it
    return whole


def _progress(text: str) -> dict[str, Any]:
    completion = _COMPLETION.search(text)
    status = next((name for name, it in _STATUS if it.search(text)), None)
    feature = _FEATURE.search(text)
    found: dict[str, Any] = {
        "feature": feature[1].strip() if feature else None,
        "status": status,
        "completion": int(completion[1]) if completion and int(completion[1]) <= 100 else None,
    }
    return {name: it for name, it in found.items() if it is not None}


def _bugs(text: str) -> list[dict[str, str]]:
    return [
        {
            "description": it["what"].strip(),
            "severity": (it["severity"] or "medium").lower(),
            "status": "fixed" if _FIXED.search(_sentence(text, it.start())) else "open",
        }
        for it in list(_BUG.finditer(text))[:20]
    ]


def _sentence(text: str, at: int) -> str:
    start = max(text.rfind(".", 0, at), text.rfind("\n", 0, at)) + 1
    ends = [it for it in (text.find(".", at), text.find("\n", at)) if it >= 0]
    return text[start : min(ends, default=len(text))]


def _work(text: str) -> dict[str, str]:
    found = {name: _first(it, text) for name, it in _PLACES.items()}
    return {name: it.rstrip(".") for name, it in found.items() if it}


def _domain(text: str) -> str | None:
    if _DESIGN.search(text):
        return "design"
    found = detect_domain(text)
    return found if found in DOMAINS else None


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return next((it for it in found.groups() if it), None) if found else None
