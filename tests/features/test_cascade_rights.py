"""A caller sees the cascade of the layers that this caller may read, and no trace of others."""

from pathlib import Path

import pytest

from pecia.kernel.errors import NotFound
from tests.features.cascade_fixture import (
    CascadeClient,
    Layers,
    asking,
    caller,
    document,
    write_layers,
)

pytestmark = pytest.mark.anyio

ANA, BO = caller("ana"), caller("bo")

LAYERS: Layers = {
    "company": {"a": document("type: note\ntitle: Open", "## Rule\n\nwalrus [[b]]")},
    "team": {
        "a": document("title: Secret", "## Rule\n\nnarwhal"),
        "b": document("type: plan", "## Plan\n\nmerger [[a]]"),
    },
    "personal": {"a": document("title: Mine", "## Rule\n\nmine")},
}


@pytest.fixture
def made(tmp_path: Path) -> CascadeClient:
    manifest = write_layers(
        tmp_path / "cascade",
        LAYERS,
        team={"readers": ["ana"]},
        personal={"rights": "lake-of-ana"},
    )
    return asking(manifest, tmp_path / "spool")


async def test_a_layer_one_may_not_read_leaves_no_trace(
    made: CascadeClient, tmp_path: Path
) -> None:
    await made.ask("read_file", ANA, concept_id="a")
    await made.ask("search", ANA, query="narwhal merger")
    alone = {"company": LAYERS["company"]}
    other = asking(write_layers(tmp_path / "alone", alone), tmp_path / "spool2")
    for tool, arguments in (
        ("read_file", {"concept_id": "a"}),
        ("list_concepts", {}),
        ("get_links", {"concept_id": "a"}),
        ("search", {"query": "walrus narwhal merger"}),
    ):
        assert await made.ask(tool, BO, **arguments) == await other.ask(tool, BO, **arguments)


async def test_who_may_read_all_layers_sees_all(made: CascadeClient) -> None:
    found = await made.ask("read_file", ANA, concept_id="a")
    assert [it["layer"] for it in found["contributors"]] == ["personal", "team", "company"]


async def test_a_layer_one_may_not_read_is_unknown(made: CascadeClient) -> None:
    with pytest.raises(NotFound, match="Unknown layer: team"):
        await made.ask("read_file", BO, concept_id="a", layer="team")
    with pytest.raises(NotFound, match="not found in any layer"):
        await made.ask("read_file", BO, concept_id="b")


async def test_a_cascade_is_of_one_tenant(made: CascadeClient) -> None:
    with pytest.raises(NotFound, match="no cascade"):
        await made.ask("list_concepts", caller("ana", "elsewhere"))
