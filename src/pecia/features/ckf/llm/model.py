"""What the compiler needs of a chat model, and nothing of how one is reached."""

from dataclasses import dataclass
from typing import Protocol

from pecia.features.ckf.package.model import Item


@dataclass(frozen=True, slots=True)
class ExtractionForm:
    """What an answer must look like: a name to call it by, and a JSON schema of an object."""

    name: str
    description: str
    schema: Item


@dataclass(frozen=True, slots=True)
class ExtractionRequest:
    """One chunk of a source to be lifted into a form."""

    system: str
    source: str
    form: ExtractionForm
    timeout_s: float


@dataclass(frozen=True, slots=True)
class ExtractionReply:
    """An object that somebody outside wrote: data, and nothing in it is checked yet."""

    value: Item
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class ModelName:
    """Which model it was, for the record."""

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
        """That model of a provider, by default the one that the provider is known for."""
        ...

    def operators(self) -> ChatModel | None:
        """The model that the operator configured, if there is one."""
        ...
