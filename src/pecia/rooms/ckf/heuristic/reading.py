"""A text as sentences that know what they do: the cues they carry, their heading, their section.

Pure and linear: blocks, sentences and cues are each found in one pass and then merged by place.
"""

import re
from dataclasses import dataclass, field, replace

from pecia.kernel.text.span import Span
from pecia.rooms.ckf.heuristic.blocks import Block, Shape, is_section_label, label_size, read_blocks
from pecia.rooms.ckf.heuristic.cues.grammar import Cue, Grammar
from pecia.rooms.ckf.heuristic.cues.kind import Kind
from pecia.rooms.ckf.heuristic.sentences import read_sentences


@dataclass(slots=True)
class Line:
    """One sentence. `kinds` also holds what it takes over from its title and the sentence before.

    `own` are the kinds of its own words alone.
    """

    text: str
    span: Span
    block: Block
    opens_block: bool
    title: bool
    part: int = 0
    cues: list[Cue] = field(default_factory=list[Cue])
    kinds: set[Kind] = field(default_factory=set[Kind])
    own: frozenset[Kind] = frozenset()
    # Where its first date or period stands in the text.
    time: int | None = None
    # Part of a question or its answer, which the package keeps as a pair.
    asked: bool = False

    @property
    def level(self) -> int:
        """How deep a title stands; a label within a paragraph is below every heading."""
        return self.block.level if self.block.shape is Shape.HEADING else 9

    @property
    def tells(self) -> bool:
        """Whether it is a sentence of running text that states something."""
        return not (self.title or self.asked) and self.block.shape in (Shape.PARAGRAPH, Shape.ITEM)

    def has(self, *kinds: Kind) -> bool:
        return not self.kinds.isdisjoint(kinds)

    def first(self, *kinds: Kind) -> Cue | None:
        """The first cue of any of these kinds at which the sentence can be cut."""
        for it in self.cues:
            if not it.names and not it.kinds.isdisjoint(kinds):
                return it
        return None


@dataclass(frozen=True, slots=True)
class Place:
    span: Span
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class Part:
    """What stands under one title, down to the next."""

    number: int
    ref: str
    title: str
    path: str
    place: Place


@dataclass(frozen=True, slots=True)
class Reading:
    text: str
    lowered: str
    grammar: Grammar
    blocks: list[Block]
    lines: list[Line]
    parts: list[Part]


def read_text(text: str, lowered: str, grammar: Grammar) -> Reading:
    """Everything that can be said of the text without deciding what to keep."""
    blocks = read_blocks(text)
    lines = _lines(text, lowered, blocks, grammar)
    parts = _parts(text, lines)
    _give_cues(lines, lowered, grammar)
    _give_times(lines, lowered, grammar)
    _take_over(lines, grammar)
    return Reading(text, lowered, grammar, blocks, lines, parts)


def _lines(text: str, lowered: str, blocks: list[Block], grammar: Grammar) -> list[Line]:
    found: list[Line] = []
    last = -1
    for number, span in read_sentences(text, blocks):
        block, words = blocks[number], span.of(text)
        opens = number != last
        last = number
        size = label_size(words) if opens and block.body.start == block.span.start else 0
        if size and _is_sentence(lowered[span.start + size : span.end], grammar):
            label = Span(span.start, span.start + size)
            found.append(Line(label.of(text).rstrip(), label, block, True, True))
            span = Span(label.end, span.end)
            block = replace(block, shape=Shape.PARAGRAPH)
            found.append(Line(span.of(text), span, block, False, False))
            continue
        title = bool(clean_title(words)) and (
            block.shape is Shape.HEADING
            or (opens and span.size <= LONGEST_TITLE and is_section_label(words))
        )
        found.append(Line(words, span, block, opens, title))
    return found


def _is_sentence(words: str, grammar: Grammar) -> bool:
    """Whether what follows a label says something of its own, and is not the label's title."""
    if len(words.split()) >= SENTENCE_WORDS:
        return True
    return any(not it.names and not it.kinds.isdisjoint(_DUTIES) for it in grammar.find(words))


def _parts(text: str, lines: list[Line]) -> list[Part]:
    """A part begins at every title; what stands before the first is a part of its own."""
    starts = [at for at, it in enumerate(lines) if it.title]
    if not starts or starts[0] != 0:
        starts.insert(0, 0)
    above: list[tuple[int, str]] = []
    found: list[Part] = []
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
        found.append(Part(number, f"s_{number + 1:03}", title, path, _around(members)))
    return found


