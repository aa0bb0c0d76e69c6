"""The chat models behind `ask`: one that the caller chose, else that of the session or operator."""

from dataclasses import dataclass

from pecia.adapters.models.messages import ChatMessage, ChatOptions
from pecia.app.composition.chat_models import ProviderModel, build_provider_models
from pecia.app.composition.memory_model import MemoryModelProvider
from pecia.features.ckf.llm.access import ModelAccess, ModelRequest
from pecia.features.ckf.llm.quota import DailyAllowance, DailyQuota, StoredQuotaCounter
from pecia.features.ckf.settings import CkfSettings
from pecia.features.lake.answer_model import MAX_REPLY_TOKENS, ModelChoice
from pecia.kernel.errors import Timeout, Unavailable, UpstreamError
from pecia.kernel.feature import FeatureContext
from pecia.kernel.tool.call import Call


@dataclass(frozen=True, slots=True)
class AnswerModelProvider:
    """Under the same rules and the same daily quota as the model compiler."""

    default: MemoryModelProvider
    access: ModelAccess

    async def say(
        self, call: Call, choice: ModelChoice, system: str, message: str, *, timeout_s: float
    ) -> str:
        if not choice.is_explicit:
            return await self.default.say(call, system, message, timeout_s=timeout_s)
        wish = ModelRequest(choice.provider, choice.model, choice.key)
        paid = self.access.authorize(call.caller, wish)
        if not isinstance(paid.model, ProviderModel):
            raise Unavailable(
                f"the model {choice.model or choice.provider!r} has no chat interface",
                retryable=False,
                hint="Name another provider or model, or none: then the server's own answers.",
            )
        await self.access.charge(call.caller, paid)
        said = [ChatMessage("system", system), ChatMessage("user", message)]
        options = ChatOptions(max_tokens=MAX_REPLY_TOKENS, timeout_s=timeout_s)
        try:
            return (await paid.model.inner.chat(said, key=paid.key, options=options)).text
        except Timeout as late:
            # The provider's timeout, not this server's.
            provider = paid.model.provider
            raise UpstreamError(late.message, provider=provider, reason="timeout") from None


def build_answer_model(context: FeatureContext) -> AnswerModelProvider:
    given = context.settings.part(CkfSettings)
    allowed = DailyAllowance(given.daily_per_user, given.daily_total)
    quota = DailyQuota(allowed, StoredQuotaCounter(context.store))
    access = ModelAccess(given, build_provider_models(given), quota)
    return AnswerModelProvider(MemoryModelProvider(given, quota), access)
