"""Batches: several documents written at once, all or none."""

from dataclasses import dataclass

from pydantic import Field

from pecia.features.wiki.core import edit
from pecia.features.wiki.core.guard import document_version
from pecia.features.wiki.core.names import parse_document_name
from pecia.features.wiki.core.summary import parse_summary
from pecia.features.wiki.history.message import format_subject
from pecia.features.wiki.space import Wiki
from pecia.features.wiki.space_write import MergeBase, begin_space_write
from pecia.features.wiki.suggestion.policy import WriteTarget
from pecia.features.wiki.suggestion.propose import add_suggestion
from pecia.features.wiki.tools.documents import FEATURE
from pecia.features.wiki.tools.edits import encode_text, find_target, read_guarded
from pecia.features.wiki.tools.schemas import (
    SUGGEST,
    SUMMARY_FIELD,
    DocumentWrite,
    OptionalText,
    SpaceInput,
    WikiOutput,
)
from pecia.kernel.errors import InvalidInput, Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, TextContent, Tool, ToolResult

MAX_DOCUMENTS = 200


class WriteDocuments(SpaceInput):
    documents: list[DocumentWrite] = Field(min_length=1, max_length=MAX_DOCUMENTS)
    summary: OptionalText = SUMMARY_FIELD
    suggest: bool = SUGGEST


class WrittenOut(WikiOutput):
    written: list[dict[str, object]]


@dataclass(frozen=True, slots=True)
class BatchTools:
    """The handlers."""

    wiki: Wiki

    async def write_documents(self, call: Call, ask: WriteDocuments) -> ToolResult:
        """Create, replace or append to several documents as one version: all of them are written,
        or none."""
        names = [parse_document_name(it.docName) for it in ask.documents]
        if twice := {it for it in names if names.count(it) > 1}:
            raise InvalidInput(f"{min(twice)!r} is named twice", field="documents")
        summary = parse_summary(ask.summary)
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        rows: list[Json] = []
        written: list[str] = []
        async with begin_space_write(opened) as writer:
            for name, it in zip(names, ask.documents, strict=True):
                path, target = await find_target(opened, writer, it.docName, suggest=ask.suggest)
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
        fields: dict[str, Json] = {"written": rows}
        if summary is not None:
            fields["summary"] = summary.to_json()
        waiting = len(rows) - len(written)
        said = f" Suggested {waiting} more, which are unchanged." if waiting else ""
        return ToolResult(fields, (TextContent(f"Saved {len(written)} documents.{said}"),))


def batch_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    return (
        Tool(
            FEATURE,
            "write_documents",
            Scope.WRITE,
            WriteDocuments,
            WrittenOut,
            BatchTools(wiki).write_documents,
            read_only=False,
            destructive=True,
        ),
    )
