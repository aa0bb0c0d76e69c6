"""Roles in sources, given and taken away with the office's tools."""

import pytest

from pecia.kernel.errors import NotFound
from tests.conftest import House

pytestmark = pytest.mark.anyio


async def test_an_owner_may_give_up_the_role_that_shows_them_the_source(house: House) -> None:
    await house.call(house.ana, "add_source", source_id="s1")
    role = {"source_id": "s1", "to": "user:bo"}
    await house.call(house.ana, "grant", role="owner", **role)
    given_up = await house.call(house.bo, "grant", role=None, **role)
    assert (given_up["trim_mode"], given_up["grants"]) == ("per_file", [])
    with pytest.raises(NotFound):
        await house.call(house.bo, "list_grants", source_id="s1")
    assert (await house.call(house.ana, "list_grants", source_id="s1"))["grants"] == []
