"""Layers of every kind, and bundles made to hurt: each gives a named problem, the rest answers."""

import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from pecia.adapters.git.model import CommitDraft, GitSignature
from pecia.adapters.git.repository import HistoryRepository
from pecia.app.composition.cascade_ports import GitRepositories
from pecia.features.cascade.layers.folder import READ_BLOCK_BYTES
from pecia.features.cascade.manifest import LayerKind, read_manifest, two_folder_manifest
from pecia.features.cascade.ports import CascadePorts
from pecia.features.cascade.search import ConceptSearcher
from pecia.kernel.errors import InvalidInput, Json, NotFound
from tests.features.cascade_fixture import CascadeClient, asking, caller, document, write_layers

pytestmark = pytest.mark.anyio

GOOD = document("type: note\ntitle: Good", "## Here\n\nfine")


async def problems(it: CascadeClient) -> dict[str, str]:
    """By path what is wrong, as the whole cascade has it."""
    seen = await it.cascades.find_visible(caller(), None)
    return {found.path: found.code for found in seen.view.problems()}


def with_layer(tmp_path: Path, **layer: Json) -> CascadeClient:
    """One layer of some kind over a company's folder."""
    manifest = write_layers(tmp_path / "cascade", {"company": {"base": GOOD}})
    value = json.loads(manifest.read_text(encoding="utf-8"))
    value["layers"].append({"name": "extra", "level": 1, **layer})
    manifest.write_text(json.dumps(value), encoding="utf-8")
    ports = CascadePorts(git=GitRepositories(tmp_path / "copies"))
    return asking(manifest, tmp_path / "spool", ports=ports)


async def ids(it: CascadeClient) -> list[str]:
    return [found["id"] for found in (await it.ask("list_concepts"))["concepts"]]


HOSTILE: dict[str, tuple[bytes, str]] = {
    "bad-yaml": (b"---\ntype: a: b: c\n---\n", "bad-yaml"),
    "anchors": (b"---\na: &a [x]\nb: *c\n---\n", "bad-yaml"),
    "list": (b"---\n- a\n---\n", "not-a-mapping"),
    "unclosed": (b"---\ntype: note\n", "unclosed-frontmatter"),
    "empty": (b"", "empty"),
    "blank": (b"\xef\xbb\xbf \n", "empty"),
    "latin": (b"---\ntype: \xe9t\xe9\n---\n", "not-utf-8"),
    "huge": (b"---\ntype: note\n---\n" + b"x" * 2_000_001, "too-large"),
    "deep": (b"---\na: " + b"[" * 200 + b"]" * 200 + b"\n---\n", "bad-yaml"),
}


async def test_every_bad_file_is_named_and_the_rest_answers(tmp_path: Path) -> None:
    it = asking(write_layers(tmp_path / "c", {"company": {"good": GOOD}}), tmp_path / "spool")
    for name, (body, _) in HOSTILE.items():
        (tmp_path / "c" / "company" / f"{name}.md").write_bytes(body)
    assert await problems(it) == {f"{name}.md": code for name, (_, code) in HOSTILE.items()}
    # Whatever has a text that can be read is a concept.
    unread = {"empty", "blank", "huge"}
    assert await ids(it) == sorted({"good", *HOSTILE} - unread)
    assert (await it.ask("search", query="fine"))["results"][0]["id"] == "good"
    shown = await it.ask("read_file", concept_id="bad-yaml")
    assert "bad-yaml.md" in str(shown["degraded"])
    with pytest.raises(NotFound) as caught:
        await it.ask("read_file", concept_id="huge")
    assert "huge.md" in str(caught.value.fields["degraded"])


async def test_a_file_that_is_read_in_pieces_is_read_whole(tmp_path: Path) -> None:
    said = "".join(f"word{number} " for number in range(30_000))
    text = document("type: note", f"## Here\n\n{said}end")
    assert len(text) > 3 * READ_BLOCK_BYTES
    it = asking(write_layers(tmp_path / "c", {"company": {"long": text}}), tmp_path / "spool")
    seen = await it.cascades.find_visible(caller(), None)
    assert seen.view.get_layer_contribution("long", "company").document.text == text


async def test_who_waits_is_told_how_far_reading_and_indexing_are(tmp_path: Path) -> None:
    concepts = {f"c{number}": GOOD for number in range(1_100)}
    it = asking(write_layers(tmp_path / "c", {"company": concepts}), tmp_path / "spool")
    read: list[tuple[int, int]] = []
    indexed: list[tuple[int, int]] = []
    [place] = it.cascades.origins.values()
    await it.cascades.get_or_open(place, lambda done, total: read.append((done, total)))
    seen = await it.cascades.find_visible(caller(), None)
    await ConceptSearcher().get_index(seen.view, lambda done, total: indexed.append((done, total)))
    assert read == [(500, 1_100), (1_000, 1_100), (1_100, 1_100)]
    assert indexed == [(0, 1_100), *read]


