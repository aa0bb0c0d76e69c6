"""Writes that are guarded: by the version they were made from, by locks, and as one of several."""

import re

import pytest

from tests.features.wiki.conftest import Space

pytestmark = pytest.mark.anyio

PAGE = (
    "---\ntitle: One # kept\ntags: [a]\n---\n# One\n\nintro\n\n## Setup\n\nfirst\n\n"
    "### Linux\n\napt\n\n## End\n\nlast\n"
)


async def test_a_write_with_a_stale_version_is_refused_and_told_the_current_one(
    space: Space,
) -> None:
    space.write({"x.md": "one\n", "y.md": "[[x]]\n"})
    read = await space.value("read_document", path="x.md")
    stale = {"docName": "x", "expected_version": read["version"]}
    done = await space.value(
        "edit_document", docName="x", find="one", replace="two", expected_version=read["version"]
    )
    again = await space.value("read_document", path="x.md")
    assert again["version"] == done["version"] != read["version"]
    sha = (await space.value("get_history", docName="x"))["entries"][0]["sha"]
    for tool, arguments in (
        ("edit_document", {"find": "two", "replace": "three"}),
        ("write_document", {"markdown": "three\n", "position": "replace"}),
        ("patch_frontmatter", {"patch": {"a": 1}}),
        ("delete_document", {}),
        ("rename_document", {"newDocName": "z"}),
        ("rollback_to_version", {"commitSha": sha}),
    ):
        refused = await space.ask(tool, **stale, **arguments)
        assert refused.error["code"] == "CONFLICT", tool
        assert refused.error["currentVersion"] == done["version"], tool
    assert space.read("x.md") == "two\n"
    moved = {"docName": "x", "newDocName": "z", "expected_version": done["version"]}
    await space.value("rename_document", **moved)
    assert space.read("y.md") == "[[z]]\n"


async def test_who_reads_the_text_alone_can_guard_the_next_write(space: Space) -> None:
    space.write({"x.md": "one\n"})

    async def edit(find: str, replace: str, version: str) -> str:
        answer = await space.ask(
            "edit_document", docName="x", find=find, replace=replace, expected_version=version
        )
        return answer.text

    read = (await space.ask("read_document", path="x.md")).text
    saved = await edit("one", "two", _said_version(read, r"\*\*Version:\*\* (\w+)"))
    saved = await edit("two", "three", _said_version(saved, r"version (\w+)\."))
    patched = await space.ask(
        "patch_frontmatter",
        docName="x",
        patch={"a": 1},
        expected_version=_said_version(saved, r"version (\w+)\."),
    )
    row = {"docName": "x", "markdown": "four\n", "position": "append"}
    row["expected_version"] = _said_version(patched.text, r"version (\w+)\.")
    several = (await space.ask("write_documents", documents=[row])).text
    await edit("four", "five", _said_version(several, r"x, version (\w+)"))
    assert "five" in space.read("x.md")


