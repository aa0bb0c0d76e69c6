"""Documents made of templates, over MCP and HTTP: by name, by folder, under rights."""

from datetime import UTC, datetime

import httpx
import pytest

from tests.features.wiki.conftest import Space

pytestmark = pytest.mark.anyio

MEETING = (
    "---\ntitle: {{title}}\ndate: {{date}}\ndescription: Minutes of a meeting\ntags: [meeting]\n"
    "---\n# {{title}}\n\nCalled by {{author}} with {{guests}}, see [[{{title}} agenda]].\n\n"
    "## Decisions\n\n{{content}}\n"
)
RULES = "folders:\n  - match: meetings/**\n    template: templates/meeting\n"


def fill(space: Space) -> None:
    space.write({"templates/meeting.md": MEETING, "templates/deep/plain.md": "# {{title}}\n"})
    space.write({".pecia/config.yml": "templates: {timezone: UTC}\n" + RULES})


async def test_a_document_is_made_of_the_template_of_its_folder(space: Space) -> None:
    fill(space)
    asked = {"docName": "meetings/kick-off", "title": "Kick-off: 1", "markdown": "None yet."}
    done = await space.value("create_document", **asked, variables={"guests": "bo"})
    assert (done["template"], done["created"]) == ("templates/meeting", True)
    assert "unfilled" not in done
    assert done["deadLinks"] == ["Kick-off: 1 agenda"]
    text = space.read("meetings/kick-off.md")
    author = space.served.ana.user
    assert f"\n# Kick-off: 1\n\nCalled by {author} with bo, see [[Kick-off: 1 agenda]]" in text
    assert text.endswith("## Decisions\n\nNone yet.\n")
    read = await space.value("read_document", path="meetings/kick-off.md")
    assert read["frontmatter"]["title"] == "Kick-off: 1"
    assert read["frontmatter"]["date"].startswith(f"{datetime.now(UTC):%Y}-")
    assert read["version"] == done["version"]
    refused = await space.ask("create_document", **asked)
    assert refused.error["code"] == "CONFLICT"
    assert refused.error["currentVersion"] == done["version"]
    assert refused.error["message"] == "'meetings/kick-off' exists already"
    assert refused.error["field"] == "docName"
    assert "edit_document" in refused.error["hint"]


async def test_a_template_is_named_with_its_folder_or_without(space: Space) -> None:
    fill(space)
    for at, name in enumerate(("deep/plain", "templates/deep/plain", "Deep/Plain")):
        done = await space.value("create_document", docName=f"n/{at}", template=name)
        assert done["template"] == "templates/deep/plain"
        assert space.read(f"n/{at}.md") == f"# {at}\n"
    none = await space.value("create_document", docName="meetings/bare", template="")
    assert none["template"] is None
    assert space.read("meetings/bare.md") == "# bare\n"
    missing = await space.ask("create_document", docName="n/x", template="meting")
    assert missing.error["code"] == "NOT_FOUND"
    assert missing.error["allowed"] == ["deep/plain", "meeting"]
    assert not (space.folder / "n/x.md").exists()


async def test_variables_that_nobody_gave_are_named_and_stay(space: Space) -> None:
    fill(space)
    done = await space.ask("create_document", docName="meetings/a", title="A")
    assert done.value["unfilled"] == ["guests"]
    assert "\nIt was made of the template templates/meeting. Not filled in: guests." in done.text
    assert "with {{guests}}" in space.read("meetings/a.md")


async def test_templates_are_listed_with_what_they_ask_for(space: Space) -> None:
    fill(space)
    listed = await space.value("list_templates", docName="meetings/new")
    rows = {it["name"]: it for it in listed["templates"]}
    assert {*rows} == {"meeting", "deep/plain"}
    assert rows["meeting"]["variables"] == ["guests"]
    assert rows["meeting"]["folders"] == ["meetings/**"]
    assert listed["default"] == "templates/meeting"
    assert (await space.value("list_templates", docName="new"))["default"] is None
    await space.value("delete_document", docName="templates/meeting")
    gone = await space.value("list_templates")
    assert gone["missing"] == [{"match": "meetings/**", "template": "templates/meeting"}]
    refused = await space.ask("create_document", docName="meetings/b")
    assert refused.error["code"] == "NOT_FOUND"
    assert "meetings" in refused.text or "templates/meeting" in refused.text


