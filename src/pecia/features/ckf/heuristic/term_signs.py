"""Signs that a block is a term with its meaning, from its layout and its neighbours. Pure, linear.

A glossary repeats one form block by block, often below a title or a sentence that announces it.
"""

import re
from collections.abc import Iterator

from pecia.features.ckf.heuristic.cues.forms import COPULA, DEFINITIONS_TITLE
from pecia.features.ckf.heuristic.cues.kind import CueKind
from pecia.features.ckf.heuristic.cues.term_forms import (
    ANNOUNCES,
    BARE_TERM_FIRST,
    DESCRIPTION,
    GENUS,
    GLOSSARY_TITLE,
    INDEFINITE_FIRST,
    LISTED_MEANING,
    LISTED_TERM_FIRST,
    MARKED_TERM_FIRST,
    PLAIN_TERM_FIRST,
    QUOTED_ACT_MEANS,
    QUOTED_MEANS,
    QUOTED_TERM_FIRST,
    REFERENCE_MEANS,
    SENSE_MEANS,
)
from pecia.features.ckf.heuristic.parse.blocks import BlockShape
from pecia.features.ckf.heuristic.parse.text import ParsedText, Sentence

# A term is at most so many words; a longer line is a sentence or its title.
MAX_TERM_WORDS = 6
MAX_ANNOUNCE_CHARS = 240
# How many blocks before and after can repeat the form of this one.
NEAR_BLOCKS = 3
MIN_RUN, MAX_RUN = 2, 3
_HEAD_CHARS = 160
_MEANS_CHARS = 320
_QUOTES = frozenset("\"“”„«‘'")


def iter_term_signs(parsed: ParsedText) -> Iterator[tuple[str, ...]]:
    """The signs of every sentence, in order."""
    lines = parsed.lines
    forms = [_term_form(it) for it in lines]
    runs = _count_runs(lines, forms)
    glossary = _is_glossary(parsed)
    titled = {it.number: glossary or _is_announced_by(it.path) for it in parsed.parts}
    announced_part = -1
    before: Sentence | None = None
    for at, line in enumerate(lines):
        if not line.is_statement:
            yield ()
            before = line
            continue
        announced = titled[line.part] or announced_part == line.part
        yield tuple(_signs(line, forms[at], runs[at], before, announced=announced))
        if announces_terms(line):
            announced_part = line.part
        before = line


def _signs(
    line: Sentence, form: str, run: int, before: Sentence | None, *, announced: bool
) -> Iterator[str]:
    duty = not line.own.isdisjoint(_DUTIES)
    noun = INDEFINITE_FIRST.match(line.text) is not None
    if _means(line.text) or (announced and _is_entry(line, form)):
        yield "sure_term"
        yield "sure_term&duty" if duty else "sure_term&no_duty"
    if announced:
        yield from _announced_signs(line, duty=duty, noun=noun)
    if form:
        yield from _form_signs(form, run, announced=announced, duty=duty)
    if line.opens_block and before is not None and heads_meaning(before):
        yield "below_term"
        if noun:
            yield "below_term&noun_first"
        if announced and _is_long(line):
            yield "below_term&announced"
    if GENUS.match(line.text[:_HEAD_CHARS]):
        yield "genus"
        yield f"genus&{'opens' if line.opens_block else 'goes_on'}"
        yield "genus&duty" if duty else "genus&no_duty"
    if announces_terms(line):
        yield "announces"


def _is_glossary(parsed: ParsedText) -> bool:
    """Whether the title at the head of the text calls all of it a glossary."""
    named = _FRONT_TITLE.match(parsed.text)
    first = next((it.title for it in parsed.parts if it.title), "")
    return GLOSSARY_TITLE.search(named[1] if named else first) is not None


def _announced_signs(line: Sentence, *, duty: bool, noun: bool) -> Iterator[str]:
    yield "announced"
    yield f"announced&shape:{line.block.shape.value}"
    if line.opens_block:
        yield "announced&opens"
    if duty:
        yield "announced&duty"
    if noun:
        yield "announced&noun_first"
    if COPULA.match(line.text[:_HEAD_CHARS].lower()):
        yield "announced&copula"


