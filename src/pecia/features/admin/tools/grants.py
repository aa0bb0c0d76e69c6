"""Sources and their access: roles, folder grants, file grants, and why somebody has access."""

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from pecia.kernel.corpus.catalog import catalog
from pecia.kernel.corpus.connector_kind import ConnectorRegistry
from pecia.kernel.errors import NotFound, list_hint
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.grantee import resolve_grantee
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store, Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

SQL = load_queries("pecia.features.admin.tools", "grants.sql")
FEATURE = "admin"

# Roles that are written without a kind.
ROLES = ("everyone", "anyone")

PER_FILE_NOTE = (
    "This source is trimmed per file: a reader of the source sees that it is there, and its files "
    "by grants on folders or files. The folder / is all of them."
)
OPEN_NOTE = (
    "This source is open: everybody of the tenant reads all of it, whatever is granted to readers. "
    "To show it only to whom it is granted: "
)
EMPTY_FOLDER_NOTE = (
    "The grant is stored, and counts for files to come: the source has no file you may see below"
)
GRANTEE_DESCRIPTION = (
    "`user:ana`, `group:staff`, `everyone`, or a name as `email::ana@example.org`."
)


class ListGrants(Input):
    source_id: str = Field(min_length=1, max_length=500)


class GrantInput(Input):
    source_id: str = Field(min_length=1, max_length=500)
    to: str = Field(min_length=1, max_length=2048, description=GRANTEE_DESCRIPTION)
    role: Literal["reader", "writer", "owner"] | None = Field(description="Null removes the grant.")
    folder: str | None = Field(
        default=None,
        max_length=2000,
        description="Only below this folder; `/` is all files. Owners own it all.",
    )


class GrantFileInput(Input):
    source_id: str = Field(min_length=1, max_length=500)
    key: str = Field(min_length=1, max_length=2000)
    to: list[str] = Field(
        max_length=1000, description=f"Everyone who may see it: {GRANTEE_DESCRIPTION}"
    )


class GrantOut(Output):
    principal: str
    role: str
    kind: Literal["role", "all_files", "folder"] = Field(
        description="A role in the source itself, or a grant of all its files or a folder of them."
    )
    folder: str | None = Field(description="How keys begin; null where it is a role.")


class GrantsOut(Output):
    source_id: str
    trim_mode: str
    grants: list[GrantOut]
    note: str = Field(default="", description="What these grants do not cover.")


class CheckAccess(Input):
    source_id: str = Field(min_length=1, max_length=500)
    key: str = Field(min_length=1, max_length=2000)
    user: str | None = Field(default=None, max_length=200, description="Yourself unless given.")


class AccessOut(Output):
    user: str
    may_see: bool
    may_write: bool
    reasons: list[str]


@dataclass(frozen=True, slots=True)
class GrantTools:
    """The handlers."""

    store: Store
    kinds: ConnectorRegistry

    async def grant(self, call: Call, ask: GrantInput) -> GrantsOut:
        """Give a user or group a role in a source or in one of its folders, or remove it."""
        async with self.store.writing(call.caller, call.trace) as tx:
            source = await catalog.get_source(tx, ask.source_id)
            principal = await resolve_grantee(tx, ask.to, "to", ROLES)
            values = {"source_id": ask.source_id, "principal": principal}
            if ask.folder is None:
                await _apply_grant(tx, ask, "role", values)
                return await _load_grants(tx, source)
            folder = self._folder_prefix(source, ask.folder)
            await _apply_grant(tx, ask, "folder_grant", {**values, "prefix": folder})
            made = await _load_grants(tx, source)
            if ask.role is None or await tx.fetch_value(
                SQL["has_folder"], source_id=ask.source_id, prefix=folder
            ):
                return made
            empty = f"{EMPTY_FOLDER_NOTE} {folder or '/'}"
            return made.model_copy(update={"note": " ".join(it for it in (made.note, empty) if it)})

    async def grant_file(self, call: Call, ask: GrantFileInput) -> AccessOut:
        """Set who may see one file, in addition to grants of the source and its folders."""
        async with self.store.writing(call.caller, call.trace) as tx:
            granted = [
                await resolve_grantee(tx, it, f"to.{at}", ROLES) for at, it in enumerate(ask.to)
            ]
            found = await tx.fetch_value(
                SQL["grant_file"], source_id=ask.source_id, key=ask.key, granted=granted
            )
            if not found:
                raise catalog.no_file(ask.source_id, ask.key)
            return await _check_access(tx, call.caller.user, ask.source_id, ask.key)

    async def list_grants(self, call: Call, ask: ListGrants) -> GrantsOut:
        """Who holds which role in a source and its folders. Owners see all, others their own."""
        async with self.store.reading(call.caller) as tx:
            return await _load_grants(tx, await catalog.get_source(tx, ask.source_id))

    async def check_access(self, call: Call, ask: CheckAccess) -> AccessOut:
        """Why a user may or may not see a file. Owners may ask about others."""
        async with self.store.reading(call.caller) as tx:
            return await _check_access(tx, ask.user or call.caller.user, ask.source_id, ask.key)

    def _folder_prefix(self, source: catalog.Source, text: str) -> str:
        """The key prefix of a folder in that source."""
        folder = text.strip("/")
        root = "/" if self.kinds.has_absolute_keys(source.protocol) else ""
        return f"{root}{folder}/" if folder else ""