async def test_templates_are_no_part_of_what_the_space_says(space: Space) -> None:
    fill(space)
    space.write({"a.md": "# A\n\n[[b]]\n", "b.md": "# B\n"})
    dead = await space.value("get_dead_links")
    assert dead["total"] == 0
    orphans = await space.value("get_orphans", mode="incoming")
    assert [it["docName"] for it in orphans["orphans"]] == ["a"]
    index = await space.value("read_document", path=".pecia/catalogs/INDEX.md")
    assert "template" not in index["content"].lower()
    rows = (await space.value("list_documents"))["documents"]
    assert {it["docName"] for it in rows if it.get("template")} == {
        "templates/meeting",
        "templates/deep/plain",
    }
    # Their own text is found where somebody looks for it.
    assert (await space.value("search", query="Called by"))["fileCount"] == 1
    saved = await space.value(
        "write_document", docName="templates/new", markdown="[[{{x}}]]\n", position="replace"
    )
    assert "deadLinks" not in saved
    assert "hints" not in saved


async def test_a_folder_rule_names_its_template_by_a_tool(space: Space) -> None:
    fill(space)
    rule = {"match": "notes/**", "frontmatter": {"tags": ["note"]}, "template": "b"}
    space.write({"b.md": "# B {{title}}\n"})
    done = await space.value("set_folder_rule", rules=[rule])
    assert done["result"]["ok"]
    assert (await space.value("create_document", docName="notes/x"))["template"] == "b"
    assert space.read("notes/x.md") == "# B x\n"
    # A write that brings its own text is told of it.
    written = await space.value(
        "write_document", docName="notes/y", markdown="# Y\n", position="replace"
    )
    assert {"template": "b"}.items() <= written["hints"][-1].items()
    assert space.read("notes/y.md") == "# Y\n"
    # One that says nothing of a template leaves it as it is; an empty one removes it.
    await space.value("set_folder_rule", rules=[{"match": "notes/**", "frontmatter": {}}])
    assert (await space.value("create_document", docName="notes/z"))["template"] == "b"
    await space.value("set_folder_rule", rules=[{**rule, "template": ""}])
    assert (await space.value("create_document", docName="notes/w"))["template"] is None


async def test_who_may_not_see_a_template_does_not_get_it(space: Space) -> None:
    fill(space)
    await space.value("list_documents")
    await space.admin("set_source", trim_mode="per_file")
    await space.admin("grant", folder="meetings/", to="user:bo", role="writer")
    listed = await space.ask_as_bo("list_templates")
    assert not listed.is_error, listed.text
    assert listed.value["templates"] == []
    refused = await space.ask_as_bo("create_document", docName="meetings/c")
    assert refused.error["code"] == "NOT_FOUND"
    done = await space.ask_as_bo("create_document", docName="meetings/c", template="")
    assert not done.is_error, done.text
    outside = await space.ask_as_bo("create_document", docName="templates/meeting")
    assert outside.error["code"] == "FORBIDDEN"


async def test_a_suggested_document_of_a_template_waits(space: Space) -> None:
    fill(space)
    done = await space.value("create_document", docName="meetings/s", title="S", suggest=True)
    assert done["suggestion"]
    assert done["template"] == "templates/meeting"
    assert not (space.folder / "meetings/s.md").exists()
    await space.value("accept_suggestion", suggestion=done["suggestion"])
    assert space.read("meetings/s.md").startswith("---\ntitle: S\n")


async def test_the_same_over_http(space: Space) -> None:
    fill(space)
    asked = {"space": space.name, "docName": "meetings/h", "title": "H"}
    http: httpx.AsyncClient = space.served.http
    made = await http.post("/api/v1/wiki/create_document", json=asked)
    assert made.status_code == 200, made.text
    listed = await http.post("/api/v1/wiki/list_templates", json={"space": space.name})
    assert listed.json()["total"] == 2
    assert space.read("meetings/h.md").startswith("---\ntitle: H\n")
