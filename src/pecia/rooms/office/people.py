"""Users, groups and their other names: kept by administrators, seen by every member."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from pecia.kernel.errors import Conflict, Forbidden, NotFound
from pecia.kernel.identity.caller import Scope
from pecia.kernel.identity.principal import Principal
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Row, Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool
from pecia.rooms.office.paging import Cursor, Paged, next_cursor

SQL = load_queries("pecia.rooms.office")
ROOM = "office"


class Me(Output):
    tenant: str
    user: str
    is_admin: bool
    scopes: list[str]
    credential: str
    expires_at: str | None
    principals: list[str]


class User(Output):
    name: str
    role: str
    status: str
    principals: list[str]


class Users(Output):
    users: list[User]
    next_cursor: str | None = None


class Group(Output):
    name: str
    members: list[str]


class Groups(Output):
    groups: list[Group]
    next_cursor: str | None = None


class Nothing(Input):
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


class NamedGroup(Input):
    name: str = Field(min_length=1, max_length=200)


class Membership(Input):
    group: str = Field(min_length=1, max_length=200)
    user: str = Field(min_length=1, max_length=200)


@dataclass(frozen=True, slots=True)
class People:
    """The handlers over users and groups."""

    store: Store

    async def whoami(self, call: Call, ask: Nothing) -> Me:
        """Who you are here, what your token may be used for, and every name your rights hang on."""
        async with self.store.reading(call.caller) as tx:
            names = await tx.all(SQL["my_principals"])
        caller = call.caller
        return Me(
            tenant=caller.tenant,
            user=caller.user,
            is_admin=caller.is_admin,
            scopes=sorted(it.value for it in caller.scopes),
            credential=caller.kind.value,
            expires_at=caller.expires_at.isoformat() if caller.expires_at else None,
            principals=[it["principal"] for it in names],
        )

    async def list_users(self, call: Call, ask: Paged) -> Users:
        """The users of your tenant, by name."""
        async with self.store.reading(call.caller) as tx:
            rows = await tx.all(SQL["users"], after=Cursor.of(ask), limit=ask.limit + 1)
        page = rows[: ask.limit]
        return Users(
            users=[User(**it) for it in page], next_cursor=next_cursor(rows, ask.limit, "name")
        )

    async def add_user(self, call: Call, ask: AddUser) -> User:
        """Add a user to your tenant."""
        async with self.store.writing(call.caller, call.trace) as tx:
            await tx.run(SQL["add_user"], name=ask.name, role=ask.role)
            await _know_as(tx, ask.name, ask.known_as)
            return User(**await _user(tx, ask.name))

    async def set_user(self, call: Call, ask: SetUser) -> User:
        """Change a user's role or status, or the names they are known by elsewhere.

        A disabled user's tokens stop working at once.
        """
        async with self.store.writing(call.caller, call.trace) as tx:
            before = await _user(tx, ask.name)
            if ask.role == "member" or ask.status == "disabled":
                await _keep_an_administrator(tx, before)
            _require_changed(
                await tx.run(SQL["set_user"], name=ask.name, role=ask.role, status=ask.status)
            )
            await _know_as(tx, ask.name, ask.know_as)
            for at, text in enumerate(ask.forget_as):
                await _forget_as(tx, before, Principal.parse(text, at=f"forget_as.{at}"))
            return User(**await _user(tx, ask.name))

    async def list_groups(self, call: Call, ask: Paged) -> Groups:
        """The groups of your tenant and who is in them."""
        async with self.store.reading(call.caller) as tx:
            rows = await tx.all(SQL["groups"], after=Cursor.of(ask), limit=ask.limit + 1)
        page = rows[: ask.limit]
        return Groups(
            groups=[Group(**it) for it in page], next_cursor=next_cursor(rows, ask.limit, "name")
        )

    async def add_group(self, call: Call, ask: NamedGroup) -> Group:
        """Add a group."""
        async with self.store.writing(call.caller, call.trace) as tx:
            await tx.run(SQL["add_group"], name=ask.name)
        return Group(name=ask.name, members=[])

    async def remove_group(self, call: Call, ask: NamedGroup) -> Group:
        """Remove a group. What was granted to it alone is seen by nobody but owners afterwards."""
        async with self.store.writing(call.caller, call.trace) as tx:
            group = await _group(tx, ask.name)
            _require_changed(await tx.run(SQL["remove_group"], name=ask.name))
            return Group(**group)

    async def add_member(self, call: Call, ask: Membership) -> Group:
        """Put a user into a group."""
        async with self.store.writing(call.caller, call.trace) as tx:
            await _group(tx, ask.group)
            await _user(tx, ask.user)
            await tx.run(SQL["add_member"], group=ask.group, user=ask.user)
            return Group(**await _group(tx, ask.group))

    async def remove_member(self, call: Call, ask: Membership) -> Group:
        """Take a user out of a group. What only the group gave them is gone with the next call."""
        async with self.store.writing(call.caller, call.trace) as tx:
            group = await _group(tx, ask.group)
            if ask.user not in group["members"]:
                raise NotFound(f"{ask.user!r} is not in the group {ask.group!r}", user=ask.user)
            _require_changed(await tx.run(SQL["remove_member"], group=ask.group, user=ask.user))
            return Group(**await _group(tx, ask.group))


def people_tools(store: Store) -> tuple[AnyTool, ...]:
    """The tools over people, all on one store."""
    it = People(store)
    return (
        Tool(ROOM, "whoami", Scope.READ, Nothing, Me, it.whoami),
        Tool(ROOM, "list_users", Scope.READ, Paged, Users, it.list_users),
        Tool(ROOM, "add_user", Scope.ADMIN, AddUser, User, it.add_user, read_only=False),
        Tool(
            ROOM,
            "set_user",
            Scope.ADMIN,
            SetUser,
            User,
            it.set_user,
            idempotent=True,
            read_only=False,
        ),
        Tool(ROOM, "list_groups", Scope.READ, Paged, Groups, it.list_groups),
        Tool(ROOM, "add_group", Scope.ADMIN, NamedGroup, Group, it.add_group, read_only=False),
        Tool(
            ROOM,
            "remove_group",
            Scope.ADMIN,
            NamedGroup,
            Group,
            it.remove_group,
            destructive=True,
            read_only=False,
        ),
        Tool(
            ROOM,
            "add_member",
            Scope.ADMIN,
            Membership,
            Group,
            it.add_member,
            idempotent=True,
            read_only=False,
        ),
        Tool(
            ROOM,
            "remove_member",
            Scope.ADMIN,
            Membership,
            Group,
            it.remove_member,
            destructive=True,
            read_only=False,
        ),
    )


async def _know_as(tx: Transaction, user: str, names: list[str]) -> None:
    for at, text in enumerate(names):
        name = Principal.parse(text, at=f"known_as.{at}")
        await tx.run(SQL["know_as"], name=user, **_parts(name))


def _parts(name: Principal) -> dict[str, str]:
    return {"kind": name.kind.value, "scope": name.scope, "value": name.value}


async def _user(tx: Transaction, name: str) -> Row:
    return await tx.one(SQL["user"], f"no user {name!r}", name=name)


async def _group(tx: Transaction, name: str) -> Row:
    return await tx.one(SQL["group"], f"no group {name!r}", name=name)


async def _keep_an_administrator(tx: Transaction, user: Row) -> None:
    """Nobody could undo it: a tenant keeps one administrator who may act."""
    is_one = user["role"] == "admin" and user["status"] == "active"
    if is_one and not await tx.value(SQL["other_administrators"], name=user["name"]):
        raise Conflict(
            f"{user['name']!r} is the only administrator; make another one first",
            user=user["name"],
        )


async def _forget_as(tx: Transaction, user: Row, name: Principal) -> None:
    if name.render() not in user["principals"]:
        raise NotFound(f"{user['name']!r} is not known as {name.render()!r}", user=user["name"])
    _require_changed(await tx.run(SQL["forget_as"], name=user["name"], **_parts(name)))


def _require_changed(rows: int) -> None:
    """What we just saw and could not change is not missing: the caller may not."""
    if not rows:
        raise Forbidden("only an administrator of the tenant may change this", role="admin")
