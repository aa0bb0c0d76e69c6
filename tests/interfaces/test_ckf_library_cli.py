"""`pecia ckf publish` as a pull request would use it: a file becomes a post of this home."""

import json
from pathlib import Path

import pytest

from pecia.features.ckf.examples.loader import load_example_source
from tests.interfaces.shell import pecia_at

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def test_a_sidecar_is_published_once_and_again_when_it_changed(tmp_path: Path) -> None:
    text = load_example_source("legal").text
    (tmp_path / "rules.md").write_text(text, "utf-8")
    assert pecia_at(tmp_path, "migrate").returncode == 0

    def published() -> tuple[int, bool]:
        assert pecia_at(tmp_path, "ckf", "compile", "rules.md", "--sidecar").returncode == 0
        words = ("ckf", "publish", "rules.md.ckf.md", "--slug", "rules", "--tag", "workshop")
        done = pecia_at(tmp_path, *words, "--json")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        return told["version"], told["changed"]

    assert published() == (1, True)
    assert published() == (1, False)
    (tmp_path / "rules.md").write_text(text.replace("€90", "€95"), "utf-8")
    assert published() == (2, True)
    found = pecia_at(tmp_path, "call", "ckf.search_posts", "--query", "workshop", "--json")
    assert [it["slug"] for it in json.loads(found.stdout)["items"]] == ["rules"]


def test_what_cannot_be_published_says_why(tmp_path: Path) -> None:
    (tmp_path / "a.ckf.md").write_text("no package", "utf-8")
    refused = pecia_at(tmp_path, "ckf", "publish", "a.ckf.md")
    assert (refused.returncode, "UNPROCESSABLE" in refused.stderr) == (1, True)
    missing = pecia_at(tmp_path, "ckf", "publish", "b.ckf.md")
    assert (missing.returncode, "b.ckf.md" in missing.stderr) == (1, True)
