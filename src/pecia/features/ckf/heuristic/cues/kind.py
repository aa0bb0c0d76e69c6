"""Kinds of cues: the function of a sentence, by its function words. Contains no word lists."""

from collections.abc import Mapping
from enum import Enum
from typing import TypeAlias


class CueKind(Enum):
    DEFINITION = "definition"
    OBLIGATION = "obligation"
    PROHIBITION = "prohibition"
    PERMISSION = "permission"
    CONDITION = "condition"
    # A condition that must hold before: requires, depends on, only after.
    PRECONDITION = "precondition"
    EXCEPTION = "exception"
    OVERRIDE = "override"
    CONTRAST = "contrast"
    SCOPE = "scope"
    SEQUENCE = "sequence"
    # First, second, next: a step where they open or close a clause, else mere adjectives.
    ORDINAL = "ordinal"
    # Before, after, until: an order of acts beside a duty, else of moments.
    ORDER = "order"
    TEMPORAL = "temporal"
    CAUSE = "cause"
    RESULT = "result"
    TENDENCY = "tendency"
    ADVICE = "advice"
    MODEL = "model"
    OPINION = "opinion"
    HEDGE = "hedge"
    GAP = "gap"
    ASSUMPTION = "assumption"
    OUTDATED = "outdated"
    DISPUTE = "dispute"
    PURPOSE = "purpose"
    NEGATION = "negation"
    # A span of time or place that a denial can be limited to.
    CASE = "case"
    # One thing in the place of another: in a case, it takes something from a rule.
    SUBSTITUTE = "substitute"
    # Fixed phrases that hold a cue and are none.
    IDIOM = "idiom"

    # Members are compared by identity, and a text asks for their hash a hundred thousand times.
    __hash__ = object.__hash__


# Cues of one kind are separated by `|`; a longer cue wins over a shorter one inside it.
CueLists: TypeAlias = Mapping[CueKind, str]
