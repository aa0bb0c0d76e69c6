"""The configuration of a space: two files made one, and patches put where they belong."""

from typing import Any

import pytest

from pecia.kernel.errors import Json
from pecia.rooms.wiki.config.merge import Files, effective, patched, value_at
from pecia.rooms.wiki.config.problem import BadConfig
from pecia.rooms.wiki.config.rules import Shared, Upsert, card, fits, shared, upserted
from pecia.rooms.wiki.config.schema import FolderRule
from pecia.rooms.wiki.facts import Facts

MAX_RESULTS: dict[str, Json] = {"mcp": {"tools": {"search": {"maxResults": 7}}}}
PROJECT = """\
# What this space is.
content:
  dir: docs   # where documents lie

others: &same [1, 2]
again: *same

folders:
  - match: specs/**
    frontmatter: {tags: [spec]}
"""


def refused(files: Files, patch: dict[str, Json]) -> dict[str, Any]:
    with pytest.raises(BadConfig) as caught:
        patched(files, patch)
    return caught.value.problem.value()


def test_the_project_beats_the_user_beats_the_default() -> None:
    user = "mcp: {tools: {search: {maxResults: 9}, read_document: {historyDepth: 2}}}\n"
    project = "mcp: {tools: {search: {maxResults: 3}}}\n"
    found = effective(Files(project, user)).config.mcp
    assert (found.tools.search.maxResults, found.tools.read_document.historyDepth) == (3, 2)
    assert found.autoStart is True


def test_unknown_keys_are_kept() -> None:
    found = effective(Files("other: {deep: 1}\n")).config.shown()
    assert value_at(found, ("other", "deep")) == (1, True)
    assert value_at(found, ("other", "none")) == (None, False)


def test_a_users_file_that_is_wrong_is_left_out_and_told() -> None:
    for text in ("{bad: [\n", "mcp: {tools: {search: {maxResults: none}}}\n", "- a\n"):
        found = effective(Files("", text))
        assert found.config.mcp.tools.search.maxResults == 50
        assert found.warnings


def test_what_stands_in_the_wrong_file_does_not_count() -> None:
    assert effective(Files("", "content: {dir: elsewhere}\n")).config.content.dir == "."


def test_a_projects_file_that_is_wrong_is_an_error_that_says_where() -> None:
    with pytest.raises(BadConfig) as caught:
        effective(Files("content:\n  dir: [\n"))
    assert caught.value.problem.code == "YAML_PARSE"
    assert "line" in caught.value.problem.fields


@pytest.mark.parametrize("folder", ["/etc", "../up", "a/../../b", ".git", "x/.pecia"])
def test_the_content_folder_stays_in_the_project(folder: str) -> None:
    with pytest.raises(BadConfig) as caught:
        effective(Files(f"content: {{dir: {folder}}}\n"))
    assert caught.value.problem.code == "SCHEMA_INVALID"


@pytest.mark.requirement("wiki.config.round_trip")
def test_a_patch_keeps_comments_blank_lines_and_anchors() -> None:
    done = patched(Files(PROJECT), {"folders": [{"match": "a/**", "frontmatter": {}}]})
    assert done.scope == "project"
    for kept in (
        "# What this space is.\n",
        "dir: docs   # where documents lie\n\n",
        "others: &same [1, 2]\nagain: *same\n\n",
    ):
        assert kept in done.text
    assert [it.match for it in done.current.folders] == ["a/**"]


@pytest.mark.requirement("wiki.set_config.deep_partial", "wiki.set_config.null_clears")
def test_a_patch_changes_what_it_names_and_null_clears() -> None:
    user = "mcp:\n  tools:\n    search:\n      maxResults: 3\n      other: kept\n"
    done = patched(Files("", user), MAX_RESULTS)
    assert "maxResults: 7" in done.text
    assert "other: kept" in done.text
    cleared = patched(Files("", user), {"mcp": {"tools": {"search": {"maxResults": None}}}})
    assert "maxResults" not in cleared.text
    assert cleared.current.mcp.tools.search.maxResults == 50


@pytest.mark.requirement("wiki.set_config.scope_ladder")
def test_a_leaf_lands_where_it_is_else_where_it_belongs() -> None:
    assert patched(Files(), MAX_RESULTS).scope == "user"
    assert patched(Files(), {"folders": []}).scope == "project"
    both = "mcp: {tools: {search: {maxResults: 1}}}\n"
    assert patched(Files(both, ""), MAX_RESULTS).scope == "project"
    assert patched(Files("", both), MAX_RESULTS).scope == "user"
    assert patched(Files(both, both), MAX_RESULTS).scope == "project"
    assert patched(Files("", "folders: []\n"), {"folders": []}).scope == "user"


