"""Documents of a space: read, found, written, edited, deleted and moved, over MCP."""

from typing import Any

import pytest

from tests.conftest import CONTEXT, EVERY_SCOPE
from tests.features.wiki.conftest import ENDPOINT, Served, Space
from tests.mcp.raw_mcp import RawMcp

pytestmark = pytest.mark.anyio

TOOLS = {
    *("init-content", "ingest", "research", "consolidate", "read_document", "search", "exec"),
    *("list_documents", "get_backlinks", "get_forward_links", "get_hubs", "get_orphans"),
    *("get_dead_links", "suggest_links", "get_config", "set_config", "set_folder_rule"),
    *("write_document", "edit_document", "delete_document", "rename_document", "rename_folder"),
    *("rollback_to_version", "get_history", "save_version"),
}
OURS = {
    *("write_documents", "patch_frontmatter", "compare_versions", "get_context"),
    *("list_suggestions", "read_suggestion", "comment_suggestion"),
    *("accept_suggestion", "reject_suggestion", "export_space", "import_documents"),
    *("list_conflicts", "read_conflict", "resolve_conflict"),
    *("create_document", "list_templates"),
}
"""Beside those of the reference."""
PAGE = "---\ntitle: One\ntags: [own]\n---\n# Heading\n\nThe quick brown fox, see [[b]].\n"


@pytest.mark.requirement("wiki.tools.full_set", "wiki.server.mcp_endpoint")
async def test_the_endpoint_lists_the_tools_of_the_reference_and_ours(served: Served) -> None:
    listed = await RawMcp(served.http).ask(ENDPOINT, "tools/list")
    tools = {it["name"]: it for it in listed["result"]["tools"]}
    assert {*tools} == TOOLS | OURS
    assert len(TOOLS) == 25


@pytest.mark.requirement("wiki.write.whole_document", "wiki.frontmatter.by_write_document")
async def test_a_written_document_lies_on_the_disk_byte_for_byte(space: Space) -> None:
    done = await space.value("write_document", docName="a/one", markdown=PAGE, position="replace")
    assert (done["docName"], done["path"], done["created"]) == ("a/one", "a/one.md", True)
    assert space.read("a/one.md") == PAGE
    other = "---\ntitle: Two\nstatus: new\n---\nall new  \r\n\n"
    again = await space.value("write_document", docName="a/one", markdown=other, position="replace")
    assert not again["created"]
    assert space.read("a/one.md") == other


async def test_a_write_without_frontmatter_keeps_the_one_that_is_there(space: Space) -> None:
    space.write({"x.md": "---\na: 1\n---\nold\n"})
    await space.value("write_document", docName="x", markdown="new\n", position="replace")
    assert space.read("x.md") == "---\na: 1\n---\nnew\n"
    await space.value("write_document", docName="x.md", markdown="end\n", position="append")
    await space.value("write_document", docName="x", markdown="begin\n", position="prepend")
    assert space.read("x.md") == "---\na: 1\n---\nbegin\n\nnew\n\nend\n"


async def test_a_written_document_is_found_at_once(space: Space) -> None:
    await space.value("write_document", docName="a/one", markdown=PAGE, position="replace")
    found = await space.value("search", query="BROWN fox")
    assert [it["docName"] for it in found["results"]] == ["a/one"]
    await space.served.index()
    ranked = await space.value("search", query="quick fox", mode="ranked")
    assert [it["docName"] for it in ranked["results"]] == ["a/one"]
    lake = await space.served.app.call(
        space.served.ana,
        "search_content",
        {"query": "brown fox", "source_id": f"wiki:{space.name}", "mode": "lexical"},
        CONTEXT,
    )
    assert isinstance(lake.structured, dict)
    assert lake.structured["hits"]


