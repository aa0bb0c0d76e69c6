"""The chat model of the memory feature."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pecia.adapters.models.messages import ChatMessage, ChatOptions
from pecia.app.composition.chat_models import ProviderModel, ProviderModels, build_provider_models
from pecia.features.ckf.llm.access import ModelAccess, ModelGrant, ModelRequest, key_missing
from pecia.features.ckf.llm.quota import DailyAllowance, DailyQuota, StoredQuotaCounter
from pecia.features.ckf.settings import CkfSettings
from pecia.features.memory.chat_model import NO_MODEL
from pecia.kernel.errors import Forbidden, MissingField, Timeout, Unavailable, UpstreamError
from pecia.kernel.feature import FeatureContext
from pecia.kernel.identity.caller import Caller, CredentialKind
from pecia.kernel.settings.session import apply_session
from pecia.kernel.tool.call import Call

# Whose key is taken where several are set and nobody named a provider.
PROVIDER_ORDER = ("openai", "anthropic", "gemini", "deepseek", "openrouter")
MAX_TOKENS = 4_000

# What a session may bring of its own. Of the server's it learns and changes nothing.
SESSION_KEYS = (
    *(f"{it}_key" for it in PROVIDER_ORDER),
    *(f"operator_{it}" for it in ("provider", "url", "key")),
)
SESSION_FIELDS = (*SESSION_KEYS, "operator_model")
NO_SETTINGS = CkfSettings()

ModelsOf: TypeAlias = Callable[[CkfSettings], ProviderModels]


@dataclass(frozen=True, slots=True)
class MemoryModelProvider:
    """The model that a session brought the key of; else the operator's, for those whom this server
    pays for, and within their quota."""

    settings: CkfSettings
    quota: DailyQuota
    models_of: ModelsOf = build_provider_models

    async def say(self, call: Call, system: str, message: str, *, timeout_s: float) -> str:
        paid = self._select_model(call)
        if not isinstance(paid.model, ProviderModel):
            raise Unavailable("this model has no chat interface", retryable=False)
        await self._payer().charge(call.caller, paid)
        said = [ChatMessage("system", system), ChatMessage("user", message)]
        options = ChatOptions(max_tokens=MAX_TOKENS, timeout_s=timeout_s)
        try:
            return (await paid.model.inner.chat(said, key=paid.key, options=options)).text
        except Timeout as late:
            # The provider's timeout, not this server's.
            provider = paid.model.provider
            raise UpstreamError(late.message, provider=provider, reason="timeout") from None

    def _select_model(self, call: Call) -> ModelGrant:
        own = apply_session(NO_SETTINGS, call.session, SESSION_FIELDS)
        if own is NO_SETTINGS:
            return self._operator_model(call.caller)
        if own.operator_url:
            return self._session_endpoint(call.caller, own)
        provider = own.operator_provider or _first_provider_with_key(own)
        if provider is None:
            return self._operator_model(call.caller, own.operator_model)
        if key := own.key_of(provider):
            model = self.models_of(own).model(provider, own.operator_model)
            return ModelGrant(model, is_server_paid=False, key=key)
        try:
            wish = ModelRequest(provider, own.operator_model, "")
            return self._payer().authorize(call.caller, wish)
        except MissingField:
            raise key_missing(provider) from None

    def _session_endpoint(self, caller: Caller, own: CkfSettings) -> ModelGrant:
        """A server that the session names. It gets the key that the session has for it, and none of
        ours."""
        if caller.kind is not CredentialKind.LOCAL and not caller.is_admin:
            raise Forbidden(
                "only the owner and administrators may name another model server than the "
                "operator's: the session has one in ckf.operator_url",
                hint="Leave it out, or give a provider and your own key.",
            )
        model = self.models_of(own).operators()
        assert model is not None
        key = own.operator_key.get_secret_value() if own.operator_key else ""
        return ModelGrant(model, is_server_paid=False, key=key)

    def _operator_model(self, caller: Caller, model: str = "") -> ModelGrant:
        keyed = _first_provider_with_key(self.settings)
        is_named = self.models_of(self.settings).operator is not None
        if keyed is None and not is_named:
            raise Unavailable(NO_MODEL, retryable=False)
        return self._payer().authorize(
            caller, ModelRequest("" if is_named else keyed or "", model, "")
        )

    def _payer(self) -> ModelAccess:
        return ModelAccess(self.settings, self.models_of(self.settings), self.quota)


def build_memory_model(context: FeatureContext) -> MemoryModelProvider:
    given = context.settings.part(CkfSettings)
    allowed = DailyAllowance(given.daily_per_user, given.daily_total)
    return MemoryModelProvider(given, DailyQuota(allowed, StoredQuotaCounter(context.store)))


def _first_provider_with_key(settings: CkfSettings) -> str | None:
    return next((it for it in PROVIDER_ORDER if settings.key_of(it)), None)
