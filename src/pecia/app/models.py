"""Chat models for the rooms that ask one: what a room needs of them, over the model adapter."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pecia.adapters.http.guard import Guard
from pecia.adapters.http.rules import Rules
from pecia.adapters.llm.model import Model
from pecia.adapters.llm.providers import PROVIDERS, Provider, compatible
from pecia.adapters.llm.shape import Misfit, Shape
from pecia.adapters.llm.words import Message, Options
from pecia.kernel.errors import InvalidEnum, Json, Timeout, UpstreamError
from pecia.rooms.ckf.llm.model import ChatModel, Filled, Form, Question
from pecia.rooms.ckf.settings import CkfSettings

TEMPERATURE = 0.2


@dataclass(frozen=True, slots=True)
class ProviderModel:
    """One model of a provider, as the ckf room wants it."""

    inner: Model

    @property
    def provider(self) -> str:
        return self.inner.provider.name

    @property
    def name(self) -> str:
        return self.inner.name

    async def fill(self, question: Question, key: str) -> Filled:
        form = question.form
        shape = Shape(form.name, form.description, form.schema, _fitting(form))
        said = [Message("system", question.system), Message("user", question.source)]
        options = Options(self._temperature(), timeout_s=question.timeout_s)
        try:
            answer = await self.inner.structured(said, shape, key=key, options=options)
        except Timeout as late:
            # The clock that ran out was the provider's, not this server's.
            raise UpstreamError(late.message, provider=self.provider, reason="timeout") from None
        return Filled(answer.value, answer.usage.tokens_in, answer.usage.tokens_out)

    def _temperature(self) -> float | None:
        """The reasoning models take none but their own."""
        plain = self.name.rpartition("/")[2]
        return None if plain.startswith(("gpt-5", "o1", "o3", "o4")) else TEMPERATURE


@dataclass(frozen=True, slots=True)
class ProviderModels:
    """The known providers, and the one that the operator chose."""

    operator: ProviderModel | None = None
    providers: Mapping[str, Provider] = field(default_factory=lambda: PROVIDERS)
    guard: Guard = field(default_factory=Guard)

    def model(self, provider: str, name: str) -> ChatModel:
        found = self.providers.get(provider)
        if found is None:
            known: list[Json] = [*self.providers]
            raise InvalidEnum(f"{provider!r} is no provider", field="provider", allowed=known)
        return ProviderModel(Model(found, name=name, guard=self.guard))

    def operators(self) -> ChatModel | None:
        return self.operator


def provider_models(settings: CkfSettings) -> ProviderModels:
    """The models that these settings give access to."""
    return ProviderModels(_operator(settings))


def _operator(settings: CkfSettings) -> ProviderModel | None:
    if settings.operator_url:
        there = compatible(settings.operator_url, default_model=settings.operator_model)
        # The operator named this host, so that it may be in the own network, and in the clear.
        host = urlsplit(settings.operator_url).hostname or ""
        return ProviderModel(Model(there, guard=Guard(Rules.trusting([host]))))
    if settings.operator_provider:
        known = PROVIDERS[settings.operator_provider]
        return ProviderModel(Model(known, name=settings.operator_model))
    return None


def _fitting(form: Form) -> Callable[[Json], dict[str, Json]]:
    """Whether an answer is of this form at all; the room looks at every item of it by itself."""
    properties = form.schema["properties"]
    asked = set(properties) if isinstance(properties, dict) else set[str]()

    def check(answer: Json) -> dict[str, Json]:
        if not isinstance(answer, dict) or not asked & answer.keys():
            raise Misfit("$: is no object with any of the fields that were asked for")
        return answer

    return check
