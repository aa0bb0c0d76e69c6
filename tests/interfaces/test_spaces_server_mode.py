"""Spaces of a team's server: added by a tenant's administrator below the tenant's own roots."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import pytest

from pecia.adapters.git.repository import HistoryRepository
from pecia.app.composition.lake import build_source_connectors
from pecia.app.composition.wiki import build_space_roots
from pecia.app.connectors import CONNECTORS
from pecia.app.operator.allowlist import AllowlistChange, disallow
from pecia.app.operator.session import OperatorSession
from pecia.app.operator.tenants import add_tenant
from pecia.features.lake.credentials import SourceCredentials
from pecia.features.lake.model import parse_config
from pecia.features.wiki.config.files import ConfigFiles
from pecia.features.wiki.live.flush import LiveFlusher
from pecia.features.wiki.space_recovery import SpaceRecovery
from pecia.features.wiki.storage.roots import SpaceRoots
from pecia.features.wiki.store import SpaceLocation
from pecia.features.wiki.sync import SpaceSync
from pecia.interfaces.mcp.methods.subscriptions import Subscriptions
from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.errors import Conflict, Unavailable
from pecia.kernel.jobs.worker import run_until_idle
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.tenant_server import Pecia, allow, bearing, open_pecia
from tests.mcp.raw_mcp import RawMcp

pytestmark = pytest.mark.anyio


@dataclass(frozen=True, slots=True)
class Server:
    pecia: Pecia
    north: Path
    south: Path
    elsewhere: Path

    async def http(self, who: str, tool: str, tenant: str = "north", **arguments: Any) -> Any:
        """What a tool answers, as JSON: an error is under `error`."""
        headers = bearing(self.pecia.tokens[tenant, who])
        return (await self.pecia.call(tool.replace(".", "/"), arguments, headers)).json()

    async def mcp(self, who: str, path: str, tool: str, **arguments: Any) -> dict[str, Any]:
        talk = RawMcp(self.pecia.http, self.pecia.tokens["north", who])
        frame = await talk.ask(path, "tools/call", {"name": tool, "arguments": arguments})
        return frame["result"]["structuredContent"]


@pytest.fixture
async def server(database: DatabaseLogins, tmp_path: Path) -> AsyncGenerator[Server]:
    places = [tmp_path / "disk" / it for it in ("north", "south", "elsewhere")]
    for it in places:
        it.mkdir(parents=True)
    async with open_pecia(
        database,
        tmp_path / "home",
        mounts=[lambda app, keeper: mount_mcp(app, keeper, Subscriptions())],
    ) as pecia:
        for tenant, root in zip(("north", "south"), places, strict=False):
            await allow(pecia.app, tenant, space_roots=[str(root)])
        yield Server(pecia, *places)


async def test_an_administrator_has_a_wiki_over_http_and_mcp(server: Server) -> None:
    (server.north / "notes").mkdir()
    (server.north / "notes/a.md").write_text("# A\n\nalpha, see ![p](p.png)\n")
    (server.north / "notes/p.png").write_bytes(b"\x89PNG")
    made = await server.http("ana", "admin.add_space", folder=str(server.north / "notes"))
    assert (made["name"], made["trim_mode"], made["added"]) == ("notes", "source_only", True)
    listed = await server.mcp("ana", "/mcp/admin", "list_spaces")
    assert [it["name"] for it in listed["spaces"]] == ["notes"]
    found = await server.mcp("ana", "/mcp/wiki", "list_documents", space="notes")
    assert [it.get("path", it["docName"]) for it in found["documents"]]
    wrote = await server.mcp(
        "ana", "/mcp/wiki", "write_document", docName="b", markdown="beta\n", position="replace"
    )
    assert wrote["created"]
    assert (server.north / "notes/b.md").read_text() == "beta\n"


async def test_a_member_sees_a_space_by_grants_and_writes_by_the_role_of_a_writer(
    server: Server,
) -> None:
    (server.north / "d").mkdir()
    (server.north / "d/a.md").write_text("alpha ![p](p.png)\n")
    (server.north / "d/p.png").write_bytes(b"\x89PNG")
    await server.http("ana", "admin.add_space", folder="d")
    assert (await server.http("bo", "admin.list_spaces"))["spaces"] == []
    hidden = await server.http("bo", "wiki.read_document", path="a.md", space="d")
    assert hidden["error"]["code"] == "NOT_FOUND"
    await server.http("ana", "admin.add_group", name="staff")
    await server.http("ana", "admin.add_member", group="staff", user="bo")
    grant = {"source_id": "wiki:d", "to": "group:staff"}
    await server.http("ana", "admin.grant", **grant, role="reader")
    seen = await server.http("bo", "wiki.list_documents", space="d")
    assert {it["kind"] for it in seen["documents"]} == {"document", "asset"}
    write = {"docName": "a", "markdown": "gamma\n", "position": "append", "space": "d"}
    refused = await server.http("bo", "wiki.write_document", **write)
    assert refused["error"]["code"] == "FORBIDDEN"
    assert (server.north / "d/a.md").read_text() == "alpha ![p](p.png)\n"
    await server.http("ana", "admin.grant", **grant, role="writer")
    assert "error" not in await server.http("bo", "wiki.write_document", **write)
    assert (server.north / "d/a.md").read_text().endswith("gamma\n")
    await server.http("ana", "admin.grant", **grant, role=None)
    gone = await server.http("bo", "wiki.list_documents", space="d")
    assert gone["error"]["code"] == "NOT_FOUND"


async def test_a_space_is_renamed_switched_off_and_removed_and_its_files_stay(
    server: Server,
) -> None:
    await server.http("ana", "admin.add_space", folder="plans")
    await server.http("ana", "admin.grant", source_id="wiki:plans", to="user:bo", role="writer")
    write = {"docName": "a", "markdown": "x\n", "position": "replace"}
    await server.http("ana", "wiki.write_document", **write)
    named = await server.http("ana", "admin.rename_space", name="plans", new_name="roadmap")
    assert (named["name"], named["source_id"]) == ("roadmap", "wiki:plans")
    read = await server.http("bo", "wiki.read_document", path="a.md", space="roadmap")
    assert read["content"] == "x\n"
    other = await server.http("ana", "admin.add_space", folder="roadmap")
    assert other["name"] == "roadmap-2"
    taken = await server.http("ana", "admin.rename_space", name="roadmap-2", new_name="roadmap")
    assert taken["error"]["code"] == "CONFLICT"
    off = await server.http("ana", "admin.set_space", name="roadmap", enabled=False)
    assert off["enabled"] is False
    shut = await server.http("bo", "wiki.read_document", path="a.md", space="roadmap")
    assert (shut["error"]["code"], shut["error"]["retryable"]) == ("CONFLICT", False)
    await server.http("ana", "admin.set_space", name="roadmap", enabled=True)
    await server.http("ana", "admin.remove_space", name="roadmap")
    assert (await server.http("bo", "admin.list_spaces"))["spaces"] == []
    assert (server.north / "plans/a.md").read_text() == "x\n"


@pytest.mark.parametrize("tool", ["add_space", "rename_space", "set_space", "remove_space"])
async def test_a_member_changes_no_space(server: Server, tool: str) -> None:
    await server.http("ana", "admin.add_space", folder="d")
    await server.http("ana", "admin.grant", source_id="wiki:d", to="user:bo", role="writer")
    asked: dict[str, dict[str, Any]] = {
        "add_space": {"folder": "e"},
        "rename_space": {"name": "d", "new_name": "e"},
        "set_space": {"name": "d", "enabled": False},
        "remove_space": {"name": "d"},
    }
    refused = await server.http("bo", f"admin.{tool}", **asked[tool])
    assert refused["error"]["code"] in ("FORBIDDEN", "NOT_FOUND")
    assert not (server.north / "e").exists()
    [space] = (await server.http("ana", "admin.list_spaces"))["spaces"]
    assert (space["name"], space["enabled"]) == ("d", True)


async def test_no_folder_outside_the_own_roots_becomes_a_space(server: Server) -> None:
    (server.north / "link").symlink_to(server.elsewhere)
    (server.north / "theirs").symlink_to(server.south)
    outside = (
        *(server.elsewhere, server.south, server.south / "x", server.north.parent, Path("/etc")),
        *(server.north / "link", server.north / "link/x", server.north / "theirs"),
    )
    for folder in outside:
        refused = await server.http("ana", "admin.add_space", folder=str(folder))
        assert refused["error"]["code"] == "FORBIDDEN", folder
        assert "pecia tenant allow" in refused["error"]["hint"]
        assert str(server.south) not in str(refused["error"].get("allowed"))
    for folder in ("../south", f"{server.north}/../south"):
        refused = await server.http("ana", "admin.add_space", folder=folder)
        assert refused["error"]["code"] == "INVALID_FORMAT", folder
    for folder in ("https://example.org/wiki.git", "git@example.org:wiki.git"):
        refused = await server.http("ana", "admin.add_space", folder=folder)
        assert "git remote" in refused["error"]["message"]
    assert (await server.http("ana", "admin.list_spaces"))["spaces"] == []
    assert [*server.elsewhere.iterdir()] == [*server.south.iterdir()] == []


async def test_a_folder_that_became_a_link_is_not_opened(server: Server) -> None:
    await server.http("ana", "admin.add_space", folder="d")
    (server.elsewhere / "secret.md").write_text("of nobody's wiki\n")
    (server.north / "d").rmdir()
    (server.north / "d").symlink_to(server.elsewhere)
    refused = await server.http("ana", "wiki.list_documents", space="d")
    assert refused["error"]["code"] == "UNAVAILABLE"
    wrote = {"docName": "x", "markdown": "x\n", "position": "replace", "space": "d"}
    assert "error" in await server.http("ana", "wiki.write_document", **wrote)
    assert [it.name for it in server.elsewhere.iterdir()] == ["secret.md"]


async def test_content_dir_leads_to_no_folder_of_another_tenant(server: Server) -> None:
    await server.http("ana", "admin.add_space", folder="d")
    (server.south / "secret.md").write_text("heron of the south\n")
    (server.north / "d/docs").symlink_to(server.south)
    (server.north / "d/.pecia").mkdir()
    write = {"docName": "x", "markdown": "x\n", "position": "replace", "space": "d"}
    for folder in ("docs", "./docs", "docs/.", "../../south", str(server.south)):
        config = f"content: {{dir: '{folder}'}}\n"
        (server.north / "d/.pecia/config.yml").write_text(config)
        for tool, asked in (
            ("wiki.list_documents", {"space": "d"}),
            ("wiki.search", {"query": "heron", "space": "d"}),
            ("wiki.read_document", {"path": "docs/secret.md", "space": "d"}),
            ("wiki.write_document", write),
        ):
            refused = await server.http("ana", tool, **asked)
            assert "error" in refused, (folder, tool, refused)
            assert "heron of" not in str(refused)
        assert [it.name for it in server.south.iterdir()] == ["secret.md"]


def after(owner: type, name: str, monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Act once, right after the next call of a method that goes well."""
    real = getattr(owner, name)

    def act_once() -> None:
        monkeypatch.setattr(owner, name, real)
        act()

    async def traced(*given: Any, **named: Any) -> Any:
        result = await real(*given, **named)
        act_once()
        return result

    def traced_in_thread(*given: Any, **named: Any) -> Any:
        result = real(*given, **named)
        act_once()
        return result

    monkeypatch.setattr(owner, name, traced if iscoroutinefunction(real) else traced_in_thread)


