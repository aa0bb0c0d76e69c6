"""The computation of `ckf.compile`: package and metrics. Runs in compute workers."""

import time
from collections.abc import Callable

from pecia.features.ckf.heuristic.long_text import compile_long_text
from pecia.features.ckf.model import CompileOptions, SourceText, today
from pecia.features.ckf.package.codec.codec import PackageFormat, encode_package
from pecia.features.ckf.package.model import Item, Package, text_of, texts_of
from pecia.features.ckf.package.normalize import compact_package
from pecia.features.ckf.package.quality.metrics import measure_coverage, measure_numeric_integrity
from pecia.features.ckf.package.quality.quality import CompileContext, score_quality
from pecia.features.ckf.package.tokens import estimate_tokens
from pecia.features.ckf.tools.inputs import CompileInput
from pecia.features.ckf.tools.outputs import CompileOut


def compile_source(
    source: SourceText, ask: CompileInput, report: Callable[[int, int], None]
) -> CompileOut:
    """The package of a text, its document, and their metrics."""
    started = time.perf_counter()
    package = compile_package(source, ask, report)
    took_ms = round((time.perf_counter() - started) * 1000, 1)
    # Defaults that parsing restores are left out, to save the reader's tokens.
    document = encode_package(Package(compact_package(package)), ask.format)
    return CompileOut(
        format=PackageFormat(ask.format),
        document=document,
        package=package.body,
        warnings=_warnings(package),
        metrics=_metrics(package, source, document, took_ms),
    )


def compile_package(
    source: SourceText, ask: CompileInput, report: Callable[[int, int], None]
) -> Package:
    options = CompileOptions(ask.source_type, ask.compression_level, today())
    # Only a source read by URI can exceed the length of one pass.
    return compile_long_text(source, options, report)


def _metrics(package: Package, source: SourceText, document: str, took_ms: float) -> Item:
    spans = package.metadata.get("source_manifest")
    chunks = max(1, len(spans)) if isinstance(spans, list) else 1
    return {
        "compiler": "heuristic",
        "compiler_version": text_of(package.metadata, "compiler_version"),
        "duration_ms": took_ms,
        "quality": score_quality(package, CompileContext(source.text, chunks)),
        "coverage": measure_coverage(package),
        "numeric_integrity": measure_numeric_integrity(package, source.text),
        "source_tokens": estimate_tokens(source.text),
        "document_tokens": estimate_tokens(document),
    }


def _warnings(package: Package) -> list[str]:
    return texts_of(package.section_object("knowledge_limits"), "needs_human_review")
