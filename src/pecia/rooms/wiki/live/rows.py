"""A live document as the store keeps it, for the house or for a caller who may write it."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol
from uuid import UUID

from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.transaction import Transaction
from pecia.rooms.wiki.live.text import LiveText, new_house_id
from pecia.rooms.wiki.space import Place

SQL = load_queries("pecia.rooms.wiki.live")


@dataclass(frozen=True, slots=True)
class Row:
    """A document that is live. `base` has all changes up to `filed`, and so had the file."""

    id: UUID
    house_id: int
    base: bytes
    digest: bytes
    head: int
    filed: int

    @property
    def is_filed(self) -> bool:
        return self.head == self.filed


@dataclass(frozen=True, slots=True)
class Change:
    """What one writer changed, as an update of Yjs."""

    writer: str
    change: bytes


@dataclass(frozen=True, slots=True)
class Copy:
    """A file beside the document's: one that is to take its place, or that had it until lately.

    Before the swap, `base` is the state that the file will have, with all changes up to `head`, and
    `inode` that of the new file. Afterwards, `base` is the state whose text the old file has.
    """

    name: str
    inode: str
    base: bytes
    digest: bytes
    head: int
    swapped_at: float | None = None


@dataclass(frozen=True, slots=True)
class Based:
    """A state whose text the file has, and the digest of the file."""

    base: bytes
    digest: bytes


class Rows(Protocol):
    """The live documents of one place, within one transaction."""

    async def find(self, path: str) -> Row | None:
        """The document at this path, to oneself until the transaction ends."""
        ...

    async def changes(self, row: Row) -> list[Change]:
        """Those that are not in the base yet."""
        ...

    async def add(self, row: Row, changes: Sequence[Change], based: Based) -> None:
        """Changes of our own, and what the file is seen to hold. Whoever has it open is told."""
        ...

    async def copies(self, row: Row) -> list[Copy]:
        """The intended swap, if there is one, and the files that were replaced lately."""
        ...

    async def settle(self, row: Row, intent: Copy, at: float) -> None:
        """The intended swap has happened."""
        ...

    async def see(self, row: Row, copy: Copy) -> None:
        """What a file that was replaced is known to have from now on."""
        ...

    async def drop(self, row: Row, copy: Copy) -> None:
        """There is nothing to be had from it any more; the file itself is swept later."""
        ...

    async def end(self, path: str) -> None:
        """The document is not live any more; whoever has it open is told."""
        ...


@dataclass(frozen=True, slots=True)
class HouseRows:
    """For nobody: in a system transaction."""

    tx: Transaction
    place: Place

    async def find(self, path: str) -> Row | None:
        asked = {**self.place.named(), "key": self.place.key(path)}
        return _row(await self.tx.maybe(SQL["live"], **asked))

    async def begin(self, path: str, text: str) -> Row:
        """The document at this path, live from now on with this text."""
        house_id = new_house_id()
        base = LiveText.begun(text, house_id).state
        asked = {**self.place.named(), "key": self.place.key(path), "house_id": house_id}
        digest = sha256(text.encode()).digest()
        await self.tx.run(SQL["begin_live"], **asked, base=base, digest=digest)
        found = await self.find(path)
        assert found is not None
        return found

    async def changes(self, row: Row) -> list[Change]:
        asked = {"tenant_id": self.place.tenant_id, "id": row.id}
        found = await self.tx.all(SQL["live_changes"], **asked)
        return [Change(it["writer"], it["change"]) for it in found]

    async def add(self, row: Row, changes: Sequence[Change], based: Based) -> None:
        asked = {"tenant_id": self.place.tenant_id, "id": row.id}
        await self.tx.run(SQL["base_live"], **asked, **_added(changes, based))

    async def copies(self, row: Row) -> list[Copy]:
        asked = {"tenant_id": self.place.tenant_id, "id": row.id}
        return [Copy(**it) for it in await self.tx.all(SQL["live_copies"], **asked)]

    async def intend(self, row: Row, copy: Copy) -> None:
        """Put down what will take the file's place, before it does."""
        asked = {"tenant_id": self.place.tenant_id, "id": row.id, "name": copy.name}
        given = {"base": copy.base, "digest": copy.digest, "head": copy.head}
        await self.tx.run(SQL["intend_live"], **asked, **given, inode=copy.inode)

    async def settle(self, row: Row, intent: Copy, at: float) -> None:
        asked = {"tenant_id": self.place.tenant_id, "id": row.id, "name": intent.name}
        await self.tx.run(SQL["settle_live"], **asked, at=at)

    async def see(self, row: Row, copy: Copy) -> None:
        asked = {"tenant_id": self.place.tenant_id, "id": row.id, "name": copy.name}
        await self.tx.run(SQL["see_live_copy"], **asked, base=copy.base, digest=copy.digest)

    async def drop(self, row: Row, copy: Copy) -> None:
        asked = {"tenant_id": self.place.tenant_id, "id": row.id, "name": copy.name}
        await self.tx.run(SQL["drop_live_copy"], **asked)

    async def ids(self) -> set[str]:
        """Of all documents of the space that are live."""
        return {str(it["id"]) for it in await self.tx.all(SQL["live_ids"], **self.place.named())}

    async def file(self, row: Row, based: Based) -> None:
        """The file holds everything that was written until now."""
        asked = {"tenant_id": self.place.tenant_id, "id": row.id, "head": row.head}
        await self.tx.run(SQL["file_live"], **asked, base=based.base, digest=based.digest)

    async def end(self, path: str) -> None:
        await self.tx.run(SQL["end_live"], **self.place.named(), key=self.place.key(path))


