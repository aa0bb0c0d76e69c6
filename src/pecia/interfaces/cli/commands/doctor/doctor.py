"""`pecia doctor`: checks an install end to end, with a hint for every problem."""

from dataclasses import asdict

import typer

from pecia import __version__
from pecia.interfaces.cli.commands.doctor.checks import (
    DoctorFinding,
    check_home,
    check_machine,
    check_orphans,
    check_server,
)
from pecia.interfaces.cli.output.render import show_rows
from pecia.interfaces.cli.output.terminal import EXIT_FAILED, Terminal, terminal_of
from pecia.interfaces.cli.server.home import START, has_home, no_home
from pecia.interfaces.cli.settings import load_settings
from pecia.kernel.errors import Json, PeciaError

_REPAIR = "correct it as it says; if the database is lost, in a new PECIA_HOME: pecia restore FILE"


def add_to(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor(ctx: typer.Context) -> None:
    """Check this install end to end. Exits with 1 when something does not work."""
    terminal = terminal_of(ctx)
    _report(terminal, _run_checks(terminal))


def _run_checks(terminal: Terminal) -> list[DoctorFinding]:
    import anyio

    from pecia.interfaces.cli.commands.doctor.database import check_database
    from pecia.kernel.store.cluster import ClusterOptions

    found = [*check_machine()]
    try:
        settings = load_settings(terminal)
    except PeciaError as error:
        return [
            *found,
            DoctorFinding("settings", "fail", error.message, "correct it where it says"),
        ]
    found += [DoctorFinding("settings", "warn", it) for it in settings.warnings]
    try:
        if not has_home(settings.kernel):
            return [*found, DoctorFinding("home", "fail", no_home(settings.kernel), START)]
    except PeciaError as error:
        found += check_home(settings.kernel)
        return [*found, DoctorFinding("database", "fail", error.message, _REPAIR)]
    home = [*check_home(settings.kernel)]
    orphans = check_orphans(ClusterOptions().system)
    found += [*home, *check_server(settings.kernel), *orphans]
    if any(it.state == "fail" for it in home):
        return found
    return [*found, *anyio.run(check_database, settings, terminal.info)]


def _report(terminal: Terminal, findings: list[DoctorFinding]) -> None:
    rows: list[dict[str, Json]] = [asdict(it) for it in findings]
    healthy = all(it.state != "fail" for it in findings)
    terminal.print_result(
        {"healthy": healthy, "version": __version__, "findings": [*rows]},
        lambda it: show_rows(it, rows),
    )
    if not healthy:
        raise typer.Exit(EXIT_FAILED)
