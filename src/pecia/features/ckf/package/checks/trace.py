"""Checks that items have trace rows, and confidences that fit their basis. Pure."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from pecia.features.ckf.package.checks.findings import DocumentPath, FindingSeverity, PackageFinding
from pecia.features.ckf.package.fields import ITEM_SECTIONS
from pecia.features.ckf.package.model import Item, Package, number_of, text_of, texts_of

# The lowest and highest confidence that each basis can have.
CONFIDENCE_BANDS = {"explicit": (0.75, 1.0), "inferred": (0.25, 0.89), "uncertain": (0.0, 0.49)}
WEAK_CONFIDENCE = 0.25


def check_trace(package: Package, *, strict: bool) -> Iterator[PackageFinding]:
    rows = _rows_by_item(package)
    for section in ITEM_SECTIONS:
        found = package.body.get(section.key)
        for number, it in enumerate(found if isinstance(found, list) else []):
            if isinstance(it, dict) and (name := text_of(it, "id")):
                place = DocumentPath(f"/{section.key}/{number}", section.key, name)
                yield from _item(it, rows[name], place, strict)
    yield from _rows(package)


def _item(
    item: Item, rows: list[Item], place: DocumentPath, strict: bool
) -> Iterator[PackageFinding]:
    basis = text_of(item, "source_basis")
    if not rows and basis != "synthesized":
        found = place.make_finding("TRACE_MISSING", f"no trace row for {place.item_id}")
        yield found if strict else replace(found, severity=FindingSeverity.WARNING)
    quotes = [*texts_of(item, "source_excerpts"), *(text_of(it, "source_excerpt") for it in rows)]
    if basis == "explicit" and not any(it.strip() for it in quotes):
        yield place.child("source_excerpts").make_finding(
            "EXPLICIT_WITHOUT_QUOTE", f"{place.item_id} is explicit and quotes nothing"
        )
    yield from _band(item, basis, place)


def _band(item: Item, basis: str, place: DocumentPath) -> Iterator[PackageFinding]:
    sure = number_of(item, "confidence")
    if sure is None or not basis:
        return
    low, high = CONFIDENCE_BANDS.get(basis, (WEAK_CONFIDENCE, 1.0))
    if not low <= sure <= high:
        message = f"a confidence of {sure} does not go with {basis}"
        yield place.child("confidence").make_finding(
            "CONFIDENCE_BAND", message, expected=f"{low:.2f} to {high:.2f}", got=sure
        )


def _rows(package: Package) -> Iterator[PackageFinding]:
    bases = {text_of(it, "id"): text_of(it, "source_basis") for _, it in package.iter_items()}
    found = package.body.get("source_traceability")
    for number, row in enumerate(found if isinstance(found, list) else []):
        if not isinstance(row, dict):
            continue
        name, kind = text_of(row, "extracted_item_id"), text_of(row, "extraction_type")
        basis = bases.get(name, "")
        if basis and kind and basis != kind:
            place = DocumentPath(
                f"/source_traceability/{number}/extraction_type", "source_traceability", name
            )
            message = f"the row says {kind}, the item {basis}"
            yield place.make_finding("TRACE_BASIS_MISMATCH", message, expected=basis, got=kind)


def _rows_by_item(package: Package) -> dict[str, list[Item]]:
    found: defaultdict[str, list[Item]] = defaultdict(list)
    for row in package.trace:
        found[text_of(row, "extracted_item_id")].append(row)
    return found