@dataclass(frozen=True, slots=True)
class CallerRows:
    """For somebody: in their own transaction, where they may write."""

    tx: Transaction
    place: Place

    async def find(self, path: str) -> Row | None:
        asked = {"source_id": self.place.source_id, "key": self.place.key(path)}
        return _row(await self.tx.maybe(SQL["my_live"], **asked))

    async def changes(self, row: Row) -> list[Change]:
        found = await self.tx.all(SQL["my_live_changes"], id=row.id)
        return [Change(it["writer"], it["change"]) for it in found]

    async def add(self, row: Row, changes: Sequence[Change], based: Based) -> None:
        await self.tx.run(SQL["base_my_live"], id=row.id, **_added(changes, based))

    async def copies(self, row: Row) -> list[Copy]:
        return [Copy(**it) for it in await self.tx.all(SQL["my_live_copies"], id=row.id)]

    async def settle(self, row: Row, intent: Copy, at: float) -> None:
        await self.tx.run(SQL["settle_my_live"], id=row.id, name=intent.name, at=at)

    async def see(self, row: Row, copy: Copy) -> None:
        asked = {"id": row.id, "name": copy.name}
        await self.tx.run(SQL["see_my_live_copy"], **asked, base=copy.base, digest=copy.digest)

    async def drop(self, row: Row, copy: Copy) -> None:
        await self.tx.run(SQL["drop_my_live_copy"], id=row.id, name=copy.name)

    async def end(self, path: str) -> None:
        asked = {"source_id": self.place.source_id, "key": self.place.key(path)}
        await self.tx.run(SQL["end_my_live"], **asked)

    async def move(self, path: str, to: str) -> None:
        """The document goes on under another name, with all that was written."""
        place = self.place
        asked = {"source_id": place.source_id, "key": place.key(path), "to": place.key(to)}
        await self.tx.run(SQL["move_my_live"], **asked)


def _added(changes: Sequence[Change], based: Based) -> dict[str, object]:
    return {
        "changes": [it.change for it in changes],
        "writers": [it.writer for it in changes],
        "base": based.base,
        "digest": based.digest,
    }


def _row(found: dict[str, Any] | None) -> Row | None:
    return Row(**found) if found else None
