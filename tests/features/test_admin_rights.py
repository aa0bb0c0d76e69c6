"""Roles in sources, given and taken away with the admin tools."""

import pytest

from pecia.kernel.errors import Json, NotFound
from tests.conftest import House

pytestmark = pytest.mark.anyio


async def test_an_owner_may_give_up_the_role_that_shows_them_the_source(house: House) -> None:
    await house.call(house.ana, "add_source", source_id="s1", protocol="upload")
    role = {"source_id": "s1", "to": "user:bo"}
    await house.call(house.ana, "grant", role="owner", **role)
    given_up = await house.call(house.bo, "grant", role=None, **role)
    assert (given_up["trim_mode"], given_up["grants"]) == ("per_file", [])
    with pytest.raises(NotFound):
        await house.call(house.bo, "list_grants", source_id="s1")
    assert (await house.call(house.ana, "list_grants", source_id="s1"))["grants"] == []


async def test_a_grant_to_somebody_who_is_not_there_says_how_to_make_them(house: House) -> None:
    await house.call(house.ana, "add_source", source_id="s1", protocol="upload")
    for kind in ("group", "user"):
        asked: dict[str, Json] = {"source_id": "s1", "to": f"{kind}:staff", "role": "reader"}
        with pytest.raises(NotFound, match=f"no {kind} 'staff'") as refused:
            await house.call(house.ana, "grant", **asked)
        assert refused.value.fields["field"] == "to"
        assert f"pecia {kind} add staff" in str(refused.value.fields["hint"])
