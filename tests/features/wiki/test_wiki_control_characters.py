"""Control characters: refused in what tools are sent, kept in files that have them, over MCP."""

from typing import Any

import pytest

from tests.features.wiki.conftest import Space

pytestmark = pytest.mark.anyio

KEPT = "a\tb\fc\r\nd\n"
NUL, ESCAPE = "\0", "\x1b"


@pytest.mark.parametrize("sign", ["\0", "\x01", "\x08", "\x0b", "\x1b", "\x1f", "\x7f"])
async def test_a_write_with_a_control_character_is_refused_with_its_field_and_position(
    space: Space, sign: str
) -> None:
    space.write({"x.md": "one\n", "t/page.md": "{{guest}}\n"})
    waiting = await space.value(
        "edit_document", docName="x", find="one", replace="two", suggest=True
    )
    bad, at = f"first\nse{sign}cond\n", 8
    document: dict[str, Any] = {"docName": "x", "position": "append"}
    about = {"suggestion": waiting["suggestion"]}
    for tool, field, arguments in (
        ("write_document", "markdown", {**document, "markdown": bad}),
        ("write_document", "markdown", {**document, "markdown": bad, "suggest": True}),
        ("write_documents", "documents.0.markdown", {"documents": [{**document, "markdown": bad}]}),
        ("edit_document", "replace", {"docName": "x", "find": "one", "replace": bad}),
        ("create_document", "markdown", {"docName": "new", "markdown": bad}),
        (
            "create_document",
            "variables.guest",
            {"docName": "new", "template": "t/page", "variables": {"guest": bad}},
        ),
        ("patch_frontmatter", "patch", {"docName": "x", "patch": {"a": {"b": ["c", bad]}}}),
        ("comment_suggestion", "text", {**about, "text": bad}),
        ("reject_suggestion", "comment", {**about, "comment": bad}),
    ):
        refused = await space.ask(tool, **arguments)
        assert refused.error["code"] == "INVALID_FORMAT", tool
        assert refused.error["field"] == field, tool
        assert refused.error["position"] == at, tool
        assert f"position {at} (line 2, column 3)" in refused.error["message"], tool
        assert f"U+{ord(sign):04X}" in refused.error["message"], tool
    patched = await space.ask("patch_frontmatter", docName="x", patch={"a": {"b": ["c", bad]}})
    assert "a.b.1" in patched.error["message"]
    keyed = await space.ask("patch_frontmatter", docName="x", patch={f"a{sign}": 1})
    assert keyed.error["position"] == 1
    for tool, arguments in (
        ("rename_document", {"docName": "x", "newDocName": f"y{sign}"}),
        ("rename_folder", {"fromFolder": "t", "toFolder": f"u{sign}"}),
        ("create_document", {"docName": "new", "title": f"A{sign}"}),
    ):
        assert (await space.ask(tool, **arguments)).error["code"].startswith("INVALID"), tool
    assert space.read("x.md") == "one\n"
    assert not (space.folder / "new.md").exists()


async def test_tabs_line_ends_and_form_feeds_are_text(space: Space) -> None:
    await space.value("write_document", docName="x", markdown=KEPT, position="replace")
    await space.value("edit_document", docName="x", find="d", replace="\te\f")
    assert space.read("x.md") == KEPT.replace("d", "\te\f")


async def test_a_summary_is_one_line_without_control_characters(space: Space) -> None:
    done = await space.value(
        "write_document",
        docName="x",
        markdown="one\n",
        position="replace",
        summary=f"Why{NUL} and{ESCAPE}\nhow",
    )
    assert done["summary"]["value"] == "Why  and how"
    entries = (await space.value("get_history", docName="x"))["entries"]
    assert entries[0]["contributors"][0]["summaries"] == ["Why  and how"]


@pytest.mark.parametrize("sign", [NUL, ESCAPE])
async def test_a_file_that_has_one_is_read_edited_elsewhere_renamed_and_restored(
    space: Space, sign: str
) -> None:
    text = f"# Log\n\nred {sign}[31m, see [[b]]\n\nlast\n"
    space.write({"log.md": text, "b.md": "b\n"})
    assert (await space.value("read_document", path="log.md"))["content"] == text
    await space.value("edit_document", docName="log", find="last", replace="end")
    await space.value("patch_frontmatter", docName="log", patch={"tags": ["x"]})
    await space.value("rename_document", docName="b", newDocName="d/c")
    now = text.replace("last", "end").replace("[[b]]", "[[d/c]]")
    assert space.read("log.md") == f"---\ntags: [x]\n---\n{now}"
    found = await space.value("search", query="end")
    assert [it["docName"] for it in found["results"]] == ["log"]
    waiting = await space.value(
        "edit_document", docName="log", find="end", replace="done", suggest=True
    )
    await space.value("accept_suggestion", suggestion=waiting["suggestion"])
    with_sign = space.read("log.md")
    # What is found may have it: that is how it is removed.
    await space.value("edit_document", docName="log", find=f"{sign}[31m", replace="")
    assert space.read("log.md") == with_sign.replace(f"{sign}[31m", "")
    entries = (await space.value("get_history", docName="log"))["entries"]
    await space.value("rollback_to_version", docName="log", commitSha=entries[1]["sha"])
    assert space.read("log.md") == with_sign


async def test_an_import_keeps_what_a_file_has_and_drops_what_is_no_text(space: Space) -> None:
    rows = [
        {"origin": "1", "docName": "kept", "markdown": "soft\x0bbreak\n"},
        {"origin": "2", "docName": "binary", "markdown": "no\0text\n"},
    ]
    done = await space.value("import_documents", source="elsewhere", documents=rows)
    assert [it["outcome"] for it in done["items"]] == ["created", "dropped"]
    assert "position 2" in done["items"][1]["reason"]
    assert space.read("kept.md") == "soft\x0bbreak\n"
    assert not (space.folder / "binary.md").exists()
