"""`git.autoInit`: a repository for a project that asks for one, before anything is bound."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from socket import create_server

import pytest

from pecia.adapters.git.init import init_repository
from tests.interfaces.shell import pecia_at

Started = Callable[[], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    (tmp_path / "notes" / ".pecia").mkdir(parents=True)
    return tmp_path / "notes"


@pytest.fixture
def start(tmp_path: Path, notes: Path) -> Iterator[Started]:
    """A start that finds its port taken: whatever it did, it did before binding."""
    with create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])

        def started() -> "subprocess.CompletedProcess[str]":
            done = pecia_at(tmp_path, "start", "notes", "--port", port)
            assert "is taken by" in done.stderr
            return done

        yield started


def configure(notes: Path, text: str) -> None:
    (notes / ".pecia" / "config.yml").write_text(text, encoding="utf-8")


@pytest.mark.requirement("wiki.git.before_binding")
def test_the_repository_is_there_before_the_port_is(notes: Path, start: Started) -> None:
    configure(notes, "git:\n  autoInit: true\n")
    done = start()
    assert (notes / ".git" / "HEAD").read_text(encoding="utf-8") == "ref: refs/heads/main\n"
    assert f"made a git repository in {notes}, branch main" in done.stderr
    assert "git repository" not in start().stderr


def test_nobody_gets_a_repository_that_they_did_not_ask_for(notes: Path, start: Started) -> None:
    start()
    assert not (notes / ".git").exists()
    configure(notes, "git:\n  autoInit: perhaps\n")
    assert "warning: git.autoInit is not known" in start().stderr
    assert not (notes / ".git").exists()


def test_auto_sync_says_that_it_needs_a_remote(notes: Path, start: Started) -> None:
    assert "autoSync" not in start().stderr
    configure(notes, "autoSync:\n  enabled: true\n")
    said = start().stderr
    assert "autoSync.enabled is true" in said
    assert "pecia space remote NAME URL" in said


@pytest.mark.requirement("wiki.git.parent_kept")
def test_a_project_inside_a_repository_gets_no_second_one(
    tmp_path: Path, notes: Path, start: Started
) -> None:
    configure(notes, "git:\n  autoInit: true\n")
    init_repository(tmp_path, branch="trunk")
    assert "git repository" not in start().stderr
    assert not (notes / ".git").exists()


@pytest.mark.parametrize("where", [".", ".."])
def test_a_broken_repository_is_left_to_its_owner(notes: Path, start: Started, where: str) -> None:
    configure(notes, "git:\n  autoInit: true\n")
    broken = notes / where / ".git"
    broken.write_text("no git file", encoding="utf-8")
    assert "git repository" not in start().stderr
    assert broken.read_text(encoding="utf-8") == "no git file"
    assert where == "." or not (notes / ".git").exists()


def test_no_repository_is_made_where_a_link_in_a_cloned_folder_leads(
    tmp_path: Path, notes: Path, start: Started
) -> None:
    configure(notes, "git:\n  autoInit: true\n")
    (tmp_path / "elsewhere").mkdir()
    (notes / ".git").symlink_to(tmp_path / "elsewhere")
    start()
    assert not [*(tmp_path / "elsewhere").iterdir()]
