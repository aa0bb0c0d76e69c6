"""What a rename takes along, leaves behind and refuses, over MCP."""

import pytest

from tests.features.wiki.conftest import Space

pytestmark = pytest.mark.anyio

RULES = """\
# Ours.
folders:
  - match: meetings/**   # weekly
    template: templates/meeting
  - match: law/**
    locked: true
    template: templates/meeting
  - match: notes/**
    template: templates/note
"""


async def test_a_folder_that_is_left_empty_is_removed_however_it_was_emptied(
    space: Space,
) -> None:
    space.write({f"{it}/in/x.md": "x\n" for it in ("one", "two", "three", "four")})
    space.write({"four/picture.png": b"p"})
    await space.value("rename_document", docName="one/in/x", newDocName="a")
    await space.value("delete_document", docName="two/in/x")
    await space.value("rename_folder", fromFolder="three/in", toFolder="b")
    await space.value("rename_document", docName="four/in/x", newDocName="c")
    there = {it.name for it in space.folder.iterdir() if not it.name.startswith(".")}
    # What has a file stays.
    assert there == {"a.md", "b", "c.md", "four"}
    assert [it.name for it in (space.folder / "four").iterdir()] == ["picture.png"]
    assert [it.name for it in (space.folder / "b").iterdir()] == ["x.md"]


async def test_a_folder_with_locked_documents_is_not_renamed_and_they_are_named(
    space: Space,
) -> None:
    space.write(
        {
            "d/a.md": "words\n",
            "d/in/x.md": "---\nlocked: true\n---\nwords\n",
            "d/law/b.md": "words\n",
            ".pecia/config.yml": "folders:\n  - match: '**/law/**'\n    locked: true\n",
        }
    )
    refused = await space.ask("rename_folder", fromFolder="d", toFolder="e")
    assert refused.error["code"] == "CONFLICT"
    assert refused.error["locked"] == ["d/in/x", "d/law/b"]
    assert "d/in/x" in refused.error["message"]
    one = await space.ask("rename_document", docName="d/in/x", newDocName="y")
    assert one.error["locked"] == ["d/in/x"]
    assert (space.folder / "d/in/x.md").exists()
    # Nothing is created below a locked folder, and nothing moves there.
    into = await space.ask("rename_document", docName="d/a", newDocName="d/law/a")
    assert into.error["code"] == "CONFLICT"
    await space.value("patch_frontmatter", docName="d/in/x", patch={"locked": None})
    space.write({".pecia/config.yml": ""})
    moved = await space.value("rename_folder", fromFolder="d", toFolder="e")
    assert len(moved["renamed"]) == 3


async def test_folder_rules_follow_a_template_that_is_renamed(space: Space) -> None:
    space.write(
        {
            "templates/meeting.md": "# Meeting {{title}}\n",
            "templates/note.md": "# Note {{title}}\n",
            ".pecia/config.yml": RULES,
        }
    )
    done = await space.ask(
        "rename_document", docName="templates/meeting", newDocName="templates/weekly"
    )
    rules = [{"match": it, "template": "templates/weekly"} for it in ("meetings/**", "law/**")]
    assert done.value["updatedRules"] == rules
    assert "2 folder rules" in done.text
    # No other character of the file changes.
    assert space.read(".pecia/config.yml") == RULES.replace("/meeting\n", "/weekly\n")
    made = await space.value("create_document", docName="meetings/one")
    assert made["template"] == "templates/weekly"
    moved = await space.value("rename_folder", fromFolder="templates", toFolder="forms")
    assert [it["template"] for it in moved["updatedRules"]] == [
        "forms/weekly",
        "forms/weekly",
        "forms/note",
    ]
    assert "missing" not in await space.value("list_templates")
    other = await space.value("rename_document", docName="meetings/one", newDocName="two")
    assert "updatedRules" not in other


async def test_who_may_not_change_the_settings_is_told_which_rules_are_behind(
    space: Space,
) -> None:
    space.write({"templates/meeting.md": "# Meeting\n", ".pecia/config.yml": RULES})
    await space.admin("set_source", trim_mode="per_file")
    await space.admin("grant", folder="templates/", to="user:bo", role="writer")
    await space.value("list_documents")
    done = await space.ask_as_bo(
        "rename_document", docName="templates/meeting", newDocName="templates/weekly"
    )
    behind = [{"match": it, "template": "templates/meeting"} for it in ("meetings/**", "law/**")]
    assert done.value["staleRules"] == behind
    assert "updatedRules" not in done.value
    assert "set_folder_rule" in done.text
    assert space.read(".pecia/config.yml") == RULES


async def test_links_to_a_folder_and_its_files_follow_it(space: Space) -> None:
    space.write(
        {
            "pics/in/a.md": "[here](./) [up](../)\n",
            "pics/b.png": b"p",
            "x.md": "[all](pics/) [in](./pics/in) [p](pics/b.png) [[pics/in]] [none](pics/none/)\n",
            "far/y.md": "[all](../pics/) <a href='../pics/b.png'>p</a>\n",
        }
    )
    moved = await space.ask("rename_folder", fromFolder="pics", toFolder="img/all")
    assert space.read("x.md") == (
        "[all](img/all/) [in](./img/all/in) [p](img/all/b.png) [[img/all/in]] [none](pics/none/)\n"
    )
    assert space.read("far/y.md") == "[all](../img/all/) <a href='../img/all/b.png'>p</a>\n"
    assert space.read("img/all/in/a.md") == "[here](./) [up](../)\n"
    assert {it["docName"] for it in moved.value["rewrittenDocs"]} == {"x", "far/y"}
    await space.value("rename_document", docName="far/y", newDocName="y")
    assert space.read("y.md") == "[all](img/all/) <a href='img/all/b.png'>p</a>\n"


async def test_links_that_cannot_follow_are_named(space: Space) -> None:
    space.write(
        {"a.md": "a\n", "d/x.md": "[[a]] [[a|b]] [m](../a.md)\n", "l.md": b"caf\xe9 [[a]]\n"}
    )
    done = await space.ask("rename_document", docName="a", newDocName="new [1] #2")
    assert (done.value["strandedLinks"], done.value["stranded"]) == (2, ["d/x"])
    assert "2 links cannot name that place and are dead now: in d/x." in done.text
    assert "not UTF-8: l." in done.text
    assert space.read("d/x.md") == "[[a]] [[a|b]] [m](../new%20[1]%20%232.md)\n"


async def test_a_citation_in_brackets_follows_a_rename_and_is_no_dead_link(space: Space) -> None:
    text = "Stated before [[1]](d/b.md#part), and elsewhere [[2]](https://x.example/b.md).\n"
    space.write({"a.md": text, "d/b.md": "# B\n\n## Part\n"})
    assert (await space.value("get_dead_links"))["deadLinks"] == []
    found = await space.value("get_backlinks", docName="d/b")
    assert [it["source"] for it in found["backlinks"]] == ["a"]
    await space.value("rename_document", docName="d/b", newDocName="e/c")
    assert space.read("a.md") == text.replace("d/b.md#", "e/c.md#")
