"""Writes beside the reference's: several documents at once, a patch of frontmatter, templates."""

from dataclasses import dataclass
from typing import Any

from pydantic import Field

from pecia.features.wiki.core import edit
from pecia.features.wiki.core.guard import LOCK_KEY, document_version
from pecia.features.wiki.core.names import FoldedNames, require_no_twin
from pecia.features.wiki.core.summary import parse_summary
from pecia.features.wiki.core.text.frontmatter import patch_frontmatter
from pecia.features.wiki.history.message import format_subject
from pecia.features.wiki.space import Wiki
from pecia.features.wiki.space_write import MergeBase, begin_space_write
from pecia.features.wiki.suggestion.policy import WriteTarget, choose_target
from pecia.features.wiki.suggestion.propose import add_suggestion
from pecia.features.wiki.template.create import (
    CreateDocument,
    ListTemplates,
    TemplatesOut,
    TemplateTools,
)
from pecia.features.wiki.tools.documents import FEATURE
from pecia.features.wiki.tools.edits import (
    encode_text,
    find_target,
    read_guarded,
    write_or_suggest,
)
from pecia.features.wiki.tools.schemas import (
    SUGGEST,
    SUMMARY_FIELD,
    DocumentWrite,
    OptionalText,
    PreviewedOutput,
    SpaceInput,
    SuggestibleInput,
    WikiOutput,
)
from pecia.kernel.errors import InvalidInput, Json, NotFound
from pecia.kernel.identity.caller import Scope
from pecia.kernel.text.markdown.frontmatter import read_frontmatter
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, TextContent, Tool, ToolResult
from pecia.kernel.tool.plain_text import PlainValues

MAX_DOCUMENTS = 200


class WriteDocuments(SpaceInput):
    documents: list[DocumentWrite] = Field(min_length=1, max_length=MAX_DOCUMENTS)
    summary: OptionalText = SUMMARY_FIELD
    suggest: bool = SUGGEST


class WrittenOut(WikiOutput):
    written: list[dict[str, object]]


class PatchFrontmatter(SuggestibleInput):
    patch: PlainValues = Field(
        min_length=1, description="Only what changes. null removes a key; lists replace."
    )


class FrontmatterOut(PreviewedOutput):
    docName: str
    frontmatter: dict[str, Any]
    version: str


@dataclass(frozen=True, slots=True)
class WriteTools:
    """The handlers."""

    wiki: Wiki

    async def write_documents(self, call: Call, ask: WriteDocuments) -> ToolResult:
        """Create, replace or append to several documents as one version: all of them are written,
        or none."""
        first = ask.documents[0].docName
        opened = await self.wiki.open(call, ask.cwd, ask.space, first)
        names = [opened.parse_name(it.docName) for it in ask.documents]
        if twice := {it for it in names if names.count(it) > 1}:
            raise InvalidInput(f"{min(twice)!r} is named twice", field="documents")
        summary = parse_summary(ask.summary)
        folded = FoldedNames.of(opened.documents)
        new = [it for it in names if it not in opened.documents]
        for at, name in enumerate(new):
            twin = FoldedNames.of(new[:at]).find_twin(name)
            require_no_twin(name, twin, field="documents", existing=twin)
        rows: list[dict[str, Json]] = []
        written: list[str] = []
        async with begin_space_write(opened) as writer:
            for name, it in zip(names, ask.documents, strict=True):
                path, target = await find_target(
                    opened, writer, it.docName, suggest=ask.suggest, folded=folded
                )
                old = await read_guarded(writer, name, path, it.expected_version, target=target)
                body = encode_text(edit.apply_write(old, it.markdown, it.position))
                if target is WriteTarget.SUGGESTION:
                    made = await add_suggestion(
                        writer, name, path, (old, body.decode()), summary and summary.value
                    )
                    rows.append(made.fields())
                    continue
                await writer.write(path, body, MergeBase.DOCUMENT)
                written.append(name)
                version = document_version(body)
                rows.append({"docName": name, "created": old is None, "version": version})
                opened.record_returned([path])
            if written:
                await writer.record(format_subject(written), written, summary)
        fields: dict[str, Json] = {"written": [*rows]}
        if summary is not None:
            fields["summary"] = summary.to_json()
        waiting = len(rows) - len(written)
        said = f" Suggested {waiting} more, which are unchanged." if waiting else ""
        versions = [f"- {it['docName']}, version {it['version']}" for it in rows if "version" in it]
        text = "\n".join([f"Saved {len(written)} documents.{said}", *versions])
        return ToolResult(fields, (TextContent(text),))

    async def patch_frontmatter(self, call: Call, ask: PatchFrontmatter) -> ToolResult:
        """Change some keys of a document's frontmatter, as a JSON merge patch; every other
        character stays. Makes the block where there is none."""
        opened = await self.wiki.open(call, ask.cwd, ask.space, ask.docName)
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
            made, is_same = None, body == old.encode()
            if not is_same or target is WriteTarget.SUGGESTION:
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
        if is_same:
            fields["unchanged"] = True
        done = "Nothing changed in" if is_same else "Saved"
        said = f"{done} the frontmatter of {name}, version {fields['version']}."
        return ToolResult(fields, (TextContent(said),))


def write_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    it = WriteTools(wiki)
    return (
        Tool(
            FEATURE,
            "write_documents",
            Scope.WRITE,
            WriteDocuments,
            WrittenOut,
            it.write_documents,
            read_only=False,
            destructive=True,
        ),
        Tool(
            FEATURE,
            "patch_frontmatter",
            Scope.WRITE,
            PatchFrontmatter,
            FrontmatterOut,
            it.patch_frontmatter,
            read_only=False,
            destructive=True,
        ),
    )


def template_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    it = TemplateTools(wiki)
    return (
        Tool(
            FEATURE,
            "create_document",
            Scope.WRITE,
            CreateDocument,
            PreviewedOutput,
            it.create_document,
            read_only=False,
        ),
        Tool(FEATURE, "list_templates", Scope.READ, ListTemplates, TemplatesOut, it.list_templates),
    )
