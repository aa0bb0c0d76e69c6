"""Composition of the memory feature."""

from dataclasses import replace

from pecia.features.memory.chat_model import MemoryChatModel
from pecia.features.memory.core.toolset import is_disabled
from pecia.features.memory.settings import MemorySettings
from pecia.kernel.corpus.search.search import Corpus
from pecia.kernel.feature import Feature
from pecia.kernel.tool.on_demand import deferred_tools

FEATURE = "memory"

INSTRUCTIONS = (
    "Memories that outlive a session. Before you work on something, cipher_memory_search for what "
    "was learnt about it. When you learn a fact, a decision or a preference, store it with "
    "cipher_extract_and_operate_memory; what a team should find, with cipher_workspace_store. A "
    "memory repeats what somebody said or did: cite its source where there is one."
)


def memory_feature(
    corpus: Corpus, settings: MemorySettings, model: MemoryChatModel | None = None
) -> Feature:
    """The feature, over the corpus. Without a chat model everything works but model answers."""
    tools = deferred_tools(
        "pecia.features.memory.tools.toolset:memory_toolset", corpus, settings, model
    )
    return Feature(
        FEATURE,
        instructions=INSTRUCTIONS,
        # Disabled tools are registered but hidden: a session may enable them.
        tools=tuple(replace(it, hidden=is_disabled(it.name, settings)) for it in tools),
    )
