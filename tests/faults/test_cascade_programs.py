"""Layers that are programs: untrusted, hanging, dying, flooding and lying. The rest answers."""

import json
import sys
from pathlib import Path

import psutil
import pytest

from pecia.adapters.upstream.node_server import NodeServerReader
from pecia.adapters.upstream.stdio_client import StdioClientLimits
from pecia.features.cascade.manifest import read_manifest
from pecia.features.cascade.model import LayerProblem
from pecia.features.cascade.ports import CascadePorts
from pecia.features.cascade.trust import TrustFile
from pecia.kernel.errors import Json
from tests.features.cascade_fixture import CascadeClient, asking, caller, document, write_layers

pytestmark = [pytest.mark.anyio, pytest.mark.fault]

SERVER = Path(__file__).parent / "cascade_node_server.py"
QUICK = StdioClientLimits(
    request_s=2, total_s=6, line_bytes=1_000_000, total_bytes=5_000_000, max_items=100
)


def made(
    tmp_path: Path,
    how: str,
    holds: str = "nodes",
    *,
    trusted: bool = True,
    command: str | None = None,
    bounds: StdioClientLimits = QUICK,
) -> CascadeClient:
    """A company's folder beneath a program that behaves like this and holds that."""
    layers = {"company": {"systems/auth": document("type: x\ntitle: Old", "## Owner\n\nNobody.")}}
    manifest = write_layers(tmp_path / "cascade", layers)
    program: dict[str, Json] = {
        "name": "graph",
        "level": 1,
        "source": "mcp",
        "command": command or sys.executable,
        "args": [str(SERVER), how, holds],
    }
    value = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps({"layers": [*value["layers"], program]}), encoding="utf-8")
    trust = TrustFile(tmp_path / "trust.json")
    if trusted:
        trust.add(read_manifest(manifest))
    ports = CascadePorts(foreign=NodeServerReader(bounds=bounds))
    return asking(manifest, tmp_path / "spool", ports=ports, trust=trust)


async def owner(it: CascadeClient) -> tuple[str, str]:
    """Who owns the concept now, and why a layer is missing."""
    found = await it.ask("read_file", concept_id="systems/auth")
    section = next(it for it in found["sections"] if it["key"] == "owner")
    reasons = [it["reason"] for it in found.get("degraded", []) if it["layer"] == "graph"]
    return section["content"], "".join(reasons)


async def problems(it: CascadeClient) -> list[LayerProblem]:
    return (await it.cascades.find_visible(caller(), None)).view.problems()


@pytest.mark.requirement("cascade.trust.command_layer", "cascade.server.every_source")
@pytest.mark.parametrize("how", ["well", "chatter"])
async def test_the_nodes_of_a_program_become_concepts(tmp_path: Path, how: str) -> None:
    it = made(tmp_path, how)
    found = await it.ask("read_file", concept_id="systems/auth")
    assert found["frontmatter"] == {"type": "system", "title": "Auth", "updated": "2026-05-01"}
    headings = [it["heading"] for it in found["sections"]]
    assert headings == ["## Owner {#owner}", "## untitled {#untitled}", "## Related {#related}"]
    assert found["sections"][0]["conflicts"][0]["content"] == "Nobody."
    links = await it.ask("get_links", concept_id="systems/auth")
    assert [it["id"] for it in links["outgoing"]] == ["systems/db"]
    assert [it["id"] for it in (await it.ask("list_concepts"))["concepts"]] == [
        "systems/auth",
        "systems/db",
    ]


@pytest.mark.parametrize(
    ("holds", "says"), [("concepts", "The team."), ("resources", "The resource.")]
)
async def test_any_server_of_concepts_or_resources_is_a_layer(
    tmp_path: Path, holds: str, says: str
) -> None:
    it = made(tmp_path, "well", holds)
    assert await owner(it) == (says, "")
    found = await it.ask("read_file", concept_id="systems/auth", layer="graph")
    assert found["frontmatter"] == {"type": "system"}
    assert [it["key"] for it in found["sections"]] == ["owner"]
    assert "systems/db" in [it["id"] for it in (await it.ask("list_concepts"))["concepts"]]
    refused = {"okf://kb/picture": "it is no text"} if holds == "resources" else {}
    assert {it.path: it.message for it in await problems(it)} == refused


async def test_what_a_server_lists_and_does_not_give_is_named(tmp_path: Path) -> None:
    it = made(tmp_path, "refuse", "concepts")
    assert await owner(it) == ("The team.", "")
    assert [(it.path, it.code) for it in await problems(it)] == [("systems/db", "refused")]


@pytest.mark.parametrize(
    ("how", "holds", "reason"),
    [
        ("hang", "nodes", "no answer to tools/call"),
        ("hang", "resources", "no answer to resources/read"),
        ("die", "nodes", "has ended"),
        ("die", "concepts", "has ended"),
        ("flood", "nodes", "too long"),
        ("babble", "concepts", "over its limit"),
        ("nonsense", "nodes", "did not return a list of nodes"),
        ("nonsense", "concepts", "did not return a list of concepts"),
        ("well", "nothing", "it has neither"),
    ],
)
async def test_a_bad_program_is_named_and_the_rest_answers(
    tmp_path: Path, how: str, holds: str, reason: str
) -> None:
    content, why = await owner(made(tmp_path, how, holds))
    assert content == "Nobody."
    assert reason in why
    children = psutil.Process().children(recursive=True)
    assert not [it for it in children if str(SERVER) in " ".join(it.cmdline())]


async def test_one_that_answers_each_time_and_never_ends_is_left(tmp_path: Path) -> None:
    slow = StdioClientLimits(total_s=0.9)
    content, why = await owner(made(tmp_path, "drip", bounds=slow))
    assert (content, "not read to the end" in why) == ("Nobody.", True)


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    content, why = await owner(made(tmp_path, "well", command="/nowhere/at-all"))
    assert (content, "cannot be started" in why) == ("Nobody.", True)


@pytest.mark.parametrize(
    ("holds", "named"),
    [
        ("nodes", ["../../etc/passwd"]),
        ("concepts", ["../../etc/passwd"]),
        ("resources", ["okf://kb/systems/auth"]),
    ],
)
async def test_what_a_liar_says_is_a_problem_and_no_concept(
    tmp_path: Path, holds: str, named: list[str]
) -> None:
    it = made(tmp_path, "lie", holds)
    listed = [it["id"] for it in (await it.ask("list_concepts"))["concepts"]]
    assert [it for it in listed if it != "systems/db"] == ["systems/auth"]
    assert [it.path for it in await problems(it)] == named


@pytest.mark.requirement("cascade.trust.untrusted_manifest")
async def test_an_untrusted_manifest_starts_nothing(tmp_path: Path) -> None:
    content, why = await owner(made(tmp_path, "well", trusted=False))
    assert (content, "not trusted" in why) == ("Nobody.", True)


async def test_trust_is_in_the_bytes_of_a_manifest(tmp_path: Path) -> None:
    it = made(tmp_path, "well")
    assert (await owner(it))[1] == ""
    manifest = tmp_path / "cascade" / "manifest.json"
    manifest.write_text(manifest.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert "not trusted" in (await owner(it))[1]
