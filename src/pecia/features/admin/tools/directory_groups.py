"""Sync groups from a directory: each named group gets exactly the given members, atomically."""

from dataclasses import asdict, dataclass, field

from pydantic import Field

from pecia.features.admin.tools.users import SQL as PEOPLE_SQL
from pecia.kernel.errors import Forbidden, InvalidInput
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store, Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

SQL = load_queries("pecia.features.admin.tools", "directory_groups.sql")
FEATURE = "admin"


class DirectoryGroup(Input):
    name: str = Field(min_length=1, max_length=200)
    members: list[str] = Field(
        max_length=10_000, description="Users by name, or as a directory calls them."
    )


class SetGroups(Input):
    groups: list[DirectoryGroup] = Field(min_length=1, max_length=1000)


class UnknownMemberOut(Output):
    group: str
    member: str


class SetGroupsOut(Output):
    added: list[str] = Field(description="Groups that were created.")
    joined: int
    left: int
    unknown: list[UnknownMemberOut] = Field(description="Unknown users, left out.")


@dataclass(frozen=True, slots=True)
class DirectoryTools:
    """The handler."""

    store: Store

    async def set_groups(self, call: Call, ask: SetGroups) -> SetGroupsOut:
        """Set groups as in a directory: created where missing, with exactly these members.
        Groups that are not named stay. Unknown users are left out and reported."""
        _require_distinct(ask)
        done = _GroupChanges()
        async with self.store.writing(call.caller, call.trace) as tx:
            said = sorted({member for it in ask.groups for member in it.members})
            rows = await tx.fetch_all(SQL["users_called"], members=said)
            users = {row["said"]: row["name"] for row in rows}
            for group in ask.groups:
                await _set_group(tx, group, users, done)
        return SetGroupsOut.model_validate(asdict(done))


def directory_tools(store: Store) -> tuple[AnyTool, ...]:
    it = DirectoryTools(store)
    return (
        Tool(
            FEATURE,
            "set_groups",
            Scope.ADMIN,
            SetGroups,
            SetGroupsOut,
            it.set_groups,
            read_only=False,
            idempotent=True,
            destructive=True,
        ),
    )


def _require_distinct(ask: SetGroups) -> None:
    names = [it.name for it in ask.groups]
    for at, name in enumerate(names):
        if name in names[:at]:
            raise InvalidInput(f"the group {name!r} is listed twice", field=f"groups.{at}.name")


@dataclass(slots=True)
class _GroupChanges:
    added: list[str] = field(default_factory=list[str])
    joined: int = 0
    left: int = 0
    unknown: list[dict[str, str]] = field(default_factory=list[dict[str, str]])


async def _set_group(
    tx: Transaction, group: DirectoryGroup, users: dict[str, str], done: _GroupChanges
) -> None:
    row = await tx.fetch_optional(PEOPLE_SQL["group"], name=group.name)
    if row is None:
        await tx.execute(PEOPLE_SQL["add_group"], name=group.name)
        done.added.append(group.name)
    before: set[str] = {*row["members"]} if row else set()
    after = {users[it] for it in group.members if it in users}
    for stranger in dict.fromkeys(it for it in group.members if it not in users):
        done.unknown.append({"group": group.name, "member": stranger})
    for user in sorted(after - before):
        done.joined += await tx.execute(PEOPLE_SQL["add_member"], group=group.name, user=user)
    for user in sorted(before - after):
        if not await tx.execute(PEOPLE_SQL["remove_member"], group=group.name, user=user):
            raise Forbidden(
                f"only an administrator of the tenant may change the group {group.name!r}",
                role="admin",
            )
        done.left += 1