async def test_a_layer_that_cannot_say_its_part_is_named_in_the_answer(tmp_path: Path) -> None:
    layers = {"company": {"a": GOOD}, "team": {"a": "---\ntype: [\n---\n"}}
    it = asking(write_layers(tmp_path / "c", layers), tmp_path / "spool")
    found = await it.ask("read_file", concept_id="a")
    assert [it["layer"] for it in found["degraded"]] == ["team"]
    assert {*found["frontmatterProvenance"].values()} == {"company"}
    assert {it["sourceLayer"] for it in found["sections"]} == {"company"}


async def test_links_lead_nowhere(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "plan.md").write_text(GOOD, encoding="utf-8")
    manifest = write_layers(tmp_path / "c", {"company": {"good": GOOD}})
    company = tmp_path / "c" / "company"
    (company / "out").symlink_to(secret)
    (company / "plan.md").symlink_to(secret / "plan.md")
    (company / "loop").symlink_to(company)
    it = asking(manifest, tmp_path / "spool")
    assert await ids(it) == ["good"]
    assert await problems(it) == {"out": "link", "plan.md": "link", "loop": "link"}
    for concept in ("out/plan", "plan", "loop/good"):
        with pytest.raises(NotFound):
            await it.ask("read_file", concept_id=concept)


async def test_names_on_the_disk_may_be_odd(tmp_path: Path) -> None:
    manifest = write_layers(tmp_path / "c", {"company": {"a b": GOOD, "v1.2": GOOD}})
    company = tmp_path / "c" / "company"
    (company / "e\u0301tude.md").write_text(GOOD, encoding="utf-8")
    (company / "UPPER.MD").write_text(GOOD, encoding="utf-8")
    (company / ".hidden.md").write_text(GOOD, encoding="utf-8")
    (company / "index.md").write_text("# I\n", encoding="utf-8")
    it = asking(manifest, tmp_path / "spool")
    assert await ids(it) == ["UPPER", "a b", "v1.2", "\u00e9tude"]
    assert (await it.ask("read_file", concept_id="e\u0301tude"))["id"] == "\u00e9tude"


async def test_a_cycle_of_links_is_no_trouble(tmp_path: Path) -> None:
    layers = {
        "company": {
            "a": document("type: note", "## L\n\n[[b]]"),
            "b": document("type: note", "## L\n\n[[a]] [[b]]"),
        }
    }
    it = asking(write_layers(tmp_path / "c", layers), tmp_path / "spool")
    assert [it["id"] for it in (await it.ask("get_links", concept_id="a"))["incoming"]] == ["b"]


async def test_a_missing_folder_is_degraded_and_named(tmp_path: Path) -> None:
    it = with_layer(tmp_path, path="nowhere")
    found = await it.result("list_concepts")
    assert found.structured == {
        "concepts": [{"id": "base", "type": "note", "title": "Good", "layers": ["company"]}],
        "degraded": [{"layer": "extra", "reason": "the folder does not exist"}],
    }
    assert len(found.content) == 2


async def test_plain_files_are_concepts_of_the_type_document(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "guide.md").write_text("# The guide\n\nHello.\n\n## Use\n\nSo.\n\n### Deep\n\nx\n")
    (pages / "guide.txt").write_text("never seen")
    (pages / "log.txt").write_text("only words")
    it = with_layer(tmp_path, source="files", path=str(pages))
    assert await ids(it) == ["base", "guide", "log"]
    found = await it.ask("read_file", concept_id="guide")
    assert found["frontmatter"] == {"type": "document", "title": "The guide"}
    assert [it["key"] for it in found["sections"]] == ["overview", "use"]
    assert found["sections"][1]["content"] == "So.\n\n### Deep\n\nx"
    plain = await it.ask("read_file", concept_id="log")
    assert [it["key"] for it in plain["sections"]] == ["body"]


async def test_a_commit_of_a_repository_is_a_layer_dated_by_its_authors(tmp_path: Path) -> None:
    history = await HistoryRepository.open(tmp_path / "repo")
    who = GitSignature("Ana", "ana@example.com")
    changes = {"kb/x.md": GOOD.encode(), "kb/big.md": b"y" * 2_000_001, "readme.md": b"no"}
    made = await history.record(CommitDraft("refs/heads/main", changes, who, "one"))
    later = {"kb/x.md": b"changed later"}
    await history.record(CommitDraft("refs/heads/main", later, who, "two"))
    assert made is not None
    it = with_layer(tmp_path, source="git", path=str(tmp_path / "repo"), ref=made.oid, subdir="kb")
    found = await it.ask("read_file", concept_id="x")
    assert found["frontmatter"]["title"] == "Good"
    assert found["contributors"][0]["updatedSource"] == "git"
    assert await problems(it) == {"big.md": "unreadable"}


