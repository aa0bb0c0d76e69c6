"""Cascades of a server: on every interface what the caller may read, updates, and commands."""

import json
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import httpx2
import pytest
from anyio import to_thread
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from pecia import __version__
from pecia.features.cascade.core.render import render_markdown
from pecia.interfaces.cli.main import run
from pecia.interfaces.cli.server.lock import ServerLock, claim_home, home_lock_path, write_lock
from pecia.interfaces.mcp.methods.subscriptions import ResourceUpdated, ToolsListChanged
from pecia.kernel.errors import Json, PeciaError
from tests.conftest import CONTEXT
from tests.features.cascade_fixture import CascadeClient, asking, caller, document, write_layers
from tests.laws.cascade_worlds import QUESTIONS, World, made_world, settled
from tests.mcp.conftest import INSTANCE, Serve, Served
from tests.mcp.raw_mcp import RawMcp
from tests.mcp.test_cascade import LAYERS, TOOLS

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]


async def test_a_server_serves_its_cascades_at_their_endpoint(serve: Serve, tmp_path: Path) -> None:
    manifest = write_layers(tmp_path / "c", LAYERS, team={"readers": ["bo"]})
    async with serve(cascade__manifests=f"kb={manifest}") as served:
        listed = await served.talk.ask("/mcp/cascade", "tools/list")
        assert [it["name"] for it in listed["result"]["tools"]] == TOOLS
        bo = served.other(await served.token("bo"))
        asked = {"name": "read_file", "arguments": {"concept_id": "a"}}
        mine = await served.talk.ask("/mcp/cascade", "tools/call", asked)
        his = await bo.ask("/mcp/cascade", "tools/call", asked)
        assert mine["result"]["structuredContent"]["frontmatter"]["title"] == "Low"
        assert his["result"]["structuredContent"]["frontmatter"]["title"] == "High"
        read = await bo.ask("/mcp/cascade", "resources/read", {"uri": "okf://kb/a"})
        assert "from the team" in read["result"]["contents"][0]["text"]
        assert "disagrees" in read["result"]["contents"][0]["text"]
        listed = await bo.ask("/mcp/cascade", "resources/list")
        assert [it["uri"] for it in listed["result"]["resources"]] == ["okf://kb/a"]


