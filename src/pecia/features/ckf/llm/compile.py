"""The model compiler: every stage in order, with metrics.

Model output is untrusted data. An item reaches the package only with a quotation found in the
source, in the right language, with checked numbers; the rest is reported in the metrics.
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
    """The package and its metrics; raises if the model returned nothing usable."""
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