async def test_a_repository_that_is_not_there_is_degraded(tmp_path: Path) -> None:
    it = with_layer(tmp_path, source="git", path=str(tmp_path / "none"))
    assert (await it.ask("list_concepts"))["degraded"][0]["layer"] == "extra"


@pytest.mark.parametrize("shape", ["zip", "tar"])
async def test_an_archive_is_a_layer_and_never_unpacked(tmp_path: Path, shape: str) -> None:
    files = {"kb/x.md": GOOD, "../../evil.md": GOOD, "/abs.md": GOOD, "kb/index.md": "# I\n"}
    place = tmp_path / f"bundle.{shape}"
    if shape == "zip":
        with zipfile.ZipFile(place, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
    else:
        with tarfile.open(place, "w:gz") as archive:
            for name, text in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(text.encode())
                archive.addfile(member, io.BytesIO(text.encode()))
    it = with_layer(tmp_path, source="archive", path=str(place))
    assert await ids(it) == ["base", "kb/x"]
    assert sorted(await problems(it)) == ["../../evil.md", "/abs.md"]


async def test_an_archive_that_is_none_is_degraded(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"PK not really")
    it = with_layer(tmp_path, source="archive", path=str(tmp_path / "x.zip"))
    assert "cannot be read" in (await it.ask("list_concepts"))["degraded"][0]["reason"]


async def test_a_source_of_the_server_is_closed_here_and_says_so(tmp_path: Path) -> None:
    it = with_layer(tmp_path, source="lake:lake-of-ana")
    assert (await it.ask("list_concepts"))["degraded"][0]["layer"] == "extra"


@pytest.mark.requirement("cascade.start.two_folders")
async def test_of_two_folders_the_personal_one_wins(tmp_path: Path) -> None:
    layers = {layer.name: layer.level for layer in two_folder_manifest(tmp_path, tmp_path).layers}
    assert layers == {"personal": 3, "shared": 0}


@pytest.mark.parametrize(
    ("layer", "field"),
    [
        ({"level": 1, "path": "x"}, "layers.0.name"),
        ({"name": "a", "path": "x"}, "layers.0.level"),
        ({"name": "a", "level": 1.5, "path": "x"}, "layers.0.level"),
        ({"name": "a", "level": True, "path": "x"}, "layers.0.level"),
        ({"name": "a", "level": 1}, "layers.0.path"),
        ({"name": "a", "level": 1, "path": "x", "sourc": "git"}, "layers.0.sourc"),
        ({"name": "a", "level": 1, "source": "ftp", "path": "x"}, "layers.0.source"),
        ({"name": "a", "level": 1, "source": "mcp"}, "layers.0.command"),
        ({"name": "a", "level": 1, "source": "git", "url": "https://u:p@h/x"}, "layers.0.url"),
        ({"name": "a", "level": 1, "source": "mcp", "command": "x", "args": "y"}, "layers.0.args"),
    ],
)
def test_a_mistake_in_a_manifest_names_its_field(
    tmp_path: Path, layer: dict[str, Json], field: str
) -> None:
    file = tmp_path / "m.json"
    file.write_text(json.dumps({"layers": [layer]}), encoding="utf-8")
    with pytest.raises(InvalidInput) as caught:
        read_manifest(file)
    assert caught.value.fields["field"] == field


def test_a_manifest_may_be_yaml(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(
        "layers:\n  - name: a\n    level: '2'\n    path: ./x\n"
        "  - {name: b, level: -1, source: mcp, command: ./run, args: [../y, z]}\n",
        encoding="utf-8",
    )
    first, second = read_manifest(file).layers
    assert (first.kind, first.level, first.path) == (LayerKind.FOLDER, 2, tmp_path / "x")
    assert second.argv == (str(tmp_path / "run"), str(tmp_path.parent / "y"), "z")


def test_two_layers_of_one_name_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    layer = {"name": "a", "level": 1, "path": "x"}
    file.write_text(json.dumps({"layers": [layer, layer]}), encoding="utf-8")
    with pytest.raises(InvalidInput, match='duplicate layer name "a"'):
        read_manifest(file)


async def test_a_manifest_that_changes_is_read_anew(tmp_path: Path) -> None:
    layers = {"company": {"a": GOOD}, "team": {"b": GOOD}}
    manifest = write_layers(tmp_path / "c", layers)
    it = asking(manifest, tmp_path / "spool")
    assert await ids(it) == ["a", "b"]
    value = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps({"layers": value["layers"][:1]}), encoding="utf-8")
    assert await ids(it) == ["a"]
