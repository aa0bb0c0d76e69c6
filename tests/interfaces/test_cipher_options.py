"""The options of a request, for every kind alike: a deadline, a way to stop, news of progress."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, LiteralString

import anyio
import httpx
import pytest

from pecia.interfaces.http.server import serve_http
from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.feature import Feature
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import (
    Completion,
    EmbeddedResource,
    Input,
    Output,
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourcePage,
    Tool,
)
from tests.conftest import House
from tests.interfaces.tenant_server import with_features
from tests.mcp.raw_mcp import RawMcp

pytestmark = pytest.mark.anyio

PATH = "/mcp/slow"
KINDS: dict[str, dict[str, Any]] = {
    "tools/call": {"name": "wait", "arguments": {}},
    "prompts/get": {"name": "wait", "arguments": {"of": "x"}},
    "resources/read": {"uri": "slow://x"},
    "resources/list": {},
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "wait"},
        "argument": {"name": "of", "value": "x"},
    },
}
LATEST: LiteralString = (
    "SELECT status, code FROM kernel.audit WHERE tool LIKE '%%slow%%' OR tool LIKE '%%/%%'"
    " ORDER BY at DESC LIMIT 1"
)
every_kind = pytest.mark.parametrize("method", KINDS)


class Nothing(Input):
    pass


class Anything(Output):
    pass


@dataclass(slots=True)
class Slow:
    """A feature whose tools report progress and run until they are stopped."""

    begun: anyio.Event = field(default_factory=anyio.Event)
    ended: anyio.Event = field(default_factory=anyio.Event)

    async def wait(self, call: Call) -> None:
        await call.progress(1, 2, "waiting")
        self.begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.ended.set()

    async def tool(self, call: Call, ask: Nothing) -> Anything:
        """Wait."""
        await self.wait(call)
        return Anything()

    async def listing(self, call: Call, cursor: str | None) -> ResourcePage:
        await self.wait(call)
        return ResourcePage(())

    async def read(self, call: Call, uri: str) -> tuple[EmbeddedResource, ...]:
        await self.wait(call)
        return ()

    async def render(self, call: Call, given: Mapping[str, str]) -> Sequence[PromptMessage]:
        await self.wait(call)
        return ()

    async def complete(
        self, call: Call, name: str, value: str, known: Mapping[str, str]
    ) -> Completion:
        await self.wait(call)
        return Completion(())

    def feature(self) -> Feature:
        of = (PromptArgument("of", "What."),)
        read = Scope.READ
        prompt = Prompt("slow", "wait", read, "Wait.", of, self.render, self.complete)
        return Feature(
            "slow",
            tools=(Tool("slow", "wait", read, Nothing, Anything, self.tool),),
            resources=(Resource("slow", "slow", read, self.listing, self.read),),
            prompts=(prompt,),
        )


@dataclass(frozen=True, slots=True)
class CipherFixture:
    slow: Slow
    talk: RawMcp
    house: House

    async def status(self) -> tuple[str, str | None]:
        """How the latest slow call ended, by the audit: its row comes a moment after its end."""
        with anyio.fail_after(20):
            while True:
                await self.house.app.audit_log.drain()
                async with self.house.app.store.system() as tx:
                    rows = await tx.fetch_all(LATEST)
                if rows:
                    return rows[0]["status"], rows[0]["code"]
                await anyio.sleep(0.01)


@pytest.fixture
async def ground(house: House) -> AsyncGenerator[CipherFixture]:
    slow = Slow()
    app = with_features(house.app, [slow.feature()])
    async with (
        serve_http(app, port=0, mounts=[mount_mcp]) as where,
        httpx.AsyncClient(base_url=where.url, timeout=60, trust_env=False) as http,
    ):
        yield CipherFixture(slow, RawMcp(http), house)


def code_of(said: dict[str, Any]) -> str:
    """The code of a failure, be it of the protocol or of a tool."""
    if "error" in said:
        return said["error"]["data"]["code"]
    return said["result"]["structuredContent"]["error"]["code"]


@pytest.mark.requirement("hub.options.every_method")
@every_kind
async def test_a_deadline_ends_every_kind_of_request_the_same_way(
    ground: CipherFixture, method: str
) -> None:
    await ground.talk.begin(PATH)
    with anyio.fail_after(50):
        said = await ground.talk.ask(PATH, method, KINDS[method], x_pecia_timeout="0.2")
    assert code_of(said) == "TIMEOUT"
    # On a slow machine it may be over before it began.
    assert ground.slow.ended.is_set() == ground.slow.begun.is_set()
    assert await ground.status() == ("error", "TIMEOUT")


@pytest.mark.requirement("hub.options.every_method")
@every_kind
async def test_a_deadline_that_is_none_is_refused_whatever_it_is_for(
    ground: CipherFixture, method: str
) -> None:
    said = await ground.talk.ask(PATH, method, KINDS[method], x_pecia_timeout="soon")
    assert code_of(said) == "INVALID_FORMAT"
    assert not ground.slow.begun.is_set()


@pytest.mark.requirement("hub.options.every_method")
@every_kind
async def test_every_kind_of_request_can_be_cancelled(ground: CipherFixture, method: str) -> None:
    await ground.talk.begin(PATH)
    other = RawMcp(ground.talk.http, version=ground.talk.version, session=ground.talk.session)
    with anyio.fail_after(50):
        async with anyio.create_task_group() as group:

            async def ask() -> None:
                with suppress(httpx.HTTPError, ValueError):
                    await ground.talk.ask(PATH, method, KINDS[method])

            group.start_soon(ask)
            await ground.slow.begun.wait()
            await other.notify(PATH, "notifications/cancelled", {"requestId": ground.talk.ids})
            await ground.slow.ended.wait()
            group.cancel_scope.cancel()
    assert (await ground.status())[0] == "cancelled"


@pytest.mark.requirement("hub.options.every_method")
@every_kind
async def test_in_the_newer_era_hanging_up_stops_every_kind_of_request(
    ground: CipherFixture, method: str
) -> None:
    with anyio.fail_after(50):
        async with anyio.create_task_group() as group:

            async def ask() -> None:
                await ground.talk.modern(PATH, method, KINDS[method])

            group.start_soon(ask)
            await ground.slow.begun.wait()
            group.cancel_scope.cancel()
        await ground.slow.ended.wait()
    assert (await ground.status())[0] == "cancelled"


@pytest.mark.requirement("hub.options.every_method")
@every_kind
async def test_whoever_wants_to_hear_of_progress_does_for_every_kind_of_request(
    ground: CipherFixture, method: str
) -> None:
    await ground.talk.begin(PATH)
    params = {**KINDS[method], "_meta": {"progressToken": "mine"}}
    with anyio.fail_after(50):
        await ground.talk.ask(PATH, method, params, x_pecia_timeout="2")
    told = [it["params"] for it in ground.talk.heard if it["method"] == "notifications/progress"]
    assert [(it["progressToken"], it["progress"]) for it in told] == [("mine", 1)]
