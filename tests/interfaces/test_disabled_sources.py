"""A source or space that is switched off is found and read by nobody, until it is on again."""

from typing import Any

import pytest

from tests.interfaces.test_lake_revoked import BODY, FILE, KEY, URI, Lake, lake
from tests.interfaces.test_spaces_server_mode import Server, server
from tests.laws.lake_clients import Http, Mcp

pytestmark = pytest.mark.anyio

__all__ = ["lake", "server"]

OFF = {"source_id": "docs", "enabled": False}
ON = {"source_id": "docs", "enabled": True}


async def test_a_source_that_is_off_is_found_and_read_by_nobody(lake: Lake) -> None:
    await lake.do(("set_source", {"source_id": "docs", "trim_mode": "open"}))
    await lake.crawl()
    tokens = [lake.pecia.tokens["north", it] for it in ("ana", "bo")]
    before = [await lake.told(it) for it in tokens]
    links = [await lake.link(it) for it in tokens]
    assert all(KEY in it["lexical"] and URI in it["resources"] for it in before)
    await lake.do(("set_source", OFF))
    for token, link in zip(tokens, links, strict=True):
        told = await lake.told(token)
        assert (told["lexical"], told["hybrid"], told["resources"]) == ([], [], [])
        assert told["capacity"] == 0
        assert "Steel" not in str(told)
        assert (await lake.opened(link))[1] != BODY
    await lake.do(("set_source", ON))
    assert [await lake.told(it) for it in tokens] == before


async def test_the_refusal_names_the_source_that_is_off_and_how_it_is_switched_on(
    lake: Lake,
) -> None:
    await lake.crawl()
    await lake.do(("set_source", OFF))
    token = lake.pecia.tokens["north", "ana"]
    asks: tuple[tuple[str, dict[str, Any]], ...] = (
        *((it, FILE) for it in ("get_file_text", "get_file_window", "get_file_metadata")),
        ("list_files", {"source_id": "docs"}),
        ("search_content", {"query": "spokes", "source_id": "docs"}),
    )
    for tool, ask in asks:
        for way in (Http(lake.pecia.http), Mcp(lake.pecia.http)):
            error = (await way.ask(token, tool, **ask))["error"]
            assert (error["code"], error["retryable"]) == ("CONFLICT", False), (tool, error)
            assert "switched off" in error["message"]
            assert "pecia source set docs --enabled true" in error["hint"]
    refused = await lake.pecia.call("admin/crawl_source", {"source_id": "docs"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "CONFLICT")


async def test_whoever_may_not_see_the_source_learns_nothing_of_its_switch(lake: Lake) -> None:
    await lake.crawl()
    token = lake.pecia.tokens["north", "bo"]
    before = await Http(lake.pecia.http).ask(token, "get_file_text", **FILE)
    await lake.do(("set_source", OFF))
    assert await Http(lake.pecia.http).ask(token, "get_file_text", **FILE) == before


async def test_a_source_of_uploads_that_is_off_takes_no_file(lake: Lake) -> None:
    await lake.do(("add_source", {"source_id": "sent", "protocol": "upload"}))
    await lake.do(("set_source", {"source_id": "sent", "enabled": False}))
    sent = {"source_id": "sent", "key": "a.md", "content": "YQ=="}
    refused = await lake.pecia.call("admin/upload_file", sent)
    assert refused.status_code == 409, refused.text
    assert "switched off" in refused.json()["error"]["message"]


async def test_a_tool_on_a_space_that_is_off_says_so_and_not_that_it_be_tried_again(
    server: Server,
) -> None:
    (server.north / "notes").mkdir()
    (server.north / "notes/a.md").write_text("alpha\n")
    await server.http("ana", "admin.add_space", folder="notes")
    await server.http("ana", "admin.set_space", name="notes", enabled=False)
    read = {"path": "a.md", "space": "notes"}
    for error in (
        (await server.http("ana", "wiki.read_document", **read))["error"],
        (await server.mcp("ana", "/mcp/wiki", "list_documents", space="notes"))["error"],
    ):
        assert (error["code"], error["retryable"]) == ("CONFLICT", False)
        assert "pecia space set notes --enabled true" in error["hint"]


async def test_the_only_space_that_is_on_is_meant_where_none_is_named(server: Server) -> None:
    for name in ("notes", "plans"):
        (server.north / name).mkdir()
        (server.north / name / "a.md").write_text(f"{name}\n")
        await server.http("ana", "admin.add_space", folder=name)
    await server.http("ana", "admin.set_space", name="plans", enabled=False)
    read = await server.http("ana", "wiki.read_document", path="a.md")
    assert read["content"] == "notes\n"
