"""What `ckf.compile` computes: a package of a text, and figures. Runs in compute workers."""

import time
from collections.abc import Callable

from pecia.rooms.ckf.heuristic.long import compile_long
from pecia.rooms.ckf.inputs import Compile
from pecia.rooms.ckf.options import CompileOptions, SourceText
from pecia.rooms.ckf.outputs import Compiled
from pecia.rooms.ckf.package.codec import Format, encode
from pecia.rooms.ckf.package.figures import coverage, numeric_integrity
from pecia.rooms.ckf.package.model import Item, Package, text_of, texts_of
from pecia.rooms.ckf.package.normal import compact
from pecia.rooms.ckf.package.quality import Circumstances, quality
from pecia.rooms.ckf.package.size import tokens


def compiled_source(
    source: SourceText, ask: Compile, report: Callable[[int, int], None]
) -> Compiled:
    """The package of a text, its document, and what is measured of both."""
    started = time.perf_counter()
    options = CompileOptions(ask.source_type, ask.compression_level)
    # Only a source read by its address can be longer than what is read in one go.
    package = compile_long(source, options, report)
    took_ms = round((time.perf_counter() - started) * 1000, 1)
    # What parsing puts back need not be paid for by whoever reads the document.
    document = encode(Package(compact(package)), ask.format)
    return Compiled(
        format=Format(ask.format),
        document=document,
        package=package.body,
        warnings=_warnings(package),
        metrics=_metrics(package, source, document, took_ms),
    )


def _metrics(package: Package, source: SourceText, document: str, took_ms: float) -> Item:
    spans = package.metadata.get("source_manifest")
    chunks = max(1, len(spans)) if isinstance(spans, list) else 1
    return {
        "compiler": "heuristic",
        "compiler_version": text_of(package.metadata, "compiler_version"),
        "duration_ms": took_ms,
        "quality": quality(package, Circumstances(source.text, chunks)),
        "coverage": coverage(package),
        "numeric_integrity": numeric_integrity(package, source.text),
        "source_tokens": tokens(source.text),
        "document_tokens": tokens(document),
    }


def _warnings(package: Package) -> list[str]:
    return texts_of(package.part("knowledge_limits"), "needs_human_review")
