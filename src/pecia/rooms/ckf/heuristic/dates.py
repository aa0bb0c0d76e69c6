"""Days that a rule is valid from or up to, as ISO dates, where its words say so. Pure."""

import re
from dataclasses import dataclass

from pecia.rooms.ckf.heuristic.cues.grammar import Grammar


@dataclass(frozen=True, slots=True)
class Validity:
    start: str = ""
    end: str = ""


def validity(lowered: str, grammar: Grammar) -> Validity:
    """From `effective 1 July 2025` and `until 30 June 2025`, in a sentence in lower case."""
    start = end = ""
    for place, day in _days(lowered, grammar):
        before = lowered[max(0, place - 24) : place]
        if not start and grammar.valid_from.search(before):
            start = day
        elif not end and grammar.valid_to.search(before):
            end = day
    return Validity(start, end)


def _days(lowered: str, grammar: Grammar) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for it in _DATE.finditer(lowered):
        if it["iso"]:
            found.append((it.start(), it["iso"]))
            continue
        name = it["month"] or it["month_first"]
        if name in grammar.months:
            month = grammar.months.index(name) + 1
            day = int(it["day"] or it["day_after"])
            year = it["year"] or it["year_after"]
            found.append((it.start(), f"{year}-{month:02}-{day:02}"))
    return found


_DATE = re.compile(
    r"(?<!\w)(?:(?P<iso>(?:19|20)\d\d-[01]\d-[0-3]\d)"
    r"|(?P<day>\d{1,2})(?:st|nd|rd|th|er|º|\.)?\s(?:de\s)?(?P<month>[^\W\d_]{3,10})\s"
    r"(?:de\s)?(?P<year>(?:19|20)\d\d)"
    r"|(?P<month_first>[^\W\d_]{3,10})\s(?P<day_after>\d{1,2})(?:st|nd|rd|th)?,?\s"
    r"(?P<year_after>(?:19|20)\d\d))(?!\w)"
)
