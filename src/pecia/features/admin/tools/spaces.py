"""Spaces: folders of this machine that are served as wikis. Reads none of their files."""

import re
from dataclasses import dataclass
from itertools import count
from pathlib import PurePosixPath
from typing import Any, Literal, Protocol
from uuid import UUID

from pydantic import Field

from pecia.features.admin.core.page import PageCursor, PageInput, next_cursor
from pecia.kernel.corpus.catalog import catalog
from pecia.kernel.errors import Conflict, Forbidden, InvalidFormat, Json, NotFound, list_hint
from pecia.kernel.identity.caller import CredentialKind, Scope
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store, Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.confirmation import ConfirmableAction, Confirmations, escape_unprintable
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

SQL = load_queries("pecia.features.admin.tools", "spaces.sql")
FEATURE = "admin"
PREFIX = "wiki:"
MAX_NAME_CHARS = 200


class FolderPolicy(Protocol):
    """Checks folders on the server's file system."""

    async def admit(self, tenant_id: UUID, folder: str) -> str:
        """The real path of a folder that the tenant may serve; Forbidden otherwise."""
        ...

    async def require(self, folder: str) -> None:
        """InvalidInput where the folder does not exist, or the server may not open it."""
        ...

    async def resolve(self, folder: str) -> str:
        """The folder itself, where a link leads to it."""
        ...

    async def claim(self, folder: str) -> None:
        """Hold the folder for this installation; Conflict while another one serves it."""
        ...

    async def release(self, folder: str) -> None:
        """Let other installations have it."""
        ...


TrimMode = Literal["per_file", "source_only", "open"]
SpaceName = Field(min_length=1, max_length=MAX_NAME_CHARS, description="The name of a space.")


class AddSpace(Input):
    folder: str = Field(
        min_length=1,
        max_length=4000,
        description="An absolute path. On a server, below a root of your tenant, or from it; a "
        "folder that is not there is made.",
    )
    name: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_NAME_CHARS,
        description="Unique in the tenant. Unset: the name of the folder.",
    )
    trim_mode: TrimMode | None = Field(
        default=None,
        description="Who sees it: `open` everybody of the tenant, `source_only` who holds a role "
        "in it, `per_file` by grants on folders and files. Unset: `open` for the owner of a local "
        "install, else `source_only`.",
    )


class SpaceTarget(Input):
    name: str = SpaceName


class RenameSpace(Input):
    name: str = SpaceName
    new_name: str = Field(min_length=1, max_length=MAX_NAME_CHARS)


class SetSpace(Input):
    name: str = SpaceName
    enabled: bool | None = Field(default=None, description="Off: nobody opens it. Nothing is lost.")
    trim_mode: TrimMode | None = Field(default=None, description="Who sees it; see add_space.")


class SpaceConfigOut(Output):
    source_id: str
    name: str
    folder: str | None = Field(description="On the server's machine; for administrators.")
    enabled: bool
    trim_mode: str
    added: bool
    note: str = Field(default="", description="What to know of it, if anything.")


class RemovedSpaceOut(Output):
    source_id: str
    name: str
    removed: bool = True
    folder: str = Field(description="Where its files stay.")


