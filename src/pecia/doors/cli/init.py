"""`pecia init`: adds Pecia to the editors found on this machine, or takes it out again."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pecia.doors.cli.home_space import keep_home_space
from pecia.doors.cli.start import servable
from pecia.doors.cli.terminal import FAILED, Misuse, Terminal, terminal_of
from pecia.doors.cli.wiring import ask, can_ask, note, own_command, show, this_machine
from pecia.kernel.errors import InvalidInput, Json

if TYPE_CHECKING:
    from pecia.adapters.editors.editors import Editor, Machine
    from pecia.adapters.editors.plan import Wish
    from pecia.adapters.editors.wiring import Outcome

# What `--toolset` may say. The desk is what an entry gets that says nothing.
TOOLSETS = ("desk", "all", "cascade", "cipher", "ckf", "hub", "lake", "memory", "wiki")


def add_to(app: typer.Typer) -> None:
    app.command()(init)


def init(
    ctx: typer.Context,
    editor: Annotated[
        list[str] | None, typer.Option(help="Only this editor; may be given again. Asks nothing.")
    ] = None,
    toolset: Annotated[
        str | None, typer.Option(help="What they see: `desk`, `all`, or the name of a room.")
    ] = None,
    space: Annotated[
        Path | None, typer.Option(help="A folder for editors that start outside of every project.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace entries of your own, too.")] = False,
    undo: Annotated[bool, typer.Option(help="Take our entries out again.")] = False,
    dry_run: Annotated[bool, typer.Option(help="Write nothing, and say what would be.")] = False,
) -> None:
    """Add Pecia to your editors. Everything else in their files stays as it is."""
    from pecia.adapters.editors.plan import Wish

    if undo and (toolset or space):
        raise Misuse(
            InvalidInput("--undo takes neither --toolset nor --space", field="undo", got="--undo")
        )
    terminal, machine = terminal_of(ctx), this_machine()
    wish = Wish(own_command(terminal), _toolset(toolset), force)
    named = _named(machine, editor or [])
    task = Task(wish, servable(space) if space else None, undo=undo, dry_run=dry_run)
    task.keep_space(terminal)
    chosen = named or _chosen(terminal, machine, may_ask=not (undo or dry_run))
    if chosen is None:
        return
    outcomes = task.done(terminal, machine, chosen)
    terminal.give(
        {**task.as_json(), "editors": [it.as_json() for it in outcomes]},
        lambda it: show(it, machine, outcomes, None if undo else wish, dry_run=dry_run),
    )
    bad = {"failed", "skipped-missing"} if named else {"failed"}
    if any(it.status in bad for it in outcomes):
        raise typer.Exit(FAILED)


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be done with the files of the editors."""

    wish: "Wish"
    space: Path | None
    undo: bool
    dry_run: bool

    def keep_space(self, terminal: Terminal) -> None:
        """First, since a configuration that cannot be written should stop everything."""
        if self.space is None:
            return
        if self.dry_run:
            terminal.say(f"outside of every project editors would work in {self.space}")
            return
        file = keep_home_space(terminal, self.space)
        terminal.say(f"outside of every project editors work in {self.space}, says {file}")

    def done(
        self, terminal: Terminal, machine: "Machine", chosen: Sequence["Editor"]
    ) -> "list[Outcome]":
        """Do it, and remember that it was decided."""
        from pecia.adapters.editors.wiring import unwire, wire

        if self.undo:
            outcomes = unwire(chosen, force=self.wish.force, dry_run=self.dry_run)
        else:
            outcomes = wire(chosen, self.wish, dry_run=self.dry_run)
        if not self.dry_run:
            note(terminal, machine, [] if self.undo else outcomes, self.wish)
        return outcomes

    def as_json(self) -> dict[str, Json]:
        return {
            "cliPath": self.wish.command,
            "space": str(self.space) if self.space else None,
            "undo": self.undo,
            "dry_run": self.dry_run,
        }


def _toolset(given: str | None) -> str | None:
    if given is None or given in TOOLSETS:
        return given
    raise Misuse(
        InvalidInput(
            f"there is no toolset {given!r}: use one of {', '.join(TOOLSETS)}",
            field="toolset",
            got=given,
        )
    )


def _named(machine: "Machine", names: Sequence[str]) -> "list[Editor]":
    """The editors of those names, found here or not."""
    from pecia.adapters.editors.editors import editors

    by_id = {it.id: it for it in editors(machine)}
    for name in names:
        if name not in by_id:
            raise Misuse(
                InvalidInput(
                    f"{name!r} is no editor that Pecia knows: use one of {', '.join(by_id)}",
                    field="editor",
                    got=name,
                )
            )
    return [it for it in by_id.values() if it.id in names]


def _chosen(terminal: Terminal, machine: "Machine", *, may_ask: bool) -> Sequence["Editor"] | None:
    """Those found here, or what a person takes of them. None: there is nothing to do."""
    from pecia.adapters.editors.editors import editors
    from pecia.adapters.editors.wiring import detected

    found = detected(machine)
    if found:
        return ask(terminal, machine, found) if may_ask and can_ask(terminal) else found
    looked: list[Json] = [str(it.probe) for it in editors(machine)]
    terminal.give(
        {"editors": [], "looked_at": looked},
        lambda it: it.line(f"No editor was found here. Looked for: {', '.join(map(str, looked))}"),
    )
    return None