@pytest.mark.requirement("wiki.search.document_contents")
async def test_search_gives_file_line_and_text_of_a_literal_phrase(space: Space) -> None:
    space.write({"a.md": "one\nTwo (x) three\n", "d/b.mdx": "two (X) too\n", "c.txt": "two (x)\n"})
    found = await space.value("search", query="two (x)")
    assert [(it["path"], it["matches"]) for it in found["results"]] == [
        ("a.md", [{"line": 2, "text": "Two (x) three"}]),
        ("d/b.mdx", [{"line": 1, "text": "two (X) too"}]),
    ]
    assert (found["matchCount"], found["fileCount"], found["truncated"]) == (2, 2, False)
    exact = await space.value("search", query="Two (x)", case_sensitive=True)
    assert exact["fileCount"] == 1
    assert (await space.value("search", query="nowhere"))["results"] == []


async def test_a_filter_that_means_nothing_is_refused(space: Space) -> None:
    answer = await space.ask("search", query="x", mode="ranked", case_sensitive=True)
    assert answer.error["field"] == "case_sensitive"
    for arguments, field in (
        ({"query": ""}, "query"),
        ({"query": "  "}, "query"),
        ({"query": "x", "limit": 5}, "limit"),
    ):
        assert (await space.ask("search", **arguments)).error["field"] == field


async def test_ignored_files_are_no_documents_and_eat_no_budget(space: Space) -> None:
    space.write({f"out/{n}.md": "needle\n" for n in range(60)})
    space.write({"in.md": "needle\n", "node_modules/x.md": "needle\n", ".okignore": "drafts/\n"})
    space.write({"drafts/d.md": "needle\n", "p/.gitignore": "q.md\n", "p/q.md": "needle\n"})
    found = await space.value("search", query="needle")
    assert ([it["docName"] for it in found["results"]], found["truncated"]) == (["in"], False)


@pytest.mark.requirement("wiki.config.content_scope_by_okignore")
async def test_okignore_decides_what_is_a_document(space: Space) -> None:
    space.write({"a.md": "a", "private/b.md": "b"})
    before = await space.value("list_documents")
    assert [it["docName"] for it in before["documents"]] == ["a", "private/b"]
    space.write({".okignore": "private/\n"})
    after = await space.value("list_documents")
    assert [it["docName"] for it in after["documents"]] == ["a"]
    refused = await space.ask(
        "write_document", docName="private/c", markdown="x", position="replace"
    )
    assert refused.error["field"] == "docName"
    patch = {"content": {"exclude": ["a.md"]}}
    assert (await space.ask("set_config", patch=patch)).error["code"] == "NOT_AGENT_SETTABLE"


@pytest.mark.requirement("wiki.list.all_documents")
async def test_every_document_is_listed_with_what_is_known_of_its_file(space: Space) -> None:
    space.write({"b.md": "![p](img/p.png)\n", "a/x.mdx": "12345", "img/p.png": b"\x89PNG"})
    space.write({"img/unused.png": b"-"})
    rows = (await space.value("list_documents"))["documents"]
    assert [(it["kind"], it["docName"]) for it in rows] == [
        ("document", "a/x"),
        ("document", "b"),
        ("asset", "img/p.png"),
    ]
    assert (rows[0]["docExt"], rows[0]["size"], rows[0]["isSymlink"]) == (".mdx", 5, False)
    assert (rows[2]["mediaKind"], rows[2]["referencedBy"]) == ("image", ["b"])
    below = (await space.value("list_documents", dir="a"))["documents"]
    assert [it["docName"] for it in below] == ["a/x"]
    assert (await space.ask("list_documents", dir="../x")).error["field"] == "dir"


@pytest.mark.requirement("wiki.read.enriched_frontmatter")
async def test_a_document_is_read_with_what_its_folder_gives_it(space: Space) -> None:
    space.write({"a/one.md": PAGE, "b.md": "back to [[a/one]]\n"})
    rule = {"match": "a/**", "frontmatter": {"description": "Shared.", "tags": ["team"]}}
    await space.value("set_folder_rule", rules=[rule])
    answer = await space.ask("read_document", path="a/one.md")
    assert (answer.value["title"], answer.value["description"]) == ("One", "Shared.")
    assert answer.value["tags"] == ["team", "own"]
    assert answer.value["content"] == PAGE
    assert [it["source"] for it in answer.value["backlinks"]] == ["b"]
    assert [it["docName"] for it in answer.value["forwardLinks"]] == ["b"]
    for words in (
        "## One",
        "**Description:** Shared.",
        "**Tags:** team, own",
        "**Path:** a/one.md",
    ):
        assert words in answer.text
    assert answer.text.endswith(PAGE)
    plain = await space.value("read_document", path="b.md")
    assert plain["title"] == "b"


