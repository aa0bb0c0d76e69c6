"""The lake at its endpoint: six tools, their results as content and as data, files as resources."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import jsonschema
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from pecia.interfaces.mcp.methods.subscriptions import ResourceUpdated, ToolsListChanged
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Caller
from tests.conftest import CONTEXT, House
from tests.features.lake.conftest import Lake
from tests.features.lake.test_semantic_search import embed
from tests.mcp.conftest import Serve, Served
from tests.mcp.raw_mcp import RawMcp

pytestmark = pytest.mark.anyio

LAKE = "/mcp/lake"
FINDS, READS, BROWSES = (
    {"search_content"},
    {"get_file_text", "get_file_window", "get_file_metadata"},
    {"list_sources", "list_files"},
)
SIX = FINDS | READS | BROWSES
GUIDE = "guides/true a wheel.md"
URI = "pecia://file/docs/guides/true%20a%20wheel.md"
TEXT = "# Truing\n\nTighten the spoke opposite the wobble.\n"
ARGUMENTS: Mapping[str, dict[str, Json]] = {
    "search_content": {"query": "wobble", "mode": "lexical"},
    "get_file_text": {"source_id": "docs", "key": GUIDE},
    "get_file_window": {"source_id": "docs", "key": GUIDE},
    "get_file_metadata": {"source_id": "docs", "key": GUIDE},
    "list_sources": {},
    "list_files": {"source_id": "docs"},
}


@dataclass(frozen=True, slots=True)
class ServedLake:
    """A served lake. `lake` fills it, `served` asks it."""

    served: Served
    lake: Lake

    async def call(self, tool: str, talk: RawMcp | None = None, path: str = LAKE) -> dict[str, Any]:
        asked = {"name": tool, "arguments": ARGUMENTS[tool]}
        return (await (talk or self.served.talk).ask(path, "tools/call", asked))["result"]

    async def parts(
        self, tool: str, cursor: str, more: dict[str, Json]
    ) -> AsyncGenerator[dict[str, Any]]:
        """The answers for one large file, each no larger than a client takes."""
        start: int | None = 0
        while start is not None:
            asked: dict[str, Json] = {"source_id": "docs", "key": "large.txt", **more}
            call = {"name": tool, "arguments": asked | ({"start": start} if start else {})}
            message = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": call}
            response = await self.served.talk.post(LAKE, message)
            assert len(response.content) < EVENT_BYTES
            yield (found := response.json()["result"])
            start = found["structuredContent"][cursor]

    async def read(self, uri: str, talk: RawMcp | None = None) -> dict[str, Any]:
        return await (talk or self.served.talk).ask(LAKE, "resources/read", {"uri": uri})

    async def resources(self, talk: RawMcp | None = None) -> list[str]:
        found: list[str] = []
        cursor: dict[str, Json] = {}
        while True:
            page = (await (talk or self.served.talk).ask(LAKE, "resources/list", cursor))["result"]
            found += [it["uri"] for it in page["resources"]]
            if "nextCursor" not in page:
                return found
            cursor = {"cursor": page["nextCursor"]}


async def filled(served: Served, folder: Path, files: Mapping[str, str]) -> ServedLake:
    """The served house with one source, which everybody sees."""
    nobody: Caller = served.owner
    lake = Lake(House(served.app, served.owner, nobody, ""), folder)
    lake.write(files)
    asked: dict[str, Json] = {"source_id": "docs", "folder": str(folder), "trim_mode": "open"}
    await served.app.call(served.owner, "add_source", asked, CONTEXT)
    await lake.crawl()
    return ServedLake(served, lake)


@pytest.fixture
async def served(serve: Serve) -> AsyncGenerator[Served]:
    """A server for each test: what one has in its lake is none of the next one's."""
    async with serve() as found:
        yield found


@pytest.fixture
async def shore(served: Served, tmp_path: Path) -> ServedLake:
    files = {GUIDE: TEXT, "notes/rims.md": "# Rims\n\nA wobble of the rim.\n"}
    return await filled(served, tmp_path / "docs", files)


