"""Frontmatter: a merge patch of a document's keys."""

from dataclasses import dataclass
from typing import Any

from pydantic import Field

from pecia.features.wiki.core.guard import LOCK_KEY, document_version
from pecia.features.wiki.core.summary import parse_summary
from pecia.features.wiki.core.text.frontmatter import patch_frontmatter
from pecia.features.wiki.space import Wiki
from pecia.features.wiki.space_write import begin_space_write
from pecia.features.wiki.suggestion.policy import WriteTarget, choose_target
from pecia.features.wiki.tools.documents import FEATURE
from pecia.features.wiki.tools.edits import encode_text, read_guarded, write_or_suggest
from pecia.features.wiki.tools.schemas import PreviewedOutput, SuggestibleInput
from pecia.kernel.errors import Json, NotFound
from pecia.kernel.identity.caller import Scope
from pecia.kernel.text.markdown.frontmatter import read_frontmatter
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, TextContent, Tool, ToolResult


class PatchFrontmatter(SuggestibleInput):
    patch: dict[str, Any] = Field(
        min_length=1, description="Only what changes. null removes a key; lists replace."
    )


class FrontmatterOut(PreviewedOutput):
    docName: str
    frontmatter: dict[str, Any]
    version: str


@dataclass(frozen=True, slots=True)
class FrontmatterTools:
    """The handlers."""

    wiki: Wiki

    async def patch_frontmatter(self, call: Call, ask: PatchFrontmatter) -> ToolResult:
        """Change some keys of a document's frontmatter, as a JSON merge patch; every other
        character stays. Makes the block where there is none."""
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        document = opened.find(ask.docName)
        name, summary = document.name, parse_summary(ask.summary)
        patch: dict[str, Json] = ask.patch
        async with begin_space_write(opened) as writer:
            target = await choose_target(writer, document.path, asked=ask.suggest)
            # Unlocking a document is a change of the document that is locked.
            old = await read_guarded(
                writer, name, document.path, ask.expected_version, unlocks=LOCK_KEY in patch
            )
            if old is None:
                raise NotFound(f"no document {name!r}", field="docName", docName=name)
            body = encode_text(patch_frontmatter(old, patch))
            made = None
            if body != old.encode() or target is WriteTarget.SUGGESTION:
                change = (old, body)
                made = await write_or_suggest(writer, name, document.path, change, summary, target)
        if made is not None:
            return made.result(opened, summary)
        opened.record_returned([document.path])
        fields: dict[str, Json] = {
            "docName": name,
            "frontmatter": read_frontmatter(body.decode()).values,
            "version": document_version(body),
            **opened.preview.link(name),
        }
        if summary is not None:
            fields["summary"] = summary.to_json()
        return ToolResult(fields, (TextContent(f"Saved the frontmatter of {name}."),))


def frontmatter_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    return (
        Tool(
            FEATURE,
            "patch_frontmatter",
            Scope.WRITE,
            PatchFrontmatter,
            FrontmatterOut,
            FrontmatterTools(wiki).patch_frontmatter,
            read_only=False,
            destructive=True,
        ),
    )