@pytest.mark.parametrize(
    "path", ["../x.md", "/etc/passwd", "a/../../x.md", "no.md", "a\\b.md", ".git/config", "c.txt"]
)
async def test_nothing_but_documents_of_the_space_is_read(space: Space, path: str) -> None:
    (space.folder.parent / "x.md").write_text("outside", encoding="utf-8")
    space.write({"c.txt": "no document"})
    answer = await space.ask("read_document", path=path)
    assert answer.error["code"] in ("NOT_FOUND", "INVALID_FORMAT")


async def test_links_out_of_the_space_are_followed_by_nobody(space: Space) -> None:
    outside = space.folder.parent / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("SECRET", encoding="utf-8")
    (space.folder / "link.md").symlink_to(outside / "secret.md")
    (space.folder / "linked").symlink_to(outside)
    assert (await space.value("list_documents"))["documents"] == []
    assert (await space.value("search", query="SECRET"))["results"] == []
    assert (await space.ask("read_document", path="linked/secret.md")).is_error
    for name in ("link", "linked/secret", "linked/new"):
        answer = await space.ask("write_document", docName=name, markdown="x", position="replace")
        assert answer.error["code"] == "INVALID_INPUT"
    assert "SECRET" not in (await space.ask("exec", command="cat link.md linked/secret.md")).text
    assert [it.name for it in outside.iterdir()] == ["secret.md"]
    assert (outside / "secret.md").read_text(encoding="utf-8") == "SECRET"


@pytest.mark.parametrize(
    "name", ["../up", "/abs", "a//b", "__system__", ".git/x", ".pecia/x", "x.markdown", "a\0b"]
)
async def test_a_document_is_written_only_where_documents_may_lie(space: Space, name: str) -> None:
    answer = await space.ask("write_document", docName=name, markdown="x", position="replace")
    assert (answer.error["code"], answer.error["field"]) == ("INVALID_FORMAT", "docName")
    assert [*space.folder.iterdir()] == []


@pytest.mark.requirement("wiki.edit.find_and_replace")
async def test_an_edit_replaces_exact_words_and_nothing_else(space: Space) -> None:
    text = "---\ntitle: T\n---\nfoo  foo\r\nend \n"
    space.write({"x.md": text})
    done = await space.value("edit_document", docName="x", find="foo", replace="bar")
    assert (done["replacements"], done["occurrences"], done["offset"]) == (1, 2, 17)
    assert space.read("x.md") == text.replace("foo", "bar", 1)
    await space.value("edit_document", docName="x", find="foo", replace="", offset=22)
    assert space.read("x.md") == "---\ntitle: T\n---\nbar  \r\nend \n"
    late = await space.ask("edit_document", docName="x", find="bar", replace="", offset=3)
    assert late.error["code"] == "CONFLICT"
    gone = await space.ask("edit_document", docName="x", find="foo", replace="")
    assert gone.error["code"] == "NOT_FOUND"
    both = await space.ask(
        "edit_document", docName="x", find="b", replace="", offset=1, occurrence=1
    )
    assert both.error["field"] == "occurrence"
    await space.value("edit_document", docName="x", find="nd", replace="ND", replace_all=True)
    assert space.read("x.md").endswith("\r\neND \n")


