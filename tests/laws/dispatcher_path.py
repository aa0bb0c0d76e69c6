"""The path of a tool's caller: authenticate a token, then call tools, page by page.

What tools show is put back into facts, so that the law holds for them as it does for plain SQL.
Nothing done this way can be undone, so it takes part in histories and not in attempts.
"""

from collections.abc import AsyncIterator
from typing import Any, TypeAlias, cast

from anyio.from_thread import BlockingPortal

from pecia.app.app import App
from pecia.app.dispatch import RequestContext
from pecia.kernel.errors import AuthRequired, Conflict, Forbidden, Json, NotFound, PeciaError
from pecia.kernel.identity import caller
from tests.laws.facts import Tenant, Write
from tests.laws.oracle import Caller
from tests.laws.sql import AUDITED_TOOL, Names, bearer
from tests.laws.visible import Rows

CONTEXT = RequestContext("law")
# Small pages, so that cursors are a part of the law.
PAGE = 2

Tool: TypeAlias = tuple[str, dict[str, Json]]
Item: TypeAlias = dict[str, Any]
Shown: TypeAlias = AsyncIterator[tuple[str, tuple[str, ...]]]


class DispatcherPath:
    """App.call, and nothing below it."""

    tables = (
        "user_account",
        "user_principal",
        "user_group",
        "group_member",
        "credential",
        "source",
        "source_role",
        "folder_grant",
        "file",
        "audit",
        "secret",
    )

    def __init__(self, app: App, portal: BlockingPortal) -> None:
        self._app = app
        self._portal = portal

    def names_tenant(self, write: Write) -> bool:
        """A tool works in its caller's tenant; there is no way to name another."""
        return False

    def can(self, write: Write, tenant: Tenant) -> bool:
        return _tool(Names(), write, tenant) is not None

    def admits(self, who: Caller) -> bool:
        return who.is_member and "pecia.read" in who.scopes

    def reaches(self, who: Caller) -> bool:
        return who.is_member and "pecia.admin" in who.scopes

    def read(self, names: Names, credential: str) -> dict[str, Rows] | None:
        return self._portal.call(self._read, names, credential)

    def do(self, names: Names, credential: str, write: Write, tenant: Tenant) -> str:
        return self._portal.call(self._do, names, credential, _tool(names, write, tenant))

    async def _do(self, names: Names, credential: str, tool: Tool | None) -> str:
        assert tool, "asked for what it cannot do"
        try:
            who = await self._app.authenticate(bearer(names, credential), CONTEXT)
            await self._app.call(who, *tool, CONTEXT)
        except PeciaError as error:
            return _SAID.get(type(error), f"{error.code.name} {error}")
        return "done 1"

    async def _read(self, names: Names, credential: str) -> dict[str, Rows] | None:
        found: dict[str, set[tuple[str, ...]]] = {table: set() for table in self.tables}
        try:
            who = await self._app.authenticate(bearer(names, credential), CONTEXT)
            assert isinstance(who, caller.Caller)
            tenant = names.plain(str(who.tenant_id))
            for shown in (self._people, self._tokens, self._sources, self._rest):
                async for table, row in shown(names, who):
                    found[table].add((tenant, *row))
        except (AuthRequired, Forbidden):
            return None
        return {table: frozenset(rows) for table, rows in found.items()}

    async def _people(self, names: Names, who: caller.Caller) -> Shown:
        async for user in self._all(who, "list_users", "users"):
            yield "user_account", (user["name"], user["role"], user["status"])
            for name in user["principals"]:
                yield "user_principal", (user["name"], name)
        async for group in self._all(who, "list_groups", "groups"):
            yield "user_group", (_group(group["name"]), group["name"])
            for member in group["members"] or ():
                yield "group_member", (_group(group["name"]), member)

    async def _tokens(self, names: Names, who: caller.Caller) -> Shown:
        async for it in self._all(who, "list_tokens", "tokens", include_revoked=True):
            user = "" if it["kind"] == "anonymous" else it["user"]
            scopes = ",".join(sorted(it["scopes"]))
            revoked, expired = ("no" if it[when] is None else "yes" for when in _ENDS)
            yield "credential", (names.plain(it["id"]), it["kind"], user, scopes, revoked, expired)

    async def _sources(self, names: Names, who: caller.Caller) -> Shown:
        async for source in self._all(who, "list_sources", "sources"):
            key = source["source_id"]
            granted = await self._ask(who, "list_grants", source_id=key)
            enabled = "yes" if source["enabled"] else "no"
            yield "source", (key, source["protocol"], granted["trim_mode"], enabled)
            for it in granted["grants"]:
                whom = _principal(names, it["principal"])
                if it["folder"] is None:
                    yield "source_role", (key, whom, it["role"])
                else:
                    yield "folder_grant", (key, it["folder"], whom, it["role"])
            try:
                async for file in self._all(who, "list_files", "files", source_id=key):
                    yield "file", (key, file["key"], str(file["size"]))
            except Conflict:
                # Only what is switched off is refused so, and then it shows no file.
                assert not source["enabled"]

    async def _rest(self, names: Names, who: caller.Caller) -> Shown:
        async for it in self._all(who, "list_audit", "rows", tool=AUDITED_TOOL):
            yield "audit", (names.plain(it["id"]),)
        async for it in self._all(who, "list_secrets", "secrets"):
            yield "secret", (it["purpose"], it["name"], it["key_id"])

    async def _all(
        self, who: caller.Caller, asked: str, items: str, /, **arguments: Json
    ) -> AsyncIterator[Item]:
        """Every item, page by page."""
        cursor: Json = None
        while True:
            page = await self._ask(who, asked, **arguments, cursor=cursor, limit=PAGE)
            for it in page[items]:
                yield it
            cursor = page["next_cursor"]
            if cursor is None:
                return

    async def _ask(self, who: caller.Caller, asked: str, /, **arguments: Json) -> Item:
        result = await self._app.call(who, asked, arguments, CONTEXT)
        return cast(Item, result.structured)


