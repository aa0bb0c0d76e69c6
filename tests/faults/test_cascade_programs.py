"""Layers that are programs: untrusted, hanging, dying, flooding and lying. The rest answers."""

import json
import sys
from pathlib import Path

import psutil
import pytest

from pecia.adapters.nodes import Bounds, NodePrograms
from pecia.kernel.errors import Json
from pecia.rooms.cascade.manifest import read_manifest
from pecia.rooms.cascade.ports import Ports
from pecia.rooms.cascade.trust import TrustFile
from tests.rooms.cascade_made import Asking, asking, document, write_layers

pytestmark = [pytest.mark.anyio, pytest.mark.fault]

SERVER = Path(__file__).parent / "cascade_node_server.py"
QUICK = Bounds(request_s=2, line_bytes=1_000_000)


def made(tmp_path: Path, how: str, *, trusted: bool = True, command: str | None = None) -> Asking:
    """A company's folder beneath a program that behaves like this."""
    layers = {"company": {"systems/auth": document("type: x\ntitle: Old", "## Owner\n\nNobody.")}}
    manifest = write_layers(tmp_path / "cascade", layers)
    program: dict[str, Json] = {
        "name": "graph",
        "level": 1,
        "source": "mcp",
        "command": command or sys.executable,
        "args": [str(SERVER), how],
    }
    value = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps({"layers": [*value["layers"], program]}), encoding="utf-8")
    trust = TrustFile(tmp_path / "trust.json")
    if trusted:
        trust.add(read_manifest(manifest))
    ports = Ports(nodes=NodePrograms(bounds=QUICK))
    return asking(manifest, tmp_path / "spool", ports=ports, trust=trust)


async def owner(it: Asking) -> tuple[str, str]:
    """Who owns the concept now, and why a layer is missing."""
    found = await it.ask("read_file", concept_id="systems/auth")
    section = next(it for it in found["sections"] if it["key"] == "owner")
    reasons = [it["reason"] for it in found.get("degraded", []) if it["layer"] == "graph"]
    return section["content"], "".join(reasons)


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
    ("how", "reason"),
    [
        ("hang", "no answer"),
        ("die", "has ended"),
        ("flood", "too long"),
        ("nonsense", "not JSON"),
    ],
)
async def test_a_bad_program_is_named_and_the_rest_answers(
    tmp_path: Path, how: str, reason: str
) -> None:
    content, why = await owner(made(tmp_path, how))
    assert content == "Nobody."
    assert reason in why
    children = psutil.Process().children(recursive=True)
    assert not [it for it in children if str(SERVER) in " ".join(it.cmdline())]


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    content, why = await owner(made(tmp_path, "well", command="/nowhere/at-all"))
    assert (content, "cannot be started" in why) == ("Nobody.", True)


async def test_names_that_climb_are_problems_and_not_concepts(tmp_path: Path) -> None:
    it = made(tmp_path, "lie")
    listed = [it["id"] for it in (await it.ask("list_concepts"))["concepts"]]
    assert listed == ["systems/auth"]


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
