"""Who may change people and groups, and what they are told when they may not."""

import pytest

from pecia.kernel.errors import Conflict, Forbidden, InvalidInput, Json, NotFound, PeciaError
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


async def test_a_member_sees_who_is_in_the_groups_that_they_are_in(house: House) -> None:
    for group in ("hr", "staff"):
        await house.call(house.ana, "add_group", name=group)
        await house.call(house.ana, "add_member", group=group, user=house.ana.user)
    await house.call(house.ana, "add_member", group="staff", user="bo")
    both = sorted([house.ana.user, "bo"])
    listed = (await house.call(house.bo, "list_groups"))["groups"]
    # The names are what a grant is made to.
    assert listed == [{"name": "hr", "members": None}, {"name": "staff", "members": both}]
    every = (await house.call(house.ana, "list_groups"))["groups"]
    assert every == [
        {"name": "hr", "members": [house.ana.user]},
        {"name": "staff", "members": both},
    ]
    # Nor does a refusal tell who is in it.
    refused: list[str] = []
    for user in (house.ana.user, "bo"):
        with pytest.raises(PeciaError) as caught:
            await house.call(house.bo, "remove_member", group="hr", user=user)
        refused.append(str(caught.value).replace(user, "USER"))
    assert refused[0] == refused[1]


async def test_the_owner_of_a_source_grants_to_a_group_that_they_are_not_in(house: House) -> None:
    await house.call(house.ana, "add_group", name="hr")
    await house.call(house.ana, "add_source", source_id="notes", protocol="upload")
    await house.call(house.ana, "grant", source_id="notes", to="user:bo", role="owner")
    await house.call(house.bo, "grant", source_id="notes", to="group:hr", role="reader")
    granted = (await house.call(house.bo, "list_grants", source_id="notes"))["grants"]
    assert "group:hr" in {it["principal"] for it in granted}


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


async def test_groups_become_what_a_directory_says_and_strangers_are_told(house: House) -> None:
    await house.call(house.ana, "set_user", name="bo", know_as=["email::bo@example.org"])
    await house.call(house.ana, "add_group", name="other")
    said: list[Json] = [
        {"name": "staff", "members": ["BO@example.org", "nobody"]},
        {"name": "empty", "members": []},
    ]
    first = await house.call(house.ana, "set_groups", groups=said)
    assert first == {
        "added": ["staff", "empty"],
        "joined": 1,
        "left": 0,
        "unknown": [{"group": "staff", "member": "nobody"}],
    }
    again = await house.call(house.ana, "set_groups", groups=said)
    assert (again["added"], again["joined"], again["left"]) == ([], 0, 0)
    gone = await house.call(house.ana, "set_groups", groups=[{"name": "staff", "members": []}])
    assert (gone["joined"], gone["left"]) == (0, 1)
    listed = (await house.call(house.ana, "list_groups"))["groups"]
    assert listed == [{"name": it, "members": []} for it in ("empty", "other", "staff")]


async def test_a_directory_that_names_a_group_twice_or_comes_from_a_member_changes_nothing(
    house: House,
) -> None:
    twice: list[Json] = [{"name": "staff", "members": [it]} for it in ("bo", "nobody")]
    with pytest.raises(InvalidInput) as caught:
        await house.call(house.ana, "set_groups", groups=twice)
    assert caught.value.fields["field"] == "groups.1.name"
    with pytest.raises(Forbidden):
        await house.call(house.bo, "set_groups", groups=twice[:1])
    await house.call(house.ana, "set_groups", groups=twice[:1])
    for members in ([], [house.ana.user, "bo"]):
        with pytest.raises(Forbidden):
            await house.call(
                house.bo, "set_groups", groups=[{"name": "staff", "members": [*members]}]
            )
    assert (await house.call(house.ana, "list_groups"))["groups"] == [
        {"name": "staff", "members": ["bo"]}
    ]
