"""Neighbouring sentences of one kind made into one item, where every item costs. Pure."""

from pecia.rooms.ckf.heuristic.candidate import Candidate
from pecia.rooms.ckf.heuristic.reading import Line

LONGEST = 600


def joined(candidates: list[Candidate]) -> list[Candidate]:
    """Sentences that follow each other in one paragraph share an item, an id and a trace row."""
    found: list[Candidate] = []
    last_by_section: dict[str, Candidate] = {}
    for it in candidates:
        last = last_by_section.get(it.section)
        if last and it.section in _SAYS and _follows(last.lines[-1], it.lines[-1]):
            _extend(last, it)
            continue
        last_by_section[it.section] = it
        found.append(it)
    return found


def _follows(last: Line, line: Line) -> bool:
    if last.block is not line.block or line.span.end - last.span.start > LONGEST:
        return False
    # Only white space lies between them when the next begins within two characters.
    return 0 <= line.span.start - last.span.end <= 2


def _extend(first: Candidate, other: Candidate) -> None:
    last, line = first.lines[-1], other.lines[-1]
    between = " " * (line.span.start - last.span.end)
    text = f"{last.text}{between}{line.text}"
    span = type(last.span)(last.span.start, line.span.end)
    whole = Line(text, span, last.block, last.opens_block, False, last.part)
    first.lines = (*first.lines[:-1], whole)
    first.fields[_SAYS[first.section]] = text


# The field of each section that can hold several sentences.
_SAYS = {
    "exceptions": "exception_case",
    "anti_patterns": "description",
    "principles": "statement",
    "decision_rules": "decision",
    "if_then_rules": "then",
}