MOMENTS = {
    "checked": (SpaceRoots, "require"),
    "configured": (ConfigFiles, "read_texts"),
    "looked": (SpaceSync, "_sync"),
}
CALLS: dict[str, dict[str, Any]] = {
    "list_documents": {},
    "search": {"query": "heron"},
    "read_document": {"path": "a.md"},
    "exec": {"command": "cat a.md"},
    "write_document": {"docName": "a", "markdown": "new\n", "position": "replace"},
    "edit_document": {"docName": "a", "find": "bird", "replace": "new"},
    "rename_document": {"docName": "a", "newDocName": "b"},
    "delete_document": {"docName": "a"},
}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("at", ["d", "d/inner"])
async def test_a_folder_swapped_for_a_link_in_the_middle_of_a_call_leads_nowhere(
    server: Server, monkeypatch: pytest.MonkeyPatch, moment: str, at: str
) -> None:
    space = server.north / "d/inner"
    space.mkdir(parents=True)
    (space / "a.md").write_text("a bird of the north\n")
    theirs = server.south if at == "d/inner" else server.south / "inner"
    theirs.mkdir(exist_ok=True)
    (theirs / "a.md").write_text("a bird of the south, heron\n")
    await server.http("ana", "admin.add_space", folder="d/inner")
    assert "error" not in await server.http("ana", "wiki.read_document", path="a.md", space="inner")

    def swap() -> None:
        (server.north / at).rename(server.north / "aside")
        (server.north / at).symlink_to(server.south)

    for tool, asked in CALLS.items():
        (space / "a.md").write_text("a bird of the north\n")
        after(*MOMENTS[moment], monkeypatch, swap)
        answer = await server.http("ana", f"wiki.{tool}", space="inner", **asked)
        assert (server.north / at).is_symlink(), tool
        assert "of the south" not in str(answer), tool
        assert [it.name for it in theirs.iterdir()] == ["a.md"], tool
        assert (theirs / "a.md").read_text() == "a bird of the south, heron\n", tool
        (server.north / at).unlink()
        (server.north / "aside").rename(server.north / at)
        found = await server.http("ana", "wiki.search", query="heron", space="inner")
        assert "of the south" not in str(found), tool


