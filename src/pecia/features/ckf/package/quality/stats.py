"""The counts in the result of `ckf.validate`. Pure."""

from pecia.features.ckf.package.model import Item, Package, text_of, texts_of

# The names are those of the reference, which calls decision rules decisions.
COUNTED_SECTIONS = {
    "atomic_units": "atomic_units",
    "retrieval_chunks": "retrieval_chunks",
    "entities": "entities",
    "concepts": "concepts",
    "procedures": "procedures",
    "decisions": "decision_rules",
    "if_then_rules": "if_then_rules",
    "heuristics": "heuristics",
}


def count_stats(package: Package) -> Item:
    items = [it for _, it in package.iter_items()]
    traced = find_traced_ids(package)
    with_trace = sum(text_of(it, "id") in traced for it in items)
    metadata = package.metadata
    return {
        **{name: len(package.items(key)) for name, key in COUNTED_SECTIONS.items()},
        "source_excerpts_total": sum(len(texts_of(it, "source_excerpts")) for it in items)
        + sum(bool(text_of(it, "source_excerpt")) for it in package.trace),
        "items_with_trace": with_trace,
        "items_total": len(items),
        "traceability_pct": percent(with_trace, len(items)),
        "has_metadata": bool(metadata),
        "has_core_intent": any(texts_of(package.section_object("core_intent"), "primary_purpose")),
        "has_domain_map": bool(package.section_object("domain_map")),
        "language": text_of(metadata, "language"),
        "source_title": text_of(metadata, "source_title"),
        "source_author": text_of(metadata, "source_author"),
    }


def find_traced_ids(package: Package) -> set[str]:
    return {text_of(it, "extracted_item_id") for it in package.trace}


def percent(part: int, whole: int) -> float:
    """100 if the total is 0."""
    return round(100 * part / whole, 1) if whole else 100.0