@pytest.mark.requirement("wiki.edit.frontmatter_rejected", "wiki.edit.hint_names_write_document")
async def test_an_edit_that_touches_the_frontmatter_is_refused(space: Space) -> None:
    text = "---\ntitle: T\n---\nbody\n"
    space.write({"x.md": text})
    for find in ("title", "---\nbody"):
        answer = await space.ask("edit_document", docName="x", find=find, replace="y")
        assert (answer.error["code"], answer.error["field"]) == ("INVALID_INPUT", "find")
        assert "write_document" in answer.error["hint"]
    over_http = await space.served.http.post(
        "/api/v1/wiki/edit_document",
        json={"space": space.name, "docName": "x", "find": "title", "replace": "y"},
    )
    assert over_http.status_code == 400
    assert space.read("x.md") == text


@pytest.mark.requirement("wiki.edit.body_and_frontmatter_in_turn")
async def test_a_body_edit_and_a_write_of_frontmatter_in_turn_are_both_kept(space: Space) -> None:
    space.write({"x.md": "---\ntitle: T\n---\nbody\n"})
    await space.value("edit_document", docName="x", find="body", replace="new body")
    text = space.read("x.md").replace("title: T", "title: U")
    await space.value("write_document", docName="x", markdown=text, position="replace")
    assert space.read("x.md") == "---\ntitle: U\n---\nnew body\n"


@pytest.mark.requirement("wiki.delete.removes_file")
async def test_a_deleted_document_is_gone_everywhere(space: Space) -> None:
    space.write({"x.md": "needle\n", "y.md": "[[x]]\n"})
    done = await space.value("delete_document", docName="x")
    assert (done["ok"], done["deletedDocNames"]) == (True, ["x"])
    assert [it["source"] for it in done["backlinks"]] == ["y"]
    assert not (space.folder / "x.md").exists()
    assert (await space.value("search", query="needle"))["results"] == []
    assert (await space.ask("delete_document", docName="x")).error["code"] == "NOT_FOUND"


async def test_a_write_that_cannot_be_kept_in_history_leaves_everything_as_it_was(
    space: Space,
) -> None:
    space.write({"x.md": "as it was\n", ".pecia/history": "no folder\n"})
    for tool, arguments in (
        ("write_document", {"docName": "x", "markdown": "lost\n", "position": "append"}),
        ("write_document", {"docName": "new", "markdown": "lost\n", "position": "append"}),
        ("delete_document", {"docName": "x"}),
        ("rename_document", {"docName": "x", "newDocName": "d/y"}),
    ):
        assert (await space.ask(tool, **arguments)).is_error, tool
    assert space.read("x.md") == "as it was\n"
    listed = (await space.value("list_documents"))["documents"]
    assert [it["docName"] for it in listed] == ["x"]
    assert (await space.value("search", query="lost"))["results"] == []
    assert not (space.folder / ".pecia/write-journal.json").exists()


async def test_hidden_files_are_for_nobody(space: Space) -> None:
    space.write({".env": "KEY=secret\n", "d/.env": "KEY=secret\n", ".cfg/x.txt": "secret\n"})
    space.write({"plain.txt": "seen\n", ".okignore": "out\n"})
    found = await space.ask("exec", command="grep -r '' .")
    assert "secret" not in found.text
    assert "plain.txt:seen" in found.text
    assert "KEY" not in (await space.ask("exec", command="cat .env d/.env .cfg/x.txt")).text


async def test_a_writer_is_told_of_links_that_lead_nowhere_and_of_being_alone(space: Space) -> None:
    space.write({"README.md": "hello\n"})
    done = await space.value(
        "write_document", docName="new", markdown="[[README]] [[gone]]\n", position="replace"
    )
    assert done["deadLinks"] == ["gone"]
    assert done["hints"][0]["type"] == "orphan"
    assert done["hints"][0]["parentCandidates"] == ["README"]


