"""The configuration of a space: two files made one, and patches put where they belong."""

from typing import Any

import pytest

from pecia.features.wiki.config.folder_rules import (
    FolderDefaults,
    FolderRuleUpsert,
    build_card,
    match_folder_defaults,
    matches_rule,
    upsert_rules,
)
from pecia.features.wiki.config.merge import ConfigTexts, merge_config, patch_config, value_at
from pecia.features.wiki.config.problem import InvalidConfig
from pecia.features.wiki.config.schema import FolderRule
from pecia.features.wiki.core.metadata import DocumentMetadata
from pecia.kernel.errors import Json

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


def refused(files: ConfigTexts, patch: dict[str, Json]) -> dict[str, Any]:
    with pytest.raises(InvalidConfig) as caught:
        patch_config(files, patch)
    return caught.value.problem.to_json()


def test_the_project_beats_the_user_beats_the_default() -> None:
    user = "mcp: {tools: {search: {maxResults: 9}, read_document: {historyDepth: 2}}}\n"
    project = "mcp: {tools: {search: {maxResults: 3}}}\n"
    found = merge_config(ConfigTexts(project, user)).config.mcp
    assert (found.tools.search.maxResults, found.tools.read_document.historyDepth) == (3, 2)
    assert found.autoStart is True


def test_unknown_keys_are_kept() -> None:
    found = merge_config(ConfigTexts("other: {deep: 1}\n")).config.to_json()
    assert value_at(found, ("other", "deep")) == (1, True)
    assert value_at(found, ("other", "none")) == (None, False)


def test_a_users_file_that_is_wrong_is_left_out_and_told() -> None:
    for text in ("{bad: [\n", "mcp: {tools: {search: {maxResults: none}}}\n", "- a\n"):
        found = merge_config(ConfigTexts("", text))
        assert found.config.mcp.tools.search.maxResults == 50
        assert found.warnings


def test_what_stands_in_the_wrong_file_does_not_count() -> None:
    assert merge_config(ConfigTexts("", "content: {dir: elsewhere}\n")).config.content.dir == "."


def test_a_projects_file_that_is_wrong_is_an_error_that_says_where() -> None:
    with pytest.raises(InvalidConfig) as caught:
        merge_config(ConfigTexts("content:\n  dir: [\n"))
    assert caught.value.problem.code == "YAML_PARSE"
    assert "line" in caught.value.problem.fields


