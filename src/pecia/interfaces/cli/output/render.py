"""Documents as text: tables on a terminal, tabs in a pipe. Changes no value, but
that a table on a terminal leaves out fractions of a second."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeGuard, cast

from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.tools.arguments import ToolInputSchema
from pecia.kernel.errors import Json

TableRow: TypeAlias = Mapping[str, Json]

# Of a moment in a table on a terminal: nobody reads microseconds there.
_SUBSECONDS = re.compile(r"(?<=\dT\d\d:\d\d:\d\d)\.\d+(?=Z|[+-]\d\d:\d\d)")
# Between two columns of a table.
_GAP = 2

CURSOR_FIELD = "next_cursor"
DEGRADED = "degraded"


def show_document(terminal: Terminal, document: Json, *, columns: Sequence[str] = ()) -> None:
    """A document in the shape that fits it: rows, facts, or JSON when it is neither."""
    if isinstance(document, dict) and _is_warnings(warnings := document.get(DEGRADED)):
        # To stderr: piped output has the same columns with and without them.
        document = {name: it for name, it in document.items() if name != DEGRADED}
        for it in warnings:
            terminal.info(f"warning: {it}")
    if isinstance(document, str):
        terminal.print_line(document)
    elif isinstance(document, dict) and (listed := _split_rows(document)) is not None:
        facts, rows = listed
        show_facts(terminal, facts)
        show_rows(terminal, rows, columns)
        if cursor := document.get(CURSOR_FIELD):
            terminal.info(f"there is more: --cursor {cursor}")
    elif isinstance(document, dict) and all(_is_flat(it) for it in document.values()):
        show_facts(terminal, document)
    else:
        terminal.print_line(json.dumps(document, ensure_ascii=False, indent=2))


@dataclass(frozen=True, slots=True)
class AnswerLayout:
    """How a tool's answers are shown, decided by its output schema: the format never depends on
    what an answer happens to hold."""

    kind: Literal["facts", "json"] = "json"
    tables: tuple[str, ...] = ()
    """The fields with rows, shown below the facts."""


def choose_layout(schema: Mapping[str, Any] | None) -> AnswerLayout:
    """Facts and tables where every field is flat or a list of objects; else, or without a schema,
    JSON. Pure."""
    if schema is None or not schema.get("properties"):
        return AnswerLayout()
    shape = ToolInputSchema(schema)
    names = [it for it in shape.properties if it not in (CURSOR_FIELD, DEGRADED)]
    deep = [it for it in names if not shape.is_flat(it)]
    if all(shape.is_table(it) for it in deep):
        return AnswerLayout("facts", tuple(deep))
    return AnswerLayout()


def show_tool_answer(
    terminal: Terminal, answer: Json, layout: AnswerLayout, *, columns: Sequence[str] = ()
) -> None:
    """A tool's answer. Warnings and the cursor go to stderr."""
    if isinstance(answer, dict) and _is_warnings(warnings := answer.get(DEGRADED)):
        for it in warnings:
            terminal.info(f"warning: {it}")
    if layout.kind == "json" or not isinstance(answer, dict):
        terminal.print_line(json.dumps(answer, ensure_ascii=False, indent=2))
        return
    beside = (*layout.tables, CURSOR_FIELD, DEGRADED)
    show_facts(terminal, {name: it for name, it in answer.items() if name not in beside})
    tables = {it: cast(list[TableRow], answer.get(it) or []) for it in layout.tables}
    for name, rows in tables.items():
        if len(tables) > 1:
            terminal.print_line(f"\n{name}" if rows else f"\n{name}: none")
        if rows or len(tables) == 1:
            show_rows(terminal, rows, columns)
    if cursor := answer.get(CURSOR_FIELD):
        terminal.info(f"there is more: --cursor {cursor}")