async def test_a_space_of_one_tenant_is_nothing_to_another(server: Server) -> None:
    await server.http("ana", "admin.add_space", folder="d")
    assert (await server.http("ana", "admin.list_spaces", tenant="south"))["spaces"] == []
    made = await server.http("ana", "admin.add_space", tenant="south", folder="d")
    assert made["folder"] == str(server.south / "d")
    refused = await server.http(
        "ana", "admin.add_space", tenant="south", folder=str(server.north / "d")
    )
    assert refused["error"]["code"] == "FORBIDDEN"


async def test_no_root_is_given_in_or_around_that_of_another_tenant(server: Server) -> None:
    app = server.pecia.app
    (server.elsewhere / "theirs").symlink_to(server.south)
    await add_tenant(
        OperatorSession(app.store, app.audit_log, "test"), "west", admin="ana", quotas={}
    )
    for folder in (server.south, server.south / "x", server.north.parent, Path("/")):
        with pytest.raises(Conflict, match=r"is a space root of '(north|south)'"):
            await allow(app, "west", space_roots=[str(folder)])
    with pytest.raises(Conflict, match="is a space root of 'south'"):
        await allow(app, "north", space_roots=[str(server.elsewhere / "theirs")])
    # Beside it, and one in another of the same tenant.
    beside = [str(server.south) + "-more", str(server.south / "x")]
    await allow(app, "south", space_roots=beside)
    await allow(app, "north", space_roots=[str(server.south) + "-other"])


