"""The link graph, exec, workflows, previews, catalogs and versions of a space, over MCP."""

import os
import socket
from base64 import b64encode
from hashlib import sha256
from typing import Any

import anyio
import orjson
import pytest

from pecia.features.wiki.jobs import CatalogMaintenance
from pecia.features.wiki.space import SpaceSync
from pecia.kernel.jobs.worker import run_until_idle
from tests.conftest import CONTEXT
from tests.features.wiki.conftest import ENDPOINT, Served, Space
from tests.features.wiki.test_wiki_documents import OURS
from tests.mcp.raw_mcp import RawMcp

pytestmark = pytest.mark.anyio

LINKED = {
    "index.md": "# Home\n\nSee [[guide/start]] and [[Alpha]].\n",
    "guide/start.md": "---\ntitle: Start\n---\n[[index]] and [web](https://x.y), [[gone]].\n",
    "alpha.md": "---\ntitle: Alpha\n---\nGo to [start](guide/start.md).\n",
    "lonely.md": "We mention Start here, not `Start`.\n",
}


async def test_lists_of_links_come_in_pages_that_together_are_the_whole(space: Space) -> None:
    """A hub of many documents, many dead links to one target, many orphans."""
    many = {f"n{it:03}.md": "To [[hub]] and [[gone]].\n" for it in range(150)}
    alone = {f"o{it:03}.md": "Alone.\n" for it in range(150)}
    ahead = {"hub.md": "".join(f"[[n{it:03}]] " for it in range(150))}
    space.write({**many, **alone, **ahead})

    async def pages(tool: str, field: str, **asked: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        page = await space.value(tool, limit=40, **asked)
        while True:
            assert page["total"] == 150
            found += page[field]
            if page["nextCursor"] is None:
                return found
            page = await space.value(tool, limit=40, cursor=page["nextCursor"], **asked)

    back = await pages("get_backlinks", "backlinks", docName="hub")
    assert [it["source"] for it in back] == [it.removesuffix(".md") for it in many]
    forward = await pages("get_forward_links", "forwardLinks", docName="hub")
    assert sorted(it["docName"] for it in forward) == [it.removesuffix(".md") for it in many]
    orphans = await pages("get_orphans", "orphans")
    assert [it["docName"] for it in orphans] == [it.removesuffix(".md") for it in alone]
    dead = await pages("get_dead_links", "deadLinks")
    assert {it["target"] for it in dead} == {"gone"}
    assert [it["source"] for group in dead for it in group["sources"]] == [
        it.removesuffix(".md") for it in many
    ]
    wrong = await space.ask("get_orphans", cursor="nonsense")
    assert wrong.error["field"] == "cursor"


@pytest.mark.requirement("wiki.graph.backlinks", "wiki.graph.forward_links")
async def test_links_to_and_from_a_document_are_listed(space: Space) -> None:
    space.write(LINKED)
    back = await space.value("get_backlinks", docName="guide/start")
    assert [(it["source"], it["title"]) for it in back["backlinks"]] == [
        ("alpha", "Alpha"),
        ("index", "Home"),
    ]
    assert back["backlinks"][0]["snippet"] == "Go to [start](guide/start.md)."
    ahead = await space.value("get_forward_links", docName="guide/start.md")
    assert [(it["kind"], it.get("docName") or it["url"]) for it in ahead["forwardLinks"]] == [
        ("doc", "gone"),
        ("doc", "index"),
        ("external", "https://x.y"),
    ]
    assert (await space.ask("get_backlinks", docName="none")).error["code"] == "NOT_FOUND"


async def test_addresses_of_a_site_are_links_where_the_project_says_so(space: Space) -> None:
    space.write(
        {
            "docs/en/start.md": "# Start\n",
            "docs/en/more.md": "[s](/en/start) <a href='/en/start#top'>s</a> [o](/other)\n",
        }
    )
    back = await space.value("get_backlinks", docName="docs/en/start")
    assert back["backlinks"] == []
    space.write({".pecia/config.yml": "links:\n  roots: {/en: docs/en}\n"})
    back = await space.value("get_backlinks", docName="docs/en/start")
    assert [it["source"] for it in back["backlinks"]] == ["docs/en/more"]
    await space.value("rename_document", docName="docs/en/start", newDocName="docs/en/begin")
    assert space.read("docs/en/more.md") == (
        "[s](/en/begin) <a href='/en/begin#top'>s</a> [o](/other)\n"
    )


async def test_an_address_of_a_site_keeps_its_trailing_slash(space: Space) -> None:
    space.write(
        {
            ".pecia/config.yml": "links:\n  roots: {/en: docs/en}\n",
            "docs/en/guide.md": "# Guide\n",
            "docs/en/parts/index.md": "# Parts\n",
            "docs/en/more.md": "[g](/en/guide/) [p](/en/parts/#x)\n",
        }
    )
    await space.value("rename_document", docName="docs/en/guide", newDocName="docs/en/manual")
    assert space.read("docs/en/more.md") == "[g](/en/manual/) [p](/en/parts/#x)\n"
    await space.value("rename_document", docName="docs/en/parts/index", newDocName="docs/en/list")
    assert space.read("docs/en/more.md") == "[g](/en/manual/) [p](/en/list/#x)\n"


@pytest.mark.requirement(
    "wiki.graph.hubs",
    "wiki.graph.orphans",
    "wiki.graph.dead_links",
    "wiki.graph.suggest_links",
)
async def test_the_graph_tells_hubs_orphans_dead_and_missing_links(space: Space) -> None:
    space.write(LINKED)
    hubs = (await space.value("get_hubs", limit=1))["hubs"]
    assert [(it["docName"], it["count"]) for it in hubs] == [("guide/start", 2)]
    orphans = (await space.value("get_orphans"))["orphans"]
    assert [it["docName"] for it in orphans] == ["lonely"]
    dead = (await space.value("get_dead_links"))["deadLinks"]
    assert [(it["target"], it["sources"][0]["source"]) for it in dead] == [("gone", "guide/start")]
    only = await space.value("get_dead_links", sourceDocNames=["index"])
    assert only["deadLinks"] == []
    mentions = (await space.value("suggest_links", docName="guide/start"))["mentions"]
    assert [(it["source"], it["text"], it["offset"]) for it in mentions] == [
        ("lonely", "Start", 11)
    ]
    await space.value(
        "edit_document",
        docName="lonely",
        find=mentions[0]["text"],
        replace=mentions[0]["replacement"],
        offset=mentions[0]["offset"],
    )
    assert (await space.value("suggest_links", docName="guide/start"))["mentions"] == []
    assert (await space.value("get_orphans"))["orphans"] == []
    assert (await space.ask("get_hubs", limit=0)).error["code"] == "OUT_OF_RANGE"
    assert (await space.ask("get_orphans", mode="some")).error["code"] == "INVALID_ENUM"


@pytest.mark.requirement("wiki.exec.ten_commands")
async def test_the_ten_commands_run_piped_over_the_space(space: Space) -> None:
    space.write(LINKED)
    for command, out in (
        ("cat alpha.md | head -n 2 | tail -n 1", "title: Alpha\n"),
        ("ls guide", "guide/:\nstart.md\n"),
        ("grep -rl Start . | sort", "guide/start.md\nlonely.md\n"),
        ("find . -name 'a*.md'", "./alpha.md\n"),
        ("cat *.md | wc -l", "8\n"),
        ("grep -rh title . | cut -d: -f2 | sort | uniq -c", "      1  Alpha\n      1  Start\n"),
    ):
        found = await space.value("exec", command=command)
        assert found["stdout"] == out, command
        assert found["exitCode"] == 0


async def test_what_exec_names_is_described(space: Space) -> None:
    space.write(LINKED)
    one = (await space.value("exec", command="cat alpha.md"))["enrichedPaths"]
    assert [(it["path"], it["title"], it["backlinkCount"]) for it in one] == [
        ("alpha.md", "Alpha", 1)
    ]
    assert [it["source"] for it in one[0]["backlinks"]] == ["index"]
    several = (await space.value("exec", command="ls"))["enrichedPaths"]
    folder = next(it for it in several if it["path"] == "guide")
    assert (folder["type"], folder["directMdCount"], folder["recursiveMdCount"]) == (
        "directory",
        1,
        1,
    )
    assert folder["mostRecentMd"]["title"] == "Start"
    assert all(it["backlinks"] is None for it in several if it["path"].endswith(".md"))


async def test_a_refused_command_says_by_which_category_and_changes_nothing(space: Space) -> None:
    space.write(LINKED)
    before = {path: space.read(path) for path in LINKED}
    for command, category in (
        ("rm alpha.md", "unknown_command"),
        ("cat alpha.md > x.md", "write_blocked"),
        ("cat alpha.md; ls", "shell_construct_blocked"),
        ("cat ../../etc/passwd", "path_traversal"),
    ):
        answer = await space.ask("exec", command=command)
        assert answer.is_error
        assert answer.error["category"] == category
        assert answer.text.startswith(f"Error: [{category}]")
    assert {path: space.read(path) for path in LINKED} == before
    assert not (space.folder / "x.md").exists()


async def test_a_pattern_that_runs_wild_runs_elsewhere(space: Space) -> None:
    space.write({"a.md": "aaa b\n"})
    found = await space.value("exec", command="grep -E '(a+)+ b' a.md")
    assert found["stdout"] == "aaa b\n"


@pytest.mark.requirement(
    "wiki.init_content.guides_bootstrap",
    "wiki.ingest.takes_url_or_file",
    "wiki.research.provisional_findings",
    "wiki.consolidate.canonical_article",
    "wiki.flow.instructions_only",
)
async def test_workflow_tools_give_steps_and_do_nothing(space: Space) -> None:
    space.write(LINKED)
    before = sorted(str(it) for it in space.folder.rglob("*"))
    for tool, arguments, words in (
        ("init-content", {}, ("100 to 300 lines", "hub", "commits", "Not wanted", "data model")),
        ("ingest", {"source": "https://x.y/z"}, ("https://x.y/z", "date_fetched", "word for word")),
        ("ingest", {"source": "notes/raw.txt"}, ("notes/raw.txt", "source_path", "401, 402, 403")),
        ("research", {"topic": "Caching"}, ("Caching", "status: provisional", "wait", "sources:")),
        ("consolidate", {"topic": "Caching"}, ("status: canonical", "superseded_by", "Stop first")),
    ):
        answer = await space.ask(tool, **arguments)
        assert not answer.is_error
        for it in words:
            assert it in answer.text, (tool, it)
        assert "{{" not in answer.text
    assert sorted(str(it) for it in space.folder.rglob("*")) == before
    assert (await space.ask("research", topic="  ")).error["field"] == "topic"
    assert (await space.ask("ingest")).error["code"] == "MISSING_FIELD"


def show_page(space: Space, port: int = 4444) -> None:
    lock = {"pid": os.getpid(), "hostname": socket.gethostname(), "port": port}
    space.write({".pecia/ui.lock": orjson.dumps(lock)})


@pytest.mark.requirement(
    "wiki.preview.every_document_tool",
    "wiki.preview.list_rows",
    "wiki.preview.single_top_level",
    "wiki.preview.folder_rename_map",
    "wiki.preview.deleted_document",
)
async def test_every_tool_on_documents_says_where_to_see_them(space: Space) -> None:
    space.write({**LINKED, "f/x.md": "needle [[index]]\n"})
    show_page(space)
    base = "http://localhost:4444/#/"
    ui = {"baseUrl": "http://localhost:4444", "port": 4444}
    rows: dict[str, tuple[dict[str, Any], str]] = {
        "search": ({"query": "needle"}, "results"),
        "list_documents": ({}, "documents"),
        "get_backlinks": ({"docName": "index"}, "backlinks"),
        "get_forward_links": ({"docName": "f/x"}, "forwardLinks"),
        "get_hubs": ({}, "hubs"),
        "get_orphans": ({}, "orphans"),
        "suggest_links": ({"docName": "guide/start"}, "mentions"),
        "exec": ({"command": "cat f/x.md"}, "enrichedPaths"),
    }
    for tool, (arguments, key) in rows.items():
        found = await space.value(tool, **arguments)
        assert found["ui"] == ui
        assert found[key], tool
        assert all(it["previewUrl"].startswith(base) for it in found[key]), tool
        assert all(it["previewUrlSource"] == "lock" for it in found[key]), tool
    dead = await space.value("get_dead_links")
    assert dead["deadLinks"][0]["sources"][0]["previewUrl"] == f"{base}guide/start"
    text = {"markdown": "x\n", "position": "append"}
    written = await space.value("write_document", docName="f/x", **text)
    history = await space.value("get_history", docName="f/x")
    sha = history["entries"][-1]["sha"]
    for found in (
        written,
        history,
        await space.value("read_document", path="f/x.md"),
        await space.value("edit_document", docName="f/x", find="needle", replace="pin"),
        await space.value("rollback_to_version", docName="f/x", commitSha=sha),
    ):
        assert found["previewUrl"] == f"{base}f/x"
    moved = await space.value("rename_document", docName="f/x", newDocName="f/y")
    assert (moved["previewUrl"], moved["previousPreviewUrl"]) == (f"{base}f/y", f"{base}f/x")
    folder = await space.value("rename_folder", fromFolder="f", toFolder="g")
    assert folder["previewUrls"] == {"g/y": f"{base}g/y"}
    gone = await space.value("delete_document", docName="g/y")
    assert gone["previousPreviewUrl"] == f"{base}g/y"
    assert "previewUrl" not in gone
    assert (await space.value("save_version"))["previewUrl"] is None
    assert (await space.value("init-content"))["ui"] == ui
    for tool, arguments in (
        ("ingest", {"source": "x"}),
        ("research", {"topic": "x"}),
        ("consolidate", {"topic": "x"}),
    ):
        assert (await space.value(tool, **arguments))["previewUrl"] is None


@pytest.mark.requirement("wiki.history.timeline", "wiki.read.history", "wiki.history.rollback")
async def test_every_change_is_a_version_that_one_can_go_back_to(space: Space) -> None:
    space.write({"x.md": "as it came\n"})
    await space.value("edit_document", docName="x", find="came", replace="is", summary="Say is")
    await space.value("write_document", docName="x", markdown="all new\n", position="replace")
    rows = (await space.value("get_history", docName="x"))["entries"]
    assert [it["message"] for it in rows] == ["wip: x", "wip: x — Say is", "wip: x"]
    assert [it["author"] for it in rows][2] == "file-system"
    read = await space.value("read_document", path="x.md")
    assert [it["hash"] for it in read["history"]] == [it["sha"] for it in rows]
    assert read["history"][0]["writerName"] == rows[0]["author"]
    done = await space.value("rollback_to_version", docName="x", commitSha=rows[2]["sha"])
    assert space.read("x.md") == "as it came\n"
    assert done["summary"]["value"] == f"Restored to {rows[2]['sha'][:7]}"
    assert (await space.value("get_history", docName="x"))["total"] == 4
    again = await space.value("rollback_to_version", docName="x", commitSha=rows[0]["sha"])
    assert space.read("x.md") == "all new\n"
    assert again["docName"] == "x"


async def test_a_deleted_document_comes_back_with_its_history(space: Space) -> None:
    await space.value("write_document", docName="x", markdown="kept\n", position="replace")
    await space.value("delete_document", docName="x")
    rows = (await space.value("get_history", docName="x"))["entries"]
    assert [it["message"] for it in rows] == ["delete: x", "wip: x"]
    await space.value("rollback_to_version", docName="x", commitSha=rows[1]["sha"])
    assert space.read("x.md") == "kept\n"


async def test_history_follows_a_document_through_renames(space: Space) -> None:
    await space.value(
        "write_document", docName="a", markdown="one\ntwo\nthree\n", position="replace"
    )
    await space.value("rename_document", docName="a", newDocName="d/b")
    rows = (await space.value("get_history", docName="d/b"))["entries"]
    assert [it["message"].partition(" — ")[0] for it in rows] == ["rename: a -> d/b", "wip: a"]
    await space.value("edit_document", docName="d/b", find="two", replace="2")
    await space.value("rollback_to_version", docName="d/b", commitSha=rows[1]["sha"])
    assert space.read("d/b.md") == "one\ntwo\nthree\n"


@pytest.mark.requirement("wiki.history.save_version")
async def test_a_checkpoint_keeps_the_whole_space_and_touches_no_repository_of_the_user(
    space: Space,
) -> None:
    await anyio.run_process(["git", "init", "-q", str(space.folder)])
    space.write({"a.md": "a\n", "d/b.md": "b\n"})
    before = sorted(str(it) for it in (space.folder / ".git").rglob("*"))
    saved = await space.value("save_version", message="Before the move")
    sha = saved["checkpointRef"].rpartition("/")[2]
    assert saved["checkpointRef"] == f"refs/checkpoints/main/{sha}"
    space.write({"a.md": "changed\n"})
    rows = (await space.value("get_history", docName="a", type="checkpoint"))["entries"]
    assert [(it["sha"], it["message"]) for it in rows] == [(sha, "checkpoint: Before the move")]
    await space.value("rollback_to_version", docName="a", commitSha=sha)
    assert space.read("a.md") == "a\n"
    assert sorted(str(it) for it in (space.folder / ".git").rglob("*")) == before
    history = ["git", "--git-dir", str(space.folder / ".pecia/history")]
    git = await anyio.run_process([*history, "ls-tree", "-r", "--name-only", sha])
    assert git.stdout.decode().split() == ["a.md", "d/b.md"]


async def test_history_is_paged_and_filtered(space: Space) -> None:
    for n in range(5):
        await space.value("write_document", docName="x", markdown=f"{n}\n", position="append")
    page = await space.value("get_history", docName="x", limit=2, offset=1)
    assert (len(page["entries"]), page["total"], page["hasMore"]) == (2, 5, True)
    last = await space.value("get_history", docName="x", limit=2, offset=4)
    assert (len(last["entries"]), last["hasMore"]) == (1, False)
    assert (await space.value("get_history", docName="x", type="upstream"))["entries"] == []
    assert (await space.value("get_history", docName="x", author="nobody,agent-"))["total"] == 5
    assert (await space.value("get_history", docName="x", excludeAuthor="agent-"))["total"] == 0
    for arguments, field in (
        ({"branch": "other"}, "branch"),
        ({"limit": 201}, "limit"),
        ({"limit": 0}, "limit"),
        ({"offset": -1}, "offset"),
        ({"type": "park"}, "type"),
    ):
        assert (await space.ask("get_history", docName="x", **arguments)).error["field"] == field
    bad = await space.ask("rollback_to_version", docName="x", commitSha="abc")
    assert bad.error["field"] == "commitSha"
    none = await space.ask("rollback_to_version", docName="x", commitSha="0" * 40)
    assert none.error["code"] == "NOT_FOUND"
    assert (await space.ask("get_history", docName="none")).error["code"] == "NOT_FOUND"


@pytest.mark.requirement(
    "wiki.summary.five_tools", "wiki.summary.input_bound_200", "wiki.summary.warns_of_secrets"
)
async def test_five_tools_take_a_summary_of_bounded_length(served: Served, space: Space) -> None:
    listed = await RawMcp(served.http).ask(ENDPOINT, "tools/list")
    taking = {
        it["name"]: it["inputSchema"]["properties"]["summary"]
        for it in listed["result"]["tools"]
        if "summary" in it["inputSchema"]["properties"]
    }
    assert {*taking} - OURS == {
        *("write_document", "edit_document", "rename_document", "rename_folder"),
        "rollback_to_version",
    }
    assert all("no secrets" in it["description"] for it in taking.values())
    text = {"docName": "x", "markdown": "x", "position": "append"}
    long = await space.ask("write_document", summary="s" * 201, **text)
    assert (long.error["code"], long.error["field"]) == ("PAYLOAD_TOO_LARGE", "summary")
    cut = await space.value("write_document", summary="s" * 200, **text)
    assert (cut["summary"]["truncatedFrom"], len(cut["summary"]["value"])) == (200, 80)


@pytest.mark.requirement(
    "wiki.summary.kept_per_contributor",
    "wiki.summary.rename_default",
    "wiki.summary.rollback_default",
    "wiki.summary.no_default_elsewhere",
    "wiki.summary.folder_shares_one",
)
async def test_summaries_are_kept_with_who_gave_them(space: Space) -> None:
    async def latest(name: str) -> dict[str, Any]:
        entry = (await space.value("get_history", docName=name))["entries"][0]
        return entry["contributors"][0]

    text = {"markdown": "long enough to be seen as the same\n", "position": "append"}
    await space.value("write_document", docName="a", summary="Why it is", **text)
    found = await latest("a")
    assert (found["summaries"], found["docs"]) == (["Why it is"], ["a"])
    await space.value("write_document", docName="a", **text)
    assert "summaries" not in await latest("a")
    await space.value("edit_document", docName="a", find="long", replace="short")
    assert "summaries" not in await latest("a")
    await space.value("rename_document", docName="a", newDocName="d/b")
    assert (await latest("d/b"))["summaries"] == ["Renamed a → d/b"]
    await space.value("write_document", docName="d/c", **text)
    await space.value("rename_folder", fromFolder="d", toFolder="e")
    assert "summaries" not in await latest("e/b")
    await space.value("rename_folder", fromFolder="e", toFolder="f", summary="Tidy up")
    assert [(await latest(it))["summaries"] for it in ("f/b", "f/c")] == [["Tidy up"], ["Tidy up"]]
    sha = (await space.value("get_history", docName="f/b"))["entries"][-1]["sha"]
    await space.value("rollback_to_version", docName="f/b", commitSha=sha)
    assert (await latest("f/b"))["summaries"] == [f"Restored to {sha[:7]}"]


@pytest.mark.requirement("wiki.catalog.mirrors_folders")
async def test_every_folder_of_documents_has_a_catalog(space: Space) -> None:
    space.write({**LINKED, "empty/x.txt": "no document"})
    tending = CatalogMaintenance(space.served.app.store, SpaceSync(space.served.app.store))
    await tending.run_once()
    assert "- **[Alpha](alpha.md)**" in space.read(".pecia/catalogs/INDEX.md")
    assert "[Start](guide/start.md)" in space.read(".pecia/catalogs/guide/INDEX.md")
    assert not (space.folder / ".pecia/catalogs/empty").exists()
    for path in (".pecia/catalogs/INDEX.md", ".ok/catalogs/INDEX.md"):
        read = await space.value("read_document", path=path)
        assert read["content"] == space.read(".pecia/catalogs/INDEX.md")
        out = await space.value("exec", command=f"cat {path} | grep -c Alpha")
        assert out["stdout"] == "1\n"
    listed = (await space.value("list_documents"))["documents"]
    assert {it["docName"] for it in listed} == {it.removesuffix(".md") for it in LINKED}
    (space.folder / "guide/start.md").unlink()
    tending = CatalogMaintenance(space.served.app.store, SpaceSync(space.served.app.store))
    await tending.run_once()
    assert not (space.folder / ".pecia/catalogs/guide").exists()


async def test_catalogs_are_written_only_where_all_readers_see_all(space: Space) -> None:
    space.write(LINKED)
    await space.value("list_documents")
    await space.admin("set_source", trim_mode="per_file")
    await CatalogMaintenance(space.served.app.store, SpaceSync(space.served.app.store)).run_once()
    assert not (space.folder / ".pecia/catalogs").exists()


async def test_the_lake_and_the_wiki_keep_one_source_without_undoing_each_other(
    space: Space,
) -> None:
    space.write({"a.md": "# A\n\nalpha\n", "sheet.csv": "one,two\n", ".okignore": "left.md\n"})
    space.write({"left.md": "left out\n", "gone.md": "gone\n"})

    async def crawled() -> dict[str, Any]:
        app = space.served.app
        await space.admin("crawl_source")
        await run_until_idle(app.store, app.jobs)
        asked = {"source_id": f"wiki:{space.name}"}
        done = await app.call(space.served.ana, "crawl_status", asked, CONTEXT)
        assert isinstance(done.structured, dict)
        return done.structured

    async def stored() -> dict[str, int]:
        async with space.served.app.store.reading(space.served.ana) as tx:
            rows = await tx.fetch_all(
                "SELECT key, revision_id FROM kernel.file WHERE source_id = %(it)s",
                it=f"wiki:{space.name}",
            )
        return {row["key"]: row["revision_id"] for row in rows}

    first = await crawled()
    assert (first["added"], [it["key"] for it in first["passed_first"]]) == (3, ["left.md"])
    before = await stored()
    (space.folder / "gone.md").unlink()
    listed = (await space.value("list_documents"))["documents"]
    assert [it["docName"] for it in listed] == ["a"]
    del before["gone.md"]
    assert await stored() == before
    await space.value("write_document", docName="a", markdown="beta\n", position="append")
    await space.value("write_document", docName="d/b", markdown="new\n", position="append")
    written = await stored()
    assert {*written} == {"a.md", "d/b.md", "sheet.csv"}
    again = await crawled()
    assert (again["added"], again["changed"], again["gone"]) == (0, 0, 0)
    assert await stored() == written


async def test_a_rename_that_was_cut_off_is_undone_at_the_next_call(space: Space) -> None:
    space.write({"old.md": "text\n", "linker.md": "[[new]]\n", "new.md": "text\n"})
    after = b64encode(sha256(b"[[new]]\n").digest()).decode()
    journal: dict[str, Any] = {
        "version": 1,
        "root": "",
        # A transaction that the store never had was not committed.
        "transaction": "9000000000000000000",
        "moves": [["old.md", "new.md", []]],
        "files": [{"path": "linker.md", "body": "W1tvbGRdXQo=", "after": after}],
        "versions": None,
    }
    (space.folder / "old.md").unlink()
    space.write({".pecia/write-journal.json": orjson.dumps(journal)})
    listed = (await space.value("list_documents"))["documents"]
    assert [it["docName"] for it in listed] == ["linker", "old"]
    assert space.read("linker.md") == "[[old]]\n"
    assert not (space.folder / ".pecia/write-journal.json").exists()


async def test_a_journal_that_cannot_be_followed_is_set_aside(space: Space) -> None:
    """It keeps nobody from writing, and a person can look at it."""
    space.write({"a.md": "text\n", ".pecia/write-journal.json": '{"version": 99}'})
    await space.value("write_document", docName="a", markdown="more\n", position="append")
    assert space.read("a.md") == "text\n\nmore\n"
    assert space.read(".pecia/write-journal.json.rejected") == '{"version": 99}'
    assert not (space.folder / ".pecia/write-journal.json").exists()


async def test_writers_at_once_lose_nothing(space: Space) -> None:
    async def add(n: int) -> None:
        await space.value("write_document", docName="x", markdown=f"line {n}\n", position="append")

    async with anyio.create_task_group() as tasks:
        for n in range(8):
            tasks.start_soon(add, n)
    lines = {it for it in space.read("x.md").splitlines() if it}
    assert lines == {f"line {n}" for n in range(8)}
    assert (await space.value("get_history", docName="x"))["total"] == 8
