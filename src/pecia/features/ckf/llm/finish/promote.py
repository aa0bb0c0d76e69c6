"""Copies statements that are also rules into the rule sections. Pure; nothing is moved."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pecia.features.ckf.heuristic.cues.grammar import Grammar, lowercase_aligned
from pecia.features.ckf.heuristic.extract.rules import extract_rules, is_exception
from pecia.features.ckf.heuristic.parse.clauses import split_exception
from pecia.features.ckf.heuristic.parse.text import Sentence, parse_text
from pecia.features.ckf.llm.item import ExtractedItem
from pecia.features.ckf.package.language import detect_foreign_language
from pecia.features.ckf.package.model import Item, text_of
from pecia.features.ckf.package.similarity import MIN_SIMILARITY, jaccard, word_set
from pecia.features.ckf.package.truncation import is_truncated
from pecia.kernel.errors import Json

SOURCE_SECTIONS = ("atomic_units", "principles")
TARGET_SECTIONS = frozenset({"if_then_rules", "anti_patterns"})
CONFIDENCE_FACTOR = 0.85
MAX_LISTED = 50


@dataclass(slots=True)
class Promotion:
    """What was promoted, and what was not, with the reason."""

    items: list[ExtractedItem] = field(default_factory=list[ExtractedItem])
    rejected: list[Item] = field(default_factory=list[Item])

    def to_json(self) -> Item:
        return {
            "promoted": len(self.items),
            "rejected": len(self.rejected),
            "rejected_items": list[Json](self.rejected[:MAX_LISTED]),
        }

    @property
    def acceptance(self) -> float:
        total = len(self.items) + len(self.rejected)
        return round(len(self.items) / total, 2) if total else 1.0


def promote_items(items: list[ExtractedItem], grammar: Grammar, language: str) -> Promotion:
    """Copy conditions, prohibitions and exceptions among the model's statements."""
    done = Promotion()
    taken = [(it.section, word_set(it.words)) for it in items]
    for it in items:
        if it.section not in SOURCE_SECTIONS or it.origin != "model":
            continue
        for section, fields in _rules(text_of(it.fields, "statement"), grammar):
            made = _copy_item(it, section, fields)
            words = word_set(made.words)
            reason = _fault(fields, language) or _find_duplicate(section, words, taken)
            if reason:
                done.rejected.append(_rejection(it, section, reason, made.words))
                continue
            taken.append((section, words))
            done.items.append(made)
    return done


def _rules(statement: str, grammar: Grammar) -> Iterator[tuple[str, Item]]:
    reading = parse_text(statement, lowercase_aligned(statement), grammar)
    for line in reading.lines:
        if not line.is_statement or not line.kinds:
            continue
        for it in extract_rules(line, grammar):
            if it.section in TARGET_SECTIONS:
                yield it.section, it.fields
        exception = _exception(line, grammar)
        if exception:
            yield "exceptions", exception


def _exception(line: Sentence, grammar: Grammar) -> Item | None:
    clauses = split_exception(line, grammar) if is_exception(line) else None
    if not clauses or not clauses.main or not clauses.opened:
        return None
    return {"general_rule": clauses.main, "exception_case": clauses.opened}


def _copy_item(item: ExtractedItem, section: str, fields: Item) -> ExtractedItem:
    # Cut out of a statement, it is inferred and no longer the source's sentence.
    sure = round(min(0.89, max(0.25, item.confidence * CONFIDENCE_FACTOR)), 2)
    basis = "uncertain" if item.basis == "uncertain" else "inferred"
    sure = min(sure, 0.49) if basis == "uncertain" else sure
    return ExtractedItem(section, dict(fields), item.quotes, basis, sure, "promotion")


def _fault(fields: Item, language: str) -> str:
    texts = [it for it in fields.values() if isinstance(it, str)]
    if any(detect_foreign_language(it, language) for it in texts):
        return "language_mismatch"
    if any(is_truncated(it) for it in texts):
        return "truncated"
    return ""


def _find_duplicate(
    section: str, words: frozenset[str], taken: list[tuple[str, frozenset[str]]]
) -> str:
    if not words:
        return "incomplete_proposition"
    same = any(known == section and jaccard(words, it) >= MIN_SIMILARITY for known, it in taken)
    return "near_duplicate" if same else ""


def _rejection(item: ExtractedItem, section: str, reason: str, words: str) -> Item:
    return {
        "source_section": item.section,
        "target_section": section,
        "reason": reason,
        "text_preview": words[:80],
    }
