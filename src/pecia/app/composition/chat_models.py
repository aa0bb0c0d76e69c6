"""Chat models for the features that need one, over the model adapter."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pecia.adapters.http.egress_rules import EgressRules
from pecia.adapters.http.guard import EgressGuard
from pecia.adapters.models.chat_model import ProviderChatModel
from pecia.adapters.models.messages import ChatMessage, ChatOptions
from pecia.adapters.models.providers import PROVIDERS, ModelProvider, compatible_provider
from pecia.adapters.models.response_schema import ResponseSchema, SchemaMismatch
from pecia.features.ckf.llm.model import (
    ChatModel,
    ExtractionForm,
    ExtractionReply,
    ExtractionRequest,
)
from pecia.features.ckf.settings import CkfSettings
from pecia.kernel.errors import InvalidEnum, Json, Timeout, UpstreamError

TEMPERATURE = 0.2


@dataclass(frozen=True, slots=True)
class ProviderModel:
    """One model of a provider, as the ckf feature expects it."""

    inner: ProviderChatModel

    @property
    def provider(self) -> str:
        return self.inner.provider.name

    @property
    def name(self) -> str:
        return self.inner.name

    async def fill(self, question: ExtractionRequest, key: str) -> ExtractionReply:
        form = question.form
        shape = ResponseSchema(form.name, form.description, form.schema, _form_check(form))
        said = [ChatMessage("system", question.system), ChatMessage("user", question.source)]
        options = ChatOptions(self._temperature(), timeout_s=question.timeout_s)
        try:
            answer = await self.inner.chat_structured(said, shape, key=key, options=options)
        except Timeout as late:
            # The provider's timeout, not this server's.
            raise UpstreamError(late.message, provider=self.provider, reason="timeout") from None
        return ExtractionReply(answer.value, answer.usage.tokens_in, answer.usage.tokens_out)

    def _temperature(self) -> float | None:
        """The reasoning models take none but their own."""
        plain = self.name.rpartition("/")[2]
        return None if plain.startswith(("gpt-5", "o1", "o3", "o4")) else TEMPERATURE


@dataclass(frozen=True, slots=True)
class ProviderModels:
    """The known providers, and the one that the operator chose."""

    operator: ProviderModel | None = None
    providers: Mapping[str, ModelProvider] = field(default_factory=lambda: PROVIDERS)
    guard: EgressGuard = field(default_factory=EgressGuard)

    def model(self, provider: str, name: str) -> ChatModel:
        found = self.providers.get(provider)
        if found is None:
            known: list[Json] = [*self.providers]
            raise InvalidEnum(f"{provider!r} is not a provider", field="provider", allowed=known)
        return ProviderModel(ProviderChatModel(found, name=name, guard=self.guard))

    def operators(self) -> ChatModel | None:
        return self.operator


def build_provider_models(settings: CkfSettings) -> ProviderModels:
    """The models that these settings give access to."""
    return ProviderModels(_operator_model(settings))


def _operator_model(settings: CkfSettings) -> ProviderModel | None:
    if settings.operator_url:
        there = compatible_provider(settings.operator_url, default_model=settings.operator_model)
        # The operator named this host, so that it may be in the own network, and in the clear.
        host = urlsplit(settings.operator_url).hostname or ""
        return ProviderModel(
            ProviderChatModel(there, guard=EgressGuard(EgressRules.from_trusted_hosts([host])))
        )
    if settings.operator_provider:
        known = PROVIDERS[settings.operator_provider]
        return ProviderModel(ProviderChatModel(known, name=settings.operator_model))
    return None


def _form_check(form: ExtractionForm) -> Callable[[Json], dict[str, Json]]:
    """Whether an answer has this form at all; the feature validates every item itself."""
    properties = form.schema["properties"]
    asked = set(properties) if isinstance(properties, dict) else set[str]()

    def check(answer: Json) -> dict[str, Json]:
        if not isinstance(answer, dict) or not asked & answer.keys():
            raise SchemaMismatch("$: is no object with any of the fields that were asked for")
        return answer

    return check