async def test_what_a_writer_is_told_is_as_of_the_last_write(space: Space) -> None:
    """Also of several in a row, and of a file that somebody else wrote in the same moment."""
    for name, text, dead in (
        ("a", "[[b]]\n", ["b"]),
        ("b", "[[a]] [[c]]\n", ["c"]),
        ("c", "[[a]]\n", None),
        ("a", "[[b]] [[d]]\n", ["d"]),
    ):
        done = await space.value("write_document", docName=name, markdown=text, position="replace")
        assert done.get("deadLinks") == dead, name
    for text in ("[[x]]", "[[y]]", "[[z]]"):
        space.write({"c.md": text})
        found = await space.value("get_dead_links", sourceDocNames=["c"])
        assert [it["target"] for it in found["deadLinks"]] == [text.strip("[]")]
        assert (await space.value("search", query=text))["fileCount"] == 1


@pytest.mark.requirement("wiki.rename.document")
async def test_a_renamed_document_takes_its_links_along(space: Space) -> None:
    space.write(
        {
            "a.md": "[[b]] [[b#h|words]] [x](b.md 'title') `[[b]]` [[other]]\n",
            "b.md": "---\ntitle: Bee\n---\nup [a](./a.md) ![i](img/p.png)\n",
            "other.md": "[[Bee]]\n",
            "img/p.png": b"-",
        }
    )
    done = await space.value("rename_document", docName="b", newDocName="d/bee")
    assert done["renamed"] == [{"fromDocName": "b", "toDocName": "d/bee"}]
    assert {it["docName"]: it["rewrites"] for it in done["rewrittenDocs"]} == {"a": 3, "d/bee": 2}
    assert space.read("a.md") == (
        "[[d/bee]] [[d/bee#h|words]] [x](d/bee.md 'title') `[[b]]` [[other]]\n"
    )
    assert space.read("d/bee.md") == "---\ntitle: Bee\n---\nup [a](./../a.md) ![i](../img/p.png)\n"
    assert space.read("other.md") == "[[Bee]]\n"
    assert not (space.folder / "b.md").exists()
    assert not (space.folder / ".pecia/write-journal.json").exists()
    found = await space.value("search", query="up [a]")
    assert [it["docName"] for it in found["results"]] == ["d/bee"]


@pytest.mark.requirement("wiki.rename.folder")
async def test_a_renamed_folder_moves_everything_in_one_call(space: Space) -> None:
    space.write(
        {"top.md": "[[d/a]] [b](d/e/b.md) ![p](d/p.png)\n", "d/a.md": "[[d/e/b]] [t](../top.md)\n"}
    )
    space.write({"d/e/b.md": "[a](../a.md)\n", "d/p.png": b"-", "d/notes.txt": "x"})
    done = await space.value("rename_folder", fromFolder="d", toFolder="papers/new")
    assert [it["toDocName"] for it in done["renamed"]] == ["papers/new/a", "papers/new/e/b"]
    assert space.read("top.md") == (
        "[[papers/new/a]] [b](papers/new/e/b.md) ![p](papers/new/p.png)\n"
    )
    assert space.read("papers/new/a.md") == "[[papers/new/e/b]] [t](../../top.md)\n"
    assert space.read("papers/new/e/b.md") == "[a](../a.md)\n"
    assert space.read("papers/new/notes.txt") == "x"
    assert not (space.folder / "d").exists()
    dead = await space.value("get_dead_links")
    assert dead["deadLinks"] == []


async def test_a_folder_of_attachments_alone_is_renamed_with_the_links_to_them(
    space: Space,
) -> None:
    space.write({"top.md": "![p](media/in/p.png)\n", "media/in/p.png": b"-"})
    done = await space.ask("rename_folder", fromFolder="media", toFolder="pictures")
    assert not done.is_error
    assert (done.value["renamed"], done.value["movedFiles"]) == ([], 1)
    assert "1 other files moved" in done.text
    assert (space.folder / "pictures/in/p.png").read_bytes() == b"-"
    assert not (space.folder / "media").exists()
    assert space.read("top.md") == "![p](pictures/in/p.png)\n"
    versions = await space.value("get_history", docName="top")
    assert versions["entries"][0]["message"].startswith("rename: media -> pictures")
    taken = await space.ask("rename_folder", fromFolder="pictures", toFolder="top.md")
    assert taken.is_error
    assert (space.folder / "pictures/in/p.png").exists()


