"""Runs a model over every chunk, a few concurrently. A failed chunk is reported, not fatal."""

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import anyio
import anyio.to_thread

from pecia.features.ckf.llm.extract.accept import AcceptedItems, accept_answer
from pecia.features.ckf.llm.extract.flat import expand_flat_answer
from pecia.features.ckf.llm.extract.form import build_flat_form, build_full_form
from pecia.features.ckf.llm.extract.prompt import INSTRUCTIONS, build_prompt
from pecia.features.ckf.llm.model import (
    ChatModel,
    ExtractionForm,
    ExtractionReply,
    ExtractionRequest,
)
from pecia.features.ckf.llm.prepare.segment import SourceChunk
from pecia.kernel.errors import Json, PeciaError, RateLimited, UpstreamError

MAX_CONCURRENT = 4

ReportChunk: TypeAlias = Callable[[int, int], Awaitable[None]]
"""Progress callback: chunks done, and in total."""


@dataclass(frozen=True, slots=True)
class ExtractionContext:
    """A model, its key, and the output language."""

    model: ChatModel
    language: str
    level: str
    timeout_s: float
    key: str = field(repr=False)


@dataclass(slots=True)
class ExtractionResult:
    """Results and failures by chunk number."""

    accepted: dict[int, AcceptedItems] = field(default_factory=dict[int, AcceptedItems])
    failures: dict[int, PeciaError] = field(default_factory=dict[int, PeciaError])
    tokens_in: int = 0
    tokens_out: int = 0

    def add_tokens(self, filled: ExtractionReply) -> None:
        self.tokens_in += filled.tokens_in
        self.tokens_out += filled.tokens_out


async def extract_chunks(
    text: str,
    chunks: list[SourceChunk],
    lens: ExtractionContext,
    *,
    within_s: float,
    report: ReportChunk,
) -> ExtractionResult:
    """Process every chunk until the timeout. A permanent error stops at once."""
    done = ExtractionResult()
    places = anyio.CapacityLimiter(MAX_CONCURRENT)
    with anyio.move_on_after(within_s):
        async with anyio.create_task_group() as group:

            async def one(chunk: SourceChunk) -> None:
                async with places:
                    try:
                        done.accepted[chunk.number] = await _extract_chunk(text, chunk, lens, done)
                    except PeciaError as error:
                        done.failures[chunk.number] = error
                        if not is_transient(error):
                            group.cancel_scope.cancel()
                            return
                    await report(len(done.accepted) + len(done.failures), len(chunks))

            for chunk in chunks:
                group.start_soon(one, chunk)
    _mark_unreached(done, chunks, lens, within_s)
    return done


def is_transient(error: PeciaError) -> bool:
    """Whether another chunk, or a retry, may succeed."""
    return bool(error.fields.get("retryable", error.code.retryable)) or _is_about_chunk(error)


def pick_failure(lifted: ExtractionResult) -> PeciaError:
    """The error to raise if nothing was extracted: the longest retry-after, else the first."""
    failures = [lifted.failures[number] for number in sorted(lifted.failures)]
    final = next((it for it in failures if not is_transient(it)), None)
    waits = [it for it in failures if isinstance(it, RateLimited)]
    return final or max(waits, key=_wait_s, default=failures[0])


def _mark_unreached(
    done: ExtractionResult, chunks: list[SourceChunk], lens: ExtractionContext, within_s: float
) -> None:
    """Mark chunks that were not reached before the timeout."""
    final = next((it for it in done.failures.values() if not is_transient(it)), None)
    reason = final or UpstreamError(
        f"{lens.model.provider} did not answer for every part within {math.floor(within_s)} s",
        provider=lens.model.provider,
        reason="timeout",
    )
    for it in chunks:
        if it.number not in done.accepted:
            done.failures.setdefault(it.number, reason)


async def _extract_chunk(
    text: str, chunk: SourceChunk, lens: ExtractionContext, done: ExtractionResult
) -> AcceptedItems:
    answer = await _ask_with_fallback(text, chunk, lens, done)
    found = await anyio.to_thread.run_sync(accept_answer, answer, text, chunk)
    if found.refused and not found.items:
        raise UpstreamError(
            f"nothing in the answer of {lens.model.provider} could be used",
            provider=lens.model.provider,
            reason="bad_answer",
            refused=_counts(found.refused),
        )
    return found


async def _ask_with_fallback(
    text: str, chunk: SourceChunk, lens: ExtractionContext, done: ExtractionResult
) -> dict[str, Json]:
    try:
        return await _fill_form(build_full_form(), text, chunk, lens, done)
    except UpstreamError as error:
        if error.fields.get("status") != 400:
            raise
    # Some models reject a schema of this size; the flat one holds less and always works.
    return expand_flat_answer(await _fill_form(build_flat_form(), text, chunk, lens, done))


async def _fill_form(
    form: ExtractionForm,
    text: str,
    chunk: SourceChunk,
    lens: ExtractionContext,
    done: ExtractionResult,
) -> dict[str, Json]:
    words = build_prompt(chunk, text, lens.language, lens.level)
    question = ExtractionRequest(INSTRUCTIONS, words, form, lens.timeout_s)
    filled = await lens.model.fill(question, lens.key)
    done.add_tokens(filled)
    return filled.value


def _is_about_chunk(error: PeciaError) -> bool:
    return error.fields.get("reason") in ("cut_off", "bad_answer")


def _wait_s(error: PeciaError) -> float:
    found = error.fields.get("retry_after_seconds")
    return found if isinstance(found, int | float) else 0


def _counts(refused: Mapping[str, int]) -> dict[str, Json]:
    return dict(refused.items())
