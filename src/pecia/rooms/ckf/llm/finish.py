"""From lifted items to a package: reduce, promote, cover, check numbers, sanitize, rate. Pure."""

from collections import Counter
from dataclasses import dataclass, field

from pecia.kernel.errors import Json, PeciaError, UpstreamError
from pecia.rooms.ckf.llm.assemble import Assembly, assemble
from pecia.rooms.ckf.llm.coverage import Coverage, Mode, cover
from pecia.rooms.ckf.llm.found import Found
from pecia.rooms.ckf.llm.frame import COMPILER_PROFILE, COMPILER_VERSION, framed, inferred_header
from pecia.rooms.ckf.llm.lift import Lifted
from pecia.rooms.ckf.llm.model import ModelName
from pecia.rooms.ckf.llm.numbers import Figures, check_numbers
from pecia.rooms.ckf.llm.own import within
from pecia.rooms.ckf.llm.prepare import Prepared
from pecia.rooms.ckf.llm.promote import Promotion, promote
from pecia.rooms.ckf.llm.reduce import reduce_items
from pecia.rooms.ckf.package.deduplicate import without
from pecia.rooms.ckf.package.model import Item, Package
from pecia.rooms.ckf.package.normal import normalize
from pecia.rooms.ckf.package.quality import Circumstances, quality
from pecia.rooms.ckf.package.sanitize import Action, Sanitized, SanitizeOptions, sanitize
from pecia.rooms.ckf.package.validate import validate

LONG_SOURCE = 1000


@dataclass(slots=True)
class Made:
    """A package, what every stage found, and what a reader should know first."""

    package: Package
    metrics: Item
    warnings: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class _Stages:
    """What the stages said, one after the other."""

    promotion: Promotion
    coverage: Coverage
    figures: Figures
    assembly: Assembly
    left_out: int


def finish(known: Prepared, lifted: Lifted, model: ModelName) -> Made:
    body = framed(known, lifted, model)
    items, stages = _items(known, lifted, body)
    if not items and len(known.source.text) > LONG_SOURCE:
        raise UpstreamError(
            f"{model.provider} found nothing in the source",
            provider=model.provider,
            reason="empty",
        )
    cleaned = _sanitized(normalize(body), known)
    package, invalid = _valid(cleaned.package, known.source.text)
    rated = _rated(package, cleaned, known)
    rated["promotion_acceptance_rate"] = stages.promotion.acceptance
    warnings = [*known.profile.warnings, *_told(known, lifted, stages, invalid)]
    metrics: Item = {
        "compiler": "llm",
        "compiler_version": COMPILER_VERSION,
        "compiler_profile": COMPILER_PROFILE,
        "provider": model.provider,
        "model": model.name,
        "chunks": len(known.chunks),
        "failed_chunks": len(lifted.failures),
        "tokens_in": lifted.tokens_in,
        "tokens_out": lifted.tokens_out,
        "preflight": known.profile.report(),
        "lift": _lift_report(lifted),
        "promotion": stages.promotion.report(),
        "coverage": stages.coverage.report(),
        "numeric_integrity": stages.figures.report(),
        "sanitizer": cleaned.audit(),
        "quality": rated,
        "source_sha256": package.metadata["source_sha256"],
        "warnings": list[Json](warnings),
    }
    return Made(package, metrics, warnings)


def _items(known: Prepared, lifted: Lifted, body: Item) -> tuple[list[Found], _Stages]:
    found = [it for number in sorted(lifted.accepted) for it in lifted.accepted[number].items]
    missing = [it for it in known.chunks if it.number in lifted.failures]
    if known.own:
        found += within(known.stock, missing)
    items, left_out = reduce_items(found)
    promotion = promote(items, known.reading.grammar, known.language)
    items += promotion.items
    coverage = _covered(known, items)
    items += coverage.inserted
    figures = check_numbers(items, known.segments)
    assembly = assemble(body, items, known.segments)
    return items, _Stages(promotion, coverage, figures, assembly, left_out)


def _covered(known: Prepared, items: list[Found]) -> Coverage:
    """In another language than the source's, its own words cannot fill the gaps."""
    mode = known.mode if known.own else Mode.SUMMARY
    answers = [it for it in known.stock if it.section == "qa_pairs"]
    done = cover(mode, items, known.reading, known.segments, answers)
    done.mode = known.mode
    return done


def _sanitized(package: Package, known: Prepared) -> Sanitized:
    """Prose in another language goes, on a list. Where the source is foreign, so is its wording."""
    source = known.source.text if known.own else ""
    return sanitize(package, source, SanitizeOptions(Action.REMOVE))


def _valid(package: Package, text: str) -> tuple[Package, Counter[str]]:
    """Without the items that a check refuses: no stage may let one through, and this is the net."""
    verdict = validate(package.body, source=text)
    wrong = Counter(it.code for it in verdict.errors)
    ids = {it.item_id for it in verdict.errors if it.item_id}
    return (without(package, ids) if ids else package), wrong


def _rated(package: Package, cleaned: Sanitized, known: Prepared) -> Item:
    total = sum(1 for _ in package.every_item()) + cleaned.removed
    reasons = Counter(it.reason for it in cleaned.rejected)
    unfinished = reasons["incomplete_proposition"] / max(1, len(cleaned.rejected))
    fidelity = round(1 - cleaned.removed / total, 2) if total else 1.0
    about = Circumstances(known.source.text, len(known.chunks), fidelity, unfinished)
    rated = quality(package, about)
    for name in ("human_readability", "ai_utility_score"):
        package.metadata[name] = rated[name]
    return rated


def _lift_report(lifted: Lifted) -> Item:
    refused: Counter[str] = Counter()
    for it in lifted.accepted.values():
        refused += it.refused
    return {
        "items": sum(len(it.items) for it in lifted.accepted.values()),
        "refused": dict[str, Json](refused),
        "failures": [_failure(*it) for it in sorted(lifted.failures.items(), key=_number)],
    }


def _number(failed: tuple[int, PeciaError]) -> int:
    return failed[0]


def _failure(number: int, error: PeciaError) -> Item:
    told: Item = {"chunk": number, "code": error.code.name, "message": error.message}
    wait_s = error.fields.get("retry_after_seconds")
    return told if wait_s is None else {**told, "retry_after_seconds": wait_s}


def _told(known: Prepared, lifted: Lifted, stages: _Stages, invalid: Counter[str]) -> list[str]:
    found: list[str] = []
    if known.printed:
        found += known.printed.warnings(inferred_header(known))
    if lifted.failures:
        instead = (
            "they were compiled without a model" if known.own else "nothing of them is in here"
        )
        found.append(
            f"{len(lifted.failures)} of {len(known.chunks)} parts got no usable answer: {instead}"
        )
    if not known.own:
        found.append("the package is in another language than its source: gaps were not filled")
    unquoted = sum(it.refused["no_quotation"] for it in lifted.accepted.values())
    if unquoted:
        found.append(f"{unquoted} items quoted nothing that is in the source, and were left out")
    if stages.figures.unverifiable:
        count = len(stages.figures.unverifiable)
        found.append(f"{count} numbers were not found where the model quoted: see uncertain items")
    if stages.assembly.unresolved:
        found.append(f"{stages.assembly.unresolved} references named nothing in the package")
    if stages.left_out:
        found.append(f"{stages.left_out} items did not fit into their sections")
    if invalid:
        listed = ", ".join(f"{code} {count}" for code, count in sorted(invalid.items()))
        found.append(f"items that failed a check were left out: {listed}")
    return found
