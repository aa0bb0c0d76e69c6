"""read_file: what wins, what is inherited, what is hidden, and what is said of the rest."""

from pathlib import Path
from typing import Any

import pytest

from pecia.kernel.errors import InvalidFormat, MissingField, NotFound
from pecia.kernel.text.markdown.frontmatter import read_frontmatter
from pecia.kernel.text.markdown.sections import read_outline
from tests.features.cascade_fixture import CascadeClient, Layers, asking, document, write_layers

pytestmark = pytest.mark.anyio

LAYERS: Layers = {
    "company": {
        "a": document(
            "type: decision\ntitle: Low\nowner: the office\ntags: [x, y]\nupdated: 2026-01-01",
            "## Rule {#rule}\n\n- one\n- two",
            "## Same\n\n* one\n\n\n\n* two  ",
            "## Gone {#gone}\n\nhidden words",
            "## Base\n\nfrom the company",
        ),
        "only": document("type: note", "## Here\n\ncompany alone"),
    },
    "team": {
        "a": document(
            "title: Mid\ntags: [z]\nupdated: 2025-05-05",
            "## Rule {#rule updated=2026-03-03}\n\none\n\ntwo",
            "## Same\n\n- one\n\n- two",
            "## Gone {#gone override=none}\n\nignored",
        ),
    },
    "personal": {"a": document("title: Top", "## Mine\n\nmy own")},
}


@pytest.fixture
def made(tmp_path: Path) -> CascadeClient:
    return asking(write_layers(tmp_path / "cascade", LAYERS), tmp_path / "spool")


async def sections(made: CascadeClient, concept: str = "a") -> dict[str, dict[str, Any]]:
    found = await made.ask("read_file", concept_id=concept)
    return {it["key"]: it for it in found["sections"]}


@pytest.mark.requirement("cascade.server.one_graph", "cascade.sections.merged")
async def test_a_key_that_three_layers_have_comes_once(made: CascadeClient) -> None:
    found = await made.ask("read_file", concept_id="a")
    keys = [it["key"] for it in found["sections"]]
    assert sorted(keys) == ["base", "gone", "mine", "rule", "same"]


@pytest.mark.requirement(
    "cascade.contributors.all",
    "cascade.contributors.fields",
    "cascade.contributors.order",
    "cascade.contributors.undated",
)
async def test_contributors_come_strongest_first_and_undated_ones_count(
    made: CascadeClient,
) -> None:
    found = await made.ask("read_file", concept_id="a")
    assert found["contributors"] == [
        {"layer": "personal", "level": 3, "updated": None},
        {"layer": "team", "level": 2, "updated": "2025-05-05"},
        {"layer": "company", "level": 0, "updated": "2026-01-01"},
    ]


@pytest.mark.requirement(
    "cascade.frontmatter.highest_wins",
    "cascade.frontmatter.inherited",
    "cascade.frontmatter.provenance",
)
async def test_each_key_is_the_strongest_layers_whole(made: CascadeClient) -> None:
    found = await made.ask("read_file", concept_id="a")
    assert found["frontmatter"] == {
        "type": "decision",
        "title": "Top",
        "owner": "the office",
        "tags": ["z"],
        "updated": "2025-05-05",
    }
    assert found["frontmatterProvenance"] == {
        "type": "company",
        "title": "personal",
        "owner": "company",
        "tags": "team",
        "updated": "team",
    }
    assert [it["key"] for it in found["frontmatterConflicts"]] == ["title", "tags"]


@pytest.mark.requirement(
    "cascade.section.key",
    "cascade.section.heading",
    "cascade.section.content",
    "cascade.section.source_layer",
    "cascade.section.source_updated",
)
async def test_a_section_is_the_winners_own(made: CascadeClient) -> None:
    rule = (await sections(made))["rule"]
    assert rule["heading"] == "## Rule {#rule}"
    assert rule["content"] == "one\n\ntwo"
    assert (rule["sourceLayer"], rule["sourceUpdated"]) == ("team", "2026-03-03")
    assert (await sections(made))["same"]["sourceUpdated"] == "2025-05-05"


@pytest.mark.requirement("cascade.conflicts.fields", "cascade.conflicts.surfaced")
async def test_dissent_rides_along(made: CascadeClient) -> None:
    rule = (await sections(made))["rule"]
    assert rule["conflicts"] == [
        {"layer": "company", "updated": "2026-01-01", "content": "- one\n- two"}
    ]
    assert "fresherDissent" not in rule


@pytest.mark.requirement("cascade.conflicts.only_when_different")
async def test_blanks_and_bullet_marks_are_no_dissent(made: CascadeClient) -> None:
    assert "conflicts" not in (await sections(made))["same"]


@pytest.mark.requirement(
    "cascade.tombstone.suppresses",
    "cascade.tombstone.kept_for_audit",
    "cascade.tombstone.silences_conflicts",
    "cascade.tombstone.flag_absent",
    "cascade.section.content_suppressed",
)
async def test_a_tombstone_hides_and_silences(made: CascadeClient) -> None:
    found = await sections(made)
    assert found["gone"] == {
        "key": "gone",
        "heading": "## Gone {#gone}",
        "content": "",
        "sourceLayer": "team",
        "sourceUpdated": "2025-05-05",
        "suppressed": True,
    }
    assert all("suppressed" not in it for key, it in found.items() if key != "gone")


