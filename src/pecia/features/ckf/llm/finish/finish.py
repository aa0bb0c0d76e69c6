"""Items to package: reduce, promote, cover, check numbers, sanitize, score. Pure."""

from collections import Counter
from dataclasses import dataclass, field

from pecia.features.ckf.llm.extract.extract import ExtractionResult
from pecia.features.ckf.llm.finish.assemble import AssembledBody, assemble_items
from pecia.features.ckf.llm.finish.coverage import CoverageMode, CoverageResult, fill_coverage
from pecia.features.ckf.llm.finish.header import (
    COMPILER_PROFILE,
    COMPILER_VERSION,
    build_frame,
    infer_header,
)
from pecia.features.ckf.llm.finish.numbers import NumberCheck, check_numbers
from pecia.features.ckf.llm.finish.promote import Promotion, promote_items
from pecia.features.ckf.llm.finish.reduce import reduce_items
from pecia.features.ckf.llm.item import ExtractedItem
from pecia.features.ckf.llm.model import ModelName
from pecia.features.ckf.llm.prepare.baseline import filter_by_chunks
from pecia.features.ckf.llm.prepare.prepare import PreparedSource
from pecia.features.ckf.package.checks.validate import validate_package
from pecia.features.ckf.package.model import Item, Package
from pecia.features.ckf.package.normalize import normalize
from pecia.features.ckf.package.quality.deduplicate import remove_items
from pecia.features.ckf.package.quality.quality import CompileContext, score_quality
from pecia.features.ckf.package.quality.sanitize import (
    SanitizeAction,
    SanitizeOptions,
    SanitizeResult,
    sanitize_package,
)
from pecia.features.ckf.package.seal import seal_package
from pecia.kernel.errors import Json, PeciaError, UpstreamError

LONG_SOURCE_WORDS = 1000


@dataclass(slots=True)
class CompileResult:
    """A package, the metrics of every stage, and warnings."""

    package: Package
    metrics: Item
    warnings: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class _StageResults:
    """Results of the stages, in order."""

    promotion: Promotion
    coverage: CoverageResult
    figures: NumberCheck
    assembly: AssembledBody
    left_out: int


def finish_package(
    known: PreparedSource, lifted: ExtractionResult, model: ModelName
) -> CompileResult:
    body = build_frame(known, lifted, model)
    items, stages = _collect_items(known, lifted, body)
    if not items and len(known.source.text) > LONG_SOURCE_WORDS:
        raise UpstreamError(
            f"{model.provider} found nothing in the source",
            provider=model.provider,
            reason="empty",
        )
    cleaned = _sanitize(normalize(body), known)
    package, invalid = _drop_invalid(cleaned.package, known.source.text)
    rated = _score(package, cleaned, known)
    seal_package(package)
    rated["promotion_acceptance_rate"] = stages.promotion.acceptance
    warnings = [*known.profile.warnings, *_list_warnings(known, lifted, stages, invalid)]
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
        "preflight": known.profile.to_json(),
        "lift": _lift_report(lifted),
        "promotion": stages.promotion.to_json(),
        "coverage": stages.coverage.to_json(),
        "numeric_integrity": stages.figures.to_json(),
        "sanitizer": cleaned.to_json(),
        "quality": rated,
        "source_sha256": package.metadata["source_sha256"],
        "warnings": list[Json](warnings),
    }
    return CompileResult(package, metrics, warnings)


def _collect_items(
    known: PreparedSource, lifted: ExtractionResult, body: Item
) -> tuple[list[ExtractedItem], _StageResults]:
    found = [it for number in sorted(lifted.accepted) for it in lifted.accepted[number].items]
    missing = [it for it in known.chunks if it.number in lifted.failures]
    if known.is_source_language:
        found += filter_by_chunks(known.heuristic_items, missing)
    items, left_out = reduce_items(found)
    promotion = promote_items(items, known.reading.grammar, known.language)
    items += promotion.items
    coverage = _apply_coverage(known, items)
    items += coverage.inserted
    figures = check_numbers(items, known.segments)
    assembly = assemble_items(body, items, known.segments)
    return items, _StageResults(promotion, coverage, figures, assembly, left_out)


def _apply_coverage(known: PreparedSource, items: list[ExtractedItem]) -> CoverageResult:
    """Only a summary if the package's language is not the source's: passages are verbatim."""
    mode = known.mode if known.is_source_language else CoverageMode.SUMMARY
    answers = [it for it in known.heuristic_items if it.section == "qa_pairs"]
    done = fill_coverage(mode, items, known.reading, known.segments, answers)
    done.mode = known.mode
    return done


def _sanitize(package: Package, known: PreparedSource) -> SanitizeResult:
    """Remove and list prose in the wrong language. Verbatim text in the right one is exempt."""
    source = known.source.text if known.is_source_language else ""
    return sanitize_package(package, source, SanitizeOptions(SanitizeAction.REMOVE))


def _drop_invalid(package: Package, text: str) -> tuple[Package, Counter[str]]:
    """Drop items that fail a check: a safety net, as no stage should let one through."""
    verdict = validate_package(package.body, source=text)
    wrong = Counter(it.code for it in verdict.errors)
    ids = {it.item_id for it in verdict.errors if it.item_id}
    return (remove_items(package, ids) if ids else package), wrong


def _score(package: Package, cleaned: SanitizeResult, known: PreparedSource) -> Item:
    total = sum(1 for _ in package.iter_items()) + cleaned.removed
    reasons = Counter(it.reason for it in cleaned.rejected)
    unfinished = reasons["incomplete_proposition"] / max(1, len(cleaned.rejected))
    fidelity = round(1 - cleaned.removed / total, 2) if total else 1.0
    about = CompileContext(known.source.text, len(known.chunks), fidelity, unfinished)
    rated = score_quality(package, about)
    for name in ("human_readability", "ai_utility_score"):
        package.metadata[name] = rated[name]
    return rated


def _lift_report(lifted: ExtractionResult) -> Item:
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
    failure: Item = {"chunk": number, "code": error.code.name, "message": error.message}
    wait_s = error.fields.get("retry_after_seconds")
    return failure if wait_s is None else {**failure, "retry_after_seconds": wait_s}


def _list_warnings(
    known: PreparedSource, lifted: ExtractionResult, stages: _StageResults, invalid: Counter[str]
) -> list[str]:
    found: list[str] = []
    if known.bibliography:
        found += known.bibliography.list_warnings(infer_header(known))
    if lifted.failures:
        instead = (
            "they were compiled without a model"
            if known.is_source_language
            else "they are missing from the package"
        )
        found.append(
            f"{len(lifted.failures)} of {len(known.chunks)} parts got no usable answer: {instead}"
        )
    if not known.is_source_language:
        found.append("the package is in another language than its source: gaps were not filled")
    unquoted = sum(it.refused["no_quotation"] for it in lifted.accepted.values())
    if unquoted:
        found.append(f"{unquoted} items without a quotation from the source were left out")
    if stages.figures.unverifiable:
        count = len(stages.figures.unverifiable)
        found.append(f"{count} numbers were not found where the model quoted: see uncertain items")
    if stages.assembly.unresolved:
        found.append(f"{stages.assembly.unresolved} references could not be resolved")
    if stages.left_out:
        found.append(f"{stages.left_out} items did not fit into their sections")
    if invalid:
        listed = ", ".join(f"{code} {count}" for code, count in sorted(invalid.items()))
        found.append(f"items that failed a check were left out: {listed}")
    return found
