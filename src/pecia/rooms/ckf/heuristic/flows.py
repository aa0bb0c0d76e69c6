"""What is done in an order: numbered lists, and runs of sentences that say before, after, first.

Pure. A run never crosses a title.
"""

from collections.abc import Iterator

from pecia.kernel.errors import Json
from pecia.kernel.text.span import Span
from pecia.rooms.ckf.heuristic.blocks import Shape
from pecia.rooms.ckf.heuristic.candidate import JOINED, Candidate
from pecia.rooms.ckf.heuristic.clauses import split_condition, trim
from pecia.rooms.ckf.heuristic.cues.grammar import Cue, Grammar
from pecia.rooms.ckf.heuristic.cues.kind import Kind
from pecia.rooms.ckf.heuristic.reading import ADMISSIONS, Line, Reading
from pecia.rooms.ckf.heuristic.rules import short_name

LONGEST_RUN = 40
MOST_BETWEEN = 2


def procedures(reading: Reading) -> Iterator[Candidate]:
    """A procedure for each run, and a playbook where the run says when to begin."""
    for intro, run in _runs(reading):
        procedure = _procedure(reading, intro, run)
        yield procedure
        opening = run[0]
        condition = (
            split_condition(opening, reading.grammar) if Kind.CONDITION in opening.own else None
        )
        if condition and len(run) > 1:
            yield _playbook(procedure, condition.opened, run)


def _runs(reading: Reading) -> Iterator[tuple[Line | None, list[Line]]]:
    """Runs of steps, each with the line that introduces it.

    A sentence or two between steps of one paragraph belong to the run.
    """
    run: list[Line] = []
    between: list[Line] = []
    intro: Line | None = None
    before: Line | None = None
    for line in reading.lines:
        closed = bool(run) and _closes(run[-1], reading.grammar)
        if run and not closed and len(run) < LONGEST_RUN and _goes_on(run[-1], line):
            run += [*between, line]
            between = []
        elif not closed and len(between) < MOST_BETWEEN and _may_bridge(run, line):
            between.append(line)
        else:
            if run:
                yield _introduced(intro, run)
            between = []
            run, intro = ([line], before) if _begins(line) else ([], None)
        before = line
    if run:
        yield _introduced(intro, run)


def _closes(line: Line, grammar: Grammar) -> bool:
    """`Finally, …` says that no step follows; a list says so by its end."""
    return line.block.shape is not Shape.ITEM and any(
        it.words in grammar.closing for it in line.cues
    )


def _may_bridge(run: list[Line], line: Line) -> bool:
    return bool(run) and line.tells and line.block is run[-1].block and _is_marked(run[-1])


def _introduced(intro: Line | None, run: list[Line]) -> tuple[Line | None, list[Line]]:
    """A first sentence that only announces the steps introduces them."""
    if len(run) > 2 and any(it.names and Kind.SEQUENCE in it.kinds for it in run[0].cues):
        return run[0], run[1:]
    return intro, run


def _begins(line: Line) -> bool:
    return line.tells and (line.block.ordinal or is_step(line))


def is_step(line: Line) -> bool:
    """Whether the sentence says when, among other acts, something is done."""
    if not line.own.isdisjoint(ADMISSIONS):
        return False
    if Kind.SEQUENCE in line.kinds:
        return True
    if Kind.ORDER in line.own and Kind.TEMPORAL not in line.own and line.own & _DUTIES:
        return True
    return any(Kind.ORDINAL in it.kinds and _stands_alone(line, it) for it in line.cues)


def _stands_alone(line: Line, cue: Cue) -> bool:
    """An ordinal opens or closes a clause; `the first dose` does neither."""
    start, end = cue.start - line.span.start, cue.end - line.span.start
    closes = line.text[end : end + 1] in ",;.:"
    return closes or start <= 2 or line.text[:start].rstrip()[-1:] in ",;:"


def _is_marked(line: Line) -> bool:
    """A step that says so with its first word."""
    return line.block.ordinal or any(
        it.start - line.span.start <= 2 and it.kinds & _STEPS for it in line.cues
    )


def _goes_on(last: Line, line: Line) -> bool:
    if line.part != last.part or not _begins(line):
        return False
    if last.block.shape is Shape.ITEM:
        return line.block.shape is Shape.ITEM and line.block.ordinal == last.block.ordinal
    return line.block is last.block or is_step(line)


def _procedure(reading: Reading, intro: Line | None, run: list[Line]) -> Candidate:
    part = reading.parts[run[0].part]
    name = part.title or (intro.text if intro and intro.text.endswith(":") else run[0].text)
    steps: list[Json] = [
        {"step": number, "action": trim(it.text) or it.text} for number, it in enumerate(run, 1)
    ]
    fields: dict[str, Json] = {"name": short_name(name) or name, "steps": steps}
    if intro and intro.part == run[0].part and not intro.title:
        fields["objective"] = trim(intro.text)
    whole = _whole(reading, run)
    return Candidate("procedures", f"{name} {whole.text}", fields, (whole,))


def _playbook(procedure: Candidate, context: str, run: list[Line]) -> Candidate:
    steps: list[Json] = [trim(it.text) or it.text for it in run]
    fields: dict[str, Json] = {
        "name": procedure.fields["name"],
        "activation_context": context,
        "steps": steps,
    }
    return Candidate("playbooks", procedure.words, fields, procedure.lines, "inferred", JOINED)


def _whole(reading: Reading, run: list[Line]) -> Line:
    """The run as one quotation: its steps stand one after the other."""
    span = Span(run[0].span.start, run[-1].span.end)
    return Line(span.of(reading.text), span, run[0].block, False, False, run[0].part)


_STEPS = frozenset({Kind.SEQUENCE, Kind.ORDINAL})
_DUTIES = frozenset({Kind.OBLIGATION, Kind.PROHIBITION, Kind.PERMISSION})