async def test_commands_reach_the_cascades_of_the_running_server(
    shelves: tuple[Served, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    served, folder = shelves
    monkeypatch.setenv("PECIA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    facts = (__version__, str(tmp_path / "home"), INSTANCE, "2026-01-01T00:00:00Z")
    write_lock(home_lock_path(tmp_path / "home"), ServerLock(served.url, served.port, 1, *facts))

    async def said(*words: str) -> Any:
        done = await to_thread.run_sync(run, ["cascade", *words, "--json"])
        found = json.loads(capsys.readouterr().out)
        return found if done == 0 else found["error"]["code"]

    kb = ("--cascade", "kb")
    claim = claim_home(tmp_path / "home")
    request.addfinalizer(lambda: claim.__exit__(None, None, None))
    assert claim.__enter__()
    assert [it["id"] for it in (await said("list", *kb))["concepts"]] == ["a"]
    assert (await said("show", "a"))["frontmatter"]["title"] == "Low"
    assert (await said("show", "a", "--layer", "company", *kb))["raw"] is True
    assert [it["id"] for it in (await said("search", "company", *kb))["results"]] == ["a"]
    assert (await said("links", "a", *kb)) == {"links": []}
    assert (await said("list", "--cascade", "other")) == "NOT_FOUND"
    assert (await said("show", "zz", *kb)) == "NOT_FOUND"
    # The upper layer is bo's: with his token there is something to settle.
    assert (await said("conflicts", *kb)) == {"conflicts": []}
    monkeypatch.setenv("PECIA_TOKEN", await served.token("bo"))
    against = [it["against"] for it in (await said("conflicts", *kb))["conflicts"]]
    assert against == [["company"], ["company"]]
    changes = (await said("diff", "--layer", "team", "--level", "-1", *kb))["changes"]
    assert [it["part"] for it in changes] == ["frontmatter title", "section rule"]
    (folder / "team" / "bad.md").write_text("---\n[\n---\n", encoding="utf-8")
    assert (await said("stale", *kb)) == {"stale": []}
    assert (await said("diff", "--layer", "nope", *kb)) == "NOT_FOUND"


async def test_a_report_that_is_none_and_a_level_that_is_none_are_refused(
    shelves: tuple[Served, Path],
) -> None:
    served, _ = shelves
    for path, code in (
        ("/cascades/secrets", "INVALID_ENUM"),
        ("/cascades/diff", "MISSING_FIELD"),
        ("/cascades/diff?layer=company&level=high", "INVALID_INPUT"),
        ("/cascades/stale?cascade=other", "NOT_FOUND"),
    ):
        answer = await served.talk.http.get(path)
        assert answer.json()["error"]["code"] == code


@asynccontextmanager
async def listening(url: str, uri: str, token: str | None) -> AsyncGenerator[AsyncIterator[object]]:
    """A stream of the newer era that waits for a concept to change."""
    headers = {"Authorization": f"Bearer {token}"} if token else None
    async with (
        httpx2.AsyncClient(headers=headers, timeout=20) as http,
        Client(streamable_http_client(url, http_client=http), mode="2026-07-28") as it,
        it.listen(resource_subscriptions=[uri], tools_list_changed=True) as changes,
    ):
        yield changes


async def told(changes: AsyncIterator[object]) -> str:
    with anyio.fail_after(20):
        event = await anext(changes)
    return str(event.uri) if isinstance(event, ResourceUpdated) else "tools"


@pytest.fixture
async def shelves(serve: Serve, tmp_path: Path) -> AsyncGenerator[tuple[Served, Path]]:
    """A server with a cascade whose upper layer is bo's alone."""
    write_layers(tmp_path / "c", LAYERS, team={"readers": ["bo"]})
    async with serve(cascade__manifests=f"kb={tmp_path / 'c' / 'manifest.json'}") as served:
        yield served, tmp_path / "c"


@pytest.mark.parametrize("path", ["/mcp/cascade", "/mcp"])
async def test_who_listens_over_http_hears_of_what_they_may_read_and_of_nothing_else(
    shelves: tuple[Served, Path], path: str
) -> None:
    served, folder = shelves
    url, uri = f"{served.url}{path}", "okf://kb/a"
    bo = await served.token("bo")
    async with listening(url, uri, None) as mine, listening(url, uri, bo) as his:
        page = folder / "team" / "a.md"
        page.write_text(document("title: High", "## Rule\n\nedited"), encoding="utf-8")
        assert await told(his) == uri
        # What comes next on hers is not his layer's edit, which was told before this.
        await served.changes.publish(served.owner.tenant_id, ToolsListChanged())
        assert await told(mine) == await told(his) == "tools"
        page = folder / "company" / "a.md"
        page.write_text(document("type: note", "## Rule\n\nfor all"), encoding="utf-8")
        assert await told(mine) == await told(his) == uri
        page.unlink()
        assert await told(mine) == await told(his) == uri


async def test_a_session_of_the_older_era_hears_of_an_edit_over_http(
    shelves: tuple[Served, Path],
) -> None:
    served, folder = shelves
    changed = anyio.Event()
    heard_of: list[str] = []

    async def hear(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            heard_of.append(str(message.params.uri))
            changed.set()

    over = streamable_http_client(f"{served.url}/mcp/cascade")
    with anyio.fail_after(40):
        async with Client(over, message_handler=hear, mode="legacy") as it:
            await it.session.subscribe_resource("okf://kb/a")  # pyright: ignore[reportDeprecated] - of the older era, as most clients are.
            page = folder / "company" / "a.md"
            page.write_text(document("type: note", "## Rule\n\nnew"), encoding="utf-8")
            await changed.wait()
    assert heard_of[0] == "okf://kb/a"


async def test_nobody_subscribes_to_what_they_may_not_read(shelves: tuple[Served, Path]) -> None:
    served, folder = shelves
    (folder / "team" / "b.md").write_text(document("type: note", "his"), encoding="utf-8")
    bo = served.other(await served.token("bo"))
    for talk, is_refused in ((served.talk, True), (bo, False)):
        await talk.begin("/mcp/cascade")
        said = await talk.ask("/mcp/cascade", "resources/subscribe", {"uri": "okf://kb/b"})
        assert ("error" in said) is is_refused
    asked = {"notifications": {"resourceSubscriptions": ["okf://kb/b"]}}
    said = await served.other().modern("/mcp/cascade", "subscriptions/listen", asked)
    assert said.json()["error"]["data"]["code"] == "NOT_FOUND"


async def test_a_revoked_token_hears_no_more(shelves: tuple[Served, Path]) -> None:
    served, folder = shelves
    uri, bo = "okf://kb/a", await served.token("bo")
    async with listening(f"{served.url}/mcp/cascade", uri, bo) as his:
        listed = await served.app.call(served.owner, "list_tokens", {"user": "bo"}, CONTEXT)
        assert isinstance(listed.structured, dict)
        (it,) = cast(list[dict[str, Any]], listed.structured["tokens"])
        await served.app.call(served.owner, "revoke_token", {"id": it["id"]}, CONTEXT)
        page = folder / "company" / "a.md"
        page.write_text(document("type: note", "## Rule\n\nnew"), encoding="utf-8")
        async with listening(f"{served.url}/mcp/cascade", uri, None) as mine:
            page.write_text(document("type: note", "## Rule\n\nnewer"), encoding="utf-8")
            assert await told(mine) == uri
        await served.changes.publish(served.owner.tenant_id, ToolsListChanged())
        assert await told(his) == "tools"


async def at_the_doors(talk: RawMcp, tool: str, arguments: dict[str, Json]) -> list[str]:
    """What a tool answers at its endpoint, at the desk, and over the API."""
    called = {"name": tool, "arguments": {**arguments, "cascade": "kb"}}
    own = (await talk.ask("/mcp/cascade", "tools/call", called))["result"]
    desk = {**called, "name": f"cascade__{tool}"}
    far = (await talk.ask("/mcp", "tools/call", desk))["result"]
    headers = {"authorization": f"Bearer {talk.token}"} if talk.token else {}
    over_api = await talk.http.post(
        f"/api/v1/cascade/{tool}", json=called["arguments"], headers=headers
    )
    found = [own["structuredContent"], far["structuredContent"], over_api.json()]
    return [settled(it) for it in found]


async def resources(talk: RawMcp) -> dict[str, str]:
    """Every concept that is listed, and its text."""
    listed = (await talk.ask("/mcp/cascade", "resources/list"))["result"]["resources"]
    found: dict[str, str] = {}
    for it in listed:
        read = await talk.ask("/mcp/cascade", "resources/read", {"uri": it["uri"]})
        found[it["name"]] = read["result"]["contents"][0]["text"]
    return found


async def test_at_every_interface_a_caller_sees_the_cascade_of_what_they_may_read(
    serve: Serve, tmp_path: Path
) -> None:
    """The law of rights, on worlds made at random: the manifest is another one each time."""
    manifest = tmp_path / "served" / "manifest.json"
    manifest.parent.mkdir()
    manifest.write_text("{}", encoding="utf-8")
    async with serve(cascade__manifests=f"kb={manifest}") as served:
        bo = await served.token("bo")
        for seed in (3, 5, 6):
            world = renamed(made_world(random.Random(seed)), "ana", served.owner.user)
            folder = tmp_path / str(seed)
            written = world.write(folder / "whole").read_text(encoding="utf-8")
            moved = written.replace('"path": "', f'"path": "{folder / "whole"}/')
            manifest.write_text(moved, encoding="utf-8")
            for user, token in ((served.owner.user, None), ("bo", bo)):
                alone = world.write_for(user, folder / user)
                await compare(served.other(token), user, alone, folder / f"spool-{user}")


async def compare(talk: RawMcp, user: str, alone: Path | None, spool: Path) -> None:
    """Compare what each interface says with the cascade of that user's layers."""
    if alone is None:
        said = await at_the_doors(talk, "list_concepts", {})
        assert all("NOT_FOUND" in it for it in said)
        assert await resources(talk) == {}
        return
    expected = asking(alone, spool)
    for tool, arguments in QUESTIONS:
        wanted = settled(await answered(expected, user, tool, arguments))
        assert await at_the_doors(talk, tool, arguments) == [wanted] * 3, (user, tool, arguments)
    view = (await expected.cascades.find_visible(caller(user), None)).view
    assert await resources(talk) == {it: render_markdown(view.effective(it)) for it in view.ids}


def renamed(world: World, name: str, user: str) -> World:
    """The same world with a reader by another name."""
    readers = {
        layer: None if it is None else [user if one == name else one for one in it]
        for layer, it in world.readers.items()
    }
    return World(world.layers, readers)


async def answered(it: CascadeClient, user: str, tool: str, arguments: dict[str, Json]) -> Json:
    try:
        return await it.ask(tool, caller(user), **arguments)
    except PeciaError as error:
        return {"error": error.payload()}
