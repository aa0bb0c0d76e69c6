"""Skills over MCP: folders of a wiki and cascades, under rights, and the one that teaches Pecia."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from pecia.adapters.editors.hooks import SKILL
from pecia.kernel.errors import Json
from pecia.kernel.tool.skill import is_skill, skill_name
from tests.conftest import CONTEXT
from tests.features.cascade_fixture import write_layers
from tests.mcp.conftest import Serve, Served
from tests.mcp.raw_mcp import RawMcp
from tests.mcp.test_cascade import LAYERS

pytestmark = pytest.mark.anyio

EXTENSION = "io.modelcontextprotocol/skills"
OWN = "skill://pecia/SKILL.md"
REVIEW = "skill://wiki/docs/skills/review/SKILL.md"
MAIN = (
    "---\nname: review\ndescription: Review a change.\nlicense: MIT\n---\n\nSee [more](more.md).\n"
)


async def list_skills(talk: RawMcp, path: str = "/mcp") -> dict[str, Any]:
    found = (await talk.ask(path, "skills/list"))["result"]
    return {it["uri"]: it for it in found["skills"]}


async def read(talk: RawMcp, uri: str) -> str:
    answer = await talk.ask("/mcp", "resources/read", {"uri": uri})
    return answer["result"]["contents"][0]["text"]


@pytest.fixture(scope="module")
async def docs(running: Served, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A space with a skill of two files, and folders that are none."""
    root = tmp_path_factory.mktemp("skills")
    for name, text in {
        "skills/review/SKILL.md": MAIN,
        "skills/review/more.md": "# More\n",
        "skills/other/SKILL.md": "---\nname: another\ndescription: Not its folder's name.\n---\n",
        "skills/plain/readme.md": "no skill\n",
    }.items():
        file = root / "docs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    asked: dict[str, Json] = {"folder": str(root / "docs"), "trim_mode": "per_file"}
    await running.app.call(running.owner, "admin.add_space", asked, CONTEXT)


async def test_a_wiki_folder_is_a_skill_with_a_digest_of_every_file(
    served: Served, docs: None
) -> None:
    found = await list_skills(served.talk)
    assert {*found} == {OWN, REVIEW}
    entry = found[REVIEW]
    assert entry["frontmatter"] == {
        "name": "review",
        "description": "Review a change.",
        "license": "MIT",
    }
    assert [it["uri"] for it in entry["resources"]] == [REVIEW, REVIEW.replace("SKILL", "more")]
    for it in (*entry["resources"], *found[OWN]["resources"]):
        text = await read(served.talk, it["uri"])
        assert it["digest"] == f"sha256:{sha256(text.encode()).hexdigest()}"
        assert it["size"] == len(text.encode())
    assert (await read(served.talk, OWN)).encode() == SKILL.read_bytes()
    got = await served.talk.ask("/mcp", "skills/get", {"uri": REVIEW})
    assert got["result"]["skill"] == entry


async def test_rights_hold_for_skills_as_for_their_files(served: Served, docs: None) -> None:
    bo = served.other(await served.token("bo"))
    assert {*await list_skills(bo)} == {OWN}
    for method in ("skills/get", "resources/read"):
        refused = await bo.ask("/mcp", method, {"uri": REVIEW})
        assert refused["error"]["code"] == -32602
        unknown = await bo.ask("/mcp", method, {"uri": "skill://wiki/nope/x/SKILL.md"})
        assert unknown["error"]["code"] == refused["error"]["code"]
    assert "error" in await served.other("peciapat_nonsense").ask("/mcp", "skills/list")


async def test_a_cascade_is_a_skill_as_it_is_resolved_for_the_caller(
    serve: Serve, tmp_path: Path
) -> None:
    manifest = write_layers(tmp_path / "c", LAYERS, team={"readers": ["bo"]})
    async with serve(cascade__manifests=f"our_kb={manifest}") as served:
        bo = served.other(await served.token("bo"))
        uri = "skill://cascade/our-kb/SKILL.md"
        found = (await list_skills(bo, "/mcp/cascade"))[uri]
        assert found["frontmatter"]["name"] == "our-kb"
        assert "High" in found["frontmatter"]["description"]
        assert "- [High](a.md)" in await read(bo, uri)
        assert "from the team" in await read(bo, uri.replace("SKILL", "a"))
        assert "from the team" not in await read(served.talk, uri.replace("SKILL", "a"))


async def test_the_extension_is_declared_to_modern_clients(served: Served) -> None:
    found = (await served.talk.modern("/mcp", "server/discover")).json()["result"]
    assert found["capabilities"]["extensions"][EXTENSION] == {}
    listed = (await served.talk.modern("/mcp", "skills/list")).json()["result"]
    assert (listed["resultType"], listed["cacheScope"]) == ("complete", "private")
    assert OWN in [it["uri"] for it in listed["skills"]]


def test_a_skill_has_a_valid_name_that_is_its_folders_and_a_description() -> None:
    good: dict[str, Json] = {"name": "pdf-forms", "description": "Fill in forms."}
    assert is_skill("skills/pdf-forms", good)
    assert not is_skill("skills/pdf", good)
    assert not is_skill("skills/pdf-forms", {**good, "description": " "})
    for name in ("PDF", "-pdf", "pdf-", "pdf--forms", "", "a" * 65):
        assert not is_skill(name, {**good, "name": name})
    assert skill_name("Our KB: Größe 2") == "our-kb-gr-e-2"
    assert skill_name("…") == ""