def _said_version(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    assert found is not None, text
    return found[1]


async def test_a_write_that_expects_no_document_only_creates(space: Space) -> None:
    new = {"markdown": "x\n", "position": "replace", "expected_version": "none"}
    await space.value("write_document", docName="x", **new)
    assert (await space.ask("write_document", docName="x", **new)).error["code"] == "CONFLICT"


async def test_several_documents_are_written_as_one_version_or_not_at_all(space: Space) -> None:
    space.write({"old.md": "old\n"})
    rows = [
        {"docName": f"d/{it}", "markdown": f"# {it}\n", "position": "replace"} for it in range(20)
    ]
    bad = {"docName": "old", "markdown": "x\n", "position": "append", "expected_version": "stale"}
    assert (await space.ask("write_documents", documents=[*rows, bad])).is_error
    assert not (space.folder / "d").exists()
    done = await space.value("write_documents", documents=rows, summary="All of them")
    assert [it["created"] for it in done["written"]] == [True] * 20
    assert space.read("d/7.md") == "# 7\n"
    entries = [
        (await space.value("get_history", docName=f"d/{it}"))["entries"] for it in range(0, 20, 7)
    ]
    assert len({it[0]["sha"] for it in entries}) == 1
    twice = await space.ask("write_documents", documents=[rows[0], rows[0]])
    assert twice.error["code"] == "INVALID_INPUT"


async def test_a_section_is_read_and_written_by_its_heading_path(space: Space) -> None:
    space.write({"x.md": PAGE})
    read = await space.value("read_document", path="x.md", heading="one > setup")
    assert read["content"] == "## Setup\n\nfirst\n\n### Linux\n\napt\n\n"
    assert read["section"] == ["One", "Setup"]
    linux = {"docName": "x", "heading": "Linux"}
    await space.value("write_document", **linux, markdown="dnf", position="append")
    await space.value("edit_document", **linux, find="apt", replace="apt-get")
    assert space.read("x.md") == PAGE.replace("apt\n", "apt-get\n\ndnf\n")
    await space.value("write_document", **linux, markdown="all new\n", position="replace")
    assert space.read("x.md") == PAGE.replace("apt\n", "all new\n")
    outside = await space.ask("edit_document", **linux, find="intro", replace="x")
    assert outside.error["code"] == "NOT_FOUND"
    unknown = await space.ask("read_document", path="x.md", heading="Nowhere")
    assert unknown.error["allowed"] == [*("One", "One > Setup", "One > Setup > Linux", "One > End")]


async def test_a_patch_of_the_frontmatter_changes_no_other_character(space: Space) -> None:
    space.write({"x.md": PAGE, "plain.md": "words\n"})
    done = await space.value(
        "patch_frontmatter", docName="x", patch={"status": "draft", "tags": None}
    )
    assert done["frontmatter"] == {"title": "One", "status": "draft"}
    assert space.read("x.md") == PAGE.replace("tags: [a]\n", "status: draft\n")
    await space.value("patch_frontmatter", docName="plain", patch={"tags": ["b", "c"]})
    assert space.read("plain.md") == "---\ntags: [b, c]\n---\nwords\n"


async def test_a_locked_document_is_changed_by_no_tool_until_it_is_unlocked(space: Space) -> None:
    space.write(
        {
            "x.md": "---\nlocked: true\n---\nwords\n",
            "law/a.md": "text\n",
            ".pecia/config.yml": "folders:\n  - match: law/**\n    locked: true\n",
        }
    )
    for name in ("x", "law/a"):
        for tool, arguments in (
            ("edit_document", {"find": "t", "replace": "u"}),
            ("write_document", {"markdown": "x", "position": "append"}),
            ("delete_document", {}),
            ("rename_document", {"newDocName": "z"}),
        ):
            refused = await space.ask(tool, docName=name, **arguments)
            assert refused.error["code"] == "CONFLICT", (name, tool)
    unlocking = {"patch": {"locked": None}}
    assert (await space.ask("patch_frontmatter", docName="law/a", **unlocking)).is_error
    await space.value("patch_frontmatter", docName="x", **unlocking)
    await space.value("edit_document", docName="x", find="words", replace="others")


async def test_a_new_document_is_told_of_similar_ones(space: Space) -> None:
    space.write({"guides/cargo-bike.md": "# Cargo bikes\n", "index.md": "# Home\n"})
    new = {"markdown": "# Cargo bike\n", "position": "replace"}
    done = await space.value("write_document", docName="notes/cargo bike", **new)
    found = [it for it in done["hints"] if it["type"] == "similar"]
    assert found[0]["documents"] == ["guides/cargo-bike"]
    other = await space.value("write_document", docName="law/index", **new)
    assert all("index" not in it.get("documents", ()) for it in other["hints"])


async def test_two_versions_are_compared_by_lines(space: Space) -> None:
    for text in ("one\ntwo\n", "one\n2\n", "one\n2\nthree"):
        await space.value("write_document", docName="x", markdown=text, position="replace")
    shas = [it["sha"] for it in (await space.value("get_history", docName="x"))["entries"]]
    asked = {"docName": "x", "fromSha": shas[2]}
    first = await space.value("compare_versions", **asked, toSha=shas[1])
    assert first["diff"].splitlines()[2:] == ["@@ -1,2 +1,2 @@", " one", "-two", "+2"]
    assert (first["addedLines"], first["removedLines"]) == (1, 1)
    now = await space.value("compare_versions", **asked)
    assert now["diff"].endswith("+three\n\\ No newline at end of file\n")
    same = await space.ask("compare_versions", docName="x", fromSha=shas[0])
    assert (same.value["diff"], same.text) == ("", "The versions are equal.")


async def test_a_rename_changes_no_locked_document(space: Space) -> None:
    space.write(
        {
            "a.md": "words\n",
            "x.md": "---\nlocked: true\n---\n[[a]]\n",
            "law/b.md": "[[a]]\n",
            "y.md": "[[a]] locked: true\n",
            ".pecia/config.yml": "folders:\n  - match: law/**\n    locked: true\n",
        }
    )
    refused = await space.ask("rename_document", docName="a", newDocName="z")
    assert refused.error["code"] == "CONFLICT"
    assert refused.error["locked"] == ["law/b", "x"]
    assert space.read("y.md") == "[[a]] locked: true\n"
    assert (space.folder / "a.md").exists()
    await space.value("patch_frontmatter", docName="x", patch={"locked": None})
    space.write({".pecia/config.yml": ""})
    await space.value("rename_document", docName="a", newDocName="z")
    assert space.read("law/b.md") == "[[z]]\n"


async def test_a_document_that_is_created_needs_no_position_and_one_that_exists_is_appended_to(
    space: Space,
) -> None:
    await space.value("write_document", docName="new", markdown="one\n")
    assert space.read("new.md") == "one\n"
    await space.value("write_document", docName="new", markdown="two\n")
    assert space.read("new.md") == "one\n\ntwo\n"
    await space.value("write_documents", documents=[{"docName": "other", "markdown": "x\n"}])
    assert space.read("other.md") == "x\n"
