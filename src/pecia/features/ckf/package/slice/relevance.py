"""Relevance of items to a question. Lexical only: no model, no index. Pure."""

import math
from collections import Counter
from collections.abc import Mapping

from pecia.features.ckf.package.field import FieldRole
from pecia.features.ckf.package.fields import RULE_SECTIONS, SECTION_BY_KEY
from pecia.features.ckf.package.model import Item, text_of
from pecia.features.ckf.package.similarity import normalize_words
from pecia.features.ckf.package.walk import item_texts
from pecia.kernel.corpus.keyword.analysis.token_filters import remove_stop_words

SATURATION = 1.2
# Words with a common prefix of this length match: reimburse, reimbursement.
STEM_CHARS = 5
# Rules weigh more: atoms and chunks repeat them.
WEIGHTS = {
    **dict.fromkeys(RULE_SECTIONS, 1.3),
    "procedures": 1.2,
    "qa_pairs": 1.2,
    "atomic_units": 0.8,
    "entities": 0.6,
}
DEFINED, POSSIBLE = 4.0, 0.7


def score_relevance(items: Mapping[str, tuple[str, Item]], query: str) -> dict[str, float]:
    """A score for each item that shares a content word with the query; the rest are left out."""
    wanted = set(_stems(" ".join(remove_stop_words(normalize_words(query)))))
    counts = {name: _count_stems(section, it) for name, (section, it) in items.items()}
    holders = Counter(word for it in counts.values() for word in it)
    rarity = {word: math.log(1 + len(items) / holders[word]) for word in wanted if holders[word]}
    scores = {
        name: _weight(*items[name], wanted)
        * sum(rarity[word] * _saturate(found[word]) for word in rarity if word in found)
        for name, found in counts.items()
    }
    return {name: it for name, it in scores.items() if it > 0}


def _weight(section: str, item: Item, wanted: set[str]) -> float:
    """More for the definition of what is asked for, less for what is only possible."""
    weight = WEIGHTS.get(section, 1.0)
    if section == "concepts":
        label = set(_stems(text_of(item, "label")))
        if label and label <= wanted:
            weight *= 1 + DEFINED * len(label) / len(wanted)
    return weight * (POSSIBLE if text_of(item, "source_basis") == "uncertain" else 1)


def _count_stems(section: str, item: Item) -> Counter[str]:
    texts = item_texts(
        SECTION_BY_KEY[section].fields, item, FieldRole.LABEL, FieldRole.CLAUSE, FieldRole.PROSE
    )
    return Counter(_stems(" ".join(texts)))


def _stems(text: str) -> list[str]:
    return [it[:STEM_CHARS] for it in normalize_words(text).split() if len(it) > 2 or it.isdigit()]


def _saturate(count: int) -> float:
    return count * (SATURATION + 1) / (count + SATURATION)
