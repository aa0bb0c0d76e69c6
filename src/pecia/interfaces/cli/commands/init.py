"""`pecia init`: adds Pecia to the editors found on this machine, or takes it out again."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pecia.interfaces.cli.commands.start import require_servable_folder
from pecia.interfaces.cli.editors import (
    ask_editors,
    can_ask,
    detect_machine,
    find_named_home,
    find_own_command,
    save_choice,
    show_companions,
    show_outcomes,
)
from pecia.interfaces.cli.output.terminal import (
    EXIT_FAILED,
    CommandUsageError,
    Terminal,
    terminal_of,
)
from pecia.kernel.errors import InvalidInput, Json

CONFIG_HEADER = "# The settings of Pecia for this user. docs/reference/settings.md lists them.\n"


def save_home_space(terminal: Terminal, folder: Path) -> Path:
    """Write the setting, and leave the rest of the file as it is; returns the file."""
    from pecia.adapters.editors import config_file
    from pecia.kernel.text.yaml.patch import patch_yaml
    from pecia.kernel.text.yaml.reader import YamlSource

    path = terminal.config or _user_config_file()
    before = config_file.read_text(path)
    wanted: dict[str, Json] = {"wiki": {"home_space": str(folder)}}
    after = patch_yaml(before or CONFIG_HEADER, wanted, YamlSource(str(path)))
    if after != before:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        config_file.replace_text(path, after, was=before)
    return path


def _user_config_file() -> Path:
    from pecia.kernel.settings.account import config_folder
    from pecia.kernel.settings.layers.paths import FILE_NAME

    return config_folder() / FILE_NAME


if TYPE_CHECKING:
    from pecia.adapters.editors.catalog import CodeEditor, Machine
    from pecia.adapters.editors.companions import CompanionOutcome
    from pecia.adapters.editors.install import EditorOutcome
    from pecia.adapters.editors.plan import EntryRequest

# The values of `--toolset`. `desk` is the default.
TOOLSETS = ("desk", "all", "cascade", "cipher", "ckf", "hub", "lake", "memory", "wiki")


def add_to(app: typer.Typer) -> None:
    app.command()(init)


def init(
    ctx: typer.Context,
    editor: Annotated[
        list[str] | None, typer.Option(help="Only this editor; may be repeated. Asks nothing.")
    ] = None,
    toolset: Annotated[
        str | None,
        typer.Option(help="The tools they see: `desk` (default), `all`, or the name of a toolset."),
    ] = None,
    space: Annotated[
        Path | None, typer.Option(help="A folder for editors that start outside of every project.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace entries of your own, too.")] = False,
    hooks: Annotated[
        bool,
        typer.Option(
            "--hooks",
            help="Recall memories when a session begins, and capture what is said to last when it "
            "ends: Claude Code, Codex, Cursor, OpenCode.",
        ),
    ] = False,
    skill: Annotated[
        bool, typer.Option(help="Install the skill that teaches agents to use Pecia.")
    ] = True,
    undo: Annotated[bool, typer.Option(help="Remove our entries, hooks and skill again.")] = False,
    dry_run: Annotated[
        bool, typer.Option(help="Write nothing, and show what would change.")
    ] = False,
) -> None:
    """Add Pecia to your editors. Everything else in their files stays as it is."""
    from pecia.adapters.editors.plan import EntryRequest

    if undo:
        _require_undo_alone(has_target=bool(toolset or space), has_hooks=hooks)
    terminal, machine = terminal_of(ctx), detect_machine()
    wish = EntryRequest(
        find_own_command(terminal), _require_toolset(toolset), force, find_named_home(terminal)
    )
    named = _find_editors(machine, editor or [])
    task = EditorSetup(
        wish,
        require_servable_folder(space) if space else None,
        undo=undo,
        dry_run=dry_run,
        hooks=hooks,
        skill=skill,
        is_named=bool(named),
    )
    task.save_space(terminal)
    chosen = named or _choose_editors(terminal, machine, may_ask=not (undo or dry_run))
    if chosen is None:
        return
    _apply(task, terminal, machine, chosen)


def _require_undo_alone(*, has_target: bool, has_hooks: bool) -> None:
    if has_target:
        raise CommandUsageError(
            InvalidInput("--undo takes neither --toolset nor --space", field="undo", got="--undo")
        )
    if has_hooks:
        raise CommandUsageError(
            InvalidInput("--undo removes hooks too: leave --hooks out", field="undo", got="--hooks")
        )


def _apply(
    task: "EditorSetup", terminal: Terminal, machine: "Machine", chosen: "Sequence[CodeEditor]"
) -> None:
    """Change the files, and report what was done; Exit if something failed."""
    outcomes = task.apply(terminal, machine, chosen)
    companions = task.apply_companions(machine, chosen)

    def show(it: Terminal) -> None:
        show_companions(it, machine, companions, dry_run=task.dry_run)
        wish = None if task.undo else task.wish
        show_outcomes(it, machine, outcomes, wish, dry_run=task.dry_run)

    terminal.print_result(
        {
            **task.as_json(),
            "editors": [it.as_json() for it in outcomes],
            "files": [it.as_json() for it in companions],
        },
        show,
    )
    bad = {"failed", "skipped-missing"} if task.is_named else {"failed"}
    if any(it.status in bad for it in (*outcomes, *companions)):
        raise typer.Exit(EXIT_FAILED)


@dataclass(frozen=True, slots=True)
class EditorSetup:
    """The changes to the files of the editors."""

    wish: "EntryRequest"
    space: Path | None
    undo: bool
    dry_run: bool
    hooks: bool = False
    skill: bool = True
    is_named: bool = False
    """Whether editors were named: no other client is touched then."""

    def save_space(self, terminal: Terminal) -> None:
        """Done first: a configuration that cannot be written should stop everything."""
        if self.space is None:
            return
        if self.dry_run:
            terminal.info(f"outside of every project editors would work in {self.space}")
            return
        file = save_home_space(terminal, self.space)
        terminal.info(f"outside of every project editors work in {self.space}, set in {file}")

    def apply(
        self, terminal: Terminal, machine: "Machine", chosen: Sequence["CodeEditor"]
    ) -> "list[EditorOutcome]":
        """Apply the changes, and save the decision."""
        from pecia.adapters.editors.change_log import ChangeLog
        from pecia.adapters.editors.install import install_entries, remove_entries

        log = ChangeLog(machine.home)
        if self.undo:
            outcomes = remove_entries(chosen, force=self.wish.force, dry_run=self.dry_run, log=log)
        else:
            outcomes = install_entries(chosen, self.wish, dry_run=self.dry_run, log=log)
        if not self.dry_run:
            save_choice(terminal, machine, [] if self.undo else outcomes, self.wish)
        return outcomes

    def apply_companions(
        self, machine: "Machine", chosen: Sequence["CodeEditor"]
    ) -> "list[CompanionOutcome]":
        """Hooks and the skill, for those of the chosen that have them. OpenCode is no editor of
        the list: it is one of them unless editors were named."""
        from pecia.adapters.editors.companions import CompanionFiles, detect_hook_clients

        names = [*(it.id for it in chosen), *([] if self.is_named else ["opencode"])]
        clients = [it for it in detect_hook_clients(machine) if it.id in names]
        files = CompanionFiles(machine.home, self.dry_run)
        if self.undo:
            return files.remove(clients)
        added = files.add_hooks(clients, self.wish.command) if self.hooks else []
        return [*added, *(files.add_skills(clients) if self.skill else [])]

    def as_json(self) -> dict[str, Json]:
        return {
            "cliPath": self.wish.command,
            "space": str(self.space) if self.space else None,
            "undo": self.undo,
            "dry_run": self.dry_run,
        }


def _require_toolset(given: str | None) -> str | None:
    if given is None or given in TOOLSETS:
        return given
    raise CommandUsageError(
        InvalidInput(
            f"there is no toolset {given!r}: use one of {', '.join(TOOLSETS)}",
            field="toolset",
            got=given,
        )
    )


def _find_editors(machine: "Machine", names: Sequence[str]) -> "list[CodeEditor]":
    """The editors of those names, found here or not."""
    from pecia.adapters.editors.catalog import known_editors

    by_id = {it.id: it for it in known_editors(machine)}
    for name in names:
        if name not in by_id:
            raise CommandUsageError(
                InvalidInput(
                    f"unknown editor {name!r}: use one of {', '.join(by_id)}",
                    field="editor",
                    got=name,
                )
            )
    return [it for it in by_id.values() if it.id in names]


def _choose_editors(
    terminal: Terminal, machine: "Machine", *, may_ask: bool
) -> Sequence["CodeEditor"] | None:
    """The editors found here, or those that the person chose. None: nothing to do."""
    from pecia.adapters.editors.catalog import known_editors
    from pecia.adapters.editors.companions import detect_hook_clients
    from pecia.adapters.editors.install import detect_editors

    found = detect_editors(machine)
    if found:
        return ask_editors(terminal, machine, found) if may_ask and can_ask(terminal) else found
    if detect_hook_clients(machine):
        # OpenCode alone: no editor of the list, but it has hooks and skills.
        return ()
    looked: list[Json] = [str(it.probe) for it in known_editors(machine)]
    terminal.print_result(
        {"editors": [], "looked_at": looked},
        lambda it: it.print_line(
            f"No editor was found here. Looked for: {', '.join(map(str, looked))}"
        ),
    )
    return None
