"""`pecia cascade` and `pecia okf` as people and pull requests use them. No server runs."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from pecia.interfaces.cli.main import run
from pecia.kernel.errors import Json
from tests.features.cascade_fixture import Layers, asking, document, write_layers

LAYERS: Layers = {
    "company": {
        "a": document(
            "type: note\ntitle: Low\nowner: ana\nupdated: 2026-01-01\n"
            "stale_after: 2026-02-01T00:00:00Z",
            "## Rule\n\nwalrus",
        ),
        "b": document("type: note", "## X\n\n[[a]]"),
    },
    "team": {"a": document("title: High", "## Rule\n\nnarwhal"), "bad": "---\n[\n---\n"},
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PECIA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    return write_layers(tmp_path / "c", LAYERS)


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """The one JSON document that a command gives."""
    assert run([*words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.mark.requirement("cascade.server.same_as_cli")
def test_show_is_what_read_file_gives(
    tmp_path: Path, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def read() -> Json:
        made = asking(manifest, tmp_path / "spool")
        return await made.shown("read_file", concept_id="a")

    shown = said(capsys, "cascade", "show", "a", "--manifest", str(manifest))
    assert shown == anyio.run(read)


def test_list_search_and_links(manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of = ("--manifest", str(manifest))
    listed = said(capsys, "cascade", "list", *of)
    assert [it["id"] for it in listed["concepts"]] == ["a", "b", "bad"]
    assert [(it["path"], it["code"]) for it in listed["problems"]] == [("bad.md", "bad-yaml")]
    found = said(capsys, "cascade", "search", "walrus", *of)
    assert said(capsys, "cascade", "search", "walrus", "nowhere", *of) == found
    assert [it["id"] for it in found["results"]] == ["a"]
    links = said(capsys, "cascade", "links", "a", *of)
    assert [(it["way"], it["id"]) for it in links["links"]] == [("in", "b")]


def test_a_concept_is_shown_as_markdown(manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cascade", "show", "a", "--manifest", str(manifest)]) == 0
    assert "> ⚠ company disagrees (updated 2026-01-01): walrus" in capsys.readouterr().out


def test_what_a_layer_adds_and_what_moving_it_does(
    manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of = ("--manifest", str(manifest))
    added = said(capsys, "cascade", "diff", "--layer", "team", *of)["changes"]
    assert [(it["part"], it["what"]) for it in added] == [
        ("frontmatter title", "changed"),
        ("section rule", "changed"),
        ("concept", "gained"),
    ]
    moved = said(capsys, "cascade", "diff", "--layer", "team", "--level", "-1", *of)["changes"]
    assert [(it["before"], it["after"]) for it in moved][1] == ("narwhal", "walrus")


def test_conflicts_stale_concepts_and_problems_are_listed(
    manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of = ("--manifest", str(manifest))
    found = said(capsys, "cascade", "conflicts", *of)["conflicts"]
    assert [(it["about"], it["against"], it["owner"]) for it in found] == [
        ("section rule", ["company"], "ana"),
        ("frontmatter title", ["company"], "ana"),
    ]
    assert all(it["days"] > 100 for it in found)
    assert [it["id"] for it in said(capsys, "cascade", "stale", *of)["stale"]] == ["a"]
    problems = said(capsys, "cascade", "problems", *of)["problems"]
    assert [(it["path"], it["code"]) for it in problems] == [("bad.md", "bad-yaml")]


def test_trust_names_the_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "m.json"
    layer = {"name": "g", "level": 1, "source": "mcp", "command": "node", "args": ["./x.mjs"]}
    file.write_text(json.dumps({"layers": [layer]}), encoding="utf-8")
    found = said(capsys, "cascade", "trust", str(file))
    assert found["programs"] == [{"layer": "g", "argv": ["node", str(tmp_path / "x.mjs")]}]
    kept = tmp_path / "home" / "cascade-trust.json"
    assert found["sha256"] in kept.read_text(encoding="utf-8")
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_bundle_is_checked_and_a_pull_request_can_fail(
    manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    company, team = str(manifest.parent / "company"), str(manifest.parent / "team")
    assert said(capsys, "okf", "validate", company) == {"findings": []}
    rules = [it["rule"] for it in said(capsys, "okf", "lint", company)["findings"]]
    assert {"stale", "no-index", "unverified"} <= set(rules)
    found = said(capsys, "okf", "validate", team, code=1)["findings"]
    assert [(it["path"], it["rule"]) for it in found] == [("a.md", "type"), ("bad.md", "bad-yaml")]


def test_a_folder_without_concepts_is_not_called_a_good_bundle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "index.md").write_text("# Index\n")
    (tmp_path / "inbox.mbox").write_text("From ana\n")
    for command in ("validate", "lint", "index"):
        assert run(["okf", command, str(tmp_path)]) == 1
        assert "there is no concept in" in capsys.readouterr().err


def test_findings_come_as_sarif(manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    team = str(manifest.parent / "team")
    assert run(["okf", "lint", team, "--format", "sarif"]) == 1
    sarif = json.loads(capsys.readouterr().out)
    (done,) = sarif["runs"]
    assert sarif["version"] == "2.1.0"
    assert {it["level"] for it in done["results"]} == {"error", "note"}
    assert {it["ruleId"] for it in done["results"]} == {
        it["id"] for it in done["tool"]["driver"]["rules"]
    }


def test_an_index_that_was_written_passes_its_own_check(
    manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    company = manifest.parent / "company"
    said(capsys, "okf", "index", str(company), "--write")
    assert (company / "index.md").read_text(encoding="utf-8").startswith("---\nokf_version")
    assert said(capsys, "okf", "validate", str(company)) == {"findings": []}
