"""Users, groups and their aliases: managed by administrators. Every member sees their names."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from pecia.features.admin.core.page import PageCursor, PageInput, next_cursor
from pecia.kernel.errors import Conflict, Forbidden, NotFound, list_hint
from pecia.kernel.identity.caller import Scope
from pecia.kernel.identity.principal import Principal
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import DictRow, Store, Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

SQL = load_queries("pecia.features.admin.tools", "users.sql")
FEATURE = "admin"


class WhoAmIOut(Output):
    tenant: str
    user: str
    is_admin: bool
    scopes: list[str]
    credential: str
    expires_at: str | None
    principals: list[str]


class UserOut(Output):
    name: str
    role: str
    status: str
    principals: list[str]


class UsersOut(Output):
    users: list[UserOut]
    next_cursor: str | None = None


class GroupOut(Output):
    name: str
    members: list[str] | None = Field(
        description="For administrators, and for those who are in it."
    )


class GroupsOut(Output):
    groups: list[GroupOut]
    next_cursor: str | None = None


class EmptyInput(Input):
    pass


class AddUser(Input):
    name: str = Field(min_length=1, max_length=200, description="Unique in the tenant.")
    role: Literal["member", "admin"] = "member"
    known_as: list[str] = Field(
        default_factory=list,
        max_length=50,
        description="Other names, as `email::ana@example.org` or `posixuid:nas:1001`.",
    )


class SetUser(Input):
    name: str = Field(min_length=1, max_length=200)
    role: Literal["member", "admin"] | None = None
    status: Literal["active", "disabled"] | None = None
    know_as: list[str] = Field(default_factory=list, max_length=50)
    forget_as: list[str] = Field(default_factory=list, max_length=50)


class GroupTarget(Input):
    name: str = Field(min_length=1, max_length=200)


class MembershipInput(Input):
    group: str = Field(min_length=1, max_length=200)
    user: str = Field(min_length=1, max_length=200)


@dataclass(frozen=True, slots=True)
class UserTools:
    """The handlers over users and groups."""

    store: Store

    async def whoami(self, call: Call, ask: EmptyInput) -> WhoAmIOut:
        """Who you are, the scopes of your token, and every principal your rights depend on."""
        async with self.store.reading(call.caller) as tx:
            names = await tx.fetch_all(SQL["my_principals"])
        caller = call.caller
        return WhoAmIOut(
            tenant=caller.tenant,
            user=caller.user,
            is_admin=caller.is_admin,
            scopes=sorted(it.value for it in caller.scopes),
            credential=caller.kind.value,
            expires_at=caller.expires_at.isoformat() if caller.expires_at else None,
            principals=[it["principal"] for it in names],
        )

    async def list_users(self, call: Call, ask: PageInput) -> UsersOut:
        """The users of your tenant, by name."""
        async with self.store.reading(call.caller) as tx:
            rows = await tx.fetch_all(SQL["users"], after=PageCursor.of(ask), limit=ask.limit + 1)
        page = rows[: ask.limit]
        return UsersOut(
            users=[UserOut(**it) for it in page], next_cursor=next_cursor(rows, ask.limit, "name")
        )

    async def add_user(self, call: Call, ask: AddUser) -> UserOut:
        """Add a user to your tenant."""
        async with self.store.writing(call.caller, call.trace) as tx:
            if await tx.fetch_optional(SQL["user"], name=ask.name):
                raise _exists("user", ask.name, f"to change it: pecia user set {ask.name}")
            await tx.execute(SQL["add_user"], name=ask.name, role=ask.role)
            await _add_principals(tx, ask.name, ask.known_as)
            return UserOut(**await _load_user(tx, ask.name))

    async def set_user(self, call: Call, ask: SetUser) -> UserOut:
        """Change a user's role, status or aliases.

        A disabled user's tokens stop working at once.
        """
        async with self.store.writing(call.caller, call.trace) as tx:
            before = await _load_user(tx, ask.name)
            if ask.role == "member" or ask.status == "disabled":
                await _require_other_admin(tx, before)
            _require_changed(
                await tx.execute(SQL["set_user"], name=ask.name, role=ask.role, status=ask.status)
            )
            await _add_principals(tx, ask.name, ask.know_as)
            for at, text in enumerate(ask.forget_as):
                await _remove_principal(tx, before, Principal.parse(text, at=f"forget_as.{at}"))
            return UserOut(**await _load_user(tx, ask.name))

    async def list_groups(self, call: Call, ask: PageInput) -> GroupsOut:
        """The groups of your tenant, and who is in them: of yours, or of all if you are an
        administrator."""
        async with self.store.reading(call.caller) as tx:
            rows = await tx.fetch_all(SQL["groups"], after=PageCursor.of(ask), limit=ask.limit + 1)
        page = rows[: ask.limit]
        return GroupsOut(
            groups=[GroupOut(**it) for it in page], next_cursor=next_cursor(rows, ask.limit, "name")
        )

    async def add_group(self, call: Call, ask: GroupTarget) -> GroupOut:
        """Add a group."""
        async with self.store.writing(call.caller, call.trace) as tx:
            if await tx.fetch_optional(SQL["group"], name=ask.name):
                way_on = f"to add somebody: pecia group join {ask.name} USER"
                raise _exists("group", ask.name, way_on)
            await tx.execute(SQL["add_group"], name=ask.name)
        return GroupOut(name=ask.name, members=[])

    async def remove_group(self, call: Call, ask: GroupTarget) -> GroupOut:
        """Remove a group. What was granted to it alone is then visible to owners only."""
        async with self.store.writing(call.caller, call.trace) as tx:
            group = await _load_group(tx, ask.name)
            _require_changed(await tx.execute(SQL["remove_group"], name=ask.name))
            return GroupOut(**group)

    async def add_member(self, call: Call, ask: MembershipInput) -> GroupOut:
        """Add a user to a group."""
        async with self.store.writing(call.caller, call.trace) as tx:
            await _load_group(tx, ask.group)
            await _load_user(tx, ask.user)
            await tx.execute(SQL["add_member"], group=ask.group, user=ask.user)
            return GroupOut(**await _load_group(tx, ask.group))

    async def remove_member(self, call: Call, ask: MembershipInput) -> GroupOut:
        """Remove a user from a group. Rights from that group alone end with the next call."""
        async with self.store.writing(call.caller, call.trace) as tx:
            group = await _load_group(tx, ask.group)
            if ask.user not in (group["members"] or ()):
                raise NotFound(
                    f"{ask.user!r} is not in the group {ask.group!r}",
                    user=ask.user,
                    hint=list_hint("pecia group list"),
                )
            _require_changed(await tx.execute(SQL["remove_member"], group=ask.group, user=ask.user))
            return GroupOut(**await _load_group(tx, ask.group))


def user_tools(store: Store) -> tuple[AnyTool, ...]:
    """The tools over users and groups."""
    it = UserTools(store)
    return (
        Tool(FEATURE, "whoami", Scope.READ, EmptyInput, WhoAmIOut, it.whoami),
        Tool(FEATURE, "list_users", Scope.READ, PageInput, UsersOut, it.list_users),
        Tool(FEATURE, "add_user", Scope.ADMIN, AddUser, UserOut, it.add_user, read_only=False),
        Tool(
            FEATURE,
            "set_user",
            Scope.ADMIN,
            SetUser,
            UserOut,
            it.set_user,
            idempotent=True,
            read_only=False,
        ),
        Tool(FEATURE, "list_groups", Scope.READ, PageInput, GroupsOut, it.list_groups),
        Tool(
            FEATURE, "add_group", Scope.ADMIN, GroupTarget, GroupOut, it.add_group, read_only=False
        ),
        Tool(
            FEATURE,
            "remove_group",
            Scope.ADMIN,
            GroupTarget,
            GroupOut,
            it.remove_group,
            destructive=True,
            read_only=False,
        ),
        Tool(
            FEATURE,
            "add_member",
            Scope.ADMIN,
            MembershipInput,
            GroupOut,
            it.add_member,
            idempotent=True,
            read_only=False,
        ),
        Tool(
            FEATURE,
            "remove_member",
            Scope.ADMIN,
            MembershipInput,
            GroupOut,
            it.remove_member,
            destructive=True,
            read_only=False,
        ),
    )


async def _add_principals(tx: Transaction, user: str, names: list[str]) -> None:
    for at, text in enumerate(names):
        name = Principal.parse(text, at=f"known_as.{at}")
        await tx.execute(SQL["know_as"], name=user, **_parts(name))


def _parts(name: Principal) -> dict[str, str]:
    return {"kind": name.kind.value, "scope": name.scope, "value": name.value}


def _exists(kind: str, name: str, hint: str) -> Conflict:
    return Conflict(f"the {kind} {name!r} exists already", field="name", got=name, hint=hint)


async def _load_user(tx: Transaction, name: str) -> DictRow:
    return await tx.fetch_one(SQL["user"], f"no user {name!r}", name=name)


async def _load_group(tx: Transaction, name: str) -> DictRow:
    return await tx.fetch_one(SQL["group"], f"no group {name!r}", name=name)


async def _require_other_admin(tx: Transaction, user: DictRow) -> None:
    """A tenant keeps at least one active administrator: without one, nobody could undo this."""
    is_one = user["role"] == "admin" and user["status"] == "active"
    if is_one and not await tx.fetch_value(SQL["other_administrators"], name=user["name"]):
        raise Conflict(
            f"{user['name']!r} is the only administrator; make another one first",
            user=user["name"],
        )


async def _remove_principal(tx: Transaction, user: DictRow, name: Principal) -> None:
    if name.render() not in user["principals"]:
        raise NotFound(
            f"the user {user['name']!r} has no principal {name.render()!r}",
            user=user["name"],
            hint=list_hint("pecia user list"),
        )
    _require_changed(await tx.execute(SQL["forget_as"], name=user["name"], **_parts(name)))


def _require_changed(rows: int) -> None:
    """The row is visible, so an update of 0 rows means that the caller lacks the right."""
    if not rows:
        raise Forbidden("only an administrator of the tenant may change this", role="admin")
