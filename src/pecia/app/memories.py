"""The memory room of a server, with the model that it may ask handed in."""

from dataclasses import dataclass

from pecia.adapters.llm.words import Message, Options
from pecia.app.models import ProviderModel, provider_models
from pecia.kernel.corpus.search import Corpus
from pecia.kernel.errors import Timeout, Unavailable, UpstreamError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.room import Room
from pecia.kernel.settings.load import Settings
from pecia.rooms.ckf.llm.payer import Payer, Wish
from pecia.rooms.ckf.llm.quota import Allowance, DailyQuota, StoredLedger
from pecia.rooms.ckf.settings import CkfSettings
from pecia.rooms.memory.mind import Mind
from pecia.rooms.memory.room import memory
from pecia.rooms.memory.settings import MemorySettings

# Whose key is taken where several are set and the operator named none.
BY_KEY = ("openai", "anthropic", "gemini", "deepseek", "openrouter")
MOST_TOKENS = 4_000


@dataclass(frozen=True, slots=True)
class PaidMind:
    """The operator's model, for those whom this server pays for, and within their quota."""

    payer: Payer
    provider: str

    async def say(self, caller: Caller, system: str, message: str, *, timeout_s: float) -> str:
        paid = self.payer.paid(caller, Wish(self.provider, "", ""))
        if not isinstance(paid.model, ProviderModel):
            raise Unavailable("this model cannot be talked to", retryable=False)
        await self.payer.charge(caller, paid)
        said = [Message("system", system), Message("user", message)]
        options = Options(max_tokens=MOST_TOKENS, timeout_s=timeout_s)
        try:
            return (await paid.model.inner.chat(said, key=paid.key, options=options)).text
        except Timeout as late:
            # The clock that ran out was the provider's, not this server's.
            raise UpstreamError(late.message, provider=self.provider, reason="timeout") from None


def memory_room(settings: Settings, corpus: Corpus) -> Room:
    """The room over what is stored here."""
    return memory(corpus, settings.part(MemorySettings), _mind(settings, corpus))


def _mind(settings: Settings, corpus: Corpus) -> Mind | None:
    """The model that the settings give access to, if they do."""
    given = settings.part(CkfSettings)
    models = provider_models(given)
    keyed = next((it for it in BY_KEY if given.key_of(it)), None)
    if models.operator is None and keyed is None:
        return None
    allowed = Allowance(given.daily_per_user, given.daily_total)
    payer = Payer(given, models, DailyQuota(allowed, StoredLedger(corpus.store)))
    return PaidMind(payer, "" if models.operator else keyed or "")
