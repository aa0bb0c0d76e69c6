"""Extracts rules from sentences: duties, permissions, prohibitions, conditions, causes. Pure.

A sentence can give several items: a duty, its condition and its limit.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from pecia.features.ckf.heuristic.candidate import ItemCandidate, verbatim_candidate
from pecia.features.ckf.heuristic.cues.connectives import lacks_number
from pecia.features.ckf.heuristic.cues.grammar import Cue, Grammar
from pecia.features.ckf.heuristic.cues.kind import CueKind
from pecia.features.ckf.heuristic.cues.openers import WEAK_PROHIBITIONS, opens_clause
from pecia.features.ckf.heuristic.cues.signs import PAST
from pecia.features.ckf.heuristic.parse.clauses import (
    Clauses,
    cut_between_words,
    extract_limit_phrase,
    extract_opening_phrase,
    split_cause,
    split_condition,
    trim_clause,
)
from pecia.features.ckf.heuristic.parse.text import Sentence
from pecia.kernel.errors import Json


@dataclass(frozen=True, slots=True)
class ValidityPeriod:
    start: str = ""
    end: str = ""


def extract_validity(lowered: str, grammar: Grammar) -> ValidityPeriod:
    """The dates of `effective 1 July 2025` and `until 30 June 2025`; expects lower case."""
    start = end = ""
    for place, day in _days(lowered, grammar):
        before = lowered[max(0, place - 24) : place]
        if not start and grammar.valid_from.search(before):
            start = day
        elif not end and grammar.valid_to.search(before):
            end = day
    return ValidityPeriod(start, end)


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


MAX_NAME_CHARS = 80


@dataclass(slots=True)
class SplitSentence:
    """A sentence with its clauses, split once for all rules."""

    line: Sentence
    grammar: Grammar
    kinds: frozenset[CueKind]
    phrase: Clauses | None
    condition: Clauses | None
    cause: Clauses | None


def extract_rules(line: Sentence, grammar: Grammar) -> list[ItemCandidate]:
    """Every rule in the sentence, except exceptions (`exceptions.py`)."""
    own = _binding_kinds(line)
    makers = [make for kinds, make in _MAKERS if not own.isdisjoint(kinds)]
    if _tells_past(line):
        makers = [it for it in makers if it in (_pattern, _cause, _model)]
    if not makers:
        return []
    split = SplitSentence(
        line,
        grammar,
        own,
        extract_opening_phrase(line, grammar),
        split_condition(line, grammar),
        split_cause(line, grammar) if line.own & _WHY else None,
    )
    made = [make(split) for make in makers]
    return [it for it in made if it]


def _binding_kinds(line: Sentence) -> frozenset[CueKind]:
    """Its kinds, without a scope that only a quantity without a number names.

    A sentence with a condition is cut there, so its quantities do no harm.
    """
    scopes = [it for it in line.cues if CueKind.SCOPE in it.kinds]
    if CueKind.CONDITION in line.own or not scopes:
        return frozenset(line.kinds)
    if all(lacks_number(it.words, line.text, it.end - line.span.start) for it in scopes):
        return frozenset(line.kinds - {CueKind.SCOPE})
    return frozenset(line.kinds)


def _tells_past(line: Sentence) -> bool:
    """Whether it only tells what happened: `was signed on 7 June 1494` binds nobody."""
    if not line.own.isdisjoint(_BINDING) or line.first(CueKind.TEMPORAL):
        return False
    return not PAST.isdisjoint(_WORD.findall(line.text.lower()))


def is_exception(line: Sentence) -> bool:
    """Whether the sentence limits a rule, or gives one rule precedence over another."""
    return line.has(CueKind.EXCEPTION, CueKind.OVERRIDE)


def make_short_name(words: str) -> str:
    """The first words, cut at a space."""
    return cut_between_words(" ".join(trim_clause(words).split()), MAX_NAME_CHARS)


def _if_then(split: SplitSentence) -> ItemCandidate | None:
    found = split.condition
    if not found:
        return None
    fields: dict[str, Json] = {"if": found.opened, "then": found.main}
    if split.cause and CueKind.CAUSE in split.line.own:
        fields["because"] = split.cause.opened
    return verbatim_candidate("if_then_rules", split.line, fields, certain=found.certain)


def _decision(split: SplitSentence) -> ItemCandidate | None:
    """A decision rule: by a limit, by a date, or a duty with a condition."""
    line = split.line
    limited = not split.kinds.isdisjoint(_LIMITS)
    if not limited and not (line.has(CueKind.CONDITION) or split.phrase):
        return None
    found = split.condition or _around_limit(split)
    if not found:
        return None
    fields: dict[str, Json] = {"condition": found.opened, "decision": found.main}
    fields |= _limits(split)
    return verbatim_candidate("decision_rules", line, fields, certain=found.certain)


def _around_limit(split: SplitSentence) -> Clauses | None:
    """A rule without a condition applies to what its limit names."""
    line = split.line
    cue = line.first(CueKind.TEMPORAL, CueKind.SCOPE, CueKind.PRECONDITION)
    places = [it for it in (cue.start if cue else None, line.time) if it is not None]
    place = min(places, default=line.span.start)
    if cue and cue.start == place:
        opens = opens_clause(cue)
    else:
        # A period begins with its preposition: `within one hour`; a bare date does not.
        opens = bool(places) and not line.text[place - line.span.start :][:1].isdecimal()
    return extract_limit_phrase(line, place, split.grammar, opens=opens)


def _limits(split: SplitSentence) -> dict[str, Json]:
    """Scope, validity dates and tags: the fields by which rules are combined."""
    line = split.line
    found: dict[str, Json] = {}
    if split.phrase:
        found["scope"] = split.phrase.opened
    elif cue := line.first(CueKind.SCOPE):
        found["scope"] = trim_clause(line.text[cue.start - line.span.start :])
    if line.time is not None:
        days = extract_validity(line.text.lower(), split.grammar)
        found |= {key: it for key, it in (("valid_from", days.start), ("valid_to", days.end)) if it}
    tags: list[Json] = [it.value for it in _TAGS if it in line.kinds]
    if tags:
        found["tags"] = tags
    return found


def _is_cut(split: SplitSentence) -> bool:
    """Whether a rule with a condition was surely made of the sentence, so it is not told whole."""
    found = split.condition or _around_limit(split)
    return found is None or found.certain


def _principle(split: SplitSentence) -> ItemCandidate | None:
    line = split.line
    conditional = not split.kinds.isdisjoint(_CONDITIONAL) or split.phrase is not None
    if CueKind.OBLIGATION not in line.own or (conditional and _is_cut(split)):
        return None
    return ItemCandidate("principles", line.text, {"statement": trim_clause(line.text)}, (line,))


def _anti_pattern(split: SplitSentence) -> ItemCandidate:
    line = split.line
    fields: dict[str, Json] = {"name": make_short_name(line.text), "description": line.text}
    if split.cause:
        fields["why_it_fails"] = (
            split.cause.opened if CueKind.CAUSE in line.own else split.cause.main
        )
    if cue := line.first(CueKind.CONTRAST):
        fields["replacement_behavior"] = trim_clause(line.text[cue.start - line.span.start :])
    own = [it for it in line.cues if CueKind.PROHIBITION in it.kinds]
    certain = not own or any(_forbids(split, it) for it in own)
    return ItemCandidate("anti_patterns", line.text, fields, (line,), certain=certain)


def _forbids(split: SplitSentence, cue: Cue) -> bool:
    """Whether a cue forbids: not in a condition, nor what a thing is told not to do."""
    line, at = split.line, cue.start - split.line.span.start
    if split.condition:
        start = line.text.find(split.condition.opened)
        if start <= at < start + len(split.condition.opened):
            return False
    if cue.words not in WEAK_PROHIBITIONS or CueKind.OBLIGATION in line.own:
        return True
    before = line.text[:at].rstrip(" \t\r\n*_>\"'“(")
    if not before or before[-1] in ";:—–" or before.split()[-1].lower() in _GOES_ON:
        return True
    return before[-1] == "," and bool(split.condition or split.phrase)


def _heuristic(split: SplitSentence) -> ItemCandidate:
    found = split.condition or _after_colon(split.line)
    trigger = found.opened if found else make_short_name(split.line.text)
    action = found.main if found else trim_clause(split.line.text)
    return verbatim_candidate(
        "heuristics",
        split.line,
        {"trigger": trigger, "recommended_action": action},
        certain=not found or found.certain,
    )


def _after_colon(line: Sentence) -> Clauses | None:
    opened, _, main = (trim_clause(it) for it in line.text.partition(": "))
    return Clauses(opened, main) if opened and main else None


def _pattern(split: SplitSentence) -> ItemCandidate:
    line = split.line
    fields: dict[str, Json] = {"name": make_short_name(line.text), "signal": trim_clause(line.text)}
    if split.condition and CueKind.CONDITION in line.own:
        fields["observed_when"] = split.condition.opened
    return ItemCandidate("patterns", line.text, fields, (line,))


def _cause(split: SplitSentence) -> ItemCandidate | None:
    found = split.cause
    if not found:
        return None
    return verbatim_candidate(
        "causal_chains",
        split.line,
        {"cause": found.opened, "effect": found.main},
        certain=found.certain,
    )


def _model(split: SplitSentence) -> ItemCandidate:
    line = split.line
    fields: dict[str, Json] = {"name": make_short_name(line.text), "description": line.text}
    if split.condition and CueKind.CONDITION in line.own:
        fields["use_when"] = split.condition.opened
    return ItemCandidate("mental_models", line.text, fields, (line,))


_WORD = re.compile(r"[^\W\d_]+")
# Before `do not` an instruction goes on with them.
_GOES_ON_WORDS = "please and or but so then always bitte und oder et ou y o e"
_GOES_ON = frozenset(_GOES_ON_WORDS.split())
DUTY_KINDS = (CueKind.OBLIGATION, CueKind.PROHIBITION, CueKind.PERMISSION)
_CONDITIONAL = (CueKind.CONDITION, CueKind.PRECONDITION, CueKind.SCOPE, CueKind.TEMPORAL)
_TAGS = (
    CueKind.TEMPORAL,
    CueKind.SCOPE,
    CueKind.PRECONDITION,
    CueKind.SEQUENCE,
    CueKind.PROHIBITION,
    CueKind.EXCEPTION,
    CueKind.OVERRIDE,
)
_BINDING = frozenset({*DUTY_KINDS, *_CONDITIONAL[:2], *(CueKind.EXCEPTION, CueKind.OVERRIDE)})
_WHY = frozenset({CueKind.CAUSE, CueKind.RESULT})
_LIMITS = frozenset({CueKind.TEMPORAL, CueKind.PRECONDITION, CueKind.SCOPE})
# The cue kinds of which a sentence needs at least one before a rule is tried.
_MAKERS: tuple[tuple[frozenset[CueKind], Callable[[SplitSentence], ItemCandidate | None]], ...] = (
    (frozenset({CueKind.CONDITION, CueKind.PRECONDITION, CueKind.SCOPE}), _if_then),
    (_LIMITS.union(DUTY_KINDS), _decision),
    (frozenset({CueKind.OBLIGATION}), _principle),
    (frozenset({CueKind.PROHIBITION}), _anti_pattern),
    (frozenset({CueKind.ADVICE}), _heuristic),
    (frozenset({CueKind.TENDENCY}), _pattern),
    (_WHY, _cause),
    (frozenset({CueKind.MODEL}), _model),
)
