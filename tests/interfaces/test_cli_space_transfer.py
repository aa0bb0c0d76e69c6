"""Import and export from the shell, through a running server and without one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.shell import Shell, opened_shell

pytestmark = pytest.mark.slow

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 24_000


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    """A server with one space, and a vault that is not in it yet."""
    with opened_shell() as opened:
        opened.ok("start", opened.folder("notes"), "--port", 0, "--detach", "--no-ask")
        vault = opened.folder("vault/sub")
        (vault / "two.md").write_text("# Two\n\n[[One]] ![[p.png]]\n")
        (vault / "p.png").write_bytes(PNG)
        (vault.parent / "One.md").write_text("# One\n\n[[sub/two|to two]]\n")
        (vault.parent / ".obsidian").mkdir()
        (vault.parent / ".obsidian/app.json").write_text("{}")
        yield opened


def files_below(folder: Path) -> dict[str, bytes]:
    found = (it for it in folder.rglob("*") if it.is_file())
    return {
        it.relative_to(folder).as_posix(): it.read_bytes()
        for it in found
        if not it.relative_to(folder).parts[0].startswith(".")
    }


def import_vault(shell: Shell, *words: str) -> dict[str, Any]:
    vault = shell.root / "vault"
    into = ("--into", "notes", "--folder", "in", "--json")
    return shell.ok("space", "import", "obsidian", vault, *into, *words).document


def test_a_vault_is_imported_once_and_its_losses_are_named(shell: Shell) -> None:
    dry = import_vault(shell, "--dry-run")
    assert (dry["created"], dry["updated"], dry["kept"]) == (3, 0, [])
    assert files_below(shell.root / "notes") == {}
    done = import_vault(shell)
    assert (done["created"], [it["item"] for it in done["dropped"]]) == (3, [".obsidian/"])
    before = files_below(shell.root / "notes")
    assert before["in/sub/p.png"] == PNG
    again = import_vault(shell)
    assert (again["created"], again["updated"], again["unchanged"]) == (0, 0, 3)
    assert files_below(shell.root / "notes") == before


def test_a_space_is_exported_byte_for_byte_or_as_pages_or_as_okf(shell: Shell) -> None:
    import_vault(shell)
    out = shell.root / "out"
    markdown = shell.ok("space", "export", "notes", "--to", out, "--json").document
    assert (markdown["documents"], markdown["files"], markdown["dropped"]) == (2, 1, [])
    assert files_below(out) == files_below(shell.root / "notes")
    refused = shell.run("space", "export", "notes", "--to", out)
    assert (refused.code, "not empty" in refused.err) == (1, True)
    shell.ok("space", "export", "notes", "--to", out, "--format", "html", "--replace", "--yes")
    pages = files_below(out)
    assert {"index.html", "style.css", "in/One.html", "in/sub/two.html"} <= {*pages}
    assert b'href="sub/two.html"' in pages["in/One.html"]
    assert b'src="p.png"' in pages["in/sub/two.html"]
    okf = shell.root / "okf"
    shell.ok("space", "export", "notes", "--to", okf, "--format", "okf")
    assert "[to two](sub/two.md)" in (okf / "in/One.md").read_text()


def test_mistakes_are_named_before_anything_is_written(shell: Shell) -> None:
    out = shell.root / "none"
    for words, said in (
        (("export", "notes", "--to", out, "--format", "pdf"), "markdown or okf or html"),
        (("export", "nowhere", "--to", out), "nowhere"),
        (("import", "word", "x", "--into", "notes"), "obsidian"),
        (("import", "notion", shell.root / "x", "--into", "notes"), "no file or folder"),
        (("import", "keep", shell.root, "--into", "notes", "--folder", "../x"), "folder"),
    ):
        done = shell.run("space", *words)
        assert (done.code != 0, said in done.err) == (True, True), (words, done.err)
    assert not out.exists()
    assert not [it for it in shell.root.iterdir() if it.name.endswith(".pecia-export")]
