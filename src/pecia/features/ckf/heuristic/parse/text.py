"""A text as sentences with their cues, heading and section.

Pure and linear: blocks, sentences and cues are each found in one pass and merged by offset.
"""

import re
from dataclasses import dataclass, field, replace

from pecia.features.ckf.heuristic.cues.grammar import Cue, Grammar
from pecia.features.ckf.heuristic.cues.kind import CueKind
from pecia.features.ckf.heuristic.parse.blocks import (
    BlockShape,
    TextBlock,
    is_section_label,
    measure_label,
    parse_blocks,
)
from pecia.features.ckf.heuristic.parse.sentences import iter_sentences
from pecia.kernel.text.span import Span


@dataclass(slots=True)
class Sentence:
    """One sentence. `kinds` includes those inherited from its title and the sentence before.

    `own` has only the kinds of its own cues.
    """

    text: str
    span: Span
    block: TextBlock
    opens_block: bool
    title: bool
    part: int = 0
    cues: list[Cue] = field(default_factory=list[Cue])
    kinds: set[CueKind] = field(default_factory=set[CueKind])
    own: frozenset[CueKind] = frozenset()
    # Offset of its first date or period.
    time: int | None = None
    # Part of a question and answer pair.
    asked: bool = False

    @property
    def level(self) -> int:
        """The level of a title; a label within a paragraph is below every heading."""
        return self.block.level if self.block.shape is BlockShape.HEADING else 9

    @property
    def is_statement(self) -> bool:
        """Whether it is a statement in running text."""
        return not (self.title or self.asked) and self.block.shape in (
            BlockShape.PARAGRAPH,
            BlockShape.ITEM,
        )

    def has(self, *kinds: CueKind) -> bool:
        return not self.kinds.isdisjoint(kinds)

    def first(self, *kinds: CueKind) -> Cue | None:
        """The first cue of any of these kinds at which the sentence can be split."""
        for it in self.cues:
            if not it.names and not it.kinds.isdisjoint(kinds):
                return it
        return None


@dataclass(frozen=True, slots=True)
class LineRange:
    span: Span
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class TextSection:
    """A title and the text down to the next title."""

    number: int
    ref: str
    title: str
    path: str
    place: LineRange


@dataclass(frozen=True, slots=True)
class ParsedText:
    text: str
    lowered: str
    grammar: Grammar
    blocks: list[TextBlock]
    lines: list[Sentence]
    parts: list[TextSection]


def parse_text(text: str, lowered: str, grammar: Grammar) -> ParsedText:
    """Parse the text; nothing is selected or dropped here."""
    blocks = parse_blocks(text)
    lines = _lines(text, lowered, blocks, grammar)
    parts = _parts(text, lines)
    _assign_cues(lines, lowered, grammar)
    _assign_times(lines, lowered, grammar)
    _inherit_kinds(lines, grammar)
    return ParsedText(text, lowered, grammar, blocks, lines, parts)


def _lines(text: str, lowered: str, blocks: list[TextBlock], grammar: Grammar) -> list[Sentence]:
    found: list[Sentence] = []
    last = -1
    for number, span in iter_sentences(text, blocks):
        block, words = blocks[number], span.of(text)
        opens = number != last
        last = number
        size = measure_label(words) if opens and block.body.start == block.span.start else 0
        if size and _is_sentence(lowered[span.start + size : span.end], grammar):
            label = Span(span.start, span.start + size)
            found.append(Sentence(label.of(text).rstrip(), label, block, True, True))
            span = Span(label.end, span.end)
            block = replace(block, shape=BlockShape.PARAGRAPH)
            found.append(Sentence(span.of(text), span, block, False, False))
            continue
        title = bool(clean_title(words)) and (
            block.shape is BlockShape.HEADING
            or (opens and span.size <= MAX_TITLE_CHARS and is_section_label(words))
        )
        found.append(Sentence(words, span, block, opens, title))
    return found


def _is_sentence(words: str, grammar: Grammar) -> bool:
    """Whether a sentence follows the label, not the label's title."""
    if len(words.split()) >= MIN_SENTENCE_WORDS:
        return True
    return any(not it.names and not it.kinds.isdisjoint(_DUTIES) for it in grammar.find_cues(words))


def _parts(text: str, lines: list[Sentence]) -> list[TextSection]:
    """A section begins at every title; the text before the first one is a section too."""
    starts = [at for at, it in enumerate(lines) if it.title]
    if not starts or starts[0] != 0:
        starts.insert(0, 0)
    above: list[tuple[int, str]] = []
    found: list[TextSection] = []
    for number, (first, end) in enumerate(zip(starts, [*starts[1:], len(lines)], strict=True)):
        members = lines[first:end]
        if not members:
            break
        head = members[0]
        title = clean_title(head.text) if head.title else ""
        if title:
            while above and above[-1][0] >= head.level:
                above.pop()
            above.append((head.level, title))
        for it in members:
            it.part = number
        path = " > ".join(it for _, it in above[-4:])
        found.append(TextSection(number, f"s_{number + 1:03}", title, path, _line_range(members)))
    return found


