"""What editors may do with a live document, asked of the store again and again."""

from collections.abc import Iterable
from dataclasses import dataclass

import anyio

from pecia.kernel.errors import NotFound, PeciaError
from pecia.kernel.store.store import Store
from pecia.rooms.wiki.live.editor import Editor
from pecia.rooms.wiki.live.rows import SQL
from pecia.rooms.wiki.space import Place


@dataclass(frozen=True, slots=True)
class Rights:
    """Those on one document."""

    store: Store
    place: Place
    path: str

    async def require(self, editor: Editor) -> None:
        """That this one may read; whether they may write is noted."""
        asked = {"source_id": self.place.source_id, "key": self.place.key(self.path)}
        async with self.store.reading(editor.caller) as tx:
            row = await tx.one(SQL["rights"], "no such document", **asked)
        if not row["may_read"]:
            raise NotFound("no such document")
        editor.may_write = row["may_write"]
        editor.checked_at = anyio.current_time()

    async def sift(self, editors: Iterable[Editor], believing_s: float) -> None:
        """End those who may not read any more. Who was asked about just now is believed."""
        now = anyio.current_time()
        for editor in [*editors]:
            if not editor.is_over and now - editor.checked_at >= believing_s:
                try:
                    await self.require(editor)
                except PeciaError as error:
                    editor.end(error)