@pytest.mark.parametrize("first", ["folders", "space_roots"])
async def test_no_tenant_writes_where_another_reads(server: Server, first: str) -> None:
    app, shared = server.pecia.app, server.elsewhere / "papers"
    second, kind, named = {
        "folders": ("space_roots", "space root", "folder"),
        "space_roots": ("folders", "folder", "space root"),
    }[first]
    shared.mkdir()
    (server.elsewhere / "link").symlink_to(shared)
    await allow(app, "north", **{first: [str(shared)]})
    for folder in (shared, shared / "x", server.elsewhere, server.elsewhere / "link"):
        with pytest.raises(Conflict, match=f"cannot be a {kind} of 'south'") as refused:
            await allow(app, "south", **{second: [str(folder)]})
        assert f"{shared} is a {named} of 'north'" in str(refused.value)
        assert f"--{named.replace(' ', '-')} {shared} --remove" in str(refused.value.fields["hint"])
    # Beside it, the same tenant's own, and a folder that two tenants only read.
    await allow(app, "south", **{second: [str(shared) + "-more"]})
    await allow(app, "north", **{second: [str(shared / "x")]})
    for tenant in ("north", "south"):
        await allow(app, tenant, folders=[str(server.elsewhere / "common")])


async def test_a_folder_to_read_is_no_root_and_a_root_is_no_folder_to_read(server: Server) -> None:
    await allow(server.pecia.app, "north", folders=[str(server.elsewhere)])
    refused = await server.http("ana", "admin.add_space", folder=str(server.elsewhere / "d"))
    assert refused["error"]["code"] == "FORBIDDEN"
    asked = {"source_id": "s", "folder": str(server.north)}
    assert (await server.http("ana", "admin.add_source", **asked))["error"]["code"] == "FORBIDDEN"


