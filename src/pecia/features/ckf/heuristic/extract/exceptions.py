"""Links exceptions to the rules they change. Pure; a fixed look-back, so linear."""

import re
from collections import Counter, deque
from dataclasses import dataclass

from pecia.features.ckf.heuristic.candidate import (
    JOINED_CONFIDENCE,
    SPLIT_CONFIDENCE,
    ItemCandidate,
)
from pecia.features.ckf.heuristic.cues.forms import CONTRARY_FIRST
from pecia.features.ckf.heuristic.cues.grammar import Grammar
from pecia.features.ckf.heuristic.cues.kind import CueKind
from pecia.features.ckf.heuristic.parse.clauses import Clauses, split_exception, trim_clause
from pecia.features.ckf.heuristic.parse.text import Sentence, TextSection
from pecia.kernel.errors import Json

LOOK_BACK = 20
MIN_SHARED = 2
# A shorter clause is not specific enough to name the rule.
MIN_RULE_WORDS = 4


@dataclass(frozen=True, slots=True)
class KnownRule:
    """An earlier rule: its sentence, its content words, and the item to link."""

    line: Sentence
    words: frozenset[str]
    item: ItemCandidate


class RuleHistory:
    """The rules extracted so far, newest last."""

    def __init__(self, grammar: Grammar, parts: list[TextSection]) -> None:
        self._grammar = grammar
        self._recent: deque[KnownRule] = deque(maxlen=LOOK_BACK)
        self._first_by_label: dict[str, KnownRule] = {}
        self._seen: Counter[str] = Counter()
        self._labels = {it.number: _label(it.title) for it in parts}

    def add(self, line: Sentence, item: ItemCandidate) -> None:
        rule = KnownRule(line, self._words(line), item)
        self._seen.update(rule.words)
        self._recent.append(rule)
        label = self._labels.get(line.part)
        if label:
            self._first_by_label.setdefault(label, rule)

    def make_exception(self, line: Sentence) -> ItemCandidate:
        """The exception stated by a sentence, linked to the rule it changes."""
        target = self.find_changed_rule(line)
        clauses = split_exception(line, self._grammar)
        if clauses and _is_specific(clauses):
            fields: dict[str, Json] = {
                "general_rule": clauses.main,
                "exception_case": clauses.opened,
            }
            made = ItemCandidate(
                "exceptions", line.text, fields, (line,), confidence=SPLIT_CONFIDENCE
            )
        elif target:
            fields = {"general_rule": _statement_text(target.line), "exception_case": line.text}
            lines = (target.line, line)
            made = ItemCandidate(
                "exceptions", line.text, fields, lines, "inferred", JOINED_CONFIDENCE
            )
        else:
            fields = {"general_rule": _statement_text(line), "exception_case": line.text}
            made = ItemCandidate(
                "exceptions", line.text, fields, (line,), confidence=SPLIT_CONFIDENCE
            )
        _complete(made, line)
        if target:
            made.link("overrides" if CueKind.OVERRIDE in line.own else "modifies", target.item)
        return made

    def find_changed_rule(self, line: Sentence) -> KnownRule | None:
        """The rule named by its label, else the one that shares the most rare words."""
        for it in _REFERENCE.finditer(line.text):
            named = self._first_by_label.get(_label(it[0]))
            if named and named.line.part != line.part:
                return named
        if self._recent and _answers(line, self._recent[-1].line, self._grammar):
            return self._recent[-1]
        words = self._words(line)
        best = (0, False, 0)
        found: KnownRule | None = None
        for nearness, rule in enumerate(self._recent):
            # Like IDF: a word that few rules share weighs more than their common subject.
            common = sum(self._weight(it) for it in words & rule.words)
            score = (common, rule.line.part == line.part, nearness)
            if common and score > best and _may_change(line, words, rule):
                best, found = score, rule
        return found

    def _weight(self, word: str) -> int:
        # The same number in two sentences is rarely a coincidence.
        return (2 if word[0].isdecimal() else 1) * _WEIGHT // self._seen[word]

    def _words(self, line: Sentence) -> frozenset[str]:
        found = set(_CONTENT.findall(line.text.lower())) - self._grammar.function_words
        # Stripping the plural ending is enough to match `quote` with `quotes`.
        return frozenset(it.rstrip("s") or it for it in found)


def _may_change(line: Sentence, words: frozenset[str], rule: KnownRule) -> bool:
    """Whether enough is shared: one rare word of another section is mostly another matter."""
    if rule.line.block is line.block:
        return True
    shared = len(words & rule.words)
    if rule.line.part == line.part:
        return shared >= MIN_SHARED
    return shared >= max(MIN_SHARED, len(words) // 3)


def _answers(line: Sentence, before: Sentence, grammar: Grammar) -> bool:
    """Whether it begins as an answer to the rule just before: `However, …`, `This does not …`"""
    if line.block is not before.block or line.opens_block:
        return False
    first = _FIRST_WORD.match(line.text)
    pointing = first is not None and first[0].lower() in grammar.anaphora
    return pointing or CONTRARY_FIRST.match(line.text.lower()) is not None


def _is_specific(clauses: Clauses) -> bool:
    """Whether the sentence was surely cut, into a case and a rule that names something."""
    long = " " in clauses.opened and len(clauses.main.split()) >= MIN_RULE_WORDS
    return clauses.certain and long


def _statement_text(line: Sentence) -> str:
    """The sentence without outer punctuation, unless it is nothing but punctuation."""
    return trim_clause(line.text) or line.text


def _complete(made: ItemCandidate, line: Sentence) -> None:
    cue = line.first(CueKind.OBLIGATION, CueKind.PROHIBITION, CueKind.PERMISSION)
    if cue:
        made.fields["modified_action"] = trim_clause(line.text[cue.start - line.span.start :])
    if CueKind.OVERRIDE in line.own:
        made.fields["priority"] = 1


def _label(title: str) -> str:
    found = _REFERENCE.match(title)
    return found[0].lower().rstrip(".") if found else ""


# Integers: the sum does not depend on the order of a set.
_WEIGHT = 10_000
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_CONTENT = re.compile(r"[^\W\d_]{4,}|\d[\d.,]*\d|\d")
_REFERENCE = re.compile(
    r"(?:section|article|chapter|clause|rule|part|appendix|art\.|§|seção|secção|artigo|cláusula"
    r"|sección|artículo|chapitre|abschnitt|artikel|kapitel)\s{0,2}(?:\d+(?:\.\d+)*|[A-Z])(?!\w)",
    re.IGNORECASE,
)
