"""Who is at a live document, as editors hear it: people, agents that call tools, programs."""

from typing import Any

import anyio
import orjson
import pycrdt
import pytest
from websockets.asyncio.client import connect

from tests.features.wiki.conftest import Served, Space
from tests.features.wiki.live_editor import PATIENCE_S, LiveEditor, address, at

pytestmark = pytest.mark.anyio

PAGE = "# Plan\n\nFirst line.\nLast line.\n"
RIGHTS = 5


@pytest.fixture
async def plan(space: Space) -> Space:
    space.write({"plan.md": PAGE})
    return space


def url(served: Served) -> str:
    return str(served.http.base_url).rstrip("/")


def present(hand: LiveEditor) -> dict[int, Any]:
    """The last state of everybody."""
    found: dict[int, Any] = {}
    for message in hand.presences:
        reader = pycrdt.Decoder(message)
        for _ in range(reader.read_var_uint()):
            client, _ = reader.read_var_uint(), reader.read_var_uint()
            found[client] = orjson.loads(reader.read_var_string())
    return {client: state for client, state in found.items() if state is not None}


async def test_an_agent_that_calls_a_tool_is_shown_where_it_wrote(plan: Space) -> None:
    async with at(url(plan.served), "plan", plan.name) as ana:
        await plan.value("edit_document", docName="plan", find="First", replace="Very first")
        await ana.until(lambda: "Very first" in ana.text and bool(present(ana)))
        (state,) = present(ana).values()
        assert state["user"] == {"name": plan.served.ana.user, "kind": "agent"}
        assert state["writer"] == f"agent-{plan.served.ana.user_id}"
        item = state["cursor"]["head"]["item"]
        # Where: behind the last character that it inserted.
        where = {"item": {"client": item["client"], "clock": item["clock"]}, "assoc": -1}
        sticky = pycrdt.StickyIndex.from_json(where, ana.source)  # pyright: ignore[reportUnknownMemberType] - untyped
        assert ana.text[: sticky.get_index()].rstrip("tT Ff").endswith("Very")
        # Somebody who comes later sees the agent too.
        async with at(url(plan.served), "plan", plan.name) as late:
            await late.until(lambda: bool(present(late)))


async def test_another_program_that_writes_the_file_is_shown_as_one(plan: Space) -> None:
    async with at(url(plan.served), "plan", plan.name) as ana:
        plan.write({"plan.md": PAGE + "By a program.\n"})
        await ana.until(lambda: "By a program." in ana.text and bool(present(ana)))
        (state,) = present(ana).values()
        assert state["user"] == {"name": "another program", "kind": "program"}


async def test_an_editor_hears_whether_it_may_write_and_when_that_ends(plan: Space) -> None:
    await plan.admin("grant", to="user:bo", role="writer")
    where = f"{address(url(plan.served), 'plan', plan.name)}&rights=1"
    headers = {"authorization": f"Bearer {plan.served.bo_token}"}
    async with connect(where, proxy=None, additional_headers=headers) as socket:
        with anyio.fail_after(PATIENCE_S):
            assert await next_rights(socket) is True
            await plan.admin("grant", to="user:bo", role="reader")
            await plan.value("edit_document", docName="plan", find="First", replace="1st")
            assert await next_rights(socket) is False


async def next_rights(socket: Any) -> bool:
    async for message in socket:
        if message[0] == RIGHTS:
            return message[1:] == b"\x01"
    raise AssertionError("it was closed")
