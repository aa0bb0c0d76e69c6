"""The versions of a document that a caller may see.

A version is under the rights of the path that the document had then: what was struck out before it
moved to where more people see it stays with those who could see it there. So is what its message
says of other documents.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pecia.features.wiki.core.names import EXTENSIONS, split_extension
from pecia.features.wiki.history.history import MAX_COMMITS, DocumentVersion
from pecia.features.wiki.history.message import narrow_note
from pecia.features.wiki.history.port import VersionCommit
from pecia.features.wiki.space import OpenSpace
from pecia.features.wiki.store import SQL
from pecia.kernel.errors import NotFound


@dataclass(frozen=True, slots=True)
class VisibleHistory:
    """As SpaceHistory, for the caller of an open space."""

    opened: OpenSpace

    async def timeline(self, path: str) -> list[DocumentVersion]:
        """The versions of a document, newest first; empty without history."""
        return await self._narrow(await self.opened.history.timeline(path))

    async def list_recent(self, path: str, count: int) -> list[DocumentVersion]:
        """The latest versions of a document, without checkpoints that did not change it."""
        found = await self.opened.history.list_recent(path, count)
        seen = await self._narrow(found)
        if len(seen) == len(found):
            return seen
        # Behind hidden versions there may be more that the caller sees.
        return (await self._narrow(await self.opened.history.list_recent(path, MAX_COMMITS)))[
            :count
        ]

    async def read(self, sha: str, path: str) -> tuple[bytes, VersionCommit]:
        """The document as of a version, of which it may have had another path."""
        history = self.opened.history
        try:
            return await history.read(sha, path)
        except NotFound:
            former = next((it for it in await self.timeline(path) if it.sha == sha), None)
        if former is None:
            raise NotFound(f"no version {sha[:7]!r} of this document", field="commitSha", got=sha)
        return await history.read(sha, former.path)

    async def _narrow(self, versions: Sequence[DocumentVersion]) -> list[DocumentVersion]:
        if self.opened.space.is_whole:
            return [*versions]
        names = {split_extension(it.path)[0] for it in versions}
        hidden = await self._find_hidden(
            {*names, *(doc for it in versions for doc in it.note.docs)}
        )
        return [
            replace(it, note=narrow_note(it.note, name, hidden))
            for it in versions
            if (name := split_extension(it.path)[0]) not in hidden
        ]

    async def _find_hidden(self, names: set[str]) -> set[str]:
        """Those of these names that the caller may not see. Of one that no document has any more,
        grants on the folders above it decide."""
        opened = self.opened
        hidden = {it for it in names if it in opened.hidden}
        gone = {
            opened.location.key(f"{it}{EXTENSIONS[-1]}"): it
            for it in names - hidden
            if it not in opened.documents
        }
        if not gone:
            return hidden
        async with opened.wiki.store.reading(opened.call.caller) as tx:
            asked = {"source_id": opened.space.source_id, "keys": [*gone]}
            rows = await tx.fetch_all(SQL["visible_paths"], **asked)
        return hidden | {*gone.values()} - {gone[row["key"]] for row in rows}
