"""The memory room, put together."""

from dataclasses import replace

from pecia.kernel.corpus.search import Corpus
from pecia.kernel.room import Room
from pecia.kernel.tool.model import AnyTool
from pecia.rooms.memory.ask import Asking, ask_tools
from pecia.rooms.memory.carrying import Carrying, carrying_tools
from pecia.rooms.memory.finding import Finder
from pecia.rooms.memory.graph.editing import Editing, editing_tools
from pecia.rooms.memory.graph.growing import Growing, growing_tools
from pecia.rooms.memory.graph.reading import Reading, reading_tools
from pecia.rooms.memory.holding import Holding, holding_tools
from pecia.rooms.memory.introspect import introspect_tools
from pecia.rooms.memory.judging import Judge
from pecia.rooms.memory.learn import Learner
from pecia.rooms.memory.learning import Learning, learning_tools
from pecia.rooms.memory.mind import Mind
from pecia.rooms.memory.modes import is_switched_off
from pecia.rooms.memory.reasoning import Reasoning, reasoning_tools
from pecia.rooms.memory.recall import ROOM, Recall, recall_tools
from pecia.rooms.memory.settings import MemorySettings
from pecia.rooms.memory.thinking import Thinker
from pecia.rooms.memory.workspace import Workspace, workspace_tools


def memory(corpus: Corpus, settings: MemorySettings, mind: Mind | None = None) -> Room:
    """The room, over the corpus. Without a mind it does all but what only a model can."""
    thinker = Thinker(mind)
    finder = Finder(corpus)
    recall = Recall(finder, settings, thinker.refine)
    learner = Learner(finder, Judge(mind))
    found: list[AnyTool] = []
    tools = (
        *recall_tools(recall),
        *learning_tools(Learning(learner, settings)),
        *reasoning_tools(Reasoning(recall, settings)),
        *workspace_tools(Workspace(recall, learner, settings)),
        *holding_tools(Holding(corpus.store, settings, corpus.embedder)),
        *carrying_tools(Carrying(corpus.store, settings, corpus.embedder)),
        *editing_tools(Editing(corpus.store)),
        *reading_tools(Reading(corpus.store)),
        *growing_tools(Growing(corpus.store)),
        *ask_tools(Asking(recall, learner, thinker, settings)),
        *introspect_tools(lambda: found),
    )
    # What is switched off is there and hidden: a session may have it on.
    found += [replace(it, hidden=is_switched_off(it.name, settings)) for it in tools]
    return Room(
        ROOM,
        tools=tuple(found),
        settings=(MemorySettings,),
        migrations="pecia.rooms.memory.schema",
    )
