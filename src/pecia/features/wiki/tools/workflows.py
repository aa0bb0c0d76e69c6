"""The workflow tools: steps for an agent to follow. They return text and do nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from pydantic import Field

from pecia.features.wiki.space import Wiki
from pecia.features.wiki.tools.documents import FEATURE
from pecia.features.wiki.tools.schemas import FlowOut, SpaceInput
from pecia.kernel.errors import InvalidInput, Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, TextContent, Tool, ToolResult


class IngestInput(SpaceInput):
    source: str = Field(min_length=1, max_length=4000, description="A URL, or a path of a file.")


class WorkflowTopic(SpaceInput):
    topic: str = Field(min_length=1, max_length=4000)


@dataclass(frozen=True, slots=True)
class WorkflowTools:
    """The handlers."""

    wiki: Wiki

    async def init_content(self, call: Call, ask: SpaceInput) -> ToolResult:
        """Steps to write the first articles of a space from a codebase."""
        space = await self.wiki.resolve_space(call, ask.cwd, ask.space)
        settings = await self.wiki.configs.load_effective(call, space)
        preview = await self.wiki.preview(space, settings)
        fields: dict[str, Json] = {"ui": preview.ui}
        return _build_result("init-content", settings.config.content.dir, {}, fields)

    async def ingest(self, call: Call, ask: IngestInput) -> ToolResult:
        """Steps to save an external source, a URL or a file, as raw reference material."""
        return await self._render_workflow(call, ask, "ingest", {"source": ask.source})

    async def research(self, call: Call, ask: WorkflowTopic) -> ToolResult:
        """Steps to gather sources on a topic and write a provisional article."""
        return await self._render_workflow(call, ask, "research", {"topic": ask.topic})

    async def consolidate(self, call: Call, ask: WorkflowTopic) -> ToolResult:
        """Steps to turn research on a topic into a canonical article."""
        return await self._render_workflow(call, ask, "consolidate", {"topic": ask.topic})

    async def _render_workflow(
        self, call: Call, ask: SpaceInput, flow: str, words: Mapping[str, str]
    ) -> ToolResult:
        for field, text in words.items():
            if not text.strip():
                raise InvalidInput(f'Field "{field}" must not be blank', field=field)
        space = await self.wiki.resolve_space(call, ask.cwd, ask.space)
        settings = await self.wiki.configs.load_effective(call, space)
        return _build_result(flow, settings.config.content.dir, words, {"previewUrl": None})


def workflow_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    it = WorkflowTools(wiki)
    read = Scope.READ
    return (
        Tool(FEATURE, "init-content", read, SpaceInput, FlowOut, it.init_content, idempotent=True),
        Tool(FEATURE, "ingest", read, IngestInput, FlowOut, it.ingest, idempotent=True),
        Tool(FEATURE, "research", read, WorkflowTopic, FlowOut, it.research, idempotent=True),
        Tool(FEATURE, "consolidate", read, WorkflowTopic, FlowOut, it.consolidate, idempotent=True),
    )


def _build_result(
    flow: str, folder: str, words: Mapping[str, str], fields: dict[str, Json]
) -> ToolResult:
    """The common frame, then the steps, with the caller's values filled in."""
    text = f"{_load_text('frame')}\n{_load_text(flow)}"
    for name, value in {"content_dir": folder, "flow": flow, **words}.items():
        text = text.replace("{{" + name + "}}", " ".join(value.split()))
    return ToolResult({**fields, "text": text}, (TextContent(text),))


def _load_text(name: str) -> str:
    return (files("pecia.features.wiki") / "workflows" / f"{name}.md").read_text(encoding="utf-8")
