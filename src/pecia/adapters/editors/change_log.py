"""What `pecia init` changed in the files of a user, so that undoing leaves them as they were, byte
for byte. Kept beside the note of their decision."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pecia.adapters.editors import config_file
from pecia.kernel.errors import Json, PeciaError

FILE = Path(".pecia") / "init-changes.json"


@dataclass(frozen=True, slots=True)
class TextChange:
    """The one place where a text changed: what stood there, and what stands there now."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class EditedFile:
    """The changes to one file, in their order."""

    changes: tuple[TextChange, ...] = ()
    is_made: bool = False
    """Whether there was no file before."""
    made_folders: tuple[str, ...] = ()
    """Folders that were made for it, the innermost first."""


def find_change(before: str, after: str) -> TextChange:
    """The smallest stretch that differs. Pure."""
    most = min(len(before), len(after))
    start = next((it for it in range(most) if before[it] != after[it]), most)
    end = next(
        (it for it in range(most - start) if before[-1 - it] != after[-1 - it]), most - start
    )
    return TextChange(before[start : len(before) - end], after[start : len(after) - end])


def take_back(text: str, change: EditedFile) -> str | None:
    """The text without the changes, the last first; None where one is not there exactly once.
    Pure."""
    for it in reversed(change.changes):
        if not it.new or text.count(it.new) != 1:
            return None
        text = text.replace(it.new, it.old)
    return text


@dataclass(frozen=True, slots=True)
class ChangeLog:
    """The changes to the files of one user."""

    home: Path

    def read(self) -> dict[str, EditedFile]:
        """By path. Empty where there is no log, or none that can be read."""
        with suppress(OSError, PeciaError, ValueError, KeyError, TypeError):
            text = config_file.read_text(self.home / FILE)
            found: Mapping[str, Any] = json.loads(text) if text else {}
            return {path: _parse_change(it) for path, it in found.items()}
        return {}

    def add(
        self, path: Path, before: str | None, after: str, made_folders: Sequence[Path] = ()
    ) -> None:
        """Note that a file was changed, and which folders were made for it."""
        log = self.read()
        known = log.get(str(path))
        if known is None or take_back(before or "", known) is None:
            known = EditedFile(is_made=before is None)
        change = find_change(before or "", after)
        made = (*known.made_folders, *map(str, made_folders))
        noted = replace(known, changes=(*known.changes, change), made_folders=made)
        self._write({**log, str(path): noted})

    def forget(self, paths: Sequence[Path]) -> None:
        """Note that what was changed was taken back."""
        gone = {str(it) for it in paths}
        if rest := {path: it for path, it in self.read().items() if path not in gone}:
            self._write(rest)
        else:
            (self.home / FILE).unlink(missing_ok=True)

    def _write(self, log: Mapping[str, EditedFile]) -> None:
        path = self.home / FILE
        path.parent.mkdir(exist_ok=True, mode=0o700)
        document = {name: _change_document(it) for name, it in log.items()}
        was = config_file.read_text(path)
        config_file.replace_text(path, json.dumps(document, indent=1) + "\n", was=was)


def _parse_change(found: Mapping[str, Any]) -> EditedFile:
    changes = tuple(TextChange(it["old"], it["new"]) for it in found["changes"])
    folders = tuple(str(it) for it in found.get("made_folders", ()))
    return EditedFile(changes, bool(found["is_made"]), folders)


def _change_document(it: EditedFile) -> dict[str, Json]:
    changes: list[Json] = [{"old": one.old, "new": one.new} for one in it.changes]
    made: dict[str, Json] = {"made_folders": [*it.made_folders]} if it.made_folders else {}
    return {"is_made": it.is_made, "changes": changes, **made}
