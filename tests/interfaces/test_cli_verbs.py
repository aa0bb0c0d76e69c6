"""The verbs, as people use them: a folder is searched, read and edited, and facts remembered."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal
from unicodedata import normalize
from urllib.parse import quote

import pytest

from tests.interfaces.shell import Done, Shell, opened_shell

pytestmark = pytest.mark.slow

WHEELS = "# Wheels\n\nTighten the spoke opposite the wobble.\n"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    with opened_shell() as opened:
        folder = opened.folder("notes")
        (folder / "wheels.md").write_text(WHEELS)
        (folder / "brakes.md").write_text("# Brakes\n\nBleed the lever first.\n")
        opened.ok("start", folder, "--port", 0, "--detach", "--no-ask")
        opened.ok("source", "crawl", "wiki:notes", "--wait")
        yield opened


def on_a_terminal(shell: Shell, *words: str, env: dict[str, str] | None = None) -> str:
    """What a command writes to a terminal of 60 columns."""
    ours, theirs = pty.openpty()
    own = {"PATH": os.environ["PATH"], "HOME": str(shell.root), "PECIA_HOME": str(shell.home)}
    with subprocess.Popen(
        [sys.executable, "-m", "pecia", *words],
        env={**own, "COLUMNS": "60", "TERM": "xterm", **(env or {})},
        cwd=shell.root,
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    ):
        os.close(theirs)
        parts: list[bytes] = []
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:
                break
            if not part:
                break
            parts.append(part)
    os.close(ours)
    return b"".join(parts).decode()


def test_search_gives_title_place_and_passage_in_one_shape(shell: Shell) -> None:
    found = shell.ok("search", "spoke", "wobble", "--json").document
    fields = {"query", "hits", "unlikely", "absent", "more", "next_cursor", "degraded"}
    assert {*found} == fields
    hit = found["hits"][0]
    assert {*hit} == {
        *("title", "source", "path", "uri", "page", "passage", "matches", "rank", "match"),
    }
    assert not found["unlikely"]
    assert (hit["title"], hit["uri"]) == ("Wheels", "pecia://file/wiki%3Anotes/wheels.md")
    marked = [hit["passage"][start:end] for start, end in hit["matches"]]
    assert marked == ["spoke", "wobble"]
    assert "mark>" not in hit["passage"]


def test_search_finds_what_one_author_wrote(shell: Shell) -> None:
    written = {"docName": "lamps", "markdown": "A lamp by the wheels.", "position": "replace"}
    shell.ok("call", "wiki.write_document", "--args", json.dumps(written))

    def found(author: str) -> set[str]:
        done = shell.run("search", "wheels", "--author", author, "--json")
        return {it["path"] for it in done.document["hits"]}

    assert found("person") == {"lamps.md"}
    assert found("agent") == set()
    assert "--author" in shell.ok("search", "--help").out


def test_a_word_that_is_nowhere_is_said_to_be_and_is_an_exit_code(shell: Shell) -> None:
    done = shell.run("search", "xyzzyqq", "--json")
    assert (done.code, done.document["unlikely"]) == (1, True)
    assert all(it["match"] < 0.1 for it in done.document["hits"])
    piped = shell.run("search", "xyzzyqq")
    assert (piped.code, piped.out) == (1, "")
    assert "nothing here seems to answer 'xyzzyqq'" in piped.err
    assert "--json" in piped.err
    assert "Wheels" in on_a_terminal(shell, "search", "xyzzyqq")


def test_a_question_in_another_language_finds_what_answers_it(shell: Shell) -> None:
    question = ("wie", "entlüftet", "man", "die", "Bremsen")
    found = shell.ok("search", *question, "--json").document
    assert (found["hits"][0]["title"], found["unlikely"]) == ("Brakes", False)
    assert shell.ok("ask", *question, "--json").document["outcome"] == "passages"
    other = ("wann", "wurde", "der", "Vertrag", "von", "Utrecht", "geschlossen")
    done = shell.run("ask", *other, "--json")
    assert (done.code, done.document["outcome"]) == (1, "nothing")


def test_in_a_pipe_a_hit_is_one_line(shell: Shell) -> None:
    [line] = shell.ok("search", "spoke", "--limit", "1").out.splitlines()
    place, page, title, passage = line.split("\t")
    assert (place, page, title) == ("wiki:notes/wheels.md", "", "Wheels")
    assert "Tighten the spoke opposite the wobble." in passage
    assert shell.ok("search", "spoke", "--limit", "1", "--plain").out.splitlines() == [line]


def test_a_document_is_printed_as_text_without_control_characters(shell: Shell) -> None:
    (shell.root / "notes" / "paint.md").write_text("# Paint\n\n\tone\x1b[31m\ntwo\n")
    words = ("call", "wiki.read_document", "--path", "paint.md")
    assert "# Paint\n\n\tone\\u001b[31m\ntwo\n" in shell.ok(*words).out
    shown = on_a_terminal(shell, *words).replace("\r\n", "\n")
    assert "# Paint\n\n\tone\\u001b[31m\ntwo\n" in shown


def test_a_terminal_shows_matches_in_colour_unless_told_not_to(shell: Shell) -> None:
    shown = on_a_terminal(shell, "search", "spoke")
    assert "\x1b[1;33mspoke\x1b[0m" in shown
    assert all(len(COLOUR.sub("", it)) <= 60 for it in shown.splitlines())
    assert not COLOUR.search(on_a_terminal(shell, "search", "spoke", env={"NO_COLOR": "1"}))
    assert not COLOUR.search(on_a_terminal(shell, "search", "spoke", "--plain"))


def test_nothing_found_is_an_exit_code(shell: Shell) -> None:
    done = shell.run("recall", "zeppelin")
    assert (done.code, done.out) == (1, "")
    assert "nothing remembered about 'zeppelin'" in done.err


@pytest.mark.parametrize(
    "place",
    [
        "wiki:notes/wheels.md",
        "wheels.md",
        "wheels",
        "notes/wheels.md",
        "pecia://file/wiki:notes/wheels.md",
    ],
)
def test_a_file_is_read_by_each_of_its_names(shell: Shell, place: str) -> None:
    assert shell.ok("read", place).out == WHEELS
    assert shell.ok("read", place, "--json").document["text"] == WHEELS


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("kept", ["NFC", "NFD"])
def test_a_file_is_read_by_either_spelling_of_an_accent(
    shell: Shell, kept: Literal["NFC", "NFD"], form: Literal["NFC", "NFD"]
) -> None:
    name = f"café {kept}.md"
    (shell.root / "notes" / normalize(kept, name)).write_text(f"# Café\n\nKept as {kept}.\n")
    shell.ok("source", "crawl", "wiki:notes", "--wait")
    asked = normalize(form, name)
    for place in (
        *(asked, asked.removesuffix(".md"), f"wiki:notes/{asked}", f"notes/{asked}"),
        f"pecia://file/wiki:notes/{quote(asked)}",
    ):
        assert f"Kept as {kept}." in shell.ok("read", place).out


def test_a_file_of_any_folder_is_read_by_its_name_or_title(shell: Shell) -> None:
    for folder in ("north", "south"):
        (shell.root / "notes" / folder).mkdir()
        (shell.root / "notes" / folder / "tide table.md").write_text(f"# Tides {folder}\n\nHigh.\n")
    (shell.root / "notes" / "north" / "pilot book.md").write_text("# Skerries\n\nKeep west.\n")
    shell.ok("source", "crawl", "wiki:notes", "--wait")
    for place in ("pilot book.md", "pilot book", "north/pilot book", "Skerries"):
        assert "Keep west." in shell.ok("read", place).out
    uri = shell.ok("read", "pilot book", "--json").document["uri"]
    assert uri == "pecia://file/wiki%3Anotes/north/pilot%20book.md"
    several = shell.run("read", "tide table", "--json").document["error"]
    places = [f"wiki:notes/{it}/tide table.md" for it in ("north", "south")]
    assert sorted(several["expected"]) == places
    misspelled = shell.run("read", "north/pilot bok.md")
    assert (misspelled.code, misspelled.out) == (1, "")
    assert "did you mean north/pilot book.md?" in misspelled.err


def test_no_editor_is_opened_where_there_is_no_terminal(shell: Shell) -> None:
    done = shell.run("edit", "new page")
    assert (done.code, done.out) == (1, "")
    assert "no terminal" in done.err
    assert "wiki.write_document" in done.err


def test_a_file_that_is_nowhere_is_refused_with_what_to_do(shell: Shell) -> None:
    done = shell.run("read", "nowhere.md", "--json")
    assert (done.code, done.document["error"]["code"]) == (1, "NOT_FOUND")
    assert "pecia search" in done.document["error"]["hint"]
    assert shell.run("read", "https://example.org/").code == 1


def test_a_fact_is_remembered_and_recalled(shell: Shell) -> None:
    made = shell.ok("remember", "Loan bikes are checked on Mondays.", "--json").document
    assert [it["outcome"] for it in made["memories"]] == ["ADD"]
    again = shell.ok("remember", "-", "--json", stdin="Loan bikes are checked on Mondays.\n")
    assert [it["outcome"] for it in again.document["memories"]] == ["NONE"]
    found = shell.ok("recall", "when", "are", "bikes", "checked", "--json").document
    assert found["memories"][0]["text"] == "Loan bikes are checked on Mondays."
    assert shell.run("remember").code == 2


def edited(shell: Shell, script: str, *words: str) -> Done:
    editor = shell.root / "editor.sh"
    editor.write_text(f"#!/bin/sh\n{script}\n")
    editor.chmod(0o755)
    return shell.run("edit", *words, env={"EDITOR": str(editor), "VISUAL": ""})


def test_an_edit_is_saved_and_an_unchanged_document_is_left_alone(shell: Shell) -> None:
    file = shell.root / "notes" / "brakes.md"
    assert "unchanged" in edited(shell, "true", "brakes").out
    done = edited(shell, 'sed -i s/first/twice/ "$1"', "brakes.md", "--json")
    assert json.loads(done.out)["outcome"] == "saved"
    assert "Bleed the lever twice." in file.read_text()
    made = edited(shell, 'echo "# New" > "$1"', "fresh/page")
    assert (made.code, "created" in made.out) == (0, True)
    assert (shell.root / "notes" / "fresh" / "page.md").read_text() == "# New\n"


def test_what_somebody_else_wrote_meanwhile_is_not_overwritten(shell: Shell) -> None:
    file = shell.root / "notes" / "wheels.md"
    script = f'echo Mine. >> "$1"; echo Theirs. >> {file}'
    done = edited(shell, script, "wheels.md")
    assert done.code == 1
    assert "[CONFLICT] wheels.md changed while you edited it; nothing was written" in done.err
    assert file.read_text() == WHEELS + "Theirs.\n"
    [draft] = re.findall(r"your text is in (\S+?):", done.err)
    assert Path(draft).read_text() == WHEELS + "Mine.\n"
    Path(draft).unlink()
    file.write_text(WHEELS)


def test_who_may_not_write_is_refused_before_the_editor_opens(shell: Shell) -> None:
    made = shell.ok("token", "make", "reader", "--scopes", "read", "--json").document
    opened = shell.root / "opened"
    env = {"EDITOR": f"touch {opened}", "PECIA_TOKEN": made["token"]}
    refused = shell.run("edit", "wheels", "--json", env=env)
    assert refused.document["error"]["code"] == "FORBIDDEN"
    assert not opened.exists()


def test_an_editor_that_fails_writes_nothing(shell: Shell) -> None:
    done = edited(shell, 'echo x >> "$1"; exit 3', "brakes")
    assert (done.code, "ended with 3; nothing was written" in done.err) == (1, True)
    missing = shell.run("edit", "brakes", env={"EDITOR": "/no/such/editor", "VISUAL": ""})
    assert (missing.code, "cannot be started" in missing.err) == (1, True)


@pytest.mark.parametrize(
    ("typed", "candidate"),
    [
        (("sea",), "search"),
        (("source", "cr"), "crawl"),
        (("source", "crawl", "wiki"), "wiki:notes"),
        (("source", "set", ""), "wiki:notes"),
        (("space", "set", ""), "notes"),
        (("user", "set", ""), ""),
        (("call", "lake.list_s"), "lake.list_sources"),
        (("call", "lake.search_content", "--qu"), "--query"),
        (("call", "lake.search_content", "--mode", ""), "hybrid"),
        (("search", "--li"), "--limit"),
        (("start", "--det"), "--detach"),
        (("completion", ""), "fish"),
    ],
)
def test_completion_knows_commands_tools_flags_and_names(
    shell: Shell, typed: tuple[str, ...], candidate: str
) -> None:
    lines = shell.ok("__complete", *typed).out.splitlines()
    assert any(it.split("\t")[0] == candidate for it in lines) or (not candidate and lines)
    assert all(it.startswith(typed[-1]) for it in lines)
