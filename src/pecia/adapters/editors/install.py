"""Our entry in the files of several editors: each for itself, so that none stops the others."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pecia.adapters.editors import config_file
from pecia.adapters.editors.catalog import CodeEditor, Machine, known_editors
from pecia.adapters.editors.change_log import ChangeLog, EditedFile, take_back
from pecia.adapters.editors.plan import (
    NAME,
    EntryPlan,
    EntryRequest,
    EntryStatus,
    is_ours,
    plan_add,
    plan_remove,
)
from pecia.kernel.errors import Conflict, Json, PeciaError

MAX_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class EditorOutcome:
    """What became of one editor's file, and why."""

    editor: CodeEditor
    status: EntryStatus
    why: str = ""

    def as_json(self) -> dict[str, Json]:
        return {
            "editor": self.editor.id,
            "title": self.editor.title,
            "path": str(self.editor.file),
            "status": self.status,
            "why": self.why or None,
        }


def is_installed(editor: CodeEditor) -> bool:
    """Whether somebody uses this editor: its folder or its file is there. None is ever made."""
    # Where one may not look, there is nothing that one could change either.
    with suppress(OSError):
        return editor.probe.is_dir() or editor.file.is_file()
    return False


def detect_editors(machine: Machine) -> tuple[CodeEditor, ...]:
    """The editors found on this machine."""
    return tuple(it for it in known_editors(machine) if is_installed(it))


def install_entries(
    chosen: Sequence[CodeEditor],
    wish: EntryRequest,
    *,
    dry_run: bool = False,
    log: ChangeLog | None = None,
) -> list[EditorOutcome]:
    """Put our entry into each file. With `dry_run` nothing is written; the report is the same.
    The log, if there is one, is told of each change."""

    def write(editor: CodeEditor, before: str | None, after: str) -> None:
        if dry_run:
            return
        config_file.replace_text(editor.file, after, was=before)
        # Without its line the entry is still found and taken out, if not byte for byte.
        with suppress(OSError, PeciaError):
            if log is not None:
                log.add(editor.file, before, after)

    return [_apply_plan(it, lambda text, it=it: plan_add(it, text, wish), write) for it in chosen]


def remove_entries(
    chosen: Sequence[CodeEditor],
    *,
    force: bool = False,
    dry_run: bool = False,
    log: ChangeLog | None = None,
) -> list[EditorOutcome]:
    """Take our entry out of each file: byte for byte, where the log knows how it was."""
    known = log.read() if log else {}

    def write(editor: CodeEditor, before: str | None, after: str) -> None:
        if dry_run:
            return
        change = known.get(str(editor.file))
        back = _former_text(editor, before or "", after, change)
        if back == "" and change and change.is_made:
            editor.file.unlink()
        else:
            config_file.replace_text(editor.file, after if back is None else back, was=before)
        if log is not None and change:
            log.forget([editor.file])

    return [
        _apply_plan(it, lambda text, it=it: plan_remove(it, text, force=force), write)
        for it in chosen
    ]


def _former_text(
    editor: CodeEditor, text: str, without: str, change: EditedFile | None
) -> str | None:
    """The text as it was before our entry, if it says what it says without it. An empty list of
    servers may be ours too; an entry of the user's own, that was forced out, comes back."""
    back = take_back(text, change) if change else None
    if back is None:
        return None
    wanted, found = editor.format.read(without), editor.format.read(back)
    servers = found.get(editor.key, {})
    if isinstance(servers, dict) and NAME in servers and not is_ours(editor, servers[NAME]):
        rest = {name: it for name, it in servers.items() if name != NAME}
        found = {**found, editor.key: rest}
    is_same = found == wanted or {editor.key: {}, **found} == {editor.key: {}, **wanted}
    return back if is_same else None


def _apply_plan(
    editor: CodeEditor,
    plan: Callable[[str | None], EntryPlan],
    write: Callable[[CodeEditor, str | None, str], None],
) -> EditorOutcome:
    if not is_installed(editor):
        return EditorOutcome(editor, "skipped-missing", f"there is no {editor.probe}")
    for left in reversed(range(MAX_ATTEMPTS)):
        try:
            text = config_file.read_text(editor.file)
            planned = plan(text)
            if planned.text is not None:
                write(editor, text, planned.text)
        except Conflict as error:
            if not left:
                return EditorOutcome(editor, "failed", error.message)
        except PeciaError as error:
            return EditorOutcome(editor, "failed", error.message)
        except OSError as error:
            return EditorOutcome(editor, "failed", error.strerror or str(error))
        else:
            return EditorOutcome(editor, planned.status, planned.why)
    raise AssertionError("the last try returns")
