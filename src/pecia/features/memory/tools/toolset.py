"""Every tool of the feature, over one retriever and one learner."""

from dataclasses import replace

from pecia.features.memory.chat_model import ChatService, MemoryChatModel
from pecia.features.memory.core.toolset import is_disabled
from pecia.features.memory.graph.tools.edits import GraphEditTools, graph_edit_tools
from pecia.features.memory.graph.tools.extraction import (
    GraphExtractionTools,
    graph_extraction_tools,
)
from pecia.features.memory.graph.tools.queries import GraphQueryTools, graph_query_tools
from pecia.features.memory.judge import MemoryJudge
from pecia.features.memory.learn import Learner
from pecia.features.memory.retriever import MemoryRetriever
from pecia.features.memory.settings import MemorySettings
from pecia.features.memory.statistics import GrowthStatistics
from pecia.features.memory.tools.ask import AskTools, ask_tools
from pecia.features.memory.tools.extraction import ExtractionTool, extraction_tools
from pecia.features.memory.tools.introspection import introspect_tools
from pecia.features.memory.tools.memories import MemoryTools, memory_tools
from pecia.features.memory.tools.pages import PageTools, page_tools
from pecia.features.memory.tools.search import MemorySearchTool, search_tools
from pecia.features.memory.tools.traces import TraceTools, trace_tools
from pecia.features.memory.tools.transfer import TransferTools, transfer_tools
from pecia.features.memory.tools.workspace import WorkspaceTools, workspace_tools
from pecia.kernel.corpus.search.search import Corpus
from pecia.kernel.tool.model import AnyTool


def memory_toolset(
    corpus: Corpus, settings: MemorySettings, model: MemoryChatModel | None
) -> tuple[AnyTool, ...]:
    """All of them; `tool_introspect` lists those that the settings do not hide."""
    chat = ChatService(model)
    retriever = MemoryRetriever(corpus)
    recall = MemorySearchTool(retriever, settings, chat.refine)
    growth = GrowthStatistics(corpus.store)
    learner = Learner(retriever, MemoryJudge(model), settings.screen_policy, growth)
    found: list[AnyTool] = []
    tools = (
        *search_tools(recall),
        *extraction_tools(ExtractionTool(learner, settings)),
        *trace_tools(TraceTools(recall, settings)),
        *workspace_tools(WorkspaceTools(recall, learner, settings)),
        *memory_tools(MemoryTools(corpus.store, settings, corpus.embedder)),
        *page_tools(PageTools(learner, settings)),
        *transfer_tools(TransferTools(growth, settings, corpus.embedder)),
        *graph_edit_tools(GraphEditTools(corpus.store)),
        *graph_query_tools(GraphQueryTools(corpus.store)),
        *graph_extraction_tools(GraphExtractionTools(corpus.store)),
        *ask_tools(AskTools(recall, learner, chat, settings)),
        *introspect_tools(lambda: found),
    )
    found += [replace(it, hidden=is_disabled(it.name, settings)) for it in tools]
    return tools
