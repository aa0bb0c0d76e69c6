"""Spaces: folders of this machine that the server serves as wikis. Reads no file of theirs."""

from dataclasses import dataclass
from itertools import count
from pathlib import PurePosixPath

from pydantic import Field

from pecia.kernel.corpus import catalog
from pecia.kernel.errors import Conflict, Forbidden, InvalidFormat
from pecia.kernel.identity.caller import CredentialKind, Scope
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool
from pecia.rooms.office.paging import Cursor, Paged, next_cursor

SQL = load_queries("pecia.rooms.office", "spaces.sql")
ROOM = "office"
PREFIX = "wiki:"
LONGEST_NAME = 200


class AddSpace(Input):
    folder: str = Field(min_length=1, max_length=4000, description="An absolute path.")
    name: str | None = Field(
        default=None,
        min_length=1,
        max_length=LONGEST_NAME,
        description="Unique in the tenant. Unset: the name of the folder.",
    )


class Space(Output):
    source_id: str
    name: str
    folder: str
    enabled: bool
    added: bool


class Spaces(Output):
    spaces: list[Space]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class SpaceDesk:
    """The handlers over spaces."""

    store: Store

    async def add_space(self, call: Call, ask: AddSpace) -> Space:
        """Serve a folder of this machine as a wiki. A folder that is served already stays as it is.

        Only the owner of a local install may: whoever names a folder decides what the server reads.
        """
        if call.caller.kind is not CredentialKind.LOCAL:
            raise Forbidden("only the owner of a local install adds folders of its machine")
        folder = _absolute(ask.folder)
        async with self.store.writing(call.caller, call.trace) as tx:
            await tx.run(SQL["lock_spaces"])
            if served := await tx.maybe(SQL["space_of_folder"], folder=folder):
                return _same_name(_space(served), ask.name)
            name = await _name(tx, ask.name, folder)
            await catalog.add_source(
                tx, PREFIX + name, protocol="wiki", trim_mode="open", config={"folder": folder}
            )
        return Space(source_id=PREFIX + name, name=name, folder=folder, enabled=True, added=True)

    async def list_spaces(self, call: Call, ask: Paged) -> Spaces:
        """The folders that are served as wikis, by name."""
        async with self.store.reading(call.caller) as tx:
            rows = await tx.all(SQL["spaces"], after=Cursor.of(ask), limit=ask.limit + 1)
        return Spaces(
            spaces=[_space(it) for it in rows[: ask.limit]],
            next_cursor=next_cursor(rows, ask.limit, "source_id"),
        )


def space_tools(store: Store) -> tuple[AnyTool, ...]:
    """The tools over spaces."""
    it = SpaceDesk(store)
    return (
        Tool(
            ROOM,
            "add_space",
            Scope.ADMIN,
            AddSpace,
            Space,
            it.add_space,
            read_only=False,
            idempotent=True,
        ),
        Tool(ROOM, "list_spaces", Scope.READ, Paged, Spaces, it.list_spaces),
    )


def _absolute(text: str) -> str:
    path = PurePosixPath(text)
    if not path.is_absolute() or ".." in path.parts or not path.name or "\0" in text:
        raise InvalidFormat(
            'Field "folder" must be an absolute path of a folder below the root',
            field="folder",
            expected="an absolute path",
            got=text,
        )
    return str(path)


def _space(row: dict[str, object]) -> Space:
    source_id = str(row["source_id"])
    return Space(
        source_id=source_id,
        name=source_id.removeprefix(PREFIX),
        folder=str(row["folder"]),
        enabled=bool(row["enabled"]),
        added=False,
    )


def _same_name(space: Space, name: str | None) -> Space:
    if name is not None and name != space.name:
        raise Conflict(
            f"{space.folder} is served already, as the space {space.name!r}", space=space.name
        )
    return space


async def _name(tx: Transaction, wanted: str | None, folder: str) -> str:
    """The name that was asked for; else the folder's, with a number when that is taken."""
    if wanted is not None:
        if await _is_taken(tx, catalog.plain_name(wanted, field="name")):
            raise Conflict(f"the name {wanted!r} belongs to another source", field="name")
        return wanted
    base = catalog.plain_name(PurePosixPath(folder).name, field="folder")[: LONGEST_NAME - 10]
    for number in count(1):
        name = base if number == 1 else f"{base}-{number}"
        if not await _is_taken(tx, name):
            return name
    raise AssertionError("numbers do not end")


async def _is_taken(tx: Transaction, name: str) -> bool:
    return await tx.value(SQL["is_taken"], source_id=PREFIX + name)
