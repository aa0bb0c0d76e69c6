"""The memory room of a server, with the model that it may ask handed in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pecia.adapters.llm.words import Message, Options
from pecia.app.models import ProviderModel, ProviderModels, provider_models
from pecia.kernel.corpus.search import Corpus
from pecia.kernel.errors import Forbidden, MissingField, Timeout, Unavailable, UpstreamError
from pecia.kernel.identity.caller import Caller, CredentialKind
from pecia.kernel.room import Room
from pecia.kernel.settings.load import Settings
from pecia.kernel.settings.session import within_session
from pecia.kernel.tool.call import Call
from pecia.rooms.ckf.llm.payer import Paid, Payer, Wish, no_key
from pecia.rooms.ckf.llm.quota import Allowance, DailyQuota, StoredLedger
from pecia.rooms.ckf.settings import CkfSettings
from pecia.rooms.memory.room import memory
from pecia.rooms.memory.settings import MemorySettings
from pecia.rooms.memory.thinking import NO_MODEL

# Whose key is taken where several are set and nobody named a provider.
BY_KEY = ("openai", "anthropic", "gemini", "deepseek", "openrouter")
MOST_TOKENS = 4_000

# What a session may bring of its own. Of the server's it learns and changes nothing.
OWN = (*(f"{it}_key" for it in BY_KEY), *(f"operator_{it}" for it in ("provider", "url", "key")))
OF_SESSION = (*OWN, "operator_model")
NOTHING = CkfSettings()

ModelsOf: TypeAlias = Callable[[CkfSettings], ProviderModels]


@dataclass(frozen=True, slots=True)
class Minds:
    """The model that a session brought the key of; else the operator's, for those whom this server
    pays for, and within their quota."""

    settings: CkfSettings
    quota: DailyQuota
    models_of: ModelsOf = provider_models

    async def say(self, call: Call, system: str, message: str, *, timeout_s: float) -> str:
        paid = self._paid(call)
        if not isinstance(paid.model, ProviderModel):
            raise Unavailable("this model cannot be talked to", retryable=False)
        await self._payer().charge(call.caller, paid)
        said = [Message("system", system), Message("user", message)]
        options = Options(max_tokens=MOST_TOKENS, timeout_s=timeout_s)
        try:
            return (await paid.model.inner.chat(said, key=paid.key, options=options)).text
        except Timeout as late:
            # The clock that ran out was the provider's, not this server's.
            provider = paid.model.provider
            raise UpstreamError(late.message, provider=provider, reason="timeout") from None

    def _paid(self, call: Call) -> Paid:
        own = within_session(NOTHING, call.session, OF_SESSION)
        if own is NOTHING:
            return self._operators(call.caller)
        if own.operator_url:
            return self._elsewhere(call.caller, own)
        provider = own.operator_provider or _keyed(own)
        if provider is None:
            return self._operators(call.caller, own.operator_model)
        if key := own.key_of(provider):
            model = self.models_of(own).model(provider, own.operator_model)
            return Paid(model, ours=False, key=key)
        try:
            wish = Wish(provider, own.operator_model, "")
            return self._payer().paid(call.caller, wish)
        except MissingField:
            raise no_key(provider) from None

    def _elsewhere(self, caller: Caller, own: CkfSettings) -> Paid:
        """A server that the session names. It gets the key that the session has for it, and none of
        ours."""
        if caller.kind is not CredentialKind.LOCAL and not caller.is_admin:
            raise Forbidden("only the owner and admins may name another server to ask")
        model = self.models_of(own).operators()
        assert model is not None
        key = own.operator_key.get_secret_value() if own.operator_key else ""
        return Paid(model, ours=False, key=key)

    def _operators(self, caller: Caller, model: str = "") -> Paid:
        keyed = _keyed(self.settings)
        is_named = self.models_of(self.settings).operator is not None
        if keyed is None and not is_named:
            raise Unavailable(NO_MODEL, retryable=False)
        return self._payer().paid(caller, Wish("" if is_named else keyed or "", model, ""))

    def _payer(self) -> Payer:
        return Payer(self.settings, self.models_of(self.settings), self.quota)


def memory_room(settings: Settings, corpus: Corpus) -> Room:
    """The room over what is stored here."""
    given = settings.part(CkfSettings)
    allowed = Allowance(given.daily_per_user, given.daily_total)
    minds = Minds(given, DailyQuota(allowed, StoredLedger(corpus.store)))
    return memory(corpus, settings.part(MemorySettings), minds)


def _keyed(settings: CkfSettings) -> str | None:
    return next((it for it in BY_KEY if settings.key_of(it)), None)
