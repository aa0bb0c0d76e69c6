"""Sentences as rules: what must, may and must not be, when, unless what, and why. Pure.

A sentence may make several items, because one sentence can be a duty, its condition and its limit.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pecia.kernel.errors import Json
from pecia.rooms.ckf.heuristic.candidate import Candidate, said
from pecia.rooms.ckf.heuristic.clauses import (
    Clauses,
    cut_between_words,
    limit_phrase,
    opening_phrase,
    split_cause,
    split_condition,
    trim,
)
from pecia.rooms.ckf.heuristic.cues.grammar import Grammar
from pecia.rooms.ckf.heuristic.cues.kind import Kind
from pecia.rooms.ckf.heuristic.dates import validity
from pecia.rooms.ckf.heuristic.reading import Line

SHORT_NAME = 80


@dataclass(slots=True)
class Told:
    """A sentence, and its clauses as they were cut once for all rules that may come of it."""

    line: Line
    grammar: Grammar
    phrase: Clauses | None
    condition: Clauses | None
    cause: Clauses | None


def rules_of(line: Line, grammar: Grammar) -> list[Candidate]:
    """Every rule that the sentence states by itself; exceptions are linked elsewhere."""
    makers = [make for kinds, make in _MAKERS if not line.kinds.isdisjoint(kinds)]
    if not makers:
        return []
    told = Told(
        line,
        grammar,
        opening_phrase(line, grammar),
        split_condition(line, grammar),
        split_cause(line, grammar) if line.own & _WHY else None,
    )
    made = [make(told) for make in makers]
    return [it for it in made if it]


def is_exception(line: Line) -> bool:
    """Whether the sentence takes something from a rule, or sets one rule above another."""
    return line.has(Kind.EXCEPTION, Kind.OVERRIDE)


def short_name(words: str) -> str:
    """The first words, cut between two of them."""
    return cut_between_words(" ".join(trim(words).split()), SHORT_NAME)


def _if_then(told: Told) -> Candidate | None:
    found = told.condition
    if not found:
        return None
    fields: dict[str, Json] = {"if": found.opened, "then": found.main}
    if told.cause and Kind.CAUSE in told.line.own:
        fields["because"] = told.cause.opened
    return said("if_then_rules", told.line, fields)


def _decision(told: Told) -> Candidate | None:
    """A rule that a limit, a day or a duty with its condition makes."""
    line = told.line
    limited = not line.kinds.isdisjoint(_LIMITS)
    if not limited and not (line.has(Kind.CONDITION) or told.phrase):
        return None
    found = told.condition or _around_limit(told)
    if not found:
        return None
    fields: dict[str, Json] = {"condition": found.opened, "decision": found.main}
    fields |= _limits(told)
    return said("decision_rules", line, fields)


def _around_limit(told: Told) -> Clauses | None:
    """With no condition of its own, a rule holds for what its limit names."""
    line = told.line
    cue = line.first(Kind.TEMPORAL, Kind.SCOPE, Kind.PRECONDITION)
    places = [it for it in (cue.start if cue else None, line.time) if it is not None]
    return limit_phrase(line, min(places, default=line.span.start), told.grammar)


def _limits(told: Told) -> dict[str, Json]:
    """Scope, days and tags: the fields that let rules be put together."""
    line = told.line
    found: dict[str, Json] = {}
    if told.phrase:
        found["scope"] = told.phrase.opened
    elif cue := line.first(Kind.SCOPE):
        found["scope"] = trim(line.text[cue.start - line.span.start :])
    if line.time is not None:
        days = validity(line.text.lower(), told.grammar)
        found |= {key: it for key, it in (("valid_from", days.start), ("valid_to", days.end)) if it}
    tags: list[Json] = [it.value for it in _TAGS if it in line.kinds]
    if tags:
        found["tags"] = tags
    return found


def _principle(told: Told) -> Candidate | None:
    line = told.line
    if Kind.OBLIGATION not in line.own or line.has(*_CONDITIONAL) or told.phrase:
        return None
    return Candidate("principles", line.text, {"statement": trim(line.text)}, (line,))


def _anti_pattern(told: Told) -> Candidate:
    line = told.line
    fields: dict[str, Json] = {"name": short_name(line.text), "description": line.text}
    if told.cause:
        fields["why_it_fails"] = told.cause.opened if Kind.CAUSE in line.own else told.cause.main
    if cue := line.first(Kind.CONTRAST):
        fields["replacement_behavior"] = trim(line.text[cue.start - line.span.start :])
    return Candidate("anti_patterns", line.text, fields, (line,))


def _heuristic(told: Told) -> Candidate:
    found = told.condition or _after_colon(told.line)
    trigger = found.opened if found else short_name(told.line.text)
    action = found.main if found else trim(told.line.text)
    return said("heuristics", told.line, {"trigger": trigger, "recommended_action": action})


def _after_colon(line: Line) -> Clauses | None:
    opened, _, main = (trim(it) for it in line.text.partition(": "))
    return Clauses(opened, main) if opened and main else None


def _pattern(told: Told) -> Candidate:
    line = told.line
    fields: dict[str, Json] = {"name": short_name(line.text), "signal": trim(line.text)}
    if told.condition and Kind.CONDITION in line.own:
        fields["observed_when"] = told.condition.opened
    return Candidate("patterns", line.text, fields, (line,))


def _cause(told: Told) -> Candidate | None:
    found = told.cause
    if not found:
        return None
    return said("causal_chains", told.line, {"cause": found.opened, "effect": found.main})


def _model(told: Told) -> Candidate:
    line = told.line
    fields: dict[str, Json] = {"name": short_name(line.text), "description": line.text}
    if told.condition and Kind.CONDITION in line.own:
        fields["use_when"] = told.condition.opened
    return Candidate("mental_models", line.text, fields, (line,))


DUTIES = (Kind.OBLIGATION, Kind.PROHIBITION, Kind.PERMISSION)
_CONDITIONAL = (Kind.CONDITION, Kind.PRECONDITION, Kind.SCOPE, Kind.TEMPORAL)
_TAGS = (
    Kind.TEMPORAL,
    Kind.SCOPE,
    Kind.PRECONDITION,
    Kind.SEQUENCE,
    Kind.PROHIBITION,
    Kind.EXCEPTION,
    Kind.OVERRIDE,
)
_WHY = frozenset({Kind.CAUSE, Kind.RESULT})
_LIMITS = frozenset({Kind.TEMPORAL, Kind.PRECONDITION, Kind.SCOPE})
# What a sentence must do at least for each rule to be looked for.
_MAKERS: tuple[tuple[frozenset[Kind], Callable[[Told], Candidate | None]], ...] = (
    (frozenset({Kind.CONDITION, Kind.PRECONDITION, Kind.SCOPE}), _if_then),
    (_LIMITS.union(DUTIES), _decision),
    (frozenset({Kind.OBLIGATION}), _principle),
    (frozenset({Kind.PROHIBITION}), _anti_pattern),
    (frozenset({Kind.ADVICE}), _heuristic),
    (frozenset({Kind.TENDENCY}), _pattern),
    (_WHY, _cause),
    (frozenset({Kind.MODEL}), _model),
)