async def test_files_that_cannot_be_documents_are_named_with_the_reason(space: Space) -> None:
    space.write({"fine.md": "x\n", "docs/fine.txt": "x\n"})
    await space.value("list_documents")
    # A byte of a name that is not UTF-8, as Python reads it from the disk.
    space.write({"docs/caf\udce9.md": "x\n"})
    listed = await space.ask("list_documents")
    assert [it["docName"] for it in listed.value["documents"]] == ["fine"]
    assert listed.value["unreadable"] == [
        {"path": "docs/caf\\udce9.md", "reason": "the name is not UTF-8"}
    ]
    # A list that is cut says so.
    space.write({f"docs/{it}\udce9.md": "x\n" for it in range(60)})
    many = (await space.ask("list_documents")).value
    assert (len(many["unreadable"]), many["unreadableTotal"]) == (50, 61)
    await space.admin("set_source", trim_mode="per_file")
    await space.admin("grant", folder="docs/", to="user:bo", role="reader")
    assert "unreadable" not in (await space.ask_as_bo("list_documents")).value


async def test_a_rename_that_cannot_be_changes_nothing(space: Space) -> None:
    space.write({"a.md": "[[b]]\n", "b.md": "b\n", "d/c.md": "c\n", "x.txt": "x", "f/y.txt": "y"})
    for arguments, code in (
        ({"docName": "a", "newDocName": "b"}, "CONFLICT"),
        ({"docName": "a", "newDocName": "B"}, "CONFLICT"),
        ({"docName": "a", "newDocName": "A"}, "INVALID_INPUT"),
        ({"docName": "gone", "newDocName": "z"}, "NOT_FOUND"),
        ({"docName": "a", "newDocName": "../z"}, "INVALID_FORMAT"),
        ({"docName": "a", "newDocName": "node_modules/z"}, "INVALID_FORMAT"),
        ({"docName": "a", "newDocName": ".pecia/z"}, "INVALID_FORMAT"),
        ({"docName": "a", "newDocName": "__system__"}, "INVALID_FORMAT"),
    ):
        assert (await space.ask("rename_document", **arguments)).error["code"] == code, arguments
    for old, new, code in (
        ("d", "f", "CONFLICT"),
        ("d", "d/e", "INVALID_INPUT"),
        ("d", "D", "INVALID_INPUT"),
        ("none", "x", "NOT_FOUND"),
        ("d/", "x", "INVALID_FORMAT"),
    ):
        answer = await space.ask("rename_folder", fromFolder=old, toFolder=new)
        assert answer.error["code"] == code, (old, new)
    same = await space.value("rename_document", docName="a", newDocName="a")
    assert (same["renamed"], same["rewrittenDocs"]) == ([], [])
    empty = await space.value("rename_folder", fromFolder="f", toFolder="g")
    assert (empty["ok"], empty["renamed"]) == (True, [])
    clash = await space.ask("rename_document", docName="a", newDocName="b")
    assert clash.error["colliding"] == [{"existing": "b", "incoming": "a", "to": "b"}]
    assert {name: space.read(name) for name in ("a.md", "b.md", "d/c.md")} == {
        "a.md": "[[b]]\n",
        "b.md": "b\n",
        "d/c.md": "c\n",
    }


async def test_whoever_may_not_read_a_space_sees_nothing_of_it(space: Space) -> None:
    space.write({"a.md": "needle [[b]]\n", "d/b.md": "needle\n"})
    await space.value("list_documents")
    await space.admin("set_source", trim_mode="per_file")
    for tool, arguments in (
        ("list_documents", {}),
        ("search", {"query": "needle"}),
        ("read_document", {"path": "a.md"}),
        ("exec", {"command": "cat a.md"}),
        ("get_backlinks", {"docName": "a"}),
        ("get_config", {}),
        ("write_document", {"docName": "a", "markdown": "x", "position": "append"}),
        ("get_history", {"docName": "a"}),
    ):
        answer = await space.ask_as_bo(tool, **arguments)
        assert answer.error["code"] == "NOT_FOUND", tool
        assert "needle" not in answer.text
    assert space.read("a.md") == "needle [[b]]\n"


