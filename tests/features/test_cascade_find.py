"""search, list_concepts and get_links over made layers."""

import json
from pathlib import Path
from typing import Any

import pytest

from pecia.kernel.errors import InvalidInput, MissingField, OutOfRange
from tests.features.cascade_fixture import CascadeClient, Layers, asking, document, write_layers

pytestmark = pytest.mark.anyio

LAYERS: Layers = {
    "company": {
        "systems/billing": document(
            "type: system\ntitle: Billing",
            "## Engine {#engine}\n\nThe giraffe ledger. See [[mail]] and [old](/gone.md).",
            "## Team\n\nCall [on call](../people/oncall.md).",
        ),
        "systems/mail": document("type: system\ntitle: Mail", "## Use\n\nSends letters."),
        "people/oncall": document("type: person", "## Who\n\nLook at [[systems/billing]]."),
        "index": "# All\n\n* [Mail](systems/mail.md) - x\n",
    },
    "team": {
        "systems/billing": document(
            "title: Team billing", "## Engine {#engine}\n\nThe zebra ledger: [mail](mail.md#use)."
        ),
        "notes/pager": document(
            "type: note\ntitle: Pager",
            "## Links\n\n[b](../systems/billing.md 'uses') `[[systems/billing]]` ![x](mail)",
        ),
    },
    "personal": {"people/oncall": document("title: Me", "## Who\n\nIt is me.")},
}


@pytest.fixture
def made(tmp_path: Path) -> CascadeClient:
    return asking(write_layers(tmp_path / "cascade", LAYERS), tmp_path / "spool")


async def ids(made: CascadeClient, query: str, **more: Any) -> list[str]:
    return [it["id"] for it in await made.shown("search", query=query, **more)]


@pytest.mark.requirement("cascade.search.all_layers")
@pytest.mark.parametrize("word", ["zebra", "giraffe"])
async def test_a_word_of_any_layer_finds_the_concept(made: CascadeClient, word: str) -> None:
    assert await ids(made, word) == ["systems/billing"]


@pytest.mark.requirement("cascade.search.one_per_concept", "cascade.search.scored")
async def test_a_concept_comes_once_and_the_best_first(made: CascadeClient) -> None:
    found = await made.shown("search", query="ledger billing mail")
    names = [it["id"] for it in found]
    assert len(names) == len(set(names))
    assert [it["score"] for it in found] == sorted((it["score"] for it in found), reverse=True)
    assert all(it["score"] > 0 for it in found)


@pytest.mark.requirement(
    "cascade.search.fields", "cascade.search.layers_ordered", "cascade.search.effective_title"
)
async def test_a_result_has_the_effective_title_and_all_layers(made: CascadeClient) -> None:
    (found,) = await made.shown("search", query="giraffe")
    assert list(found) == ["id", "title", "score", "layers", "snippet"]
    assert (found["title"], found["layers"]) == ("Team billing", ["team", "company"])
    assert "giraffe" in found["snippet"]


@pytest.mark.requirement("cascade.search.query_required")
async def test_a_query_must_ask_something(made: CascadeClient) -> None:
    with pytest.raises(MissingField):
        await made.ask("search")
    with pytest.raises(InvalidInput, match="non-empty"):
        await made.ask("search", query="")


@pytest.mark.requirement("cascade.search.limit")
async def test_ten_results_unless_asked_otherwise(tmp_path: Path) -> None:
    many = {f"c{n}": document("type: note", f"## H\n\nthe same word {n}") for n in range(15)}
    made = asking(write_layers(tmp_path / "c", {"company": many}), tmp_path / "spool")
    assert len(await ids(made, "word")) == 10
    assert len(await ids(made, "word", limit=3)) == 3
    assert len(await ids(made, "word", limit=100)) == 15
    for limit in (0, 101):
        with pytest.raises(OutOfRange):
            await made.ask("search", query="word", limit=limit)


async def test_structured_content_names_the_list(made: CascadeClient) -> None:
    assert list(await made.ask("search", query="zebra")) == ["results"]
    assert list(await made.ask("list_concepts")) == ["concepts"]


@pytest.mark.requirement(
    "cascade.list.all_ids", "cascade.list.sorted", "cascade.list.type_optional"
)
async def test_every_concept_is_listed_once_by_id(made: CascadeClient) -> None:
    listed = [it["id"] for it in await made.shown("list_concepts")]
    assert listed == ["notes/pager", "people/oncall", "systems/billing", "systems/mail"]


