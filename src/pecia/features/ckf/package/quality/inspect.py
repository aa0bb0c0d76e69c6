"""The inspection report of a package, for people. Pure."""

from collections import Counter

from pecia.features.ckf.package.codec.codec import PackageFormat, encode_package
from pecia.features.ckf.package.field import FieldRole, SectionKind
from pecia.features.ckf.package.fields import ITEM_SECTIONS, RULE_SECTIONS, SECTION_BY_KEY, SECTIONS
from pecia.features.ckf.package.locate import SearchableText
from pecia.features.ckf.package.model import Item, Package, integer_of, number_of, text_of, texts_of
from pecia.features.ckf.package.normalize import compact_package
from pecia.features.ckf.package.quality.stats import find_traced_ids, percent
from pecia.features.ckf.package.tokens import estimate_tokens
from pecia.features.ckf.package.walk import iter_texts
from pecia.kernel.errors import Json

BUCKETS = (("0-0.5", 0.5), ("0.5-0.7", 0.7), ("0.7-0.85", 0.85), ("0.85-1", 1.01))
WORST_ITEMS = 5


def inspect_package(package: Package, source: str | None = None) -> Item:
    """All metrics that need no model; with the source, also coverage and compression."""
    return {
        "cover": _cover(package),
        "section_counts": _counts(package),
        "empty_sections": _empty(package),
        "atomic_types": dict[str, Json](
            Counter(text_of(it, "type") for it in package.items("atomic_units"))
        ),
        "confidence": _confidence(package),
        "traceability": _traceability(package),
        "orphans": _orphans(package),
        "source_coverage": None if source is None else measure_source_coverage(package, source),
        "compression": measure_compression(package, source),
        "rules": _catalogue(package),
        "limits": package.section_object("knowledge_limits"),
    }


def measure_source_coverage(package: Package, source: str) -> Item:
    """How many quotations are in the source, by match method."""
    sought = SearchableText(source)
    quotes = [it for it in iter_texts(package) if it.field.role is FieldRole.QUOTE and it.value]
    quotes = [it for it in quotes if it.place.section != "metadata"]
    found = [sought.find(it.value, integer_of(it.owner, "source_char_start")) for it in quotes]
    methods = Counter(it.method.value for it in found if it)
    return {
        "excerpts": len(quotes),
        "located": methods.total(),
        "located_pct": percent(methods.total(), len(quotes)),
        "methods": dict[str, Json](methods),
    }


def measure_compression(package: Package, source: str | None = None) -> Item:
    """Size per format as saved, and relative to the source."""
    short = Package(compact_package(package))
    texts = {it.value: encode_package(short, it) for it in PackageFormat}
    source_tokens = estimate_tokens(source) if source else 0
    return {
        "level": text_of(package.metadata, "compression_level"),
        "bytes": {key: len(it.encode()) for key, it in texts.items()},
        "tokens": {key: estimate_tokens(it) for key, it in texts.items()},
        "source_tokens": source_tokens or None,
        "ratio": {key: round(estimate_tokens(it) / source_tokens, 2) for key, it in texts.items()}
        if source_tokens
        else None,
    }


def has_content(value: Json) -> bool:
    """Whether any field of a section has content."""
    return any(map(has_content, value.values())) if isinstance(value, dict) else bool(value)


def _cover(package: Package) -> Item:
    names = ("package_id", "source_title", "source_author", "source_type", "language")
    more = ("created_at", "protocol_version", "compression_level", "domain")
    return {name: package.metadata.get(name) for name in (*names, *more)}


def _counts(package: Package) -> Item:
    return {it.key: len(package.items(it.key)) for it in SECTIONS if it.kind is SectionKind.ARRAY}


def _empty(package: Package) -> list[Json]:
    return [it.key for it in SECTIONS if not has_content(package.body.get(it.key))]


def _confidence(package: Package) -> Item:
    found = [number_of(it, "confidence") for _, it in package.iter_items()]
    sure = [it for it in found if it is not None]
    counts = Counter(next((name for name, high in BUCKETS if it < high), "") for it in sure)
    return {
        "buckets": {name: counts[name] for name, _ in BUCKETS},
        "unrated": len(found) - len(sure),
        "mean": round(sum(sure) / len(sure), 2) if sure else None,
    }


def _traceability(package: Package) -> Item:
    traced = find_traced_ids(package)
    shares: list[tuple[float, str]] = []
    total = with_row = 0
    for section in ITEM_SECTIONS:
        items = package.items(section.key)
        known = sum(text_of(it, "id") in traced for it in items)
        total, with_row = total + len(items), with_row + known
        if items:
            shares.append((percent(known, len(items)), section.key))
    worst = [(key, share) for share, key in sorted(shares) if share < 100][:WORST_ITEMS]
    return {
        "pct": percent(with_row, total),
        "worst_sections": [{"section": key, "pct": share} for key, share in worst],
    }


def _orphans(package: Package) -> list[Json]:
    """Items without a trace row that no other item refers to."""
    known = {it.value for it in iter_texts(package) if it.field.role is FieldRole.REFERENCE}
    return [it for _, item in package.iter_items() if (it := text_of(item, "id")) not in known]


def _catalogue(package: Package) -> list[Json]:
    return [
        {
            "id": text_of(it, "id"),
            "section": key,
            "rule": " → ".join(filter(None, (text_of(it, name) for name in identity))),
            "basis": text_of(it, "source_basis"),
            "confidence": number_of(it, "confidence"),
            "modifies": list[Json](texts_of(it, "modifies")),
        }
        for key in RULE_SECTIONS
        for identity in [SECTION_BY_KEY[key].identity]
        for it in package.items(key)
    ]
