"""Exceptions tied to the rules they change. Pure; looks back a fixed number of rules, so linear."""

import re
from collections import Counter, deque
from dataclasses import dataclass

from pecia.kernel.errors import Json
from pecia.rooms.ckf.heuristic.candidate import JOINED, SPLIT, Candidate
from pecia.rooms.ckf.heuristic.clauses import split_exception, trim
from pecia.rooms.ckf.heuristic.cues.grammar import Grammar
from pecia.rooms.ckf.heuristic.cues.kind import Kind
from pecia.rooms.ckf.heuristic.reading import Line, Part

LOOK_BACK = 20
# A rule clause of fewer words than this says too little to stand for the rule.
SHORTEST_RULE = 4


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule seen before: its sentence, its content words, and the item to point at."""

    line: Line
    words: frozenset[str]
    item: Candidate


class Rules:
    """The rules read so far, nearest last."""

    def __init__(self, grammar: Grammar, parts: list[Part]) -> None:
        self._grammar = grammar
        self._recent: deque[Rule] = deque(maxlen=LOOK_BACK)
        self._first_by_label: dict[str, Rule] = {}
        self._seen: Counter[str] = Counter()
        self._labels = {it.number: _label(it.title) for it in parts}

    def remember(self, line: Line, item: Candidate) -> None:
        rule = Rule(line, self._words(line), item)
        self._seen.update(rule.words)
        self._recent.append(rule)
        label = self._labels.get(line.part)
        if label:
            self._first_by_label.setdefault(label, rule)

    def exception(self, line: Line) -> Candidate:
        """The exception that a sentence is, with the rule it is taken from."""
        target = self.changed_by(line)
        clauses = split_exception(line, self._grammar)
        if clauses and " " in clauses.opened and len(clauses.main.split()) >= SHORTEST_RULE:
            fields: dict[str, Json] = {
                "general_rule": clauses.main,
                "exception_case": clauses.opened,
            }
            made = Candidate("exceptions", line.text, fields, (line,), confidence=SPLIT)
        elif target:
            fields = {"general_rule": _stated(target.line), "exception_case": line.text}
            lines = (target.line, line)
            made = Candidate("exceptions", line.text, fields, lines, "inferred", JOINED)
        else:
            fields = {"general_rule": _stated(line), "exception_case": line.text}
            made = Candidate("exceptions", line.text, fields, (line,), confidence=SPLIT)
        _complete(made, line)
        if target:
            made.link("overrides" if Kind.OVERRIDE in line.own else "modifies", target.item)
        return made

    def changed_by(self, line: Line) -> Rule | None:
        """The rule named by its label, else the one with most rare words in common."""
        for it in _REFERENCE.finditer(line.text):
            named = self._first_by_label.get(_label(it[0]))
            if named and named.line.part != line.part:
                return named
        words = self._words(line)
        best = (0, False, 0)
        found: Rule | None = None
        for nearness, rule in enumerate(self._recent):
            # A word that few rules share says more than the subject that all of them share.
            common = sum(self._weight(it) for it in words & rule.words)
            score = (common, rule.line.part == line.part, nearness)
            if common and score > best:
                best, found = score, rule
        return found

    def _weight(self, word: str) -> int:
        # The same number in two sentences is hardly ever chance.
        return (2 if word[0].isdecimal() else 1) * _WEIGHT // self._seen[word]

    def _words(self, line: Line) -> frozenset[str]:
        found = set(_CONTENT.findall(line.text.lower())) - self._grammar.function_words
        # One ending for one and many is enough to match `quote` with `quotes`.
        return frozenset(it.rstrip("s") or it for it in found)


def _stated(line: Line) -> str:
    """What the sentence says; of one that is all punctuation, that."""
    return trim(line.text) or line.text


def _complete(made: Candidate, line: Line) -> None:
    cue = line.first(Kind.OBLIGATION, Kind.PROHIBITION, Kind.PERMISSION)
    if cue:
        made.fields["modified_action"] = trim(line.text[cue.start - line.span.start :])
    if Kind.OVERRIDE in line.own:
        made.fields["priority"] = 1


def _label(title: str) -> str:
    found = _REFERENCE.match(title)
    return found[0].lower().rstrip(".") if found else ""


# Whole numbers add up to the same sum in any order.
_WEIGHT = 10_000
_CONTENT = re.compile(r"[^\W\d_]{4,}|\d[\d.,]*\d|\d")
_REFERENCE = re.compile(
    r"(?:section|article|chapter|clause|rule|part|appendix|art\.|§|seção|secção|artigo|cláusula"
    r"|sección|artículo|chapitre|abschnitt|artikel|kapitel)\s{0,2}(?:\d+(?:\.\d+)*|[A-Z])(?!\w)",
    re.IGNORECASE,
)
