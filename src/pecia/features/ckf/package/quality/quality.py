"""Quality scores of a package, 0 to 1. Pure; the formulas are the reference's."""

import re
from dataclasses import dataclass

from pecia.features.ckf.package.fields import ITEM_SECTIONS, SECTIONS
from pecia.features.ckf.package.model import Item, Package, number_of, text_of, texts_of
from pecia.features.ckf.package.quality.inspect import has_content
from pecia.kernel.errors import Json

CORE = ("entities", "concepts", "principles", "decision_rules", "procedures")
FLAT = ("atomic_units", "retrieval_chunks")
LONG_SOURCE_WORDS = 1000
GOOD_DENSITY = 6
GOOD_RICH_SHARE = 0.30


@dataclass(frozen=True, slots=True)
class CompileContext:
    """Facts from compiling that are not in the package."""

    source: str = ""
    chunks: int = 1
    language_fidelity: float = 1.0
    incomplete_share: float = 0.0


def score_quality(package: Package, known: CompileContext) -> Item:
    items = [it for _, it in package.iter_items()]
    with_refs = sum(bool(texts_of(it, "source_refs")) for it in items)
    sure = [it for it in (number_of(item, "confidence") for item in items) if it is not None]
    mean = sum(sure) / len(sure) if sure else 0.0
    signals = _signals(package, known)
    filled = sum(has_content(package.body.get(it.key)) for it in _RATED)
    parts = {
        "coverage": _coverage(package),
        "density": min(1.0, len(items) / max(1, known.chunks) / GOOD_DENSITY),
        "traceability": _traceability(len(items), with_refs, len(sure), mean),
        "schema_completeness": filled / len(_RATED),
        "section_allocation_quality": max(0.0, 1 - sum(it for _, it in signals.penalties)),
    }
    return {
        **{key: round(it, 2) for key, it in parts.items()},
        "totalItems": len(items),
        "itemsWithRefs": with_refs,
        "itemsWithConfidence": len(sure),
        "meanConfidence": round(mean, 2),
        "sectionsPopulated": filled,
        "sectionsTotal": len(_RATED),
        "chunks": known.chunks,
        "section_allocation_signals": signals.report(),
        "human_readability": round(0.4 * parts["coverage"] + 0.6 * parts["schema_completeness"], 2),
        "ai_utility_score": round(
            0.5 * parts["traceability"] + 0.3 * parts["density"] + 0.2 * parts["coverage"], 2
        ),
        "section_allocation_score": _allocation(package),
        "language_fidelity": known.language_fidelity,
        "overall": round(sum(parts.values()) / len(parts), 2),
    }


@dataclass(frozen=True, slots=True)
class _Signals:
    atomic_share: float
    contrast: int
    procedural: int
    conditional: int
    words: int
    penalties: tuple[tuple[str, float], ...]

    def report(self) -> Item:
        return {
            "atomic_share": round(self.atomic_share, 2),
            "contrastive_terms_in_source": self.contrast,
            "procedural_terms_in_source": self.procedural,
            "conditional_terms_in_source": self.conditional,
            "long_doc": self.words > LONG_SOURCE_WORDS,
            "source_word_count": self.words,
            "penalties": [{"reason": reason, "amount": it} for reason, it in self.penalties],
        }


def _signals(package: Package, known: CompileContext) -> _Signals:
    total = sum(len(package.items(it.key)) for it in ITEM_SECTIONS)
    share = sum(len(package.items(it)) for it in FLAT) / total if total else 0.0
    contrast, procedural, conditional = (
        len(it.findall(known.source)) for it in (_CONTRAST, _PROCEDURE, _CONDITION)
    )
    words = len(known.source.split())
    faults = (
        (share > 0.8, "most items are atoms and chunks", 0.20),
        (contrast and _none(package, "anti_patterns", "decision_rules"), "contrast, no rule", 0.20),
        (procedural and _none(package, "procedures", "playbooks"), "steps, no procedure", 0.15),
        (
            conditional and _none(package, "exceptions", "if_then_rules"),
            "conditions, no rule",
            0.15,
        ),
        (words > LONG_SOURCE_WORDS and _none(package, "qa_pairs"), "long, no questions", 0.10),
        (known.language_fidelity < 0.9, "other languages", 0.10),
        (known.incomplete_share > 0.25, "many incomplete texts", 0.10),
    )
    found = tuple((reason, amount) for holds, reason, amount in faults if holds)
    return _Signals(share, contrast, procedural, conditional, words, found)


def _coverage(package: Package) -> float:
    intent = package.section_object("core_intent")
    purpose, use = text_of(intent, "primary_purpose"), texts_of(intent, "intended_agent_use")
    core = sum(bool(package.items(it)) for it in CORE) / len(CORE)
    return 0.8 * core + 0.2 * (0.5 * bool(purpose) + 0.5 * any(use))


def _traceability(total: int, with_refs: int, rated: int, mean: float) -> float:
    if not total:
        return 0.0
    return 0.6 * with_refs / total + 0.3 * rated / total + 0.1 * mean


def _allocation(package: Package) -> Json:
    flat = sum(len(package.items(it)) for it in FLAT)
    total = sum(len(package.items(it.key)) for it in ITEM_SECTIONS)
    return round(min(1.0, (total - flat) / total / GOOD_RICH_SHARE), 2) if total else 0.0


def _none(package: Package, *sections: str) -> bool:
    return not any(package.items(it) for it in sections)


# The trace section has no knowledge, so 21 sections count.
_RATED = SECTIONS[:-1]
_CONTRAST = re.compile(
    r"\b(?:but|however|instead|rather than|mas|porém|pero|sino|mais|cependant|aber|sondern)\b", re.I
)
_PROCEDURE = re.compile(
    r"\b(?:first|then|next|finally|step|primeiro|depois|primero|luego|d'abord|puis|zuerst|dann)\b",
    re.I,
)
_CONDITION = re.compile(
    r"\b(?:if|unless|except|when|se|quando|exceto|si|cuando|salvo|lorsque|sauf|wenn|außer)\b", re.I
)
