"""Live documents in the store, for the system or for a caller who may write."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol
from uuid import UUID

from pecia.features.wiki.live.core.crdt import LiveText, new_server_client_id
from pecia.features.wiki.store import SpaceLocation
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction

SQL = load_queries("pecia.features.wiki.live")


@dataclass(frozen=True, slots=True)
class LiveRow:
    """A live document. `base` has all updates up to `filed`, as had the file."""

    id: UUID
    house_id: int
    base: bytes
    digest: bytes
    head: int
    filed: int
    is_gone: bool = False
    """A program removed the file, and it may come back."""

    @property
    def is_flushed(self) -> bool:
        return self.head == self.filed


@dataclass(frozen=True, slots=True)
class LiveChange:
    """An update by one writer, in Yjs encoding."""

    writer: str
    change: bytes


@dataclass(frozen=True, slots=True)
class FileCopy:
    """A file beside the document's: staged to replace it, or recently replaced.

    Before the swap, `base` is the state that the file will have, with all updates up to `head`, and
    `inode` that of the new file. Afterwards, `base` is the state that the old file has.
    """

    name: str
    inode: str
    base: bytes
    digest: bytes
    head: int
    swapped_at: float | None = None


@dataclass(frozen=True, slots=True)
class FileBase:
    """The state that the file has, and the digest of the file."""

    base: bytes
    digest: bytes


class LiveRows(Protocol):
    """The live documents of one space, within one transaction."""

    async def find(self, path: str) -> LiveRow | None:
        """The document at this path, locked until the transaction ends."""
        ...

    async def changes(self, row: LiveRow) -> list[LiveChange]:
        """The updates that are not in the base yet."""
        ...

    async def add(self, row: LiveRow, changes: Sequence[LiveChange], based: FileBase) -> None:
        """Our own updates, and the file's known state. Open editors are notified."""
        ...

    async def copies(self, row: LiveRow) -> list[FileCopy]:
        """The pending swap, if any, and recently replaced files."""
        ...

    async def complete_swap(self, row: LiveRow, intent: FileCopy, at: float) -> None:
        """The pending swap was made."""
        ...

    async def update_copy(self, row: LiveRow, copy: FileCopy) -> None:
        """Update the known state of a replaced file."""
        ...

    async def drop_copy(self, row: LiveRow, copy: FileCopy) -> None:
        """It has nothing more to contribute; the file itself is removed later."""
        ...

    async def end(self, path: str) -> None:
        """End the live document; open editors are notified."""
        ...

    async def find_live(self, paths: Sequence[str]) -> set[str]:
        """Those of these documents that are live."""
        ...

    async def move(self, path: str, to: str) -> None:
        """Rename the live document, with all its edits."""
        ...


@dataclass(frozen=True, slots=True)
class SystemLiveRows:
    """In a system transaction."""

    tx: Transaction
    location: SpaceLocation

    async def find(self, path: str) -> LiveRow | None:
        asked = {**self.location.sql_params(), "key": self.location.key(path)}
        return _parse_row(await self.tx.fetch_optional(SQL["live"], **asked))

    async def begin(self, path: str, text: str) -> LiveRow:
        """Make the document at this path live, with this text."""
        house_id = new_server_client_id()
        base = LiveText.create(text, house_id).state
        asked = {**self.location.sql_params(), "key": self.location.key(path), "house_id": house_id}
        digest = sha256(text.encode()).digest()
        await self.tx.execute(SQL["begin_live"], **asked, base=base, digest=digest)
        found = await self.find(path)
        assert found is not None
        return found

    async def changes(self, row: LiveRow) -> list[LiveChange]:
        asked = {"tenant_id": self.location.tenant_id, "id": row.id}
        found = await self.tx.fetch_all(SQL["live_changes"], **asked)
        return [LiveChange(it["writer"], it["change"]) for it in found]

    async def add(self, row: LiveRow, changes: Sequence[LiveChange], based: FileBase) -> None:
        asked = {"tenant_id": self.location.tenant_id, "id": row.id}
        await self.tx.execute(SQL["base_live"], **asked, **_change_params(changes, based))

    async def copies(self, row: LiveRow) -> list[FileCopy]:
        asked = {"tenant_id": self.location.tenant_id, "id": row.id}
        return [FileCopy(**it) for it in await self.tx.fetch_all(SQL["live_copies"], **asked)]

    async def stage_copy(self, row: LiveRow, copy: FileCopy) -> None:
        """Record the staged file before the swap."""
        asked = {"tenant_id": self.location.tenant_id, "id": row.id, "name": copy.name}
        given = {"base": copy.base, "digest": copy.digest, "head": copy.head}
        await self.tx.execute(SQL["intend_live"], **asked, **given, inode=copy.inode)

    async def complete_swap(self, row: LiveRow, intent: FileCopy, at: float) -> None:
        asked = {"tenant_id": self.location.tenant_id, "id": row.id, "name": intent.name}
        await self.tx.execute(SQL["settle_live"], **asked, at=at)

    async def update_copy(self, row: LiveRow, copy: FileCopy) -> None:
        asked = {"tenant_id": self.location.tenant_id, "id": row.id, "name": copy.name}
        await self.tx.execute(SQL["see_live_copy"], **asked, base=copy.base, digest=copy.digest)

    async def drop_copy(self, row: LiveRow, copy: FileCopy) -> None:
        asked = {"tenant_id": self.location.tenant_id, "id": row.id, "name": copy.name}
        await self.tx.execute(SQL["drop_live_copy"], **asked)

    async def load_live_ids(self) -> set[str]:
        """The ids of all live documents of the space."""
        return {
            str(it["id"])
            for it in await self.tx.fetch_all(SQL["live_ids"], **self.location.sql_params())
        }

    async def mark_flushed(self, row: LiveRow, based: FileBase) -> None:
        """The file has everything up to now."""
        asked = {"tenant_id": self.location.tenant_id, "id": row.id, "head": row.head}
        await self.tx.execute(SQL["file_live"], **asked, base=based.base, digest=based.digest)

    async def hide(self, row: LiveRow) -> None:
        """The file is gone: editors are closed, and what is needed to go on is kept."""
        await self.tx.execute(SQL["hide_live"], tenant_id=self.location.tenant_id, id=row.id)

    async def revive(self, row: LiveRow) -> None:
        """The file is there again."""
        await self.tx.execute(SQL["revive_live"], tenant_id=self.location.tenant_id, id=row.id)

    async def end(self, path: str) -> None:
        await self.tx.execute(
            SQL["end_live"], **self.location.sql_params(), key=self.location.key(path)
        )

    async def find_live(self, paths: Sequence[str]) -> set[str]:
        keys = [self.location.key(it) for it in paths]
        rows = await self.tx.fetch_all(SQL["live_keys"], **self.location.sql_params(), keys=keys)
        return {row["key"].removeprefix(self.location.prefix) for row in rows}

    async def move(self, path: str, to: str) -> None:
        place = self.location
        asked = {**place.sql_params(), "key": place.key(path), "to": place.key(to)}
        # There is no file at the new key, so no document there is live.
        await self.tx.execute(SQL["end_live"], **place.sql_params(), key=place.key(to))
        await self.tx.execute(SQL["move_live"], **asked)


