"""The compiler that asks a model: every stage in order, and what each of them found.

What the model writes is data. It reaches the package only with a quotation that stands in the
source, in the right language, with numbers that were looked up; the rest is told in the metrics.
"""

import time

from pecia.features.ckf.llm.extract.extract import (
    ExtractionContext,
    ReportChunk,
    extract_chunks,
    pick_failure,
)
from pecia.features.ckf.llm.finish.finish import CompileResult, finish_package
from pecia.features.ckf.llm.model import ChatModel, ModelName
from pecia.features.ckf.llm.prepare.prepare import CompileOrder, PreparedSource
from pecia.kernel.compute.pool import compute


async def compile_with_model(
    known: PreparedSource, order: CompileOrder, model: ChatModel, key: str, report: ReportChunk
) -> CompileResult:
    """The package and its metrics, or the failure of a model that gave nothing at all."""
    started = time.perf_counter()
    level = order.options.compression_level
    lens = ExtractionContext(model, known.language, level, order.chunk_timeout_s, key)
    text = known.source.text
    lifted = await extract_chunks(text, known.chunks, lens, within_s=order.budget_s, report=report)
    if not lifted.accepted:
        raise pick_failure(lifted)
    named = ModelName(model.provider, model.name)
    made = await compute(order.share, finish_package, known, lifted, named)
    made.metrics["duration_ms"] = round((time.perf_counter() - started) * 1000, 1)
    return made
