"""What is said to a model and what comes back, as plain values."""

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ChatMessage:
    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """`timeout_s` holds for each request; `attempts` is how often an answer may miss its shape."""

    temperature: float | None = None
    max_tokens: int | None = None
    timeout_s: float = 90
    attempts: int = 2


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens, as the provider counted them."""

    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        return TokenUsage(self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)


@dataclass(frozen=True, slots=True)
class TextReply:
    """Words. `truncated` says that `max_tokens` ended them, not the model."""

    text: str
    model: str
    usage: TokenUsage
    truncated: bool


@dataclass(frozen=True, slots=True)
class StructuredReply(Generic[T]):
    """A checked value, with the tokens of every attempt it took."""

    value: T
    model: str
    usage: TokenUsage
    attempts: int
