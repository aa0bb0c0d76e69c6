"""Questions put to the lake through its tools: once as they are, or by a model in a loop.

It sees what the caller of the tools may see, and nothing else.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import orjson

from pecia.adapters.models.chat_model import ProviderChatModel
from pecia.adapters.models.messages import ChatMessage, ChatOptions, TokenUsage
from pecia.adapters.models.response_schema import ResponseSchema, SchemaMismatch, schema_of_json
from pecia.app.composition.chat_models import build_provider_models
from pecia.features.ckf.settings import CkfSettings
from pecia.features.lake.prompt import ANSWER_INSTRUCTIONS
from pecia.kernel.corpus.evaluation.questions import (
    CUTOFF,
    EvaluationQuestion,
    EvidencePage,
    QuestionOutcome,
    score_question,
)
from pecia.kernel.errors import Json, PeciaError, Unavailable

CallTool: TypeAlias = Callable[[str, Mapping[str, Json]], Awaitable[Json]]
"""A tool of the lake, called by its name."""

# Chunks that a model reads at a time, and of the oldest answers what is left after the newest.
WINDOW_CHUNKS = 8
MAX_TURNS = 8
_FULL_RESULTS = 2

_STEP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "action": {"enum": ["search", "read", "answer"]},
        "query": {"type": "string", "description": "For search."},
        "key": {"type": "string", "description": "For read: the file."},
        "start": {"type": "integer", "minimum": 0, "description": "For read: the first chunk."},
        "answer": {"type": "string", "description": "For answer: what the files say."},
        "cited": {
            "type": "array",
            "description": "For answer: where that stands.",
            "items": {
                "type": "object",
                "properties": {"key": {"type": "string"}, "page_no": {"type": "integer"}},
                "required": ["key"],
            },
        },
    },
    "required": ["action"],
}
_REQUIRED_FIELD = {"search": "query", "read": "key", "answer": "answer"}
_INSTRUCTIONS = (
    "You have no tools but one: say one step at a time. `search` is search_content and gives hits;"
    " `read` is get_file_window and gives chunks of a file; `answer` ends it and cites file and"
    " page."
)
_LAST_STEP_HINT = "This is your last step: answer now."


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """What one question found. `degraded` says what a search had to do without."""

    found: QuestionOutcome
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """What a model did with one question: what it saw of the right places, and what it cited.

    Without an answer, `why` says why there is none.
    """

    id: str
    answer: str
    expected: str
    document_seen: bool
    page_seen: bool
    document_cited: bool
    page_cited: bool
    turns: int
    tokens_in: int
    tokens_out: int
    why: str


@dataclass(frozen=True, slots=True)
class LakeClient:
    """One source of the lake, through its tools."""

    tool: CallTool
    source_id: str

    async def search(self, query: str, mode: str) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
        """The first hits, and what the search had to do without."""
        asked: dict[str, Json] = {"query": query, "source_id": self.source_id, "limit": CUTOFF}
        found = cast(dict[str, Any], await self.tool("search_content", {**asked, "mode": mode}))
        return found["hits"], tuple(found["degraded"])

    async def read(self, key: str, start: int) -> list[dict[str, Any]]:
        asked: dict[str, Json] = {"source_id": self.source_id, "key": key, "start": start}
        found = await self.tool("get_file_window", {**asked, "length": WINDOW_CHUNKS})
        return cast(dict[str, Any], found)["chunks"]


async def search_once(lake: LakeClient, question: EvaluationQuestion, mode: str) -> QuestionResult:
    """The question as it is, sent once."""
    hits, degraded = await lake.search(question.text, mode)
    return QuestionResult(score_question(question, [_place(it) for it in hits]), degraded)


@dataclass(slots=True)
class AgentLoop:
    """One question with a model that may search and read a few times before it answers."""

    lake: LakeClient
    model: ProviderChatModel
    key: str = field(repr=False)
    max_turns: int = MAX_TURNS
    usage: TokenUsage = field(default_factory=TokenUsage)
    seen: list[EvidencePage] = field(default_factory=list[EvidencePage])
    transcript: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    async def answer(self, question: EvaluationQuestion) -> AgentAnswer:
        for turn in range(1, self.max_turns + 1):
            try:
                step = await self._next_step(question, is_last=turn == self.max_turns)
            except PeciaError as error:
                return self._finish(question, {}, turn, f"the model failed: {error.message}")
            if step["action"] == "answer":
                return self._finish(question, step, turn, "")
            self.transcript.append((orjson.dumps(step).decode(), await self._run_step(step)))
        return self._finish(question, {}, self.max_turns, "no answer within its turns")

    async def _next_step(self, question: EvaluationQuestion, *, is_last: bool) -> dict[str, Any]:
        messages = [
            ChatMessage("system", f"{ANSWER_INSTRUCTIONS}\n\n{_INSTRUCTIONS}"),
            ChatMessage("user", question.text),
        ]
        for back, (step, result) in enumerate(reversed(self.transcript)):
            # Older results are left out; the steps still show what was tried.
            shown = result if back < _FULL_RESULTS else "(read before)"
            messages[2:2] = [ChatMessage("assistant", step), ChatMessage("user", shown)]
        if is_last:
            messages.append(ChatMessage("user", _LAST_STEP_HINT))
        answer = await self.model.chat_structured(
            messages, STEP, key=self.key, options=ChatOptions()
        )
        self.usage += answer.usage
        return answer.value

    async def _run_step(self, step: Mapping[str, Any]) -> str:
        """What a step brought, in words. A tool's error is shown to the model."""
        try:
            if step["action"] == "search":
                hits, _ = await self.lake.search(step["query"], "hybrid")
                self.seen += map(_place, hits)
                return _format_results(hits)
            chunks = await self.lake.read(step["key"], step.get("start", 0))
        except PeciaError as error:
            return f"refused: {error.message}"
        read = [{**it, "key": step["key"]} for it in chunks]
        self.seen += map(_place, read)
        return _format_results(read)

    def _finish(
        self, question: EvaluationQuestion, step: Mapping[str, Any], turns: int, why: str
    ) -> AgentAnswer:
        seen = score_question(question, self.seen)
        cited = score_question(question, [_place(it) for it in step.get("cited", ())])
        return AgentAnswer(
            id=question.id,
            answer=str(step.get("answer", "")),
            expected=question.answer,
            document_seen=seen.document_at is not None,
            page_seen=seen.page_at is not None,
            document_cited=cited.document_at is not None,
            page_cited=cited.page_at is not None,
            turns=turns,
            tokens_in=self.usage.tokens_in,
            tokens_out=self.usage.tokens_out,
            why=why,
        )


