"""Memories from a shell: list, search, export, import."""

import json
import zipfile
from collections.abc import Iterator

import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.features.memory.test_chat_export import CLAUDE, MEM0
from tests.interfaces.shell import Shell, opened_shell
from tests.interfaces.test_cli_commands import external

pytestmark = pytest.mark.slow


@pytest.fixture
def shell(database: DatabaseLogins) -> Iterator[Shell]:
    with opened_shell(external(database)) as made:
        yield made


def test_an_export_of_another_product_is_imported_and_found(shell: Shell) -> None:
    with zipfile.ZipFile(shell.root / "claude.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps(CLAUDE))
    counted = shell.ok("memory", "import", "claude.zip", "--dry-run", "--json").document
    assert (counted["product"], counted["memories"], counted["imported"]) == ("Claude", 1, 1)
    assert shell.ok("memory", "list", "--json").document["memories"] == []
    assert shell.ok("memory", "import", "claude.zip", "--json").document["imported"] == 1
    again = shell.ok("memory", "import", "claude.zip", "--dry-run", "--json").document
    assert (again["imported"], again["skipped"]) == (0, 1)
    found = shell.ok("memory", "search", "where is the office", "--json").document["results"]
    assert found[0]["text"] == "We moved the office to Lyon."


def test_what_is_exported_is_known_when_it_is_imported(shell: Shell) -> None:
    (shell.root / "mem0.json").write_text(json.dumps(MEM0))
    assert shell.ok("memory", "import", "mem0.json", "--json").document["imported"] == 1
    assert shell.ok("memory", "export", "mine.json", "--json").document["memories"] == 1
    again = shell.ok("memory", "import", "mine.json", "--json").document
    assert (again["product"], again["imported"], again["skipped"]) == ("Pecia", 0, 1)


def test_what_is_no_export_or_exists_already_is_refused(shell: Shell) -> None:
    (shell.root / "other.json").write_text("[1]")
    refused = shell.run("memory", "import", "other.json", "--json")
    assert refused.document["error"]["code"] == "INVALID_FORMAT"
    there = shell.run("memory", "export", "other.json", "--json")
    assert there.document["error"]["code"] == "CONFLICT"
    assert shell.run("memory", "import", "none.json", "--json").document["error"]["code"] == (
        "NOT_FOUND"
    )


def test_forgetting_what_is_not_there_fails(shell: Shell) -> None:
    unknown = "123e4567-e89b-42d3-a456-426614174000"
    refused = shell.run("memory", "forget", unknown, "--yes", "--json")
    assert (refused.code, refused.document["notFound"]) == (1, [unknown])
    assert "pecia memory list" in refused.err
    shell.ok("remember", "The office is in Lyon.")
    [held] = shell.ok("memory", "list", "--json").document["memories"]
    both = shell.run("memory", "forget", held["id"], unknown, "--yes", "--json")
    assert (both.code, both.document["deleted"]) == (1, [held["id"]])


def test_a_text_of_several_lines_is_printed_as_text(shell: Shell) -> None:
    shell.ok("remember", "The office is in Lyon.")
    page = shell.ok("memory", "page", "--json").document["text"]
    assert "\n" in page.strip()
    for words in (("memory", "page"), ("--plain", "memory", "page")):
        assert page[page.index("# Memories") :] in shell.ok(*words).out