class SpaceConfigsOut(Output):
    spaces: list[SpaceConfigOut]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class SpaceTools:
    """The handlers over spaces."""

    store: Store
    folders: FolderPolicy
    confirmations: Confirmations

    async def add_space(self, call: Call, ask: AddSpace) -> SpaceConfigOut:
        """Serve a folder of the server's machine as a wiki. One that is served already stays as it
        is.

        The owner of a local install names any folder, in person: where you cannot ask yours, the
        answer says how they confirm it. Other administrators name one below a root that the
        operator set aside for their tenant. Grant it as any source.
        """
        _require_folder(ask.folder)
        is_owner = call.caller.kind is CredentialKind.LOCAL
        config: dict[str, Json] = {}
        trim_mode = ask.trim_mode or ("open" if is_owner else "source_only")
        if is_owner:
            given = _absolute(ask.folder)
            await self.folders.require(given)
            # By one path, whichever link leads there: a file belongs to one space.
            folder = await self.folders.resolve(given)
            await self._require_confirmation(call, folder, ask.name, trim_mode)
        else:
            # Before a folder is created: callers who may not add spaces learn nothing of the roots.
            async with self.store.reading(call.caller) as tx:
                if not await tx.fetch_value(SQL["may_administer"]):
                    raise Forbidden(
                        f"only administrators of the tenant may add the space {ask.folder[:200]!r}"
                    )
            folder = await self.folders.admit(call.caller.tenant_id, _normalize_path(ask.folder))
            config["confined"] = True
        async with self.store.writing(call.caller, call.trace) as tx:
            await tx.execute(SQL["lock_spaces"])
            if served := await tx.fetch_optional(SQL["space_of_folder"], folder=folder):
                await self.folders.claim(folder)
                return _require_same_name(_format_space(call, served), ask.name)
            await _require_apart(tx, folder)
            name = await _choose_name(tx, ask.name, folder)
            config["folder"] = folder
            # Last: what is refused before holds no folder.
            await self.folders.claim(folder)
            await catalog.add_source(
                tx, PREFIX + name, protocol="wiki", trim_mode=trim_mode, config=config
            )
            note = await catalog.describe_overlap(tx, PREFIX + name, folder)
            return _format_space(call, await _load_space(tx, name), added=True, note=note)

    async def list_spaces(self, call: Call, ask: PageInput) -> SpaceConfigsOut:
        """The folders that are served as wikis, by name."""
        async with self.store.reading(call.caller) as tx:
            rows = await tx.fetch_all(SQL["spaces"], after=PageCursor.of(ask), limit=ask.limit + 1)
        return SpaceConfigsOut(
            spaces=[_format_space(call, it) for it in rows[: ask.limit]],
            next_cursor=next_cursor(rows, ask.limit, "source_id"),
        )

    async def rename_space(self, call: Call, ask: RenameSpace) -> SpaceConfigOut:
        """Rename a space. Its folder, documents, grants and id stay."""
        async with self.store.writing(call.caller, call.trace) as tx:
            await tx.execute(SQL["lock_spaces"])
            row = await _load_space(tx, ask.name)
            if ask.new_name != ask.name:
                new_name = catalog.validate_source_name(ask.new_name, field="new_name")
                # It may always take back the name that its id has.
                if PREFIX + new_name != row["source_id"] and await _is_taken(tx, new_name):
                    raise _taken_name(new_name, "new_name")
                renamed = {"source_id": row["source_id"], "new_name": new_name}
                if not await tx.execute(SQL["rename_space"], **renamed):
                    raise NotFound(
                        f"no space {ask.name!r} that you administer",
                        field="name",
                        hint=list_hint("pecia space list"),
                    )
            return _format_space(call, await _load_space(tx, ask.new_name))

    async def set_space(self, call: Call, ask: SetSpace) -> SpaceConfigOut:
        """Switch a space off or on, or set who sees it. Fields left out stay. Works at once."""
        async with self.store.writing(call.caller, call.trace) as tx:
            row = await _load_space(tx, ask.name)
            await catalog.update_source(
                tx, row["source_id"], trim_mode=ask.trim_mode, enabled=ask.enabled
            )
            return _format_space(call, await _load_space(tx, ask.name))

    async def remove_space(self, call: Call, ask: SpaceTarget) -> RemovedSpaceOut:
        """Stop serving a folder. Its files and their history stay where they are."""
        async with self.store.writing(call.caller, call.trace) as tx:
            row = await _load_space(tx, ask.name)
            if await tx.fetch_value(SQL["is_being_written"], source_id=row["source_id"]):
                raise Conflict(
                    f"documents of {ask.name!r} are being written and not in their files yet; "
                    "try again in a minute",
                    hint=f"pecia space set {ask.name} --enabled false keeps writers out",
                )
            await catalog.remove_source(tx, row["source_id"])
        await self.folders.release(str(row["folder"]))
        return RemovedSpaceOut(source_id=row["source_id"], name=row["name"], folder=row["folder"])

    async def _require_confirmation(
        self, call: Call, folder: str, name: str | None, trim_mode: TrimMode
    ) -> None:
        """Agents act in the owner's name, so the owner confirms before a folder is served."""
        async with self.store.reading(call.caller) as tx:
            served = await tx.fetch_optional(SQL["space_of_folder"], folder=folder)
        if served is None:
            await self.folders.require(folder)
            question = (
                "Serve this folder as a wiki, for reading and writing?"
                f"\n\n{escape_unprintable(folder)}"
            )
            facts: dict[str, Json] = {"folder": folder, "name": name, "trim_mode": trim_mode}
            await self.confirmations.require(call, ConfirmableAction("folder", question, facts))