async def test_a_root_that_is_taken_away_closes_its_spaces_at_once(server: Server) -> None:
    app = server.pecia.app
    write = {"docName": "a", "markdown": "heron\n", "position": "replace", "space": "d"}
    await server.http("ana", "admin.add_space", folder="d")
    await server.http("ana", "wiki.write_document", **write)
    await run_until_idle(app.store, app.jobs)
    operating = OperatorSession(app.store, app.audit_log, "test")
    await disallow(operating, "north", AllowlistChange(space_roots=[str(server.north)]))
    for tool, asked in (
        ("wiki.list_documents", {"space": "d"}),
        ("wiki.write_document", {**write, "markdown": "otter\n"}),
    ):
        assert (await server.http("ana", tool, **asked))["error"]["code"] == "UNAVAILABLE", tool
    await server.http("ana", "admin.crawl_source", source_id="wiki:d")
    await run_until_idle(app.store, app.jobs)
    ended = await server.http("ana", "admin.crawl_status", source_id="wiki:d")
    assert (ended["state"], "not below a root" in ended["problem"]) == ("failed", True)
    assert (server.north / "d/a.md").read_text() == "heron\n"
    await allow(app, "north", space_roots=[str(server.north)])
    assert "error" not in await server.http("ana", "wiki.write_document", **write)
    rows = await server.pecia.audit(tool="tenant.disallow")
    assert rows[-1]["arguments"]["reach"] == [f"space-root {server.north}"]


SPACE = """SELECT s.tenant_id, s.config
             FROM kernel.source s JOIN kernel.tenant t ON t.id = s.tenant_id
            WHERE t.name = 'north' AND s.id = 'wiki:d'"""


async def test_neither_the_watcher_nor_what_was_left_over_opens_a_folder_that_became_a_link(
    server: Server,
) -> None:
    app = server.pecia.app
    await server.http("ana", "admin.add_space", folder="d")
    async with app.store.system() as tx:
        row = await tx.fetch_one(SPACE, "no space")
    config = parse_config(row["config"])
    assert config is not None
    credentials = SourceCredentials(app.store, app.keyring)
    sources = build_source_connectors(app.settings, app.store, credentials, CONNECTORS)
    async with aclosing(sources.watch(row["tenant_id"], "wiki:d", config)) as watch:
        # It began; from now on the folder is another.
        await anext(watch)
        (server.elsewhere / "secret.md").write_text("of nobody's wiki\n")
        (server.north / "d").rename(server.north / "e")
        (server.north / "d").symlink_to(server.elsewhere)
        (server.north / "e" / "stir.md").write_text("something happened\n")
        with pytest.raises(Unavailable, match="symbolic link"):
            await anext(watch)
    async with aclosing(sources.watch(row["tenant_id"], "wiki:d", config)) as again:
        with pytest.raises(Unavailable, match="symbolic link"):
            await anext(again)
    filing = LiveFlusher(
        SpaceRecovery(app.store, HistoryRepository.open),
        build_space_roots(app.store),
    )
    place = SpaceLocation(row["tenant_id"], "wiki:d", server.north / "d", "")
    with pytest.raises(Unavailable, match="symbolic link"):
        await filing.make_live(place, "secret.md", 1_000)
    with pytest.raises(Unavailable, match="symbolic link"):
        await filing.flush(place, "secret.md")
