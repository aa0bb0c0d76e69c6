"""`pecia edit`: a wiki document in your editor."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.settings import environ
from pecia.interfaces.cli.tools.backend import ToolBackend, open_backend
from pecia.interfaces.cli.tools.direct import CommandArguments, DirectCommand
from pecia.interfaces.cli.tools.space_choice import choose_space
from pecia.kernel.errors import Conflict, Forbidden, InvalidInput, Json, NotFound, Unavailable

EDITOR_VARIABLES = ("VISUAL", "EDITOR")
USUAL_EDITORS = ("sensible-editor", "nano", "vim", "vi")


def edit(terminal: Terminal, given: CommandArguments) -> int:
    path = given["document"]
    if not path.strip():
        raise InvalidInput("DOCUMENT is empty", field="document")
    place: dict[str, Json] = {"space": given["space"]} if given["space"] else {}
    path = path if Path(path).suffix else f"{path}.md"
    with open_backend(terminal) as tools:
        before, place = _open_document(tools, path, place)
        _require_write(tools)
        editor = find_editor()
        draft = _write_draft(path, before or "")
        _run_editor(editor, draft)
        after = draft.read_text(encoding="utf-8")
        space = cast(str | None, place.get("space"))
        if after == (before or "") or (before is None and not after.strip()):
            draft.unlink()
            return _report(terminal, path, "unchanged", space)
        # Nothing is written over what somebody else wrote meanwhile.
        if _read_document(tools, path, place) != before:
            raise Conflict(
                f"{path} changed while you edited it; nothing was written",
                draft=str(draft),
                hint=f"your text is in {draft}: run `pecia edit {given['document']}` again and "
                "take over what you want from it",
            )
        _write_document(tools, path, after, {**place, "summary": given["summary"]}, draft)
    draft.unlink()
    return _report(terminal, path, "created" if before is None else "saved", space)


def find_editor() -> list[str]:
    """The command of the editor, as VISUAL or EDITOR say, else one that is installed."""
    for name in EDITOR_VARIABLES:
        if given := shlex.split(environ().get(name, "")):
            return given
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Unavailable(
            "there is no terminal here for an editor, and neither VISUAL nor EDITOR names one that "
            "needs none",
            field="EDITOR",
            hint="without an editor: pecia call wiki.write_document --help",
        )
    for name in USUAL_EDITORS:
        if shutil.which(name):
            return [name]
    raise NotFound(
        "no editor is known: neither VISUAL nor EDITOR is set",
        field="EDITOR",
        hint="EDITOR=nano pecia edit DOCUMENT",
    )


def _require_write(tools: ToolBackend) -> None:
    """Before somebody types: a token that may not write is refused now, not when they save."""
    wanted = tools.find_tool("wiki.write_document").scope
    who = cast(Any, tools.call(tools.find_tool("admin.whoami"), {}))
    if wanted not in who["scopes"]:
        raise Forbidden(
            f"this token may not {wanted}: it has the scopes {', '.join(who['scopes']) or 'none'}",
            scope=wanted,
        )


def _run_editor(editor: list[str], draft: Path) -> None:
    try:
        code = subprocess.run([*editor, str(draft)], check=False).returncode
    except OSError as error:
        draft.unlink()
        raise NotFound(
            f"the editor {editor[0]!r} cannot be started: {error.strerror}",
            field="EDITOR",
            hint="EDITOR=nano pecia edit DOCUMENT",
        ) from None
    if code:
        raise Unavailable(
            f"the editor {editor[0]!r} ended with {code}; nothing was written",
            draft=str(draft),
            hint=f"your text is in {draft}",
        )


def _write_draft(path: str, text: str) -> Path:
    handle, name = tempfile.mkstemp(prefix="pecia-", suffix=f"-{Path(path).name}")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    return Path(name)


def _open_document(
    tools: ToolBackend, path: str, place: dict[str, Json]
) -> tuple[str | None, dict[str, Json]]:
    """Its text, and the space that it is in: the one named, the only one, or that of the working
    folder."""

    def read(chosen: Mapping[str, Json]) -> tuple[str | None, dict[str, Json]]:
        where = {**place, **chosen}
        return _read_document(tools, path, where), where

    return choose_space(read, f"pecia edit {shlex.quote(path.removesuffix('.md'))}")


def _read_document(tools: ToolBackend, path: str, place: dict[str, Json]) -> str | None:
    """The whole text; None where there is no such document."""
    tool = tools.find_tool("wiki.read_document")
    parts: list[str] = []
    offset: int | None = 0
    while offset is not None:
        try:
            found = cast(Any, tools.call(tool, {**place, "path": path, "offset": offset}))
        except NotFound as error:
            if "document" in error.message:
                return None
            raise
        parts.append(found["content"])
        offset = found.get("nextOffset")
    return "".join(parts)


def _write_document(
    tools: ToolBackend, path: str, text: str, place: dict[str, Json], draft: Path
) -> None:
    arguments = {it: value for it, value in place.items() if value is not None}
    asked: dict[str, Json] = {"docName": path.removesuffix(".md"), "markdown": text}
    try:
        tool = tools.find_tool("wiki.write_document")
        tools.call(tool, {**arguments, **asked, "position": "replace"})
    except Exception:
        # What somebody typed is kept, whatever went wrong.
        os.write(2, f"your text is in {draft}\n".encode())
        raise


def _report(terminal: Terminal, path: str, outcome: str, space: str | None) -> int:
    document: dict[str, Json] = {"document": path, "space": space, "outcome": outcome}
    terminal.print_result(document, lambda it: it.print_line(f"{path}: {outcome}"))
    return 0


COMMANDS = {
    "edit": DirectCommand(
        edit,
        "Open a wiki document in your editor (VISUAL or EDITOR), and save what you changed. A\n"
        "document that does not exist is made. When somebody else changed it meanwhile, nothing\n"
        "is written and your text is kept. --json: document, space, outcome (saved, created or\n"
        "unchanged).",
        {
            "document": {"type": "string", "description": "Its path, with or without .md."},
            "space": {
                "type": "string",
                "description": "The space; that of the working folder where there are several.",
            },
            "summary": {"type": "string", "description": "What you changed, for its history."},
        },
        ("document",),
        ("document",),
    )
}
