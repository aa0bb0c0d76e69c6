"""Statements that are also rules get a second home among the rules. Pure; nothing is moved."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pecia.kernel.errors import Json
from pecia.rooms.ckf.heuristic.clauses import split_exception
from pecia.rooms.ckf.heuristic.cues.grammar import Grammar, lower_in_place
from pecia.rooms.ckf.heuristic.reading import Line, read_text
from pecia.rooms.ckf.heuristic.rules import is_exception, rules_of
from pecia.rooms.ckf.llm.found import Found
from pecia.rooms.ckf.package.alike import ALIKE, jaccard, word_set
from pecia.rooms.ckf.package.language import foreign_language
from pecia.rooms.ckf.package.model import Item, text_of
from pecia.rooms.ckf.package.sentence import is_cut

FROM = ("atomic_units", "principles")
INTO = frozenset({"if_then_rules", "anti_patterns"})
DISCOUNT = 0.85
MOST_LISTED = 50


@dataclass(slots=True)
class Promotion:
    """What was promoted, and what was not, with the reason."""

    items: list[Found] = field(default_factory=list[Found])
    rejected: list[Item] = field(default_factory=list[Item])

    def report(self) -> Item:
        return {
            "promoted": len(self.items),
            "rejected": len(self.rejected),
            "rejected_items": list[Json](self.rejected[:MOST_LISTED]),
        }

    @property
    def acceptance(self) -> float:
        total = len(self.items) + len(self.rejected)
        return round(len(self.items) / total, 2) if total else 1.0


def promote(items: list[Found], grammar: Grammar, language: str) -> Promotion:
    """Second homes for conditions, prohibitions and exceptions among the model's statements."""
    done = Promotion()
    taken = [(it.section, word_set(it.words)) for it in items]
    for it in items:
        if it.section not in FROM or it.origin != "model":
            continue
        for section, fields in _rules(text_of(it.fields, "statement"), grammar):
            made = _second(it, section, fields)
            words = word_set(made.words)
            reason = _fault(fields, language) or _double(section, words, taken)
            if reason:
                done.rejected.append(_rejected(it, section, reason, made.words))
                continue
            taken.append((section, words))
            done.items.append(made)
    return done


def _rules(statement: str, grammar: Grammar) -> Iterator[tuple[str, Item]]:
    reading = read_text(statement, lower_in_place(statement), grammar)
    for line in reading.lines:
        if not line.tells or not line.kinds:
            continue
        for it in rules_of(line, grammar):
            if it.section in INTO:
                yield it.section, it.fields
        exception = _exception(line, grammar)
        if exception:
            yield "exceptions", exception


def _exception(line: Line, grammar: Grammar) -> Item | None:
    clauses = split_exception(line, grammar) if is_exception(line) else None
    if not clauses or not clauses.main or not clauses.opened:
        return None
    return {"general_rule": clauses.main, "exception_case": clauses.opened}


def _second(item: Found, section: str, fields: Item) -> Found:
    # Cut out of a statement, it is the reader's conclusion and no longer the source's sentence.
    sure = round(min(0.89, max(0.25, item.confidence * DISCOUNT)), 2)
    basis = "uncertain" if item.basis == "uncertain" else "inferred"
    sure = min(sure, 0.49) if basis == "uncertain" else sure
    return Found(section, dict(fields), item.quotes, basis, sure, "promotion")


def _fault(fields: Item, language: str) -> str:
    texts = [it for it in fields.values() if isinstance(it, str)]
    if any(foreign_language(it, language) for it in texts):
        return "language_mismatch"
    if any(is_cut(it) for it in texts):
        return "truncated"
    return ""


def _double(section: str, words: frozenset[str], taken: list[tuple[str, frozenset[str]]]) -> str:
    if not words:
        return "incomplete_proposition"
    same = any(known == section and jaccard(words, it) >= ALIKE for known, it in taken)
    return "near_duplicate" if same else ""


def _rejected(item: Found, section: str, reason: str, words: str) -> Item:
    return {
        "source_section": item.section,
        "target_section": section,
        "reason": reason,
        "text_preview": words[:80],
    }