@pytest.mark.requirement("wiki.set_config.error_codes")
def test_every_code_of_a_refusal_can_be_reached() -> None:
    codes = {
        refused(Files(), {})["code"],
        refused(Files("{bad: [\n"), MAX_RESULTS)["code"],
        refused(Files(), {"server": {"host": "x"}})["code"],
        refused(Files(), {"folders": [], **MAX_RESULTS})["code"],
        refused(Files("", "content: {dir: x}\n"), MAX_RESULTS)["code"],
        refused(Files("content: {include: []}\n"), {"folders": []})["code"],
        refused(Files("folders: &x []\nother: *x\n"), {"folders": None})["code"],
    }
    assert codes >= {
        "SCHEMA_INVALID",
        "YAML_PARSE",
        "NOT_AGENT_SETTABLE",
        "MIXED_SCOPE",
        "SCOPE_VIOLATION",
        "REMOVED_KEY",
        "UNKNOWN",
    }


def test_an_empty_patch_names_its_issue() -> None:
    assert refused(Files(), {})["issues"][0]["issueCode"] == "empty_patch"


def test_a_mixed_patch_names_the_scope_of_each_field() -> None:
    assert refused(Files(), {"folders": [], **MAX_RESULTS})["paths"] == [
        {"path": ["folders"], "scope": "project"},
        {"path": ["mcp", "tools", "search", "maxResults"], "scope": "user"},
    ]


@pytest.mark.parametrize(
    "patch",
    [
        {"mcp": None},
        {"mcp": {"tools": {"search": {}}}},
        {"mcp": {"autoStart": False}},
        {"content": {"dir": "x"}},
        {"folders": [], "nonsense": 1},
    ],
)
def test_only_three_settings_are_for_agents(patch: dict[str, Json]) -> None:
    assert refused(Files(), patch)["code"] == "NOT_AGENT_SETTABLE"


@pytest.mark.parametrize("value", [0, -1, "ten", 1.5, True])
def test_a_value_that_cannot_be_is_refused_before_anything_is_written(value: Json) -> None:
    patch: dict[str, Json] = {"mcp": {"tools": {"search": {"maxResults": value}}}}
    found = refused(Files(), patch)
    assert found["code"] == "SCHEMA_INVALID"
    assert found["issues"][0]["path"] == ["mcp", "tools", "search", "maxResults"]


def test_rules_mean_files_and_folders_as_the_references_globs_do() -> None:
    assert fits("foo", "foo")
    assert not fits("foo", "foo/a.md")
    assert fits("foo/**", "foo")
    assert fits("foo/**", "foo/a/b.md")
    assert fits("foo-**", "foo-bar")
    assert not fits("foo-**", "foo-bar/x.md")
    assert fits("**/*.md", "a/b/c.md")
    assert fits("{a,b}/**", "b/x.md")
    assert fits("**/.hidden/**", "x/.hidden/y.md")


def test_later_rules_win_and_tags_gather() -> None:
    rules = [
        FolderRule.model_validate({"match": "a/**", "frontmatter": {"title": "A", "tags": ["x"]}}),
        FolderRule.model_validate(
            {"match": "a/b/**", "frontmatter": {"title": "B", "tags": ["y", "x"]}}
        ),
    ]
    assert shared(rules, "a/b/c.md") == Shared("B", None, ("x", "y"))
    assert shared(rules, "z.md") == Shared()
    mine = card(Facts(title="own", tags=("y", "z")), shared(rules, "a/b/c.md"))
    assert (mine.title, mine.tags) == ("own", ("x", "y", "z"))


def test_a_rule_is_added_replaced_or_renamed_in_its_place() -> None:
    rules: list[dict[str, Json]] = [
        {"match": "a", "frontmatter": {}},
        {"match": "b", "frontmatter": {"title": "B"}, "extra": 1},
        {"match": "c", "frontmatter": {}},
    ]

    def after(*wanted: Upsert) -> list[Any]:
        return upserted(rules, wanted)

    assert [it["match"] for it in after(Upsert("d", {}))] == ["a", "b", "c", "d"]
    assert after(Upsert("b", {"title": "X"}))[1] == {
        "match": "b",
        "frontmatter": {"title": "X"},
        "extra": 1,
    }
    assert [it["match"] for it in after(Upsert("b", {}, "z"))] == ["a", "z", "c"]
    assert [it["match"] for it in after(Upsert("a", {}, "c"))] == ["c", "b"]
    assert [it["match"] for it in after(Upsert("none", {}, "b"))] == ["a", "b", "c"]
    assert rules[0]["match"] == "a"
