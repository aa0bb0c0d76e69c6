"""Sets the confidence of candidates to a probability, and marks what is only possible. Pure.

A sentence has one home: the kind that is most probable. Items of another kind stay, because a
reader may look for them, but with the basis `uncertain`. Of a sentence that states nothing, what is
very improbable is dropped.
"""

from bisect import bisect_left
from collections.abc import Iterable

from pecia.features.ckf.heuristic.candidate import ItemCandidate
from pecia.features.ckf.heuristic.parse.text import ParsedText
from pecia.features.ckf.heuristic.probability import estimate_kinds

POSSIBLE_BASIS = "uncertain"
# An item below it is only possible; chosen on texts left out of the fit.
MIN_STATED = {"rule": 0.65, "exception": 0.5, "definition": 0.5, "step": 0.55, "fact": 0.55}
# Beside the rule that it states, a sentence can take a case out of it.
MIN_EXCEPTION_BESIDE = 0.6
# A fact or rule that says what a thing is defines it too.
MIN_DEFINITION_BESIDE = 0.5
# An exception mostly states what holds instead.
MIN_RULE_BESIDE = 0.6
MIN_POSSIBLE = 0.01
MIN_SOUGHT = 0.3
MIN_EXPLICIT = 0.75
KIND_BY_SECTION = {
    "decision_rules": "rule",
    "if_then_rules": "rule",
    "principles": "rule",
    "anti_patterns": "rule",
    "heuristics": "rule",
    "exceptions": "exception",
    "concepts": "definition",
    "procedures": "step",
    "playbooks": "step",
    "causal_chains": "fact",
    "patterns": "fact",
    "mental_models": "fact",
}
KIND_BY_ATOM = {
    "fact": "fact",
    "claim": "fact",
    "rule": "rule",
    "heuristic": "rule",
    "definition": "definition",
}


class KindEstimate:
    """The probabilities of all sentences of a text, by their offset."""

    def __init__(self, parsed: ParsedText) -> None:
        starts = [it.span.start for it in parsed.lines]
        self._by_start = dict(zip(starts, estimate_kinds(parsed), strict=True))
        self._starts = starts

    def of(self, start: int) -> dict[str, float]:
        found = self._by_start.get(start)
        return found.stated if found else {}

    def home(self, start: int) -> str:
        found = self._by_start.get(start)
        return found.home if found else "none"

    def may_be(self, start: int, kind: str) -> bool:
        """Whether a kind is probable enough to look for, even where no cue names it."""
        return self.of(start).get(kind, 0.0) >= MIN_SOUGHT

    def states(self, start: int, kind: str) -> bool:
        """Whether a kind is the main one, and probable enough not to be called possible."""
        return self.home(start) == kind and self.of(start)[kind] >= MIN_STATED[kind]

    def rate(self, candidates: Iterable[ItemCandidate]) -> list[ItemCandidate]:
        """The candidates that are at least possible, each with its probability."""
        return [it for it in candidates if self._rate(it)]

    def _rate(self, candidate: ItemCandidate) -> bool:
        kind = KIND_BY_SECTION.get(candidate.section)
        if candidate.section == "atomic_units":
            kind = KIND_BY_ATOM.get(str(candidate.fields["type"]))
        if kind is None:
            return True
        line = candidate.lines[-1]
        if kind == "step":
            return self._rate_steps(candidate)
        chance = self.of(line.span.start).get(kind, 0.0)
        home = self.home(line.span.start)
        beside = chance >= _MIN_BESIDE.get((home, kind), 1.1)
        stated = candidate.certain and (beside or self.states(line.span.start, kind))
        _mark(candidate, chance, stated=stated)
        if candidate.section in _NEVER_DROPPED:
            return True
        return home != "none" or chance >= MIN_POSSIBLE

    def _rate_steps(self, candidate: ItemCandidate) -> bool:
        span = candidate.lines[-1].span
        first, end = bisect_left(self._starts, span.start), bisect_left(self._starts, span.end)
        own = [self.of(it)["step"] for it in self._starts[first:end]]
        chance = sum(own) / max(1, len(own))
        _mark(candidate, chance, stated=chance >= MIN_STATED["step"])
        return True


def _mark(candidate: ItemCandidate, chance: float, *, stated: bool) -> None:
    """Set confidence and basis, within the band that the format gives each basis."""
    if not stated:
        candidate.basis = POSSIBLE_BASIS
    elif candidate.basis == "explicit" and round(chance, 2) < MIN_EXPLICIT:
        candidate.basis = "inferred"
    candidate.confidence = round(min(chance, _MOST.get(candidate.basis, 1.0)), 2)


# Kinds that one sentence can state together, its home first.
_MIN_BESIDE = {
    ("rule", "exception"): MIN_EXCEPTION_BESIDE,
    ("exception", "rule"): MIN_RULE_BESIDE,
    ("fact", "definition"): MIN_DEFINITION_BESIDE,
    ("rule", "definition"): MIN_DEFINITION_BESIDE,
}
# Their own cues are narrow, and the labels do not tell them from other facts.
_NEVER_DROPPED = frozenset({"causal_chains", "patterns", "mental_models"})
_MOST = {POSSIBLE_BASIS: 0.49, "inferred": 0.89}