@pytest.mark.requirement("lake.tools.exactly_six")
async def test_the_endpoint_lists_six_tools(shore: ServedLake) -> None:
    listed = (await shore.served.talk.ask(LAKE, "tools/list"))["result"]["tools"]
    assert {it["name"] for it in listed} == SIX
    assert all(it["annotations"]["readOnlyHint"] for it in listed)


@pytest.mark.requirement("lake.result.text_block", "lake.result.structured")
async def test_every_result_is_the_same_as_text_and_as_data_of_its_schema(
    shore: ServedLake,
) -> None:
    listed = (await shore.served.talk.ask(LAKE, "tools/list"))["result"]["tools"]
    schemas = {it["name"]: it["outputSchema"] for it in listed}
    for tool in sorted(SIX):
        found = await shore.call(tool)
        [text, *_] = [it["text"] for it in found["content"] if it["type"] == "text"]
        assert json.loads(text) == found["structuredContent"], tool
        jsonschema.validate(found["structuredContent"], schemas[tool])


@pytest.mark.requirement(
    "lake.result.search_links", "lake.result.embedded_file", "lake.uri.read", "lake.pattern.cite"
)
async def test_hits_are_cited_by_links_and_a_link_reads_as_the_file_does(shore: ServedLake) -> None:
    found = await shore.call("search_content")
    links = [it for it in found["content"] if it["type"] == "resource_link"]
    hits = found["structuredContent"]["hits"]
    assert {it["uri"] for it in links} == {URI, "pecia://file/docs/notes/rims.md"}
    assert len(links) == len({it["key"] for it in hits})
    whole = await shore.call("get_file_text")
    [embedded] = [it["resource"] for it in whole["content"] if it["type"] == "resource"]
    assert (embedded["uri"], embedded["text"]) == (URI, TEXT)
    chunks = whole["structuredContent"]["chunks"]
    assert "".join(it["text"] for it in chunks) == embedded["text"]
    [read] = (await shore.read(URI))["result"]["contents"]
    assert read["text"] == embedded["text"]
    [hit] = [it for it in hits if it["key"] == GUIDE]
    assert read["text"][hit["char_start"] : hit["char_end"]] in hit["text"]
    [other] = (await shore.read(URI.replace("pecia://", "kdbl://")))["result"]["contents"]
    assert other["text"] == TEXT


EVENT_BYTES = 1_048_576
"""The longest event that the Python SDK takes."""


