"""Builds the memory feature with its chat model."""

from dataclasses import dataclass

from pecia.features.memory.chat_model import MemoryChatModel
from pecia.features.memory.feature import memory_feature
from pecia.features.memory.settings import MemorySettings
from pecia.kernel.feature import Feature, FeatureContext
from pecia.kernel.on_demand import OnDemand
from pecia.kernel.tool.call import Call


@dataclass(frozen=True, slots=True)
class MemoryModelOnDemand:
    """The chat model, whose client is imported when it is first asked."""

    provider: OnDemand[MemoryChatModel]

    async def say(self, call: Call, system: str, message: str, *, timeout_s: float) -> str:
        model = await self.provider.load()
        return await model.say(call, system, message, timeout_s=timeout_s)


def build_memory(context: FeatureContext) -> Feature:
    """The memory feature."""
    model: OnDemand[MemoryChatModel] = OnDemand(
        "pecia.app.composition.memory_model:build_memory_model", context
    )
    settings = context.settings.part(MemorySettings)
    return memory_feature(context.corpus, settings, MemoryModelOnDemand(model))
