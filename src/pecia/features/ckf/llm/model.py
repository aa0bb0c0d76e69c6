"""The chat model interface of the compiler. No transport."""

from dataclasses import dataclass
from typing import Protocol

from pecia.features.ckf.package.model import Item


@dataclass(frozen=True, slots=True)
class ExtractionForm:
    """The required shape of an answer: a tool name, and a JSON schema."""

    name: str
    description: str
    schema: Item


@dataclass(frozen=True, slots=True)
class ExtractionRequest:
    """One chunk of a source to extract into a form."""

    system: str
    source: str
    form: ExtractionForm
    timeout_s: float


@dataclass(frozen=True, slots=True)
class ExtractionReply:
    """The model's answer: untrusted, nothing in it is checked yet."""

    value: Item
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class ModelName:
    """Provider and model, for the metadata."""

    provider: str
    name: str


class ChatModel(Protocol):
    """One model of one provider. It holds no key."""

    @property
    def provider(self) -> str: ...

    @property
    def name(self) -> str: ...

    async def fill(self, question: ExtractionRequest, key: str) -> ExtractionReply:
        """The filled form, or UpstreamError or RateLimited, neither of which repeats the key."""
        ...


class ModelCatalog(Protocol):
    def model(self, provider: str, name: str) -> ChatModel:
        """A model of a provider; by default the provider's standard model."""
        ...

    def operators(self) -> ChatModel | None:
        """The model that the operator configured, if there is one."""
        ...
