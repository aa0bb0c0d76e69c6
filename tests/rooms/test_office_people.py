"""Who may change people and groups, and what they are told when they may not."""

import pytest

from pecia.kernel.errors import Conflict, Forbidden, NotFound
from tests.conftest import House

pytestmark = pytest.mark.anyio


async def test_a_change_that_was_not_allowed_is_never_told_as_done(house: House) -> None:
    await house.call(house.ana, "add_group", name="staff")
    await house.call(house.ana, "add_member", group="staff", user="bo")
    for tool, arguments in (
        ("set_user", {"name": "bo", "role": "admin"}),
        ("set_user", {"name": "bo", "status": "disabled"}),
        ("remove_group", {"name": "staff"}),
        ("remove_member", {"group": "staff", "user": "bo"}),
    ):
        with pytest.raises(Forbidden):
            await house.call(house.bo, tool, **arguments)
    (row,) = (await house.call(house.ana, "list_audit", tool="set_user", limit=1))["rows"]
    assert row["status"] == "denied"


async def test_a_tenant_keeps_one_administrator(house: House) -> None:
    name = house.ana.user
    for change in ({"role": "member"}, {"status": "disabled"}):
        with pytest.raises(Conflict, match="only administrator"):
            await house.call(house.ana, "set_user", name=name, **change)
    await house.call(house.ana, "set_user", name="bo", role="admin")
    await house.call(house.ana, "set_user", name=name, role="member")


async def test_what_is_not_there_is_not_found_rather_than_forbidden(house: House) -> None:
    await house.call(house.ana, "add_group", name="staff")
    with pytest.raises(NotFound):
        await house.call(house.ana, "remove_member", group="staff", user="bo")
    with pytest.raises(NotFound):
        await house.call(house.ana, "set_user", name="bo", forget_as=["email::nobody@example.org"])
