"""`pecia ckf` over files: what it writes, and what its exit code says."""

import json
from pathlib import Path
from typing import Any

import pytest

from pecia.doors.cli.main import run
from pecia.rooms.ckf.package.codec import Format, encode, parse
from pecia.rooms.ckf.package.normal import normalize
from tests.unit.rooms.ckf.ckf_sample import SOURCE, sample

Said = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three packages: a good one in two encodings, one with an error, one that is broken."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep").mkdir()
    good = normalize(sample())
    (tmp_path / "good.ckf.md").write_text(encode(good, Format.MARKDOWN), "utf-8")
    (tmp_path / "deep" / "good.ckf.yaml").write_text(encode(good, Format.YAML), "utf-8")
    bad: Any = sample()
    bad["metadata"]["compression_level"] = "tiny"
    (tmp_path / "bad.ckf.json").write_text(json.dumps(bad), "utf-8")
    (tmp_path / "broken.ckf.md").write_text("# CKF\n```yaml\na: [\n```\n", "utf-8")
    (tmp_path / "refunds.txt").write_text(SOURCE, "utf-8")
    return tmp_path


@pytest.mark.requirement("ckf.validate.in_ci")
@pytest.mark.parametrize(
    ("files", "code"),
    [
        (["good.ckf.md"], 0),
        (["**/good.ckf.*"], 0),
        (["bad.ckf.json"], 1),
        (["broken.ckf.md"], 1),
        (["*.ckf.*"], 1),
        (["good.ckf.md", "absent.ckf.md"], 1),
    ],
)
def test_validating_fails_exactly_when_a_file_has_an_error(
    folder: Path, files: list[str], code: int
) -> None:
    assert run(["ckf", "validate", *files, "--source", "refunds.txt"]) == code


def test_patterns_reach_every_folder_and_may_be_absolute(folder: Path, capsys: Said) -> None:
    run(["ckf", "validate", "**/good.ckf.*", f"{folder}/deep/*.yaml", "--json"])
    files = [it["file"] for it in json.loads(capsys.readouterr().out)]
    assert files == ["deep/good.ckf.yaml", "good.ckf.md", f"{folder}/deep/good.ckf.yaml"]


def test_every_fault_is_named_with_its_place(folder: Path, capsys: Said) -> None:
    run(["ckf", "validate", "bad.ckf.json", "broken.ckf.md"])
    said = capsys.readouterr().out
    assert "error ENUM /metadata/compression_level" in said
    assert "error UNPROCESSABLE a, line" in said


def test_sarif_has_one_result_a_fault(folder: Path, capsys: Said) -> None:
    assert run(["ckf", "validate", "*.ckf.*", "--sarif"]) == 1
    (log,) = json.loads(capsys.readouterr().out)["runs"]
    assert [it["ruleId"] for it in log["results"]] == ["ENUM", "UNPROCESSABLE"]


def test_a_file_is_compiled_beside_itself(folder: Path) -> None:
    assert run(["ckf", "compile", "refunds.txt", "--sidecar"]) == 0
    made = (folder / "refunds.txt.ckf.md").read_text("utf-8")
    assert "Refunds must be paid within 14 days." in made
    assert run(["ckf", "validate", "refunds.txt.ckf.md", "--source", "refunds.txt"]) == 0
    assert run(["ckf", "verify", "refunds.txt.ckf.md", "--source", "refunds.txt"]) == 0


def test_a_compiled_file_can_be_piped(folder: Path, capsys: Said) -> None:
    assert run(["ckf", "compile", "refunds.txt", "--format", "yaml", "--level", "dense"]) == 0
    package = parse(capsys.readouterr().out, Format.YAML)
    assert package.metadata["compression_level"] == "dense"


@pytest.mark.parametrize("words", [["--format", "xml"], ["--level", "tiny"]])
def test_a_choice_that_there_is_not_is_misuse(folder: Path, words: list[str]) -> None:
    assert run(["ckf", "compile", "refunds.txt", *words]) == 2


def test_two_packages_are_compared(folder: Path, capsys: Said) -> None:
    assert run(["ckf", "diff", "good.ckf.md", "deep/good.ckf.yaml"]) == 0
    assert capsys.readouterr().out == "identical\n"
    run(["ckf", "diff", "good.ckf.md", "bad.ckf.json"])
    assert capsys.readouterr().out == "metadata.compression_level changed\n"


def test_a_slice_is_printed_within_its_budget(folder: Path, capsys: Said) -> None:
    run(["ckf", "slice", "good.ckf.md", "when is a refund due", "--budget", "300", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["tokens"] <= 300
    assert "exc_damaged_item" in found["included"]


def test_a_quotation_that_is_gone_fails_the_check(folder: Path, capsys: Said) -> None:
    (folder / "now.txt").write_text(SOURCE.replace("14", "30"), "utf-8")
    assert run(["ckf", "verify", "good.ckf.md", "--source", "now.txt"]) == 1
    assert "gone     dec_refunds_paid" in capsys.readouterr().out


def test_a_file_that_is_no_text_is_refused(folder: Path, capsys: Said) -> None:
    (folder / "image.ckf.md").write_bytes(b"\xff\xfe\x00")
    assert run(["ckf", "validate", "image.ckf.md"]) == 1
    assert "not UTF-8" in capsys.readouterr().out