@dataclass(frozen=True, slots=True)
class CallerLiveRows:
    """In the transaction of a caller who may write."""

    tx: Transaction
    location: SpaceLocation

    async def find(self, path: str) -> LiveRow | None:
        asked = {"source_id": self.location.source_id, "key": self.location.key(path)}
        return _parse_row(await self.tx.fetch_optional(SQL["my_live"], **asked))

    async def find_live(self, paths: Sequence[str]) -> set[str]:
        asked = {
            "source_id": self.location.source_id,
            "keys": [self.location.key(it) for it in paths],
        }
        rows = await self.tx.fetch_all(SQL["my_live_keys"], **asked)
        return {row["key"].removeprefix(self.location.prefix) for row in rows}

    async def changes(self, row: LiveRow) -> list[LiveChange]:
        found = await self.tx.fetch_all(SQL["my_live_changes"], id=row.id)
        return [LiveChange(it["writer"], it["change"]) for it in found]

    async def add(self, row: LiveRow, changes: Sequence[LiveChange], based: FileBase) -> None:
        await self.tx.execute(SQL["base_my_live"], id=row.id, **_change_params(changes, based))

    async def copies(self, row: LiveRow) -> list[FileCopy]:
        return [FileCopy(**it) for it in await self.tx.fetch_all(SQL["my_live_copies"], id=row.id)]

    async def complete_swap(self, row: LiveRow, intent: FileCopy, at: float) -> None:
        await self.tx.execute(SQL["settle_my_live"], id=row.id, name=intent.name, at=at)

    async def update_copy(self, row: LiveRow, copy: FileCopy) -> None:
        asked = {"id": row.id, "name": copy.name}
        await self.tx.execute(SQL["see_my_live_copy"], **asked, base=copy.base, digest=copy.digest)

    async def drop_copy(self, row: LiveRow, copy: FileCopy) -> None:
        await self.tx.execute(SQL["drop_my_live_copy"], id=row.id, name=copy.name)

    async def end(self, path: str) -> None:
        asked = {"source_id": self.location.source_id, "key": self.location.key(path)}
        await self.tx.execute(SQL["end_my_live"], **asked)

    async def move(self, path: str, to: str) -> None:
        place = self.location
        asked = {"source_id": place.source_id, "key": place.key(path), "to": place.key(to)}
        await self.tx.execute(SQL["move_my_live"], **asked)


def _change_params(changes: Sequence[LiveChange], based: FileBase) -> dict[str, object]:
    return {
        "changes": [it.change for it in changes],
        "writers": [it.writer for it in changes],
        "base": based.base,
        "digest": based.digest,
    }


def _parse_row(found: dict[str, Any] | None) -> LiveRow | None:
    return LiveRow(**found) if found else None