_SAID: dict[type[PeciaError], str] = {
    AuthRequired: "PE401",
    Forbidden: "PE403",
    NotFound: "PE404",
}
_ENDS = ("revoked_at", "expires_at")


def _tool(names: Names, write: Write, tenant: Tenant) -> Tool | None:
    """The tool that does this write; None when there is none."""
    match write.table:
        case "user_account" | "user_principal":
            return _set_user(write)
        case "user_group" | "group_member":
            return _set_group(write, tenant)
        case "source":
            return _set_source(write)
        case "source_role" | "folder_grant":
            return _grant(write, tenant)
        case "file" if "granted" in write.changes:
            return _grant_file(write, tenant)
        case "credential" if write.changes.get("revoked"):
            return "revoke_token", {"id": names.id(str(write.key))}
        case "secret" if write.verb == "remove":
            return "remove_secret", {"purpose": write.key[0], "name": write.key[1]}
        case _:
            return None


def _set_user(write: Write) -> Tool | None:
    if write.table == "user_principal":
        change = "know_as" if write.verb == "add" else "forget_as"
        return "set_user", {"name": write.key[0], change: [write.key[1]]}
    # A user made by a tool gets an id that the world does not know.
    if write.verb != "change":
        return None
    return "set_user", {"name": str(write.key), **write.changes}


def _set_group(write: Write, tenant: Tenant) -> Tool | None:
    if write.table == "group_member":
        group = tenant.user_group[write.key[0]].name
        return f"{write.verb}_member", {"group": group, "user": write.key[1]}
    if write.verb != "remove":
        return None
    return "remove_group", {"name": tenant.user_group[str(write.key)].name}


def _set_source(write: Write) -> Tool | None:
    source: dict[str, Json] = {"source_id": str(write.key)}
    match write.verb:
        case "add":
            place = _PLACES.get(write.row.protocol)
            mode: dict[str, Json] = {"trim_mode": write.row.trim_mode}
            return None if place is None else ("add_source", {**source, **mode, **place})
        case "change":
            return "set_source", {**source, **write.changes}
        case "remove":
            return "remove_source", source


# Folders of this machine are not for everybody to name, and spaces have a tool of their own.
_PLACES: dict[str, dict[str, Json]] = {
    "upload": {"protocol": "upload"},
    "web": {"web": "https://example.org/"},
}


def _grant(write: Write, tenant: Tenant) -> Tool | None:
    source, *folder, whom = write.key
    to = _named(tenant, whom)
    # Tools tidy folders up, so that there is none before the first slash.
    if to is None or folder == ["/"]:
        return None
    role = {"add": lambda: write.row.role, "change": lambda: write.changes["role"]}
    given = role[write.verb]() if write.verb in role else None
    asked: dict[str, Json] = {"source_id": source, "to": to, "role": given}
    return "grant", {**asked, "folder": folder[0]} if folder else asked


def _grant_file(write: Write, tenant: Tenant) -> Tool | None:
    to = [_named(tenant, it) for it in sorted(write.changes["granted"])]
    if None in to:
        return None
    return "grant_file", {"source_id": write.key[0], "key": write.key[1], "to": cast(Json, to)}


def _named(tenant: Tenant, principal: str) -> str | None:
    """How a caller names a principal; None when they cannot, as with users who are gone."""
    kind, _, value = principal.partition("::")
    match kind:
        case "user":
            return f"user:{value}" if value in tenant.user_account else None
        case "group":
            return f"group:{tenant.user_group[value].name}" if value in tenant.user_group else None
        case "role" if value != "admin":
            return value
        case _:
            return principal


def _principal(names: Names, shown: str) -> str:
    """A principal by the name that tools show."""
    if shown in ("admin", "everyone", "anyone"):
        return f"role::{shown}"
    kind, _, rest = shown.partition(":")
    if ":" not in rest:
        return f"{kind}::{_group(rest)}"
    scope, _, value = rest.partition(":")
    return f"{kind}:{scope}:{names.plain(value)}"


def _group(shown: str) -> str:
    return shown.removesuffix(" renamed")
