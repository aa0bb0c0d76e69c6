"""Settings of a space over MCP: read by anybody, changed by agents where they may."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.features.wiki.conftest import ENDPOINT, Served, Space
from tests.mcp.raw_mcp import RawMcp

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def no_user_file(served: Served) -> Iterator[None]:
    served.user_file.unlink(missing_ok=True)
    yield
    served.user_file.unlink(missing_ok=True)


def rule(match: str) -> dict[str, Any]:
    return {"match": match, "frontmatter": {}}


def results(count: int) -> dict[str, Any]:
    return {"mcp": {"tools": {"search": {"maxResults": count}}}}


@pytest.mark.requirement(
    "wiki.get_config.merged", "wiki.get_config.every_field", "wiki.get_config.value"
)
async def test_the_whole_configuration_is_read_as_merged(space: Space) -> None:
    space.write({".pecia/config.yml": "content: {dir: .}\npreview: {baseUrl: https://p.x}\n"})
    space.served.user_file.parent.mkdir(exist_ok=True)
    space.served.user_file.write_text("appearance: {theme: dark}\n", encoding="utf-8")
    found = await space.value("get_config")
    assert (found["exists"], found["path"]) == (True, [])
    value = found["value"]
    assert value["preview"]["baseUrl"] == "https://p.x"
    assert value["appearance"]["theme"] == "dark"
    assert value["mcp"]["tools"]["search"]["maxResults"] == 50
    for path, expected in (
        (["server", "host"], "localhost"),
        (["content", "dir"], "."),
        (["mcp", "autoStart"], True),
    ):
        assert (await space.value("get_config", path=path))["value"] == expected


@pytest.mark.requirement("wiki.get_config.sub_path")
async def test_a_part_of_the_configuration_is_read_by_its_path(space: Space) -> None:
    assert (await space.value("get_config", path=["folders"]))["value"] == []
    tools = await space.value("get_config", path=["mcp", "tools"])
    assert {*tools["value"]} == {"read_document", "search"}
    missing = await space.value("get_config", path=["no", "where"])
    assert missing == {"value": None, "exists": False, "path": ["no", "where"]}


@pytest.mark.requirement("wiki.get_config.read_only")
async def test_reading_the_configuration_is_marked_harmless(served: Served) -> None:
    listed = await RawMcp(served.http).ask(ENDPOINT, "tools/list")
    tools = {it["name"]: it["annotations"] for it in listed["result"]["tools"]}
    assert tools["get_config"]["readOnlyHint"]
    assert tools["get_config"]["idempotentHint"]
    assert not tools["set_config"]["readOnlyHint"]


@pytest.mark.requirement("wiki.set_config.success_shape", "wiki.config.two_files")
async def test_an_applied_patch_says_what_it_set_and_where(space: Space) -> None:
    answer = await space.ask("set_config", patch=results(3))
    told = answer.value
    assert (told["applied"], told["scope"]) == (["mcp.tools.search.maxResults"], "user")
    assert told["current"]["mcp"]["tools"]["search"]["maxResults"] == 3
    assert told["result"]["ok"] is True
    assert {*told["result"]} == {"ok", "applied", "scope", "path", "current"}
    assert "maxResults: 3" in space.served.user_file.read_text(encoding="utf-8")
    assert not (space.folder / ".pecia/config.yml").exists()
    done = await space.value("set_config", patch={"folders": [rule("a/**")]})
    assert done["scope"] == "project"
    assert "a/**" in space.read(".pecia/config.yml")


@pytest.mark.requirement("wiki.set_config.allows_max_results")
async def test_search_obeys_the_number_that_was_set(space: Space) -> None:
    space.write({f"{n}.md": "needle\n" for n in range(5)})
    await space.value("set_config", patch=results(2))
    found = await space.value("search", query="needle")
    assert (found["matchCount"], found["truncated"]) == (2, True)
    await space.value("set_config", patch=results(5))
    found = await space.value("search", query="needle")
    assert (found["matchCount"], found["truncated"]) == (5, False)


@pytest.mark.requirement("wiki.set_config.allows_history_depth")
async def test_reading_obeys_the_depth_that_was_set(space: Space) -> None:
    for n in range(3):
        await space.value("write_document", docName="x", markdown=f"{n}\n", position="append")
    assert len((await space.value("read_document", path="x.md"))["history"]) == 3
    patch = {"mcp": {"tools": {"read_document": {"historyDepth": 1}}}}
    await space.value("set_config", patch=patch)
    assert len((await space.value("read_document", path="x.md"))["history"]) == 1


@pytest.mark.requirement("wiki.set_config.allows_folders", "wiki.set_config.arrays_replace")
async def test_an_array_replaces_the_whole_array(space: Space) -> None:
    await space.value("set_config", patch={"folders": [rule("a"), rule("b")]})
    done = await space.value("set_config", patch={"folders": [rule("b")]})
    assert [it["match"] for it in done["current"]["folders"]] == ["b"]


@pytest.mark.requirement(
    "wiki.set_config.refuses_the_rest", "wiki.set_config.error_shape", "wiki.set_config.error_text"
)
async def test_what_is_not_for_agents_is_refused_with_a_way_on(space: Space) -> None:
    space.write({".pecia/config.yml": "content: {dir: .}\n"})
    answer = await space.ask("set_config", patch={"content": {"dir": "docs"}})
    assert answer.is_error
    assert (answer.value["ok"], answer.error["code"]) == (False, "NOT_AGENT_SETTABLE")
    assert answer.value["result"] == {"ok": False, "error": answer.error}
    assert answer.error["path"] == ["content", "dir"]
    assert "content.dir may be set by people only" in answer.text
    assert "Agents may set: folders" in answer.text
    assert space.read(".pecia/config.yml") == "content: {dir: .}\n"


@pytest.mark.requirement("wiki.set_config.no_scope_argument")
async def test_the_scope_is_not_the_callers_to_choose(space: Space) -> None:
    answer = await space.ask("set_config", patch=results(1), scope="project")
    assert answer.error["field"] == "scope"


@pytest.mark.requirement("wiki.set_config.mixed_scope")
async def test_a_patch_for_two_files_changes_neither(space: Space) -> None:
    answer = await space.ask("set_config", patch={"folders": [], **results(1)})
    assert answer.error["code"] == "MIXED_SCOPE"
    assert [it["scope"] for it in answer.error["paths"]] == ["project", "user"]
    assert not space.served.user_file.exists()
    assert not (space.folder / ".pecia").exists()


@pytest.mark.requirement("wiki.set_config.validates_first")
async def test_a_patch_that_makes_it_wrong_leaves_both_files_alone(space: Space) -> None:
    text = "# mine\nfolders: []\n"
    space.write({".pecia/config.yml": text})
    answer = await space.ask("set_config", patch={"folders": [{"match": ""}]})
    assert answer.error["code"] == "SCHEMA_INVALID"
    assert space.read(".pecia/config.yml") == text
    assert not space.served.user_file.exists()


@pytest.mark.requirement("wiki.set_config.error_codes")
async def test_a_file_that_cannot_be_written_is_a_write_error(space: Space) -> None:
    folder = space.served.user_file.parent
    if folder.is_dir():
        folder.rmdir()
    folder.write_text("a file where the folder should be\n", encoding="utf-8")
    answer = await space.ask("set_config", patch=results(1))
    folder.unlink()
    assert answer.error["code"] == "WRITE_ERROR"


async def test_a_project_file_that_is_wrong_stops_every_tool_and_says_where(space: Space) -> None:
    space.write({".pecia/config.yml": "folders: [\n", "a.md": "a"})
    answer = await space.ask("list_documents")
    assert (answer.error["code"], answer.error["field"]) == ("INVALID_FORMAT", "config")
    assert answer.error["problem"]["code"] == "YAML_PARSE"


async def test_on_a_server_of_many_each_user_has_settings_of_their_own(space: Space) -> None:
    done = await space.ask_as_bo("set_config", patch=results(7))
    assert done.value["scope"] == "user"
    path = ["mcp", "tools", "search", "maxResults"]
    assert (await space.ask_as_bo("get_config", path=path)).value["value"] == 7
    assert (await space.value("get_config", path=path))["value"] == 50
    assert not space.served.user_file.exists()
    await space.ask_as_bo("set_config", patch={"mcp": {"tools": {"search": {"maxResults": None}}}})
    assert (await space.ask_as_bo("get_config", path=path)).value["value"] == 50


@pytest.mark.requirement("wiki.rules.example", "wiki.rules.upsert")
async def test_the_references_call_with_two_rules_leaves_both_in_force(space: Space) -> None:
    space.write({"specs/s.md": "s", "reports/r.md": "r", "other/o.md": "o"})
    await space.value(
        "set_folder_rule", rules=[{"match": "other/**", "frontmatter": {"tags": ["o"]}}]
    )
    await space.value(
        "set_folder_rule",
        rules=[
            {"match": "specs/**", "frontmatter": {"tags": ["spec"]}},
            {"match": "reports/**", "frontmatter": {"tags": ["report"]}},
        ],
    )
    for path, tag in (("specs/s.md", "spec"), ("reports/r.md", "report"), ("other/o.md", "o")):
        assert (await space.value("read_document", path=path))["tags"] == [tag]


@pytest.mark.requirement("wiki.rules.new_match_renames")
async def test_a_rule_is_renamed_in_its_place(space: Space) -> None:
    rules = [{"match": it, "frontmatter": {"title": it}} for it in ("a", "b", "c")]
    await space.value("set_folder_rule", rules=rules)
    renamed = {"match": "b", "new_match": "z", "frontmatter": {"title": "b"}}
    done = await space.value("set_folder_rule", rules=[renamed])
    assert [it["match"] for it in done["current"]["folders"]] == ["a", "z", "c"]


@pytest.mark.requirement("wiki.rules.always_an_array", "wiki.rules.entry_shape")
async def test_rules_of_another_shape_are_refused(space: Space) -> None:
    refused: list[tuple[Any, str]] = [
        (rule("a"), "rules"),
        ([], "rules"),
        ([{"match": "a"}], "rules.0.frontmatter"),
        ([rule("")], "rules.0.match"),
        ([{**rule("a"), "more": 1}], "rules.0.more"),
        ([{"match": "a", "frontmatter": {"author": "x"}}], "rules.0.frontmatter.author"),
    ]
    for rules, field in refused:
        assert (await space.ask("set_folder_rule", rules=rules)).error["field"] == field


@pytest.mark.requirement("wiki.rules.all_or_nothing")
async def test_one_bad_rule_and_none_lands(space: Space) -> None:
    await space.value("set_folder_rule", rules=[{"match": "a", "frontmatter": {}}])
    before = space.read(".pecia/config.yml")
    rules = [rule("b"), {"match": "c", "frontmatter": {"tags": [1]}}]
    assert (await space.ask("set_folder_rule", rules=rules)).is_error
    assert space.read(".pecia/config.yml") == before


@pytest.mark.requirement("wiki.rules.removal_by_set_config")
async def test_a_rule_goes_by_a_patch_without_it(space: Space) -> None:
    rules = [rule("a"), rule("b")]
    await space.value("set_folder_rule", rules=rules)
    await space.value("set_config", patch={"folders": rules[1:]})
    found = await space.value("get_config", path=["folders"])
    assert [it["match"] for it in found["value"]] == ["b"]


async def test_content_dir_leads_to_a_folder_of_the_project_alone(
    space: Space, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("of no wiki\n")
    space.write({"pages/a.md": "alpha\n", ".pecia/config.yml": "content: {dir: docs}\n"})
    (space.folder / "docs").symlink_to("pages")
    (space.folder / "out").symlink_to(outside)
    assert (await space.value("read_document", path="pages/a.md"))["content"] == "alpha\n"
    write = {"docName": "x", "markdown": "x\n", "position": "replace"}
    for folder in ("out", "pages/../out", "../outside", str(outside)):
        space.write({".pecia/config.yml": f"content: {{dir: '{folder}'}}\n"})
        for tool, asked in (
            ("list_documents", {}),
            ("read_document", {"path": "out/secret.md"}),
            ("write_document", write),
        ):
            answer = await space.ask(tool, **asked)
            assert answer.error["code"] in ("INVALID_FORMAT", "UNAVAILABLE"), (folder, tool)
    assert [it.name for it in outside.iterdir()] == ["secret.md"]
