"""The compiler that asks a model: every stage in order, and what each of them found.

What the model writes is data. It reaches the package only with a quotation that stands in the
source, in the right language, with numbers that were looked up; the rest is told in the metrics.
"""

import time

from pecia.kernel.compute.pool import compute
from pecia.rooms.ckf.llm.finish import Made, finish
from pecia.rooms.ckf.llm.lift import Lens, Report, failure_of, lift
from pecia.rooms.ckf.llm.model import ChatModel, ModelName
from pecia.rooms.ckf.llm.prepare import Order, Prepared


async def compile_with_model(
    known: Prepared, order: Order, model: ChatModel, key: str, report: Report
) -> Made:
    """The package and its metrics, or the failure of a model that gave nothing at all."""
    started = time.perf_counter()
    level = order.options.compression_level
    lens = Lens(model, known.language, level, order.chunk_timeout_s, key)
    text = known.source.text
    lifted = await lift(text, known.chunks, lens, within_s=order.within_s, report=report)
    if not lifted.accepted:
        raise failure_of(lifted)
    named = ModelName(model.provider, model.name)
    made = await compute(order.share, finish, known, lifted, named)
    made.metrics["duration_ms"] = round((time.perf_counter() - started) * 1000, 1)
    return made
