"""A right that goes is gone from the very next call, at every interface and on open connections."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.jobs.worker import run_until_idle
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.tenant_server import Pecia, allow, bearing, open_pecia
from tests.interfaces.test_lake_downloads import ON, index
from tests.laws.lake_clients import Http, Mcp, with_hashing
from tests.mcp.raw_mcp import RawMcp

pytestmark = pytest.mark.anyio

KEY, URI = "wheels/spokes.md", "pecia://file/docs/wheels/spokes.md"
FILE: dict[str, Any] = {"source_id": "docs", "key": KEY}
BODY = b"# Spokes\n\nSteel spokes.\n"

Call = tuple[str, dict[str, Any]]

TO_BO = {"source_id": "docs", "to": "user:bo"}
TO_GROUP = {"source_id": "docs", "to": "group:mechanics"}
MEMBER = {"group": "mechanics", "user": "bo"}

# How bo comes to see the file, and how that ends.
RIGHTS: dict[str, tuple[Call, Call]] = {
    "a folder": (
        ("grant", {**TO_BO, "folder": "wheels", "role": "reader"}),
        ("grant", {**TO_BO, "folder": "wheels", "role": None}),
    ),
    "a role in the source": (
        ("grant", {**TO_BO, "role": "writer"}),
        ("grant", {**TO_BO, "role": None}),
    ),
    "the file alone": (
        ("grant_file", {**FILE, "to": ["user:bo"]}),
        ("grant_file", {**FILE, "to": []}),
    ),
    "a group": (
        ("add_member", MEMBER),
        ("remove_member", MEMBER),
    ),
    "an open source": (
        ("set_source", {"source_id": "docs", "trim_mode": "open"}),
        ("set_source", {"source_id": "docs", "trim_mode": "per_file"}),
    ),
}


@dataclass(frozen=True, slots=True)
class Lake:
    pecia: Pecia
    folder: Path

    async def do(self, call: Call) -> None:
        done = await self.pecia.call(f"admin/{call[0]}", call[1])
        assert done.status_code == 200, done.text

    async def crawl(self) -> None:
        await self.do(("crawl_source", {"source_id": "docs"}))
        await run_until_idle(self.pecia.app.store, self.pecia.app.jobs)
        await index(self.pecia)

    async def told(self, token: str) -> dict[str, Any]:
        """What every tool, resource and page says of the file, in short."""
        http, mcp = Http(self.pecia.http), Mcp(self.pecia.http)
        found: dict[str, Any] = {
            f"{tool} by {type(way).__name__}": _without_link(await way.ask(token, tool, **FILE))
            for way in (http, mcp)
            for tool in ("get_file_text", "get_file_window", "get_file_metadata")
        }
        for mode in ("lexical", "hybrid"):
            said = await http.ask(token, "search_content", query="spokes", mode=mode)
            found[mode] = [it["key"] for it in said["ok"]["hits"]] if "ok" in said else said
        found["list_files"] = await mcp.ask(token, "list_files", source_id="docs")
        found["resource"] = await mcp.read(token, URI)
        listed = await mcp.resources(token)
        found["resources"] = [it["uri"] for it in listed["ok"]] if "ok" in listed else listed
        found["key"] = await mcp.complete(token, "key", "wheels/", source="docs")
        counted = await http.capacity(token)
        found["capacity"] = counted["ok"]["index"]["files"] if "ok" in counted else counted
        return found

    async def link(self, token: str) -> str:
        said = await Http(self.pecia.http).ask(token, "search_content", query="spokes")
        [hit] = [it for it in said["ok"]["hits"] if it["key"] == KEY]
        return str(hit["url"])

    async def opened(self, link: str) -> tuple[int, bytes]:
        answer = await Http(self.pecia.http).download(link)
        return answer.status_code, answer.content


def _without_link(said: dict[str, Any]) -> dict[str, Any]:
    """A link has a time in it."""
    ok = said.get("ok")
    return {**said, "ok": {**ok, "url": None}} if isinstance(ok, dict) and "url" in ok else said


@pytest.fixture
async def lake(database: DatabaseLogins, tmp_path: Path) -> AsyncGenerator[Lake]:
    folder = tmp_path / "docs"
    (folder / "wheels").mkdir(parents=True)
    (folder / KEY).write_bytes(BODY)
    flags: dict[str, Any] = {**ON}
    served: dict[str, Any] = {"mounts": [mount_mcp], "change": with_hashing}
    async with open_pecia(database, tmp_path / "home", **served, **flags) as pecia:
        await allow(pecia.app, folders=[str(folder)])
        lake = Lake(pecia, folder)
        await lake.do(("add_source", {"source_id": "docs", "folder": str(folder)}))
        await lake.do(("add_group", {"name": "mechanics"}))
        await lake.do(("grant", {**TO_GROUP, "folder": "wheels", "role": "reader"}))
        await lake.crawl()
        yield lake


@pytest.mark.timeout(120)
async def test_whatever_shows_a_file_its_end_is_known_to_every_interface_and_every_open_link(
    lake: Lake,
) -> None:
    """Nobody tells the index that it ended."""
    token = lake.pecia.tokens["north", "bo"]
    for name, (give, take) in RIGHTS.items():
        before = await lake.told(token)
        assert URI not in str(before["resources"]), name
        assert (before["lexical"], before["hybrid"], before["capacity"]) == ([], [], 0), name
        await lake.do(give)
        await index(lake.pecia)
        shown = await lake.told(token)
        assert (shown["lexical"], shown["capacity"]) == ([KEY], 1), name
        refused = [it for it, said in shown.items() if isinstance(said, dict) and "ok" not in said]
        assert refused == [], name
        link = await lake.link(token)
        assert await lake.opened(link) == (200, BODY), name
        await lake.do(take)
        assert (await lake.opened(link))[0] == 404, name
        assert await lake.told(token) == before, name
        await lake.do(give)
        assert await lake.opened(link) == (200, BODY), name
        await lake.do(take)


async def test_a_link_to_what_is_hidden_and_to_what_is_gone_say_the_same_bytes(lake: Lake) -> None:
    give, take = RIGHTS["a folder"]
    await lake.do(give)
    await index(lake.pecia)
    link = await lake.link(lake.pecia.tokens["north", "bo"])
    await lake.do(take)
    hidden = await lake.opened(link)
    (lake.folder / KEY).unlink()
    await lake.crawl()
    await lake.do(give)
    gone = await lake.opened(link)
    assert hidden == gone
    assert hidden[0] == 404


async def test_a_user_or_a_token_that_is_stopped_takes_links_and_answers_along(lake: Lake) -> None:
    await lake.do(RIGHTS["a folder"][0])
    await index(lake.pecia)
    token = await lake.pecia.token("north", "bo", ["pecia.search", "pecia.read"])
    link = await lake.link(token)
    assert await lake.opened(link) == (200, BODY)
    for status, code in (("disabled", 404), ("active", 200)):
        await lake.do(("set_user", {"name": "bo", "status": status}))
        assert (await lake.opened(link))[0] == code
    tokens = (await lake.pecia.call("admin/list_tokens", {})).json()["tokens"]
    for it in tokens:
        if it["user"] == "bo":
            await lake.do(("revoke_token", {"id": it["id"]}))
    assert (await lake.opened(link))[0] == 404
    answer = await lake.pecia.call("lake/search_content", {"query": "spokes"}, bearing(token))
    assert answer.status_code == 401


async def test_nobody_subscribes_to_what_is_hidden_and_is_refused_as_for_what_never_was(
    lake: Lake,
) -> None:
    talk = RawMcp(lake.pecia.http, lake.pecia.tokens["north", "bo"])
    await talk.begin("/mcp")
    refused = [
        (await talk.ask("/mcp", "resources/subscribe", {"uri": uri}))["error"]
        for uri in (URI, URI.replace("spokes", "sekops"))
    ]
    assert str(refused[0]).replace("spokes", "sekops") == str(refused[1])
    assert refused[0]["data"]["code"] == "NOT_FOUND"
    await lake.do(RIGHTS["a folder"][0])
    assert "error" not in await talk.ask("/mcp", "resources/subscribe", {"uri": URI})