def _around(members: list[Line]) -> Place:
    first, last = members[0].block, members[-1].block
    return Place(Span(first.span.start, members[-1].span.end), first.first_line, last.last_line)


def clean_title(words: str) -> str:
    """A heading without its closing marks, on one line."""
    return " ".join(words.strip("#*_ \t").rstrip(".:").split())[:LONGEST_TITLE]


def _give_cues(lines: list[Line], lowered: str, grammar: Grammar) -> None:
    """Both are in the order of the text, so one walk along both is enough."""
    at, count = 0, len(lines)
    for cue in grammar.find(lowered):
        while at < count and lines[at].span.end <= cue.start:
            at += 1
        if at == count:
            break
        if lines[at].span.start <= cue.start:
            lines[at].cues.append(cue)
            lines[at].kinds |= cue.kinds


def _give_times(lines: list[Line], lowered: str, grammar: Grammar) -> None:
    at, count = 0, len(lines)
    for place in grammar.times_in(lowered):
        while at < count and lines[at].span.end <= place:
            at += 1
        if at == count:
            break
        if lines[at].span.start <= place:
            lines[at].kinds.add(Kind.TEMPORAL)
            if lines[at].time is None:
                lines[at].time = place


def _take_over(lines: list[Line], grammar: Grammar) -> None:
    """A title speaks for its part, and a sentence that points back continues the one before."""
    titled: set[Kind] = set()
    before: Line | None = None
    for line in lines:
        if _opens_scope(line, grammar):
            line.kinds.add(Kind.SCOPE)
        if Kind.PERMISSION in line.kinds and _first_word(line) in grammar.nobody:
            line.kinds.add(Kind.PROHIBITION)
        line.own = frozenset(line.kinds)
        if line.title:
            titled = line.kinds & FROM_TITLE
            before = None
            continue
        if _denies(line):
            line.kinds.add(Kind.EXCEPTION)
        if line.own.isdisjoint(ADMISSIONS):
            line.kinds |= titled
        if before and before.part == line.part and _points_back(line, grammar):
            line.kinds |= before.kinds & CARRIED
        before = line


def _opens_scope(line: Line, grammar: Grammar) -> bool:
    """`For films and games, …` says for what the rest holds."""
    return _first_word(line) in grammar.scoping and ", " in line.text


def _denies(line: Line) -> bool:
    """`But they do not …`, `it does not run during …`, `below zero, half instead of all`.

    Each takes back a rule for a case.
    """
    if not line.own.isdisjoint(ADMISSIONS):
        return False
    if Kind.SUBSTITUTE in line.own and not line.own.isdisjoint(_CIRCUMSTANCES):
        return True
    if Kind.CONTRAST in line.own:
        return not line.own.isdisjoint(_DENIALS)
    denial = next((it for it in line.cues if Kind.NEGATION in it.kinds), None)
    return denial is not None and any(
        it.start > denial.start and not it.kinds.isdisjoint(_CASES) for it in line.cues
    )


def _points_back(line: Line, grammar: Grammar) -> bool:
    return not line.opens_block and _first_word(line) in grammar.anaphora


def _first_word(line: Line) -> str:
    word = _FIRST_WORD.match(line.text)
    return word[0].lower() if word else ""


LONGEST_TITLE = 120
SENTENCE_WORDS = 8
_DUTIES = frozenset({Kind.OBLIGATION, Kind.PROHIBITION, Kind.PERMISSION})
FROM_TITLE = frozenset(
    {Kind.EXCEPTION, Kind.OVERRIDE, Kind.SCOPE, Kind.PRECONDITION, Kind.SEQUENCE}
)
CARRIED = FROM_TITLE | {Kind.TEMPORAL, Kind.PROHIBITION}
_DENIALS = frozenset({Kind.NEGATION, Kind.PROHIBITION})
_CASES = frozenset({Kind.CONDITION, Kind.CASE})
_CIRCUMSTANCES = _CASES | {Kind.SCOPE, Kind.TEMPORAL}
# What a text admits about itself is no rule, even under a title that announces rules.
ADMISSIONS = frozenset({Kind.GAP, Kind.ASSUMPTION, Kind.DISPUTE, Kind.HEDGE, Kind.OPINION})
_FIRST_WORD = re.compile(r"[^\W\d_]+")
