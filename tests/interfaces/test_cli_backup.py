"""Backup, restore and export from a shell."""

import json
import zipfile
from pathlib import Path

import pytest

from tests.interfaces.shell import pecia_at

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def test_what_was_backed_up_is_there_again_in_a_new_home(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    assert pecia_at(old, "migrate").returncode == 0
    assert pecia_at(old, "call", "admin.add_group", "--name", "staff").returncode == 0
    file, keys = tmp_path / "b.zip", tmp_path / "keys.json"
    made = pecia_at(old, "backup", str(file), "--keys", str(keys), "--json")
    assert json.loads(made.stdout)["rows"] > 5, made.stderr
    assert keys.stat().st_mode & 0o777 == 0o600
    refused = pecia_at(old, "backup", str(file)).stderr
    assert "b.zip exists already" in refused
    assert "hint: Name another file, or remove this one first" in refused
    back = pecia_at(new, "restore", str(file), "--json")
    assert json.loads(back.stdout)["rows"] == json.loads(made.stdout)["rows"], back.stderr
    listed = pecia_at(new, "call", "admin.list_groups", "--json")
    assert [it["name"] for it in json.loads(listed.stdout)["groups"]] == ["staff"]
    again = pecia_at(new, "restore", str(file))
    assert again.returncode == 1
    assert "empty database" in again.stderr


def test_an_export_is_one_tenants_rows_as_lines(tmp_path: Path) -> None:
    assert pecia_at(tmp_path, "migrate").returncode == 0
    assert pecia_at(tmp_path, "call", "admin.add_group", "--name", "staff").returncode == 0
    file = tmp_path / "e.zip"
    done = pecia_at(tmp_path, "export", "local", str(file), "--json")
    assert json.loads(done.stdout)["tables"]["kernel.user_group"] == 1, done.stderr
    with zipfile.ZipFile(file) as archive:
        (line,) = archive.read("kernel.user_group.jsonl").splitlines()
    assert json.loads(line)["name"] == "staff"
    assert "no tenant" in pecia_at(tmp_path, "export", "nobody", str(tmp_path / "x.zip")).stderr
