"""Which key a compile uses, and whether this caller may use it. Never sends or stores a key."""

import re
from dataclasses import dataclass, field

from pecia.features.ckf.llm.model import ChatModel, ModelCatalog
from pecia.features.ckf.llm.quota import DailyQuota
from pecia.features.ckf.settings import CkfSettings
from pecia.kernel.errors import AuthRequired, Forbidden, InvalidFormat, MissingField, Unavailable
from pecia.kernel.identity.caller import Caller, CredentialKind

OWN_KEY_HINT = "Pass byok_key with provider openai, anthropic, gemini, deepseek or openrouter."
OPERATOR_PROVIDERS = frozenset({"operator", "lovable"})
KEY_SHAPES = {
    "openai": re.compile(r"sk-[A-Za-z0-9_-]{20,}"),
    "anthropic": re.compile(r"sk-ant-[A-Za-z0-9_-]{20,}"),
    "gemini": re.compile(r"[A-Za-z0-9_-]{30,}"),
    "deepseek": re.compile(r"sk-[A-Za-z0-9]{20,}"),
    "openrouter": re.compile(r"sk-or-[A-Za-z0-9_-]{20,}"),
}


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """The model that a caller requested. An empty string means unset."""

    provider: str
    model: str
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ModelGrant:
    """A model and its key; `is_server_paid`: this server pays."""

    model: ChatModel
    is_server_paid: bool
    key: str = field(repr=False)


class ModelAccess:
    """Authorizes by caller. `charge` counts quotas, just before the work begins."""

    def __init__(self, settings: CkfSettings, models: ModelCatalog, quota: DailyQuota) -> None:
        self._settings = settings
        self._models = models
        self._quota = quota

    def authorize(self, caller: Caller, request: ModelRequest) -> ModelGrant:
        provider = "gemini" if request.provider == "google" else request.provider
        if request.key:
            return self._with_caller_key(provider, request)
        if caller.is_anonymous:
            raise AuthRequired("your own key or a bearer token is required", hint=OWN_KEY_HINT)
        if provider and provider not in OPERATOR_PROVIDERS:
            return self._with_server_key(caller, provider, request.model)
        return self._with_operator_model(caller, request.model)

    async def charge(self, caller: Caller, paid: ModelGrant) -> None:
        if paid.is_server_paid:
            await self._quota.take(caller.tenant_id, caller.user_id or caller.credential_id)

    def _with_caller_key(self, provider: str, request: ModelRequest) -> ModelGrant:
        if not provider:
            raise MissingField(
                'Field "provider" is required with byok_key', field="provider", hint=OWN_KEY_HINT
            )
        shape = KEY_SHAPES.get(provider)
        if shape is None:
            raise InvalidFormat(
                "byok_key needs a provider of your own; the operator's model takes none",
                field="provider",
                hint=OWN_KEY_HINT,
            )
        if not shape.fullmatch(request.key):
            raise InvalidFormat(
                f'Field "byok_key" is not a valid key format of {provider}',
                field="byok_key",
                expected=shape.pattern,
                hint="Copy the whole key, and check that it belongs to this provider.",
            )
        return ModelGrant(
            self._models.model(provider, request.model), is_server_paid=False, key=request.key
        )

    def _with_server_key(self, caller: Caller, provider: str, model: str) -> ModelGrant:
        key = self._settings.key_of(provider)
        if not key:
            raise MissingField(
                f'Field "byok_key" is required: this server has no key of {provider}',
                field="byok_key",
                hint=OWN_KEY_HINT,
            )
        self._require_entitled(caller)
        return ModelGrant(self._models.model(provider, model), is_server_paid=True, key=key)

    def _with_operator_model(self, caller: Caller, model: str) -> ModelGrant:
        self._require_entitled(caller)
        found = self._models.operators()
        if found is None:
            raise Unavailable(
                "no operator model is configured on this server", retryable=False, hint=OWN_KEY_HINT
            )
        if model and model != found.name:
            raise Forbidden(
                f"the operator's model is {found.name}", hint="Leave `model` out, or pass byok_key."
            )
        own = self._settings.operator_key
        key = own.get_secret_value() if own else self._settings.key_of(found.provider)
        if not key and self._settings.operator_provider:
            raise key_missing(found.provider)
        return ModelGrant(found, is_server_paid=True, key=key)

    def _require_entitled(self, caller: Caller) -> None:
        if self._settings.operator_disabled:
            raise Forbidden("models that this server pays for are disabled", hint=OWN_KEY_HINT)
        local = caller.kind is CredentialKind.LOCAL
        listed = f"{caller.tenant}/{caller.user}" in self._settings.allowlist
        if not (local or caller.is_admin or listed):
            raise Forbidden(
                "models that this server pays for are for admins and the allowlist",
                hint=OWN_KEY_HINT,
            )


def key_missing(provider: str) -> Unavailable:
    """A provider was chosen, and there is no key for it."""
    return Unavailable(
        f"{provider.upper()}_API_KEY not found",
        retryable=False,
        provider=provider,
        hint="Export it before the client or the server starts, or put it into the client's `env`.",
    )