def grant_tools(store: Store, kinds: ConnectorRegistry) -> tuple[AnyTool, ...]:
    """The tools over sources and grants."""
    it = GrantTools(store, kinds)
    admin = Scope.ADMIN
    return (
        Tool(FEATURE, "grant", admin, GrantInput, GrantsOut, it.grant, read_only=False),
        Tool(
            FEATURE, "grant_file", admin, GrantFileInput, AccessOut, it.grant_file, read_only=False
        ),
        Tool(FEATURE, "list_grants", Scope.READ, ListGrants, GrantsOut, it.list_grants),
        Tool(FEATURE, "check_access", Scope.READ, CheckAccess, AccessOut, it.check_access),
    )


async def _apply_grant(tx: Transaction, ask: GrantInput, what: str, values: dict[str, Any]) -> None:
    if ask.role is None:
        if not await tx.execute(SQL[f"remove_{what}"], **values):
            where = f"folder {ask.folder!r} of source" if ask.folder else "source"
            raise NotFound(
                f"{ask.to!r} has no grant in {where} {ask.source_id!r} to remove",
                source_id=ask.source_id,
                hint=list_hint("admin.list_grants"),
            )
    else:
        await tx.execute(SQL[f"set_{what}"], role=ask.role, **values)


async def _load_grants(tx: Transaction, source: catalog.Source) -> GrantsOut:
    """The grants the caller may see, even after they removed their own access to the source."""
    rows = await tx.fetch_all(SQL["grants"], source_id=source.source_id)
    grants = [_format_grant(**it) for it in rows]
    return GrantsOut(
        source_id=source.source_id,
        trim_mode=source.trim_mode,
        grants=grants,
        note=_describe_limits(source, grants),
    )


def _describe_limits(source: catalog.Source, grants: list[GrantOut]) -> str:
    """What these grants do not do, in this mode of trimming."""
    if source.trim_mode == "open":
        command = "space set" if source.protocol == "wiki" else "source set"
        name = source.source_id.removeprefix("wiki:")
        return f"{OPEN_NOTE}pecia {command} {name} --trim-mode per_file"
    reads_nothing = any(it.role == "reader" and it.folder is None for it in grants)
    return PER_FILE_NOTE if source.trim_mode == "per_file" and reads_nothing else ""


def _format_grant(principal: str, role: str, folder: str | None) -> GrantOut:
    kind = "role" if folder is None else "folder" if folder else "all_files"
    return GrantOut(principal=principal, role=role, kind=kind, folder=folder)


async def _check_access(tx: Transaction, user: str, source_id: str, key: str) -> AccessOut:
    row = await tx.fetch_one(
        SQL["access"],
        f"no file {key!r} in source {source_id!r}, or no user {user!r}",
        user=user,
        source_id=source_id,
        key=key,
    )
    return AccessOut(user=user, **row)