async def test_whoever_sees_one_folder_sees_the_rest_in_no_answer(space: Space) -> None:
    space.write(
        {"d/b.md": "needle [[secret/s]] [[d/c]]\n", "d/c.md": "c\n", "plain.txt": "needle\n"}
    )
    space.write({"secret/s.md": "needle [[d/b]]\n", "secret/t.md": "[[d/c]]\n"})
    await space.value("list_documents")
    await space.admin("set_source", trim_mode="per_file")
    await space.admin("grant", folder="d/", to="user:bo", role="reader")
    listed = (await space.ask_as_bo("list_documents")).value["documents"]
    assert [it["docName"] for it in listed] == ["d/b", "d/c"]
    for tool, arguments in (
        ("search", {"query": "needle"}),
        ("exec", {"command": "grep -rn needle ."}),
        ("exec", {"command": "ls"}),
        ("exec", {"command": "find . -type f"}),
        ("exec", {"command": "cat .pecia/catalogs/INDEX.md"}),
        ("get_backlinks", {"docName": "d/c"}),
        ("get_hubs", {}),
        ("get_orphans", {}),
        ("read_document", {"path": "d/b.md"}),
    ):
        answer = await space.ask_as_bo(tool, **arguments)
        assert not answer.is_error, (tool, answer.text)
        text = str({**answer.value, "content": "", "forwardLinks": [], "stdout": ""})
        assert "secret" not in text.replace("[[secret/s]]", ""), (tool, text)
        assert "plain.txt" not in answer.text
        assert "secret/s.md" not in answer.text
    dead = (await space.ask_as_bo("get_dead_links")).value["deadLinks"]
    assert [it["target"] for it in dead] == ["secret/s"]
    for path in ("secret/s.md", "secret/none.md"):
        answer = await space.ask_as_bo("read_document", path=path)
        assert answer.error["message"] == f"no document at {path!r}"


async def test_writing_needs_the_right_to_write_there(space: Space) -> None:
    space.write({"a.md": "[[d/b]]\n", "d/b.md": "b\n"})
    new = {"markdown": "x\n", "position": "append"}
    refused: list[tuple[str, dict[str, Any]]] = [
        ("write_document", {"docName": "a", **new}),
        ("write_document", {"docName": "new", **new}),
        ("edit_document", {"docName": "a", "find": "d", "replace": "e"}),
        ("delete_document", {"docName": "a"}),
        ("rename_document", {"docName": "a", "newDocName": "z"}),
        ("rename_folder", {"fromFolder": "d", "toFolder": "z"}),
        ("save_version", {}),
        ("set_folder_rule", {"rules": [{"match": "a", "frontmatter": {}}]}),
    ]
    for tool, arguments in refused:
        answer = await space.ask_as_bo(tool, **arguments)
        assert answer.error["code"] == "FORBIDDEN", tool
    await space.admin("grant", folder="d/", to="user:bo", role="writer")
    assert not (await space.ask_as_bo("write_document", docName="d/new", **new)).is_error
    assert (await space.ask_as_bo("write_document", docName="x", **new)).is_error
    # The link in a.md would break, and bo may not mend it.
    answer = await space.ask_as_bo("rename_document", docName="d/b", newDocName="d/c")
    assert answer.error["code"] == "FORBIDDEN"
    assert (space.read("a.md"), space.read("d/b.md")) == ("[[d/b]]\n", "b\n")
    assert not (space.folder / "z.md").exists()


async def test_a_token_without_the_scope_writes_nothing(space: Space) -> None:
    made = await space.served.app.call(
        space.served.ana,
        "make_token",
        {"label": "reader", "user": "bo", "scopes": [*EVERY_SCOPE[:2]]},
        CONTEXT,
    )
    assert isinstance(made.structured, dict)
    token = str(made.structured["token"])
    listed = await RawMcp(space.served.http, token).ask(ENDPOINT, "tools/list")
    assert "write_document" not in {it["name"] for it in listed["result"]["tools"]}


