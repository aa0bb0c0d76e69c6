"""Finds contradicting rules of two packages: same condition, different decision. Pure."""

from collections import defaultdict
from collections.abc import Iterator

from pecia.features.ckf.package.model import Item, Package, text_of
from pecia.features.ckf.package.similarity import MIN_SIMILARITY, jaccard, normalize_words, word_set

# Sections whose items are a condition and what follows from it.
RULE_FIELDS = {
    "decision_rules": ("condition", "decision"),
    "if_then_rules": ("if", "then"),
    "heuristics": ("trigger", "recommended_action"),
    "exceptions": ("exception_case", "modified_action"),
}
# Negations, in the five languages with cues.
NEGATIONS = frozenset(
    ["not", "no", "never", "cannot", "nao", "nunca", "nicht", "kein", "keine", "nie", "ne", "pas"]
)


def find_contradictions(a: Package, b: Package) -> Iterator[Item]:
    for section, (condition, decision) in RULE_FIELDS.items():
        known: defaultdict[str, list[Item]] = defaultdict(list)
        for it in a.items(section):
            if words := normalize_words(text_of(it, condition)):
                known[words].append(it)
        for new in b.items(section):
            for old in known.get(normalize_words(text_of(new, condition)), []):
                if reason := _reason(text_of(old, decision), text_of(new, decision)):
                    yield {"a_id": text_of(old, "id"), "b_id": text_of(new, "id"), "reason": reason}


def _reason(old: str, new: str) -> str:
    first, second = word_set(old), word_set(new)
    if not first or not second or first == second:
        return ""
    if first ^ second <= NEGATIONS:
        return "one denies what the other says"
    if jaccard(first, second) < MIN_SIMILARITY:
        return "same condition, other decision"
    return ""