@pytest.mark.parametrize("folder", ["/etc", "../up", "a/../../b", ".git", "x/.pecia"])
def test_the_content_folder_stays_in_the_project(folder: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        merge_config(ConfigTexts(f"content: {{dir: {folder}}}\n"))
    assert caught.value.problem.code == "SCHEMA_INVALID"


@pytest.mark.requirement("wiki.config.round_trip")
def test_a_patch_keeps_comments_blank_lines_and_anchors() -> None:
    done = patch_config(ConfigTexts(PROJECT), {"folders": [{"match": "a/**", "frontmatter": {}}]})
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
    done = patch_config(ConfigTexts("", user), MAX_RESULTS)
    assert "maxResults: 7" in done.text
    assert "other: kept" in done.text
    cleared = patch_config(
        ConfigTexts("", user), {"mcp": {"tools": {"search": {"maxResults": None}}}}
    )
    assert "maxResults" not in cleared.text
    assert cleared.current.mcp.tools.search.maxResults == 50


@pytest.mark.requirement("wiki.set_config.scope_ladder")
def test_a_leaf_lands_where_it_is_else_where_it_belongs() -> None:
    assert patch_config(ConfigTexts(), MAX_RESULTS).scope == "user"
    assert patch_config(ConfigTexts(), {"folders": []}).scope == "project"
    both = "mcp: {tools: {search: {maxResults: 1}}}\n"
    assert patch_config(ConfigTexts(both, ""), MAX_RESULTS).scope == "project"
    assert patch_config(ConfigTexts("", both), MAX_RESULTS).scope == "user"
    assert patch_config(ConfigTexts(both, both), MAX_RESULTS).scope == "project"
    assert patch_config(ConfigTexts("", "folders: []\n"), {"folders": []}).scope == "user"


@pytest.mark.requirement("wiki.set_config.error_codes")
def test_every_code_of_a_refusal_can_be_reached() -> None:
    codes = {
        refused(ConfigTexts(), {})["code"],
        refused(ConfigTexts("{bad: [\n"), MAX_RESULTS)["code"],
        refused(ConfigTexts(), {"server": {"host": "x"}})["code"],
        refused(ConfigTexts(), {"folders": [], **MAX_RESULTS})["code"],
        refused(ConfigTexts("", "content: {dir: x}\n"), MAX_RESULTS)["code"],
        refused(ConfigTexts("content: {include: []}\n"), {"folders": []})["code"],
        refused(ConfigTexts("folders: &x []\nother: *x\n"), {"folders": None})["code"],
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
    assert refused(ConfigTexts(), {})["issues"][0]["issueCode"] == "empty_patch"


def test_a_mixed_patch_names_the_scope_of_each_field() -> None:
    assert refused(ConfigTexts(), {"folders": [], **MAX_RESULTS})["paths"] == [
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
    assert refused(ConfigTexts(), patch)["code"] == "NOT_AGENT_SETTABLE"


@pytest.mark.parametrize("value", [0, -1, "ten", 1.5, True])
def test_a_value_that_cannot_be_is_refused_before_anything_is_written(value: Json) -> None:
    patch: dict[str, Json] = {"mcp": {"tools": {"search": {"maxResults": value}}}}
    found = refused(ConfigTexts(), patch)
    assert found["code"] == "SCHEMA_INVALID"
    assert found["issues"][0]["path"] == ["mcp", "tools", "search", "maxResults"]


def test_rules_mean_files_and_folders_as_the_references_globs_do() -> None:
    assert matches_rule("foo", "foo")
    assert not matches_rule("foo", "foo/a.md")
    assert matches_rule("foo/**", "foo")
    assert matches_rule("foo/**", "foo/a/b.md")
    assert matches_rule("foo-**", "foo-bar")
    assert not matches_rule("foo-**", "foo-bar/x.md")
    assert matches_rule("**/*.md", "a/b/c.md")
    assert matches_rule("{a,b}/**", "b/x.md")
    assert matches_rule("**/.hidden/**", "x/.hidden/y.md")


def test_later_rules_win_and_tags_gather() -> None:
    rules = [
        FolderRule.model_validate({"match": "a/**", "frontmatter": {"title": "A", "tags": ["x"]}}),
        FolderRule.model_validate(
            {"match": "a/b/**", "frontmatter": {"title": "B", "tags": ["y", "x"]}}
        ),
    ]
    assert match_folder_defaults(rules, "a/b/c.md") == FolderDefaults("B", None, ("x", "y"))
    assert match_folder_defaults(rules, "z.md") == FolderDefaults()
    mine = build_card(
        DocumentMetadata(title="own", tags=("y", "z")), match_folder_defaults(rules, "a/b/c.md")
    )
    assert (mine.title, mine.tags) == ("own", ("x", "y", "z"))


def test_a_rule_is_added_replaced_or_renamed_in_its_place() -> None:
    rules: list[dict[str, Json]] = [
        {"match": "a", "frontmatter": {}},
        {"match": "b", "frontmatter": {"title": "B"}, "extra": 1},
        {"match": "c", "frontmatter": {}},
    ]

    def after(*wanted: FolderRuleUpsert) -> list[Any]:
        return upsert_rules(rules, wanted)

    assert [it["match"] for it in after(FolderRuleUpsert("d", {}))] == ["a", "b", "c", "d"]
    assert after(FolderRuleUpsert("b", {"title": "X"}))[1] == {
        "match": "b",
        "frontmatter": {"title": "X"},
        "extra": 1,
    }
    assert [it["match"] for it in after(FolderRuleUpsert("b", {}, "z"))] == ["a", "z", "c"]
    assert [it["match"] for it in after(FolderRuleUpsert("a", {}, "c"))] == ["c", "b"]
    assert [it["match"] for it in after(FolderRuleUpsert("none", {}, "b"))] == ["a", "b", "c"]
    assert rules[0]["match"] == "a"


@pytest.mark.parametrize(
    ("written", "roots"),
    [
        ("{/en: docs/en, /: .}", (("", ""), ("/en", "/docs/en"))),
        ("{/en/: ./docs/}", (("/en", "/docs"),)),
        ("{/en: ./docs/v2.}", (("/en", "/docs/v2."),)),
    ],
)
def test_roots_of_links_are_told_from_the_project(
    written: str, roots: tuple[tuple[str, str], ...]
) -> None:
    found = merge_config(ConfigTexts(f"links: {{roots: {written}}}\n"))
    assert found.config.links.site_roots == roots


@pytest.mark.parametrize("written", ["{en: docs}", "{//x: docs}", "{/en: ../up}", "{/../a: b}"])
def test_a_root_of_links_outside_the_site_or_the_project_is_refused(written: str) -> None:
    with pytest.raises(InvalidConfig):
        merge_config(ConfigTexts(f"links: {{roots: {written}}}\n"))
