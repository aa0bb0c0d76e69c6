"""`pecia doctor`: checks an install end to end, and says what to do about what it finds."""

from dataclasses import asdict

import typer

from pecia import __version__
from pecia.doors.cli.configured import settled
from pecia.doors.cli.finding import Finding, of_home, of_machine, of_server
from pecia.doors.cli.home import START, has_home, no_home
from pecia.doors.cli.render import show_rows
from pecia.doors.cli.terminal import FAILED, Terminal, terminal_of
from pecia.kernel.errors import Json, PeciaError


def add_to(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor(ctx: typer.Context) -> None:
    """Check this install end to end. Exits with 1 when something does not work."""
    terminal = terminal_of(ctx)
    _report(terminal, _findings(terminal))


def _findings(terminal: Terminal) -> list[Finding]:
    import anyio

    from pecia.doors.cli.trial import of_database

    found = [*of_machine()]
    try:
        settings = settled(terminal)
    except PeciaError as error:
        return [*found, Finding("settings", "fail", error.message, "correct it where it says")]
    found += [Finding("settings", "warn", it) for it in settings.warnings]
    if not has_home(settings.kernel):
        return [*found, Finding("home", "fail", no_home(settings.kernel), START)]
    home = [*of_home(settings.kernel)]
    found += [*home, *of_server(settings.kernel)]
    if any(it.state == "fail" for it in home):
        return found
    return [*found, *anyio.run(of_database, settings, terminal.say)]


def _report(terminal: Terminal, findings: list[Finding]) -> None:
    rows: list[dict[str, Json]] = [asdict(it) for it in findings]
    healthy = all(it.state != "fail" for it in findings)
    terminal.give(
        {"healthy": healthy, "version": __version__, "findings": [*rows]},
        lambda it: show_rows(it, rows),
    )
    if not healthy:
        raise typer.Exit(FAILED)
