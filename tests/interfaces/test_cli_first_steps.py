"""What somebody new does in the first ten minutes, and was once left alone with."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interfaces.shell import Done, Shell, opened_shell
from tests.warm.start import pecia

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MANUAL = ROOT / "examples" / "handbook" / "manuals" / "wherry-service-manual.pdf"


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    with opened_shell() as opened:
        (opened.folder("notes") / "wheels.md").write_text("# Wheels\n")
        opened.folder("notes/inner")
        editor = opened.root / "editor"
        editor.write_text('#!/bin/sh\necho "# Written" > "$1"\n')
        editor.chmod(0o755)
        opened.ok("start", opened.root / "notes", "--port", 0, "--detach", "--no-ask")
        opened.ok("space", "add", opened.folder("ideas"))
        yield opened


def run_in(shell: Shell, folder: Path, *words: str) -> Done:
    """A command in a folder of the shell's."""
    done = subprocess.run(
        pecia(*words),
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(shell.root),
            "PECIA_HOME": str(shell.home),
            "EDITOR": str(shell.root / "editor"),
        },
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=50,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_in_the_folder_of_a_space_edit_and_tools_need_no_space(shell: Shell) -> None:
    below = shell.folder("ideas/drafts")
    done = run_in(shell, below, "edit", "first")
    assert done.code == 0, done.err
    assert (shell.root / "ideas/first.md").read_text() == "# Written\n"
    words = ("call", "wiki.write_document", "--docName", "second", "--markdown", "two")
    done = run_in(shell, shell.root / "notes", *words, "--position", "replace")
    assert done.code == 0, done.err
    assert (shell.root / "notes/second.md").read_text().strip() == "two"


def test_elsewhere_the_error_lists_the_spaces_and_the_command(shell: Shell) -> None:
    done = run_in(shell, shell.root, "edit", "third")
    assert done.code == 1
    assert "there are several: ideas, notes" in done.err
    assert "hint: pecia edit third --space ideas, or run it in the folder" in done.err
    words = ("call", "wiki.read_document", "--path", "wheels.md")
    done = run_in(shell, shell.root, *words)
    assert "hint: pecia call wiki.read_document --path wheels.md --space notes" in done.err


def test_an_agent_is_told_the_spaces_and_what_to_send(shell: Shell) -> None:
    words = ("curl", "-s", f"{shell.lock.url}/api/v1/wiki/read_document")
    asked = ("-H", "content-type: application/json", "-d", '{"path": "wheels.md"}')
    answer = subprocess.run([*words, *asked], capture_output=True, text=True, timeout=50).stdout
    assert '"allowed":["notes","ideas"]' in answer.replace(" ", "")
    assert "Call it again with" in answer


def test_a_removed_space_is_shown_as_removed_and_says_where_its_files_stay(shell: Shell) -> None:
    gone = shell.folder("gone")
    shell.ok("space", "add", gone)
    document = shell.ok("space", "remove", "gone", "--yes", "--json").document
    assert (document["removed"], document["folder"]) == (True, str(gone))
    assert "enabled" not in document
    shell.ok("source", "add", "gone", "--folder", gone)
    assert shell.ok("source", "remove", "gone", "--yes", "--json").document == {
        "source_id": "gone",
        "protocol": "folder",
        "removed": True,
    }


def test_a_folder_inside_a_served_one_is_a_source_with_a_note_and_no_space(shell: Shell) -> None:
    added = shell.ok("source", "add", "inner", "--folder", shell.root / "notes/inner")
    assert f"overlaps with wiki:notes ({shell.root / 'notes'})" in added.out
    assert "pecia source remove inner" in added.out
    shell.ok("source", "remove", "inner", "--yes")
    refused = shell.run("start", shell.root / "notes/inner", "--detach", "--no-ask")
    assert (refused.code, "pecia space remove notes" in refused.err) == (1, True)
    apart = shell.ok("space", "add", shell.folder("notes-too"), "--json").document
    assert apart["note"] == ""
    shell.ok("space", "remove", "notes-too", "--yes")


def test_a_grant_in_an_open_space_says_that_it_restricts_nothing(shell: Shell) -> None:
    shell.ok("user", "add", "bo")
    granted = shell.ok("source", "grant", "wiki:notes", "user:bo", "reader", "--json").document
    assert "everybody of the tenant reads all of it" in granted["note"]
    assert granted["note"].endswith("pecia space set notes --trim-mode per_file")


def test_what_exists_is_named_with_the_command_that_changes_it(shell: Shell) -> None:
    shell.ok("user", "add", "cy")
    again = shell.run("user", "add", "cy")
    assert (again.code, "the user 'cy' exists already" in again.err) == (1, True)
    assert "pecia user set cy" in again.err
    shell.ok("group", "add", "staff")
    again = shell.run("group", "add", "staff")
    assert "the group 'staff' exists already" in again.err
    assert "pecia group join staff USER" in again.err
    again = shell.run("source", "add", "wiki:notes", "--folder", shell.folder("more"))
    assert "the source 'wiki:notes' exists already" in again.err
    assert "pecia source set wiki:notes" in again.err


def test_start_with_a_file_names_the_folder_that_it_is_in(shell: Shell) -> None:
    file = shell.root / "notes/wheels.md"
    done = shell.run("start", file)
    assert (done.code, "mkdir" in done.err) == (1, False)
    assert f"{file} is a file" in done.err
    assert f"pecia start {file.parent}" in done.err


def test_ckf_compile_reads_a_pdf_and_says_what_it_can_of_the_rest(shell: Shell) -> None:
    shutil.copy(MANUAL, shell.root / "manual.pdf")
    compiled = shell.ok("ckf", "compile", shell.root / "manual.pdf")
    assert "Wherry" in compiled.out
    (shell.root / "noise.bin").write_bytes(b"\x7fELF" + bytes([0, 255, 1, 2, 3]) * 400)
    refused = shell.run("ckf", "compile", shell.root / "noise.bin")
    assert (refused.code, refused.out) == (1, "")
    assert "noise.bin cannot be compiled" in refused.err
    assert "Markdown or text in UTF-8" in refused.err
    assert "pecia ckf compile FILE.md" in refused.err
