"""`pecia eval ckf`: which labelled passages a package gives the right kind."""

import json
from pathlib import Path

import pytest

from pecia.interfaces.cli.main import run

Said = pytest.CaptureFixture[str]
RULE = "Every member must return the key within 30 days."
HEADING = "# Keys"
TEXT = f"{HEADING}\n\n{RULE}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "keys.txt").write_text(TEXT, "utf-8")
    catalog = {"texts": [{"name": "keys", "half": "development"}]}
    (tmp_path / "texts.json").write_text(json.dumps(catalog), "utf-8")
    at = TEXT.index(RULE)
    labels = [
        {"text": "keys", "start": 0, "end": len(HEADING), "kind": "none"},
        {"text": "keys", "start": at, "end": at + len(RULE), "kind": "rule"},
    ]
    (tmp_path / "labels.jsonl").write_text("\n".join(map(json.dumps, labels)), "utf-8")
    return tmp_path


def test_a_rule_is_found_and_a_heading_is_none(folder: Path, capsys: Said) -> None:
    assert run(["eval", "ckf", str(folder), str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["passages"] == 2
    assert found["kinds"]["rule"]["precision"] == 1
    assert found["kinds"]["rule"]["recall"] == 1
    assert found["kinds"]["step"]["stated"] == 0


def test_a_half_that_does_not_exist_is_refused(folder: Path, capsys: Said) -> None:
    assert run(["eval", "ckf", str(folder), str(folder), "--half", "all"]) == 1
    assert "development" in capsys.readouterr().err


def test_a_text_that_is_absent_is_named(folder: Path, capsys: Said) -> None:
    (folder / "keys.txt").unlink()
    assert run(["eval", "ckf", str(folder), str(folder)]) != 0
    assert "keys" in capsys.readouterr().err


def test_the_figures_stand_in_a_table_of_one_row_a_kind(folder: Path, capsys: Said) -> None:
    assert run(["eval", "ckf", str(folder), str(folder)]) == 0
    said = capsys.readouterr().out
    lines = [it.split("\t") for it in said.splitlines()]
    assert ["passages", "2"] in lines
    names = next(it for it in lines if it[0] == "kind")
    rule = dict(zip(names, next(it for it in lines if it[0] == "rule"), strict=True))
    assert (rule["precision"], rule["recall"], rule["labelled"]) == ("1.0", "1.0", "1")
    assert "{" not in said
