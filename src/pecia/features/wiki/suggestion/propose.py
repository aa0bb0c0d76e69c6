"""Makes suggestions out of writes, and finds their pieces in the documents of now."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from anyio.to_thread import run_sync

from pecia.features.wiki.core.document import decode_utf8
from pecia.features.wiki.core.summary import EditSummary
from pecia.features.wiki.parse import MAX_INLINE_BYTES
from pecia.features.wiki.space import OpenSpace
from pecia.features.wiki.space_write import SpaceWrite
from pecia.features.wiki.storage import disk
from pecia.features.wiki.suggestion.anchor import find_anchors
from pecia.features.wiki.suggestion.pieces import ChangePiece, split_change
from pecia.features.wiki.suggestion.store import Suggestion, Suggestions
from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import InvalidInput, Json, NotFound
from pecia.kernel.tool.model import TextContent, ToolResult


@dataclass(frozen=True, slots=True)
class AddedSuggestion:
    id: UUID
    docName: str
    pieces: int

    def fields(self) -> dict[str, Json]:
        return {
            "docName": self.docName,
            "suggestion": str(self.id),
            "pieces": self.pieces,
            "saved": False,
        }

    def result(self, opened: OpenSpace, summary: EditSummary | None) -> ToolResult:
        """The answer of a write that landed as a suggestion."""
        fields = self.fields() | opened.preview.link(self.docName)
        if summary is not None:
            fields["summary"] = summary.to_json()
        text = (
            f"Suggested for {self.docName}, which is unchanged: suggestion {self.id}, "
            f"{self.pieces} piece{'s' if self.pieces > 1 else ''}. Whoever may write the document "
            "accepts it with accept_suggestion."
        )
        return ToolResult(fields, (TextContent(text),))


async def add_suggestion(
    writer: SpaceWrite, name: str, path: str, change: tuple[str | None, str], summary: str | None
) -> AddedSuggestion:
    """Store the change from one text to the other as a suggestion, in the writer's transaction."""
    old, new = change
    if old == new:
        raise InvalidInput(
            f"{name!r} has this text already: there is nothing to suggest",
            field="docName",
            docName=name,
        )
    call = writer.opened.call
    if old is None:
        pieces = [ChangePiece(0, 0, new)]
    elif len(old) + len(new) <= MAX_INLINE_BYTES:
        pieces = split_change(old, new)
    else:
        pieces = await compute(call.caller.tenant_id, split_change, old, new)
    rows = Suggestions(writer.tx, writer.opened.location)
    return AddedSuggestion(await rows.add(call, path, old, pieces, summary), name, len(pieces))


async def locate_pieces(
    opened: OpenSpace, about: Suggestion, pieces: Sequence[ChangePiece], now: str | None
) -> list[ChangePiece | None]:
    """The pieces in the text of now; None where what a piece was about changed."""
    if about.base is None or now is None or len(about.base) + len(now) <= MAX_INLINE_BYTES:
        return find_anchors(about.base, pieces, now)
    return await compute(opened.call.caller.tenant_id, find_anchors, about.base, [*pieces], now)


async def read_visible_text(opened: OpenSpace, path: str) -> str | None:
    """The document at this path as the caller sees it; None where there is none, or no UTF-8."""
    if not any(it.path == path for it in opened.documents.values()):
        return None
    try:
        return decode_utf8(await run_sync(disk.read, opened.root, path))
    except NotFound:
        return None