def summarize_answers(found: Sequence[AgentAnswer]) -> dict[str, float]:
    """The shares of questions that were answered, and answered from the right places."""
    shares = {
        "answered": sum(bool(it.answer) for it in found),
        "document_seen": sum(it.document_seen for it in found),
        "page_seen": sum(it.page_seen for it in found),
        "document_cited": sum(it.document_cited for it in found),
        "page_cited": sum(it.page_cited for it in found),
        "turns": sum(it.turns for it in found),
    }
    means = {name: round(value / max(1, len(found)), 4) for name, value in shares.items()}
    tokens_in, tokens_out = (sum(it.tokens_in for it in found), sum(it.tokens_out for it in found))
    return {**means, "tokens_in": tokens_in, "tokens_out": tokens_out}


def load_configured_model(settings: CkfSettings) -> tuple[ProviderChatModel, str]:
    """The model that these settings name, with its key."""
    operator = build_provider_models(settings).operator
    if operator is None or settings.operator_disabled:
        raise Unavailable(
            "no chat model is configured",
            retryable=False,
            hint="Set ckf.operator_url, or ckf.operator_provider and its key.",
        )
    held = (
        settings.operator_key
        if settings.operator_url
        else getattr(settings, f"{settings.operator_provider}_key")
    )
    return operator.inner, held.get_secret_value() if held else ""


def _place(found: Mapping[str, Any]) -> EvidencePage:
    return EvidencePage(str(found["key"]), found.get("page_no"))


def _format_results(found: Sequence[Mapping[str, Any]]) -> str:
    """Hits or chunks as a model reads them."""
    if not found:
        return "nothing was found"
    return "\n\n".join(
        f"[{it['key']}, page {it['page_no']}, chunk {it['seq']}]\n{it['text']}" for it in found
    )


def _parse_step(answer: Json) -> dict[str, Any]:
    step: dict[str, Any] = _BY_SCHEMA.check(answer)
    needed = _REQUIRED_FIELD[step["action"]]
    if not step.get(needed):
        raise SchemaMismatch(f"$.{needed}: is needed to {step['action']}")
    return step


_BY_SCHEMA = schema_of_json("step", _STEP, description="The next step towards the answer.")
STEP: ResponseSchema[dict[str, Any]] = ResponseSchema(
    "step", _BY_SCHEMA.description, _STEP, _parse_step
)