@pytest.mark.parametrize("line", ['Say "no" \\ \t', "漢字とかな、", "\x07", "plain words "])
async def test_a_large_file_comes_in_parts_that_clients_take(shore: ServedLake, line: str) -> None:
    unit = f"{line}" * (900 // len(line)) + "\n\n"
    whole = unit * (2_000_000 // len(unit))
    shore.lake.write({"large.txt": whole})
    await shore.lake.crawl()
    parts = [it async for it in shore.parts("get_file_text", "next_cursor", {})]
    read = ""
    for number, part in enumerate(parts):
        chunks = "".join(it["text"] for it in part["structuredContent"]["chunks"])
        [said] = [it["text"] for it in part["content"] if it["type"] == "text"]
        [embedded] = [it["resource"] for it in part["content"] if it["type"] == "resource"]
        assert embedded["text"] == chunks
        assert chunks[:200] not in said
        after = part["structuredContent"]["next_cursor"]
        assert (f"get_file_text, start {after}" in said) == (number < len(parts) - 1)
        read += chunks
    assert len(parts) > 2
    assert read == whole
    windows = shore.parts("get_file_window", "next_cursor", {"length": 200})
    assert "".join([it["structuredContent"]["text"] async for it in windows]) == whole


async def test_a_large_resource_is_cut_and_names_the_call_that_goes_on(shore: ServedLake) -> None:
    whole = "".join(f"Line {it} says nothing new.\n\n" * 30 for it in range(3_000))
    shore.lake.write({"large.txt": whole})
    await shore.lake.crawl()
    uri, read = "pecia://file/docs/large.txt", ""
    while True:
        found = await shore.read(uri)
        assert len(json.dumps(found, ensure_ascii=False).encode()) < EVENT_BYTES
        [body, *mark] = found["result"]["contents"]
        read += body["text"]
        if not mark:
            break
        [cut] = mark
        start = cut["uri"].rpartition("=")[2]
        assert f"get_file_text, start {start}" in cut["text"]
        uri = cut["uri"]
    assert read == whole


@pytest.mark.requirement("lake.download.url")
async def test_on_ones_own_machine_a_hit_links_to_the_original(shore: ServedLake) -> None:
    hits = (await shore.call("search_content"))["structuredContent"]["hits"]
    [url] = [it["url"] for it in hits if it["key"] == GUIDE]
    opened = await shore.served.talk.http.get(f"/files/download?{url.partition('?')[2]}")
    assert opened.content == TEXT.encode()
    assert "true%20a%20wheel.md" in opened.headers["content-disposition"]


@pytest.mark.requirement("lake.uri.list")
async def test_resources_are_the_files_that_the_caller_may_see(shore: ServedLake) -> None:
    shore.lake.write({f"many/{it:03}.md": f"Note {it}.\n" for it in range(203)})
    await shore.lake.crawl()
    every = await shore.resources()
    assert len(every) == len({*every}) == 205
    assert URI in every
    served, house = shore.served, shore.lake.house
    bo = served.other(await served.token("bo"))
    assert await shore.resources(bo) == every
    await house.call(house.ana, "set_source", source_id="docs", trim_mode="per_file")
    grant = {"source_id": "docs", "to": "user:bo", "role": "reader", "folder": "guides"}
    await house.call(house.ana, "grant", **grant)
    assert await shore.resources(bo) == [URI]
    hidden = await shore.read("pecia://file/docs/notes/rims.md", bo)
    absent = await shore.read("pecia://file/docs/notes/mirs.md", bo)
    assert hidden["error"]["data"]["code"] == "NOT_FOUND"
    assert str(hidden["error"]).replace("rims", "mirs") == str(absent["error"])
    templates = await bo.ask(LAKE, "resources/templates/list")
    [template] = templates["result"]["resourceTemplates"]
    assert template["uriTemplate"] == "pecia://file/{source}/{key}"
    asked = {
        "ref": {"type": "ref/resource", "uri": template["uriTemplate"]},
        "argument": {"name": "key", "value": "notes/"},
        "context": {"arguments": {"source": "docs"}},
    }
    completed = await bo.ask(LAKE, "completion/complete", asked)
    assert completed["result"]["completion"]["values"] == []


@pytest.mark.requirement("lake.uri.stable")
async def test_a_uri_outlives_crawls_and_restarts(serve: Serve, tmp_path: Path) -> None:
    async with serve() as served:
        shore = await filled(served, tmp_path / "docs", {GUIDE: TEXT})
        [uri] = await shore.resources()
        shore.lake.write({GUIDE: f"{TEXT}More.\n", "new.md": "New.\n"})
        await shore.lake.crawl()
        assert uri in await shore.resources()
    async with serve() as served:
        read = await served.talk.ask(LAKE, "resources/read", {"uri": uri})
        assert read["result"]["contents"][0]["text"] == f"{TEXT}More.\n"


@pytest.mark.requirement("lake.scopes.search", "lake.scopes.read")
async def test_finding_needs_one_scope_and_reading_the_other(shore: ServedLake) -> None:
    served = shore.served
    for scope, allowed in (("pecia.search", FINDS), ("pecia.read", READS | BROWSES)):
        talk = served.other(await served.token("bo", [scope]))
        for tool in sorted(SIX):
            asked = {"name": tool, "arguments": ARGUMENTS[tool]}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
            answer = await talk.post(LAKE, message)
            assert answer.status_code == (200 if tool in allowed else 403), (scope, tool)


@pytest.mark.requirement("lake.server.mcp_path")
async def test_the_root_endpoint_can_be_the_lake_and_its_tools_are_always_within_reach(
    serve: Serve, tmp_path: Path
) -> None:
    async with serve(mcp_root="lake") as served:
        shore = await filled(served, tmp_path / "docs", {GUIDE: TEXT})
        listed = (await served.talk.ask("/mcp", "tools/list"))["result"]["tools"]
        assert {it["name"] for it in listed} == SIX
        found = await shore.call("search_content", path="/mcp")
        assert found["structuredContent"]["hits"][0]["key"] == GUIDE
    async with serve() as served:
        listed = (await served.talk.ask("/mcp", "tools/list"))["result"]["tools"]
        first = [it["name"] for it in listed][2:6]
        assert first == ["search_content", "read", "list_sources", "list_files"]
        for tool in sorted(SIX):
            assert "isError" not in await shore.call(tool, served.talk, "/mcp"), tool
        asked = {"name": "search_content", "arguments": ARGUMENTS["search_content"]}
        found = await served.talk.ask("/mcp", "tools/call", asked)
        assert found["result"]["structuredContent"]["hits"][0]["key"] == GUIDE


@pytest.mark.requirement("lake.pattern.ready_prompt", "lake.bench.prompt_requeries")
async def test_a_prompt_ships_the_whole_loop(shore: ServedLake) -> None:
    talk = shore.served.talk
    [prompt] = (await talk.ask(LAKE, "prompts/list"))["result"]["prompts"]
    assert prompt["name"] == "answer-from-sources"
    asked = {"name": prompt["name"], "arguments": {"question": "Why does it wobble?"}}
    [message] = (await talk.ask(LAKE, "prompts/get", asked))["result"]["messages"]
    text = message["content"]["text"]
    assert text.endswith("Why does it wobble?")
    order = [text.index(it) for it in ("search_content", "get_file_window", "cite", "say so")]
    assert order == sorted(order)
    again = text.index("search again in the documents' own wording")
    assert again < text.index("before giving up")


@pytest.mark.requirement("lake.hybrid.no_embedder_degrades")
async def test_without_an_embedder_hybrid_answers_by_words_and_says_so(
    serve: Serve, tmp_path: Path
) -> None:
    async with serve(embed__kind="none") as served:
        shore = await filled(served, tmp_path / "docs", {GUIDE: TEXT})
        by_words = await shore.lake.search("wobble", mode="lexical")
        found = await shore.lake.search("wobble")
        assert [it["key"] for it in found["hits"]] == [it["key"] for it in by_words["hits"]]
        assert found["degraded"] == ["lexical only: no embedder is configured"]
        assert by_words["degraded"] == []


@pytest.mark.requirement("lake.capacity.per_mode")
async def test_capacity_says_what_each_mode_costs_to_who_may_ask(shore: ServedLake) -> None:
    served = shore.served
    await shore.lake.search("wobble", mode="lexical")
    await shore.lake.search("wobble", mode="lexical")
    await shore.lake.search("wobble")
    found = (await served.talk.http.get("/capacity")).json()
    assert [found["search"][it]["served"] for it in ("lexical", "hybrid")] == [2, 1]
    for mode in ("lexical", "hybrid"):
        latency, cpu = (found["search"][mode][it] for it in ("latency_ms", "cpu_ms"))
        assert 0 < latency["p50"] <= latency["p95"]
        assert 0 < cpu["p50"] <= cpu["p95"]
    assert (found["index"]["files"], found["index"]["chunks"]) == (2, 2)
    assert found["index"]["bytes"] > 0
    assert found["index"]["lag"] == 0
    assert found["embedder"]["dimension"] == 384
    nothing = {"texts_per_s": None, "texts": None, "reason": "nothing was embedded yet"}
    assert found["embedder"]["throughput"] == nothing
    assert found["limits"]["search_hits"] == 100
    house = shore.lake.house
    await house.call(house.ana, "set_source", source_id="docs", trim_mode="per_file")
    headers = {"authorization": f"Bearer {await served.token('bo')}"}
    mine = (await served.talk.http.get("/capacity", headers=headers)).json()
    assert mine["index"] == {"files": 0, "chunks": 0, "vectors": 0, "bytes": None, "lag": None}
    # How much others search, or write, is not a member's to know.
    assert [mine["search"][it]["served"] for it in ("lexical", "hybrid")] == [0, 0]
    assert mine["embedder"]["throughput"]["reason"] == "only administrators see it"


async def test_capacity_says_how_fast_texts_were_embedded_whoever_did_it(shore: ServedLake) -> None:
    await embed(shore.lake.house)
    found = (await shore.served.talk.http.get("/capacity")).json()["embedder"]["throughput"]
    assert found["texts_per_s"] > 0
    assert (found["texts"], found["reason"]) == (2, None)


@pytest.mark.parametrize("path", [LAKE, "/mcp"])
async def test_a_subscriber_hears_of_a_change_while_they_may_read_the_file(
    shore: ServedLake, path: str
) -> None:
    served, house = shore.served, shore.lake.house
    http = {"Authorization": f"Bearer {await served.token('bo')}"}
    async with (
        listening(served, path) as mine,
        listening(served, path, http) as his,
    ):
        shore.lake.write({GUIDE: f"{TEXT}More.\n"})
        await shore.lake.crawl()
        assert await heard(mine) == await heard(his) == URI
        await house.call(house.ana, "set_source", source_id="docs", trim_mode="per_file")
        shore.lake.write({GUIDE: f"{TEXT}Even more.\n"})
        await shore.lake.crawl()
        assert await heard(mine) == URI
        # What comes next on his stream is not the change, which was told before this.
        await served.changes.publish(served.owner.tenant_id, ToolsListChanged())
        assert await heard(his) == "tools"


@pytest.mark.parametrize("path", [LAKE, "/mcp"])
async def test_a_session_that_never_opened_its_stream_is_in_nobodys_way(
    shore: ServedLake, path: str
) -> None:
    silent = shore.served.other()
    await silent.begin(path)
    assert "error" not in await silent.ask(path, "resources/subscribe", {"uri": URI})
    async with listening(shore.served, path) as mine:
        shore.lake.write({GUIDE: f"{TEXT}More.\n"})
        await shore.lake.crawl()
        assert await heard(mine) == URI
    assert (await silent.ask(path, "resources/read", {"uri": URI}))["result"]["contents"]


@asynccontextmanager
async def listening(
    served: Served, path: str, headers: dict[str, str] | None = None
) -> AsyncGenerator[AsyncIterator[object]]:
    """A stream of the newer era that waits for the guide to change."""
    async with (
        httpx2.AsyncClient(headers=headers, timeout=20) as http,
        Client(
            streamable_http_client(f"{served.url}{path}", http_client=http), mode="2026-07-28"
        ) as client,
        client.listen(resource_subscriptions=[URI], tools_list_changed=True) as changes,
    ):
        yield changes


async def heard(changes: AsyncIterator[object]) -> str:
    with anyio.fail_after(20):
        event = await anext(changes)
    return str(event.uri) if isinstance(event, ResourceUpdated) else "tools"


async def test_a_very_long_file_is_read_to_its_end_by_the_uris_that_the_parts_name(
    served: Served, tmp_path: Path
) -> None:
    filler = "word " * 150
    whole = "".join(f"{it} {filler}\n\n" for it in range(5300))
    shore = await filled(served, tmp_path / "docs", {"long.txt": whole})
    text, uri = "", "pecia://file/docs/long.txt"
    uris: list[str] = []
    while uri:
        part, *more = (await shore.read(uri))["result"]["contents"]
        assert part["uri"] == uri
        uris.append(uri)
        text += part["text"]
        # A mark in words, under the URI of what follows.
        uri = more[0]["uri"] if more else ""
        assert not more or uri in more[0]["text"]
    assert text.split() == whole.split()
    assert len(uris) > 2
