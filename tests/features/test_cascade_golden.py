"""The documented examples field for field, and the public engine's outputs where we follow it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pecia.kernel.errors import InvalidFormat, InvalidInput, NotFound, PeciaError
from tests.features.cascade_fixture import GOLDEN, CascadeClient, asking

pytestmark = pytest.mark.anyio

SEED_ERA = GOLDEN / "seed_era"

DOCUMENTED: dict[str, Any] = {
    "id": "decisions/primary-db",
    "contributors": [
        {"layer": "personal", "level": 3, "updated": "2026-02-10"},
        {"layer": "team", "level": 2, "updated": "2026-01-22"},
        {"layer": "company", "level": 0, "updated": "2025-11-30"},
    ],
    "frontmatter": {"type": "decision", "title": "Primary database"},
    "frontmatterProvenance": {"type": "company", "title": "team"},
    "sections": [
        {
            "key": "decision",
            "heading": "## Decision {#decision}",
            "content": "Use Postgres 16 with read replicas.",
            "sourceLayer": "team",
            "sourceUpdated": "2026-01-22",
            "conflicts": [
                {"layer": "company", "updated": "2025-11-30", "content": "Use Postgres 14."}
            ],
        },
        {
            "key": "rollback",
            "heading": "## Rollback {#rollback}",
            "content": "",
            "sourceLayer": "personal",
            "sourceUpdated": "2026-02-10",
            "suppressed": True,
        },
    ],
}


def golden(name: str) -> Any:
    return json.loads((SEED_ERA / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture
def example(tmp_path: Path) -> CascadeClient:
    """The layers of the documented example, in a folder that is in no repository."""
    shutil.copytree(GOLDEN / "seed_example", tmp_path / "example")
    return asking(tmp_path / "example" / "manifest.json", tmp_path / "spool")


@pytest.fixture
def fixtures(tmp_path: Path) -> CascadeClient:
    shutil.copytree(GOLDEN, tmp_path / "golden")
    return asking(tmp_path / "golden" / "m.json", tmp_path / "spool")


@pytest.mark.requirement("cascade.read.documented_example", "cascade.read.resolves")
async def test_the_documented_layers_resolve_to_the_documented_answer(
    example: CascadeClient,
) -> None:
    found = await example.shown("read_file", concept_id="decisions/primary-db")
    assert found.pop("markdown").startswith("---\ntype: decision\n")
    assert found["frontmatter"].pop("updated") == "2026-02-10"
    assert found["frontmatterProvenance"].pop("updated") == "personal"
    assert found == DOCUMENTED
    assert list(found) == list(DOCUMENTED)


async def test_the_effective_markdown_is_the_engines(example: CascadeClient) -> None:
    (read, *_) = json.loads((GOLDEN / "seed_example" / "engine_output.json").read_text())
    found = await example.shown("read_file", concept_id="decisions/primary-db")
    assert found["markdown"] == read["result"]["markdown"]


@pytest.mark.requirement("cascade.raw.one_layer", "cascade.raw.shape")
async def test_a_raw_read_is_the_engines(example: CascadeClient, fixtures: CascadeClient) -> None:
    outputs = json.loads((GOLDEN / "seed_example" / "engine_output.json").read_text())
    asked = {"concept_id": "decisions/primary-db", "layer": "team"}
    assert await example.shown("read_file", **asked) == outputs[-1]["result"]
    mid = await fixtures.shown("read_file", concept_id="d/a", layer="mid")
    assert mid == golden("mcp_read_file_raw_mid")


async def test_search_finds_what_the_engine_finds_with_every_layer_and_the_effective_title(
    fixtures: CascadeClient,
) -> None:
    engine = golden("mcp_search")
    found = await fixtures.shown("search", query="kept")
    assert [it["id"] for it in found] == [it["id"] for it in engine]
    resolved = await fixtures.shown("read_file", concept_id=found[0]["id"])
    assert found[0]["title"] == resolved["frontmatter"]["title"]
    assert found[0]["layers"] == [it["layer"] for it in resolved["contributors"]]


@pytest.mark.requirement("cascade.links.documented_example", "cascade.links.wiki_link")
async def test_the_documented_links_come_back(example: CascadeClient) -> None:
    found = await example.shown("get_links", concept_id="systems/auth-service")
    assert found["outgoing"] == [
        {
            "raw": "[Primary DB](../decisions/primary-db)",
            "target": "../decisions/primary-db",
            "id": "decisions/primary-db",
            "layers": ["personal", "team", "company"],
        }
    ]
    assert found["incoming"] == [
        {"id": "runbooks/auth-outage", "layer": "team", "raw": "[[systems/auth-service]]"}
    ]


async def test_links_are_the_engines(fixtures: CascadeClient) -> None:
    assert await fixtures.shown("get_links", concept_id="d/a") == golden("mcp_get_links")


async def test_a_concept_differs_from_the_engines_only_where_it_must(
    fixtures: CascadeClient,
) -> None:
    found = await fixtures.shown("read_file", concept_id="d/a")
    engine = golden("mcp_read_file")
    assert found["contributors"] == engine["contributors"]
    assert found["frontmatterProvenance"] == engine["frontmatterProvenance"]
    # Real YAML, where the engine has strings and splits within quotes.
    own = found["frontmatter"]
    assert own["generated"] == {"by": "human:x", "at": "2026-01-01T00:00:00Z"}
    assert own["sources"] == [{"id": "s1", "resource": "https://e.x"}]
    assert own["tags"] == ["one", "two, three"]
    plain = ("type", "title", "updated", "owner", "quoted")
    assert {it: own[it] for it in plain} == {it: engine["frontmatter"][it] for it in plain}
    ours = {it["key"]: it for it in found["sections"]}
    theirs = {it["key"]: it for it in engine["sections"]}
    # A fence is no heading, and the second heading of a name is not lost.
    assert set(ours) - set(theirs) == {"dup-1"}
    assert set(theirs) - set(ours) == {"not a heading"}
    # Headings come without attributes, and newer dissent is marked.
    assert ours["engine"].pop("heading") == "## Engine {#engine}"
    assert ours["gone"].pop("heading") == "## Gone {#gone}"
    assert ours["kept"].pop("fresherDissent") is True
    for key in set(ours) & set(theirs) - {"steps"}:
        assert ours[key] == {name: theirs[key][name] for name in ours[key]}
    # Suppressed sections come last; the visible ones keep the engine's order.
    keys = [it["key"] for it in found["sections"]]
    visible = [it["key"] for it in engine["sections"] if it["key"] not in ("gone", "not a heading")]
    assert [it for it in keys if it != "dup-1"] == [*visible, "gone"]


async def test_override_full_is_the_engines(fixtures: CascadeClient) -> None:
    found = await fixtures.shown("read_file", concept_id="d/full")
    engine = golden("resolved_d_full")
    assert {name: found[name] for name in engine} == engine


async def test_the_list_has_resolved_titles_and_no_reserved_files(fixtures: CascadeClient) -> None:
    found = {it["id"]: it for it in await fixtures.shown("list_concepts")}
    engine = {it["id"]: it for it in golden("mcp_list_concepts")}
    assert engine.keys() - found.keys() == {"log", "r/index"}
    assert {it: found[it]["layers"] for it in found} == {it: engine[it]["layers"] for it in found}
    assert (found["d/a"]["type"], found["d/a"]["title"]) == ("note", "A top")
    assert (found["r/crlf"]["type"], found["r/crlf"]["title"]) == ("note", "CRLF")
    notes = [it["id"] for it in await fixtures.shown("list_concepts", type="note")]
    theirs = [it["id"] for it in golden("mcp_list_concepts_note")]
    assert notes == [*theirs, "r/crlf"]


@pytest.mark.parametrize(
    ("name", "tool", "arguments", "kind"),
    [
        ("mcp_err_emptyquery", "search", {"query": "  "}, InvalidInput),
        ("mcp_err_notokens", "search", {"query": "!?"}, InvalidInput),
        ("mcp_err_layer", "read_file", {"concept_id": "d/a", "layer": "zz"}, NotFound),
        ("mcp_err_missing", "read_file", {"concept_id": "none"}, NotFound),
        ("mcp_err_traversal", "read_file", {"concept_id": "../x"}, InvalidFormat),
    ],
)
@pytest.mark.requirement("cascade.read.unknown_concept", "cascade.read.unknown_layer")
async def test_errors_have_the_engines_words(
    fixtures: CascadeClient, name: str, tool: str, arguments: dict[str, Any], kind: type[PeciaError]
) -> None:
    with pytest.raises(kind) as caught:
        await fixtures.ask(tool, **arguments)
    assert caught.value.message == golden(name)["message"]
