"""`pecia ckf` over files: what it writes, and what its exit code says."""

import json
from pathlib import Path
from typing import Any

import pytest

from pecia.features.ckf.package.codec.codec import PackageFormat, encode_package, parse_package
from pecia.features.ckf.package.normalize import normalize
from pecia.interfaces.cli.main import run
from tests.unit.features.ckf.ckf_sample import SOURCE, sample

Said = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three packages: a good one in two encodings, one with an error, one that is broken."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep").mkdir()
    good = normalize(sample())
    (tmp_path / "good.ckf.md").write_text(encode_package(good, PackageFormat.MARKDOWN), "utf-8")
    (tmp_path / "deep" / "good.ckf.yaml").write_text(
        encode_package(good, PackageFormat.YAML), "utf-8"
    )
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


MARKDOWN = """---
title: Cold store
tags: [food, "-18 °C"]
---

# Cold store

| Good | Lowest |
|------|-------:|
| Fish | -2 °C  |

1. Close the door.
   - Never force the lock, unless the alarm rings.

```python
if temperature > -18:  # "must not" in code is no rule
    raise Alarm("```")
```

> Readings are taken every 30 minutes.[^1]

[^1]: Except on Sundays. <script>alert(1)</script>
"""


@pytest.mark.requirement("ckf.compile.any_markdown")
@pytest.mark.parametrize("name", ["store.md", "no ending", "öl & co.markdown"])
def test_any_markdown_file_gets_a_package_beside_it(folder: Path, name: str) -> None:
    (folder / name).write_text(MARKDOWN, "utf-8")
    assert run(["ckf", "compile", name, "--sidecar"]) == 0
    beside = f"{name}.ckf.md"
    assert run(["ckf", "validate", beside, "--source", name]) == 0
    package = parse_package((folder / beside).read_text("utf-8"), PackageFormat.MARKDOWN)
    kept = " ".join(str(it["compressed_knowledge"]) for it in package.items("retrieval_chunks"))
    for part in ("| Fish | -2 °C  |", 'raise Alarm("```")', "Except on Sundays.", "title: Cold"):
        assert part in kept
    assert all("must not" not in str(it) for it in package.items("anti_patterns"))


def test_a_long_file_is_compiled_in_pieces_and_says_how_far_it_is(
    folder: Path, capsys: Said
) -> None:
    text = "".join(f"Member {it} must pay {it} euros by noon.\n\n" for it in range(6_000))
    (folder / "long.md").write_text(text, "utf-8")
    assert run(["ckf", "compile", "long.md", "--sidecar", "--level", "dense"]) == 0
    said = capsys.readouterr()
    assert f"{len(text):,} of {len(text):,} characters" in said.err
    assert said.out == "long.md.ckf.md\n"


def test_a_text_too_short_or_a_folder_is_refused_with_the_reason(
    folder: Path, capsys: Said
) -> None:
    (folder / "short.txt").write_text("Too short.", "utf-8")
    assert run(["ckf", "compile", "short.txt"]) == 1
    assert "too short (min 20 chars, got 10)" in capsys.readouterr().err
    assert run(["ckf", "compile", "deep"]) == 1
    assert "is a folder" in capsys.readouterr().err
    assert run(["ckf", "compile", "absent.txt"]) == 1
    assert "absent.txt cannot be read: No such file" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["slice", "diff", "publish"])
def test_a_text_in_place_of_a_package_says_how_to_make_one(
    folder: Path, capsys: Said, verb: str
) -> None:
    more = {"slice": ["refund"], "diff": ["good.ckf.md"], "publish": []}[verb]
    assert run(["ckf", verb, "refunds.txt", *more]) == 1
    said = capsys.readouterr().err
    assert "refunds.txt is not a package" in said
    assert "pecia ckf compile refunds.txt" in said
    assert "database" not in said


def test_a_slice_needs_a_question(folder: Path) -> None:
    assert run(["ckf", "slice", "good.ckf.md", " "]) == 2


def test_a_compiled_file_can_be_piped(folder: Path, capsys: Said) -> None:
    assert run(["ckf", "compile", "refunds.txt", "--format", "yaml", "--level", "dense"]) == 0
    package = parse_package(capsys.readouterr().out, PackageFormat.YAML)
    assert package.metadata["compression_level"] == "dense"


@pytest.mark.parametrize("name", ["r.ckf.json", "r.ckf.yaml", "r.ckf.md", "r.ckf"])
def test_a_package_that_was_piped_into_a_file_of_any_name_is_verified(
    folder: Path, capsys: Said, name: str
) -> None:
    assert run(["ckf", "compile", "refunds.txt"]) == 0
    (folder / name).write_text(capsys.readouterr().out, "utf-8")
    assert run(["ckf", "verify", name, "--source", "refunds.txt"]) == 0
    assert run(["ckf", "validate", name, "--source", "refunds.txt"]) == 0


@pytest.mark.parametrize(
    ("name", "start"), [("r.ckf.json", "{"), ("r.ckf.yaml", "metadata:"), ("r.ckf.md", "#")]
)
def test_a_package_is_written_in_the_format_that_its_name_says(
    folder: Path, capsys: Said, name: str, start: str
) -> None:
    assert run(["ckf", "compile", "refunds.txt", "--output", name]) == 0
    assert capsys.readouterr().out == f"{name}\n"
    assert (folder / name).read_text("utf-8").startswith(start)
    assert run(["ckf", "verify", name, "--source", "refunds.txt"]) == 0


def test_a_package_that_cannot_be_written_says_why(folder: Path, capsys: Said) -> None:
    assert run(["ckf", "compile", "refunds.txt", "--output", "absent/r.ckf.json"]) == 1
    assert "absent/r.ckf.json cannot be written" in capsys.readouterr().err


def test_a_broken_package_names_the_command_that_makes_it_again(folder: Path, capsys: Said) -> None:
    (folder / "cut.ckf.json").write_text('{"metadata": {', "utf-8")
    assert run(["ckf", "verify", "cut.ckf.json", "--source", "refunds.txt"]) == 1
    said = capsys.readouterr().err
    assert "cut.ckf.json is not a package" in said
    assert "pecia ckf compile TEXT --output cut.ckf.json" in said


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
