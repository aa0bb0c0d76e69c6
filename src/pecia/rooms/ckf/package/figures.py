"""What a compile kept of its source: spans and numbers. Pure."""

from pecia.rooms.ckf.package.check_source import number_tokens
from pecia.rooms.ckf.package.model import Item, Package, text_of, texts_of
from pecia.rooms.ckf.package.walk import said_texts


def coverage(package: Package) -> Item:
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


def numeric_integrity(package: Package, source: str) -> Item:
    """Numbers in the package that are in the source, and numbers of the source that were kept."""
    known = set(number_tokens(source))
    said = [number for text in said_texts(package) for number in number_tokens(text)]
    exact = sum(it in known for it in said)
    kept = known & set(said)
    return {
        "numeric_integrity_score": round(exact / len(said), 2) if said else 1.0,
        "total_values_checked": len(said),
        "exact_matches": exact,
        "corrected": 0,
        "unverifiable": len(said) - exact,
        "corrections": [],
        "source_values": len(known),
        "source_values_kept": len(kept),
    }