async def test_a_write_is_audited_with_its_document_and_without_its_text(space: Space) -> None:
    await space.value("write_document", docName="x", markdown="PRIVATE WORDS", position="replace")
    await space.served.app.audit_log.drain()
    async with space.served.app.store.system() as tx:
        rows = await tx.fetch_all(
            "SELECT arguments, keys, sources, status FROM kernel.audit WHERE tool = %(tool)s "
            "AND arguments ->> 'space' = %(space)s",
            tool="wiki.write_document",
            space=space.name,
        )
    assert [(it["status"], it["arguments"]["docName"]) for it in rows] == [("ok", "x")]
    assert "PRIVATE WORDS" not in str(rows)


@pytest.mark.requirement("wiki.config.cwd_picks_project")
async def test_the_space_is_picked_by_a_folder_of_it_or_by_its_name(space: Space) -> None:
    space.write({"a.md": "here\n"})
    served = space.served
    inside = str(space.folder / "some" / "folder")
    found = await served.call(None, "list_documents", {"cwd": inside})
    assert [it["docName"] for it in found.value["documents"]] == ["a"]
    for cwd, code in (("/nowhere", "NOT_FOUND"), ("relative", "INVALID_INPUT")):
        answer = await served.call(None, "list_documents", {"cwd": cwd})
        assert answer.error["code"] == code
        assert (await served.call(None, "get_config", {"cwd": cwd})).error["code"] == code
    unknown = await served.call(None, "list_documents", {"space": "none"})
    assert unknown.error["code"] == "NOT_FOUND"


async def test_a_document_that_is_not_utf8_is_listed_and_says_so_when_read(space: Space) -> None:
    space.write({"bad.md": b"\xff\xfe caf\xe9"})
    assert len((await space.value("list_documents"))["documents"]) == 1
    answer = await space.ask("read_document", path="bad.md")
    assert answer.error["code"] == "UNPROCESSABLE"
    assert (await space.value("search", query="caf"))["results"] == []


async def test_the_content_folder_is_where_documents_lie(space: Space) -> None:
    space.write(
        {".pecia/config.yml": "content:\n  dir: docs\n", "docs/a.md": "[[b]]\n", "x.md": "x"}
    )
    done = await space.value("write_document", docName="b", markdown="b\n", position="replace")
    assert done["path"] == "docs/b.md"
    assert space.read("docs/b.md") == "b\n"
    listed = (await space.value("list_documents"))["documents"]
    assert [(it["docName"], it["path"]) for it in listed] == [
        ("a", "docs/a.md"),
        ("b", "docs/b.md"),
    ]
    assert (await space.value("read_document", path="docs/a.md"))["docName"] == "a"
    assert (await space.ask("read_document", path="x.md")).is_error
    out = await space.value("exec", command="cat docs/b.md")
    assert out["stdout"] == "==> docs/b.md <==\nb\n"


async def test_a_document_is_read_in_parts_of_the_length_that_is_asked_for(space: Space) -> None:
    body = "# Big\n\n## One\n\n" + "äöü " * 100 + "\n\n## Two\n\nend\n"
    space.write({"big.md": body})
    found, offset, parts = "", 0, 0
    while offset is not None:
        part = await space.ask("read_document", path="big.md", offset=offset, limit=100)
        assert len(part.value["content"]) <= 100
        assert part.value["contentTotal"] == len(body)
        found, offset, parts = found + part.value["content"], part.value["nextOffset"], parts + 1
        if offset is not None:
            assert f"offset {offset}" in part.text
    assert (found, parts) == (body, -(-len(body) // 100))
    section = await space.value("read_document", path="big.md", heading="One", offset=8, limit=3)
    assert (section["content"], section["nextOffset"]) == ("äöü", 11)
    whole = await space.value("read_document", path="big.md", limit=10_000_000)
    assert whole["content"] == body
    assert "nextOffset" not in whole
    assert (await space.ask("read_document", path="big.md", limit=0)).is_error