def show_rows(terminal: Terminal, rows: Sequence[TableRow], columns: Sequence[str] = ()) -> None:
    """A table. For an empty one a note on stderr."""
    if not rows:
        terminal.info("nothing")
        return
    names = list(columns) or list(dict.fromkeys(name for row in rows for name in row))
    cells = [[format_cell(row.get(name)) for name in names] for row in rows]
    if terminal.is_terminal:
        _print_table(terminal, names, cells)
    else:
        for line in (names, *cells):
            terminal.print_line("\t".join(line))


def show_facts(terminal: Terminal, facts: TableRow) -> None:
    """One field per line; a text of several lines as it is, below the name of its field."""
    width = max((len(name) for name in facts), default=0) if terminal.is_terminal else 0
    for name, value in facts.items():
        if isinstance(value, str) and "\n" in value.rstrip("\n"):
            terminal.print_line(f"{name}:")
            terminal.print_line(format_text(value))
            continue
        shown = format_cell(value.rstrip("\n") if isinstance(value, str) else value)
        terminal.print_line(f"{name:<{width}}  {shown}" if width else f"{name}\t{shown}")


def format_cell(value: Json) -> str:
    """A value on one line, without control characters."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(_is_scalar(it) for it in value):
        return ", ".join(format_cell(it) for it in value)
    if isinstance(value, dict | list):
        return escape_unprintable(json.dumps(value, ensure_ascii=False))
    return escape_unprintable(str(value))


def format_text(value: str) -> str:
    """A text of several lines. Control characters other than line breaks and tabs are escaped."""
    lines = value.replace("\r\n", "\n").rstrip("\n").split("\n")
    return "\n".join("\t".join(map(escape_unprintable, it.split("\t"))) for it in lines)


def format_one_line(value: Json) -> str:
    """The same, with blanks in place of line breaks and tabs."""
    return format_cell(" ".join(value.split()) if isinstance(value, str) else value)


def escape_unprintable(text: str) -> str:
    """The text with unprintable characters escaped."""
    return "".join(it if it.isprintable() else f"\\u{ord(it):04x}" for it in text)


def _split_rows(document: TableRow) -> tuple[TableRow, list[TableRow]] | None:
    """The one list of objects in a document, and its other fields."""
    beside = {name: it for name, it in document.items() if name != CURSOR_FIELD and it != []}
    facts = {name: it for name, it in beside.items() if _is_flat(it)}
    lists = [it for name, it in beside.items() if name not in facts]
    if not lists:
        # An empty list counts as one of objects only where the document has nothing else.
        return None if facts or [] not in document.values() else ({}, [])
    [rows, *others] = lists
    if others or not isinstance(rows, list) or any(not isinstance(it, dict) for it in rows):
        return None
    return facts, cast(list[TableRow], rows)


def _is_warnings(value: Json) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(it, str) for it in value)


def _is_scalar(value: Json) -> bool:
    return not isinstance(value, dict | list)


def _is_flat(value: Json) -> bool:
    return _is_scalar(value) or (isinstance(value, list) and all(_is_scalar(it) for it in value))


def _print_table(terminal: Terminal, names: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[_SUBSECONDS.sub("", it) for it in row] for row in cells]
    console = Console(file=terminal.stdout)
    if _longest_words(names, cells) > console.width:
        # Folded inside its words, a table reads worse than its rows one below the other.
        for number, row in enumerate(cells):
            if number:
                terminal.print_line()
            show_facts(terminal, dict(zip(names, row, strict=True)))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        table.add_column(name, overflow="fold")
    for row in cells:
        table.add_row(*(Text(it) for it in row))
    console.print(table)


def _longest_words(names: Sequence[str], cells: Sequence[Sequence[str]]) -> int:
    """The width of a table whose columns are as wide as the longest word of each."""
    from rich.cells import cell_len

    columns = zip(names, *cells, strict=True)
    widths = (
        max(cell_len(word) for it in column for word in it.split() or [""]) for column in columns
    )
    return sum(widths) + _GAP * (len(names) - 1)