@pytest.mark.requirement("cascade.sections.order")
async def test_the_order_of_the_manifest_does_not_matter(
    tmp_path: Path, made: CascadeClient
) -> None:
    turned = {name: LAYERS[name] for name in reversed([*LAYERS])}
    other = asking(write_layers(tmp_path / "turned", turned), tmp_path / "spool2")
    found = await other.ask("read_file", concept_id="a")
    assert found == await made.ask("read_file", concept_id="a")
    assert [it["key"] for it in found["sections"]] == ["mine", "rule", "same", "base", "gone"]


@pytest.mark.requirement(
    "cascade.markdown.reassembled",
    "cascade.markdown.conflicts_inline",
    "cascade.markdown.suppressed_left_out",
)
async def test_the_markdown_reads_back_with_dissent_in_quotes(made: CascadeClient) -> None:
    found = await made.ask("read_file", concept_id="a")
    markdown = found["markdown"]
    assert read_frontmatter(markdown).values == found["frontmatter"]
    keys = [it.key for it in read_outline(markdown).sections if it.heading]
    assert keys == ["mine", "rule", "same", "base"]
    assert "> ⚠ company disagrees (updated 2026-01-01):\n> - one\n> - two" in markdown
    assert "hidden words" not in markdown


@pytest.mark.requirement("cascade.read.id")
@pytest.mark.parametrize("written", ["a", "a.md", "a.MD#rule", "./a?x=1", " a ", "x/../a"])
async def test_an_id_may_be_written_in_many_ways(made: CascadeClient, written: str) -> None:
    assert (await made.ask("read_file", concept_id=written))["id"] == "a"


@pytest.mark.requirement("cascade.read.concept_id_required", "cascade.links.concept_id_required")
@pytest.mark.parametrize("tool", ["read_file", "get_links"])
async def test_a_concept_must_be_named(made: CascadeClient, tool: str) -> None:
    with pytest.raises(MissingField) as caught:
        await made.ask(tool)
    assert caught.value.fields["field"] == "concept_id"
    with pytest.raises(MissingField, match="concept_id is required"):
        await made.ask(tool, concept_id=" ")


@pytest.mark.requirement("cascade.read.stays_inside")
@pytest.mark.parametrize(
    "written", ["../secret", "/etc/passwd", "a/../../secret", "..", ".", "..\\secret", "x\0y"]
)
async def test_an_id_that_climbs_is_refused(
    made: CascadeClient, tmp_path: Path, written: str
) -> None:
    (tmp_path / "cascade" / "secret.md").write_text(document("type: note"), encoding="utf-8")
    with pytest.raises(InvalidFormat, match="Invalid concept ID"):
        await made.ask("read_file", concept_id=written)


@pytest.mark.requirement("cascade.raw.not_in_layer")
async def test_a_layer_without_the_concept_says_so(made: CascadeClient) -> None:
    with pytest.raises(NotFound, match="Concept not found in layer team: only"):
        await made.ask("read_file", concept_id="only", layer="team")


@pytest.mark.requirement("cascade.server.read_time")
async def test_an_edit_shows_in_the_next_read(made: CascadeClient, tmp_path: Path) -> None:
    await made.ask("read_file", concept_id="only")
    file = tmp_path / "cascade" / "company" / "only.md"
    file.write_text(document("type: note", "## Here\n\nsomething else now"), encoding="utf-8")
    new = tmp_path / "cascade" / "team" / "only.md"
    new.write_text(document("title: Now two", "## There\n\nmore"), encoding="utf-8")
    found = await made.ask("read_file", concept_id="only")
    assert [it["content"] for it in found["sections"]] == ["more", "something else now"]
    file.unlink()
    assert [
        it["layer"] for it in (await made.ask("read_file", concept_id="only"))["contributors"]
    ] == ["team"]


async def test_words_meet_the_anchor_another_layer_made_of_them(tmp_path: Path) -> None:
    layers: Layers = {
        "company": {"a": document("type: note", "## New Section\n\nlow")},
        "team": {"a": document("type: note", "## Renamed {#new-section}\n\nhigh")},
    }
    made = asking(write_layers(tmp_path / "c", layers), tmp_path / "spool")
    found = await sections(made)
    assert list(found) == ["new-section"]
    assert found["new-section"]["conflicts"][0]["content"] == "low"


async def test_override_full_cuts_off_what_is_below(tmp_path: Path) -> None:
    layers: Layers = {
        "company": {"a": document("type: low\nowner: x", "## Low\n\nlow")},
        "team": {"a": document("type: mid\noverride: full", "## Mid\n\nmid")},
        "personal": {"a": document("title: top", "## Top\n\ntop")},
    }
    made = asking(write_layers(tmp_path / "c", layers), tmp_path / "spool")
    found = await made.ask("read_file", concept_id="a")
    assert [it["key"] for it in found["sections"]] == ["top", "mid"]
    assert found["frontmatter"] == {"type": "mid", "override": "full", "title": "top"}
    assert len(found["contributors"]) == 3
