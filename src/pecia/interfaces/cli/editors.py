"""Editor setup in the terminal: which editors were found, which were chosen, what was done.

The adapter edits the files; this module only asks and prints.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.settings import HOME_VARIABLE, environ, find_home
from pecia.kernel.errors import InvalidInput, NotFound, PeciaError
from pecia.kernel.settings.account import data_folder, home_folder

if TYPE_CHECKING:
    from pecia.adapters.editors.catalog import CodeEditor, Machine
    from pecia.adapters.editors.companions import CompanionOutcome
    from pecia.adapters.editors.install import EditorOutcome
    from pecia.adapters.editors.plan import EntryRequest

SKIP_ANSWERS = frozenset({"s", "skip", "n", "no"})
ALL_ANSWERS = frozenset({"", "y", "yes", "a", "all", "add"})


@dataclass(frozen=True, slots=True)
class StatusText:
    """Statuses in words."""

    done: str
    would: str


STATUS_TEXTS = {
    "written": StatusText("added", "would be added"),
    "overwritten": StatusText("updated", "would be updated"),
    "unchanged": StatusText("unchanged", "unchanged"),
    "removed": StatusText("removed", "would be removed"),
    "skipped-custom": StatusText("kept", "kept"),
    "skipped-missing": StatusText("not found", "not found"),
    "failed": StatusText("failed", "failed"),
}


def detect_machine() -> "Machine":
    """The machine and the user of this process."""
    from pecia.adapters.editors.catalog import Machine

    system = "darwin" if sys.platform == "darwin" else "linux"
    return Machine(home_folder(), system, environ())


def find_own_command(terminal: Terminal) -> str:
    """The path under which editors start this installation."""
    from pecia.adapters.editors.command_path import find_command_path, is_temporary

    called = Path(sys.argv[0])
    beside = Path(sys.executable).parent / "pecia"
    script = called if called.name == "pecia" and called.is_file() else beside
    command = find_command_path(script, environ().get("PATH", "").split(":"))
    if is_temporary(command):
        terminal.info(
            f"warning: {command} is temporary: install Pecia permanently with "
            "uv tool install pecia, then run pecia init again"
        )
    return str(command)


def find_named_home(terminal: Terminal) -> str | None:
    """The home that PECIA_HOME names, where it is not the default."""
    if HOME_VARIABLE not in environ():
        return None
    home = find_home(terminal)
    return None if home == data_folder() else str(home)


def can_ask(terminal: Terminal) -> bool:
    """Whether stdin and stderr are a terminal, so that questions can be answered."""
    is_there = not terminal.as_json and terminal.is_terminal and sys.stdin.isatty()
    return is_there and _is_foreground()


def offer_setup_once(terminal: Terminal) -> None:
    """The question of the first start: once per user, and only in a terminal."""
    from pecia.adapters.editors.change_log import ChangeLog
    from pecia.adapters.editors.install import detect_editors, install_entries
    from pecia.adapters.editors.marker import has_marker
    from pecia.adapters.editors.plan import EntryRequest

    machine = detect_machine()
    if not can_ask(terminal) or has_marker(machine.home):
        return
    found = detect_editors(machine)
    if not found:
        return
    try:
        wish = EntryRequest(find_own_command(terminal), home=find_named_home(terminal))
    except NotFound:
        # Run from source: there is no program that an editor could start.
        return
    chosen = ask_editors(terminal, machine, found)
    if chosen is None:
        return
    outcomes = install_entries(chosen, wish, log=ChangeLog(machine.home))
    save_choice(terminal, machine, outcomes, wish)
    show_outcomes(terminal, machine, outcomes, wish)
    terminal.print_line()


def ask_editors(
    terminal: Terminal, machine: "Machine", found: Sequence["CodeEditor"]
) -> Sequence["CodeEditor"] | None:
    """The chosen editors; an empty list means skip. None: no answer at all."""
    terminal.print_line("Pecia can be added to the editors found here:")
    for number, it in enumerate(found, start=1):
        terminal.print_line(f"  [x] {number}  {it.title:<15} {shorten_path(machine, it.file)}")
    while True:
        terminal.stdout.write("Add to all? Enter: yes; s: skip; or numbers of those you want: ")
        terminal.stdout.flush()
        answer = sys.stdin.readline()
        if not answer:
            terminal.print_line()
            return None
        try:
            return parse_choice(found, answer)
        except InvalidInput as error:
            terminal.info(error.message)


def parse_choice(found: Sequence["CodeEditor"], answer: str) -> Sequence["CodeEditor"]:
    """The editors in an answer. Everything is preselected: an empty one takes all."""
    words = answer.replace(",", " ").lower().split()
    if " ".join(words) in ALL_ANSWERS:
        return found
    if " ".join(words) in SKIP_ANSWERS:
        return ()
    by_number = {str(number): it for number, it in enumerate(found, start=1)}
    if unknown := [it for it in words if it not in by_number]:
        raise InvalidInput(
            f"{unknown[0]!r} is not valid: Enter, s, or numbers from 1 to {len(found)}",
            field="answer",
        )
    return [it for number, it in by_number.items() if number in words]


def save_choice(
    terminal: Terminal,
    machine: "Machine",
    outcomes: Sequence["EditorOutcome"],
    wish: "EntryRequest",
) -> None:
    """Save this user's decision. Not where every file failed."""
    from pecia.adapters.editors.marker import configured_marker, skipped_marker, write_marker

    settled = [it for it in outcomes if it.status not in ("failed", "skipped-missing")]
    ours = [it.editor.id for it in settled if it.status != "skipped-custom"]
    now = datetime.now(UTC)
    if outcomes and not settled:
        return
    try:
        told = configured_marker(now, ours, wish.command) if outcomes else skipped_marker(now)
        write_marker(machine.home, told)
    except (OSError, PeciaError) as error:
        terminal.info(f"warning: the answer could not be saved, and will be asked again: {error}")


