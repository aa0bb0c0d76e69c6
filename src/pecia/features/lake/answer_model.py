"""The chat model that words answers: the caller's own, the operator's, or the client's by sampling.
What it says is data: `core/answer` checks every word.
"""

from dataclasses import dataclass, field
from typing import Protocol

from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.tool.call import Call

# Of a call's time, for searching again and verifying.
RESERVED_S = 10.0
MAX_REPLY_TOKENS = 3_000
NO_MODEL = "no model is configured, and this client does not offer one"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What the caller asked for; empty strings where they asked for nothing."""

    provider: str = ""
    model: str = ""
    key: str = field(default="", repr=False)

    @property
    def is_explicit(self) -> bool:
        return bool(self.provider or self.model or self.key)


class AnswerModel(Protocol):
    """Reaches the model of a choice. It holds no key."""

    async def say(
        self, call: Call, choice: ModelChoice, system: str, message: str, *, timeout_s: float
    ) -> str:
        """Its answer; PeciaError where the caller may not use it, or it fails."""
        ...


@dataclass(frozen=True, slots=True)
class ModelReplyText:
    """What a model said. Empty where none was available; `missing` says why."""

    text: str
    missing: str = ""


@dataclass(frozen=True, slots=True)
class AnswerModels:
    """The first model available to a caller."""

    model: AnswerModel | None

    async def ask(
        self, call: Call, choice: ModelChoice, system: str, message: str
    ) -> ModelReplyText:
        """What it says. A model that the caller chose must work; others are done without."""
        missing = NO_MODEL
        if self.model is not None:
            timeout_s = max(1.0, call.remaining_s() - RESERVED_S)
            try:
                async with call.idle():
                    text = await self.model.say(call, choice, system, message, timeout_s=timeout_s)
                return ModelReplyText(text)
            except PeciaError as error:
                if choice.is_explicit:
                    raise
                missing = error.message
        sampled = await _sample(call, system, message)
        return ModelReplyText(sampled) if sampled else ModelReplyText("", missing)


async def _sample(call: Call, system: str, message: str) -> str:
    content: dict[str, Json] = {"type": "text", "text": f"{system}\n\n{message}"}
    try:
        return await call.sample([{"role": "user", "content": content}], MAX_REPLY_TOKENS)
    except PeciaError:
        # Most clients do not offer it, or a person declined.
        return ""
