"""What ships as an example does what its README says, through the commands that people type."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pecia.interfaces.cli.main import run
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.shell import Shell, opened_shell
from tests.interfaces.test_cli_commands import external

ROOT = Path(__file__).parents[2]
HANDBOOK = ROOT / "examples" / "handbook"
MANIFEST = HANDBOOK / "cascade" / "manifest.json"


def table() -> dict[str, dict[str, str]]:
    """The rows of the cascade's README, by concept."""
    lines = (HANDBOOK / "cascade" / "README.md").read_text("utf-8").splitlines()
    rows = [[it.strip() for it in line.strip("|").split("|")] for line in lines if line[:2] == "| "]
    names = [it.lower() for it in rows[0]]
    return {row[0].strip("`"): dict(zip(names, row, strict=True)) for row in rows[1:]}


def said(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert run([*words, "--manifest", str(MANIFEST), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PECIA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(ROOT)


@pytest.mark.usefixtures("home")
def test_the_cascade_is_what_its_readme_says(capsys: pytest.CaptureFixture[str]) -> None:
    rows = table()
    listed = said(capsys, "cascade", "list")
    assert {it["id"] for it in listed["concepts"]} == rows.keys()
    assert "problems" not in listed
    held = {it["id"]: {*it["layers"]} for it in listed["concepts"]}
    disputed = {it["id"] for it in said(capsys, "cascade", "conflicts")["conflicts"]}
    for concept, row in rows.items():
        every = {"company", "team", "personal"}
        layers = every if row["layers"] == "all three" else {*row["layers"].split(", ")}
        assert held[concept] == layers, concept
        if row["effective"] == "no conflict":
            assert concept not in disputed
        if "conflict whose loser" in row["what it shows"] or "opinions" in row["what it shows"]:
            assert concept in disputed


def readme_commands() -> list[str]:
    """Commands of the README and the guides that read the examples and need no server."""
    files = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *HANDBOOK.rglob("README.md")]
    lines = [line.strip() for it in files for line in it.read_text("utf-8").splitlines()]
    return sorted({it for it in lines if it.startswith("pecia ") and "examples/" in it})


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("command", readme_commands())
def test_a_command_on_the_examples_works_as_it_is_written(command: str) -> None:
    assert run(shlex.split(command, comments=True)[1:]) == 0


@pytest.fixture
def shell(database: DatabaseLogins) -> Iterator[Shell]:
    with opened_shell(external(database)) as made:
        yield made


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_shipped_questions_are_answered_by_the_shipped_evaluator(shell: Shell) -> None:
    shell.ok("start", shell.folder("notes"), "--detach", "--port", 0)
    shell.ok("source", "add", "handbook", "--folder", str(HANDBOOK), "--trim-mode", "open")
    shell.ok("source", "crawl", "handbook", "--wait")
    questions = str(HANDBOOK / "questions.jsonl")
    asked = ("eval", "questions", questions, "--source", "handbook", "--mode", "lexical", "--json")
    found = shell.ok(*asked).document
    # Not how good search is, but that the file and the evaluator speak of the same documents. The
    # index follows the crawl; the test's own limit ends what never comes.
    while found["document@10"] <= 0.5:
        found = shell.ok(*asked).document
    shell.ok("stop")
    lines = (HANDBOOK / "questions.jsonl").read_text("utf-8").splitlines()
    answered = [it for it in map(json.loads, lines) if it["sources"]]
    assert found["questions"] == len(answered)
