"""Editors and people: which editors are found here, which of them a person chose, what was done.

What an editor's file becomes is decided by the adapter; here is what is asked and what is told.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pecia.doors.cli.configured import environ
from pecia.doors.cli.terminal import Terminal
from pecia.kernel.errors import InvalidInput, NotFound, PeciaError
from pecia.kernel.settings.account import home_folder

if TYPE_CHECKING:
    from pecia.adapters.editors.editors import Editor, Machine
    from pecia.adapters.editors.plan import Wish
    from pecia.adapters.editors.wiring import Outcome

SKIP = frozenset({"s", "skip", "n", "no"})
ALL = frozenset({"", "y", "yes", "a", "all", "add"})


@dataclass(frozen=True, slots=True)
class Told:
    """How a status reads to a person."""

    done: str
    would: str


WORDS = {
    "written": Told("added", "would be added"),
    "overwritten": Told("updated", "would be updated"),
    "unchanged": Told("unchanged", "unchanged"),
    "removed": Told("removed", "would be removed"),
    "skipped-custom": Told("kept", "kept"),
    "skipped-missing": Told("not found", "not found"),
    "failed": Told("failed", "failed"),
}


def this_machine() -> "Machine":
    """The machine and the user of this process."""
    from pecia.adapters.editors.editors import Machine

    system = "darwin" if sys.platform == "darwin" else "linux"
    return Machine(home_folder(), system, environ())


def own_command(terminal: Terminal) -> str:
    """The path under which editors start this installation."""
    from pecia.adapters.editors.program import cli_path, is_passing

    called = Path(sys.argv[0])
    beside = Path(sys.executable).parent / "pecia"
    script = called if called.name == "pecia" and called.is_file() else beside
    command = cli_path(script, environ().get("PATH", "").split(":"))
    if is_passing(command):
        terminal.say(
            f"warning: {command} may be gone tomorrow: install Pecia to stay, with "
            "uv tool install pecia, then run pecia init again"
        )
    return str(command)


def can_ask(terminal: Terminal) -> bool:
    """Whether a person sits there, who sees a question and can answer it."""
    is_there = not terminal.as_json and terminal.is_terminal and sys.stdin.isatty()
    return is_there and _is_in_front()


def offer_once(terminal: Terminal) -> None:
    """The question of the first start: once per user, and only where somebody can answer it."""
    from pecia.adapters.editors.marker import was_asked
    from pecia.adapters.editors.plan import Wish
    from pecia.adapters.editors.wiring import detected, wire

    machine = this_machine()
    if not can_ask(terminal) or was_asked(machine.home):
        return
    found = detected(machine)
    if not found:
        return
    try:
        wish = Wish(own_command(terminal))
    except NotFound:
        # Run from its source: there is no program that an editor could start.
        return
    chosen = ask(terminal, machine, found)
    if chosen is None:
        return
    outcomes = wire(chosen, wish)
    note(terminal, machine, outcomes, wish)
    show(terminal, machine, outcomes, wish)
    terminal.line()


def ask(
    terminal: Terminal, machine: "Machine", found: Sequence["Editor"]
) -> Sequence["Editor"] | None:
    """Those of the editors that the person wants; none of them is Skip. None: no answer at all."""
    terminal.line("Pecia can be added to the editors found here:")
    for number, it in enumerate(found, start=1):
        terminal.line(f"  [x] {number}  {it.title:<15} {short(machine, it.file)}")
    while True:
        terminal.out.write("Add to all? Enter: yes; s: skip; or numbers of those you want: ")
        terminal.out.flush()
        answer = sys.stdin.readline()
        if not answer:
            terminal.line()
            return None
        try:
            return chosen(found, answer)
        except InvalidInput as error:
            terminal.say(error.message)


def chosen(found: Sequence["Editor"], answer: str) -> Sequence["Editor"]:
    """What an answer means. Everything is preselected: an empty one takes all."""
    words = answer.replace(",", " ").lower().split()
    if " ".join(words) in ALL:
        return found
    if " ".join(words) in SKIP:
        return ()
    by_number = {str(number): it for number, it in enumerate(found, start=1)}
    if unknown := [it for it in words if it not in by_number]:
        raise InvalidInput(
            f"{unknown[0]!r} is none of: Enter, s, or numbers from 1 to {len(found)}",
            field="answer",
        )
    return [it for number, it in by_number.items() if number in words]


def note(
    terminal: Terminal, machine: "Machine", outcomes: Sequence["Outcome"], wish: "Wish"
) -> None:
    """Remember that this user decided, and how. Where every file failed nothing is settled yet."""
    from pecia.adapters.editors.marker import configured, skipped, write_marker

    settled = [it for it in outcomes if it.status not in ("failed", "skipped-missing")]
    ours = [it.editor.id for it in settled if it.status != "skipped-custom"]
    now = datetime.now(UTC)
    if outcomes and not settled:
        return
    try:
        told = configured(now, ours, wish.command) if outcomes else skipped(now)
        write_marker(machine.home, told)
    except (OSError, PeciaError) as error:
        terminal.say(f"warning: the answer is not remembered, and will be asked again: {error}")


def show(
    terminal: Terminal,
    machine: "Machine",
    outcomes: Sequence["Outcome"],
    wish: "Wish | None",
    *,
    dry_run: bool = False,
) -> None:
    """What was written where, what was kept and why, and what to do next."""
    words = [WORDS[it.status].would if dry_run else WORDS[it.status].done for it in outcomes]
    width = max(map(len, words), default=0)
    for it, word in zip(outcomes, words, strict=True):
        where = short(machine, it.editor.file) + (f"  ({it.why})" if it.why else "")
        terminal.line(f"{it.editor.title:<15} {word:<{width}}  {where}")
    for line in advice(terminal, outcomes, wish, dry_run=dry_run):
        terminal.line(line)
    if not outcomes:
        terminal.line("No editor's file was changed. `pecia init` adds Pecia later.")


def advice(
    terminal: Terminal,
    outcomes: Sequence["Outcome"],
    wish: "Wish | None",
    *,
    dry_run: bool = False,
) -> list[str]:
    """What a person does next."""
    lines: list[str] = []
    changed = _titles(outcomes, "written", "overwritten", "removed")
    if changed and not dry_run:
        lines.append(f"Restart {changed} or reload the MCP servers there, for this to take effect.")
    if wish and _titles(outcomes, "written", "overwritten", "unchanged"):
        toolset = f" --toolset {wish.toolset}" if wish.toolset else ""
        lines.append(f"They start: {wish.command} mcp{toolset}")
        if _is_without_space(terminal):
            lines.append(
                "One that starts it outside of a project, as Claude Desktop does, needs a server "
                "that runs, or a folder: pecia init --space FOLDER"
            )
    if kept := _titles(outcomes, "skipped-custom"):
        lines.append(f"To replace what is your own in {kept}: pecia init --force")
    if failed := _titles(outcomes, "failed"):
        lines.append(f"Left as it was: {failed}. Mend the file, then run pecia init again.")
    return lines


def _is_in_front() -> bool:
    """Whether we may read: a job in the background is stopped when it tries."""
    with suppress(OSError):
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    return True


def _is_without_space(terminal: Terminal) -> bool:
    from pecia.doors.cli.configured import settled
    from pecia.rooms.wiki.settings import WikiSettings

    try:
        return settled(terminal).part(WikiSettings).home_space is None
    except PeciaError:
        # Whatever is wrong with the settings is told by whoever needs them.
        return False


def short(machine: "Machine", path: Path) -> str:
    """A path as people read it."""
    inside = path.is_relative_to(machine.home)
    return f"~/{path.relative_to(machine.home)}" if inside else str(path)


def _titles(outcomes: Sequence["Outcome"], *statuses: str) -> str:
    titles = [it.editor.title for it in outcomes if it.status in statuses]
    if len(titles) < 2:
        return "".join(titles)
    return f"{', '.join(titles[:-1])} and {titles[-1]}"
