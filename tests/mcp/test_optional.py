"""The optional methods, through the SDK's own client, in both eras and over three transports."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.client.sse import sse_client

from pecia.interfaces.mcp.methods.subscriptions import (
    PromptsListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from tests.conftest import CONTEXT
from tests.mcp.conftest import BIT, Served

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

LEGACY, MODERN = "legacy", "2026-07-28"
WATCHED = "test://watched-resource"


@dataclass(slots=True)
class Person:
    """Who sits at the client: says yes, lends a model, and notes what is said."""

    action: str = "accept"
    logs: list[str] = field(default_factory=list[str])
    seen: list[str] = field(default_factory=list[str])
    news: anyio.Event = field(default_factory=anyio.Event)

    async def fill_in(self, context: Any, params: Any) -> types.ElicitResult:
        content = {"name": "Ana", "username": "ana", "email": "ana@example.com"}
        if self.action != "accept":
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content=dict(content))

    async def think(self, context: Any, params: Any) -> types.CreateMessageResult:
        said = types.TextContent(text="Paris")
        return types.CreateMessageResult(role="assistant", content=said, model="m")

    async def roots(self, context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri="file:///work")])  # pyright: ignore[reportArgumentType] - pydantic makes the URL

    async def hear(self, params: Any) -> None:
        self.logs.append(f"{params.level}: {params.data}")

    async def notice(self, message: Any) -> None:
        self.seen.append(type(message).__name__)
        self.news.set()

    def at(self, where: Any, mode: Any) -> AbstractAsyncContextManager[Client]:
        return Client(
            where,
            mode=mode,
            elicitation_callback=self.fill_in,
            sampling_callback=self.think,
            list_roots_callback=self.roots,
            logging_callback=self.hear,
            message_handler=self.notice,
        )


@asynccontextmanager
async def connected(
    served: Served, mode: str, person: Person | None = None
) -> AsyncGenerator[Client]:
    async with (person or Person()).at(f"{served.url}{BIT}", mode) as client:
        yield client


def said(result: Any) -> str:
    return result.content[0].text


both = pytest.mark.parametrize("mode", [LEGACY, MODERN])


@both
@pytest.mark.requirement("hub.method.elicit_input")
async def test_a_tool_can_ask_the_person(served: Served, mode: str) -> None:
    asking = "test_input_required_result_elicitation"
    async with connected(served, mode) as client:
        assert said(await client.call_tool(asking, {})) == "Hello, Ana!"
    async with connected(served, mode, Person("decline")) as client:
        assert said(await client.call_tool(asking, {})) == "Hello, None!"


@both
@pytest.mark.requirement("hub.method.create_message", "hub.method.list_roots")
async def test_a_tool_can_ask_several_things_at_once(served: Served, mode: str) -> None:
    async with connected(served, mode) as client:
        found = said(await client.call_tool("test_input_required_result_multiple_inputs", {}))
    assert "Ana" in found
    assert "Paris" in found
    assert "file:///work" in found


@both
async def test_answers_of_earlier_rounds_are_kept(served: Served, mode: str) -> None:
    person = Person()

    async def colors(context: Any, params: Any) -> types.ElicitResult:
        is_first = "name" in params.requested_schema["properties"]
        content: dict[str, Any] = {"name": "Ana"} if is_first else {"color": "green"}
        return types.ElicitResult(action="accept", content=content)

    client = Client(f"{served.url}{BIT}", mode=mode, elicitation_callback=colors)  # pyright: ignore[reportArgumentType] - a revision
    async with client:
        found = await client.call_tool("test_input_required_result_multi_round", {})
    assert said(found) == "Ana likes green"
    assert person.logs == []


async def test_a_client_that_cannot_be_asked_is_told_what_it_lacks(served: Served) -> None:
    name = {"name": "test_missing_capability"}
    newer = await served.talk.modern(BIT, "tools/call", name)
    assert newer.status_code == 400
    assert newer.json()["error"]["code"] == -32021
    assert newer.json()["error"]["data"]["requiredCapabilities"] == {"sampling": {}}
    older = await served.talk.ask(BIT, "tools/call", name)
    assert older["result"]["structuredContent"]["error"]["code"] == "UNPROCESSABLE"


@both
async def test_progress_arrives_in_order(served: Served, mode: str) -> None:
    steps: list[float] = []

    async def step(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    async with connected(served, mode) as client:
        await client.call_tool("test_tool_with_progress", {}, progress_callback=step)
    assert steps == [0, 50, 100]


@pytest.mark.requirement("hub.method.set_logging_level", "hub.method.ping")
async def test_only_messages_of_the_level_asked_for_arrive(served: Served) -> None:
    person = Person()
    async with connected(served, LEGACY, person) as client:
        await client.send_ping()  # pyright: ignore[reportDeprecated] - of the older era
        await client.set_logging_level("error")  # pyright: ignore[reportDeprecated] - of the older era
        await client.call_tool("test_tool_with_logging", {})
        assert person.logs == []
        await client.set_logging_level("info")  # pyright: ignore[reportDeprecated] - of the older era
        await client.call_tool("test_tool_with_logging", {})
    assert [it.partition(":")[0] for it in person.logs] == ["info"] * 3


@both
@pytest.mark.requirement("hub.method.complete")
async def test_arguments_are_completed(served: Served, mode: str) -> None:
    about = types.PromptReference(name="test_prompt_with_arguments")
    async with connected(served, mode) as client:
        found = await client.complete(about, {"name": "arg1", "value": "par"})
        none = await client.complete(types.PromptReference(name="x"), {"name": "a", "value": ""})
    assert found.completion.values == ["paris", "park", "party"]
    assert none.completion.values == []


@both
async def test_resources_templates_and_prompts_are_listed_and_read(
    served: Served, mode: str
) -> None:
    async with connected(served, mode) as client:
        listed = await client.list_resources()
        templates = await client.list_resource_templates()
        read: Any = await client.read_resource("test://template/9/data")
        prompt: Any = await client.get_prompt(
            "test_prompt_with_arguments", {"arg1": "a", "arg2": "b"}
        )
        with pytest.raises(MCPError) as absent:
            await client.get_prompt("test_prompt_with_arguments", {"arg1": "a"})
    assert {str(it.uri) for it in listed.resources} >= {WATCHED}
    assert templates.resource_templates[0].uri_template == "test://template/{id}/data"
    assert '"id":"9"' in read.contents[0].text
    assert "arg1='a', arg2='b'" in prompt.messages[0].content.text
    assert absent.value.data["field"] == "arg2"


async def test_reading_what_is_not_there_has_the_number_of_each_era(served: Served) -> None:
    uri = {"uri": "test://nowhere"}
    older = (await served.talk.ask(BIT, "resources/read", uri))["error"]
    newer = (await served.talk.modern(BIT, "resources/read", uri)).json()["error"]
    assert (older["code"], newer["code"]) == (-32002, -32602)
    assert older["data"] == newer["data"]
    assert older["data"]["code"] == "NOT_FOUND"


async def test_a_read_resource_leaves_an_audit_row(served: Served) -> None:
    await served.talk.ask(BIT, "resources/read", {"uri": WATCHED})
    await served.app.audit_log.drain()
    rows = await served.app.call(served.owner, "list_audit", {"limit": 5}, CONTEXT)
    assert "conformance.resources/read" in str(rows.structured)
    assert WATCHED in str(rows.structured)


@pytest.mark.parametrize("uri", ["test://nothing", "unknown://x", "no uri at all"])
async def test_nobody_subscribes_to_what_is_not_there(served: Served, uri: str) -> None:
    await served.talk.begin(BIT)
    error = (await served.talk.ask(BIT, "resources/subscribe", {"uri": uri}))["error"]
    assert (error["code"], error["data"]["code"]) == (-32002, "NOT_FOUND")


async def test_nobody_subscribes_to_what_they_may_not_read(served: Served) -> None:
    searcher = served.other(await served.token("bo", ["pecia.search"]))
    await searcher.begin(BIT)
    error = (await searcher.ask(BIT, "resources/subscribe", {"uri": WATCHED}))["error"]
    assert error["data"]["code"] == "FORBIDDEN"


async def test_a_stream_is_opened_for_nothing_that_may_not_be_read(served: Served) -> None:
    searcher = served.other(await served.token("bo", ["pecia.search"]))
    wanted = {"notifications": {"resourceSubscriptions": [WATCHED]}}
    refused = await searcher.modern(BIT, "subscriptions/listen", wanted)
    assert refused.json()["error"]["data"]["code"] == "FORBIDDEN"
    absent = {"notifications": {"resourceSubscriptions": ["test://nothing"]}}
    refused = await served.talk.modern(BIT, "subscriptions/listen", absent)
    assert refused.json()["error"]["data"]["code"] == "NOT_FOUND"


@pytest.mark.requirement("hub.method.subscribe", "hub.method.unsubscribe")
async def test_a_session_hears_of_what_it_subscribed_to_and_no_longer(served: Served) -> None:
    person = Person()
    tenant = served.owner.tenant_id
    async with connected(served, LEGACY, person) as client:
        await client.subscribe_resource(WATCHED)  # pyright: ignore[reportDeprecated] - of the older era
        await _until_heard(served, person, ResourceUpdated(uri=WATCHED))
        await client.unsubscribe_resource(WATCHED)  # pyright: ignore[reportDeprecated] - of the older era
        person.seen.clear()
        await served.changes.publish(tenant, ResourceUpdated(uri=WATCHED))
        await _until_heard(served, person, ToolsListChanged())
    assert "ResourceUpdatedNotification" not in person.seen


async def test_a_stream_carries_the_changes_it_was_opened_for(served: Served) -> None:
    tenant = served.owner.tenant_id
    found: list[str] = []
    async with (
        connected(served, MODERN) as client,
        client.listen(resource_subscriptions=[WATCHED], tools_list_changed=True) as changes,
    ):
        for event in (PromptsListChanged(), ResourceUpdated(uri=WATCHED), ToolsListChanged()):
            await served.changes.publish(tenant, event)
        with anyio.fail_after(10):
            async for event in changes:
                found.append(type(event).__name__)
                if len(found) == 2:
                    break
    assert found == ["ResourceUpdated", "ToolsListChanged"]


async def test_changes_of_one_tenant_reach_no_other(served: Served) -> None:
    found: list[str] = []
    async with (
        connected(served, MODERN) as client,
        client.listen(tools_list_changed=True, prompts_list_changed=True) as changes,
    ):
        await served.changes.publish(uuid4(), PromptsListChanged())
        await served.changes.publish(served.owner.tenant_id, ToolsListChanged())
        with anyio.fail_after(10):
            async for event in changes:
                found.append(type(event).__name__)
                break
    assert found == ["ToolsListChanged"]


@both
async def test_a_call_that_nobody_waits_for_is_stopped(served: Served, mode: str) -> None:
    async with connected(served, mode) as client:
        with anyio.move_on_after(0.5):
            await client.call_tool("slow_compute", {"seconds": 50})
        with anyio.fail_after(10):
            # Asking takes a turn of the database each time: nothing spins here.
            while "cancelled" not in await _statuses(served):
                pass


@pytest.mark.requirement(
    "memory.transport.sse_endpoint",
    "memory.transport.sse_block",
    "memory.client.cursor_url_is_sse",
)
async def test_a_client_of_the_older_transport_lists_calls_and_is_asked(served: Served) -> None:
    where = sse_client(f"{served.url}/sse/conformance")
    async with Person().at(where, LEGACY) as client:
        assert len((await client.list_tools()).tools) > 20
        found = await client.call_tool("test_input_required_result_elicitation", {})
    assert said(found) == "Hello, Ana!"


@pytest.mark.requirement("memory.transport.http_block", "memory.transport.get_accept")
async def test_a_session_has_a_stream_of_its_own(served: Served) -> None:
    await served.talk.begin("/mcp")
    async with served.talk.stream("/mcp") as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        await served.changes.publish(served.owner.tenant_id, ToolsListChanged())
        with anyio.fail_after(10):
            lines = response.aiter_lines()
            heard = [line async for line in _first(lines, "data:")]
    assert "notifications/tools/list_changed" in heard[0]


async def test_a_message_of_the_older_transport_needs_its_own_stream(served: Served) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    stranger = await served.talk.post("/messages?session_id=" + "0" * 32, message)
    assert stranger.status_code == 404
    assert (await served.talk.http.get("/messages")).status_code == 405


async def _first(lines: AsyncIterator[str], start: str) -> AsyncIterator[str]:
    """The first line that begins so."""
    async for line in lines:
        if line.startswith(start):
            yield line
            return


async def _until_heard(served: Served, person: Person, event: Any) -> None:
    """Publish until it arrives: the stream of a session opens a moment after the handshake."""
    person.news = anyio.Event()
    with anyio.fail_after(10):
        while not person.news.is_set():
            await served.changes.publish(served.owner.tenant_id, event)
            with anyio.move_on_after(0.2):
                await person.news.wait()


async def _statuses(served: Served) -> list[str]:
    await served.app.audit_log.drain()
    rows: Any = (
        await served.app.call(served.owner, "list_audit", {"limit": 20}, CONTEXT)
    ).structured
    return [it["status"] for it in rows["rows"] if it["tool"] == "conformance.slow_compute"]