def space_tools(
    store: Store, folders: FolderPolicy, confirmations: Confirmations
) -> tuple[AnyTool, ...]:
    """The tools over spaces."""
    it = SpaceTools(store, folders, confirmations)
    admin = Scope.ADMIN
    return (
        Tool(
            FEATURE,
            "add_space",
            admin,
            AddSpace,
            SpaceConfigOut,
            it.add_space,
            read_only=False,
            idempotent=True,
        ),
        Tool(FEATURE, "list_spaces", Scope.READ, PageInput, SpaceConfigsOut, it.list_spaces),
        Tool(
            FEATURE,
            "rename_space",
            admin,
            RenameSpace,
            SpaceConfigOut,
            it.rename_space,
            read_only=False,
        ),
        Tool(FEATURE, "set_space", admin, SetSpace, SpaceConfigOut, it.set_space, read_only=False),
        Tool(
            FEATURE,
            "remove_space",
            admin,
            SpaceTarget,
            RemovedSpaceOut,
            it.remove_space,
            read_only=False,
            destructive=True,
        ),
    )


def _require_folder(text: str) -> None:
    """A repository URL is not a folder, and is not cloned."""
    if _REMOTE.match(text):
        raise InvalidFormat(
            "a space is a folder of the server's machine, not a git remote",
            field="folder",
            expected="a path",
            got=text[:200],
            hint="add an empty folder, then connect it: pecia space remote NAME URL; or read it "
            "only: pecia source add ID --git URL",
        )


def _normalize_path(text: str) -> str:
    """A path as a tenant's administrator gives it: relative to a root, or absolute."""
    if ".." in PurePosixPath(text).parts or "\0" in text:
        raise InvalidFormat(
            'Field "folder" must be a path without ..',
            field="folder",
            expected="a path below a root of your tenant",
            got=text[:200],
        )
    return text


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


def _format_space(
    call: Call, row: dict[str, Any], *, added: bool = False, note: str = ""
) -> SpaceConfigOut:
    made = SpaceConfigOut(**row, added=added, note=note)
    return made if call.caller.is_admin else made.model_copy(update={"folder": None})


async def _load_space(tx: Transaction, name: str) -> dict[str, Any]:
    row = await tx.fetch_optional(SQL["space"], name=name)
    if row is None:
        raise NotFound(f"no space {name!r}", field="name", hint=list_hint("pecia space list"))
    return row


def _require_same_name(space: SpaceConfigOut, name: str | None) -> SpaceConfigOut:
    if name is not None and name != space.name:
        raise Conflict(
            f"{space.folder} is served already, as the space {space.name!r}",
            space=space.name,
            hint=f"pecia space rename {space.name} {name}",
        )
    return space


async def _require_apart(tx: Transaction, folder: str) -> None:
    """Refuse a folder in a space or around one: each file would be two documents, with a journal
    and a history each."""
    found = await tx.fetch_optional(SQL["nested_space"], folder=folder)
    if found is not None:
        side = "inside" if folder.startswith(f"{found['folder']}/") else "around"
        raise Conflict(
            f"{folder} is {side} {found['folder']}, which is served as the space "
            f"{found['name']!r}; a file belongs to one space",
            field="folder",
            space=found["name"],
            hint=f"use that space, or remove it first: pecia space remove {found['name']}",
        )


async def _choose_name(tx: Transaction, wanted: str | None, folder: str) -> str:
    """The given name; else the folder's, with a number if that is taken."""
    if wanted is not None:
        if await _is_taken(tx, catalog.validate_source_name(wanted, field="name")):
            raise _taken_name(wanted, "name")
        return wanted
    base = catalog.validate_source_name(PurePosixPath(folder).name, field="folder")[
        : MAX_NAME_CHARS - 10
    ]
    for number in count(1):
        name = base if number == 1 else f"{base}-{number}"
        if not await _is_taken(tx, name):
            return name
    raise AssertionError("unreachable")


def _taken_name(name: str, field: str) -> Conflict:
    return Conflict(
        f"the name {name!r} belongs to another source",
        field=field,
        got=name,
        hint="choose another name; pecia source list shows those that are taken",
    )


async def _is_taken(tx: Transaction, name: str) -> bool:
    return await tx.fetch_value(SQL["is_taken"], name=name)


# `https://…`, `ssh://…`, `git@host:path`.
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[^/\s]+@[^/\s:]+:")
