"""Procedures: numbered lists, and runs of sentences with `first`, `before`, `after`.

Pure. A run never crosses a title.
"""

from collections.abc import Iterator

from pecia.features.ckf.heuristic.candidate import JOINED_CONFIDENCE, ItemCandidate
from pecia.features.ckf.heuristic.cues.grammar import Cue, Grammar
from pecia.features.ckf.heuristic.cues.kind import CueKind
from pecia.features.ckf.heuristic.extract.rules import make_short_name
from pecia.features.ckf.heuristic.parse.blocks import BlockShape
from pecia.features.ckf.heuristic.parse.clauses import split_condition, split_order, trim_clause
from pecia.features.ckf.heuristic.parse.text import ADMISSIONS, ParsedText, Sentence
from pecia.kernel.errors import Json
from pecia.kernel.text.span import Span

MAX_RUN_STEPS = 40
MAX_GAP = 2


def extract_procedures(parsed: ParsedText) -> Iterator[ItemCandidate]:
    """A procedure for each run, and a playbook if the run states when to begin."""
    for intro, run in _runs(parsed):
        procedure = _procedure(parsed, intro, run)
        if procedure is None:
            continue
        yield procedure
        opening = run[0]
        condition = (
            split_condition(opening, parsed.grammar) if CueKind.CONDITION in opening.own else None
        )
        if condition and len(run) > 1:
            yield _playbook(procedure, condition.opened, run)


def _runs(parsed: ParsedText) -> Iterator[tuple[Sentence | None, list[Sentence]]]:
    """Runs of steps, each with the line that introduces it.

    One or two sentences between steps of a paragraph belong to the run.
    """
    run: list[Sentence] = []
    between: list[Sentence] = []
    intro: Sentence | None = None
    before: Sentence | None = None
    for line in parsed.lines:
        closed = bool(run) and _closes(run[-1], parsed.grammar)
        if run and not closed and len(run) < MAX_RUN_STEPS and _goes_on(run[-1], line):
            run += [*between, line]
            between = []
        elif not closed and len(between) < MAX_GAP and _may_bridge(run, line):
            between.append(line)
        else:
            if run:
                yield _split_introduction(intro, run)
            between = []
            run, intro = ([line], before) if _begins(line) else ([], None)
        before = line
    if run:
        yield _split_introduction(intro, run)


def _closes(line: Sentence, grammar: Grammar) -> bool:
    """Whether this is the last step: `Finally, …`, or the end of a list."""
    return line.block.shape is not BlockShape.ITEM and any(
        it.words in grammar.closing for it in line.cues
    )


def _may_bridge(run: list[Sentence], line: Sentence) -> bool:
    return bool(run) and line.is_statement and line.block is run[-1].block and _is_marked(run[-1])


def _split_introduction(
    intro: Sentence | None, run: list[Sentence]
) -> tuple[Sentence | None, list[Sentence]]:
    """Separate a first sentence that only introduces the steps."""
    if len(run) > 2 and any(it.names and CueKind.SEQUENCE in it.kinds for it in run[0].cues):
        return run[0], run[1:]
    return intro, run


def _begins(line: Sentence) -> bool:
    return line.is_statement and (line.block.ordinal or is_step(line))


def is_step(line: Sentence) -> bool:
    """Whether the sentence places an action in an order of actions."""
    if not line.own.isdisjoint(ADMISSIONS):
        return False
    if CueKind.SEQUENCE in line.kinds:
        return True
    orders = sum(CueKind.ORDER in it.kinds for it in line.cues)
    # Beside a date, `before` and `after` order moments; two of them order acts.
    if orders > (CueKind.TEMPORAL in line.own) and line.own & _DUTIES:
        return True
    return any(CueKind.ORDINAL in it.kinds and _stands_alone(line, it) for it in line.cues)


def _stands_alone(line: Sentence, cue: Cue) -> bool:
    """Whether an ordinal opens or closes a clause; in `the first dose` it does neither."""
    start, end = cue.start - line.span.start, cue.end - line.span.start
    closes = line.text[end : end + 1] in ",;.:"
    return closes or start <= 2 or line.text[:start].rstrip()[-1:] in ",;:"


def _is_marked(line: Sentence) -> bool:
    """Whether the first word marks the sentence as a step."""
    return line.block.ordinal or any(
        it.start - line.span.start <= 2 and it.kinds & _STEPS for it in line.cues
    )


def _goes_on(last: Sentence, line: Sentence) -> bool:
    if line.part != last.part or not _begins(line):
        return False
    if last.block.shape is BlockShape.ITEM:
        return line.block.shape is BlockShape.ITEM and line.block.ordinal == last.block.ordinal
    return line.block is last.block or is_step(line)


def _procedure(
    parsed: ParsedText, intro: Sentence | None, run: list[Sentence]
) -> ItemCandidate | None:
    """A procedure has two steps at least; one sentence has them if it puts two acts in order."""
    actions = [trim_clause(it.text) or it.text for it in run]
    if len(run) == 1:
        actions = [*(split_order(run[0], parsed.grammar) or ())]
    if not actions:
        return None
    part = parsed.parts[run[0].part]
    name = part.title or (intro.text if intro and intro.text.endswith(":") else run[0].text)
    steps: list[Json] = [{"step": number, "action": it} for number, it in enumerate(actions, 1)]
    fields: dict[str, Json] = {"name": make_short_name(name) or name, "steps": steps}
    if intro and intro.part == run[0].part and not intro.title:
        fields["objective"] = trim_clause(intro.text)
    whole = _whole(parsed, run)
    return ItemCandidate("procedures", f"{name} {whole.text}", fields, (whole,))


def _playbook(procedure: ItemCandidate, context: str, run: list[Sentence]) -> ItemCandidate:
    steps: list[Json] = [trim_clause(it.text) or it.text for it in run]
    fields: dict[str, Json] = {
        "name": procedure.fields["name"],
        "activation_context": context,
        "steps": steps,
    }
    return ItemCandidate(
        "playbooks", procedure.words, fields, procedure.lines, "inferred", JOINED_CONFIDENCE
    )


def _whole(parsed: ParsedText, run: list[Sentence]) -> Sentence:
    """The run as one quotation; its steps are contiguous."""
    span = Span(run[0].span.start, run[-1].span.end)
    return Sentence(span.of(parsed.text), span, run[0].block, False, False, run[0].part)


_STEPS = frozenset({CueKind.SEQUENCE, CueKind.ORDINAL})
_DUTIES = frozenset({CueKind.OBLIGATION, CueKind.PROHIBITION, CueKind.PERMISSION})
