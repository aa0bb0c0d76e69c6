"""Rules of two packages that cannot both be followed: same condition, other decision. Pure."""

from collections import defaultdict
from collections.abc import Iterator

from pecia.rooms.ckf.package.alike import ALIKE, jaccard, plain_text, word_set
from pecia.rooms.ckf.package.model import Item, Package, text_of

# Sections whose items are a condition and what follows from it.
PAIRS = {
    "decision_rules": ("condition", "decision"),
    "if_then_rules": ("if", "then"),
    "heuristics": ("trigger", "recommended_action"),
    "exceptions": ("exception_case", "modified_action"),
}
# The little words that turn a sentence into its opposite, in the five languages with cues.
DENIALS = frozenset(
    ["not", "no", "never", "cannot", "nao", "nunca", "nicht", "kein", "keine", "nie", "ne", "pas"]
)


def contradictions(a: Package, b: Package) -> Iterator[Item]:
    for section, (condition, decision) in PAIRS.items():
        known: defaultdict[str, list[Item]] = defaultdict(list)
        for it in a.items(section):
            if words := plain_text(text_of(it, condition)):
                known[words].append(it)
        for new in b.items(section):
            for old in known.get(plain_text(text_of(new, condition)), []):
                if reason := _reason(text_of(old, decision), text_of(new, decision)):
                    yield {"a_id": text_of(old, "id"), "b_id": text_of(new, "id"), "reason": reason}


def _reason(old: str, new: str) -> str:
    first, second = word_set(old), word_set(new)
    if not first or not second or first == second:
        return ""
    if first ^ second <= DENIALS:
        return "one denies what the other says"
    if jaccard(first, second) < ALIKE:
        return "same condition, other decision"
    return ""
