"""Tools whose modules are imported with their first call: the same to everybody who uses them."""

import pytest

from pecia.kernel.errors import InvalidInput
from pecia.kernel.tool.model import DeferredTool
from pecia.kernel.tool.on_demand import load_tools, tool_row
from pecia.kernel.tool.validate import input_schema
from pecia.kernel.tool.view import full_name
from tests.conftest import House

pytestmark = pytest.mark.anyio


async def test_a_tool_is_loaded_by_its_first_call_and_by_no_listing_of_names(house: House) -> None:
    tools = {full_name(it): it for it in house.app.tools}
    tool = tools["lake.list_sources"]
    assert isinstance(tool, DeferredTool)
    assert tool.group.tools is None
    assert house.app.full_view.lookup(full_name(tool)) is not None
    await house.call(house.ana, full_name(tool))
    assert tool.group.tools is not None


async def test_arguments_of_a_tool_that_nobody_has_called_yet_are_checked(house: House) -> None:
    with pytest.raises(InvalidInput, match="nonsense"):
        await house.call(house.ana, "admin.add_group", name="staff", nonsense=1)


async def test_every_tool_is_as_it_was_recorded(house: House) -> None:
    deferred = [it for it in house.app.tools if isinstance(it, DeferredTool)]
    assert len(deferred) > 100
    await load_tools(deferred)
    for it in deferred:
        row = tool_row(it.loaded)
        assert (row["name"], row["scope"]) == (it.name, it.scope)
        assert input_schema(it)["type"] == "object"
        assert it.description
        assert (it.lean is None) is (it.loaded.lean is None)
        if it.lean is not None:
            assert it.lean.loaded is it.loaded.lean
