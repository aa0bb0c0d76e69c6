"""Our entry in the files of several editors: each for itself, so that none stops the others."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pecia.adapters.editors import files
from pecia.adapters.editors.editors import Editor, Machine, editors
from pecia.adapters.editors.plan import Planned, Status, Wish, added, removed
from pecia.kernel.errors import Conflict, Json, PeciaError

TRIES = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one editor's file, and why."""

    editor: Editor
    status: Status
    why: str = ""

    def as_json(self) -> dict[str, Json]:
        return {
            "editor": self.editor.id,
            "title": self.editor.title,
            "path": str(self.editor.file),
            "status": self.status,
            "why": self.why or None,
        }


def is_here(editor: Editor) -> bool:
    """Whether somebody uses this editor: its folder or its file is there. None is ever made."""
    # Where one may not look, there is nothing that one could change either.
    with suppress(OSError):
        return editor.probe.is_dir() or editor.file.is_file()
    return False


def detected(machine: Machine) -> tuple[Editor, ...]:
    """The editors found on this machine."""
    return tuple(it for it in editors(machine) if is_here(it))


def wire(chosen: Sequence[Editor], wish: Wish, *, dry_run: bool = False) -> list[Outcome]:
    """Put our entry into each file. With `dry_run` nothing is written, and the same is told."""
    return [_changed(it, lambda text, it=it: added(it, text, wish), dry_run) for it in chosen]


def unwire(
    chosen: Sequence[Editor], *, force: bool = False, dry_run: bool = False
) -> list[Outcome]:
    """Take our entry out of each file."""
    return [
        _changed(it, lambda text, it=it: removed(it, text, force=force), dry_run) for it in chosen
    ]


def _changed(editor: Editor, plan: Callable[[str | None], Planned], dry_run: bool) -> Outcome:
    if not is_here(editor):
        return Outcome(editor, "skipped-missing", f"there is no {editor.probe}")
    for left in reversed(range(TRIES)):
        try:
            text = files.read(editor.file)
            planned = plan(text)
            if planned.text is not None and not dry_run:
                files.replace(editor.file, planned.text, was=text)
        except Conflict as error:
            if not left:
                return Outcome(editor, "failed", error.message)
        except PeciaError as error:
            return Outcome(editor, "failed", error.message)
        except OSError as error:
            return Outcome(editor, "failed", error.strerror or str(error))
        else:
            return Outcome(editor, planned.status, planned.why)
    raise AssertionError("the last try returns")