def show_outcomes(
    terminal: Terminal,
    machine: "Machine",
    outcomes: Sequence["EditorOutcome"],
    wish: "EntryRequest | None",
    *,
    dry_run: bool = False,
) -> None:
    """Print what was written, what was kept and why, and what to do next."""
    words = [
        STATUS_TEXTS[it.status].would if dry_run else STATUS_TEXTS[it.status].done
        for it in outcomes
    ]
    width = max(map(len, words), default=0)
    for it, word in zip(outcomes, words, strict=True):
        where = shorten_path(machine, it.editor.file) + (f"  ({it.why})" if it.why else "")
        terminal.print_line(f"{it.editor.title:<15} {word:<{width}}  {where}")
    for line in next_steps(terminal, outcomes, wish, dry_run=dry_run):
        terminal.print_line(line)
    if not outcomes:
        terminal.print_line("No editor's file was changed. `pecia init` adds Pecia later.")


def show_companions(
    terminal: Terminal,
    machine: "Machine",
    outcomes: Sequence["CompanionOutcome"],
    *,
    dry_run: bool = False,
) -> None:
    """Print what became of hooks and skills. What was there already is not worth a line."""
    for it in outcomes:
        if it.status == "unchanged":
            continue
        word = STATUS_TEXTS[it.status].would if dry_run else STATUS_TEXTS[it.status].done
        where = shorten_path(machine, it.file) + (f"  ({it.why})" if it.why else "")
        terminal.print_line(f"{it.client.title:<15} {it.what} {word}: {where}")
    if any(
        it.client.id == "codex" and it.what == "hooks" and it.status == "written" for it in outcomes
    ):
        terminal.print_line("Codex runs hooks after you have trusted them: type /hooks there.")


def next_steps(
    terminal: Terminal,
    outcomes: Sequence["EditorOutcome"],
    wish: "EntryRequest | None",
    *,
    dry_run: bool = False,
) -> list[str]:
    """Print the next steps."""
    lines: list[str] = []
    changed = _join_titles(outcomes, "written", "overwritten", "removed")
    if changed and not dry_run:
        lines.append(f"Restart {changed} or reload the MCP servers there, for this to take effect.")
    if wish and _join_titles(outcomes, "written", "overwritten", "unchanged"):
        toolset = f" --toolset {wish.toolset}" if wish.toolset else ""
        lines.append(f"They start: {wish.command} mcp{toolset}")
        if _lacks_home_space(terminal):
            lines.append(
                "One that starts it outside of a project, as Claude Desktop does, needs a server "
                "that runs, or a folder: pecia init --space FOLDER"
            )
    if kept := _join_titles(outcomes, "skipped-custom"):
        lines.append(f"To replace what is your own in {kept}: pecia init --force")
    if failed := _join_titles(outcomes, "failed"):
        again = "pecia init --undo" if wish is None else "pecia init"
        lines.append(f"Not changed: {failed}. Fix the file, then run {again} again.")
    return lines


def _is_foreground() -> bool:
    """Whether we may read the terminal: a background job is stopped when it tries."""
    with suppress(OSError):
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    return True


def _lacks_home_space(terminal: Terminal) -> bool:
    from pecia.features.wiki.settings import WikiSettings
    from pecia.interfaces.cli.settings import load_settings

    try:
        return load_settings(terminal).part(WikiSettings).home_space is None
    except PeciaError:
        # Errors in the settings are reported by the code that needs them.
        return False


def shorten_path(machine: "Machine", path: Path) -> str:
    """A path with `~` for the home."""
    inside = path.is_relative_to(machine.home)
    return f"~/{path.relative_to(machine.home)}" if inside else str(path)


def _join_titles(outcomes: Sequence["EditorOutcome"], *statuses: str) -> str:
    titles = [it.editor.title for it in outcomes if it.status in statuses]
    if len(titles) < 2:
        return "".join(titles)
    return f"{', '.join(titles[:-1])} and {titles[-1]}"
