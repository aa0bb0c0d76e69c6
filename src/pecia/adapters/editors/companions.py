"""Hooks and the skill in the folders of clients: written, and taken out byte for byte."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pecia.adapters.editors import config_file
from pecia.adapters.editors.catalog import Machine
from pecia.adapters.editors.change_log import ChangeLog, EditedFile, take_back
from pecia.adapters.editors.hooks import (
    SKILL,
    HookClient,
    known_hook_clients,
    plan_hooks,
    plan_own_file,
    plan_unhook,
)
from pecia.adapters.editors.plan import EntryPlan, EntryStatus
from pecia.kernel.errors import Json, PeciaError


@dataclass(frozen=True, slots=True)
class CompanionOutcome:
    """What became of one file, and why."""

    client: HookClient
    what: Literal["hooks", "skill"]
    file: Path
    status: EntryStatus
    why: str = ""

    def as_json(self) -> dict[str, Json]:
        return {
            "client": self.client.id,
            "what": self.what,
            "path": str(self.file),
            "status": self.status,
            "why": self.why or None,
        }


def detect_hook_clients(machine: Machine) -> list[HookClient]:
    """Those found on this machine. Their folders are never made."""
    found: list[HookClient] = []
    for it in known_hook_clients(machine):
        with suppress(OSError):
            found += [it] if it.probe.is_dir() else []
    return found


@dataclass(frozen=True, slots=True)
class CompanionFiles:
    """The files of one user."""

    home: Path
    dry_run: bool = False

    @property
    def log(self) -> ChangeLog:
        return ChangeLog(self.home)

    def add_hooks(self, clients: Sequence[HookClient], command: str) -> list[CompanionOutcome]:
        return [self._add_hooks(it, command) for it in clients]

    def add_skills(self, clients: Sequence[HookClient]) -> list[CompanionOutcome]:
        """The skill that teaches an agent to use Pecia."""
        return [self._add_skill(it) for it in clients]

    def remove(self, clients: Sequence[HookClient]) -> list[CompanionOutcome]:
        """Take hooks and skills out again, where there are any."""
        found = [
            outcome
            for it in clients
            for outcome in (
                self._remove(it, "hooks", it.file),
                self._remove(it, "skill", it.skill_file),
            )
        ]
        return [it for it in found if it is not None]

    def _add_hooks(self, client: HookClient, command: str) -> CompanionOutcome:
        try:
            text = config_file.read_text(client.file)
            planned = plan_hooks(client, text, command)
            self._write(client.file, text, planned)
        except (PeciaError, OSError) as error:
            return CompanionOutcome(client, "hooks", client.file, "failed", _message(error))
        return CompanionOutcome(client, "hooks", client.file, planned.status, planned.why)

    def _add_skill(self, client: HookClient) -> CompanionOutcome:
        file = client.skill_file
        try:
            text = config_file.read_text(file)
            wanted = SKILL.read_text(encoding="utf-8")
            is_ours = text is not None and self._is_as_written(file, text)
            planned = plan_own_file(text, wanted, is_ours=is_ours)
            self._write(file, text, planned)
        except (PeciaError, OSError) as error:
            return CompanionOutcome(client, "skill", file, "failed", _message(error))
        return CompanionOutcome(client, "skill", file, planned.status, planned.why)

    def _is_as_written(self, file: Path, text: str) -> bool:
        change = self.log.read().get(str(file))
        return change is not None and change.is_made and take_back(text, change) == ""

    def _write(self, file: Path, before: str | None, planned: EntryPlan) -> None:
        if planned.text is None or self.dry_run:
            return
        made = [it for it in file.parents if not it.exists()]
        file.parent.mkdir(parents=True, exist_ok=True)
        config_file.replace_text(file, planned.text, was=before)
        # Without its line it is still found and taken out, if not byte for byte.
        with suppress(OSError, PeciaError):
            self.log.add(file, before, planned.text, made)

    def _remove(
        self, client: HookClient, what: Literal["hooks", "skill"], file: Path
    ) -> CompanionOutcome | None:
        try:
            text = config_file.read_text(file)
            if text is None:
                return None
            change = self.log.read().get(str(file))
            planned = _plan_removal(client, what, text, change)
            if planned.text is not None and not self.dry_run:
                is_own = planned.text == "" and (change is None or change.is_made)
                _put_back(file, planned.text, text, is_own=is_own)
                _remove_empty(change.made_folders if change else ())
                self.log.forget([file])
        except (PeciaError, OSError) as error:
            return CompanionOutcome(client, what, file, "failed", _message(error))
        if planned.status == "unchanged":
            return None
        return CompanionOutcome(client, what, file, planned.status, planned.why)


def _plan_removal(
    client: HookClient, what: Literal["hooks", "skill"], text: str, change: EditedFile | None
) -> EntryPlan:
    """By the log, which gives every byte back; else by what the file says."""
    back = take_back(text, change) if change else None
    if back is not None:
        return EntryPlan("removed", back)
    if what == "hooks":
        return plan_unhook(client, text)
    if text == SKILL.read_text(encoding="utf-8"):
        return EntryPlan("removed", "")
    return EntryPlan("skipped-custom", why="it was written or changed by hand")


def _put_back(file: Path, text: str, was: str, *, is_own: bool) -> None:
    """The file as it was before; none, where there was none, and no empty folder of ours."""
    if not is_own:
        config_file.replace_text(file, text, was=was)
        return
    file.unlink()
    for folder in (file.parent, file.parent.parent):
        # Only ours: the folder of the skill, the folder of skills or plugins if it is empty.
        if folder.name in ("pecia", "skills", "plugins"):
            with suppress(OSError):
                folder.rmdir()


def _remove_empty(folders: Sequence[str]) -> None:
    """Folders that were made for the file, unless somebody has put something there since."""
    for folder in folders:
        with suppress(OSError):
            Path(folder).rmdir()


def _message(error: PeciaError | OSError) -> str:
    return error.message if isinstance(error, PeciaError) else error.strerror or str(error)