@pytest.mark.requirement("cascade.list.fields", "cascade.list.layers_ordered")
async def test_an_entry_is_as_resolved(made: CascadeClient) -> None:
    found = {it["id"]: it for it in await made.shown("list_concepts")}
    assert found["people/oncall"] == {
        "id": "people/oncall",
        "type": "person",
        "title": "Me",
        "layers": ["personal", "company"],
    }


@pytest.mark.requirement("cascade.list.type_filter")
async def test_a_type_narrows_the_list(made: CascadeClient) -> None:
    listed = await made.shown("list_concepts", type="system")
    assert [it["id"] for it in listed] == ["systems/billing", "systems/mail"]
    assert await made.shown("list_concepts", type="syst") == []


async def test_pages_of_the_list_join_to_the_list(made: CascadeClient) -> None:
    first = await made.ask("list_concepts", limit=3)
    rest = await made.ask("list_concepts", limit=3, cursor=first["next_cursor"])
    assert [*first["concepts"], *rest["concepts"]] == await made.shown("list_concepts")
    assert "next_cursor" not in rest


@pytest.mark.requirement(
    "cascade.links.source",
    "cascade.links.outgoing_fields",
    "cascade.links.relative_target",
    "cascade.links.from_resolved_body",
)
async def test_outgoing_links_are_those_of_the_winning_sections(made: CascadeClient) -> None:
    found = await made.shown("get_links", concept_id="systems/billing")
    assert found["source"]["id"] == "systems/billing"
    assert [it["layer"] for it in found["source"]["contributors"]] == ["team", "company"]
    assert found["outgoing"] == [
        {
            "raw": "[mail](mail.md#use)",
            "target": "mail.md#use",
            "id": "systems/mail",
            "layers": ["company"],
        },
        {
            "raw": "[on call](../people/oncall.md)",
            "target": "../people/oncall.md",
            "id": "people/oncall",
            "layers": ["personal", "company"],
        },
    ]
    broken = await made.shown("get_links", concept_id="notes/pager")
    assert broken["outgoing"][0]["rel"] == "uses"


@pytest.mark.requirement("cascade.links.incoming_fields", "cascade.links.incoming_from_anywhere")
async def test_incoming_links_come_from_every_layer(made: CascadeClient) -> None:
    found = await made.shown("get_links", concept_id="systems/billing")
    assert found["incoming"] == [
        {"id": "notes/pager", "layer": "team", "raw": "[b](../systems/billing.md 'uses')"},
        {
            "id": "people/oncall",
            "layer": "company",
            "raw": "[[systems/billing]]",
            "effective": False,
        },
    ]


@pytest.mark.requirement("cascade.links.broken")
async def test_a_link_to_no_concept_has_no_layers(tmp_path: Path) -> None:
    layers: Layers = {"company": {"a": document("type: note", "## H\n\n[x](nowhere.md) [[no]]")}}
    made = asking(write_layers(tmp_path / "c", layers), tmp_path / "spool")
    found = await made.shown("get_links", concept_id="a")
    assert [(it["id"], it["layers"]) for it in found["outgoing"]] == [("nowhere", []), ("no", [])]


async def test_a_changed_file_is_found_by_its_new_words(
    made: CascadeClient, tmp_path: Path
) -> None:
    assert await ids(made, "okapi") == []
    file = tmp_path / "cascade" / "company" / "systems" / "mail.md"
    file.write_text(document("type: system\ntitle: Mail", "## Use\n\nAn okapi."), encoding="utf-8")
    await made.ask("read_file", concept_id="systems/mail")
    assert await ids(made, "okapi") == ["systems/mail"]
    assert await ids(made, "letters") == []


async def test_questions_about_the_handbook_find_their_concept(tmp_path: Path) -> None:
    handbook = Path(__file__).parents[2] / "examples" / "handbook"
    made = asking(handbook / "cascade" / "manifest.json", tmp_path / "spool")
    lines = (handbook / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [it for it in map(json.loads, lines) if it["kind"] == "cascade"]
    assert asked
    for it in asked:
        assert it["concept"] in (await ids(made, it["question"]))[:3]
