"""How much of its source a compile kept: spans and numbers. Pure."""

from pecia.features.ckf.package.checks.source import extract_numbers
from pecia.features.ckf.package.model import Item, Package, text_of, texts_of
from pecia.features.ckf.package.walk import iter_content_texts


def measure_coverage(package: Package) -> Item:
    """How many spans of the source a retrieval chunk covers."""
    manifest = package.metadata.get("source_manifest")
    entries = manifest if isinstance(manifest, list) else []
    spans = {text_of(it, "source_id") for it in entries if isinstance(it, dict)}
    chunks = package.items("retrieval_chunks")
    covered = spans & {ref for it in chunks for ref in texts_of(it, "source_refs")}
    return {
        "mode": "complete",
        "inserted_retrieval_chunks": len(chunks),
        "inserted_qa_pairs": len(package.items("qa_pairs")),
        "inserted_atomic_units": len(package.items("atomic_units")),
        "spans_total": len(spans),
        "spans_covered": len(covered),
        "source_record_coverage": round(len(covered) / len(spans), 2) if spans else 1.0,
    }


def measure_numeric_integrity(package: Package, source: str) -> Item:
    """Numbers of the package that are in the source, and numbers of the source in the package."""
    known = set(extract_numbers(source))
    stated = [number for text in iter_content_texts(package) for number in extract_numbers(text)]
    exact = sum(it in known for it in stated)
    kept = known & set(stated)
    return {
        "numeric_integrity_score": round(exact / len(stated), 2) if stated else 1.0,
        "total_values_checked": len(stated),
        "exact_matches": exact,
        "corrected": 0,
        "unverifiable": len(stated) - exact,
        "corrections": [],
        "source_values": len(known),
        "source_values_kept": len(kept),
    }
