"""The workflow tools: steps for an agent to follow. They read a text of ours and do nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from pydantic import Field

from pecia.kernel.errors import InvalidInput, Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Result, Text, Tool
from pecia.rooms.wiki.tools.reading import ROOM
from pecia.rooms.wiki.tools.shapes import FlowOut, Where
from pecia.rooms.wiki.wiki import Wiki


class Ingest(Where):
    source: str = Field(min_length=1, max_length=4000, description="A URL, or a path of a file.")


class Topic(Where):
    topic: str = Field(min_length=1, max_length=4000)


@dataclass(frozen=True, slots=True)
class Flows:
    """The handlers."""

    wiki: Wiki

    async def init_content(self, call: Call, ask: Where) -> Result:
        """Steps to write the first articles of a space from a codebase."""
        space = await self.wiki.space(call, ask.cwd, ask.space)
        settings = await self.wiki.configs.effective(call, space)
        preview = await self.wiki.preview(space, settings)
        told: dict[str, Json] = {"ui": preview.ui}
        return _steps("init-content", settings.config.content.dir, {}, told)

    async def ingest(self, call: Call, ask: Ingest) -> Result:
        """Steps to keep an outside source, a URL or a file, as raw reference material."""
        return await self._about(call, ask, "ingest", {"source": ask.source})

    async def research(self, call: Call, ask: Topic) -> Result:
        """Steps to gather sources on a topic and write a provisional article."""
        return await self._about(call, ask, "research", {"topic": ask.topic})

    async def consolidate(self, call: Call, ask: Topic) -> Result:
        """Steps to turn research on a topic into a canonical article."""
        return await self._about(call, ask, "consolidate", {"topic": ask.topic})

    async def _about(self, call: Call, ask: Where, flow: str, words: Mapping[str, str]) -> Result:
        for field, text in words.items():
            if not text.strip():
                raise InvalidInput(f'Field "{field}" must hold more than spaces', field=field)
        space = await self.wiki.space(call, ask.cwd, ask.space)
        settings = await self.wiki.configs.effective(call, space)
        return _steps(flow, settings.config.content.dir, words, {"previewUrl": None})


def flow_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    it = Flows(wiki)
    read = Scope.READ
    return (
        Tool(ROOM, "init-content", read, Where, FlowOut, it.init_content, idempotent=True),
        Tool(ROOM, "ingest", read, Ingest, FlowOut, it.ingest, idempotent=True),
        Tool(ROOM, "research", read, Topic, FlowOut, it.research, idempotent=True),
        Tool(ROOM, "consolidate", read, Topic, FlowOut, it.consolidate, idempotent=True),
    )


def _steps(flow: str, folder: str, words: Mapping[str, str], told: dict[str, Json]) -> Result:
    """The frame that all four share, then the steps, with the caller's words put in."""
    text = f"{_text('frame')}\n{_text(flow)}"
    for name, value in {"content_dir": folder, "flow": flow, **words}.items():
        text = text.replace("{{" + name + "}}", " ".join(value.split()))
    return Result({**told, "text": text}, (Text(text),))


def _text(name: str) -> str:
    return (files("pecia.rooms.wiki") / "flows" / f"{name}.md").read_text(encoding="utf-8")
