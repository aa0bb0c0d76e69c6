"""Documents as people read them."""

import io
import re

import pytest
from typing_extensions import override

from pecia.interfaces.cli.output.render import (
    choose_layout,
    format_cell,
    show_document,
    show_tool_answer,
)
from pecia.interfaces.cli.output.terminal import Terminal
from pecia.kernel.errors import Json


class Screen(io.StringIO):
    """A stdout that is a terminal."""

    @override
    def isatty(self) -> bool:
        return True


def test_rows_are_separated_by_tabs_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    show_document(
        Terminal(), {"users": [{"name": "ana", "role": "admin"}, {"name": "bo", "role": None}]}
    )
    assert capsys.readouterr().out == "name\trole\nana\tadmin\nbo\t\n"


def test_rows_are_a_table_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    show_document(Terminal(), {"users": [{"name": "ana", "role": "admin"}]})
    head, row = re.sub(r"\x1b\[\d*m", "", screen.getvalue()).splitlines()
    assert head.split() == ["name", "role"]
    assert row.split() == ["ana", "admin"]


def test_a_moment_in_a_table_on_a_terminal_has_no_fractions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", "80")
    show_document(Terminal(), {"calls": [{"at": "2026-11-18T19:59:36.343183Z", "user": "ana"}]})
    assert screen.getvalue().splitlines()[1].split() == ["2026-11-18T19:59:36Z", "ana"]


def test_a_table_that_would_break_its_words_is_shown_as_one_field_a_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", "20")
    rows: list[Json] = [{"source": "wiki:handbook", "protocol": "wiki"}] * 2
    show_document(Terminal(), {"sources": rows})
    one = "source    wiki:handbook\nprotocol  wiki\n"
    assert screen.getvalue() == f"{one}\n{one}"


def test_facts_beside_the_rows_are_shown_too(capsys: pytest.CaptureFixture[str]) -> None:
    show_document(Terminal(), {"source_id": "s1", "grants": [{"principal": "everyone"}]})
    assert capsys.readouterr().out == "source_id\ts1\nprincipal\neveryone\n"


def test_a_cursor_is_told_as_the_words_to_type(capsys: pytest.CaptureFixture[str]) -> None:
    show_document(Terminal(), {"users": [{"name": "ana"}], "next_cursor": "ana"})
    said = capsys.readouterr()
    assert said.out == "name\nana\n"
    assert said.err == "there is more: --cursor ana\n"


def test_an_empty_list_says_so_to_the_person_and_not_to_the_pipe(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_document(Terminal(), {"users": [], "next_cursor": None})
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "nothing\n"


def test_facts_are_one_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    show_document(Terminal(), {"user": "ana", "is_admin": True, "scopes": ["a", "b"]})
    assert capsys.readouterr().out == "user\tana\nis_admin\tyes\nscopes\ta, b\n"


@pytest.mark.parametrize("document", [[1, 2], {"a": {"b": 1}}, {"a": [{"b": 1}], "c": [{"d": 2}]}])
def test_what_is_neither_is_shown_as_json(
    document: Json, capsys: pytest.CaptureFixture[str]
) -> None:
    show_document(Terminal(), document)
    assert capsys.readouterr().out.startswith(("[", "{"))


STATS = {
    "properties": {
        "files": {"type": "integer"},
        "by_status": {"type": "array", "items": {"type": "object"}},
        "unread": {"type": "array", "items": {"type": "object"}},
    }
}


def test_several_tables_are_shown_each_under_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    answer: Json = {"files": 2, "by_status": [{"status": "ok", "files": 2}], "unread": []}
    show_tool_answer(Terminal(), answer, choose_layout(STATS))
    assert capsys.readouterr().out == (
        "files\t2\n\nby_status\nstatus\tfiles\nok\t2\n\nunread: none\n"
    )


def test_nothing_in_a_cell_can_drive_the_terminal() -> None:
    assert format_cell("\x1b[2Jgone\nline\ttab") == "\\u001b[2Jgone\\u000aline\\u0009tab"


def test_columns_that_were_chosen_are_the_only_ones(capsys: pytest.CaptureFixture[str]) -> None:
    show_document(
        Terminal(), {"rows": [{"at": "now", "tool": "x", "id": 7}]}, columns=("tool", "at")
    )
    assert capsys.readouterr().out == "tool\tat\nx\tnow\n"