def _form_signs(form: str, run: int, *, announced: bool, duty: bool) -> Iterator[str]:
    name, describes = form.rstrip("+"), form.endswith("+")
    yield "term"
    yield f"term:{name}"
    yield f"term_run:{run}"
    if describes:
        yield "term&describes"
        yield f"term:{name}&describes"
        if run >= MIN_RUN:
            yield "term_run&describes"
    if announced:
        yield "term&announced"
    if duty:
        yield "term&duty"


def _means(text: str) -> bool:
    """Whether it says of a quoted term, or of a reference, what it means."""
    head = text[:_MEANS_CHARS]
    quoted, sense, refers = not _QUOTES.isdisjoint(head), "inne" in head, "eferenc" in head
    if not (quoted or sense or refers):
        return False
    head = " ".join(head.split())
    return (
        (quoted and any(it.match(head) for it in (QUOTED_MEANS, QUOTED_ACT_MEANS)))
        or (sense and SENSE_MEANS.search(head) is not None)
        or (refers and REFERENCE_MEANS.match(head) is not None)
    )


def _is_entry(line: Sentence, form: str) -> bool:
    """Whether a block in a list of terms is a term with its description."""
    if form:
        return form.endswith("+") or form.rstrip("+") != "plain"
    head = line.text[:_HEAD_CHARS]
    return line.opens_block and line.block.shape is BlockShape.ITEM and _is_bare_entry(head)


def _is_long(line: Sentence) -> bool:
    return len(line.text.split(None, MAX_TERM_WORDS)) > MAX_TERM_WORDS and line.text[-1] != ":"


def _is_bare_entry(head: str) -> bool:
    return BARE_TERM_FIRST.match(head) is not None


def _term_form(line: Sentence) -> str:
    """The form of a term at the start of a block, with `+` where a description follows; or ``."""
    if not (line.opens_block and line.is_statement):
        return ""
    head = line.text[:_HEAD_CHARS]
    for name, pattern in _FORMS:
        found = pattern.match(head)
        if found:
            rest = head[found.end() :].lstrip(" \u00a0:–—-*_`\t\n")
            return f"{name}+" if DESCRIPTION.match(rest) else name
    return ""


def _count_runs(lines: list[Sentence], forms: list[str]) -> list[int]:
    """For each block with a term, how many blocks near it have one of the same form."""
    found = [0] * len(lines)
    opening = [at for at, it in enumerate(lines) if it.opens_block and it.is_statement]
    names = [forms[at].rstrip("+") for at in opening]
    for place, at in enumerate(opening):
        if names[place]:
            near = names[max(0, place - NEAR_BLOCKS) : place + NEAR_BLOCKS + 1]
            found[at] = min(MAX_RUN, near.count(names[place]) - 1)
    return found


def heads_meaning(line: Sentence) -> bool:
    """Whether it is a term alone, as a title or a line of its own."""
    if not (line.title or (line.opens_block and line.block.shape in _ALONE)):
        return False
    text = line.text.strip("*_`# :")
    if not text or text[-1] in ".!?;," or len(line.text) > _HEAD_CHARS:
        return False
    return len(text.split(None, MAX_TERM_WORDS)) <= MAX_TERM_WORDS and not text[0].isdecimal()


def announces_terms(line: Sentence) -> bool:
    """Whether it says that terms follow, and defines none itself."""
    if len(line.text) > MAX_ANNOUNCE_CHARS or line.text[-1] not in ":—-,":
        return False
    return ANNOUNCES.search(line.text) is not None


def _is_announced_by(path: str) -> bool:
    lowered = path.lower()
    return DEFINITIONS_TITLE.search(lowered) is not None or ANNOUNCES.search(lowered) is not None


_FORMS = (
    ("listed", LISTED_TERM_FIRST),
    ("meaning", LISTED_MEANING),
    ("quoted", QUOTED_TERM_FIRST),
    ("marked", MARKED_TERM_FIRST),
    ("plain", PLAIN_TERM_FIRST),
)
_FRONT_TITLE = re.compile(r"---\n(?:[^\n]*\n){0,20}?title:[ \t]*([^\n]+)", re.IGNORECASE)
_ALONE = frozenset({BlockShape.PARAGRAPH, BlockShape.ITEM})
_DUTIES = frozenset({CueKind.OBLIGATION, CueKind.PROHIBITION, CueKind.PERMISSION})