def _line_range(members: list[Sentence]) -> LineRange:
    first, last = members[0].block, members[-1].block
    return LineRange(Span(first.span.start, members[-1].span.end), first.first_line, last.last_line)


def clean_title(words: str) -> str:
    """A heading on one line, without closing marks."""
    return " ".join(words.strip("#*_ \t").rstrip(".:").split())[:MAX_TITLE_CHARS]


def _assign_cues(lines: list[Sentence], lowered: str, grammar: Grammar) -> None:
    """Assign cues to sentences. Both are in document order, so this is one merge pass."""
    at, count = 0, len(lines)
    for cue in grammar.find_cues(lowered):
        while at < count and lines[at].span.end <= cue.start:
            at += 1
        if at == count:
            break
        if lines[at].span.start <= cue.start:
            lines[at].cues.append(cue)
            lines[at].kinds |= cue.kinds


def _assign_times(lines: list[Sentence], lowered: str, grammar: Grammar) -> None:
    at, count = 0, len(lines)
    for place in grammar.find_times(lowered):
        while at < count and lines[at].span.end <= place:
            at += 1
        if at == count:
            break
        if lines[at].span.start <= place:
            lines[at].kinds.add(CueKind.TEMPORAL)
            if lines[at].time is None:
                lines[at].time = place


def _inherit_kinds(lines: list[Sentence], grammar: Grammar) -> None:
    """Inherit kinds from the title, and from the sentence before if this one points back to it."""
    titled: set[CueKind] = set()
    before: Sentence | None = None
    for line in lines:
        if _opens_scope(line, grammar):
            line.kinds.add(CueKind.SCOPE)
        if CueKind.PERMISSION in line.kinds and _first_word(line) in grammar.nobody:
            line.kinds.add(CueKind.PROHIBITION)
        line.own = frozenset(line.kinds)
        if line.title:
            titled = line.kinds & INHERITED_FROM_TITLE
            before = None
            continue
        if _denies(line):
            line.kinds.add(CueKind.EXCEPTION)
        if line.own.isdisjoint(ADMISSIONS):
            line.kinds |= titled
        if before and before.part == line.part and _points_back(line, grammar):
            line.kinds |= before.kinds & INHERITED_FROM_SENTENCE
        before = line


def _opens_scope(line: Sentence, grammar: Grammar) -> bool:
    """Whether it opens with a scope, as in `For films and games, …`"""
    return _first_word(line) in grammar.scoping and ", " in line.text


def _denies(line: Sentence) -> bool:
    """Whether it revokes a rule for a case.

    `But they do not …`, `it does not run during …`, `below zero, half instead of all`.
    """
    if not line.own.isdisjoint(ADMISSIONS):
        return False
    if CueKind.SUBSTITUTE in line.own and not line.own.isdisjoint(_CIRCUMSTANCES):
        return True
    if CueKind.CONTRAST in line.own:
        return not line.own.isdisjoint(_DENIALS)
    denial = next((it for it in line.cues if CueKind.NEGATION in it.kinds), None)
    return denial is not None and any(
        it.start > denial.start and not it.kinds.isdisjoint(_CASES) for it in line.cues
    )


def _points_back(line: Sentence, grammar: Grammar) -> bool:
    return not line.opens_block and _first_word(line) in grammar.anaphora


def _first_word(line: Sentence) -> str:
    word = _FIRST_WORD.match(line.text)
    return word[0].lower() if word else ""


MAX_TITLE_CHARS = 120
MIN_SENTENCE_WORDS = 8
_DUTIES = frozenset({CueKind.OBLIGATION, CueKind.PROHIBITION, CueKind.PERMISSION})
INHERITED_FROM_TITLE = frozenset(
    {CueKind.EXCEPTION, CueKind.OVERRIDE, CueKind.SCOPE, CueKind.PRECONDITION, CueKind.SEQUENCE}
)
INHERITED_FROM_SENTENCE = INHERITED_FROM_TITLE | {CueKind.TEMPORAL, CueKind.PROHIBITION}
_DENIALS = frozenset({CueKind.NEGATION, CueKind.PROHIBITION})
_CASES = frozenset({CueKind.CONDITION, CueKind.CASE})
_CIRCUMSTANCES = _CASES | {CueKind.SCOPE, CueKind.TEMPORAL}
# A limit that the text states about itself is not a rule, even under a title about rules.
ADMISSIONS = frozenset(
    {CueKind.GAP, CueKind.ASSUMPTION, CueKind.DISPUTE, CueKind.HEDGE, CueKind.OPINION}
)
_FIRST_WORD = re.compile(r"[^\W\d_]+")
